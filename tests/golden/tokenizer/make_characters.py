#!/usr/bin/env python3
"""Makes characters.json: tokenizers of characters and what the packages `tokenizers` and `sentencepiece` give with them.

"base" is a small tokenizer.json in LLaMA 2's form; "forms" are others, each as a JSON merge patch (RFC 7396) on it, with
the ids of "texts", those with special tokens of the fourth text, and what the ids of each text are decoded to. "scored"
are vocabularies that SentencePiece learnt, with the ids and decoded texts of "scored_texts".

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 && python make_characters.py"""
import io
import json
import pathlib
import random

import sentencepiece
from tokenizers import Tokenizer, decoders, normalizers

from families import META, of_characters
from make_forms import TEXTS as BYTE_TEXTS, added, digits, ids_hash, merged

here = pathlib.Path(__file__).resolve().parent
TRAINING = (here / "training.txt").read_text()
TEXTS = BYTE_TEXTS[:16] + [
    " leading", "  two", "trailing  ", f"{META}a {META}{META} b{META}", "a<s>b <s> c</s> \n\n\n\n d", "<s>", "<s> a", " <s>a",
    "the other the  other\tthe\nother", "\x00\x7f\u0080 \u4e2d\u6587\U0001f600\u00e9e\u0301", "<0x0A><0x0a><unk>",
    "zqxj", f"{META}zqxj", "word the word", "1 the 22 the", "of the of the other of  the", "<right>  <both> x  y"]


def sequence(*steps, key="pretokenizers"):
    return {"type": "Sequence", key: list(steps)}


def metaspace(scheme, split, **more):
    return {"type": "Metaspace", "replacement": META, "prepend_scheme": scheme, "split": split} | more



BASE = json.loads(of_characters("llama2", [TRAINING], 150).to_str())
VOCABULARY, MERGES = BASE["model"]["vocab"], BASE["model"]["merges"]
NEXT = len(VOCABULARY)
REPLACE, STRIP = BASE["decoder"]["decoders"][0], BASE["decoder"]["decoders"][3]
FALLBACK, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
GEMMA_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
PLAIN = {"normalizer": None, "decoder": sequence(REPLACE, FALLBACK, FUSE, STRIP, key="decoders")}


def extended(tokens, merges):
    """The base's model with more tokens and merges."""
    return {"vocab": {t: NEXT + i for i, t in enumerate(tokens)}, "merges": MERGES + merges}


ACROSS = extended(["e" + META, f"e{META}t", f"{META}e{META}t", f"{META}{META}", f"{META}{META}t", f"s{META}"],
                  [["e", META], [f"e{META}", "t"], [META, f"e{META}t"], [META, META], [f"{META}{META}", "t"], ["s", META]])
FORMS = {
    "llama2": {},
    "mistral": PLAIN | {"pre_tokenizer": metaspace("first", False), "model": {"ignore_merges": True,
                                                                              "vocab": {f"{META}zqxj": NEXT, "zqxj": NEXT + 1}}},
    "gemma": {"normalizer": BASE["normalizer"]["normalizers"][1], "pre_tokenizer": GEMMA_SPLIT, "model": ACROSS,
              "decoder": sequence(REPLACE, FALLBACK, FUSE, key="decoders"),
              "added_tokens": BASE["added_tokens"] + [added("\n\n", NEXT + 6, special=False),
                                                      added("\n\n\n", NEXT + 7, special=False)]},
    "always": PLAIN | {"pre_tokenizer": metaspace("always", True), "decoder": metaspace("always", True)},
    "old metaspace": PLAIN | {"pre_tokenizer": {"type": "Metaspace", "replacement": META, "add_prefix_space": True, "str_rep": META},
                              "decoder": metaspace("first", False)},
    "never": PLAIN | {"pre_tokenizer": metaspace("never", None, add_prefix_space=False), "decoder": metaspace("never", True)},
    "digits": PLAIN | {"pre_tokenizer": sequence(digits(True), metaspace("first", False)),
                       "decoder": sequence(REPLACE, FUSE, STRIP | {"start": 3}, key="decoders")},
    "unfused": {"model": {"fuse_unk": False, "byte_fallback": False}},
    "fused": {"model": {"byte_fallback": False}},
    "without unknown": {"model": {"byte_fallback": False, "unk_token": None}},
    "some bytes": {"model": {"vocab": {"<0xE4>": None, "<0xC3>": None}, "merges": MERGES + [["<0x0A>", "e"], ["<unk>", "e"]]}},
    "merged bytes": {"model": extended(["<0x0A>t", "<0x09><0x0A>"], [["<0x0A>", "t"], ["<0x09>", "<0x0A>"]])},
    "nfc": {"normalizer": sequence({"type": "NFC"}, *BASE["normalizer"]["normalizers"], key="normalizers")},
    "split spaces": PLAIN | {"pre_tokenizer": GEMMA_SPLIT, "decoder": sequence(REPLACE, key="decoders")},
    "template": {"post_processor": {**BASE["post_processor"], "single": BASE["post_processor"]["single"] +
                                    [{"SpecialToken": {"id": "<s>", "type_id": 0}}]}},
    "added": {"added_tokens": BASE["added_tokens"] + [
        added("word", NEXT, normalized=True, special=False), added("<right>", NEXT + 1, rstrip=True),
        added("<both>", NEXT + 2, lstrip=True, rstrip=True, normalized=True), added(f"{META}x", NEXT + 3, special=False)]},
}
FORMS["some bytes"]["model"]["vocab"] |= {"<0x0A>e": NEXT, "<unk>e": NEXT + 1}


SCORED_TEXTS = ["", " ", "x", "the other", "  the  other ", "Tab\tand\nline\r\n", "caf\u00e9 \u4e2d\u6587\U0001f600 \u4e2d",
                f"{META}a{META}", "a" * 50, "abababababa ababab bababa", "bababaabbaab bbaabb abbabaab", "<0x0A> <0x0A>",
                TRAINING[:1500], TRAINING[:700][::-1], "a<sep>b <sep> c<sep><sep>", "one  two   three    four"]


PIECES_OF_A_BYTE = ["<", "0", "x", "A", ">", "<0", "x0", "A>", "<0x0"]  # which the token <0x0A> is not made of


def scored(prefix, fallback, symbols):
    """A vocabulary that SentencePiece learns, with each score for eight pieces, so that places decide."""
    made = io.BytesIO()
    draw = random.Random(5)
    sentences = TRAINING.split("\n") + ["".join(draw.choice("ab ") for _ in range(200)) for _ in range(30)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=made, model_type="bpe", vocab_size=460 if fallback else 200,
        byte_fallback=fallback, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=prefix,
        user_defined_symbols=symbols, character_coverage=0.995, minloglevel=2, num_threads=1)
    from sentencepiece import sentencepiece_model_pb2 as pb
    model = pb.ModelProto.FromString(made.getvalue())
    normal = [i for i, p in enumerate(model.pieces) if p.type == 1]
    for rank, i in enumerate(normal):
        model.pieces[i].score = -(rank // 8)
    missing = [p for p in PIECES_OF_A_BYTE if p not in {p.piece for p in model.pieces}]
    longer = [i for i in normal if len(model.pieces[i].piece) > 1]
    for i, piece in zip(longer[-len(missing):], missing, strict=True):
        model.pieces[i].piece = piece
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    texts = SCORED_TEXTS if symbols else [t for t in SCORED_TEXTS if "<sep>" not in t]
    ids = [processor.encode(t) for t in texts]
    return {"space_prefix": prefix, "tokens": [p.piece for p in model.pieces], "scores": [p.score for p in model.pieces],
            "types": [p.type for p in model.pieces], "texts": texts, "ids": ids,
            "decoded": [processor.decode(i) for i in ids]}


def main():
    forms = {}
    for name, patch in FORMS.items():
        file = merged(BASE, patch)
        for key in ("normalizer", "truncation", "padding", "pre_tokenizer"):
            file.setdefault(key, None)
        file["model"].setdefault("unk_token", None)
        tokenizer = Tokenizer.from_str(json.dumps(file))
        ids = [tokenizer.encode(t, add_special_tokens=False).ids for t in TEXTS]
        forms[name] = {"patch": patch, "ids": ids, "special": tokenizer.encode(TEXTS[3]).ids,
                       "decoded": [tokenizer.decode(i, skip_special_tokens=False) for i in ids]}
    vocabularies = {"llama": scored(True, True, []), "gemma": scored(False, True, ["<sep>", f"{META}{META}"]),
                    "without bytes": scored(True, False, [])}
    out = {"texts": TEXTS, "base": BASE, "forms": forms, "scored": vocabularies}
    (here / "characters.json").write_text(
        json.dumps(out, separators=(",", ":"), ensure_ascii=False).replace('},"', '},\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
