#!/usr/bin/env python3
"""Makes tokenizer.json and golden.json with HuggingFace's library, the independent source of tests/engine/data/tokenizer.

    pip install tokenizers==0.23.3 && python make_golden.py

tokenizer.json is trained on training.txt (600 tokens, ids 0 and 1 as in GPT-NeoX) and has two added white space tokens,
as GPT-NeoX has. golden.json holds its merges before those were added, and texts with their ids."""
import json
import pathlib

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

here = pathlib.Path(__file__).resolve().parent
training = (here / "training.txt").read_text(encoding="utf-8")

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
trainer = trainers.BpeTrainer(
    vocab_size=600,
    show_progress=False,
    special_tokens=["<|endoftext|>", "<|padding|>"],
    initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
)
tokenizer.train_from_iterator([training], trainer)
merges = json.loads(tokenizer.to_str())["model"]["merges"]
tokenizer.add_tokens([AddedToken("    ", normalized=True), AddedToken("  ", normalized=True)])
tokenizer.save(str(here / "tokenizer.json"))

texts = [
    "",
    " ",
    "Emma Woodhouse, handsome, clever, and rich",
    "a\nb\n\nc\n\n\n  d",
    "trailing spaces   ",
    "   leading",
    "one  two   three    four     five      six",
    "\tif (x) {\n\t\treturn 0;\n\t}\r\n",
    "we'll they're I'd I'm you've it's can't WE'LL 's 'S ' s",
    "<|endoftext|>",
    "a<|endoftext|>b<|padding|> <|endoftext|><|endoftext|>\n",
    "<|endoftext|",
    "1811, 3.14159, 1e-5, x2y, 12ab34, \u00b2\u00bd\u2167 \u0663\u0664",
    "---------------------------------------------------------------------- ==",
    "caf\u00e9 cafe\u0301 na\u00efve \u00dcbermut \u1e9e",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3002\u3000\u6f22\u5b57",
    "\U0001f642\U0001f643 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "nbsp\u00a0x \u2003em\u2003\u2003 space\u2028line\u180emvs\u200bzwsp\ufeffbom \u0085nel",
    "\u0000\u0001\u001c\u001d\u001f\u007f\u0080",
    "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u0420\u0443\u0441\u0441\u043a\u0438\u0439 "
    "\u05e2\u05d1\u05e8\u05d9\u05ea \u0627\u0644\u0639\u0631\u0628\u064a\u0629 "
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
    "\u0301combining first, \ud7ff\ue000\ufffd\U0010ffff",
    "x" * 300 + " " * 100 + "y",
    training,
]
golden = [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts]
for case in golden:
    assert tokenizer.decode(case["ids"], skip_special_tokens=False) == case["text"], case["text"][:40]
(here / "golden.json").write_text(json.dumps({"merges": [" ".join(m) for m in merges], "cases": golden}) + "\n")
