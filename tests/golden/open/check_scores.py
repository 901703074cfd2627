#!/usr/bin/env python3
"""Compares what eval_<family> score gives of a GGUF file with an eager computation of transformers in float32.

  check_scores.py EVAL_PROGRAM MODEL.gguf [LINES.jsonl]      exit 1 where they differ; 77 without the packages

Lines are {"context", "continuation"} or {"query", "choices", "gold"}. Each pair is encoded and read alone, as lm_eval's `hf`
does it; number of tokens, each log-probability and which tokens are the most likely are compared; the tolerance is 1e-3
nats, and tokens whose two best logits are within it may differ. Needs: torch, transformers, accelerate, gguf.
"""
import json
import pathlib
import subprocess
import sys

try:
    import accelerate  # noqa: F401, which transformers asks for
    import gguf  # noqa: F401
    import torch
    import transformers
except ImportError as error:
    print(f"check_scores.py: {error}", file=sys.stderr)
    sys.exit(77)

TOLERANCE = 1e-3
LINES = [{"context": "The capital of France is", "continuation": " Paris"},
         {"context": "The capital of France is ", "continuation": "Berlin, I think."},
         {"context": "Water boils at\n", "continuation": "100 degrees"},
         {"context": "The capital of France", "continuation": " is Paris, and that of Italy is Rome."},
         {"context": "Das Zeichen \u00fc\u3000", "continuation": "\u00f6 \U0001f600"},
         {"context": "1, 2, 3, 4, 5,", "continuation": " 6"},
         {"query": "Question: Is water wet?\nAnswer:", "choices": ["yes", "no, it is dry"], "gold": 0}]


def encode_pair(encode, context, continuation):
    """TemplateLM._encode_pair of lm_eval 0.4.13."""
    blanks = len(context) - len(context.rstrip())
    if blanks > 0:
        continuation = context[-blanks:] + continuation
        context = context[:-blanks]
    before = encode(context)
    return before, encode(context + continuation)[len(before):]


def main():
    program, path = sys.argv[1], pathlib.Path(sys.argv[2])
    lines = [json.loads(line) for line in open(sys.argv[3])] if len(sys.argv) > 3 else LINES
    pairs = [[(line["query"], " " + choice) for choice in line["choices"]] if "choices" in line
             else [(line["context"], line["continuation"])] for line in lines]
    flat = [pair for of_line in pairs for pair in of_line]
    given = "".join(json.dumps({"context": context, "continuation": end}) + "\n" for context, end in flat)
    made = subprocess.run([program, "score", path, "-"], input=given.encode(), check=True, capture_output=True)
    ours = [json.loads(line) for line in made.stdout.splitlines()]
    where = dict(pretrained_model_name_or_path=str(path.parent), gguf_file=path.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, attn_implementation="eager", dtype=torch.float32)
    worst, wrong = 0.0, 0
    for (context, end), our in zip(flat, ours, strict=True):
        before, scored = encode_pair(tokenizer.encode, context, end)
        with torch.no_grad():
            logits = model.eval()(torch.tensor([before + scored])[:, :-1]).logits[0, -len(scored):]
        each = torch.log_softmax(logits.double(), -1)
        top, best = each.topk(2)
        expected = each.gather(1, torch.tensor(scored)[:, None])[:, 0].tolist()
        greedy = (best[:, 0] == torch.tensor(scored)).tolist()
        clear = (top[:, 0] - top[:, 1] > TOLERANCE).tolist()
        if len(expected) != our["tokens"]:
            print(f"{context!r} {end!r}: {our['tokens']} tokens, expected {len(expected)}")
            wrong += 1
            continue
        off = max(abs(a - b) for a, b in zip(expected, our["token_logprobs"]))
        worst = max(worst, off)
        wrong += off > TOLERANCE or abs(sum(our["token_logprobs"]) - our["logprob"]) > 1e-9
        wrong += any(c and a != b for a, b, c in zip(greedy, our["token_greedy"], clear))
    print(f"{len(flat)} continuations, log-probabilities off by at most {worst:.3g}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
