#!/usr/bin/env python3
"""Checks the Python module against golden values of transformers and against plain NumPy. Needs neither torch nor pytest.

  test_golden.py      runs every check; pytest runs them, too
"""
import sys

import numpy as np

import sinklab
from golden import MODELS, families, safetensors
from sinklab.cache import ActivationCache


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_logits_are_those_of_transformers():
    models = families()
    assert len(models) >= 20
    for name, path, golden in models:
        # transformers computes the angles of rotary embeddings in float32; GPT-2 has none.
        exact = 1e-11 if name == "gpt2" else 1e-5
        for dtype, tolerance in (("float64", exact), ("float32", 1e-5)):
            logits = sinklab.load(path, dtype=dtype)(golden["tokens"])
            assert logits.dtype == dtype and logits.shape == golden["logits"].shape, name
            error = np.abs(logits - golden["logits"]).max() / np.abs(golden["logits"]).max()
            assert error < tolerance, f"{name} in {dtype}: {error}"


def test_parameters_are_those_of_the_file():
    stored = safetensors(MODELS / "gpt2/model.safetensors")
    prefix = "transformer." if "transformer.wte.weight" in stored else ""
    for model in (sinklab.load(MODELS / "gpt2", dtype=dtype) for dtype in ("float32", "float64")):
        np.testing.assert_array_equal(model.parameter("embedding.token.weight"), stored[prefix + "wte.weight"])
        np.testing.assert_array_equal(model.parameter("blocks.1.attention.out.weight"),
                                      stored[prefix + "h.1.attn.c_proj.weight"].T)
        np.testing.assert_array_equal(model.parameter("blocks.0.attention.norm.gain"), stored[prefix + "h.0.ln_1.weight"])


def test_one_sequence_has_no_batch_axis():
    model, ids = sinklab.load(MODELS / "llama"), [3, 1, 4, 1, 5]
    assert model(ids).shape == (5, 40)
    assert model([ids]).shape == (1, 5, 40)
    assert np.array_equal(model(ids), model([ids])[0])


def test_attention_is_what_numpy_computes_of_queries_keys_and_values():
    golden = families()[0][2]
    for name in ("gpt2", "llama", "qwen3", "gpt_neox"):
        model = sinklab.load(MODELS / name, dtype="float64")
        _, cache = model.run_with_cache(golden["tokens"], names=lambda name: True)
        groups = model.cfg["n_heads"] // model.cfg["n_key_value_heads"]
        batch, positions = golden["tokens"].shape
        for layer in range(model.cfg["n_layers"]):
            q, k, v = cache["rot_q", layer], cache["rot_k", layer], cache["v", layer]
            assert q.shape == (batch, positions, model.cfg["n_heads"], model.cfg["d_head"])
            k, v = np.repeat(k, groups, 2), np.repeat(v, groups, 2)
            scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(model.cfg["d_head"])
            scores = np.where(np.tri(positions, dtype=bool), scores, -np.inf)
            np.testing.assert_allclose(cache["attn_scores", layer], scores, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(cache["pattern", layer], softmax(scores), rtol=1e-9, atol=1e-12)
            z = np.einsum("bhqk,bkhd->bqhd", softmax(scores), v)
            np.testing.assert_allclose(cache["z", layer], z, rtol=1e-9, atol=1e-12)


def test_weights_are_those_that_activations_are_multiplied_with():
    """In every family: queries, keys and values of the normalized residual stream, its update by heads, embedding and logits."""
    ids, checked = [3, 1, 4, 1, 5, 9], set()
    for folder in sorted(path for path in MODELS.iterdir() if path.is_dir()):
        model = sinklab.load(folder, dtype="float64")
        policies = model._core.policies
        c = model.cfg
        if "mixer=" in policies:  # some layers have no attention
            assert_refused(lambda: model.W_Q, "the model has no W_Q of all layers: there is no attention.qkv.weight in layers 0")
            continue
        logits, cache = model.run_with_cache(ids)
        biases = "blocks.0.attention.qkv.bias" in model.parameter_names()
        if not biases:
            assert_refused(lambda: model.b_K, "the model has no b_K: there is no attention.qkv.bias")
        assert model.W_Q.shape == (c.n_layers, c.n_heads, c.d_model, c.d_head)
        for layer in range(c.n_layers):
            read = cache["normalized", layer, "ln1"] if ("normalized", layer, "ln1") in cache else cache["resid_pre", layer]
            for point, name, heads in (("q", "Q", c.n_heads), ("k", "K", c.n_key_value_heads), ("v", "V", c.n_key_value_heads)):
                weight = getattr(model, f"W_{name}")[layer]
                assert weight.shape == (heads, c.d_model, c.d_head)
                expected = np.einsum("bpc,hcd->bphd", read, weight) + (getattr(model, f"b_{name}")[layer] if biases else 0)
                np.testing.assert_allclose(cache[point, layer], expected, rtol=1e-9, atol=1e-10, err_msg=f"{folder.name} {point}")
                checked.add(point)
            if "gate=" not in policies:
                out = f"blocks.{layer}.attention.out.bias"
                expected = np.einsum("bphd,hdc->bpc", cache["z", layer], model.W_O[layer])
                expected += model.parameter(out) if out in model.parameter_names() else 0
                np.testing.assert_allclose(cache["attn_out", layer], expected, rtol=1e-9, atol=1e-10, err_msg=folder.name)
        embedded = model.W_E[ids] + (model.W_pos[:len(ids)] if "position=Learned" in policies else 0)
        np.testing.assert_allclose(cache["resid_pre", 0][0], embedded, rtol=1e-6, err_msg=folder.name)
        assert model.W_U.shape == (c.d_model, c.d_vocab)
    assert checked == {"q", "k", "v"}
    model = sinklab.load(MODELS / "llama", dtype="float64")
    logits, cache = model.run_with_cache(ids)
    last = cache["resid_post", -1][0]
    normalized = last / np.sqrt((last * last).mean(-1, keepdims=True) + 1e-6) * model.parameter("final_norm.gain")
    np.testing.assert_allclose(logits, normalized @ model.W_U, rtol=1e-9)
    assert_refused(lambda: model.W_pos, "the model has no W_pos: it has no parameter embedding.position.weight")


def assert_refused(call, sentence):
    try:
        call()
    except sinklab.Error as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"expected: {sentence}")


def test_sizes_have_attributes():
    cfg = sinklab.load(MODELS / "llama").cfg
    assert cfg.n_heads == cfg["n_heads"] == 4 and cfg.n_key_value_heads == 2 and dict(cfg)["d_head"] == 8
    assert set(cfg) == set(type(cfg).__annotations__)
    try:
        cfg.heads
    except AttributeError as error:
        assert str(error).startswith("cfg has no heads: it has n_layers, n_heads")
    else:
        raise AssertionError("a size that no model has is given")


def test_an_extra_key_is_the_first_key():
    golden = families()[0][2]["tokens"]
    for model in (sinklab.load(MODELS / "gpt_oss", dtype="float64"),  # a logit for each head
                  sinklab.ablation("bias_k", vocabulary=40, layers=2, heads=2, width=32, context=20, precision="f64")):
        _, cache = model.run_with_cache(golden, names=["pattern", "attn_scores", "z", "v"])
        for layer in range(2):
            scores, pattern = cache["attn_scores", layer], cache["pattern", layer]
            assert pattern.shape[-2:] == (20, 21)
            np.testing.assert_allclose(pattern, softmax(scores), rtol=1e-9, atol=1e-12)
            assert (pattern[..., 0] > 0).all() and (pattern[..., 0, 1] > 0).all() and (pattern[..., 0, 2:] == 0).all()
            v = np.repeat(cache["v", layer], model.cfg["n_heads"] // model.cfg["n_key_value_heads"], 2)
            np.testing.assert_allclose(cache["z", layer], np.einsum("bhqk,bkhd->bqhd", pattern[..., 1:], v), atol=1e-9)
        with_token = model.sink_scores(golden)
        assert with_token.alpha_star.shape == with_token.alpha_1_layer_head.shape
        assert with_token == with_token  # its fields are arrays, whose comparison is no bool


def test_queries_and_keys_before_rotation():
    # GPT-2 has no rotation: both names are the same. LLaMA rotates all positions but the first.
    _, cache = sinklab.load(MODELS / "gpt2", dtype="float64").run_with_cache([1, 2, 3])
    np.testing.assert_allclose(cache["q", 0], cache["rot_q", 0], rtol=1e-12)
    _, cache = sinklab.load(MODELS / "llama", dtype="float64").run_with_cache([1, 2, 3])
    np.testing.assert_allclose(cache["k", 1][:, 0], cache["rot_k", 1][:, 0], rtol=1e-12)
    assert np.abs(cache["k", 1][:, 1:] - cache["rot_k", 1][:, 1:]).max() > 1e-3
    np.testing.assert_allclose(np.linalg.norm(cache["k", 1], axis=-1), np.linalg.norm(cache["rot_k", 1], axis=-1))


def test_the_residual_stream_is_the_sum_of_its_parts():
    _, cache = sinklab.load(MODELS / "llama", dtype="float64").run_with_cache([1, 2, 3, 4])
    for layer in (0, 1):
        mid = cache["resid_pre", layer] + cache["attn_out", layer]
        np.testing.assert_allclose(cache["resid_mid", layer], mid, rtol=1e-12)
        np.testing.assert_allclose(cache["resid_post", layer], mid + cache["mlp_out", layer], rtol=1e-12)
    np.testing.assert_array_equal(cache["resid_post", 0], cache["resid_pre", 1])
    np.testing.assert_array_equal(cache["embed"], cache["resid_pre", 0])  # rotary: no positions are added


def test_sink_scores_of_a_model_and_of_its_cache():
    for name in ("gpt2", "llama"):
        model, ids = sinklab.load(MODELS / name), families()[0][2]["tokens"]
        of_model = sinklab.sink_scores(model, ids)
        _, cache = model.run_with_cache(ids, names="pattern")
        of_cache = sinklab.sink_scores(cache)
        try:
            sinklab.sink_scores(cache, ids)
        except sinklab.Error as error:
            assert "leave out the second argument" in str(error)
        else:
            raise AssertionError("a text that is not read is taken")
        pattern = cache.stack("pattern")  # (layer, batch, head, query, key)
        alpha_1 = pattern[..., 0].mean(-1).mean(1)
        np.testing.assert_allclose(of_model.alpha_1_layer_head, alpha_1, rtol=1e-5)
        np.testing.assert_allclose(of_cache.alpha_k, of_model.alpha_k, rtol=1e-5)
        assert abs(of_model.sink_1 - 100 * (pattern[..., 0].mean(-1) > 0.3).mean()) < 1e-9
        assert abs(of_cache.sink_1 - of_model.sink_1) < 1e-9
        _, values = model.run_with_cache(ids, names=["v"])
        norms = [np.linalg.norm(values["v", layer], axis=-1).mean((0, 2)) for layer in range(len(pattern))]
        np.testing.assert_allclose(of_model.measures["value_norm_layer_position"], norms, rtol=1e-5)
        assert abs(of_model.measures["row_mass"] - 1) < 1e-6 and of_cache.measures is None
        assert abs(of_cache.even_alpha_1 - of_model.even_alpha_1) < 1e-12


def test_attention_sums_are_those_of_patterns():
    for name in ("gpt2", "llama"):
        model, ids = sinklab.load(MODELS / name, dtype="float64"), families()[0][2]["tokens"]
        ids = np.asarray(ids)[0]
        _, cache = model.run_with_cache(ids, names="pattern")
        pattern = cache.stack("pattern")[:, 0] if cache.has_batch_dim else cache.stack("pattern")  # (layer, head, query, key)
        sums, T = sinklab.attention_sums(model, ids), len(ids)
        np.testing.assert_allclose(sums.alpha, pattern.sum(-2) / np.arange(T, 0, -1), rtol=1e-12)
        np.testing.assert_allclose(sums.alpha_raw, sums.alpha, rtol=1e-12)
        np.testing.assert_allclose(sums.largest, pattern.max(-2), rtol=1e-12)
        for d in range(T):
            np.testing.assert_allclose(sums.by_distance[..., d], np.diagonal(pattern, -d, -2, -1).mean(-1), rtol=1e-12)
        np.testing.assert_array_equal(sums.rows, np.broadcast_to(np.arange(T, 0, -1), sums.rows.shape))
        np.testing.assert_allclose(sums.row_sum, 1, rtol=1e-12)
        assert sums.alpha_star is None
        assert sums.sinks(0.0, 1)[0][1] == pattern.shape[0] * pattern.shape[1]
        for wrong in (lambda: sinklab.attention_sums(model, np.stack([ids, ids])), lambda: sinklab.attention_sums(cache, ids)):
            try:
                wrong()
            except sinklab.Error as error:
                assert "expected" in str(error)
            else:
                raise AssertionError("another input is taken")
    key = sinklab.ablation("bias_k", vocabulary=64, layers=1, heads=2, width=16, context=16)
    sums, scores = sinklab.attention_sums(key, [1, 2, 3]), key.sink_scores([1, 2, 3])
    np.testing.assert_allclose(sums.alpha_star, scores.alpha_star, rtol=1e-5)
    np.testing.assert_allclose(sums.alpha[..., 0], scores.alpha_1_layer_head, rtol=1e-5)


def test_sink_scores_of_patterns_that_are_not_finite():
    pattern = np.tril(np.full((1, 2, 4, 4), 0.25))
    whole = sinklab.sink_scores(ActivationCache({"blocks.0.attn.hook_pattern": pattern}, 1, True))
    assert whole.sink_1 == 100 and whole.sink_1_raw == 0
    for lost in (np.nan, np.inf):
        pattern[0, 1, 2, 0] = lost
        scores = sinklab.sink_scores(ActivationCache({"blocks.0.attn.hook_pattern": pattern}, 1, True))
        assert np.isnan(scores.sink_1) and np.isnan(scores.sink_1_raw) and np.isnan(scores.alpha_1)
        assert scores.alpha_1_layer_head[0, 0] == whole.alpha_1_layer_head[0, 0]


def test_activations_of_blocks_whose_sublayers_read_no_norm():
    norms = ("blocks.0.ln1.hook_normalized", "blocks.0.ln2.hook_normalized")
    assert set(norms) <= set(sinklab.load(MODELS / "llama").activation_names())
    for model in (sinklab.load(MODELS / "olmo2"), sinklab.ablation("norm_post", vocabulary=40)):
        assert not [name for name in model.activation_names() if name.endswith("hook_normalized")]
        assert len(model.run_with_cache([1, 2, 3])[1]) == len(model.activation_names()) - model.cfg["n_layers"]
        try:
            model.run_with_cache([1, 2, 3], names=norms[0])
        except sinklab.Error as error:
            assert "there is no activation" in str(error)
        else:
            raise AssertionError("the residual stream is given as a norm")


def test_activations_of_a_mixture_of_experts():
    assert sinklab.load(MODELS / "llama").cfg["num_experts"] == 0
    model = sinklab.load(MODELS / "mixtral")
    _, cache = model.run_with_cache([1, 2, 3], names="mlp_post")
    assert model.cfg["num_experts"] > 1
    assert cache["mlp_post", 0].shape == (1, 3, model.cfg["num_experts"] * model.cfg["d_mlp"])


def test_loss_is_the_cross_entropy_of_the_next_tokens():
    model, ids = sinklab.load(MODELS / "llama", dtype="float64"), families()[0][2]["tokens"]
    losses = -np.log(np.take_along_axis(softmax(model(ids)[:, :-1]), ids[:, 1:, None], -1))
    assert abs(model.loss(ids) - losses.mean()) < 1e-9
    targets = np.full_like(ids, -1)
    targets[1, 3] = 7
    assert abs(model.loss(ids, targets) + np.log(softmax(model(ids))[1, 3, 7])) < 1e-9


def test_losses_of_tokens_and_return_types():
    model, ids = sinklab.load(MODELS / "llama", dtype="float64"), families()[0][2]["tokens"]
    logits = model(ids)
    losses = -np.log(np.take_along_axis(softmax(logits[:, :-1]), ids[:, 1:, None], -1))[..., 0]
    np.testing.assert_allclose(model.loss(ids, per_token=True), losses, rtol=1e-9)
    np.testing.assert_allclose(model.loss(ids[1], per_token=True), losses[1], rtol=1e-9)
    targets = np.full_like(ids, -1)
    targets[1, 3] = ids[1, 4]
    of_targets = model.loss(ids, targets, per_token=True)
    assert of_targets.shape == ids.shape and abs(of_targets[1, 3] - losses[1, 3]) < 1e-9 and np.isnan(of_targets).sum() == ids.size - 1
    assert model(ids, return_type="loss") == model.loss(ids) and model(ids, return_type=None) is None
    both, loss = model(ids, return_type="both")
    assert np.array_equal(both, logits) and abs(loss - losses.mean()) < 1e-12
    assert model.run_with_cache(ids, "pattern", return_type="loss")[0] == loss
    prefix = sinklab.ablation("baseline", vocabulary=40, layers=2, heads=2, width=32, context=20, precision="f64", prefix=5)
    of_prefix = prefix.loss(ids, per_token=True)
    assert np.isnan(of_prefix[:, :4]).all() and abs(np.nanmean(of_prefix) - prefix.loss(ids)) < 1e-12
    assert abs(prefix(ids, "both")[1] - prefix.loss(ids)) < 1e-12
    for call in (lambda: model(ids, "logit"), lambda: model.run_with_cache(ids, return_type="Loss"), lambda: model.run_with_hooks(ids, [], 3)):
        assert_refused(call, "return_type must be 'logits', 'loss', 'both' or None")
    assert_refused(lambda: model.run_with_cache(ids, "z", names_filter="z"), "are the same argument")


def no_first_token(pattern, name):
    pattern[..., 1:, 0] = 0


def test_hooks_wherever_a_pass_is_run():
    model, ids, hooks = sinklab.load(MODELS / "llama", dtype="float64"), families()[0][2]["tokens"], [("pattern", no_first_token)]
    logits = model.run_with_hooks(ids, hooks)
    losses = -np.log(np.take_along_axis(softmax(logits[:, :-1]), ids[:, 1:, None], -1))[..., 0]
    assert abs(losses.mean() - model.loss(ids)) > 1e-4
    assert abs(model.loss(ids, fwd_hooks=hooks) - losses.mean()) < 1e-9
    np.testing.assert_allclose(model.loss(ids, per_token=True, fwd_hooks=hooks), losses, rtol=1e-9)
    assert model.run_with_hooks(ids, hooks, return_type="loss") == model.loss(ids, fwd_hooks=hooks)
    of_cache, cache = model.run_with_cache(ids, names_filter=["pattern", "z"], fwd_hooks=hooks)
    assert np.array_equal(of_cache, logits) and (cache["pattern", 1][..., 1:, 0] == 0).all() and len(cache) == 4
    _, plain = model.run_with_cache(ids, names_filter=lambda name: name.endswith("hook_v"))
    v = np.repeat(plain["v", 0], 2, 2)
    np.testing.assert_allclose(cache["z", 0], np.einsum("bhqk,bkhd->bqhd", cache["pattern", 0], v), rtol=1e-9, atol=1e-12)
    assert_refused(lambda: model.loss(ids, fwd_hooks=[(("attn_scores", 0), no_first_token)]), "not replaced")


def test_gradients_are_slopes_of_the_loss():
    """In every family and ablation, of every activation that a hook can change: by central differences along a random direction, in float64."""
    random, checked, of_scores = np.random.default_rng(1), 0, 0
    ids = [[11, 21, 14, 11, 15, 19], [12, 16, 15, 13, 15, 18]]  # some lower ids pad, and have an embedding of 0, where a norm is no smooth function
    folders = sorted(path for path in MODELS.iterdir() if path.is_dir())
    wide = ("bias_k_d16", "bias_k_d32", "bias_k_d64")  # need wider heads
    sizes = dict(vocabulary=40, layers=1, heads=2, width=16, context=16, precision="f64", seed=3)
    models = [(folder.name, sinklab.load(folder, dtype="float64")) for folder in folders]
    models += [(name, sinklab.ablation(name, **sizes)) for name in sinklab.ablation_names() if name not in wide]
    for of, model in models:
        _, cache = model.run_with_cache(ids, lambda name: True, return_type="loss", incl_bwd=True)
        for name in [name for name in cache if not name.endswith(("_grad", "attn_scores"))]:
            direction, size = random.standard_normal(cache[name].shape), 1e-5
            up, down = (model.loss(ids, fwd_hooks=[(name, lambda x, _, step=step: x + step * direction)]) for step in (size, -size))
            slope, measured = (cache[name + "_grad"] * direction).sum(), (up - down) / (2 * size)
            assert abs(measured - slope) < 1e-4 * max(1e-3, abs(slope)), (of, name, slope, measured)
            checked += 1
        if of.startswith("op_"):  # an extra key has none, and scores are s = q . k / sqrt(d_head), so dq = sum ds k / sqrt(d_head)
            dq = np.einsum("bhqk,bkhd->bqhd", cache["attn_scores_grad", 0][..., -len(ids[0]):], cache["rot_k", 0]) / np.sqrt(8)
            np.testing.assert_allclose(cache["rot_q_grad", 0], dq, rtol=1e-9, atol=1e-15, err_msg=of)
            of_scores += 1
    assert checked > 3300 and of_scores > 15


def test_gradients_after_a_replaced_activation():
    """Integrated gradients of the embedding: its slopes between zero and the text sum to what the loss changes by."""
    model, ids, steps = sinklab.load(MODELS / "llama", dtype="float64"), [[3, 1, 4, 1, 5, 9]], 400
    embed = model.run_with_cache(ids, "embed")[1]["embed"]
    low, total = 0.2, 0
    for n in range(steps):
        at = low + (1 - low) * (n + 0.5) / steps
        _, cache = model.run_with_cache(ids, "embed", fwd_hooks=[("embed", lambda x, name: x * at)], return_type="loss", incl_bwd=True)
        total += (cache["embed_grad"] * embed).sum() * (1 - low) / steps
    change = model.loss(ids) - model.loss(ids, fwd_hooks=[("embed", lambda x, name: x * low)])
    assert abs(total - change) < 1e-5 and abs(change) > 1e-3
    half, pattern = [(("pattern", 1), lambda x, name: x / 2)], ["z", "pattern"]
    _, cache = model.run_with_cache(ids, [(name, 1) for name in pattern], fwd_hooks=half, return_type="loss", incl_bwd=True)
    v = np.repeat(model.run_with_cache(ids, ("v", 1))[1]["v", 1], 2, 2)
    np.testing.assert_allclose(cache["pattern_grad", 1], np.einsum("bqhd,bkhd->bhqk", cache["z_grad", 1], v), rtol=1e-9)
    for call in (lambda: model.run_with_cache(ids, "v", fwd_hooks=half, return_type="loss", incl_bwd=True),
                 lambda: model.run_with_hooks(ids, half, "loss", bwd_hooks=[(("resid_pre", 1), lambda x, name: None)])):
        assert_refused(call, "passes through the hook of blocks.1.attn.hook_pattern")


def test_gradients_need_the_loss_and_weights_in_memory():
    model, ids, hooks = sinklab.load(MODELS / "llama", gradients=True), [[3, 1, 4, 1, 5, 9]], [("z", lambda x, name: None)]
    for other in ("logits", "both"):
        assert_refused(lambda: model.run_with_cache(ids, return_type=other, incl_bwd=True), f'return_type="loss" or None, got \'{other}\'')
        assert_refused(lambda: model.run_with_hooks(ids, bwd_hooks=hooks, return_type=other), "bwd_hooks needs the gradient of the loss")
    for name in ("pattern", "attn_scores"):
        assert_refused(lambda: model.run_with_hooks(ids, bwd_hooks=[((name, 0), lambda x, of: x)], return_type=None), "can be read, but not replaced")
    assert_refused(lambda: model.run_with_cache(ids, "z_grad", return_type="loss", incl_bwd=True), "names a gradient: give the name of its activation")
    for path in (MODELS / "llama", MODELS / "llama.gguf"):
        assert_refused(lambda: sinklab.load(path).run_with_cache(ids, return_type="loss", incl_bwd=True), "load the model with gradients=True")
    loss, cache = model.run_with_cache(ids, return_type="loss", incl_bwd=True)
    double = sinklab.load(MODELS / "llama", dtype="float64").run_with_cache(ids, return_type="loss", incl_bwd=True)[1]
    assert abs(loss - model.loss(ids)) < 1e-6
    for name in double:
        assert cache[name].dtype == np.float32 and np.abs(cache[name] - double[name]).max() < 1e-5 * max(1, np.abs(double[name]).max()), name


def test_generation_with_hooks():
    model, prompt, hooks = sinklab.load(MODELS / "llama"), [5, 6, 7], [("pattern", no_first_token)]
    expected = list(prompt)
    for _ in range(6):
        expected.append(int(model.run_with_hooks(expected, hooks)[-1].argmax()))
    found = model.generate(prompt, max_new_tokens=6, stop_at_eos=False, fwd_hooks=hooks).tolist()
    assert found == expected != model.generate(prompt, max_new_tokens=6, stop_at_eos=False).tolist()
    same = [("z", lambda z, name: None)]
    for options in (dict(), dict(temperature=1.5, seed=3), dict(temperature=1, top_p=0.5, seed=1, max_new_tokens=100)):
        plain = model.generate(prompt, **options)
        assert model.generate(prompt, fwd_hooks=same, **options).tolist() == plain.tolist()
    assert len(plain) == model.cfg.n_ctx + 1 or len(plain) < model.cfg.n_ctx


def test_tokens_of_a_prefix_predict_nothing():
    """They see each other, so all but the last of them see the token that they would predict."""
    ids = families()[0][2]["tokens"]
    model = sinklab.ablation("baseline", vocabulary=40, layers=2, heads=2, width=32, context=20, precision="f64", prefix=5)
    losses = -np.log(np.take_along_axis(softmax(model(ids)[:, :-1]), ids[:, 1:, None], -1))[..., 0]
    expected = losses[:, 4:].mean()
    assert abs(losses.mean() - expected) > 1e-4
    targets = np.pad(ids[:, 1:], ((0, 0), (0, 1)), constant_values=-1)
    for given in (None, targets):
        assert abs(model.loss(ids, given) - expected) < 1e-9
    assert abs(model.train_step(ids, targets).loss - expected) < 1e-9
    _, cache = model.run_with_cache(ids, names="pattern")
    try:
        sinklab.sink_scores(cache)
    except sinklab.Error as error:
        assert "a prefix" in str(error)
    else:
        raise AssertionError("sink_scores of a cache does not know which keys a row sees")


def test_step_n_has_the_learning_rate_of_step_n():
    """Warm-up and cosine in closed form; plain SGD moves the weights by the learning rate times the norm of the gradient."""
    model = sinklab.ablation("baseline", vocabulary=16, layers=1, heads=2, width=16, feed_forward=16, context=8, precision="f64",
                             optimizer="sgd", momentum=0.0, weight_decay=0.0, clip=0.0, schedule="cosine", steps=8, warmup=3,
                             learning_rate=0.4, min_learning_rate=0.1)
    rates = [0.4 / 3, 0.8 / 3] + [0.1 + 0.15 * (1 + np.cos(np.pi * n / 5)) for n in range(6)]
    for rate in rates:
        before = {name: model.parameter(name).copy() for name in model.parameter_names()}
        step = model.train_step([1, 5, 2, 5, 3, 5])
        assert abs(step.learning_rate - rate) < 1e-12
        moved = np.sqrt(sum(((model.parameter(name) - value)**2).sum() for name, value in before.items()))
        assert step.grad_norm > 1e-3
        assert abs(moved - rate * step.grad_norm) < 1e-9 * moved


def test_generation_is_greedy():
    model, ids = sinklab.load(MODELS / "llama"), [5, 6, 7]
    expected = list(ids)
    for _ in range(6):
        expected.append(int(model(expected)[-1].argmax()))
    assert model.generate(ids, max_new_tokens=6, stop_at_eos=False).tolist() == expected


def main():
    checks = [(name, check) for name, check in globals().items() if name.startswith("test_")]
    for name, check in checks:
        check()
        print(f"passed: {name}")


if __name__ == "__main__":
    sys.exit(main())
