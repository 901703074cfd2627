#!/usr/bin/env python3
"""Times one training step of Sinklab's softmax model in PyTorch on the CPU and prints one JSON line.

A step is forward, loss, backward, global-norm clipping, AdamW and zero_grad, on batches made before. It is written
as an experienced PyTorch user would: fused projections, scaled_dot_product_attention, fused AdamW, and
under --mode compile one Inductor graph for forward, loss and backward. --tuning best (the default) adds
an allocator that keeps its pages, huge pages, and MKL's AVX-512 code on CPUs that are not Intel's. --tuning stock
is PyTorch as pip installs it.

  torch_peer.py --model 60m --precision bf16 --mode compile --threads 2 --seconds 20
  torch_peer.py --model custom --layers 4 --heads 4 --width 256 --feed-forward 512 --vocabulary 8192 --context 256 \
                --batch 8 --position rotary

Precision bf16 is torch.autocast: float32 master weights, residual stream and loss. --bf16 copies computes on a bfloat16
copy of the weights, refreshed after each step, with a bfloat16 residual stream: it was 4 % faster in eager mode on the
small model, nowhere else. Attention over at most 256 positions stays in float32 in both: PyTorch's bfloat16 backward pass
is several times slower on short sequences.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

# glibc must neither return freed memory to the kernel nor map every large tensor anew: page faults would be a large part
# of the step.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "68719476736",
             "MALLOC_TOP_PAD_": "268435456", "MALLOC_ARENA_MAX": "1", "THP_MEM_ALLOC_ENABLE": "1"}
# MKL, which multiplies float32 matrices, runs at half the rate on CPUs whose vendor it does not ask for; this answers.
MKL_SHIM = "int mkl_serv_intel_cpu_true(void) { return 1; }"

MODELS = {
    "text": dict(layers=3, heads=4, width=128, feed_forward=256, vocabulary=4096, context=64, batch=48,
                 position="learned"),
    "60m": dict(layers=10, heads=8, width=768, feed_forward=1536, vocabulary=50432, context=2048, batch=1,
                position="rotary"),
}
NORM_EPS = 1e-5
SHORT_ATTENTION = 256


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=[*MODELS, "custom"], default="text")
    for name in ("layers", "heads", "width", "feed-forward", "vocabulary", "context", "batch"):
        parser.add_argument(f"--{name}", type=int, help="overrides the model's")
    parser.add_argument("--position", choices=["learned", "rotary"], help="overrides the model's")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--bf16", choices=["autocast", "copies"], default="autocast", help="how bf16 is done")
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--optimizer", choices=["fused", "foreach"], default="fused", help="AdamW implementation")
    parser.add_argument("--tuning", choices=["best", "stock"], default="best", help="allocator and MKL settings")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=20, help="timed after the warm-up")
    options = parser.parse_args(arguments)
    for name, value in MODELS.get(options.model, {}).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    missing = [name for name in MODELS["60m"] if getattr(options, name) is None]
    if missing:
        parser.error("--model custom also needs " + ", ".join("--" + name.replace("_", "-") for name in missing))
    if options.width % (2 * options.heads):
        parser.error(f"--width {options.width} must be a multiple of twice --heads {options.heads}")
    return options


def mkl_shim():
    """The shim as a shared library, or nothing where it is not needed or no compiler is there."""
    with open("/proc/cpuinfo") as cpuinfo:
        if "GenuineIntel" in cpuinfo.read():
            return {}
    library = os.path.join(tempfile.gettempdir(), f"sinklab_mkl_shim_{os.getuid()}.so")
    if not os.path.exists(library):
        made = f"{library}.{os.getpid()}"
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", made], input=MKL_SHIM.encode(), check=True)
        except (OSError, subprocess.CalledProcessError):
            print("torch_peer.py: no C compiler: MKL stays on its slower code for this CPU", file=sys.stderr)
            return {}
        os.rename(made, library)
    return {"LD_PRELOAD": library}


def with_environment(options):
    """Starts this script anew under the settings that must be there before a process starts, unless they are."""
    wanted = {"CUDA_VISIBLE_DEVICES": "", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    if options.tuning == "best":
        wanted |= ALLOCATOR | mkl_shim()
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def memory_mib(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":")) / 1024


def build(options):
    import torch
    from torch import nn
    from torch.nn import functional as F

    head_width = options.width // options.heads

    def linear(inputs, outputs):
        layer = nn.Linear(inputs, outputs, bias=False)
        nn.init.normal_(layer.weight, std=math.sqrt(2 / (5 * inputs)))
        return layer

    def embedding(rows):
        table = nn.Embedding(rows, options.width)
        nn.init.normal_(table.weight, std=math.sqrt(2 / (5 * options.width)))
        return table

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_gain = nn.Parameter(torch.ones(options.width))
            self.qkv = linear(options.width, 3 * options.width)
            self.out = linear(options.width, options.width)
            self.feed_forward_gain = nn.Parameter(torch.ones(options.width))
            self.gate_up = linear(options.width, 2 * options.feed_forward)
            self.down = linear(options.feed_forward, options.width)

        def forward(self, x, rotary):
            batch, length, width = x.shape
            h = F.rms_norm(x, (width,), self.attention_gain, NORM_EPS)
            q, k, v = self.qkv(h).view(batch, length, 3, options.heads, head_width).permute(2, 0, 3, 1, 4)
            if rotary is not None:
                q, k = rotate(q, *rotary), rotate(k, *rotary)
            attended = attend(q, k, v)
            x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
            h = F.rms_norm(x, (width,), self.feed_forward_gain, NORM_EPS)
            gate, up = self.gate_up(h).chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * up)

    def attend(q, k, v):
        if q.dtype == torch.float32 or options.context > SHORT_ATTENTION:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        with torch.autocast("cpu", enabled=False):
            return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True).to(q.dtype)

    def rotate(x, cos, sin):
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = embedding(options.vocabulary)
            self.positions = embedding(options.context) if options.position == "learned" else None
            self.blocks = nn.ModuleList(Block() for _ in range(options.layers))
            self.final_gain = nn.Parameter(torch.ones(options.width))
            self.unembedding = linear(options.width, options.vocabulary)
            frequency = 10000.0 ** (-torch.arange(0, head_width, 2) / head_width)
            angle = torch.outer(torch.arange(options.context), frequency)
            self.register_buffer("cos", angle.cos(), persistent=False)
            self.register_buffer("sin", angle.sin(), persistent=False)

        def forward(self, tokens, targets):
            x = self.tokens(tokens)
            rotary = None
            if self.positions is not None:
                x = x + self.positions.weight
            else:
                rotary = self.cos, self.sin
            for block in self.blocks:
                x = block(x, rotary)
            x = F.rms_norm(x, (options.width,), self.final_gain, NORM_EPS)
            return F.cross_entropy(self.unembedding(x).flatten(0, 1).float(), targets.flatten())

    return Model()


def make_step(options, model):
    """step(tokens, targets) -> loss, with everything a training step does."""
    import torch

    autocast = options.precision == "bf16" and options.bf16 == "autocast"
    copies = options.precision == "bf16" and options.bf16 == "copies"
    masters = list(model.parameters())
    if copies:
        masters = [p.detach().clone().requires_grad_(True) for p in masters]
        for master in masters:
            master.grad = torch.zeros_like(master)
        model.to(torch.bfloat16)
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(masters, lr=4e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1,
                                  **{options.optimizer: True})
    loss_of = torch.compile(model) if options.mode == "compile" else model

    def step(tokens, targets):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = loss_of(tokens, targets)
        loss.backward()
        if copies:
            torch._foreach_copy_([m.grad for m in masters], [w.grad for w in weights])
        torch.nn.utils.clip_grad_norm_(masters, 1.0, foreach=True)
        optimizer.step()
        if copies:
            with torch.no_grad():
                torch._foreach_copy_(weights, masters)
        model.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def main():
    options = parse()
    with_environment(options)
    try:
        import torch
    except ImportError:
        print("torch_peer.py: error: no PyTorch: python3 -m venv venv && venv/bin/pip install torch, then "
              "venv/bin/python torch_peer.py", file=sys.stderr)
        return 1
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # Adam's moments of unused embedding rows decay into denormals
    torch.manual_seed(0)
    import_mib = memory_mib("VmHWM")
    model = build(options)
    parameters = sum(p.numel() for p in model.parameters())
    step = make_step(options, model)
    draws = [torch.randint(options.vocabulary, (options.batch, options.context + 1)) for _ in range(4)]
    batches = [(d[:, :-1].contiguous(), d[:, 1:].contiguous()) for d in draws]

    start = time.perf_counter()
    first_loss = step(*batches[0]).item()
    first_seconds = time.perf_counter() - start
    step(*batches[1])
    if first_seconds < 5:
        step(*batches[2])
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < options.seconds or len(times) < 3:
        begin = time.perf_counter()
        loss = step(*batches[len(times) % len(batches)])
        times.append((time.perf_counter() - begin) * 1e3)
    median = statistics.median(times)
    print(json.dumps({
        "program": "torch", "model": options.model, "mode": options.mode, "precision": options.precision,
        "bf16": options.bf16 if options.precision == "bf16" else None, "optimizer": options.optimizer,
        "tuning": options.tuning, "threads": options.threads, "ms_median": round(median, 3),
        "ms_min": round(min(times), 3), "ms_p90": round(sorted(times)[int(0.9 * (len(times) - 1))], 3),
        "steps": len(times), "tokens_per_second": round(options.batch * options.context / median * 1e3, 1),
        "peak_mib": round(memory_mib("VmHWM"), 1), "import_mib": round(import_mib, 1),
        "first_step_seconds": round(first_seconds, 2), "loss_first": first_loss, "loss_last": loss.item(),
        "parameters": parameters, "torch": torch.__version__}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
