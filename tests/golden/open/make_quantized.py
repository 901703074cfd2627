#!/usr/bin/env python3
"""Writes tiny models with quantized weights, as folders on the web have them, and their logits in float64.

  make_quantized.py  writes quantized/<name>/{config.json, model.safetensors} and quantized/logits.safetensors

The logits of mxfp4, fp8, compressed_fp8 and compressed_4 are of the models that transformers itself (with PyPI's compressed-tensors) makes of
the folder, of gptq, gptq_v2 and awq, whose loaders need a GPU, of weights by the formula scale * (code - zero). Codes, zeros and scales are random.

Needs: torch, transformers, safetensors, compressed-tensors.
"""
import json
import pathlib
import shutil
import sys

import torch
import transformers as tf
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expected as files  # noqa: E402
from make_config_grid import all_float64  # noqa: E402

OUT = pathlib.Path(__file__).parent / "quantized"
LLAMA = dict(num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, hidden_size=64, intermediate_size=96, vocab_size=40,
             max_position_embeddings=32, initializer_range=0.3)
T = 20


def packed(codes, dim):
    """Eight codes of four bits along `dim` in a word of 32 bits, the first lowest."""
    codes = codes.movedim(dim, -1).unflatten(-1, (-1, 8)).long()
    words = (codes << (4 * torch.arange(8))).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int().movedim(-1, dim).contiguous()


def ints(N, K, group):
    """Codes (N, K), zeros and scales (N, K / group) of four bits, and their weights (N, K)."""
    codes, zeros = torch.randint(0, 16, (N, K)), torch.randint(1, 16, (N, K // group))
    scales = (0.01 + 0.06 * torch.rand(N, K // group)).half()
    of = lambda x: x.repeat_interleave(group, 1)
    return codes, zeros, scales, of(scales.double()) * (codes - of(zeros))


def gptq(version):
    def write(state, name, N, K):
        codes, zeros, scales, weight = ints(N, K, 32)
        state[name + ".qweight"] = packed(codes.T, 0)
        state[name + ".qzeros"] = packed(zeros.T - int(version == 1), 1)
        state[name + ".scales"] = scales.T.contiguous()
        state[name + ".g_idx"] = (torch.arange(K) // 32).int()
        return weight
    return write


def awq(state, name, N, K):
    codes, zeros, scales, weight = ints(N, K, 32)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # of columns in a word
    in_order = lambda x: x.unflatten(-1, (-1, 8))[..., order].flatten(-2)
    state[name + ".qweight"] = packed(in_order(codes.T), 1)
    state[name + ".qzeros"] = packed(in_order(zeros.T), 1)
    state[name + ".scales"] = scales.T.contiguous()
    return weight


def short_scales(*shape):
    """Of four bits, so that weights, which compressed-tensors rounds to the type of scales, are exact."""
    return ((8 + torch.randint(0, 8, shape)) / 256).bfloat16()


def compressed_4(state, name, N, K):
    state[name + ".weight_packed"] = packed(torch.randint(0, 16, (N, K)), 1)
    state[name + ".weight_scale"] = short_scales(N, K // 32)
    state[name + ".weight_shape"] = torch.tensor([N, K])


def fp8_codes(N, K):
    return (torch.randn(N, K) * 40).to(torch.float8_e4m3fn)


def fp8(state, name, N, K):
    state[name + ".weight"] = fp8_codes(N, K)
    state[name + ".weight_scale_inv"] = 0.004 + 0.008 * torch.rand(N // 32, K // 32)


def compressed_fp8(state, name, N, K):
    state[name + ".weight"] = fp8_codes(N, K)
    state[name + ".weight_scale"] = short_scales(N, 1) / 4


def of_compressed(format, weights):
    return dict(quant_method="compressed-tensors", format=format, quantization_status="compressed", ignore=["lm_head"], kv_cache_scheme=None,
                config_groups=dict(group_0=dict(targets=["Linear"], weights=dict(dict(symmetric=True, dynamic=False), **weights),
                                                input_activations=None, output_activations=None)))


KINDS = {
    "gptq": (gptq(1), dict(quant_method="gptq", bits=4, group_size=32, desc_act=False, sym=False, damp_percent=0.01)),
    "gptq_v2": (gptq(2), dict(quant_method="gptq", bits=4, group_size=32, desc_act=False, sym=False, checkpoint_format="gptq_v2")),
    "awq": (awq, dict(quant_method="awq", bits=4, group_size=32, version="gemm", zero_point=True, modules_to_not_convert=None)),
    "fp8": (fp8, dict(quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", weight_block_size=[32, 32])),
    "compressed_4": (compressed_4, of_compressed("pack-quantized", dict(num_bits=4, type="int", strategy="group", group_size=32))),
    "compressed_fp8": (compressed_fp8, of_compressed("float-quantized", dict(num_bits=8, type="float", strategy="channel"))),
}


def loaded(name, folder, method):
    """The model that transformers makes of the folder, with plain weights."""
    kind = dict(fp8=tf.FineGrainedFP8Config(dequantize=True, weight_block_size=(32, 32)), mxfp4=tf.Mxfp4Config(dequantize=True)).get(method) or \
        tf.CompressedTensorsConfig(run_compressed=False)
    return tf.AutoModelForCausalLM.from_pretrained(folder, quantization_config=kind, dtype=torch.float32, attn_implementation="eager",
                                                   **(dict(experts_implementation="eager") if method == "mxfp4" else {}))


def write(name, config, state, quantization):
    folder = OUT / name
    folder.mkdir(parents=True)
    text = config.to_diff_dict()
    (folder / "config.json").write_text(json.dumps({**text, "quantization_config": quantization}, indent=2) + "\n")
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def save_logits(name, model):
    tokens = torch.randint(0, 40, (2, T))
    with torch.no_grad(), all_float64():
        logits = model.double().eval()(tokens).logits
    files.replace(OUT / "logits.safetensors", name, {"tokens": tokens.int().numpy(), "logits": logits.numpy()})
    print(name, float(logits.abs().max()))


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    for seed, (name, (quantized, quantization)) in enumerate(KINDS.items()):
        torch.manual_seed(seed)
        config = tf.LlamaConfig(**LLAMA, architectures=["LlamaForCausalLM"])
        model = tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
        for parameter in model.parameters():
            parameter.data = parameter.data.bfloat16().float()
        state, plain = {}, model.state_dict()
        for key, value in model.state_dict().items():
            if "_proj" not in key:
                state[key] = value.bfloat16()
                continue
            weight = quantized(state, key.removesuffix(".weight"), *value.shape)
            plain[key] = weight
        folder = write(name, config, state, quantization)
        if any(value is None for value in plain.values()):
            model = loaded(name, folder, quantization["quant_method"])
        else:
            model = model.double()
            model.load_state_dict(plain)
        save_logits(name, model)
    # gpt-oss: experts in MXFP4.
    torch.manual_seed(len(KINDS))
    config = tf.GptOssConfig(**{**LLAMA, "num_key_value_heads": 2}, head_dim=16, num_local_experts=3, num_experts_per_tok=2, sliding_window=5,
                             layer_types=["sliding_attention"], architectures=["GptOssForCausalLM"],
                             rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
                                                  original_max_position_embeddings=300))
    model = tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager")
    state = {}
    for key, value in model.state_dict().items():
        if key.endswith(("gate_up_proj", "down_proj")):
            E, K, N = value.shape
            state[key + "_blocks"] = torch.randint(0, 256, (E, N, K // 32, 16)).byte()
            state[key + "_scales"] = torch.randint(121, 125, (E, N, K // 32)).byte()
        else:
            state[key] = (value + 0.2 * torch.randn_like(value) * (value.ndim == 1)).bfloat16()
    folder = write("mxfp4", config, state, dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                                              "model.embed_tokens", "lm_head"]))
    save_logits("mxfp4", loaded("mxfp4", folder, "mxfp4"))


if __name__ == "__main__":
    main()
