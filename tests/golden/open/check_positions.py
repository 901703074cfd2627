#!/usr/bin/env python3
"""Compares edits of learned positions (`sink --positions`) with those of transformers in float64, on the models here.

  check_positions.py FOLDER      of eval_gpt2 and eval_opt; exit 1 where they differ; 77 without torch, transformers

Loss and alpha_k of every key up to the edited one, of a repeated token and of others; the tolerance is 1e-6.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as error:
    print(f"check_positions.py: {error}; python3 -m venv venv && venv/bin/pip install torch transformers",
          file=sys.stderr)
    sys.exit(77)

MODELS = pathlib.Path(__file__).parent / "models"
TOKENS = [[7] * 24, [3, 9, 4, 1, 30, 22, 5, 17, 8, 2, 11, 19, 6, 33, 28, 14, 21, 0, 12, 39, 25, 31, 16, 10]]
EDITS = ["replace:5", "replace:20", "swap:5", "swap:15"]


def ours(program, family, edit):
    with tempfile.TemporaryDirectory() as folder:
        ids = pathlib.Path(folder) / "ids.txt"
        ids.write_text("".join(" ".join(map(str, row)) + "\n" for row in TOKENS))
        command = [program, "sink", MODELS / family, "--tokens", ids, "--map", "none", "--positions", edit]
        measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return measured["val_loss"], torch.tensor(measured["by_length"]["alpha_k"][0], dtype=torch.float64)


def theirs(family, edit):
    model = transformers.AutoModelForCausalLM.from_pretrained(MODELS / family, attn_implementation="eager",
                                                              dtype=torch.float64).eval()
    table = model.transformer.wpe.weight if family == "gpt2" else model.model.decoder.embed_positions.weight
    kind, t = edit.split(":")
    one = 0 if family == "gpt2" else 2  # the row of position 1
    first, other = table[one].clone().detach(), table[one + int(t) - 1].clone().detach()
    tokens = torch.tensor(TOKENS)
    with torch.no_grad():
        table[one] = other
        if kind == "swap":
            table[one + int(t) - 1] = first
        output = model(tokens, output_attentions=True, labels=tokens)
    rows = torch.arange(tokens.shape[1], 0, -1)
    return output.loss.item(), torch.stack([(a.sum(-2) / rows).mean((0, 1)) for a in output.attentions]).mean(0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    transformers.logging.disable_progress_bar()
    worst = 0.0
    for family in ("gpt2", "opt"):
        for edit in EDITS:
            loss, alpha = ours(f"{sys.argv[1]}/eval_{family}", family, edit)
            their_loss, their_alpha = theirs(family, edit)
            off = max(abs(loss - their_loss), (alpha - their_alpha[: len(alpha)]).abs().max().item())
            print(f"{family} {edit}: loss and alpha of {len(alpha)} keys off by {off:.2g}")
            worst = max(worst, off)
    return 1 if worst > 1e-6 else 0


if __name__ == "__main__":
    sys.exit(main())
