#!/usr/bin/env python3
"""Compares what eval_<family> interventions says of a LLaMA with the same done to transformers' model in float64.

  check_interventions.py EVAL_PROGRAM MODEL [--settings FILE.toml] [--tokens FILE] [--tolerance 1e-6]

MODEL: a folder of Hugging Face or a GGUF file. All kinds but `patch`. Exit 1 where loss before, loss after, divergence or greedy tokens
differ; 77 without the packages. Needs: torch, transformers (for GGUF: accelerate, gguf), Python 3.11.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import tomllib

    import torch
    import transformers
except ImportError as error:
    print(f"check_interventions.py: {error}", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
MORE = """
[[interventions]]
name = "two tokens"
what = "mask"
tokens = [3, 1]
layers = [1]
heads = [0, 3]
[[interventions]]
name = "two means"
what = "value"
value = "mean"
tokens = [1, 2]
[[interventions]]
name = "back"
what = "key"
scale = -1
along = 0.5
heads = [2]
[[interventions]]
name = "clip by size"
what = "clip"
largest = 0.5
layers = [0]
tokens = [1, 4]
[[interventions]]
name = "mean of some"
what = "head"
value = "mean"
tokens = [2, 5]
heads = [1]
[[interventions]]
name = "each head"
what = "head"
per-head = true
[[interventions]]
name = "weights"
what = "quantise"
weight-bits = 4
weights-per = "tensor"
[[interventions]]
name = "tokens"
what = "quantise"
input-bits = 5
inputs-per = "token"
[[interventions]]
name = "channels"
what = "quantise"
weight-bits = 3
input-bits = 6
inputs-per = "channel"
inputs = "sublayers"
"""


def rounded(x, bits, dims):
    largest = x.abs().amax(dim=dims, keepdim=True)
    steps = 2 ** (bits - 1) - 1
    return torch.where(largest == 0, x, torch.round(x / largest * steps) / steps * largest)


class Edited:
    """One intervention on one model, as hooks; off() takes it back."""

    def __init__(self, model, what, values):
        self.what, self.values, self.undo = what, values, []
        model.model.layers[0].self_attn.config._attn_implementation = "edited"
        Edited.now = self
        if what.get("what") == "clip":
            for number, layer in enumerate(model.model.layers):
                if number in what.get("layers", [number]):
                    self.undo.append(layer.register_forward_hook(self.clip).remove)
        if what.get("what") == "quantise":
            for layer in model.model.layers:
                self.quantise(layer.self_attn, layer.mlp)

    def off(self):
        for undo in self.undo:
            undo()
        Edited.now = None

    def clip(self, _, __, output):
        x = output[0] if isinstance(output, tuple) else output
        flat = x.abs().flatten(1).sort(dim=1).values
        n = flat.shape[1]
        median = (flat[:, (n - 1) // 2] + flat[:, n // 2]) / 2
        limit = (self.what["medians"] * median if "medians" in self.what else
                 torch.full_like(median, self.what["largest"]))[:, None, None]
        clipped = torch.minimum(torch.maximum(x, -limit), limit)
        for t in range(x.shape[1]):
            if t + 1 in self.what.get("tokens", [t + 1]):
                x = torch.cat([x[:, :t], clipped[:, t:t + 1], x[:, t + 1:]], dim=1)
        return (x, *output[1:]) if isinstance(output, tuple) else x

    def quantise(self, attention, mlp):
        groups = [[attention.q_proj, attention.k_proj, attention.v_proj], [attention.o_proj],
                  [mlp.gate_proj, mlp.up_proj], [mlp.down_proj]]
        if "weight-bits" in self.what:
            per_tensor = self.what.get("weights-per") == "tensor"
            for group in groups:
                joined = torch.cat([module.weight for module in group])
                whole = rounded(joined, self.what["weight-bits"], (0, 1) if per_tensor else (1,))
                for module, part in zip(group, whole.split([len(module.weight) for module in group])):
                    before = module.weight.data
                    module.weight.data = part.contiguous()
                    self.undo.append(lambda module=module, before=before: setattr(module.weight, "data", before))
        if "input-bits" in self.what:
            dims = {"tensor": (1, 2), "channel": (1,), "token": (2,)}[self.what.get("inputs-per", "tensor")]
            some = groups if self.what.get("inputs", "products") == "products" else [groups[0], groups[2]]
            for module in sum(some, []):
                hook = module.register_forward_pre_hook(
                    lambda _, inputs: (rounded(inputs[0], self.what["input-bits"], dims),))
                self.undo.append(hook.remove)


Edited.now = None


def attention(module, query, key, value, mask, scaling, **_):
    """Rows of attention one edited token after the other: queries i > k see token k changed."""
    what = Edited.now.what if Edited.now else {}
    groups = query.shape[1] // key.shape[1]
    T, layer = query.shape[2], module.layer_idx
    if what.get("record"):
        Edited.now.values[layer] = value
    causal = torch.ones(T, T, dtype=torch.bool).tril()

    def weights_of(key):
        scores = query @ key.repeat_interleave(groups, dim=1).transpose(-1, -2) * scaling
        return scores.masked_fill(~causal, -torch.inf)

    wide = value.repeat_interleave(groups, dim=1)
    scores = weights_of(key)
    weights = scores.softmax(-1)
    output = weights @ wide
    of_attention = what.get("what") in ("mask", "redistribute", "constant", "value", "key")
    if of_attention and layer in what.get("layers", [layer]):
        tokens = [token - 1 for token in sorted(what.get("tokens", [1]))]
        others = [t for t in range(T) if t not in tokens]
        edited = output.clone()
        for i in range(T):
            earlier = [k for k in tokens if k < i]
            if not earlier:
                continue
            if what["what"] in ("mask", "redistribute"):
                row = scores[:, :, i].clone()
                row[..., earlier] = -torch.inf
                edited[:, :, i] = (row.softmax(-1)[:, :, None] @ wide)[:, :, 0]
            elif what["what"] == "constant":
                for k in earlier:
                    mean = weights[:, :, k + 1:, k].mean(-1)
                    edited[:, :, i] -= (weights[:, :, i, k] - mean)[..., None] * wide[:, :, k]
            elif what["what"] == "value":
                other = wide.clone()
                mean = Edited.now.values[layer][:, :, others].mean(dim=(0, 2)).repeat_interleave(groups, dim=0)
                other[:, :, earlier] = mean[None, :, None] if what.get("value") == "mean" else 0.0
                edited[:, :, i] = (weights[:, :, i:i + 1] @ other)[:, :, 0]
            else:
                other = key.clone()
                for k in earlier:
                    length = key[:, :, k].norm(dim=-1, keepdim=True)
                    other[:, :, k] = key[:, :, k] * (what.get("scale", 1) + what.get("along", 0) / length)
                edited[:, :, i] = (weights_of(other)[:, :, i:i + 1].softmax(-1) @ wide)[:, :, 0]
        for h in what.get("heads", range(query.shape[1])):
            output[:, h] = edited[:, h]
    if what.get("record"):
        Edited.now.values["mean output", layer] = output.mean(dim=(0, 2))
    if what.get("what") == "head":
        places = [tuple(map(int, place.split("."))) for place in what.get("layer-heads", [])] or [
            (l, h) for l in what.get("layers", [layer]) for h in what.get("heads", range(query.shape[1]))]
        rows = [token - 1 for token in what.get("tokens", range(1, T + 1))]
        for h in (h for l, h in places if l == layer):
            output[:, h, rows] = Edited.now.values["mean output", layer][h] if what.get("value") == "mean" else 0.0
    return output.transpose(1, 2).contiguous(), weights


def rows_of(sections, model):
    for section in sections:
        section = {key.replace("_", "-"): value for key, value in section.items()}
        if not section.get("per-head"):
            yield section
            continue
        for layer in section.get("layers", range(model.config.num_hidden_layers)):
            for head in section.get("heads", range(model.config.num_attention_heads)):
                name = f"{section['name']} layer {layer} head {head}"
                yield {**section, "layers": [layer], "heads": [head], "name": name}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--settings", type=pathlib.Path, default=ROOT / "eval/interventions/interventions_example.toml")
    parser.add_argument("--tokens", type=pathlib.Path)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--precision", default="f64")
    options = parser.parse_args()
    where = dict(pretrained_model_name_or_path=str(options.model))
    if options.model.suffix == ".gguf":
        where = dict(pretrained_model_name_or_path=str(options.model.parent), gguf_file=options.model.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval().to(torch.float64)
    transformers.AttentionInterface.register("edited", attention)
    model.config._attn_implementation = "edited"

    with tempfile.TemporaryDirectory() as folder:
        settings, tokens, out = (pathlib.Path(folder) / name for name in ("all.toml", "tokens.txt", "out.json"))
        kinds = options.settings.read_text().split("[[interventions]]")
        settings.write_text("[[interventions]]".join(kind for kind in kinds if "\"patch\"" not in kind) + MORE)
        ids = torch.randint(0, model.config.vocab_size, (3, 9), generator=torch.Generator().manual_seed(5)).tolist()
        if options.tokens:
            ids = [[int(word) for word in line.split()] for line in options.tokens.read_text().splitlines()]
        tokens.write_text("".join(" ".join(map(str, line)) + "\n" for line in ids))
        subprocess.run([options.program, "interventions", options.model, "--settings", settings, "--tokens", tokens,
                        "--precision", options.precision, "--out", out], check=True, capture_output=True)
        measured = json.loads(out.read_text())
        sections = tomllib.loads(settings.read_text())["interventions"]

    tokens, values = torch.tensor(ids), {}

    def logits(what):
        edited = Edited(model, what, values)
        with torch.no_grad():
            result = model(tokens).logits.log_softmax(-1)
        edited.off()
        return result

    def loss(log_p):
        return -log_p[:, :-1].gather(-1, tokens[:, 1:, None]).mean().item()

    before = logits({"record": True})
    rows, worst = list(rows_of(sections, model)), 0.0
    assert [row["name"] for row in rows] == [row["name"] for row in measured["interventions"]]
    for row, found in zip(rows, measured["interventions"]):
        after = logits(row)
        expected = {"loss_before": loss(before), "loss": loss(after), "change": loss(after) - loss(before),
                    "divergence": (before.exp() * (before - after)).sum(-1).mean().item(),
                    "greedy_changed": (before.argmax(-1) != after.argmax(-1)).double().mean().item()}
        off = max(abs(found[key] - value) for key, value in expected.items())
        worst = max(worst, off)
        print(f"{row['name']:24} change {found['change']:+.6f} KL {found['divergence']:.6f} off by {off:.2g}")
    print(f"{len(rows)} interventions, off by {worst:.2g} at most")
    return 1 if worst > options.tolerance or worst != worst else 0


if __name__ == "__main__":
    sys.exit(main())
