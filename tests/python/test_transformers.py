"""Compares activations, loss and generation with transformers, eager attention. Skipped without torch and transformers.

The models are those of tests/golden/open, made with transformers and read by it here.
"""
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import sinklab  # noqa: E402
from golden import FAMILIES, MODELS  # noqa: E402

IDS = [[3, 17, 5, 22, 9, 31, 8, 2, 14, 6], [11, 4, 36, 1, 28, 7, 19, 30, 12, 25]]
# transformers computes the angles of rotary embeddings in float32, so models with them agree to 1e-5 in float64, too.
DTYPES = {"float64": (torch.float64, 1e-5), "float32": (torch.float32, 1e-5)}


def reference(name, dtype, attention="eager"):
    return transformers.AutoModelForCausalLM.from_pretrained(MODELS / name, attn_implementation=attention,
                                                             experts_implementation="eager",
                                                             dtype=DTYPES[dtype][0]).eval()


def assert_close(ours, theirs, dtype, what, bound=1):
    theirs = theirs.detach().numpy()
    assert ours.shape == theirs.shape, what
    error = np.abs(ours - theirs).max() / max(1e-30, np.abs(theirs).max())
    assert error < bound * DTYPES[dtype][1], f"{what}: {error}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_logits_hidden_states_and_patterns(name, dtype):
    with torch.no_grad():
        theirs = reference(name, dtype)(torch.tensor(IDS), output_attentions=True, output_hidden_states=True)
    logits, cache = sinklab.load(MODELS / name, dtype=dtype).run_with_cache(IDS)
    assert_close(logits, theirs.logits, dtype, "logits")
    for layer, hidden in enumerate(theirs.hidden_states[:-1]):  # the last is after the final norm
        assert_close(cache["resid_pre", layer], hidden, dtype, f"resid_pre {layer}")
    layers = [layer for layer in range(len(theirs.hidden_states) - 1) if ("pattern", layer) in cache]  # those with attention
    assert len(layers) == len(theirs.attentions)
    for layer, pattern in zip(layers, theirs.attentions):
        ours = cache["pattern", layer]
        ours = ours[..., 1:] if ours.shape[-1] > pattern.shape[-1] else ours  # a sink logit
        if name == "granite_swa":  # transformers returns them as if there were none
            ours = ours / ours.sum(-1, keepdims=True)
        assert_close(ours, pattern, dtype, f"pattern {layer}", 2 if name == "gemma2" else 1)  # scores up to 50, in float32



@pytest.mark.parametrize("dtype", DTYPES)
def test_the_points_inside_a_block_of_llama(dtype):
    model, seen = reference("llama", dtype), {}

    def keep(name, module, of_input=False):
        def hook(_, inputs, output):
            value = inputs[0] if of_input else output
            seen[name] = value[0] if isinstance(value, tuple) else value
        module.register_forward_hook(hook)

    for l, layer in enumerate(model.model.layers):
        keep(("normalized", l, "ln1"), layer.input_layernorm)
        keep(("normalized", l, "ln2"), layer.post_attention_layernorm)
        keep(("q", l), layer.self_attn.q_proj)
        keep(("k", l), layer.self_attn.k_proj)
        keep(("v", l), layer.self_attn.v_proj)
        keep(("z", l), layer.self_attn.o_proj, of_input=True)
        keep(("attn_out", l), layer.self_attn)
        keep(("resid_mid", l), layer.post_attention_layernorm, of_input=True)
        keep(("mlp_post", l), layer.mlp.down_proj, of_input=True)
        keep(("mlp_out", l), layer.mlp)
        keep(("resid_post", l), layer)
    with torch.no_grad():
        model(torch.tensor(IDS))
    _, cache = sinklab.load(MODELS / "llama", dtype=dtype).run_with_cache(IDS)
    assert len(seen) == 22
    for key, theirs in seen.items():
        ours = cache[key]
        assert_close(ours.reshape(theirs.shape), theirs, dtype, key)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_hook_does_what_a_hook_of_torch_does(name):
    model = reference(name, "float64")
    blocks = model.model.layers if name == "llama" else model.transformer.h
    attention = blocks[1].self_attn if name == "llama" else blocks[1].attn
    attention.register_forward_hook(lambda _, inputs, output: (torch.zeros_like(output[0]), *output[1:]))
    with torch.no_grad():
        theirs = model(torch.tensor(IDS)).logits
    ours = sinklab.load(MODELS / name, dtype="float64")
    assert_close(ours.run_with_hooks(IDS, [(("attn_out", 1), lambda out, name: np.zeros_like(out))]), theirs, "float64", name)
    assert np.abs(ours(IDS) - theirs.numpy()).max() > 1e-3  # the hook changes something


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral", "gpt_oss"])
def test_padded_batches_are_single_runs_and_those_of_transformers(name, side):
    rows, ours = [IDS[0], IDS[1][:6], IDS[0][3:5], [7]], sinklab.load(MODELS / name, dtype="float64")
    theirs = reference(name, "float64", "eager" if name == "gpt_oss" else "sdpa")  # eager makes NaN of padding where there is no sink
    ids, mask = np.full((4, 10), 1), np.zeros((4, 10), dtype=int)
    for n, row in enumerate(rows):
        place = slice(10 - len(row), 10) if side == "left" else slice(0, len(row))
        ids[n, place], mask[n, place] = row, 1
    tokens, seen = torch.tensor(ids), torch.tensor(mask)
    with torch.no_grad():
        expected = theirs(tokens, attention_mask=seen, position_ids=(seen.cumsum(-1) - 1).clamp(min=0)).logits  # as in generate
    logits, both_loss = ours(ids, "both", attention_mask=seen)
    assert_close(logits[mask == 1], expected[seen == 1], "float64", name)
    assert np.isnan(logits[mask == 0]).all() and (logits[mask == 1] == np.concatenate([ours(row) for row in rows])).all()
    predicts = (seen[:, 1:] * seen[:, :-1]) == 1
    losses = torch.nn.functional.cross_entropy(expected[:, :-1][predicts], tokens[:, 1:][predicts], reduction="none")
    found = ours.loss(ids, per_token=True, attention_mask=mask == 1)
    assert_close(found[predicts.numpy()], losses, "float64", name)
    assert np.isnan(found[~predicts.numpy()]).all()
    assert (found[predicts.numpy()] == np.concatenate([ours.loss(row, per_token=True) for row in rows[:3]])).all()
    for loss in (both_loss, ours(ids, "loss", mask), ours.loss(ids, attention_mask=mask)):
        assert abs(loss - losses.mean().item()) < 1e-5
    assert (ours(ids[0], attention_mask=mask[0]) == ours(IDS[0])).all() and ours(ids, None, mask) is None


def test_masks_that_are_refused():
    model, ids = sinklab.load(MODELS / "llama"), [[1, 2, 3], [4, 5, 6]]
    for mask, sentence in (([[1, 1, 0]], "zeros and ones of shape (2, 3), got int64 of shape (1, 3)"), ([[1, 1, 2], [1, 1, 1]], "zeros and ones"),
                           ([[1, 1, 1], [1, 0, 1]], "row 1 of the attention_mask has zeros inside of its text"),
                           ([[0, 0, 0], [1, 1, 1]], "row 0 of the attention_mask has no token"), (np.ones((2, 3)), "got float64"),
                           ([[1, 1], [1]], "lists of unequal length"), ("text", "zeros and ones")):
        for call in (lambda: model(ids, attention_mask=mask), lambda: model.loss(ids, attention_mask=mask)):
            with pytest.raises(sinklab.Error, match=re.escape(sentence)):
                call()
    with pytest.raises(sinklab.Error, match="give one of them"):
        model.loss(ids, ids, attention_mask=np.ones((2, 3), int))
    with pytest.raises(sinklab.Error, match="no text of the attention_mask has two tokens"):
        model.loss(ids, attention_mask=[[1, 0, 0], [0, 0, 1]])


def test_arrays_go_to_torch_without_a_copy():
    model, weights = sinklab.load(MODELS / "llama"), reference("llama", "float32").state_dict()
    logits, cache = model.run_with_cache(IDS)
    for array in (model.parameter("embedding.token.weight"), model.W_Q, logits, cache["pattern", 1]):
        tensor = torch.from_dlpack(array)
        assert tensor.data_ptr() == array.ctypes.data
        np.testing.assert_array_equal(tensor.numpy(), array)
    embedding = torch.from_dlpack(model.parameter("embedding.token.weight"))
    del model  # the tensor keeps the memory
    assert torch.equal(embedding, weights["model.embed_tokens.weight"])


def test_loss_and_generation():
    theirs, ours = reference("llama", "float64"), sinklab.load(MODELS / "llama", dtype="float64")
    ids = torch.tensor(IDS)
    with torch.no_grad():
        assert abs(theirs(ids, labels=ids).loss.item() - ours.loss(IDS)) < 1e-6
    generated = theirs.generate(ids[:1], max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)
    assert ours.generate(IDS[0], max_new_tokens=12, stop_at_eos=False).tolist() == generated[0].tolist()


def test_one_step_of_training_is_that_of_torch():
    """AdamW on LLaMA's architecture: the losses of two steps, and the weights after them."""
    settings = dict(layers=2, heads=2, width=16, feed_forward=24, context=12, seed=1, precision="f64", learning_rate=1e-2,
                    warmup=0, clip=0, weight_decay=0.1)
    model = sinklab.ablation("llama", vocabulary=40, **settings)
    names = model.parameter_names()
    parameters = {n: torch.tensor(model.parameter(n).copy(), requires_grad=True) for n in names}

    def loss():
        logits = llama(parameters, torch.tensor(IDS), layers=2, heads=2)
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), torch.tensor(IDS)[:, 1:].flatten())

    optimizer = torch.optim.AdamW(parameters.values(), lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        theirs = loss()
        theirs.backward()
        step = model.train_step(IDS)
        assert abs(step.loss - theirs.item()) < 1e-9
        norm = torch.sqrt(sum((p.grad**2).sum() for p in parameters.values())).item()
        assert abs(step.grad_norm - norm) < 1e-7 * norm
        optimizer.step()
    for name in names:
        np.testing.assert_allclose(model.parameter(name), parameters[name].detach().numpy(), rtol=1e-6, atol=1e-9)


LLAMA = dict(layers=2, heads=4, kv_heads=2, width=16, feed_forward=24, context=12, seed=1, precision="f64")


def gradients_of_llama(model, changes=()):
    """The loss, and every activation with its gradient, of plain torch. `changes`: functions of gradients by the names of activations."""
    p = {n: torch.tensor(model.parameter(n).copy(), requires_grad=True) for n in model.parameter_names()}
    points = {}

    def point(name, x):
        x.retain_grad()
        points[name] = x
        if name in dict(changes):
            x.register_hook(dict(changes)[name])
        return x

    logits = llama(p, torch.tensor(IDS), LLAMA["layers"], LLAMA["heads"], LLAMA["kv_heads"], point)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), torch.tensor(IDS)[:, 1:].flatten())
    loss.backward()
    return loss.item(), points


def test_gradients_are_those_of_autograd():
    """Of every activation in float64, with two query heads for each key head."""
    model = sinklab.ablation("llama", vocabulary=40, **LLAMA)
    expected, points = gradients_of_llama(model)
    loss, cache = model.run_with_cache(IDS, lambda name: True, return_type="loss", incl_bwd=True)
    assert abs(loss - expected) < 1e-12 and set(points) == set(model.activation_names())
    assert list(cache) == [*model.activation_names(), *(name + "_grad" for name in model.activation_names())]
    for name, theirs in points.items():
        np.testing.assert_allclose(cache[name], theirs.detach().numpy(), rtol=1e-8, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(cache[name + "_grad"], theirs.grad.numpy(), rtol=1e-8, atol=1e-11, err_msg=name)
    assert cache["k_grad", 1].shape == (2, 10, 2, 4) and cache["z_grad", -1].shape == (2, 10, 4, 4)
    np.testing.assert_array_equal(cache["resid_mid_grad", 0], cache["attn_out_grad", 0])
    none, few = model.run_with_cache(IDS, ["pattern", ("z", 1)], return_type=None, incl_bwd=True)
    assert none is None and len(few) == 6
    np.testing.assert_array_equal(few["pattern_grad", 0], cache["pattern_grad", 0])


@pytest.mark.parametrize("changed", ["hook_resid_post", "hook_resid_pre", "hook_attn_out", "attn.hook_q", "attn.hook_k", "attn.hook_rot_k",
                                     "attn.hook_v", "attn.hook_z", "mlp.hook_post", "ln1.hook_normalized"])
def test_hooks_of_gradients_change_what_autograd_changes(changed):
    model, name, seen = sinklab.ablation("llama", vocabulary=40, **LLAMA), f"blocks.1.{changed}", {}
    expected, points = gradients_of_llama(model, {name: lambda gradient: gradient * 3 - 0.01})
    hooks = [(name, lambda gradient, of: gradient * 3 - 0.01), (lambda _: True, lambda gradient, of: seen.update({of: gradient.copy()}))]
    assert abs(model.run_with_hooks(IDS, bwd_hooks=hooks, return_type="loss") - expected) < 1e-12
    assert set(seen) == set(points)
    for of, theirs in points.items():
        np.testing.assert_allclose(seen[of], theirs.grad.numpy(), rtol=1e-8, atol=1e-11, err_msg=of)
    plain = gradients_of_llama(model)[1]
    assert np.abs(seen["hook_embed"] - plain["hook_embed"].grad.numpy()).max() > 1e-4  # the hook changes something


def test_a_step_of_training_after_gradients():
    plain, model = (sinklab.ablation("llama", vocabulary=40, **LLAMA) for _ in range(2))
    for _ in range(2):
        model.run_with_cache(IDS, return_type="loss", incl_bwd=True)
        with pytest.raises(ZeroDivisionError):
            model.run_with_hooks(IDS, bwd_hooks=[(("z", 0), lambda gradient, name: 1 / 0)], return_type="loss")
        assert model.train_step(IDS) == plain.train_step(IDS)
    np.testing.assert_array_equal(model(IDS), plain(IDS))


def llama(p, ids, layers, heads, key_heads=None, point=lambda name, x: x):
    """LLaMA in plain torch, by the names of our parameters. `point`(name, x) sees each activation."""
    norm = lambda x, gain: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * gain
    x = point("hook_embed", p["embedding.token.weight"][ids])
    B, T, C = x.shape
    D, groups = C // heads, key_heads or heads
    angle = torch.arange(T, dtype=torch.float64)[:, None] * 10000 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    unseen = torch.ones(T, T, dtype=torch.bool).triu(1)

    def rotate(t):  # (B, T, heads, D)
        a, b = t[..., :D // 2], t[..., D // 2:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    for l in range(layers):
        a, f, of = f"blocks.{l}.attention.", f"blocks.{l}.feed_forward.", lambda name: f"blocks.{l}." + name
        x = point(of("hook_resid_pre"), x * 1)
        h = point(of("ln1.hook_normalized"), norm(x, p[a + "norm.gain"]))
        q, k, v = (h @ p[a + "qkv.weight"].T).reshape(B, T, heads + 2 * groups, D).split([heads, groups, groups], 2)
        q, k, v = point(of("attn.hook_q"), q), point(of("attn.hook_k"), k), point(of("attn.hook_v"), v * 1)
        q, k = point(of("attn.hook_rot_q"), rotate(q)), point(of("attn.hook_rot_k"), rotate(k))
        k, v = (each.repeat_interleave(heads // groups, 2).transpose(1, 2) for each in (k, v))
        scores = (q.transpose(1, 2) @ k.transpose(-1, -2) / D**0.5).masked_fill(unseen, float("-inf"))
        pattern = point(of("attn.hook_pattern"), torch.softmax(point(of("attn.hook_attn_scores"), scores), -1))
        z = point(of("attn.hook_z"), (pattern @ v).transpose(1, 2))
        x = x + point(of("hook_attn_out"), z.reshape(B, T, C) @ p[a + "out.weight"].T)
        h = point(of("ln2.hook_normalized"), norm(x, p[f + "norm.gain"]))
        gate, up = (h @ p[f + "gate_up.weight"].T).chunk(2, -1)
        h = point(of("mlp.hook_post"), torch.nn.functional.silu(gate) * up)
        x = point(of("hook_resid_post"), x + point(of("hook_mlp_out"), h @ p[f + "down.weight"].T))
    return norm(x, p["final_norm.gain"]) @ p["unembedding.weight"].T
