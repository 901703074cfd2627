#!/usr/bin/env python3
"""Writes what Hugging Face's transformers computes for tiny models over a grid of config.json values, family by family.

  make_config_grid.py [FAMILY ...]  writes (all, or these) into grid.json and grid.safetensors

grid.json, for each family: `defaults`, the values that the family's configuration class gives to missing keys; `tensors`, lists of
names and shapes; `cases`, each with a name, a config.json and either its list of tensors, how many tokens it has and
which arrays <family>/<number> of grid.safetensors are its logits (of the last 12 positions, V) and its attention (L, H, T (T + 1) / 2:
the rows of the lower triangle; none where there are more than 12 tokens), or `refused`: what this project must name when
it refuses the file. Arrays are F64.

Weights are no file: element i of the tensor `name` is u = (top 16 bits of splitmix64(fnv1a(name) + i)) / 65536 - 1/2,
and 1 + u in gains of norms, those of Gemma excepted, which lack their 1. Token t is splitmix64(t) mod V. F32 and F64
hold these exactly.

What transformers computes in float32 whatever the type of the model (RMSNorm, rotary positions, softmax) is computed in
float64 here: while a model is made and run, `torch.float32` and `torch.float` are float64, `Tensor.float()` is
`Tensor.double()`, and the default type is float64. Attention is eager.

Needs: torch, transformers, numpy.
"""
import contextlib
import copy
import itertools
import json
import pathlib
import sys

import numpy
import torch
import transformers as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expected as files  # noqa: E402

GRID = pathlib.Path(__file__).parent / "grid.json"
V, T, LONG, LAST = 24, 12, 4100, 12
DELETED = "(deleted)"


@contextlib.contextmanager
def all_float64():
    names, float_ = ("float32", "float"), torch.Tensor.float
    kept = [getattr(torch, name) for name in names]
    try:
        for name in names:
            setattr(torch, name, torch.float64)
        torch.Tensor.float = torch.Tensor.double
        torch.set_default_dtype(torch.float64)
        yield
    finally:
        for name, type_ in zip(names, kept):
            setattr(torch, name, type_)
        torch.Tensor.float = float_
        torch.set_default_dtype(kept[0])


def splitmix64(x):
    with numpy.errstate(over="ignore"):
        x = x + numpy.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return x ^ (x >> numpy.uint64(31))


def fnv1a(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def weights(name, shape, gemma):
    count = int(numpy.prod(shape))
    with numpy.errstate(over="ignore"):
        bits = splitmix64(numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(fnv1a(name)))
    u = (bits >> numpy.uint64(48)).astype(numpy.float64) / 65536 - 0.5
    gain = len(shape) == 1 and name.endswith("weight") and not gemma
    return torch.from_numpy((u + 1 if gain else u).reshape(shape))


def tokens(count):
    return torch.from_numpy((splitmix64(numpy.arange(count, dtype=numpy.uint64)) % numpy.uint64(V)).astype(numpy.int64))


EXAONE = {"model.embed_tokens": "transformer.wte", "model.layers": "transformer.h", "model.norm": "transformer.ln_f", "self_attn.o_proj": "self_attn.out_proj",
          "self_attn": "attn.attention", "input_layernorm": "ln_1", "post_attention_layernorm": "ln_2", "gate_proj": "c_fc_0", "up_proj": "c_fc_1", "down_proj": "c_proj"}


def load(config):
    """The model of a config.json as transformers reads it, and its tensors as a file would have them."""
    cls = tf.models.auto.configuration_auto.CONFIG_MAPPING[config["model_type"]]
    parsed = cls.from_dict(copy.deepcopy(config))
    model = tf.AutoModelForCausalLM.from_config(parsed, attn_implementation="eager", experts_implementation="eager",
                                               dtype=torch.float64).eval()
    tied = model._tied_weights_keys if parsed.tie_word_embeddings else {}
    gemma, neox = config["model_type"].startswith("gemma"), config["model_type"] == "gpt_neox"
    names = {}
    with torch.no_grad():
        for name, parameter in model.state_dict().items():
            if name in tied:
                continue
            name = "embed_out.weight" if neox and name == "lm_head.weight" else name  # as save_pretrained() has it
            if config["model_type"] == "mixtral":
                name = name.replace(".mlp.", ".block_sparse_moe.")
            if config["model_type"] == "exaone" and name.startswith("model."):
                for ours, in_file in EXAONE.items():
                    name = name.replace(ours, in_file)
            if config["model_type"] == "granitemoe":  # as save_pretrained() has them
                for ours, in_file in {"router.weight": "router.layer.weight", "experts.gate_up_proj": "input_linear.weight", "experts.down_proj": "output_linear.weight"}.items():
                    name = name.replace("block_sparse_moe." + ours, "block_sparse_moe." + in_file)
            apart = {"mixtral": ("w1", "w3", "w2")}.get(config["model_type"], ("gate_proj", "up_proj", "down_proj"))
            if config["model_type"] != "gpt_oss" and name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                for e, expert in enumerate(parameter):
                    parts = dict(zip(apart[:2], expert.chunk(2))) if "gate_up" in name else {apart[2]: expert}
                    for part, matrix in parts.items():
                        file_name = f"{name.rsplit('.', 1)[0]}.{e}.{part}.weight"
                        names[file_name] = list(matrix.shape)
                        matrix.copy_(weights(file_name, names[file_name], gemma))
                continue
            names[name] = list(parameter.shape)
            parameter.copy_(weights(name, names[name], gemma))
    return model, names


@contextlib.contextmanager
def patched_sinks():
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward as with_sinks
    from transformers.models.granite_swa import modeling_granite_swa as module
    kept = module.eager_attention_forward
    module.eager_attention_forward = with_sinks
    try:
        yield
    finally:
        module.eager_attention_forward = kept


def run(config, count):
    with all_float64(), torch.no_grad():
        model, names = load(config)
        assert all(p.dtype == torch.float64 for p in model.parameters())
        out = model(tokens(count)[None], output_attentions=count <= T, use_cache=False)
        logits = out.logits[0, -LAST:].contiguous()
        assert logits.dtype == torch.float64
        if config["model_type"] == "granite_swa":  # whose weights of attention are without the sink; the function of gpt-oss has it
            with patched_sinks():
                out = model(tokens(count)[None], output_attentions=count <= T, use_cache=False)
            assert (out.logits[0, -LAST:] - logits).abs().max() < 1e-12
        result = {"logits": logits}
        if count <= T:
            rows, columns = torch.tril_indices(count, count)
            attention = torch.stack([a[0] for a in out.attentions])
            assert attention.dtype == torch.float64 and attention.triu(1).abs().max() == 0
            result["attention"] = attention[:, :, rows, columns].contiguous()
    return names, result


class Family:
    def __init__(self, name, model_type, base):
        self.name, self.model_type = name, model_type
        cls = tf.models.auto.configuration_auto.CONFIG_MAPPING[model_type]
        self.defaults = cls().to_dict()
        for key in ("transformers_version", "_name_or_path", "model_type"):
            self.defaults.pop(key, None)
        self.base = {"model_type": model_type, "vocab_size": V, **base}
        self.cases, self.tensors, self.results = [], [], []

    def config(self, *changes):
        config = copy.deepcopy(self.base)
        for change in changes:
            config.update(copy.deepcopy(change))
        return {key: value for key, value in config.items() if value != DELETED}

    def same(self, name, *changes, count=T):
        config = self.config(*changes)
        names, result = run(config, count)
        if names not in self.tensors:
            self.tensors.append(names)
        numbers = {key: self.number_of(value) for key, value in result.items()}
        self.cases.append({"name": name, "config": config, "tensors": self.tensors.index(names), "tokens": count, **numbers})

    def number_of(self, value):
        found = next((n for n, other in enumerate(self.results) if torch.equal(other, value)), None)
        if found is None:
            self.results.append(value)
        return len(self.results) - 1 if found is None else found

    def refused(self, name, key, *changes):
        self.cases.append({"name": name, "config": self.config(*changes), "refused": key})

    def window_case(self, name, key, *changes):
        """As transformers has it, or refused where it has no result."""
        try:
            run(self.config(*changes), T)
        except Exception:  # a window that is not there
            return self.refused(name, key, *changes)
        return self.same(name, *changes)

    def write(self):
        grids = json.loads(GRID.read_text()) if GRID.exists() else {}
        grids[self.name] = {"defaults": self.defaults, "tensors": self.tensors, "cases": self.cases}
        families = []
        for name, grid in sorted(grids.items()):  # a line for each case
            body = ",\n".join(json.dumps(case) for case in grid["cases"])
            head = f'"defaults": {json.dumps(grid["defaults"])},\n"tensors": {json.dumps(grid["tensors"])}'
            families.append(f"{json.dumps(name)}: " + "{" + f'{head},\n"cases": [\n{body}\n]' + "}")
        GRID.write_text("{\n" + ",\n".join(families) + "\n}\n")
        files.replace(GRID.with_suffix(".safetensors"), self.name, {str(n): value.numpy() for n, value in enumerate(self.results)})
        same = sum("logits" in case for case in self.cases)
        print(f"{self.name}: {same} cases, {len(self.cases) - same} refused; {len(self.results)} arrays")


def product(**axes):
    """Every combination of the axes' choices, each a name and changes."""
    for choices in itertools.product(*(axis.items() for axis in axes.values())):
        yield " ".join(name for name, _ in choices), [change for _, change in choices]


COMMON_REFUSED = {
    "a key of no class": ("frobnicate", dict(frobnicate=1)),
    "a key of no class, null": ("frobnicate", dict(frobnicate=None)),
    "quantized": ("quantization_config", dict(quantization_config={"quant_method": "hqq"})),
    "code of its own": ("auto_map", dict(auto_map={"AutoModelForCausalLM": "modeling.Model"})),
    "layers of their own": ("per_layer_config", dict(per_layer_config={"0": {"intermediate_size": 8}})),
    "both ways": ("is_causal", dict(is_causal=False)),
    "cross-attention": ("add_cross_attention", dict(add_cross_attention=True)),
    "encoder": ("is_encoder_decoder", dict(is_encoder_decoder=True)),
    "pruned": ("pruned_heads", dict(pruned_heads={"0": [1]})),
    "another class": ("architectures", dict(architectures=["SomethingElseForCausalLM"])),
}
# What transformers 4 and 5 write, and what people add: none of it changes a logit.
HARMLESS = dict(
    _name_or_path="somewhere/model", transformers_version="4.40.1", torch_dtype="bfloat16", use_cache=False,
    bos_token_id=1, eos_token_id=[2, 3], pad_token_id=None, initializer_range=0.04, output_hidden_states=True,
    output_attentions=False, return_dict=True, task_specific_params={"text-generation": {"max_length": 50}}, id2label={"0": "A", "1": "B"},
    label2id={"A": 0, "B": 1}, temperature=0.5, top_p=0.9, top_k=7, do_sample=True, max_length=99, num_beams=3,
    repetition_penalty=1.3, cache_implementation="hybrid", tokenizer_class="GPT2Tokenizer", torchscript=False,
    chunk_size_feed_forward=0, problem_type=None, unsloth_fixed=True)


def common(family, layers):
    family.same("harmless keys", HARMLESS)
    for name, (key, change) in COMMON_REFUSED.items():
        family.refused(name, key, change)
    family.refused("layers null", layers, {layers: None})
    family.refused("layers as text", layers, {layers: "2"})
    family.refused("layers as a fraction", layers, {layers: 2.0})


def gpt2():
    f = Family("gpt2", "gpt2", dict(n_layer=2, n_head=2, n_embd=16, n_positions=20, architectures=["GPT2LMHeadModel"]))
    for name, changes in product(inner={"inner 4C": {}, "inner null": dict(n_inner=None), "inner 20": dict(n_inner=20)},
                                 heads={"2 heads": {}, "4 heads": dict(n_head=4)},
                                 epsilon={"epsilon 1e-5": {}, "epsilon 0.01": dict(layer_norm_epsilon=0.01)},
                                 act={"gelu": {}, "gelu_new": dict(activation_function="gelu_new"),
                                      "gelu_pytorch_tanh": dict(activation_function="gelu_pytorch_tanh")}):
        f.same(name, *changes)
    f.same("what GPT-2's first files have", dict(n_ctx=20, attn_pdrop=0.1, embd_pdrop=0.1, resid_pdrop=0.1, summary_type="cls_index",
           summary_use_proj=True, summary_activation=None, summary_proj_to_labels=True, summary_first_dropout=0.1))
    f.same("upcast", dict(reorder_and_upcast_attn=True))
    common(f, "n_layer")
    for key, value in dict(activation_function="relu", scale_attn_weights=False, scale_attn_by_inverse_layer_idx=True,
                           tie_word_embeddings=False, hidden_size=16, num_hidden_layers=2, head_dim=8, sliding_window=4).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def opt():
    f = Family("opt", "opt", dict(num_hidden_layers=2, num_attention_heads=2, hidden_size=16, ffn_dim=20,
                                  max_position_embeddings=20))
    for name, changes in product(heads={"2 heads": {}, "4 heads": dict(num_attention_heads=4)},
                                 proj={"proj": {}, "proj 16": dict(word_embed_proj_dim=16), "proj null": dict(word_embed_proj_dim=None)},
                                 pad={"pad": {}, "pad 5": dict(pad_token_id=5), "pad null": dict(pad_token_id=None)}):
        f.same(name, *changes)
    f.same("what OPT's first files have", dict(activation_dropout=0.0, attention_dropout=0.1, dropout=0.1, layerdrop=0.0, init_std=0.02,
           prefix="</s>", activation_function="relu", do_layer_norm_before=True, _remove_final_layer_norm=False,
           enable_bias=True, layer_norm_elementwise_affine=True, tie_word_embeddings=True))
    common(f, "num_hidden_layers")
    for key, value in dict(activation_function="gelu", do_layer_norm_before=False, _remove_final_layer_norm=True,
                           enable_bias=False, layer_norm_elementwise_affine=False, tie_word_embeddings=False,
                           word_embed_proj_dim=8, head_dim=8).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


# Rotary positions as files of transformers 4 and 5 have them, {theta} being the key that some families call otherwise.
def ropes(theta="rope_theta", extra={}):
    new = lambda **parameters: dict(rope_parameters=dict(parameters, **extra))
    old = lambda base, **scaling: {theta: base, "rope_scaling": scaling or None}
    return {"rope missing": {}, "rope null": dict(rope_parameters=None, rope_scaling=None), "rope empty": dict(rope_parameters={}),
            "theta 50": {theta: 50.0}, "new theta 50": new(rope_type="default", rope_theta=50), "new wins": {**new(rope_theta=50.0), theta: 7.0},
            "new without theta": {**new(rope_type="linear", factor=3.0), theta: 50.0}, "linear new": new(rope_type="linear", rope_theta=50.0, factor=4),
            "linear old": old(50.0, type="linear", factor=4.0), "linear rope_type": old(50, rope_type="linear", factor=2.5),
            "both": {**new(rope_type="linear", factor=2.0), "rope_scaling": dict(rope_type="linear", factor=2.0, **extra)}}


def refused_ropes(f, llama3=True, linear=True, dynamic=True):
    new = lambda **parameters: dict(rope_parameters=parameters)
    if dynamic:
        f.refused("rope dynamic", "dynamic", new(rope_type="dynamic", factor=2.0))
        f.refused("rope dynamic old", "dynamic", dict(rope_scaling=dict(type="dynamic", factor=2.0)))
    f.refused("rope yarn", "yarn", new(rope_type="yarn", factor=2.0, original_max_position_embeddings=8))
    f.refused("rope longrope", "longrope", new(rope_type="longrope", short_factor=[1.0], long_factor=[1.0], original_max_position_embeddings=8))
    f.refused("rope proportional", "proportional", new(rope_type="proportional", rope_theta=10.0))
    if llama3:
        f.refused("rope llama3", "llama3", new(rope_type="llama3", rope_theta=10.0, factor=2.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                               original_max_position_embeddings=8))
    f.refused("rope of two types", "type", new(rope_type="linear", type="default", factor=2.0))
    f.refused("rope without factor", "factor" if linear else "linear", new(rope_type="linear"))
    f.refused("rope factor below 1", "factor" if linear else "linear", new(rope_type="linear", factor=0.5))
    f.refused("rope key of no type", "frobnicate", new(rope_type="default", frobnicate=1))
    f.refused("rope key of another type", "low_freq_factor" if linear else "linear", new(rope_type="linear", factor=2.0, low_freq_factor=1.0))
    f.refused("rope default with a factor", "factor", new(rope_type="default", factor=2.0))
    f.refused("rope nested", "full_attention", new(full_attention=dict(rope_type="default", rope_theta=10.0)))
    f.refused("two ropes", "rope_scaling", dict(rope_parameters=dict(rope_theta=5.0), rope_scaling=dict(type="linear", factor=2.0)))
    f.refused("rope theta null", "rope_theta", new(rope_type="default", rope_theta=None))
    f.refused("rope interleaved", "rope_interleaved", dict(rope_interleaved=True))


def gpt_neox():
    f = Family("gpt_neox", "gpt_neox", dict(num_hidden_layers=2, num_attention_heads=2, hidden_size=16, intermediate_size=20,
                                            max_position_embeddings=20))
    parts = {"part missing": {}, "part 1": dict(rotary_pct=1.0), "part 0.5": dict(rotary_pct=0.5), "part 0.8": dict(rotary_pct=0.8)}
    for name, changes in product(rope=ropes("rotary_emb_base"), part=parts):
        f.same(name, *changes)
    for name, changes in product(rope=ropes("rotary_emb_base", dict(partial_rotary_factor=0.5)), part={"part inside": {}}):
        f.same(name, *changes)
    f.same("tied", dict(tie_word_embeddings=True))
    f.same("epsilon", dict(layer_norm_eps=0.01))
    f.same("4 heads", dict(num_attention_heads=4, rotary_pct=0.5))
    f.same("what transformers 4.48 writes", dict(rotary_emb_base=50.0, rope_theta=50.0, rotary_pct=0.5, partial_rotary_factor=0.5))
    f.same("what Pythia's files have", dict(rotary_emb_base=10000, rotary_pct=0.25, use_parallel_residual=True, attention_bias=True,
           hidden_act="gelu", classifier_dropout=0.1, attention_dropout=0.0, hidden_dropout=0.0, is_decoder=False))
    common(f, "num_hidden_layers")
    refused_ropes(f)
    f.refused("thetas differ", "rope_theta", dict(rotary_emb_base=50.0, rope_theta=60.0))
    f.refused("parts differ", "partial_rotary_factor", dict(rotary_pct=0.5, partial_rotary_factor=0.25))
    for key, value in dict(hidden_act="gelu_fast", use_parallel_residual=False, attention_bias=False, head_dim=4).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


LLAMA = dict(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=16, intermediate_size=20,
             max_position_embeddings=20)


def llama_refused(f, biases=("attention_bias",)):
    common(f, "num_hidden_layers")
    f.refused("relu", "hidden_act", dict(hidden_act="relu"))
    f.refused("part", "partial_rotary_factor", dict(partial_rotary_factor=0.5))
    f.refused("kv heads 3", "num_key_value_heads", dict(num_key_value_heads=3))
    for key in biases:
        f.refused(key, key, {key: True})


def llama():
    f = Family("llama", "llama", LLAMA)
    shapes = {"2 kv": {}, "1 kv": dict(num_key_value_heads=1), "kv null": dict(num_key_value_heads=None),
              "kv missing": dict(num_key_value_heads=DELETED), "head 6": dict(head_dim=6), "head null": dict(head_dim=None)}
    for name, changes in product(rope=ropes(), shape=shapes, tied={"": {}, "tied": dict(tie_word_embeddings=True)}):
        f.same(name, *changes)
    f.same("epsilon", dict(rms_norm_eps=0.01))
    f.same("epsilon given", dict(rms_norm_eps=1e-6))
    f.same("what SmolLM2's files have", dict(is_llama_config=True, rope_interleaved=False, rope_scaling=None, rope_theta=100000, pretraining_tp=1,
           attention_bias=False, attention_dropout=0.0, mlp_bias=False, hidden_act="silu", sliding_window=None,
           **{"transformers.js_config": {"dtype": "q4"}}))
    llama_refused(f, ("attention_bias", "mlp_bias"))
    refused_ropes(f, llama3=False)
    for key, value in dict(pretraining_tp=2, sliding_window=4, layer_types=["full_attention"] * 2, original_max_position_embeddings=8).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def like_llama(f, shapes={}, harmless={}, refused={}, rope=ropes(), epsilon=dict(rms_norm_eps=0.01), llama3=False, linear=True, dynamic=False, layers="num_hidden_layers"):
    """Of a family that differs from LLaMA in its class more than in its keys."""
    for name, changes in product(rope=rope, shape={"2 kv": {}, "1 kv": dict(num_key_value_heads=1), "4 heads of 10": dict(hidden_size=40), **shapes}):
        f.same(name, *changes)
    for name, change in {"tied": dict(tie_word_embeddings=True), "untied": dict(tie_word_embeddings=False), "epsilon": epsilon,
                         "what published files have": harmless}.items():
        f.same(name, change)
    common(f, layers)
    refused_ropes(f, llama3=not llama3, linear=linear, dynamic=not dynamic)
    for key, value in dict(hidden_act="relu", mlp_bias=True, attention_bias=None, num_key_value_heads=3, **refused).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def seed_oss():
    f = Family("seed_oss", "seed_oss", {**LLAMA, "head_dim": 6})
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, num_hidden_layers=1))
    return like_llama(f, {"head null": dict(head_dim=None), "kv null": dict(num_key_value_heads=None)},
                      dict(attention_bias=True, attention_dropout=0.1, attention_out_bias=False, mlp_bias=False, residual_dropout=0.1, rope_scaling=dict(rope_type="default"),
                           rope_theta=10000000.0, pretraining_tp=1),
                      dict(attention_out_bias=True, sliding_window=4, partial_rotary_factor=0.5))


PARTS = {"part missing": {}, "part 1": dict(partial_rotary_factor=1.0), "part 0.25": dict(partial_rotary_factor=0.25), "part 0.8": dict(partial_rotary_factor=0.8)}


def glm(name="glm"):
    f = Family(name, name, {**LLAMA, "head_dim": 8, "pad_token_id": 0})
    f.same("head and kv missing", dict(head_dim=DELETED, num_key_value_heads=DELETED, num_hidden_layers=1, num_attention_heads=2))
    for case, changes in product(rope=ropes(extra=dict(partial_rotary_factor=0.75)), part={"part inside": {}, "part outside": dict(partial_rotary_factor=0.25)}):
        f.same(case, *changes)
    return like_llama(f, PARTS, dict(attention_bias=True, attention_dropout=0.0, rope_theta=10000.0, partial_rotary_factor=0.5),
                      dict(head_dim=None, sliding_window=4, partial_rotary_factor=0.1))


def gemma():
    f = Family("gemma", "gemma", {**LLAMA, "head_dim": 6})
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=16, num_hidden_layers=1))
    return like_llama(f, {"gelu": dict(hidden_act="gelu"), "activation null": dict(hidden_activation=None)},
                      dict(attention_bias=False, attention_dropout=0.0, hidden_act="gelu", hidden_activation="gelu_pytorch_tanh", rope_theta=10000.0),
                      dict(head_dim=None, sliding_window=4, partial_rotary_factor=0.5, hidden_activation="gelu", use_bidirectional_attention=True,
                           final_logit_softcapping=30.0))


def starcoder2():
    f = Family("starcoder2", "starcoder2", LLAMA)
    f.same("epsilon of norms", dict(norm_epsilon=0.01))
    f.same("kv missing", dict(num_key_value_heads=DELETED))
    windows = {f"window {n}": dict(sliding_window=n) for n in (None, 1, 4, 100)}
    return like_llama(f, windows, dict(activation_function="gelu", attention_dropout=0.1, residual_dropout=0.1, embedding_dropout=0.1,
                      hidden_act="gelu_pytorch_tanh", layer_norm_epsilon=1e-05, mlp_type="default", norm_epsilon=1e-05, norm_type="layer_norm",
                      rope_theta=999999.4420358813, sliding_window=4096, use_bias=True),
                      dict(norm_epsilon=None, use_bias=False, sliding_window=0, partial_rotary_factor=0.5, head_dim=6, layer_types=["full_attention"] * 2),
                      epsilon={})


def exaone4():
    f = Family("exaone4", "exaone4", {**LLAMA, "num_hidden_layers": 4, "sliding_window": 4})
    s, a = "sliding_attention", "full_attention"
    types = {"types missing": {}, "types null": dict(layer_types=None), "sasa": dict(layer_types=[s, a, s, a]), "saas": dict(layer_types=[s, a, a, s]),
             "ssss": dict(layer_types=[s] * 4), "aaaa": dict(layer_types=[a] * 4)}
    patterns = {"pattern missing": {}, "every 2nd": dict(sliding_window_pattern=2), "every 1": dict(sliding_window_pattern=1), "every 7th": dict(sliding_window_pattern=7),
                "LLLG": dict(sliding_window_pattern="LLLG"), "pattern null": dict(sliding_window_pattern=None)}
    for case, changes in product(window={"window 4": {}, "window null": dict(sliding_window=None)}, types=types, pattern=patterns):
        f.window_case(case, "sliding", *changes)
    slowed = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
    llama3 = {"llama3": dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, **slowed)),
              "llama3 old": dict(rope_theta=50.0, rope_scaling=dict(rope_type="llama3", **slowed))}
    f.same("heads of 6", dict(head_dim=6))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=32, hidden_size=64, num_hidden_layers=1))
    f.same("default window", dict(sliding_window=DELETED, max_position_embeddings=LONG, num_hidden_layers=1), count=LONG)
    return like_llama(f, {}, dict(attention_dropout=0.0, sliding_window=None, sliding_window_pattern=None, layer_types=[a] * 4, rope_theta=1000000,
                                  rope_scaling=dict(rope_type="llama3", **slowed)),
                      dict(head_dim=None, sliding_window=0, partial_rotary_factor=0.5),
                      rope={**{name: rope for name, rope in ropes().items() if "linear" not in name and name != "both" and name != "new without theta"}, **llama3}, llama3=True, linear=False)


def olmo():
    f = Family("olmo", "olmo", LLAMA)
    return like_llama(f, {"kv null": dict(num_key_value_heads=None), "kv missing": dict(num_key_value_heads=DELETED)},
                      dict(attention_bias=False, attention_dropout=0.0, clip_qkv=None, hidden_act="silu", rope_scaling=None, rope_theta=10000.0),
                      dict(clip_qkv=8.0, sliding_window=4, partial_rotary_factor=0.5, head_dim=6, rms_norm_eps=1e-5), epsilon={})


def of_part(f, refused, **more):
    """Families whose heads rotate in part."""
    for case, changes in product(rope=ropes(extra=dict(partial_rotary_factor=0.75)), part={"part inside": {}, "part outside": dict(partial_rotary_factor=0.25)}):
        f.same(case, *changes)
    return like_llama(f, refused=dict(sliding_window=4, partial_rotary_factor=0.1, **refused), **more)


def stablelm():
    f = Family("stablelm", "stablelm", {**LLAMA, "hidden_size": 32})
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=32, hidden_size=256, num_hidden_layers=1))
    return of_part(f, dict(qk_layernorm=True, use_parallel_residual=True, head_dim=8, rms_norm_eps=1e-5),
                   shapes={**PARTS, "qkv bias": dict(use_qkv_bias=True)}, epsilon=dict(layer_norm_eps=0.01),
                   harmless=dict(attention_dropout=0.0, hidden_dropout=0.0, norm_eps=1e-05, rope_pct=0.25, rotary_scaling_factor=1.0, rope_theta=10000,
                                 qk_layernorm=False, use_parallel_residual=False, hidden_act="silu"))


def nemotron():
    f = Family("nemotron", "nemotron", {**LLAMA, "hidden_act": "relu2", "head_dim": 8})
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1, hidden_size=32))
    return of_part(f, dict(norm_eps=None, rms_norm_eps=1e-5), shapes=PARTS, epsilon=dict(norm_eps=0.01),
                   harmless=dict(attention_bias=False, attention_dropout=0.0, hidden_act="relu2", norm_eps=1e-05, rope_theta=10000))


def cohere():
    f = Family("cohere", "cohere", {**LLAMA, "pad_token_id": 0})
    f.same("logit scale missing and given", dict(logit_scale=0.3))
    return like_llama(f, {"kv null": dict(num_key_value_heads=None), "qk norm null": dict(use_qk_norm=None)},
                      dict(attention_bias=False, attention_dropout=0.0, layer_norm_eps=1e-05, logit_scale=0.0625, model_max_length=131072, pretraining_tp=1, rope_theta=8000000.0),
                      dict(layer_norm_eps=None, logit_scale=None, use_qk_norm=True, sliding_window=4, partial_rotary_factor=0.5, rms_norm_eps=1e-5),
                      epsilon=dict(layer_norm_eps=0.01))


def cohere2():
    f = Family("cohere2", "cohere2", {**LLAMA, "num_hidden_layers": 4, "sliding_window": 4, "pad_token_id": 0})
    s, a = "sliding_attention", "full_attention"
    types = {"types missing": {}, "types null": dict(layer_types=None), "sasa": dict(layer_types=[s, a, s, a]), "saas": dict(layer_types=[s, a, a, s]),
             "ssss": dict(layer_types=[s] * 4), "aaaa": dict(layer_types=[a] * 4)}
    patterns = {"pattern missing": {}, "every 2nd": dict(sliding_window_pattern=2), "every 7th": dict(sliding_window_pattern=7)}
    for case, changes in product(window={"window 4": {}, "window null": dict(sliding_window=None)}, types=types, pattern=patterns):
        f.window_case(case, "sliding", *changes)
    f.same("the width that a head has", dict(head_dim=4))
    f.same("default window", dict(sliding_window=DELETED, max_position_embeddings=LONG, num_hidden_layers=1), count=LONG)
    return like_llama(f, {"kv null": dict(num_key_value_heads=None)},
                      dict(attention_bias=False, layer_norm_eps=1e-05, layer_switch=4, logit_scale=0.25, order_of_interleaved_layers="local_attn_first",
                           position_embedding_type="rope_gptj", rope_theta=50000.0, rotary_pct=1.0, sliding_window_pattern=4, use_embedding_sharing=True,
                           use_gated_activation=True, use_parallel_block=True, use_parallel_embedding=True, use_qk_norm=False),
                      dict(head_dim=6, layer_norm_eps=None, logit_scale=None, sliding_window=0, partial_rotary_factor=0.5), epsilon=dict(layer_norm_eps=0.01))


def ernie4_5():
    f = Family("ernie4_5", "ernie4_5", {**LLAMA, "head_dim": 6})
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, num_hidden_layers=1))
    return like_llama(f, {"head null": dict(head_dim=None), "kv null": dict(num_key_value_heads=None), "bias null": dict(use_bias=None)},
                      dict(use_bias=False, rope_theta=500000, rope_scaling=None),
                      dict(use_bias=True, sliding_window=4, partial_rotary_factor=0.5, moe_num_experts=2))


def llama3():
    f = Family("llama3", "llama", {**LLAMA, "head_dim": 12})
    slowed = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
    ropes = {"new": dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, **slowed)),
             "old": dict(rope_theta=50.0, rope_scaling=dict(rope_type="llama3", **slowed)),
             "type": dict(rope_theta=500, rope_scaling=dict(type="llama3", **{**slowed, "factor": 4})),
             "theta missing": dict(rope_scaling=dict(rope_type="llama3", **slowed)),
             "first context missing": dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0,
                                                                high_freq_factor=4.0))}
    for name, changes in product(rope=ropes, kv={"2 kv": {}, "4 kv": dict(num_key_value_heads=4)},
                                 tied={"": {}, "tied": dict(tie_word_embeddings=True)}):
        f.same(name, *changes)
    f.same("a context longer than is used", dict(max_position_embeddings=131072, rope_parameters=dict(rope_type="llama3", rope_theta=500000.0,
           factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)))
    for key in ("low_freq_factor", "high_freq_factor", "factor"):
        less = {k: v for k, v in slowed.items() if k != key}
        f.refused(f"without {key}", key, dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, **less)))
        f.refused(f"{key} 0.5", key, dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, **{**slowed, key: 0.5})))
    return f


def mistral():
    f = Family("mistral", "mistral", {**LLAMA, "sliding_window": 4})
    windows = {"window 4": {}, "window 1": dict(sliding_window=1), "window null": dict(sliding_window=None), "window 100": dict(sliding_window=100),
               "window missing": dict(sliding_window=DELETED)}
    shapes = {"2 kv": {}, "head 6": dict(head_dim=6), "head null": dict(head_dim=None)}
    for name, changes in product(rope=ropes(), window=windows, shape=shapes):
        f.same(name, *changes)
    f.refused("kv null", "num_key_value_heads", dict(num_key_value_heads=None))
    f.same("tied", dict(tie_word_embeddings=True))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, head_dim=2))
    f.same("epsilon", dict(rms_norm_eps=0.01))
    f.same("a window longer than any context", dict(sliding_window=131072, max_position_embeddings=131072))
    f.same("layer types that say the same", dict(layer_types=["sliding_attention"] * 2))
    f.same("default window", dict(sliding_window=DELETED, max_position_embeddings=LONG), count=LONG)
    f.same("no window, long", dict(sliding_window=None, max_position_embeddings=LONG), count=LONG)
    llama_refused(f)
    refused_ropes(f)
    f.refused("window 0", "sliding_window", dict(sliding_window=0))
    f.refused("window below 0", "sliding_window", dict(sliding_window=-1))
    f.refused("layer types that the class does not read", "layer_types", dict(layer_types=["sliding_attention", "full_attention"]))
    f.refused("use_sliding_window", "use_sliding_window", dict(use_sliding_window=False))
    return f


def qwen(name):
    f = Family(name, name, {**LLAMA, "num_hidden_layers": 3, "head_dim": 6})
    uses = {"use missing": {}, "use": dict(use_sliding_window=True), "use not": dict(use_sliding_window=False)}
    windows = {"window 4": dict(sliding_window=4), "window null": dict(sliding_window=None), "window missing": {}}
    firsts = {f"first {n}": dict(max_window_layers=n) for n in (0, 1, 2, 3, 4, -1)} | {"first missing": {}}
    types = {"".join(t[0] for t in three): dict(layer_types=[t + "_attention" for t in three])
             for three in itertools.product(("full", "sliding"), repeat=3)} | {"types null": dict(layer_types=None)}
    for case, changes in product(use=uses, window=windows, first=firsts):
        f.window_case(case, "max_window_layers", *changes)
    for case, changes in product(use=uses, window=windows, types=types):
        f.window_case(case, "layer_types" if "types null" not in case else "max_window_layers", *changes)
    f.window_case("types of transformers 4.55", "layer_types", dict(layer_types=["attention"] * 3))
    for case, changes in product(rope=ropes(), tied={"": {}, "tied": dict(tie_word_embeddings=True)}):
        f.same(case, *changes)
    for case, changes in product(rope={"rope missing": {}, **{k: v for k, v in ropes().items() if k == "linear old"}},
                                 kv={"1 kv": dict(num_key_value_heads=1), "kv null": dict(num_key_value_heads=None)}):
        f.same(case, *changes)
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=32, head_dim=2, num_hidden_layers=1))
    f.same("epsilon", dict(rms_norm_eps=0.01))
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1))
    long = dict(max_position_embeddings=LONG, num_hidden_layers=1, use_sliding_window=True, max_window_layers=0)
    f.same("default window", long, count=LONG)
    f.same("no window, long", long, dict(use_sliding_window=False), count=LONG)
    f.same("what published files have", dict(attention_dropout=0.0, rope_theta=1000000.0, rope_scaling=None, use_sliding_window=False,
           sliding_window=32768, max_window_layers=28, tie_word_embeddings=False))
    llama_refused(f, ("attention_bias",) if name == "qwen3" else ())
    refused_ropes(f)
    f.refused("window 0", "sliding_window", dict(use_sliding_window=True, sliding_window=0, max_window_layers=0))
    f.same("window 0 that is not used", dict(use_sliding_window=False, sliding_window=0))
    if name == "qwen2":
        f.same("what Qwen2.5-1M's files have", dict(dual_chunk_attention_config=dict(chunk_size=262144, local_size=8192)))
    f.same("code of a tokenizer", dict(auto_map={"AutoTokenizer": ["tokenization_x.X", None]}))
    f.refused("too few types", "layer_types", dict(layer_types=["full_attention"] * 2))
    f.refused("too many types", "layer_types", dict(layer_types=["full_attention"] * 4))
    f.refused("another type", "layer_types", dict(layer_types=["full_attention", "chunked_attention", "full_attention"]))
    f.refused("first null", "max_window_layers", dict(max_window_layers=None, use_sliding_window=True))
    return f


def qwen3_5():
    delta = dict(linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=3, linear_value_head_dim=5)
    f = Family("qwen3_5", "qwen3_5_text", {**LLAMA, **delta, "num_hidden_layers": 4, "head_dim": 8})
    l, a = "linear_attention", "full_attention"
    for case, changes in product(rope=ropes(), part={"part missing": {}, "part outside": dict(partial_rotary_factor=0.75)}):
        f.same(case, *changes)
    for case, changes in product(rope={"new": dict(rope_parameters=dict(rope_type="default", rope_theta=50.0, partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[1, 1, 0]))},
                                 heads={"2 key heads": {}, "4 key heads": dict(linear_num_key_heads=4), "1 key head": dict(linear_num_key_heads=1),
                                        "narrow": dict(linear_key_head_dim=7, linear_value_head_dim=2), "one token": dict(linear_conv_kernel_dim=1), "9 tokens": dict(linear_conv_kernel_dim=9)},
                                 kv={"2 kv": {}, "1 kv": dict(num_key_value_heads=1), "4 kv, head 4": dict(num_key_value_heads=4, head_dim=4)}):
        f.same(case, *changes)
    for name, change in {"every 2nd": dict(full_attention_interval=2), "every 3rd, and a last": dict(full_attention_interval=3), "all": dict(full_attention_interval=1),
                         "types": dict(layer_types=[l, a, l, a]), "types, whatever the interval": dict(layer_types=[l, a, l, a], full_attention_interval=4),
                         "types null": dict(layer_types=None), "types full": dict(layer_types=[a] * 4), "tied": dict(tie_word_embeddings=True), "epsilon": dict(rms_norm_eps=0.01)}.items():
        f.same(name, change)
    wide = dict(num_hidden_layers=1, layer_types=[a])
    f.same("head missing", dict(head_dim=DELETED), wide)
    f.same("kv missing", dict(num_key_value_heads=DELETED), wide)
    for key in delta:
        f.same(f"{key} missing", {**{key: DELETED}, "linear_num_value_heads": DELETED if key == "linear_num_value_heads" else 16 if key == "linear_num_key_heads" else 4},
               dict(num_hidden_layers=2, full_attention_interval=2))
    f.same("70 tokens", dict(max_position_embeddings=80), count=70)  # more than a chunk of transformers' kernel
    f.same("what Qwen 3.5's files have", dict(attention_bias=False, attention_dropout=0.0, attn_output_gate=True, full_attention_interval=4, hidden_act="silu",
           linear_conv_kernel_dim=4, layer_types=[l, l, l, a], mamba_ssm_dtype="float32", mlp_only_layers=[], mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False,
           output_gate_type="swish", rope_parameters=dict(rope_type="default", rope_theta=10000000, partial_rotary_factor=0.25, mrope_interleaved=True, mrope_section=[1, 0, 0])))
    common(f, "num_hidden_layers")
    refused_ropes(f)
    f.refused("relu", "hidden_act", dict(hidden_act="relu"))
    f.refused("kv heads 3", "num_key_value_heads", dict(num_key_value_heads=3))
    f.refused("key heads 3", "linear_num_key_heads", dict(linear_num_key_heads=3))
    for name, types in {"too few": [l, a], "of another type": [l, l, "sliding_attention", a], "no pattern": [l, a, a, l], "first only": [a, l, l, l], "none": [l] * 4}.items():
        f.refused(f"types {name}", "layer_types", dict(layer_types=types))
    f.refused("interval beyond the layers", "full_attention_interval", dict(full_attention_interval=5))
    f.refused("interval 0", "full_attention_interval", dict(full_attention_interval=0))
    for key, value in dict(attention_bias=True, attn_output_gate=False, output_gate_type="sigmoid", linear_conv_kernel_dim=0, linear_num_value_heads=0, linear_key_head_dim=None,
                           num_experts=4, sliding_window=4, mlp_only_layers=[1], partial_rotary_factor=0.1).items():
        f.refused(f"{key} {value}", key, {key: value})
    f.refused("an odd part", "even width", dict(partial_rotary_factor=0.4))
    return f


def gemma3():
    f = Family("gemma3", "gemma3_text", {**LLAMA, "num_hidden_layers": 4, "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 5,
                                         "layer_types": ["sliding_attention", "full_attention"] * 2})
    default, linear = (lambda theta: dict(rope_type="default", rope_theta=theta)), (lambda theta, factor: dict(rope_type="linear", rope_theta=theta, factor=factor))
    nested = lambda **parts: dict(rope_parameters=parts)
    patterns = {"alternating": {}, "every 3rd": dict(layer_types=DELETED, sliding_window_pattern=3), "all full": dict(layer_types=["full_attention"] * 4),
                "all with a window": dict(layer_types=["sliding_attention"] * 4), "every 6th": dict(layer_types=None),
                "every one": dict(layer_types=DELETED, sliding_window_pattern=1), "types of 4": dict(layer_types=["sliding_attention"] * 3 + ["full_attention"])}
    ropes = {"missing": {}, "null": dict(rope_parameters=None, rope_scaling=None),
             "new": nested(full_attention=default(50.0), sliding_attention=default(5.0)),
             "new, linear": nested(full_attention=linear(50.0, 8.0), sliding_attention=default(5)),
             "old": dict(rope_theta=50.0, rope_local_base_freq=5.0, rope_scaling=None),
             "old, linear": dict(rope_theta=50.0, rope_local_base_freq=5.0, rope_scaling=dict(rope_type="linear", factor=8.0)),
             "old, default local": dict(rope_theta=50.0, rope_scaling=dict(rope_type="linear", factor=8.0)),
             "new without sliding": nested(full_attention=default(50.0)), "new without full": nested(sliding_attention=default(5.0)),
             "new with null": nested(full_attention=None, sliding_attention=dict(rope_type="default")),
             "sliding linear by 1": nested(full_attention=default(50.0), sliding_attention=linear(5.0, 1.0))}
    for name, changes in product(rope=ropes, pattern=patterns):
        f.same(name, *changes)
    shapes = {"1 kv": dict(num_key_value_heads=1), "4 kv": dict(num_key_value_heads=4), "head 10": dict(head_dim=10),
              "untied": dict(tie_word_embeddings=False), "tied": dict(tie_word_embeddings=True), "epsilon": dict(rms_norm_eps=0.01),
              "width 12": dict(hidden_size=12), "scalar 7": dict(query_pre_attn_scalar=7), "scalar missing": dict(query_pre_attn_scalar=DELETED)}
    for name, changes in product(shape=shapes):
        f.same(name, *changes)
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1, layer_types=DELETED, num_attention_heads=1, num_key_value_heads=1))
    f.same("heads missing", dict(num_attention_heads=DELETED, num_key_value_heads=DELETED, head_dim=2))
    f.same("a pattern that layer types replace", dict(sliding_window_pattern=3, _sliding_window_pattern=6))
    long = dict(max_position_embeddings=LONG, num_hidden_layers=1, layer_types=DELETED)
    f.same("default window", long, dict(sliding_window=DELETED), count=LONG)
    f.same("no window, long", long, dict(layer_types=["full_attention"]), count=LONG)
    common(f, "num_hidden_layers")
    sliding = lambda rope: nested(full_attention=default(50.0), sliding_attention=rope)
    f.refused("sliding linear", "sliding_attention", sliding(linear(5.0, 2.0)))
    f.refused("both linear", "sliding_attention", nested(full_attention=linear(50.0, 8.0), sliding_attention=linear(50.0, 8.0)))
    f.refused("sliding linear, another theta", "sliding_attention", nested(full_attention=linear(50.0, 8.0), sliding_attention=linear(5.0, 8.0)))
    for key, rope in {"dynamic": dict(rope_type="dynamic", factor=2.0), "yarn": dict(rope_type="yarn", factor=2.0, original_max_position_embeddings=8),
                      "llama3": dict(rope_type="llama3", rope_theta=9.0, factor=2.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                     original_max_position_embeddings=8)}.items():
        f.refused(f"sliding {key}", key, sliding(rope))
        f.refused(f"full {key}", key, nested(full_attention=rope, sliding_attention=default(5.0)))
    # transformers 4 reads it as linear, transformers 5 as default.
    f.refused("rope_scaling with the older name of its type", "`type`", dict(rope_theta=50.0, rope_scaling=dict(type="linear", factor=8.0)))
    f.refused("rope for all", "rope_parameters", dict(rope_parameters=linear(50.0, 8.0)))
    f.refused("two ropes", "rope_scaling", dict(nested(full_attention=default(50.0)), rope_scaling=dict(rope_type="linear", factor=8.0)))
    f.refused("rope of a third type", "chunked_attention", nested(full_attention=default(50.0), chunked_attention=default(5.0)))
    f.refused("a pattern that is not read", "_sliding_window_pattern", dict(layer_types=DELETED, _sliding_window_pattern=2))
    f.refused("window null", "sliding_window", dict(sliding_window=None))
    f.refused("window 0", "sliding_window", dict(sliding_window=0))
    f.refused("pattern 0", "sliding_window_pattern", dict(layer_types=DELETED, sliding_window_pattern=0))
    f.refused("too few types", "layer_types", dict(layer_types=["full_attention"] * 2))
    f.same("types of no pattern", dict(layer_types=["full_attention", "sliding_attention"] * 2))
    f.same("types of no pattern, two thetas", dict(layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
           rope_theta=50.0, rope_local_base_freq=5.0))
    f.same("window 0 and pattern 0 that are not used", dict(layer_types=["full_attention"] * 4, sliding_window=0, sliding_window_pattern=0))
    for key, value in dict(final_logit_softcapping=30.0, attn_logit_softcapping=50.0, use_bidirectional_attention=True, attention_bias=True,
                           hidden_activation="silu", query_pre_attn_scalar=0, num_key_value_heads=None).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def gpt_oss():
    f = Family("gpt_oss", "gpt_oss", {**LLAMA, "num_hidden_layers": 3, "head_dim": 12, "intermediate_size": 8, "num_local_experts": 3,
                                      "num_experts_per_tok": 2, "sliding_window": 4})
    yarn = dict(rope_type="yarn", factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=300)
    less = lambda key: {k: v for k, v in yarn.items() if k != key}
    ropes = {"missing": {}, "null": dict(rope_parameters=None, rope_scaling=None), "empty": dict(rope_parameters={}),
             "theta 500": dict(rope_theta=500.0), "default": dict(rope_parameters=dict(rope_type="default", rope_theta=500.0)),
             "yarn": dict(rope_parameters=dict(yarn, rope_theta=500.0)), "yarn old": dict(rope_theta=500, rope_scaling=yarn),
             "yarn without theta": dict(rope_parameters=yarn), "yarn without betas": dict(rope_theta=500.0, rope_scaling=less("beta_fast")),
             "yarn of nulls": dict(rope_theta=500.0, rope_scaling=dict(yarn, attention_factor=None, mscale=None, mscale_all_dim=None, beta_slow=None)),
             "yarn without first context": dict(rope_theta=500.0, max_position_embeddings=300, rope_scaling=less("original_max_position_embeddings"))}
    types = {"types missing": {}, "types null": dict(layer_types=None), "full": dict(layer_types=["full_attention"] * 3),
             "window": dict(layer_types=["sliding_attention"] * 3), "last": dict(layer_types=["sliding_attention"] * 2 + ["full_attention"])}
    for name, changes in product(rope=ropes, types=types):
        f.same(name, *changes)
    for name, changes in product(shape={"1 kv": dict(num_key_value_heads=1), "head 4": dict(head_dim=4), "tied": dict(tie_word_embeddings=True),
                                        "1 expert": dict(num_experts_per_tok=1), "all experts": dict(num_experts_per_tok=3),
                                        "epsilon": dict(rms_norm_eps=0.01), "epsilon given": dict(rms_norm_eps=1e-5),
                                        "head missing": dict(head_dim=DELETED, num_attention_heads=2), "window 1": dict(sliding_window=1)}):
        f.same(name, *changes)
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, head_dim=2))
    f.same("default window", dict(sliding_window=DELETED, num_hidden_layers=1, max_position_embeddings=200), count=140)
    f.same("no window, long", dict(layer_types=["full_attention"], num_hidden_layers=1, max_position_embeddings=200), count=140)
    f.same("what published files have", dict(experts_per_token=2, initial_context_length=4096, output_router_logits=False, router_aux_loss_coef=0.9,
           swiglu_limit=7.0, attention_bias=True, attention_dropout=0.0))
    common(f, "num_hidden_layers")
    rope = lambda **change: dict(rope_parameters={k: v for k, v in dict(yarn, **change).items() if v != DELETED})
    f.refused("truncate", "truncate", rope(truncate=True))
    f.refused("truncate missing", "truncate", rope(truncate=DELETED))
    for key, value in dict(beta_fast=16.0, beta_slow=2.0, attention_factor=1.5, mscale=2.0, mscale_all_dim=2.0, factor=None).items():
        f.refused(f"{key} {value}", key, rope(**{key: value}))
    f.refused("linear", "linear", dict(rope_parameters=dict(rope_type="linear", factor=2.0)))
    f.refused("experts differ", "experts_per_token", dict(experts_per_token=1))
    f.refused("window null", "sliding_window", dict(sliding_window=None))
    f.same("types of no pattern", dict(layer_types=["full_attention", "sliding_attention", "full_attention"]))
    for key, value in dict(swiglu_limit=5.0, swiglu_alpha=1.0, attention_bias=False, hidden_act="gelu", num_experts=3).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def mixtral():
    f = Family("mixtral", "mixtral", {**LLAMA, "num_local_experts": 3, "num_experts_per_tok": 2})
    windows = {"window missing": {}, "window 4": dict(sliding_window=4), "window null": dict(sliding_window=None), "window 100": dict(sliding_window=100)}
    for name, changes in product(rope=ropes(), window=windows):
        f.same(name, *changes)
    for name, change in {"1 kv": dict(num_key_value_heads=1), "head 6": dict(head_dim=6), "head null": dict(head_dim=None),
                         "tied": dict(tie_word_embeddings=True), "1 expert": dict(num_experts_per_tok=1), "all experts": dict(num_experts_per_tok=3),
                         "1 of 1": dict(num_local_experts=1, num_experts_per_tok=1), "2 of 5": dict(num_local_experts=5), "epsilon": dict(rms_norm_eps=0.01)}.items():
        f.same(name, change)
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, head_dim=2))
    f.same("experts missing", dict(num_local_experts=DELETED, num_experts_per_tok=DELETED, num_hidden_layers=1))
    f.same("what Mixtral 8x7B has", dict(attention_dropout=0.0, hidden_act="silu", output_router_logits=False, rms_norm_eps=1e-05, rope_theta=1000000.0,
           router_aux_loss_coef=0.02, router_jitter_noise=0.1, sliding_window=None, tie_word_embeddings=False))
    common(f, "num_hidden_layers")
    refused_ropes(f)
    f.refused("more experts than there are", "4 of 3", dict(num_experts_per_tok=4))
    for key, value in dict(num_key_value_heads=None, hidden_act="gelu", partial_rotary_factor=0.5, sliding_window=0, num_local_experts=0, num_experts_per_tok=0, num_experts=3, attention_bias=False,
                           norm_topk_prob=False, layer_types=["full_attention"] * 2, shared_expert_intermediate_size=8).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def moe_cases(f, common_refused, experts="num_experts"):
    for name, change in {"1 kv": dict(num_key_value_heads=1), "tied": dict(tie_word_embeddings=True), "1 expert": dict(num_experts_per_tok=1),
                         "all experts": dict(num_experts_per_tok=3), "1 of 1": {experts: 1, "num_experts_per_tok": 1},
                         "2 of 5": {experts: 5}, "epsilon": dict(rms_norm_eps=0.01)}.items():
        f.same(name, change)
    common(f, "num_hidden_layers")
    refused_ropes(f)
    if f.name != "qwen2_moe":
        f.refused("a shared expert", "shared_expert_intermediate_size", dict(shared_expert_intermediate_size=8))
    f.refused("more experts than there are", "4 of 3", dict(num_experts_per_tok=4))
    for key, value in dict(hidden_act="gelu", partial_rotary_factor=0.5, num_experts_per_tok=0, attention_bias=True,
                           **{experts: 0}, **common_refused).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def qwen3_moe():
    f = Family("qwen3_moe", "qwen3_moe", {**LLAMA, "head_dim": 6, "moe_intermediate_size": 10, "num_experts": 3, "num_experts_per_tok": 2,
                                          "norm_topk_prob": True})
    windows = {"window missing": {}, "window 4": dict(sliding_window=4, use_sliding_window=True), "window null": dict(sliding_window=None, use_sliding_window=True),
               "window not used": dict(sliding_window=4, use_sliding_window=False), "window 100": dict(sliding_window=100, use_sliding_window=True)}
    for name, changes in product(rope=ropes(), window=windows):
        f.same(name, *changes)
    f.same("head missing", dict(head_dim=DELETED))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, head_dim=2))
    f.same("experts as transformers 5 calls them", dict(num_experts=DELETED, num_local_experts=4))
    f.same("both names of experts", dict(num_local_experts=3))
    f.same("experts missing", dict(num_experts=DELETED, num_experts_per_tok=DELETED, num_hidden_layers=1))
    f.same("width of experts missing", dict(moe_intermediate_size=DELETED, num_hidden_layers=1))
    f.same("no other width", dict(intermediate_size=DELETED))
    f.same("what Qwen3-30B-A3B has", dict(attention_bias=False, attention_dropout=0.0, decoder_sparse_step=1, hidden_act="silu", max_window_layers=48,
           mlp_only_layers=[], output_router_logits=False, rope_scaling=None, rope_theta=1000000.0, router_aux_loss_coef=0.001, sliding_window=None,
           use_sliding_window=False))
    f.refused("two numbers of experts", "num_local_experts", dict(num_local_experts=4))
    f.refused("norm_topk_prob missing", "norm_topk_prob", dict(norm_topk_prob=DELETED))
    f.refused("window 0", "sliding_window", dict(use_sliding_window=True, sliding_window=0))
    return moe_cases(f, dict(norm_topk_prob=False, decoder_sparse_step=2, mlp_only_layers=[0], num_key_value_heads=None, head_dim=None,
                             layer_types=["full_attention"] * 2))


def qwen2_moe():
    f = Family("qwen2_moe", "qwen2_moe", {**LLAMA, "num_hidden_layers": 3, "moe_intermediate_size": 10, "shared_expert_intermediate_size": 14, "num_experts": 3,
                                          "num_experts_per_tok": 2})
    uses = {"use missing": {}, "use": dict(use_sliding_window=True), "use not": dict(use_sliding_window=False)}
    windows = {"window 4": dict(sliding_window=4), "window null": dict(sliding_window=None), "window missing": {}}
    layers = {f"first {n}": dict(max_window_layers=n) for n in (0, 1, 2, 3)} | {
        "types fsf": dict(layer_types=["full_attention", "sliding_attention", "full_attention"]), "types full": dict(layer_types=["full_attention"] * 3)}
    for name, changes in product(use=uses, window=windows, layers=layers):
        f.window_case(name, "sliding_window", *changes)
    for name, changes in product(rope=ropes()):
        f.same(name, *changes)
    f.same("experts missing", dict(num_experts=DELETED, num_experts_per_tok=DELETED, num_hidden_layers=1))
    f.same("heads of 6", dict(head_dim=6))
    f.same("widths missing", dict(moe_intermediate_size=DELETED, shared_expert_intermediate_size=DELETED, num_hidden_layers=1, hidden_size=8))
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=16, hidden_size=32, num_hidden_layers=1))
    f.same("no other width", dict(intermediate_size=DELETED))
    f.same("what Qwen1.5-MoE-A2.7B has", dict(attention_dropout=0.0, decoder_sparse_step=1, hidden_act="silu", intermediate_size=5632, max_window_layers=21,
           norm_topk_prob=False, output_router_logits=False, rope_theta=1000000.0, router_aux_loss_coef=0.001, sliding_window=32768,
           tie_word_embeddings=False, use_sliding_window=False))
    f.refused("window 0", "sliding_window", dict(use_sliding_window=True, sliding_window=0))
    f.refused("no shared expert", "shared_expert_intermediate_size", dict(shared_expert_intermediate_size=0))
    return moe_cases(f, dict(norm_topk_prob=True, decoder_sparse_step=2, mlp_only_layers=[0], num_key_value_heads=None, qkv_bias=False,
                             num_local_experts=3))


def granitemoe():
    f = Family("granitemoe", "granitemoe", {**LLAMA, "num_local_experts": 3, "num_experts_per_tok": 2, "attention_multiplier": 0.25,
                                         "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "logits_scaling": 5.0})
    for name, changes in product(rope=ropes(), shape={"2 kv": {}, "kv null": dict(num_key_value_heads=None), "kv missing": dict(num_key_value_heads=DELETED)}):
        f.same(name, *changes)
    for key in ("attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling"):
        f.same(f"{key} missing", {key: DELETED})
    f.same("experts missing", dict(num_local_experts=DELETED, num_experts_per_tok=DELETED, num_hidden_layers=1))
    f.same("what Granite 3.1 3B-A800M has", dict(attention_bias=False, attention_dropout=0.1, hidden_act="silu", output_router_logits=False, rope_scaling=None,
           rope_theta=10000000, router_aux_loss_coef=0.0, tie_word_embeddings=True))
    return moe_cases(f, dict(shared_intermediate_size=8, mlp_bias=True, head_dim=4, sliding_window=4), experts="num_local_experts")


def olmoe():
    f = Family("olmoe", "olmoe", {**LLAMA, "num_experts": 3, "num_experts_per_tok": 2, "pad_token_id": 0, "eos_token_id": None})
    for name, changes in product(rope=ropes(), shape={"2 kv": {}, "kv null": dict(num_key_value_heads=None), "kv missing": dict(num_key_value_heads=DELETED)}):
        f.same(name, *changes)
    f.same("experts missing", dict(num_experts=DELETED, num_experts_per_tok=DELETED, num_hidden_layers=1))
    f.same("width missing", dict(intermediate_size=DELETED, num_hidden_layers=1))
    f.same("what OLMoE 1B-7B has", dict(attention_bias=False, attention_dropout=0.0, clip_qkv=None, hidden_act="silu", norm_topk_prob=False,
           output_router_logits=False, rope_scaling=None, rope_theta=10000.0, router_aux_loss_coef=0.01, tie_word_embeddings=False))
    return moe_cases(f, dict(norm_topk_prob=True, clip_qkv=8.0, sliding_window=4, layer_types=["full_attention"] * 2))


def gemma2():
    f = Family("gemma2", "gemma2", {**LLAMA, "num_hidden_layers": 4, "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 1})
    s, a = "sliding_attention", "full_attention"
    patterns = {"types missing": {}, "types null": dict(layer_types=None), "all full": dict(layer_types=[a] * 4), "all with a window": dict(layer_types=[s] * 4),
                "every 4th": dict(layer_types=[s] * 3 + [a])}
    for name, changes in product(rope=ropes(), pattern=patterns):
        f.same(name, *changes)
    for name, change in {"1 kv": dict(num_key_value_heads=1), "4 kv": dict(num_key_value_heads=4), "head 10": dict(head_dim=10), "untied": dict(tie_word_embeddings=False),
                         "tied": dict(tie_word_embeddings=True), "epsilon": dict(rms_norm_eps=0.01), "scalar 7": dict(query_pre_attn_scalar=7),
                         "scalar missing": dict(query_pre_attn_scalar=DELETED)}.items():
        f.same(name, change)
    f.same("head missing", dict(head_dim=DELETED, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1))
    f.same("heads missing", dict(num_attention_heads=DELETED, num_key_value_heads=DELETED, head_dim=2))
    f.same("what Gemma 2's files have", dict(attention_bias=False, attention_dropout=0.0, attn_logit_softcapping=50.0, cache_implementation="hybrid",
           final_logit_softcapping=30.0, hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-06, rope_theta=10000.0,
           sliding_window=4, sliding_window_size=4, use_cache=True))
    long = dict(max_position_embeddings=LONG, num_hidden_layers=1)
    f.same("default window", long, dict(sliding_window=DELETED), count=LONG)
    f.same("no window, long", long, dict(layer_types=[a]), count=LONG)
    common(f, "num_hidden_layers")
    refused_ropes(f)
    f.refused("window null", "sliding_window", dict(sliding_window=None))
    f.refused("window 0", "sliding_window", dict(sliding_window=0))
    f.refused("window sizes differ", "sliding_window_size", dict(sliding_window_size=8))
    f.refused("too few types", "layer_types", dict(layer_types=[a] * 2))
    f.same("types of no pattern", dict(layer_types=[a, s] * 2))
    for key, value in dict(final_logit_softcapping=20.0, attn_logit_softcapping=30.0, use_bidirectional_attention=True, attention_bias=True, hidden_activation="silu",
                           hidden_act="gelu", query_pre_attn_scalar=0, num_key_value_heads=None, sliding_window_pattern=3, rope_local_base_freq=10.0).items():
        f.refused(f"{key} {value}", key, {key: value})
    f.refused("scores without a cap", "attn_logit_softcapping", dict(attn_logit_softcapping=None))
    f.refused("logits without a cap", "final_logit_softcapping", dict(final_logit_softcapping=None))
    return f


def granite():
    f = Family("granite", "granite", {**LLAMA, "attention_multiplier": 0.3})
    ropes_here = {**ropes(), "llama3": dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0,
                                                                 high_freq_factor=4.0, original_max_position_embeddings=16))}
    multipliers = {"embedding": dict(embedding_multiplier=12.0), "residual": dict(residual_multiplier=0.22), "logits": dict(logits_scaling=8),
                   "all": dict(embedding_multiplier=12, residual_multiplier=0.22, logits_scaling=8.0, attention_multiplier=0.015625),
                   "attention missing": dict(attention_multiplier=DELETED)}
    for name, changes in product(multipliers=multipliers, tied={"": {}, "tied": dict(tie_word_embeddings=True)}):
        f.same(name, *changes)
    for name, changes in product(rope={key: value for key, value in ropes_here.items() if key != "llama3"}):
        f.same(name, *changes)
    for name, change in {"1 kv": dict(num_key_value_heads=1), "kv null": dict(num_key_value_heads=None), "head 6": dict(head_dim=6),
                         "epsilon": dict(rms_norm_eps=0.01), "what published files have": dict(attention_bias=False, attention_dropout=0.1,
                         mlp_bias=False, hidden_act="silu", rope_scaling=None, rope_theta=10000.0)}.items():
        f.same(name, change)
    llama_refused(f, ("attention_bias", "mlp_bias"))
    refused_ropes(f, llama3=False)
    for key in ("attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling"):
        f.refused(f"{key} 0", key, {key: 0})
        f.refused(f"{key} null", key, {key: None})
    for key, value in dict(sliding_window=4, num_local_experts=4, shared_intermediate_size=8).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def phi3():
    f = Family("phi3", "phi3", {**LLAMA, "pad_token_id": 0})
    default = {key: value for key, value in ropes().items() if "linear" not in str(value)}
    new = lambda **parameters: dict(rope_parameters=dict(rope_type="default", rope_theta=50.0, **parameters))
    parts = {"part missing": {}, "part 0.5": dict(partial_rotary_factor=0.5), "part 1": dict(partial_rotary_factor=1)}
    windows = {"window missing": {}, "window 4": dict(sliding_window=4), "window null": dict(sliding_window=None), "window 100": dict(sliding_window=100)}
    for name, changes in product(rope=default, part=parts, window=windows):
        f.same(name, *changes)
    f.same("part inside", new(partial_rotary_factor=0.5))
    f.same("part inside wins", new(partial_rotary_factor=0.5), dict(partial_rotary_factor=1.0))
    f.same("part rounded", dict(partial_rotary_factor=0.45, hidden_size=20, num_attention_heads=2))
    for name, change in {"1 kv": dict(num_key_value_heads=1), "kv null": dict(num_key_value_heads=None), "kv missing": dict(num_key_value_heads=DELETED),
                         "head 6": dict(head_dim=6), "epsilon": dict(rms_norm_eps=0.01), "tied": dict(tie_word_embeddings=True)}.items():
        f.same(name, change)
    theirs = dict(AutoConfig="configuration_phi3.Phi3Config", AutoModelForCausalLM="modeling_phi3.Phi3ForCausalLM")
    f.same("what Phi-3-mini-4k's files have", dict(auto_map=theirs, attention_bias=False, attention_dropout=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
           original_max_position_embeddings=4096, rope_scaling=None, rope_theta=10000.0, sliding_window=2047, tie_word_embeddings=False))
    common(f, "num_hidden_layers")
    factors = dict(short_factor=[1.0, 1.5], long_factor=[2, 6.25])
    old = lambda **scaling: dict(rope_theta=50.0, rope_scaling={**dict(type="longrope", **factors), **scaling})
    ropes_long = {"old": old(), "rope_type": dict(rope_parameters=dict(rope_type="longrope", rope_theta=50.0, **factors)),
                  "factor 3": old(factor=3.0), "factor 1": old(factor=1), "attention factor": old(attention_factor=1.3), "both": old(factor=2.0, attention_factor=0.7),
                  "nulls": old(factor=None, attention_factor=None), "theta missing": dict(rope_scaling=old()["rope_scaling"])}
    contexts = {f"original {n}": dict(original_max_position_embeddings=n) for n in (5, 11, 12, 20)}
    for name, changes in product(rope=ropes_long, context=contexts):
        f.same("longrope " + name, *changes)
    for name, change in {"window": dict(sliding_window=4), "original missing": {}, "2 kv": dict(num_key_value_heads=1)}.items():
        f.same("longrope " + name, old(), change)
    for n in (8, 20):
        part = dict(partial_rotary_factor=0.5, original_max_position_embeddings=n)
        f.same(f"longrope part, original {n}", old(short_factor=[1.5], long_factor=[4.0]), part)
        f.same(f"what Phi-4-mini has, original {n}", dict(hidden_size=32, partial_rotary_factor=0.75, original_max_position_embeddings=n, sliding_window=262144,
               tie_word_embeddings=True, max_position_embeddings=131072), old(short_factor=[1, 1.0, 1.0], long_factor=[1, 1.118320672, 32.3]))
    f.refused("longrope of another original", "original_max_position_embeddings", old(original_max_position_embeddings=8))
    f.refused("longrope of original 0", "original_max_position_embeddings", old(), dict(original_max_position_embeddings=0))
    f.refused("longrope of original 1", "attention factor", old(), dict(original_max_position_embeddings=1))
    f.refused("longrope of too few factors", "2 pairs", old(short_factor=[1.0]))
    f.refused("longrope of too many factors", "2 pairs", old(long_factor=[1.0, 1.0, 1.0]))
    f.refused("longrope of no factors", "short_factor", old(short_factor=[], long_factor=[]))
    f.refused("longrope without factors", "long_factor", dict(rope_scaling=dict(type="longrope", short_factor=[1.0, 1.0])))
    f.refused("longrope factor 0", "short_factor", old(short_factor=[0.0, 1.0]))
    f.refused("longrope factor of text", "short_factor", old(short_factor=["1", 1.0]))
    f.refused("longrope factor 1e9", "1e+09", old(long_factor=[1e9, 1.0]))
    f.refused("longrope attention factor 0", "attention factor", old(attention_factor=0))
    f.refused("longrope and a key of yarn", "beta_fast", old(beta_fast=32.0))
    for rope in ("su", "yarn", "linear", "llama3", "dynamic"):
        f.refused(f"rope {rope}", rope, dict(rope_scaling=dict(type=rope, factor=2.0, **factors)))
    f.refused("rope of two parts", "rope_scaling", {**new(partial_rotary_factor=0.5), "rope_scaling": dict(rope_type="default", rope_theta=5.0)})
    f.refused("a part of no element", "partial_rotary_factor", dict(partial_rotary_factor=0.1))
    f.refused("an odd part", "even width", dict(partial_rotary_factor=0.75))
    for key, value in dict(hidden_act="relu", attention_bias=True, partial_rotary_factor=None, sliding_window=0, rope_interleaved=True,
                           layer_types=["full_attention"] * 2, num_local_experts=4).items():
        f.refused(f"{key} {value}", key, {key: value})
    f.same("what else Phi-4-mini has", dict(full_attn_mod=1, interpolate_factor=1, lm_head_bias=False, mlp_bias=False,
           auto_map={**theirs, "AutoTokenizer": "Xenova/gpt-4o"}))
    f.refused("code of its own under its name", "auto_map", dict(auto_map=dict(theirs, AutoModelForCausalLM="modeling_other.Phi3ForCausalLM")))
    return f


def smollm3():
    f = Family("smollm3", "smollm3", {**LLAMA, "num_hidden_layers": 4, "pad_token_id": 0})
    without = {"no_rope missing": {}, "no_rope null": dict(no_rope_layers=None), "interval 2": dict(no_rope_layer_interval=2),
               "interval 1": dict(no_rope_layer_interval=1), "interval 9": dict(no_rope_layer_interval=9), "all rotate": dict(no_rope_layers=[1] * 4),
               "layers 2": dict(no_rope_layers=[1, 0, 1, 0]), "layers win": dict(no_rope_layers=[1, 1, 0, 1], no_rope_layer_interval=2)}
    llama3 = dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                       original_max_position_embeddings=16))
    for name, changes in product(rope={key: value for key, value in ropes().items() if "both" not in key}, without=without):
        f.same(name, *changes)
    s, a = "sliding_attention", "full_attention"
    windows = {"use": dict(use_sliding_window=True, sliding_window=4), "use null": dict(use_sliding_window=True, sliding_window=None),
               "use not": dict(use_sliding_window=False, sliding_window=4)}
    types = {"types missing": {}, "types null": dict(layer_types=None), "full": dict(layer_types=[a] * 4), "window": dict(layer_types=[s] * 4),
             "every 2nd": dict(layer_types=[s, a] * 2), "no pattern": dict(layer_types=[a, s] * 2)}
    for case, changes in product(window=windows, types=types, without={key: without[key] for key in ("no_rope missing", "interval 1", "layers 2", "all rotate")}):
        missing = "missing" in case.split("types ")[-1][:7] or "types null" in case
        f.window_case(case, "use_sliding_window" if missing and "use null" not in case else "layer_types", *changes)
    for name, change in {"1 kv": dict(num_key_value_heads=1), "kv null": dict(num_key_value_heads=None), "head 6": dict(head_dim=6), "epsilon": dict(rms_norm_eps=0.01),
                         "untied": dict(tie_word_embeddings=False), "tied": dict(tie_word_embeddings=True)}.items():
        f.same(name, change)
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, head_dim=2))
    f.same("what SmolLM3-3B has", dict(attention_bias=False, attention_dropout=0.0, max_window_layers=28, mlp_bias=False, no_rope_layer_interval=4,
           no_rope_layers=[1, 1, 1, 0], layer_types=[a] * 4, pretraining_tp=2, rope_scaling=None, rope_theta=5000000.0, sliding_window=None, use_sliding_window=False))
    llama_refused(f, ("attention_bias", "mlp_bias"))
    refused_ropes(f, llama3=False)
    for name, layers in {"too few": [1, 1, 1], "too many": [1, 1, 1, 0, 1], "none": [], "2": [1, 1, 1, 2]}.items():
        f.refused(f"layers {name}", "no_rope_layers", dict(no_rope_layers=layers))
    for name, layers in {"no pattern": [1, 0, 0, 1], "first only": [0, 1, 1, 1], "none rotates but the last": [0, 0, 0, 1]}.items():
        f.same(f"layers {name}", dict(no_rope_layers=layers))
        f.same(f"layers {name}, with windows", dict(no_rope_layers=layers, use_sliding_window=True, sliding_window=4))
    f.same("interval 0 that is not used", dict(no_rope_layers=[1, 1, 0, 1], no_rope_layer_interval=0))
    f.refused("layers of text", "no_rope_layers", dict(no_rope_layers=["1", "1", "1", "0"]))
    f.refused("interval 0", "no_rope_layer_interval", dict(no_rope_layer_interval=0))
    f.refused("interval null", "no_rope_layer_interval", dict(no_rope_layer_interval=None))
    f.refused("too few types", "layer_types", dict(layer_types=[a] * 3))
    return f


def olmo2():
    f = Family("olmo2", "olmo2", {**LLAMA, "pad_token_id": 0})
    shapes = {"2 kv": {}, "1 kv": dict(num_key_value_heads=1), "kv null": dict(num_key_value_heads=None), "head 6": dict(head_dim=6)}
    for name, changes in product(rope=ropes(), shape=shapes):
        f.same(name, *changes)
    for name, change in {"kv missing": dict(num_key_value_heads=DELETED), "epsilon": dict(rms_norm_eps=0.01), "epsilon given": dict(rms_norm_eps=1e-5),
                         "tied": dict(tie_word_embeddings=True), "what OLMo 2's files have": dict(attention_bias=False, attention_dropout=0.0, hidden_act="silu",
                         rope_scaling=None, rope_theta=500000, rms_norm_eps=1e-06, tie_word_embeddings=False)}.items():
        f.same(name, change)
    llama_refused(f)
    refused_ropes(f)
    for key, value in dict(sliding_window=4, layer_types=["full_attention"] * 2, clip_qkv=8.0, mlp_bias=False, num_experts=4).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def falcon():
    f = Family("falcon", "falcon", dict(num_hidden_layers=2, num_attention_heads=4, hidden_size=16, max_position_embeddings=20))
    layouts = {"one key": {}, "a key for each": dict(multi_query=False), "one key, one norm": dict(num_ln_in_parallel_attn=1),
               "new 2 kv": dict(new_decoder_architecture=True, num_kv_heads=2), "new 1 kv": dict(new_decoder_architecture=True, num_kv_heads=1),
               "new kv null": dict(new_decoder_architecture=True, num_kv_heads=None),
               "new one norm": dict(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1),
               "new two norms": dict(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=2),
               "new, whatever the older says": dict(new_decoder_architecture=True, num_kv_heads=2, multi_query=False)}
    for name, changes in product(rope=ropes(), layout=layouts):
        f.same(name, *changes)
    for name, change in {"epsilon": dict(layer_norm_epsilon=0.01), "untied": dict(tie_word_embeddings=False), "inner 20": dict(ffn_hidden_size=20),
                         "inner null": dict(ffn_hidden_size=None), "kv heads that the older ignores": dict(num_kv_heads=71)}.items():
        f.same(name, change)
    theirs = dict(AutoConfig="configuration_falcon.FalconConfig", AutoModel="modeling_falcon.FalconModel", AutoModelForCausalLM="modeling_falcon.FalconForCausalLM",
                  AutoModelForSequenceClassification="modeling_falcon.FalconForSequenceClassification")
    f.same("what Falcon 7B's files have", dict(auto_map=theirs, alibi=False, apply_residual_connection_post_layernorm=False, attention_dropout=0.0, bias=False,
           hidden_dropout=0.0, layer_norm_epsilon=1e-05, multi_query=True, new_decoder_architecture=False, parallel_attn=True, architectures=["FalconForCausalLM"]))
    common(f, "num_hidden_layers")
    refused_ropes(f)
    for key, value in dict(alibi=True, bias=True, parallel_attn=False, activation="gelu_new", num_ln_in_parallel_attn=2, head_dim=4, n_embed=16,
                           apply_residual_connection_post_layernorm=True, sliding_window=4).items():
        f.refused(f"{key} {value}", key, {key: value})
    f.refused("old with a key for each, and one", "num_kv_heads", dict(multi_query=False, num_kv_heads=1))
    f.same("old with a key for each, and all", dict(multi_query=False, num_kv_heads=4))
    f.refused("new with three norms", "num_ln_in_parallel_attn", dict(new_decoder_architecture=True, num_ln_in_parallel_attn=3))
    f.refused("code of another model", "auto_map", dict(auto_map=dict(theirs, AutoModel="modeling_RW.RWModel")))
    return f


SLOWED = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
LLAMA3 = {"llama3": dict(rope_parameters=dict(rope_type="llama3", rope_theta=50.0, **SLOWED)),
          "llama3 old": dict(rope_theta=50.0, rope_scaling=dict(rope_type="llama3", **SLOWED))}
FEW = {name: ropes()[name] for name in ("rope missing", "theta 50", "linear new", "linear old")}
NOT_LINEAR = {name: rope for name, rope in ropes().items() if "linear" not in name and name not in ("both", "new without theta")}


def helium():
    f = Family("helium", "helium", {**LLAMA, "head_dim": 4, "pad_token_id": 0})
    f.same("default heads", dict(head_dim=DELETED, num_attention_heads=2, hidden_size=256, num_hidden_layers=1))
    return like_llama(f, {"4 heads of 10": dict(hidden_size=40, head_dim=10)}, dict(attention_bias=False, attention_dropout=0.0, mlp_bias=False, rms_norm_eps=1e-8, rope_theta=100000.0),
                      dict(head_dim=None, sliding_window=4, partial_rotary_factor=0.5), rope=FEW)


def internlm3():
    f = Family("internlm3", "internlm3", {**LLAMA, "head_dim": 6, "pad_token_id": 0})
    dynamic = {"dynamic": dict(rope_parameters=dict(rope_type="dynamic", rope_theta=50.0, factor=6.0)),
               "dynamic old": dict(rope_theta=50.0, rope_scaling=dict(type="dynamic", factor=6.0))}
    theirs = dict(AutoConfig="configuration_internlm3.InternLM3Config", AutoModelForCausalLM="modeling_internlm3.InternLM3ForCausalLM")
    return like_llama(f, {"head null": dict(head_dim=None), "kv null": dict(num_key_value_heads=None)},
                      dict(auto_map=theirs, architectures=["InternLM3ForCausalLM"], bias=False, qkv_bias=False, attention_dropout=0.0, rope_theta=50000000,
                           rope_scaling=dict(rope_type="dynamic", factor=6.0)),
                      dict(bias=True, qkv_bias=True, sliding_window=4, partial_rotary_factor=0.5), rope={**FEW, **dynamic}, dynamic=True)


def iquestcoder():
    f = Family("iquestcoder", "iquestcoder", {**LLAMA, "head_dim": 6})
    return like_llama(f, {"head null": dict(head_dim=None), "kv null": dict(num_key_value_heads=None)},
                      dict(attention_bias=False, attention_dropout=0.0, clip_qkv=None, mlp_bias=False, rope_theta=500000.0, use_sliding_window=False),
                      dict(clip_qkv=8.0, use_sliding_window=True, sliding_window=4, partial_rotary_factor=0.5), rope=FEW)


def exaone():
    f = Family("exaone", "exaone", {**LLAMA, "num_hidden_layers": DELETED, "num_layers": 2, "rms_norm_eps": DELETED, "layer_norm_epsilon": 1e-4, "pad_token_id": 0})
    f.same("newer names", dict(num_layers=DELETED, num_hidden_layers=1, layer_norm_epsilon=DELETED, rms_norm_eps=1e-3))
    f.same("both names", dict(num_hidden_layers=3, rms_norm_eps=1e-3, activation_function="silu", hidden_act="silu"))
    return like_llama(f, {"head 6": dict(head_dim=6), "kv null": dict(num_key_value_heads=None)},
                      dict(activation_function="silu", attention_dropout=0.0, embed_dropout=0.0, layer_norm_epsilon=1e-05, rope_theta=1000000),
                      dict(activation_function="gelu", sliding_window=4, partial_rotary_factor=0.5), epsilon=dict(layer_norm_epsilon=0.01), layers="num_layers", rope=FEW, llama3=True)


def patterns_of_5(f):
    s, a = "sliding_attention", "full_attention"
    types = {"types missing": {}, "types null": dict(layer_types=None), "sasas": dict(layer_types=[s, a, s, a, s]), "saass": dict(layer_types=[s, a, a, s, s]),
             "sssss": dict(layer_types=[s] * 5), "aaaaa": dict(layer_types=[a] * 5)}
    for case, changes in product(window={"window 4": {}, "window null": dict(sliding_window=None)}, types=types):
        f.window_case(case, "sliding", *changes)
    f.refused("too few types", "layer_types", dict(layer_types=[a] * 2))


def cwm():
    f = Family("cwm", "cwm", {**LLAMA, "num_hidden_layers": 5, "head_dim": 6, "sliding_window": 4})
    s, a = "sliding_attention", "full_attention"
    for name, change in {"types missing": {}, "types null": dict(layer_types=None), "sasas": dict(layer_types=[s, a, s, a, s]), "saass": dict(layer_types=[s, a, a, s, s]),
                         "sssss": dict(layer_types=[s] * 5), "aaaaa": dict(layer_types=[a] * 5)}.items():
        f.same(name, change)
    f.refused("window 0, all full", "sliding_window", dict(layer_types=[a] * 5, sliding_window=0))
    f.refused("window null", "sliding_window", dict(sliding_window=None))
    f.refused("window 0", "sliding_window", dict(sliding_window=0))
    f.refused("too few types", "layer_types", dict(layer_types=[a] * 2))
    f.base["num_hidden_layers"] = 2
    return like_llama(f, {}, dict(attention_dropout=0.0, mlp_bias=False, pretraining_tp=1, rope_theta=1000000.0, hidden_act="silu"),
                      dict(head_dim=None, partial_rotary_factor=0.5, pretraining_tp=2), llama3=True, linear=False,
                      rope={**NOT_LINEAR, **LLAMA3})


def olmo3():
    f = Family("olmo3", "olmo3", {**LLAMA, "num_hidden_layers": 5, "sliding_window": 4, "pad_token_id": 0})
    patterns_of_5(f)
    yarn = dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=500)
    both = lambda full, window=None: dict(rope_parameters=dict(full_attention=full, sliding_attention=window or dict(rope_type="default", rope_theta=70.0)))
    here = {"missing": {}, "theta 50": dict(rope_theta=50.0), "null": dict(rope_parameters=None), "empty": dict(rope_parameters={}),
            "yarn old": dict(rope_theta=50.0, rope_scaling=yarn), "yarn new": both(dict(yarn, rope_theta=5000.0)),
            "what OLMo 3 has": dict(rope_theta=500000, rope_scaling=dict(yarn, attention_factor=1.2079441541679836, beta_fast=32.0, beta_slow=1.0)),
            "betas": both(dict(yarn, beta_fast=8, beta_slow=2.5, rope_theta=300.0)), "mscales": both(dict(yarn, mscale=0.7, mscale_all_dim=1.3)),
            "one mscale": both(dict(yarn, mscale=0.7)), "yarn by 1": both(dict(yarn, factor=1.0)), "no context": both(dict(rope_type="yarn", factor=4.0)),
            "linear old": dict(rope_theta=50.0, rope_scaling=dict(rope_type="linear", factor=4.0)), "linear new": both(dict(rope_type="linear", factor=2.5, rope_theta=50.0)),
            "full alone": dict(rope_theta=30.0, rope_parameters=dict(full_attention=dict(rope_type="default"))),
            "window alone": dict(rope_theta=30.0, rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=9.0))), "default": both(dict(rope_type="default", rope_theta=40.0))}
    f.base["num_hidden_layers"] = 4
    for name, changes in product(rope=here, shape={"2 kv": {}, "heads of 12": dict(head_dim=12)}):
        f.same(name, *changes)
    for name, change in {"tied": dict(tie_word_embeddings=True), "epsilon": dict(rms_norm_eps=0.01), "kv missing": dict(num_key_value_heads=DELETED)}.items():
        f.same(name, change)
    f.same("default window", dict(sliding_window=DELETED, max_position_embeddings=LONG, num_hidden_layers=1, rope_scaling=yarn), count=LONG)
    f.same("yarn, long", dict(max_position_embeddings=LONG, num_hidden_layers=1, layer_types=["full_attention"], rope_scaling=yarn), count=LONG)
    llama_refused(f)
    for name, key, change in [("window linear", "sliding", both(dict(yarn), dict(rope_type="linear", factor=2.0))), ("window yarn", "yarn", both(dict(yarn), dict(yarn))),
                              ("flat", "rope_parameters", dict(rope_parameters=yarn)), ("old type", "rope_type", dict(rope_scaling=dict(type="yarn", factor=2.0))),
                              ("llama3", "llama3", LLAMA3["llama3 old"]), ("not rounded", "truncate", both(dict(yarn, truncate=False))), ("factor below 1", "factor", both(dict(yarn, factor=0.5))),
                              ("betas the other way", "beta_slow", both(dict(yarn, beta_slow=40))), ("base 1", "base", both(dict(yarn, rope_theta=1.0))),
                              ("a key of no class", "frobnicate", both(dict(yarn, frobnicate=1))), ("two ropes", "rope_scaling", dict(rope_scaling=yarn, **both(dict(yarn)))),
                              ("window 0", "sliding_window", dict(sliding_window=0)), ("sliding_window_pattern", "sliding_window_pattern", dict(sliding_window_pattern=4))]:
        f.refused(name, key, change)
    return f


def ministral():
    f = Family("ministral", "ministral", {**LLAMA, "num_hidden_layers": 5, "sliding_window": 4, "head_dim": 6})
    patterns_of_5(f)
    f.same("kv missing", dict(num_key_value_heads=DELETED, num_attention_heads=8, num_hidden_layers=1))
    f.same("default window", dict(sliding_window=DELETED, max_position_embeddings=LONG, num_hidden_layers=1), count=LONG)
    f.refused("head missing", "head_dim", dict(head_dim=DELETED))
    f.base["num_hidden_layers"] = 2
    return like_llama(f, {"head 4": dict(head_dim=4)}, dict(attention_dropout=0.0, rope_theta=100000000.0, sliding_window=32768, layer_types=["sliding_attention", "full_attention"]),
                      dict(head_dim=None, sliding_window=0, partial_rotary_factor=0.5), rope=FEW)


def ministral3():
    yarn = dict(rope_type="yarn", rope_theta=5000.0, factor=16.0, original_max_position_embeddings=18, llama_4_scaling_beta=0.1)
    f = Family("ministral3", "ministral3", {**LLAMA, "head_dim": 12, "rope_parameters": yarn, "pad_token_id": 0})
    new = lambda **keys: dict(rope_parameters=dict(yarn, **keys))
    here = {"given": {}, "null": dict(rope_parameters=None), "missing": dict(rope_parameters=DELETED), "theta besides": dict(rope_parameters=None, rope_theta=50.0),
            "what Ministral 3 has": new(beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, type="yarn", max_position_embeddings=20), "length": new(attention_factor=1.3),
            "old": dict(rope_parameters=DELETED, rope_scaling=yarn), "no scaling": new(llama_4_scaling_beta=0)}
    for name, changes in product(rope=here, window={"": {}, "window 4": dict(sliding_window=4)}, shape={"2 kv": {}, "1 kv": dict(num_key_value_heads=1)}):
        f.same(name, *changes)
    for name, change in {"tied": dict(tie_word_embeddings=True), "epsilon": dict(rms_norm_eps=0.01), "head missing": dict(head_dim=DELETED, num_hidden_layers=1),
                         "kv missing": dict(num_key_value_heads=DELETED, num_attention_heads=8, num_hidden_layers=1)}.items():
        f.same(name, change)
    llama_refused(f, ("attention_bias", "mlp_bias"))
    for name, key, change in [("empty", "llama_4_scaling_beta", dict(rope_parameters={})), ("no beta", "llama_4_scaling_beta", dict(rope_parameters={k: v for k, v in yarn.items() if k != "llama_4_scaling_beta"})),
                              ("default", "default", new(rope_type="default")), ("not rounded", "truncate", new(truncate=False)), ("layer types", "layer_types", dict(layer_types=["full_attention"] * 2)),
                              ("head null", "head_dim", dict(head_dim=None)), ("window 0", "sliding_window", dict(sliding_window=0))]:
        f.refused(name, key, change)
    return f


def granite_swa():
    f = Family("granite_swa", "granite_swa", {**LLAMA, "num_hidden_layers": 5, "sliding_window": 4, "attention_multiplier": 0.3})
    patterns_of_5(f)
    multipliers = dict(embedding_multiplier=12, residual_multiplier=0.22, logits_scaling=8.0, attention_multiplier=0.015625)
    bases = {"null": dict(layer_rope_theta=None), "one": dict(layer_rope_theta=[50.0] * 5), "some": dict(layer_rope_theta=[0, 50, 50.0, 50.0, 0]), "none": dict(layer_rope_theta=[0] * 5)}
    for name, changes in product(base=bases, factors={"": {}, "factors": multipliers}):
        f.same(name, *changes)
    for key in multipliers:
        f.same(f"{key} missing", {key: DELETED})
        f.refused(f"{key} 0", key, {key: 0})
    f.same("default window", dict(sliding_window=DELETED, max_position_embeddings=300, num_hidden_layers=2), count=300)
    f.same("kv missing", dict(num_key_value_heads=DELETED))
    f.refused("two bases", "layer_rope_theta", dict(layer_rope_theta=[50.0, 60.0, 0, 0, 0]))
    f.refused("too few bases", "layer_rope_theta", dict(layer_rope_theta=[50.0]))
    f.base["num_hidden_layers"] = 2
    return like_llama(f, {"head 6": dict(head_dim=6), "kv null": dict(num_key_value_heads=None)}, dict(attention_dropout=0.1, layer_types=["full_attention", "sliding_attention"], rope_theta=10000000.0, **multipliers),
                      dict(sliding_window=0, partial_rotary_factor=0.5, shared_intermediate_size=8), rope=FEW)


def gpt_neo():
    f = Family("gpt_neo", "gpt_neo", dict(num_layers=2, num_heads=4, hidden_size=16, max_position_embeddings=20, window_size=4, attention_types=[[["global", "local"], 1]]))
    types = {"global, local": {}, "global": dict(attention_types=[[["global"], 2]]), "local": dict(attention_types=[[["local"], 2]]),
             "two lists": dict(attention_types=[[["local"], 1], [["global"], 1]]), "again": dict(attention_layers=["global", "local"])}
    for name, changes in product(types=types, inner={"": {}, "inner null": dict(intermediate_size=None), "inner 20": dict(intermediate_size=20)}, heads={"": {}, "2 heads": dict(num_heads=2)}):
        f.same(name, *changes)
    f.same("types missing", dict(attention_types=DELETED, num_layers=24))
    f.same("default window", dict(window_size=DELETED, max_position_embeddings=300, attention_types=[[["local"], 2]]), count=300)
    f.same("epsilon", dict(layer_norm_epsilon=0.01))
    f.same("what GPT-Neo's files have", dict(activation_function="gelu_new", attention_dropout=0, embed_dropout=0, resid_dropout=0, summary_type="cls_index", summary_use_proj=True,
           summary_activation=None, summary_proj_to_labels=True, summary_first_dropout=0.1))
    common(f, "num_layers")
    for key, value in dict(activation_function="relu", tie_word_embeddings=False, head_dim=8, sliding_window=4, num_hidden_layers=2, attention_layers=["local", "local"]).items():
        f.refused(f"{key} {value}", key, {key: value})
    for name, value in {"too few": [[["global"], 1]], "too many": [[["global"], 3]], "of another type": [[["sparse"], 2]], "no list": "global", "not counted": [[["global", "local"]]], "null": None}.items():
        f.refused(f"types {name}", "attention_types", dict(attention_types=value))
    f.refused("window 0", "window_size", dict(window_size=0))
    return f


def gpt_bigcode():
    f = Family("gpt_bigcode", "gpt_bigcode", dict(n_layer=2, n_head=4, n_embd=16, n_positions=20))
    for name, changes in product(query={"one key": {}, "a key for each": dict(multi_query=False)}, inner={"inner 4C": {}, "inner null": dict(n_inner=None), "inner 20": dict(n_inner=20)},
                                 heads={"4 heads": {}, "2 heads": dict(n_head=2)}, act={"": {}, "gelu_new": dict(activation_function="gelu_new")}):
        f.same(name, *changes)
    f.same("epsilon", dict(layer_norm_epsilon=0.01))
    f.same("what StarCoder's files have", dict(attention_softmax_in_fp32=True, scale_attention_softmax_in_fp32=True, scale_attn_weights=True, attn_pdrop=0.1, embd_pdrop=0.1, resid_pdrop=0.1,
           inference_runner=0, max_batch_size=None, max_sequence_length=None, pad_key_length=True, pre_allocate_kv_cache=False, validate_runner_input=True, multi_query=True,
           num_key_value_heads=1, summary_type="cls_index", summary_use_proj=True, summary_activation=None, summary_proj_to_labels=True, summary_first_dropout=0.1))
    common(f, "n_layer")
    for key, value in dict(activation_function="relu", scale_attn_weights=False, tie_word_embeddings=False, num_key_value_heads=4, head_dim=8, sliding_window=4).items():
        f.refused(f"{key} {value}", key, {key: value})
    return f


def main():
    made = {"gpt2": gpt2, "opt": opt, "gpt_neox": gpt_neox, "llama": llama, "llama3": llama3, "mistral": mistral,
            "qwen2": lambda: qwen("qwen2"), "qwen3": lambda: qwen("qwen3"), "qwen3_5": qwen3_5, "gemma3": gemma3, "gpt_oss": gpt_oss, "mixtral": mixtral, "qwen3_moe": qwen3_moe, "qwen2_moe": qwen2_moe, "gemma": gemma, "starcoder2": starcoder2, "exaone4": exaone4, "olmo": olmo, "stablelm": stablelm, "nemotron": nemotron, "cohere": cohere, "cohere2": cohere2, "seed_oss": seed_oss, "glm": glm, "glm4": lambda: glm("glm4"), "ernie4_5": ernie4_5, "olmoe": olmoe, "granitemoe": granitemoe, "gemma2": gemma2, "granite": granite, "helium": helium, "internlm3": internlm3, "iquestcoder": iquestcoder, "exaone": exaone, "cwm": cwm, "olmo3": olmo3, "ministral": ministral, "ministral3": ministral3, "granite_swa": granite_swa, "gpt_neo": gpt_neo, "gpt_bigcode": gpt_bigcode, "phi3": phi3, "smollm3": smollm3, "olmo2": olmo2, "falcon": falcon}
    for name in sys.argv[1:] or made:
        made[name]().write()


if __name__ == "__main__":
    main()
