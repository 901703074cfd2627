#!/usr/bin/env python3
"""Times the attention kernels of kernels.so, forward and backward, and in the same process those of PyTorch that
compute the same: FlashAttention-2, cuDNN and FlexAttention (peers.py).

  kernel_times.py [--library build/kernels.so] [--shapes 16x8x2048x96,...] [--operations Softmax,...] [--seconds S]
                  [--no-peers] [--rounds N] [--out FILE] [--correctness FILE]

Prints a line per kernel and shape as soon as it is measured, the important ones first; --out gets JSON lines. After
--seconds nothing new is begun. Times are medians by events of the device, ours before and after the peers. TFLOP/s count
the causal half: 2 B H T T D forward, 2.5 times that backward. The first head of each result is compared with float64:
an error larger than kernel_check.py allows is printed and makes the exit code 1. Operations that crashed or hung by
--correctness, a file of kernel_check.py --out, are left out: an error of the device would end this process. Where there is no PyTorch with a GPU,
ours alone is timed. Exit codes: 0, 1 something is wrong, 2 wrong use, 7 no device.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

import numpy

try:
    import torch
    has_torch = torch.cuda.is_available()
except ImportError:
    has_torch = False

from attention_reference import NAIVE, OPERATIONS, Case, compute, make_mask
from kernel_check import compare
from kernel_library import Attention, DeviceArrays, Failed, Gradients, KernelLibrary, from_bf16_bits, to_bf16_bits

SHAPES = "16x8x2048x96,8x16x2048x128,16x12x2048x64,4x16x4096x128"  # B x H x T x D: 60M, 1.1B, GPT-2, long
FIRST = ["Softmax", "Sigmoid", "SigmoidNorm", "EluNorm", "LinearMaxAbs"]
VARIANTS = ["window", "bias", "extra key", "key heads"]  # of Softmax
CHECKED_LENGTH_WITHOUT_TORCH = 512
OURS = "ours" + (" for sm_80" if os.environ.get("SINK_COMPUTE_CAPABILITY") == "80" else "")  # the portable kernels


class Inputs:
    """q, k, v and grad_o in memory of the library: one sequence of normals, repeated."""

    def __init__(self, memory, B, H, T, D, variant):
        G = max(1, H // 4) if variant == "key heads" else H
        normal = numpy.random.default_rng(1).standard_normal
        heads = {"q": H, "k": G, "v": G, "grad_o": H}
        self.host = {name: to_bf16_bits(normal((1, heads[name], T, D))) for name in heads}
        put = lambda name: memory.put(numpy.broadcast_to(self.host[name], (B,) + self.host[name].shape[1:]))
        empty = lambda *shape: memory.nans(shape, numpy.float32)
        self.window = 128 if variant == "window" else 0
        self.f32 = {}
        if variant == "bias":
            self.f32["bias"] = normal((H, T)).astype(numpy.float32)
        if variant == "extra key":
            self.f32["extra_k"], self.f32["extra_v"] = (normal((H, D)).astype(numpy.float32) for _ in range(2))
        self.attention = Attention(B=B, H=H, G=G, T=T, K=T, D=D, is_bf16=1, q=put("q"), k=put("k"), v=put("v"),
                                   scale=1 / math.sqrt(D), window=self.window, bias_columns=T,
                                   o=memory.nans((B, H, T, D), numpy.uint16), m=empty(B, H, T), S=empty(B, H, T),
                                   **{name: memory.put(x) for name, x in self.f32.items()})
        self.timed = Gradients(grad_o=put("grad_o"))  # which returns no gradients, and so copies none
        outputs = {name: memory.nans((B, heads[name[1:]], T, D), numpy.uint16) for name in ("dq", "dk", "dv")}
        self.checked = Gradients(grad_o=self.timed.grad_o, **outputs)

    def first_head(self, variant):
        """The case of the first query head, whose gradients of k and v are its own unless key heads are shared."""
        x = {name: from_bf16_bits(bits[:, :1]) for name, bits in self.host.items()}
        T, D = x["q"].shape[2:]
        f32 = {name: y[:1].astype(numpy.float64) for name, y in self.f32.items()}
        return Case(x["q"], x["k"], x["v"], x["grad_o"], 1 / math.sqrt(D), make_mask(T, T, window=self.window), **f32)


def to_torch(case):
    for name, x in vars(case).items():
        if isinstance(x, numpy.ndarray):
            setattr(case, name, torch.as_tensor(x, device="cuda" if has_torch else "cpu"))
    return case


def expected(operation, case, names):
    """The exact result and the list of naive ones (attention_reference.py), on the GPU where PyTorch has one."""
    results = []
    for naive in (None, *NAIVE):
        if has_torch:
            result = compute(operation, to_torch(case), xp=torch, naive=naive)
            result.tensors = {name: result.tensors[name].cpu().numpy() for name in names}
        else:
            result = compute(operation, case, naive=naive)
            result.tensors = {name: result.tensors[name] for name in names}
        results.append(result)
    return results[0], results[1:]


def round_of_times(milliseconds, calls):
    """Milliseconds of one call: milliseconds(f) times f on the device; about 30 ms of calls."""
    once = milliseconds(calls)
    count = max(1, min(50, int(30 / max(once, 1e-3))))
    if count == 1:
        return once

    def repeated():
        for _ in range(count):
            calls()
    return milliseconds(repeated) / count


def torch_milliseconds(calls):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    calls()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


class Report:
    def __init__(self, device, out):
        self.device, self.out, self.wrong = device, out, 0
        print(f"attention kernels on {device}\n{'kernel':17} {'operation':15} {'B x H x T x D':16} {'forward ms':>10} "
              f"{'TFLOP/s':>8} {'backward':>9} {'TFLOP/s':>8}  error of allowed", flush=True)

    def add(self, kernel, operation, shape, forward, backward, ratios, variant=None, message=None):
        B, H, T, D = shape
        line = {"device": self.device, "kernel": kernel, "operation": operation, "variant": variant, "B": B, "H": H,
                "T": T, "D": D, "time": time.strftime("%F %T", time.gmtime())}
        if message:
            line["message"] = message
            text = message
        else:
            tera = 2e-9 * B * H * T * T * D
            forward_ms, backward_ms = statistics.median(forward), statistics.median(backward)
            line |= {"forward_ms": forward_ms, "forward_all_ms": forward, "forward_tflops": tera / forward_ms,
                     "backward_ms": backward_ms, "backward_all_ms": backward,
                     "backward_tflops": 2.5 * tera / backward_ms, "error_of_allowed": ratios}
            worst = max(ratios.values(), default=None)
            line["right"] = None if worst is None else worst <= 1
            text = (f"{forward_ms:10.3f} {tera / forward_ms:8.1f} {backward_ms:9.3f} {2.5 * tera / backward_ms:8.1f}  "
                    + ("not compared" if worst is None else f"{worst:.2f}" + ("" if worst <= 1 else " WRONG")))
        self.wrong += bool(message) and kernel == OURS or line.get("right") is False and kernel == OURS
        name = operation if not variant else f"{operation}, {variant}"
        print(f"{kernel:17} {name:15} {'x'.join(map(str, shape)):16} {text}", flush=True)
        if self.out:
            with open(self.out, "a") as out:
                out.write(json.dumps(line) + "\n")


def time_ours(library, operation, inputs, rounds):
    """(forward, backward) milliseconds of each round."""
    forward = lambda: library.forward(operation, inputs.attention)
    backward = lambda: library.backward(operation, inputs.attention, inputs.timed)
    if not library.is_emulated():
        forward(), backward(), library.synchronize()
    return ([round_of_times(library.milliseconds, forward) for _ in range(rounds)],
            [round_of_times(library.milliseconds, backward) for _ in range(rounds)])


def time_peer(name, make, inputs, shape, rounds):
    """As time_ours, and the first head of o, dq, dk and dv."""
    B, H, T, D = shape
    bits = lambda name: torch.from_numpy(inputs.host[name].view(numpy.int16)).view(torch.bfloat16)
    load = lambda name: bits(name).cuda().expand(B, -1, -1, -1).contiguous()
    q, k, v = (load(name).requires_grad_() for name in ("q", "k", "v"))
    grad_o = load("grad_o")
    attention = make(T, D, "cuda")
    both = lambda: torch.autograd.grad(attention(q, k, v), (q, k, v), grad_o)
    for _ in range(2):  # which compile
        o, gradients = attention(q, k, v), both()
    first_head = lambda x: x[:1, :1].detach().double().cpu().numpy()
    found = dict(zip(("o", "dq", "dk", "dv"), map(first_head, (o, *gradients))))
    del o, gradients
    forward = [round_of_times(torch_milliseconds, lambda: attention(q, k, v)) for _ in range(rounds)]
    whole = [round_of_times(torch_milliseconds, both) for _ in range(rounds)]
    return forward, [both_ms - statistics.median(forward) for both_ms in whole], found


def measure(library, operation, shape, variant, peers, rounds, report):
    B, H, T, D = shape
    with DeviceArrays(library) as memory:
        inputs = Inputs(memory, B, H, T, D, variant)
        checked = ("o", "dq") if variant == "key heads" else ("o", "dq", "dk", "dv")
        exact = naive = None
        if operation != "LinearNorm" and (has_torch or T <= CHECKED_LENGTH_WITHOUT_TORCH):  # its sums cancel here
            exact, naive = expected(operation, inputs.first_head(variant), checked)
        errors = lambda found: {} if exact is None else compare(found, exact, naive, "bf16")
        forward, backward = time_ours(library, operation, inputs, rounds)
        for name, make in peers:
            try:
                times = time_peer(name, make, inputs, shape, rounds)
                report.add(name, operation, shape, *times[:2], errors(times[2]))
            except Exception as error:  # a backend that refuses, a compiler that fails, no memory
                report.add(name, operation, shape, None, None, None, message="failed: " + str(error).split("\n")[0][:160])
            torch.cuda.empty_cache()
        if peers:
            again = time_ours(library, operation, inputs, rounds)
            forward, backward = forward + again[0], backward + again[1]
        library.backward(operation, inputs.attention, inputs.checked)
        library.synchronize()
        pointers = {"o": inputs.attention.o, **{name: getattr(inputs.checked, name) for name in ("dq", "dk", "dv")}}
        found = {name: from_bf16_bits(memory.get(pointers[name], (1, 1, T, D), numpy.uint16)) for name in checked}
        report.add(OURS, operation, shape, forward, backward, errors(found), variant)


def crashed(file):
    """The operations whose last check ended with a message instead of a comparison."""
    last = {}
    if file and pathlib.Path(file).is_file():
        for line in map(json.loads, pathlib.Path(file).read_text().splitlines()):
            if "cases" in line:
                last[line["operation"]] = "message" in line
    return {name for name, ended_badly in last.items() if ended_badly}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/kernels.so")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--operations", help="default: all of the library")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--correctness")
    arguments = parser.parse_args()
    began = time.monotonic()
    if not pathlib.Path(arguments.library).is_file():
        parser.error(f"no library {arguments.library}: build it with tools/gpu/kernels/build.sh")
    library = KernelLibrary(arguments.library)
    if not library.device_name():
        print("kernel_times.py: error: the library finds no device", file=sys.stderr)
        return 7
    built = library.operations()
    chosen = arguments.operations.split(",") if arguments.operations else built
    unknown = [name for name in chosen if name not in built or name not in OPERATIONS]
    if unknown:
        parser.error(f"no operation is called {unknown[0]}; the library has {', '.join(built)}")
    ended_badly = crashed(arguments.correctness)
    if ended_badly & set(chosen):
        print("not timed, as they crashed or hung: " + ", ".join(sorted(ended_badly & set(chosen))), flush=True)
        chosen = [name for name in chosen if name not in ended_badly]
    shapes = [tuple(int(n) for n in shape.split("x")) for shape in arguments.shapes.split(",")]
    peers_of = {}
    if has_torch and not library.is_emulated() and not arguments.no_peers:
        from peers import PEERS
        for name, operation, make in PEERS:
            peers_of.setdefault(operation, []).append((name, make))
    report = Report(library.device_name(), arguments.out)
    if has_torch:
        print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}", flush=True)
    elif not arguments.no_peers:
        print("no PyTorch with a GPU here: ours alone", flush=True)
    first = [name for name in FIRST if name in chosen]
    others = [name for name in chosen if name not in first]
    variants = [("Softmax", shape, variant) for shape in shapes[:2] for variant in VARIANTS if "Softmax" in chosen]
    jobs = [(name, shape, None) for shape in shapes[:2] for name in first] + variants
    jobs += [(name, shape, None) for shape in shapes[:2] for name in others]
    jobs += [(name, shape, None) for shape in shapes[2:] for name in first + others]
    for n, (operation, shape, variant) in enumerate(jobs):
        if time.monotonic() - began > arguments.seconds:
            print(f"{len(jobs) - n} of {len(jobs)} were not measured, as {arguments.seconds:.0f} s are over")
            break
        peers = [] if variant else peers_of.get(operation, [])
        try:
            measure(library, operation, shape, variant, peers, arguments.rounds, report)
        except Failed as error:
            report.add(OURS, operation, shape, None, None, None, variant, message=f"failed: {error}")
            break  # after an error of the device nothing more runs in this process
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
