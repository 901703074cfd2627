"""Texts of a tokenizer that puts a space before a text, as LLaMA 2's, and leaves it out when it decodes."""
import io
import json
import shutil
import sys

import numpy as np
import pytest

import sinklab
from golden import MODELS

SPACE = "\u2581"


def with_tokenizer(folder, begin=False):
    """A LLaMA with this tokenizer; with `begin`, it puts <unk> before a text."""
    shutil.copytree(MODELS / "llama", folder)
    letters = ["<unk>", SPACE, *map(chr, range(ord("a"), ord("z") + 1))]
    merges = [[SPACE, letter] for letter in "abcdefghijkl"]
    words = letters + ["".join(pair) for pair in merges]
    assert len(words) == 40
    replaced = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    unknown = {"id": 0, "content": "<unk>", "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    before = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<unk>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
              "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
              "special_tokens": {"<unk>": {"id": "<unk>", "ids": [0], "tokens": ["<unk>"]}}}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [unknown] if begin else [], "pre_tokenizer": None, "post_processor": before if begin else None,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": SPACE}, {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]},
        "decoder": {"type": "Sequence", "decoders": [replaced, {"type": "ByteFallback"}, {"type": "Fuse"},
                                                     {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "vocab": {word: n for n, word in enumerate(words)}, "merges": merges, "unk_token": "<unk>",
                  "byte_fallback": False, "fuse_unk": True}}))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return sinklab.load(with_tokenizer(tmp_path_factory.mktemp("words") / "llama"))


@pytest.fixture(scope="module")
def begin_model(tmp_path_factory):
    return sinklab.load(with_tokenizer(tmp_path_factory.mktemp("begin") / "llama", begin=True))


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


def test_a_list_of_texts_gives_what_each_gives_alone(model):
    texts = ["a cat", "abc xyz zebra", "a"]
    for both, alone in zip(model(texts[:2], "both"), [model(text, "both") for text in texts[:2]], strict=True):
        np.testing.assert_array_equal(both[0], alone[0])
    assert [logits.shape for logits in model(texts)] == [(4, 40), (13, 40), (1, 40)]
    assert model(tuple(texts[:2]), "loss") == model.loss(texts[:2]) == [model.loss(text) for text in texts[:2]]
    for losses, text in zip(model.loss(texts[:2], per_token=True), texts):
        np.testing.assert_array_equal(losses, model.loss(text, per_token=True))
    hooks = [("pattern", lambda pattern, name: pattern * 0.5)]
    for pairs in (hooks, iter(hooks)):  # an iterator serves every text
        for logits, text in zip(model.run_with_hooks(texts, pairs), texts, strict=True):
            np.testing.assert_array_equal(logits, model.run_with_hooks(text, hooks))
    assert model(texts, None) is None and model.loss(texts[:2], fwd_hooks=iter(hooks)) == [model.loss(t, fwd_hooks=hooks) for t in texts[:2]]
    for (logits, cache), text in zip(model.run_with_cache(texts, iter(["z", ("pattern", 1)]), fwd_hooks=iter(hooks)), texts, strict=True):
        alone, cache_alone = model.run_with_cache(text, ["z", ("pattern", 1)], fwd_hooks=hooks)
        np.testing.assert_array_equal(logits, alone)
        assert list(cache) == list(cache_alone) and all((cache[name] == cache_alone[name]).all() for name in cache)
    for scores, text in zip(sinklab.sink_scores(model, texts), texts, strict=True):
        np.testing.assert_array_equal(scores.alpha_k, sinklab.sink_scores(model, text).alpha_k)
    for sums, text in zip(sinklab.attention_sums(model, texts), texts, strict=True):
        np.testing.assert_array_equal(sums.alpha, sinklab.attention_sums(model, text).alpha)
    for wrong, sentence in ((lambda: model(["a", [28]]), "a list of 2 with a text in it"), (lambda: model.loss(texts), "no position"),
                            (lambda: model.loss(texts[:2], targets=[1]), "a list of texts has no targets"),
                            (lambda: model.generate(texts), "give one text at a time"),
                            (lambda: model(texts, attention_mask=[[1]]), "texts of any lengths are a list, without a mask")):
        with pytest.raises(sinklab.Error, match=sentence):
            wrong()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_written_on_a_terminal_after_a_second_or_on_request(model, monkeypatch):
    def written(stderr, shown, seconds):
        now = iter(range(1000))
        monkeypatch.setattr(sys, "stderr", stderr)
        monkeypatch.setattr(sinklab.texts.time, "monotonic", lambda: next(now) * seconds)
        sinklab.set_progress(shown)
        model(["a cat", "abc", "a"])
        model.generate([3, 1], max_new_tokens=3, stop_at_eos=False)
        sinklab.set_progress(None)
        return stderr.getvalue()

    texts, tokens = (f"\r{what} 1 of 3, 4 s left \r{what} 2 of 3, 2 s left \r{what} 3 of 3, 0 s left \n" for what in ("text", "token"))
    assert written(Terminal(), None, 2) == written(io.StringIO(), True, 2) == texts + tokens
    assert written(Terminal(), None, 0.1) == written(io.StringIO(), None, 2) == written(Terminal(), False, 2) == ""
    with pytest.raises(sinklab.Error, match="shown must be True, False or None, got 3"):
        sinklab.set_progress(3)


def test_tokens_by_transformer_lens_names(model, begin_model):
    assert model.to_tokens("a cat").tolist() == [[28, 30, 2, 21]] and model.to_tokens("a cat").dtype == "int32"
    assert model.to_str_tokens("a cat") == [" a", " c", "a", "t"] == model.to_str_tokens([28, 30, 2, 21])
    assert begin_model.to_tokens("a cat").tolist() == [[0, 28, 30, 2, 21]] == begin_model.to_tokens("a cat", prepend_bos=True).tolist()
    for each in (model, begin_model):
        assert each.to_tokens("a cat", prepend_bos=False).tolist() == [[28, 30, 2, 21]]
        assert each.to_str_tokens("a cat", prepend_bos=False) == [" a", " c", "a", "t"]
        assert [ids.tolist() for ids in each.to_tokens(["a", "a cat"], prepend_bos=False)] == [[[28]], [[28, 30, 2, 21]]]
        assert each.to_str_tokens(("a", "a cat"), prepend_bos=False) == [[" a"], [" a", " c", "a", "t"]]
        assert each.to_string([28, 30, 2, 21]) == "a cat" and each.to_string([[28], [30]]) == ["a", "c"]
        assert each.to_string(each.to_tokens("abc xyz", prepend_bos=False)) == ["abc xyz"]
    for wrong, sentence in ((lambda: model.to_tokens("a", prepend_bos=True), "without a begin token"),
                            (lambda: model.to_tokens([28, 30]), "expected a text or a list of texts, got list"),
                            (lambda: model.to_tokens("a", prepend_bos=2), "prepend_bos must be"),
                            (lambda: model.to_str_tokens([28], prepend_bos=False), "ids are taken as they are"),
                            (lambda: model.to_str_tokens([[28], [30]]), "expected one sequence, got 2"),
                            (lambda: model.to_string([[28], [30, 2]]), "lists of unequal length"),
                            (lambda: model.to_string(28), "expected token ids of shape")):
        with pytest.raises(sinklab.Error, match=sentence):
            wrong()
    with pytest.raises(sinklab.Error, match="got 0") as caught:
        model.to_tokens(["a", ""])
    assert caught.value.__notes__ == ["in text 1 of a list of 2"]
