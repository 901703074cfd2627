"""SinkAttention, and transformers' models with the engine's attention next to eager attention. Skipped without torch."""
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("h5py")  # of torch_reference

import sinklab  # noqa: E402
import sinklab.torch  # noqa: E402
import torch_reference as reference  # noqa: E402
from golden import MODELS  # noqa: E402

B, T, C = 2, 33, 24


@pytest.mark.parametrize("sink", [None, "zero", "logit", "key", "key_value"])
@pytest.mark.parametrize("op", ["Softmax", "Sigmoid"])
def test_the_layer_equals_its_formula(op, sink):
    torch.manual_seed(1)
    layer = sinklab.torch.SinkAttention(C, 4, key_heads=2, op=op, sink=sink, window=9, bias=True, dtype=torch.float64)
    x = torch.randn(B, T, C, dtype=torch.float64, requires_grad=True)
    o = layer(x)
    q, k, v = (y.unflatten(-1, (-1, 6)).transpose(1, 2) for y in layer.qkv(x).split([24, 12, 12], -1))
    extras = dict(extra_key=layer.extra_key, extra_logit=layer.extra_logit)
    expected = layer.out(reference.attention(op, q, k, v, extra_value=layer.extra_value, window=9, **extras).transpose(1, 2).flatten(2))
    torch.testing.assert_close(o, expected)
    leaves = [x, *layer.parameters()]
    upstream = torch.randn_like(o)
    for ours, theirs in zip(torch.autograd.grad(o, leaves, upstream), torch.autograd.grad(expected, leaves, upstream)):
        torch.testing.assert_close(ours, theirs)
    found, = sinklab.torch.statistics(layer).values()
    a, mask = reference.pattern(op, q, k, window=9, **extras)
    proxy = (a / a.sum(-1, keepdim=True))[..., -T:]
    torch.testing.assert_close(found.alpha, (proxy.sum(-2) / mask[0, 0, :, -T:].sum(0)).detach())
    assert (found.alpha_star is None) == (sink is None)


def test_wrong_layers_are_one_sentence():
    for wrong, text in ((dict(heads=5), "heads must divide d_model"), (dict(key_heads=3), "key_heads must divide heads"),
                        (dict(sink="first"), "sink must be None"), (dict(heads=0), "heads must be a whole number")):
        with pytest.raises(sinklab.Error, match=text):
            sinklab.torch.SinkAttention(**{"d_model": 24, "heads": 4, **wrong})
    with pytest.raises(sinklab.Error, match="no layer of the model has run"):
        sinklab.torch.statistics(torch.nn.Linear(2, 2))
    with pytest.raises(sinklab.Error, match="expected a torch.nn.Module, got str"):
        sinklab.torch.statistics("llama")


class TinyModel(torch.nn.Module):
    """One block of nanoGPT's size and shape, whose positions are learned."""

    def __init__(self, vocabulary, context, width, **settings):
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.positions = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(context, width)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(3))
        self.attention = sinklab.torch.SinkAttention(width, 2, **settings)
        self.feed_forward = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        x = x + self.attention(self.norms[0](x))
        x = x + self.feed_forward(self.norms[1](x))
        return self.head(self.norms[2](x))


def test_softmax_grows_a_sink_and_sigmoid_a_smaller_one():
    """On the synthetic task of the quickstart (Guo et al. 2024)."""
    task, alpha, threads = sinklab.BigramBackcopy(context=32), {}, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for op in ("Softmax", "Sigmoid"):
            model = TinyModel(64, 32, 32, op=op)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
            for step in range(1300):
                ids, targets = (torch.from_numpy(x).long() for x in task.batch(step))
                loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=-1)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            assert loss < 2.6  # 4.2 at first
            alpha[op] = sinklab.torch.statistics(model)["attention"].alpha[:, :, 0].mean(0).max()
    finally:
        torch.set_num_threads(threads)
    assert alpha["Softmax"] > 0.7 and alpha["Sigmoid"] < alpha["Softmax"] - 0.15, alpha


@pytest.fixture(scope="module")
def transformers():
    found = pytest.importorskip("transformers")
    sinklab.torch.register_attention()
    sinklab.torch.register_attention("sinklab_sigmoid", op="Sigmoid")
    return found


def tiny(transformers, family="Llama", **changed):
    torch.manual_seed(0)
    config = getattr(transformers, family + "Config")(**{
        **dict(vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
               max_position_embeddings=64, attn_implementation="eager"), **changed})
    return getattr(transformers, family.removesuffix("Text") + "ForCausalLM")(config).double().eval()


IDS = torch.randint(0, 50, (2, 21), generator=torch.Generator().manual_seed(1))


def assert_like(implementation, model, ids, padding=None):
    """Compares logits and gradients of the tokens that are no padding; returns the statistics and the patterns of eager attention."""
    kept = torch.ones_like(ids, dtype=torch.bool) if padding is None else padding.bool()
    model.set_attn_implementation(implementation)
    exact = model(ids, attention_mask=padding, output_attentions=implementation == "eager")
    model.set_attn_implementation("sinklab")
    ours = model(ids, attention_mask=padding)
    torch.testing.assert_close(ours.logits[kept], exact.logits[kept], rtol=1e-5, atol=1e-6)  # angles are float32
    for logits in (ours.logits, exact.logits):
        model.zero_grad()
        logits[kept].square().mean().backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        if logits is ours.logits:
            of_ours = gradients
    for mine, theirs in zip(of_ours, gradients):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-7)
    return sinklab.torch.statistics(model), exact.attentions


@pytest.mark.parametrize("family, changed", [("Llama", {}), ("Qwen3", dict(head_dim=8)), ("Mistral", dict(sliding_window=6)),
                                             ("Gemma3Text", dict(sliding_window=6, head_dim=8))])
def test_models_of_transformers_equal_eager_ones(transformers, family, changed):
    model = tiny(transformers, family, **changed)
    found, patterns = assert_like("eager", model, IDS)
    assert list(found) == [f"model.layers.{layer}.self_attn" for layer in range(3)]
    for of_layer, pattern in zip(found.values(), patterns):
        rows = (pattern[0, 0] > 0).sum(0)
        torch.testing.assert_close(of_layer.rows, rows.double()[None].expand(2, -1))
        torch.testing.assert_close(of_layer.alpha, pattern.sum(-2) / rows, rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(of_layer.entropy, -torch.xlogy(pattern, pattern).sum(-1).mean(-1), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("left", [True, False])
def test_padding(transformers, left):
    padding = torch.ones_like(IDS)
    if left:
        padding[0, :6] = 0
    else:
        padding[0, -6:] = 0
    found, _ = assert_like("sdpa", tiny(transformers), IDS, padding)  # eager attention is NaN here in float64
    of_text = found["model.layers.1.self_attn"].alpha[0, :, 6 if left else 0]
    alone = tiny(transformers)
    alone.set_attn_implementation("sinklab")
    alone(IDS[:1, 6:] if left else IDS[:1, :-6])
    torch.testing.assert_close(of_text, sinklab.torch.statistics(alone)["model.layers.1.self_attn"].alpha[0, :, 0], rtol=1e-5, atol=1e-6)


def test_gpt_oss_has_its_sink_logits(transformers):
    model = transformers.AutoModelForCausalLM.from_pretrained(MODELS / "gpt_oss", attn_implementation="eager",
                                                              experts_implementation="eager", dtype=torch.float64).eval()
    ids = IDS[:, :10] % model.config.vocab_size
    found, _ = assert_like("eager", model, ids)
    assert all(of_layer.alpha_star is not None for of_layer in found.values())


def test_generation_equals_eager(transformers):
    model = tiny(transformers)
    texts = []
    for name in ("eager", "sinklab"):
        model.set_attn_implementation(name)
        texts.append(model.generate(IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=8, do_sample=False, pad_token_id=0))
    assert torch.equal(*texts)


def test_another_operation(transformers):
    model = tiny(transformers)
    model.set_attn_implementation("sinklab_sigmoid")
    model(IDS)
    assert sinklab.torch.statistics(model)["model.layers.0.self_attn"].row_sum.mean() > 3  # softmax has 1


def test_models_that_cannot_run_it_are_refused(transformers):
    model = tiny(transformers, attention_dropout=0.1)
    model.set_attn_implementation("sinklab")
    for call, text in ((lambda: model(IDS, attention_mask=torch.ones(2, 1, 21, 21, dtype=torch.bool)), "no mask of a matrix"),
                       (lambda: model(IDS, output_attentions=True), "no output_attentions: use eager attention, or sinklab"),
                       (lambda: model(IDS, position_ids=(torch.arange(21) % 7).expand(2, -1), use_cache=False), "packed sequences"),
                       (lambda: model.train()(IDS), "no dropout")):
        with pytest.raises(sinklab.Error, match=text) as caught:
            call()
        assert "\n" not in str(caught.value)
    with pytest.raises(sinklab.Error, match="use a cache that grows, not a static one"):
        model.eval().generate(IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=2, do_sample=False, cache_implementation="static",
                              disable_compile=True)
    holes = torch.ones_like(IDS)
    holes[0, 4] = 0
    with pytest.raises(sinklab.Error, match="padding must be before or after a text"):
        model.eval()(IDS, attention_mask=holes)
    encoder = transformers.BertModel(transformers.BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                                             intermediate_size=32, attn_implementation="sinklab")).eval()
    with pytest.raises(sinklab.Error, match="is causal"):
        encoder(IDS)
