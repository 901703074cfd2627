"""Texts of a tokenizer that puts a space before a text, as LLaMA 2's, and leaves it out when it decodes."""
import json
import shutil

import pytest

import sinklab
from golden import MODELS

SPACE = "\u2581"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = shutil.copytree(MODELS / "llama", tmp_path_factory.mktemp("words") / "llama")
    letters = ["<unk>", SPACE, *map(chr, range(ord("a"), ord("z") + 1))]
    merges = [[SPACE, letter] for letter in "abcdefghijkl"]
    words = letters + ["".join(pair) for pair in merges]
    assert len(words) == 40
    replaced = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "pre_tokenizer": None, "post_processor": None,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": SPACE}, {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]},
        "decoder": {"type": "Sequence", "decoders": [replaced, {"type": "ByteFallback"}, {"type": "Fuse"},
                                                     {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "vocab": {word: n for n, word in enumerate(words)}, "merges": merges, "unk_token": "<unk>",
                  "byte_fallback": False, "fuse_unk": True}}))
    return sinklab.load(folder)


def test_a_continuation_keeps_its_first_space(model):
    ids = model.tokens("a cat").ids
    first = set()
    for seed in range(20):
        options = dict(max_new_tokens=4, temperature=2, seed=seed)
        words = model.tokens(model.generate(ids, **options)).strings
        assert words[:4] == [" a", " c", "a", "t"]
        first.add(words[4][0] == " ")
        assert " " + model.generate("a cat", **options) == "".join(words)
    assert first == {True, False}


def test_a_text_comes_back(model):
    for text in ("a", " a", "a  b", "abc xyz "):
        assert model.decode(model.tokens(text).ids) == text
    assert model.decode([]) == "" and model.decode(model.tokens("a").ids[:0]) == ""
