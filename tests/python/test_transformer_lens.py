"""The adapter that travels with an export: what TransformerLens computes, by our names. Skipped without transformer_lens."""
import json
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformer_lens")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "model/open"))

import sinklab  # noqa: E402
import transformer_lens_adapter as adapter  # noqa: E402
from golden import FAMILIES, MODELS  # noqa: E402
from test_text import with_tokenizer  # noqa: E402

IDS = [[3, 17, 5, 22, 9, 31, 8, 2, 14, 6], [11, 4, 36, 1, 28, 7, 19, 30, 12, 25]]
# transformers computes the angles of rotary embeddings in float32.
BOUNDS = dict.fromkeys(FAMILIES, 1e-5) | {"gpt2": 1e-13, "opt": 1e-6, "gpt_neox": 1e-6}
del BOUNDS["falcon"]  # TransformerLens 4.3 computes other logits
POINTS = ["resid_pre", "q", "k", "v", "pattern", "z", "attn_out", "mlp_out", "resid_post"]


def difference(ours, theirs):
    theirs = theirs.numpy()
    if ours.shape[-1] == theirs.shape[-1] + 1:  # a sink logit
        ours = ours[..., 1:]
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


@pytest.mark.parametrize("name", BOUNDS)
def test_logits_and_activations(name):
    try:
        adapted = adapter.load(MODELS / name, dtype=torch.float64)
    except ValueError as refusal:
        pytest.skip(str(refusal)[:160])  # this version of TransformerLens cannot
    with torch.no_grad():
        logits, theirs = adapted.run_with_cache(torch.tensor(IDS))
    ours_logits, ours = sinklab.load(MODELS / name, dtype="float64").run_with_cache(IDS)
    assert difference(ours_logits, logits) < BOUNDS[name]
    layers = [int(key.split(".")[1]) for key in theirs if key.endswith("attn.hook_pattern")]  # those with attention
    points = POINTS if name in ("llama", "gpt2", "qwen2") else ["resid_pre", "pattern"]
    for key in [(point, layer) for point in points for layer in layers]:
        assert difference(ours[key], theirs[key]) < BOUNDS[name], key


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen2"])
def test_gradients_of_activations(name):
    adapted, ours = adapter.load(MODELS / name, dtype=torch.float64), sinklab.load(MODELS / name, dtype="float64")
    loss, theirs = adapted.run_with_cache(torch.tensor(IDS), return_type="loss", incl_bwd=True)
    found, cache = ours.run_with_cache(IDS, return_type="loss", incl_bwd=True)
    assert abs(found - loss.item()) < BOUNDS[name]
    for key in [(point + "_grad", layer) for point in POINTS for layer in range(ours.cfg.n_layers)]:
        assert difference(cache[key], theirs[sinklab.names.full_name(key)]) < 2 * BOUNDS[name], key
    theirs, mine = [], []
    adapted.run_with_hooks(torch.tensor(IDS), return_type="loss", reset_hooks_end=False,
                           bwd_hooks=[("blocks.0.attn.hook_z", lambda gradient, hook: theirs.append(gradient))]).backward()
    ours.run_with_hooks(IDS, return_type="loss", bwd_hooks=[(("z", 0), lambda gradient, name: mine.append(gradient.copy()))])
    assert len(mine) == len(theirs) == 1 and difference(mine[0], theirs[0].reshape(mine[0].shape)) < 2 * BOUNDS[name]


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen2"])
def test_weights(name):
    theirs, ours = adapter.load(MODELS / name, dtype=torch.float64), sinklab.load(MODELS / name, dtype="float64")
    names = ["W_Q", "W_K", "W_V", "W_O", "W_E", "W_U"]
    names += ["b_Q", "b_K", "b_V"] if name != "llama" else []
    names += ["W_pos"] if name == "gpt2" else []
    for each in names:
        np.testing.assert_allclose(getattr(ours, each), getattr(theirs, each).detach().numpy(), rtol=1e-12, err_msg=each)
    for size in ("n_layers", "n_heads", "d_model", "d_head", "d_mlp", "d_vocab", "n_ctx"):
        assert getattr(ours.cfg, size) == getattr(theirs.cfg, size), size


def test_return_types_and_hooks():
    theirs, ours = adapter.load(MODELS / "llama", dtype=torch.float64), sinklab.load(MODELS / "llama", dtype="float64")
    ids = torch.tensor(IDS)

    def no_sink(pattern, **_):
        pattern[..., 1:, 0] = 0
        return pattern

    ours_hooks, theirs_hooks = [("pattern", lambda pattern, name: no_sink(pattern))], [(lambda name: name.endswith("hook_pattern"), no_sink)]
    with torch.no_grad():
        logits, loss = theirs(ids, return_type="both")
        found = ours(IDS, return_type="both")
        assert difference(found[0], logits) < 1e-5 and abs(found[1] - loss.item()) < 1e-5
        assert difference(ours.loss(IDS, per_token=True), theirs(ids, return_type="loss", loss_per_token=True)) < 1e-5
        hooked = theirs.run_with_hooks(ids, return_type="loss", fwd_hooks=theirs_hooks).item()
        assert abs(hooked - loss.item()) > 1e-4
        assert abs(ours.run_with_hooks(IDS, ours_hooks, return_type="loss") - hooked) < 1e-5
        of_none, cache = theirs.run_with_cache(ids, names_filter="blocks.1.attn.hook_pattern", return_type=None)
    ours_none, ours_cache = ours.run_with_cache(IDS, names_filter="blocks.1.attn.hook_pattern", return_type=None)
    assert of_none is None and ours_none is None and list(cache) == list(ours_cache) == ["blocks.1.attn.hook_pattern"]


def test_the_example_of_the_readme(capsys, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "tools/python/README.md").read_text()
    example, = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "transformer_lens" in block]
    folder = shutil.copytree(MODELS / "llama", tmp_path / "exported")
    shutil.copy(adapter.__file__, folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "transformer_lens_adapter")
    exec(example, {})
    heads = json.loads((folder / "config.json").read_text())["num_attention_heads"]
    assert capsys.readouterr().out.splitlines()[-1] == f"torch.Size([1, {heads}, 5, 5])"


def test_a_text_is_ids_without_a_tokenizer():
    model = adapter.load(MODELS / "llama")
    assert model.to_tokens("3 17 5").tolist() == [[3, 17, 5]]
    for text in ("Hello", "3 40", "3 -1", "1.5"):
        with pytest.raises(ValueError, match="token ids from 0 to 39"):
            model.to_tokens(text)


# One word per id, among them a begin token.
@pytest.mark.parametrize("begin", [None, 39])
def test_a_begin_token_is_put_before_a_text_if_the_model_has_one(begin, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    folder = shutil.copytree(MODELS / "llama", tmp_path / "llama")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"bos_token_id": begin}))
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{n}": n for n in range(40)}, unk_token="w0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    tokens = adapter.load(folder).to_tokens("w3 w17 w5").tolist()
    assert tokens == [[39, 3, 17, 5] if begin else [3, 17, 5]]


@pytest.mark.parametrize("begin", [None, 0])
def test_tokens(begin, tmp_path):
    folder = with_tokenizer(tmp_path / "llama", begin is not None)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"bos_token_id": begin}))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    theirs, ours = adapter.load(folder), sinklab.load(folder)
    for text in ("a cat", "zebra", "abc xyz"):
        for prepend in (None, False) + ((True,) if begin is not None else ()):
            assert ours.to_tokens(text, prepend).tolist() == theirs.to_tokens(text, prepend_bos=prepend).tolist(), (text, prepend)
        ids = ours.to_tokens(text, False)
        assert ours.to_string(ids) == theirs.to_string(torch.tensor(ids)) and ours.to_string(ids[0]) == theirs.to_string(torch.tensor(ids[0]))
        assert len(ours.to_str_tokens(text)) == len(theirs.to_str_tokens(text))


def test_other_logits_are_refused(monkeypatch):
    class Off:
        def __call__(self, ids):
            return torch.zeros(1, ids.shape[1], 40)

    monkeypatch.setattr(adapter.TransformerBridge, "boot_transformers", lambda *_, **__: Off())
    with pytest.raises(ValueError, match="computes other logits for gpt2 than transformers"):
        adapter.load(MODELS / "gpt2")
    monkeypatch.setattr(adapter.TransformerBridge, "boot_transformers", lambda *_, **__: 1 / 0)
    with pytest.raises(ValueError, match="cannot open gpt2 of these sizes: division by zero"):
        adapter.load(MODELS / "gpt2")
