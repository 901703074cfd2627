#!/usr/bin/env python3
"""Greedy text of a GGUF model by eval_llama against an eager float32 computation of `transformers`, which has no part in ours.

usage: check_generation.py EVAL_PROGRAM MODEL.gguf [TOKENS]
Both read the same ids; each continues alone. Prints how many tokens are equal, and at the first that differ the two logits
that decide. Exit code 1 unless all are equal.
"""
import json
import os
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM

PROMPTS = ["Once upon a time, in a small village", "The capital of France is", "def fibonacci(n):\n",
           "Water boils at", "1, 2, 3, 4, 5,"]


def main():
    program, path = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    model = AutoModelForCausalLM.from_pretrained(os.path.dirname(path) or ".", gguf_file=os.path.basename(path),
                                                 dtype=torch.float32, attn_implementation="eager").eval()
    wrong = 0
    for prompt in PROMPTS:
        made = subprocess.run([program, "generate", path, "--text", prompt, "--most", str(count), "--json", "--past-stops"],
                              check=True, capture_output=True, text=True)
        ours = json.loads(made.stdout)
        ids, theirs = list(ours["prompt"]), []
        with torch.no_grad():
            while len(theirs) < count:  # without a cache: every token anew
                logits = model(torch.tensor([ids + theirs])).logits[0, -1]
                best = int(logits.argmax())
                if best != ours["tokens"][len(theirs)]:
                    other = ours["tokens"][len(theirs)]
                    print(f"{prompt!r}: token {len(theirs)} is {best} (logit {logits[best]:.6f}), "
                          f"ours {other} ({logits[other]:.6f})")
                    wrong += 1
                    break
                theirs.append(best)
        print(f"{prompt!r}: {len(theirs)} of {count} tokens equal")
    sys.exit(1 if wrong else 0)


main()
