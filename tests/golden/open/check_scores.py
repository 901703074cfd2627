#!/usr/bin/env python3
"""Compares what eval_<family> score gives of a model with an eager computation of transformers in float32.

  check_scores.py EVAL_PROGRAM [MODEL [LINES.jsonl]]      exit 1 where they differ; 77 without the packages

MODEL is a GGUF file or a folder; without one they are tiny LLaMAs, with the files that say what begins a text in turn.
Lines are {"context", "continuation"} or {"query", "choices", "gold"}. Each pair is encoded and read alone, as lm_eval's
`hf` does it; number of tokens, each log-probability and which tokens are the most likely are compared; the tolerance is
1e-3 nats, and tokens whose two best logits are within it may differ. The adapter of tools/lm_eval is asked the same,
with the installed lm_eval or, without it, with the two names that it takes from there.
Needs: torch, transformers, accelerate, gguf.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

try:
    import accelerate  # noqa: F401, which transformers asks for
    import gguf  # noqa: F401
    import torch
    import transformers
except ImportError as error:
    print(f"check_scores.py: {error}", file=sys.stderr)
    sys.exit(77)

TOLERANCE = 1e-3
HERE = pathlib.Path(__file__).resolve().parent
TINY = [{"context": "the cat", "continuation": " and the hat"}, {"context": "in the ", "continuation": "attic"},
        {"context": "", "continuation": "that"}, {"context": "", "continuation": "<s>an inn"},
        {"context": "a</s>", "continuation": "b"}, {"context": "a", "continuation": "nd the"}, {"query": "the", "choices": ["cat", "inn and the hat"], "gold": 0}]
# What tokenizer_config.json says, and whether the tokenizer begins every text with <s>. As SmolLM2, Qwen, LLaMA 2.
BEGINS = [({"bos_token": "<s>", "eos_token": "</s>"}, False), ({"bos_token": None, "eos_token": "</s>"}, False),
          ({"bos_token": {"__type": "AddedToken", "content": "<s>"}, "eos_token": "</s>"}, True)]
LINES = [{"context": "The capital of France is", "continuation": " Paris"},
         {"context": "The capital of France is ", "continuation": "Berlin, I think."},
         {"context": "Water boils at\n", "continuation": "100 degrees"},
         {"context": "The capital of France", "continuation": " is Paris, and that of Italy is Rome."},
         {"context": "Das Zeichen \u00fc\u3000", "continuation": "\u00f6 \U0001f600"},
         {"context": "1, 2, 3, 4, 5,", "continuation": " 6"},
         {"context": "Paris is the cap", "continuation": "ital of France"},
         {"context": "", "continuation": "Once upon a time"},
         {"query": "Question: Is water wet?\nAnswer:", "choices": ["yes", "no, it is dry"], "gold": 0}]


def encode_pair(tokenizer, context, continuation):
    """TemplateLM.loglikelihood and _encode_pair of lm_eval 0.4.13."""
    if context == "":
        prefix = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        ids = tokenizer.encode(continuation, add_special_tokens=False)
        return (ids[:1], ids[1:]) if ids[0] == prefix else ([prefix], ids)
    blanks = len(context) - len(context.rstrip())
    if blanks > 0:
        continuation = context[-blanks:] + continuation
        context = context[:-blanks]
    before = tokenizer.encode(context)
    return before, tokenizer.encode(context + continuation)[len(before):]


def tiny_folder(path, begins, always):
    """The tiny LLaMA of models/ with forty tokens; its config.json names another begin than tokenizer_config.json."""
    shutil.copytree(HERE / "models/llama", path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"bos_token_id": 7}))
    letters = ["\u0120"] + [chr(ord("a") + n) for n in range(26)]
    merges = [["t", "h"], ["th", "e"], ["\u0120", "the"], ["a", "n"], ["\u0120", "an"], ["\u0120an", "d"], ["i", "n"],
              ["a", "t"], ["c", "at"], ["h", "at"], ["\u0120", "cat"]]
    words = letters + ["".join(pair) for pair in merges]
    added = [{"id": len(words) + n, "content": text, "special": True, "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False} for n, text in enumerate(["<s>", "</s>"])]
    one = [{"SpecialToken": {"id": "<s>", "type_id": 0}}] if always else []
    template = {"type": "TemplateProcessing", "single": one + [{"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [len(words)], "tokens": ["<s>"]}} if always else {}}
    bytes_of = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (path / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": bytes_of, "decoder": bytes_of,
        "post_processor": template if always else None,
        "model": {"type": "BPE", "vocab": {word: n for n, word in enumerate(words)}, "merges": merges}}))
    (path / "tokenizer_config.json").write_text(json.dumps(begins | {"tokenizer_class": "PreTrainedTokenizerFast"}))
    return path


def adapter(program, path):
    """Sinklab of tools/lm_eval."""
    try:
        import lm_eval.api.model  # noqa: F401
    except ImportError:
        names = {"lm_eval": {}, "lm_eval.api": {}, "lm_eval.api.model": {"LM": object},
                 "lm_eval.api.registry": {"register_model": lambda name: lambda made: made}}
        for name, held in names.items():
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(held)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(HERE.parents[2] / "tools/lm_eval"))
    import sinklab_lm
    return sinklab_lm.Sinklab(program, path)


def check(program, path, lines):
    """How many continuations are wrong."""
    pairs = [[(line["query"], " " + choice) for choice in line["choices"]] if "choices" in line
             else [(line["context"], line["continuation"])] for line in lines]
    flat = [pair for of_line in pairs for pair in of_line]
    given = "".join(json.dumps({"context": context, "continuation": end}) + "\n" for context, end in flat)
    made = subprocess.run([program, "score", path, "-"], input=given.encode(), check=True, capture_output=True)
    ours = [json.loads(line) for line in made.stdout.splitlines()]
    where = (dict(pretrained_model_name_or_path=str(path)) if path.is_dir()
             else dict(pretrained_model_name_or_path=str(path.parent), gguf_file=path.name))
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, attn_implementation="eager", dtype=torch.float32)
    worst, wrong = 0.0, 0
    for (context, end), our in zip(flat, ours, strict=True):
        before, scored = encode_pair(tokenizer, context, end)
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
    handed = adapter(program, path)
    asked = [types.SimpleNamespace(args=pair) for pair in flat]
    wrong += handed.loglikelihood(asked) != [(our["logprob"], our["greedy"]) for our in ours]
    alone = [n for n, (context, _) in enumerate(flat) if context == ""]
    rolling = handed.loglikelihood_rolling([types.SimpleNamespace(args=(flat[n][1],)) for n in alone])
    wrong += rolling != [ours[n]["logprob"] for n in alone]
    print(f"{len(flat)} continuations, log-probabilities off by at most {worst:.3g}, {wrong} wrong")
    return wrong


def main():
    program = sys.argv[1]
    if len(sys.argv) > 2:
        lines = [json.loads(line) for line in open(sys.argv[3])] if len(sys.argv) > 3 else LINES
        return 1 if check(program, pathlib.Path(sys.argv[2]), lines) else 0
    with tempfile.TemporaryDirectory() as folder:
        wrong = [check(program, tiny_folder(pathlib.Path(folder) / str(n), *begins), TINY)
                 for n, begins in enumerate(BEGINS)]
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
