#!/usr/bin/env python3
"""Makes forms.json with HuggingFace's library: what tokenizer.json beside it gives in the forms that other families'
files have, each as a JSON merge patch (RFC 7396) on that file, and hashes over all of Unicode.

    pip install tokenizers==0.23.3 && python make_forms.py"""
import hashlib
import json
import pathlib

import hostile_text
from families import LLAMA3, O200K, QWEN2, TEKKEN
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

here = pathlib.Path(__file__).resolve().parent
BASE = json.loads((here / "tokenizer.json").read_text())
MERGES = BASE["model"]["merges"]
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

SIGNS = r"[\p{P}\$\+<=>\^~\|]+"


def byte_level(prefix=False, words=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": words}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(*steps):
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": list(steps), "add_prefix_space": None,
                              "trim_offsets": None, "use_regex": None}}


def digits(each):
    return {"type": "Digits", "individual_digits": each}


def template(before, after, ids):
    part = [{"SpecialToken": {"id": t, "type_id": 0}} for t in before]
    end = [{"SpecialToken": {"id": t, "type_id": 0}} for t in after]
    text = [{"Sequence": {"id": "A", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": part + text + end,
            "pair": part + text + end + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in before + after}}


def added(content, id, **options):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True} | options


def without(characters):
    """The vocabulary with others in the place of the bytes that these characters stand for; no merge has them."""
    assert not any(c in m for c in characters for merge in MERGES for m in merge)
    vocabulary = BASE["model"]["vocab"]
    return {c: None for c in characters} | {c + "instead": vocabulary[c] for c in characters}


IDS = {"<|endoftext|>": 0, "<|padding|>": 1}
BOTH = template(["<|endoftext|>"], ["<|padding|>"], IDS)
LACKS = without("\u00f1\u00f2\u00f3")
AROUND = {"processors": [byte_level(), template(["<|endoftext|>"], [], IDS)], "type": "Sequence",
          "add_prefix_space": None, "trim_offsets": None, "use_regex": None}
FORMS = {
    "gpt2": {},
    "gptneox": {"normalizer": {"type": "NFC"}},
    "normalizers": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}},
    "opt": {"post_processor": BOTH},
    "llama3": sequence(split(LLAMA3), byte_level(words=False)) | {"post_processor": AROUND,
                                                                   "model": {"ignore_merges": True,
                                                                             "vocab": {"zqxj": 602, "\u0120zqxj": 603}},
                                                                   "added_tokens": BASE["added_tokens"][:2]},
    "qwen2": sequence(split(QWEN2), byte_level(words=False)) | {"normalizer": {"type": "NFC"}},
    "gptoss": sequence(split(O200K), byte_level(words=False)),
    "tekken": sequence({**split(TEKKEN), "behavior": "Removed", "invert": True}, byte_level(words=False)),
    "llama.cpp's default": sequence(split(SIGNS), split(WORDS), split(r"\p{N}+"), split("[0-9][0-9][0-9]"),
                                    byte_level(words=False)),
    "smollm": sequence(digits(True), byte_level()) | {"model": {"vocab": LACKS}},
    "digit_runs": sequence(digits(False), byte_level(prefix=True)),
    "split_words": sequence(sequence(split(WORDS))["pre_tokenizer"], byte_level(words=False)),
    "prefix_space": {"pre_tokenizer": byte_level(prefix=True)},
    "no_cuts": {"pre_tokenizer": byte_level(words=False)},
    "unknown": {"model": {"unk_token": "!", "vocab": LACKS}},
    "fused_unknown": {"model": {"unk_token": "!", "fuse_unk": True, "vocab": LACKS}},
    "pairs": {"model": {"merges": [m.split(" ") if isinstance(m, str) else m for m in MERGES]}},
    "strings": {"model": {"merges": [m if isinstance(m, str) else " ".join(m) for m in MERGES]}},
    "twice": {"model": {"merges": MERGES + [MERGES[0], MERGES[3]]}},  # the last rank of a pair counts
    "added": {"added_tokens": [
        added("<|endoftext|>", 0), added("<|padding|>", 1, lstrip=True), added("    ", 600),
        added("<right>", 601, rstrip=True), added("<both>", 602, rstrip=True, lstrip=True, special=False),
        added("word", 603, single_word=True, normalized=True, special=False), added("<right>x", 604),
        added("e\u0301", 605, normalized=True, special=False), added("\u00a0", 606, lstrip=True)],
        "normalizer": {"type": "NFC"}},
}


def merged(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


TEXTS = [
    "", " ", "x", "It's 12345 o'clock, isn'T it? WE'LL see\u017f 'S\n\n", "a<|endoftext|> b  <|padding|>c",
    "zqxj zqxj zqxjx Zqxj", "cafe\u0301 e\u0301 \u00e9 \u212b \u1112\u1161\u11ab a\u0323\u0307 a\u0307\u0323",
    "<right>   <both>. \t<both>x <right>x<right>", "word sword word, words \u0301word word\u0301 2word wordy-word_word word",
    "      \u00a0  <padding|>\u00a0\u00a0 x", "\u00f1 \U000414a1\U000814a1\U000c14a1\U000414a1 end", "1\u00b22\u0663\u0664 \u2167x3 .5,6",
    "\r\n \n\t \r\n  x\n y  \n", "...\n\n!?\r\nx -- 'tis 'Twas ''s", "<\u200dword\u200d>", "   leading and trailing   ",
    "    four     five      six    ", "aBCdE HELLOworld\u01c5x \u02b0A\u02b0 \u4e2dA\u4e2d e\u0301X\u0301\u0301 .\u0301a I'LLx/\r\n//\n 12345678",
]


def ids_hash(ids):
    return hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()


def classes_hash():
    """SHA-256 of a byte a character: 1 letter, 2 number, 4 white space, and 8 where Digits cuts; 32 capital letter or mark,
    64 small letter or punctuation."""
    codes = [c for c in range(1, 0x110000) if not 0xD800 <= c <= 0xDFFF]
    classes = bytearray(0x110000)
    for bit, pattern in (1, r"\p{L}"), (2, r"\p{N}"), (4, r"\s"), (32, r"[\p{Lu}\p{Lt}\p{M}]"), (64, r"[\p{Ll}\p{P}]"):
        others = pre_tokenizers.Split(Regex(pattern), "removed")
        for i in range(0, len(codes), 4096):
            block = codes[i:i + 4096]
            left = {ord(c) for piece, _ in others.pre_tokenize_str("".join(map(chr, block))) for c in piece}
            for c in block:
                classes[c] |= 0 if c in left else bit
    cut = pre_tokenizers.Digits(individual_digits=True)
    for c in codes:
        classes[c] |= 8 if len(cut.pre_tokenize_str("a" + chr(c) + "a")) > 1 else 0
    return hashlib.sha256(bytes(classes)).hexdigest()


def composed_hash():
    """SHA-256 of the composed forms, with line ends, of every character alone, decomposed, and beside combining ones."""
    compose, decompose = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    total = hashlib.sha256()
    decomposed, codes = [], []
    for code in range(0x20, 0x110000):
        if 0xD800 <= code <= 0xDFFF:
            continue
        c = chr(code)
        for text in (c, c + "\u0334", "\u0345" + c, "e" + c + "\u0301", c + "\u1161\u11a8"):
            total.update(compose(text).encode() + b"\n")
        if decompose(c) != c and not 0xAC00 <= code <= 0xD7A3:
            decomposed.append(decompose(c))
            codes.append(code)
            total.update(compose(decomposed[-1]).encode() + b"\n")
    return total.hexdigest(), decomposed, codes


def main():
    sample = "".join(hostile_text.documents(400_000)[::23])[:9000]
    forms = {}
    for name, patch in FORMS.items():
        file = merged(BASE, patch)
        for key in ("normalizer", "truncation", "padding"):
            file.setdefault(key, None)
        tokenizer = Tokenizer.from_str(json.dumps(file))
        forms[name] = {"patch": patch, "ids": [tokenizer.encode(t, add_special_tokens=False).ids for t in TEXTS],
                       "special": tokenizer.encode(TEXTS[3]).ids,
                       "sample": ids_hash(tokenizer.encode(sample, add_special_tokens=False).ids)}
    composed, decomposed, codes = composed_hash()
    out = {"texts": TEXTS, "sample": sample, "forms": forms, "classes": classes_hash(), "composed": composed,
           "decomposed": "\n".join(decomposed), "decomposed_codes": codes}
    (here / "forms.json").write_text(json.dumps(out, separators=(",", ":"), ensure_ascii=False).replace('},"', '},\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
