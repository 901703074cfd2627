#!/usr/bin/env python3
"""Writes tiny models of the families of open models, as Hugging Face's transformers saves them, and their logits.

  make_golden.py [NAME ...]  writes (all, or these) models/<name>/{config.json, model.safetensors}, models/<name>.gguf and .bin, and logits.safetensors

Weights are random (of one seed), gains and biases not the trivial ones; logits are transformers' own, in float64, eager
attention. The GGUF files hold the same weights by the names that the gguf package has for transformers' (queries and
keys of LLaMA, Granite and SmolLM3 permuted, the slowed turns of LLaMA 3 as divisors, Gemma's gains with their 1 and gates and ups of gpt-oss apart, as llama.cpp's converter does). logits.safetensors: <name>/tokens I32 (2, T), <name>/logits F64 (2, T, V).

Needs: torch, transformers, safetensors, gguf.
"""
import contextlib
import json
import pathlib
import shutil
import struct
import sys

import gguf
import torch
import transformers as tf
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expected as files  # noqa: E402
from make_config_grid import all_float64  # noqa: E402

OUT = pathlib.Path(__file__).parent / "models"
LOGITS = OUT.parent / "logits.safetensors"
T = 20
small = dict(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=32, intermediate_size=40,
             max_position_embeddings=32, vocab_size=40, initializer_range=0.3)
gpt_oss = dict({**small, "num_hidden_layers": 3, "max_position_embeddings": 64}, head_dim=12,
               num_local_experts=5,  # no divisor of the width, as gpt-oss-120b's 128 is none
               num_experts_per_tok=2, sliding_window=5, rms_norm_eps=1e-5,
               layer_types=["sliding_attention", "full_attention", "sliding_attention"],
               rope_parameters=dict(rope_type="yarn", rope_theta=500.0, factor=8.0, beta_fast=32.0, beta_slow=1.0,
                                    truncate=False, original_max_position_embeddings=300))
gemma3 = dict({**small, "num_hidden_layers": 3}, head_dim=12, sliding_window=5,
              layer_types=["sliding_attention", "sliding_attention", "full_attention"],
              rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1000.0),
                                   sliding_attention=dict(rope_type="default", rope_theta=10.0)))
gemma2 = dict({**small, "num_hidden_layers": 3, "initializer_range": 0.6}, head_dim=12, sliding_window=5)
longrope = dict(rope_type="longrope", rope_theta=300.0, partial_rotary_factor=0.75, short_factor=[1.0, 1.25, 1.5], long_factor=[1.5, 2.5, 9.0])
yarn = dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32)
falcon = dict(num_hidden_layers=2, num_attention_heads=4, hidden_size=32, vocab_size=40, max_position_embeddings=32, initializer_range=0.3,
              bos_token_id=0, eos_token_id=0)
CONFIGS = {
    "gpt2": tf.GPT2Config(n_layer=2, n_head=3, n_embd=24, n_positions=32, vocab_size=40, initializer_range=0.3),
    "gpt_neox": tf.GPTNeoXConfig(num_hidden_layers=2, num_attention_heads=3, hidden_size=48, intermediate_size=40,
                                 max_position_embeddings=32, vocab_size=40, initializer_range=0.3),
    "opt": tf.OPTConfig(num_hidden_layers=2, num_attention_heads=3, hidden_size=24, ffn_dim=40, vocab_size=40,
                        max_position_embeddings=32, word_embed_proj_dim=24, init_std=0.3, pad_token_id=1),
    "llama": tf.LlamaConfig(**small),
    "llama3": tf.LlamaConfig(**{**small, "max_position_embeddings": 64}, tie_word_embeddings=True,
                             rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0,
                                                  high_freq_factor=4.0, original_max_position_embeddings=16)),
    "linear": tf.LlamaConfig(**small, rope_parameters=dict(rope_type="linear", rope_theta=300.0, factor=4.0)),
    "llama2c": tf.LlamaConfig(**small, rms_norm_eps=1e-5),
    "mistral": tf.MistralConfig(**small, sliding_window=5, head_dim=10),
    "qwen2": tf.Qwen2Config(**small),
    "qwen3": tf.Qwen3Config(**small, head_dim=12),
    "gemma3": tf.Gemma3TextConfig(**gemma3, query_pre_attn_scalar=24),
    "gemma3_gguf": tf.Gemma3TextConfig(**gemma3, query_pre_attn_scalar=12),  # GGUF has no other than head_dim
    "gpt_oss": tf.GptOssConfig(**gpt_oss),
    # Rows of whole blocks of MXFP4, the type of the experts' weights in the file; the folder has the values in F32.
    "gpt_oss_gguf": tf.GptOssConfig(**{**gpt_oss, "num_hidden_layers": 2, "intermediate_size": 64,
                                       "num_experts_per_tok": 3, "layer_types": gpt_oss["layer_types"][:2]}),
    "granite": tf.GraniteConfig(**small, attention_multiplier=0.25, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=5.0),
    "phi3": tf.Phi3Config(**small, sliding_window=5, pad_token_id=0,
                          rope_parameters=dict(rope_type="default", rope_theta=300.0, partial_rotary_factor=0.75)),
    "longrope": tf.Phi3Config(**small, pad_token_id=0, original_max_position_embeddings=16, rope_parameters=longrope),
    "longrope_short": tf.Phi3Config(**small, pad_token_id=0, original_max_position_embeddings=24, rope_parameters=longrope),
    "smollm3": tf.SmolLM3Config(**{**small, "num_hidden_layers": 4}, tie_word_embeddings=True, pad_token_id=0),
    "olmo2": tf.Olmo2Config(**small, pad_token_id=0),
    "falcon": tf.FalconConfig(**falcon, new_decoder_architecture=True, num_kv_heads=2),
    "falcon_1_norm": tf.FalconConfig(**falcon, multi_query=True),
    "mixtral": tf.MixtralConfig(**small, num_local_experts=4, num_experts_per_tok=2),
    "gemma2": tf.Gemma2Config(**gemma2, query_pre_attn_scalar=1),  # scores far above the cap
    "gemma2_gguf": tf.Gemma2Config(**gemma2, query_pre_attn_scalar=12),  # GGUF has no other than head_dim
    # In GGUF a tensor for each expert, as in files made before April 2024.
    "mixtral_older": tf.MixtralConfig(**small, num_local_experts=3, num_experts_per_tok=2, sliding_window=5, head_dim=10),
    "qwen3_moe": tf.Qwen3MoeConfig(**small, head_dim=12, moe_intermediate_size=24, num_experts=5, num_experts_per_tok=2, norm_topk_prob=True),
    "granitemoe": tf.GraniteMoeConfig(**small, num_local_experts=5, num_experts_per_tok=3, attention_multiplier=0.25, embedding_multiplier=3.0,
                                      residual_multiplier=0.4, logits_scaling=5.0),
    "olmoe": tf.OlmoeConfig(**small, num_experts=5, num_experts_per_tok=3, pad_token_id=0, eos_token_id=None),
    "qwen2_moe": tf.Qwen2MoeConfig(**small, moe_intermediate_size=24, shared_expert_intermediate_size=28, num_experts=5, num_experts_per_tok=2),
    "seed_oss": tf.SeedOssConfig(**small, head_dim=12),
    "glm": tf.GlmConfig(**small, head_dim=8, pad_token_id=0),
    "gemma": tf.GemmaConfig(**small, head_dim=12),
    "starcoder2": tf.Starcoder2Config(**small, norm_epsilon=1e-4, bos_token_id=0, eos_token_id=0),
    "glm4": tf.Glm4Config(**small, head_dim=8, pad_token_id=0),
    "exaone4": tf.Exaone4Config(**{**small, "num_hidden_layers": 3, "max_position_embeddings": 64}, sliding_window=5, sliding_window_pattern=2,
                                rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                     original_max_position_embeddings=16)),
    "cohere": tf.CohereConfig(**small, pad_token_id=0),
    "cohere2": tf.Cohere2Config(**{**small, "num_hidden_layers": 3}, pad_token_id=0, sliding_window=5, sliding_window_pattern=2),
    "ernie4_5": tf.Ernie4_5Config(**small, head_dim=12, pad_token_id=0),
    "olmo": tf.OlmoConfig(**small, pad_token_id=0, eos_token_id=None),
    "stablelm": tf.StableLmConfig(**small, use_qkv_bias=True, layer_norm_eps=1e-4),
    "nemotron": tf.NemotronConfig(**small, head_dim=12, norm_eps=1e-4),
    "qwen3_5": tf.Qwen3_5TextConfig(**{**small, "num_hidden_layers": 4, "initializer_range": 0.2}, rms_norm_eps=0.01, head_dim=16, linear_num_value_heads=4, linear_num_key_heads=2,
                                    linear_key_head_dim=6, linear_value_head_dim=10),
    "olmo3": tf.Olmo3Config(**{**small, "num_hidden_layers": 4}, pad_token_id=0, eos_token_id=None, sliding_window=5, rope_parameters=dict(
        full_attention=dict(rope_type="linear", rope_theta=300.0, factor=4.0), sliding_attention=dict(rope_type="default", rope_theta=50.0))),
    "olmo3_yarn": tf.Olmo3Config(**{**small, "num_hidden_layers": 4}, pad_token_id=0, eos_token_id=None, sliding_window=5, rope_parameters=dict(
        full_attention=dict(yarn, rope_theta=5000.0), sliding_attention=dict(rope_type="default", rope_theta=5000.0))),
    "ministral": tf.MinistralConfig(**small, sliding_window=5, layer_types=["full_attention", "sliding_attention"], head_dim=10),
    "ministral3_yarn": tf.Ministral3Config(**small, head_dim=12, pad_token_id=0, rope_parameters=dict(yarn, rope_theta=5000.0, llama_4_scaling_beta=0.1)),
    "cwm": tf.CwmConfig(**{**small, "num_hidden_layers": 3}, head_dim=10, bos_token_id=1, eos_token_id=2, sliding_window=5, rope_parameters=dict(
        rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    "helium": tf.HeliumConfig(**small, head_dim=8),
    "exaone": tf.ExaoneConfig(**small, eos_token_id=2, rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                                            original_max_position_embeddings=16)),
    "granite_swa": tf.GraniteSWAConfig(**{**small, "num_hidden_layers": 3}, bos_token_id=1, eos_token_id=2, sliding_window=5, layer_rope_theta=[0, 300.0, 300.0],
                                       attention_multiplier=0.25, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=5.0),
    "gpt_neo": tf.GPTNeoConfig(num_layers=2, num_heads=3, hidden_size=24, max_position_embeddings=32, vocab_size=40, initializer_range=0.3, window_size=5,
                               attention_types=[[["global", "local"], 1]], bos_token_id=1, eos_token_id=2),
    "gpt_bigcode": tf.GPTBigCodeConfig(n_layer=2, n_head=3, n_embd=24, n_positions=32, vocab_size=40, initializer_range=0.3, bos_token_id=1, eos_token_id=2),
}
GGUF = {"gpt2": "gpt2", "gpt_bigcode": "starcoder", "exaone": "exaone", "olmo3_yarn": "olmo2", "gpt_neox": "gptneox", "llama": "llama", "llama3": "llama", "mistral": "llama", "qwen2": "qwen2",
        "qwen3": "qwen3", "gemma3_gguf": "gemma3", "gpt_oss_gguf": "gpt-oss", "granite": "granite", "phi3": "phi3", "longrope": "phi3", "longrope_short": "phi3", "smollm3": "smollm3", "olmo2": "olmo2", "falcon": "falcon", "falcon_1_norm": "falcon",
        "gemma2_gguf": "gemma2", "mixtral": "llama", "mixtral_older": "llama",
        "olmo": "olmo", "stablelm": "stablelm", "nemotron": "nemotron", "cohere": "command-r", "cohere2": "cohere2",
        "gemma": "gemma", "starcoder2": "starcoder2", "glm4": "glm4", "exaone4": "exaone4", "seed_oss": "seed_oss", "glm": "chatglm", "ernie4_5": "ernie4_5", "qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe", "qwen3_5": "qwen35", "olmoe": "olmoe", "granitemoe": "granitemoe"}
PERMUTED = ("llama", "granite", "granitemoe", "smollm3", "olmo")
MXFP4 = gguf.GGMLQuantizationType.MXFP4


def permuted(weight, heads):  # llama.cpp's converter: rows e and e + D/2 of a head become 2 e and 2 e + 1
    rows = weight.shape[0]
    return weight.reshape(heads, 2, rows // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(name, config, model, state):
    arch = GGUF[name]
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", arch)
    get = lambda *keys: next(getattr(config, key) for key in keys if getattr(config, key, None) is not None)
    heads = get("num_attention_heads", "n_head")
    layers = get("num_hidden_layers", "n_layer")
    width = get("hidden_size", "n_embd")
    writer.add_block_count(layers)
    writer.add_context_length(get("max_position_embeddings", "n_positions"))
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(getattr(config, "intermediate_size", None) or 4 * width)
    writer.add_head_count(heads)
    if arch == "falcon":
        writer.add_tensor_data_layout("jploski")
        writer.add_head_count_kv(kv_heads := config.num_kv_heads if config.new_decoder_architecture else 1)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    elif arch in ("gpt2", "gptneox", "starcoder"):
        if arch == "starcoder":
            writer.add_head_count_kv(1)
        writer.add_layer_norm_eps(get("layer_norm_epsilon", "layer_norm_eps"))
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        if arch in ("starcoder2", "command-r", "cohere2", "stablelm", "nemotron"):
            writer.add_layer_norm_eps(get("norm_epsilon", "layer_norm_eps", "norm_eps"))
        elif arch == "olmo":
            writer.add_layer_norm_eps(1e-5)
        else:
            writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        rope = config.rope_parameters
        writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
        if arch == "gemma3":
            writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
            writer.add_sliding_window_pattern(config.layer_types.index("full_attention") + 1)
        if arch in ("command-r", "cohere2"):
            writer.add_logit_scale(config.logit_scale)
        if arch in ("exaone4", "cohere2") or name == "olmo3_yarn":
            writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
        if getattr(config, "head_dim", None):
            writer.add_key_length(config.head_dim)
            writer.add_value_length(config.head_dim)
        if name == "olmo3_yarn":
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(rope["full_attention"]["factor"])
            writer.add_rope_scaling_orig_ctx_len(rope["full_attention"]["original_max_position_embeddings"])
        if getattr(config, "sliding_window", None):
            writer.add_sliding_window(config.sliding_window)
        if arch in ("chatglm", "glm4", "stablelm", "nemotron"):
            writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * (getattr(config, "head_dim", None) or width // heads)))
        if arch == "phi3":
            writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * width) // heads)
            writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)
            if rope["rope_type"] == "longrope":
                writer.add_rope_scaling_attn_factors(model.model.rotary_emb.attention_scaling)
                for length in ("short", "long"):
                    writer.add_tensor(f"rope_factors_{length}.weight", torch.tensor(rope[f"{length}_factor"]).numpy())
        if arch in ("granite", "granitemoe"):
            writer.add_attention_scale(config.attention_multiplier)
            writer.add_embedding_scale(config.embedding_multiplier)
            writer.add_residual_scale(config.residual_multiplier)
            writer.add_logit_scale(config.logits_scaling)
            writer.add_rope_scaling_finetuned(True)
        if arch == "gemma2":
            writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
            writer.add_final_logit_softcapping(config.final_logit_softcapping)
        if name.startswith("mixtral") or name.endswith("moe"):
            writer.add_expert_count(getattr(config, "num_local_experts", None) or config.num_experts)
            writer.add_expert_used_count(config.num_experts_per_tok)
        if name in ("qwen2_moe", "qwen3_moe"):
            writer.add_expert_feed_forward_length(config.moe_intermediate_size)
        if name == "qwen2_moe":
            writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
        if arch == "qwen35":
            writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * config.head_dim))
            writer.add_rope_dimension_sections([1, 1, 0, 0])
            writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
            writer.add_ssm_state_size(config.linear_key_head_dim)
            writer.add_ssm_group_count(config.linear_num_key_heads)
            writer.add_ssm_time_step_rank(config.linear_num_value_heads)
            writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
            writer.add_full_attention_interval(config.layer_types.index("full_attention") + 1)
        if arch == "gpt-oss":
            writer.add_expert_count(config.num_local_experts)
            writer.add_expert_used_count(config.num_experts_per_tok)
            writer.add_expert_feed_forward_length(config.intermediate_size)
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(rope["factor"])
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if name in ("llama3", "exaone4", "exaone"):
        turned = config.rope_parameters["rope_theta"] ** (-torch.arange(0, width // heads, 2).double() / (width // heads))
        writer.add_tensor("rope_freqs.weight", (turned / model.model.rotary_emb.inv_freq.double()).float().numpy())
    if arch == "gptneox":
        writer.add_rope_dimension_count(int(config.rope_parameters["partial_rotary_factor"] * width // heads))
        writer.add_parallel_residual(config.use_parallel_residual)
    names = gguf.get_tensor_name_map(next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == arch), layers)
    for key, tensor in state.items():
        if arch == "gpt-oss" and ("mlp.experts." in key or key.endswith("sinks")):
            write_gpt_oss(writer, key, tensor)
            continue
        if "block_sparse_moe.input_linear" in key or "block_sparse_moe.output_linear" in key:
            parts = dict(zip(("gate", "up"), tensor.chunk(2, dim=1))) if "input" in key else dict(down=tensor)
            for part, matrix in parts.items():
                writer.add_tensor(f"blk.{key.split('.')[2]}.ffn_{part}_exps.weight", matrix.contiguous().numpy())
            continue
        if ".experts." in key:
            write_experts(writer, key, state, stacked=name != "mixtral_older")
            continue
        if arch == "gpt2" and key.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
            tensor = tensor.T.contiguous()
        if arch in PERMUTED and key.endswith("q_proj.weight"):
            tensor = permuted(tensor, heads)
        if arch in PERMUTED and key.endswith("k_proj.weight"):
            tensor = permuted(tensor, config.num_key_value_heads)
        if arch in ("gemma", "gemma2", "gemma3", "nemotron") and key.endswith("norm.weight"):
            tensor = 1 + tensor
        if arch == "qwen35" and ".linear_attn." in key:
            key, tensor = of_delta_net(config, key, tensor)
        elif arch == "qwen35" and key.endswith("norm.weight"):
            tensor = 1 + tensor
        if "query_key_value" in key and arch == "falcon":
            groups = tensor.reshape(kv_heads, heads // kv_heads + 2, -1, width)
            tensor = torch.cat([groups[:, :-2].reshape(-1, width), groups[:, -2].reshape(-1, width), groups[:, -1].reshape(-1, width)])
        elif "query_key_value" in key:
            tensor = tensor.reshape(heads, 3, -1, *tensor.shape[1:]).swapaxes(0, 1).reshape(tensor.shape)
        if key.endswith("shared_expert_gate.weight"):
            tensor = tensor[0]
        theirs = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert theirs, key
        writer.add_tensor(theirs, tensor.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def in_mxfp4(weight_EIO):
    """Of experts' weights (E, in, out): the blocks of MXFP4 (E, out, in / 32 * 17), and their values (E, in, out)."""
    blocks = gguf.quants.quantize(weight_EIO.transpose(1, 2).contiguous().numpy(), MXFP4)
    return blocks, torch.from_numpy(gguf.quants.dequantize(blocks, MXFP4)).transpose(1, 2).contiguous()


def of_delta_net(config, key, tensor):
    """As llama.cpp's converter: heads of values that read the same key head are G apart, rates are -exp(A_log)."""
    G, H, D = config.linear_num_key_heads, config.linear_num_value_heads, config.linear_value_head_dim
    keys = 2 * G * config.linear_key_head_dim

    def tiled(x, width, dim=0):
        shape = x.shape
        return x.unflatten(dim, (G, H // G, width)).transpose(dim, dim + 1).reshape(shape)

    if "conv1d" in key:
        tensor = tensor.squeeze(1)
    if "conv1d" in key or "in_proj_qkv" in key:
        tensor = torch.cat([tensor[:keys], tiled(tensor[keys:], D)])
    elif "in_proj_z" in key:
        tensor = tiled(tensor, D)
    elif "out_proj" in key:
        tensor = tiled(tensor, D, dim=1)
    elif not key.endswith("norm.weight"):
        tensor = tiled(tensor, 1)
    return key.replace("dt_bias", "dt_proj.bias"), -tensor.exp() if key.endswith("A_log") else tensor


def write_gpt_oss(writer, key, tensor):
    block = "blk." + key.split(".")[2]
    if key.endswith("sinks"):
        writer.add_tensor(f"{block}.attn_sinks.weight", tensor.numpy())
    elif key.endswith("_bias"):
        parts = {"down": tensor} if "down" in key else {"gate": tensor[:, ::2], "up": tensor[:, 1::2]}
        for name, part in parts.items():
            writer.add_tensor(f"{block}.ffn_{name}_exps.bias", part.contiguous().numpy())
    else:
        parts = {"down": tensor} if "down" in key else {"gate": tensor[..., ::2], "up": tensor[..., 1::2]}
        for name, part in parts.items():
            blocks, values = in_mxfp4(part)
            assert torch.equal(values, part), key  # the folder has the same values
            writer.add_tensor(f"{block}.ffn_{name}_exps.weight", blocks, raw_dtype=MXFP4)


def write_experts(writer, key, state, stacked):
    block, (expert, matrix) = key.split(".")[2], key.split(".experts.")[1].split(".")[:2]
    name = f"blk.{block}.ffn_" + dict(w1="gate", w2="down", w3="up").get(matrix, matrix.removesuffix("_proj"))
    if not stacked:
        writer.add_tensor(f"{name}.{expert}.weight", state[key].numpy())
    elif expert == "0":
        experts = [state[other] for other in sorted(state) if other.startswith(key.split(".experts.")[0] + ".experts.") and f".{matrix}." in other]
        writer.add_tensor(f"{name}_exps.weight", torch.stack(experts).numpy())


def write_llama2c(name, config, state):
    """llama2.c's first format: seven i32, then f32 of all layers kind by kind, and the tables of rotations (not read)."""
    L, H, G, V = config.num_hidden_layers, config.num_attention_heads, config.num_key_value_heads, config.vocab_size
    T, D = config.max_position_embeddings, config.hidden_size // H
    layer = lambda end: [state[f"model.layers.{n}.{end}.weight"] for n in range(L)]
    tensors = [state["model.embed_tokens.weight"], *layer("input_layernorm"),
               *(permuted(w, H) for w in layer("self_attn.q_proj")), *(permuted(w, G) for w in layer("self_attn.k_proj")),
               *layer("self_attn.v_proj"), *layer("self_attn.o_proj"), *layer("post_attention_layernorm"),
               *layer("mlp.gate_proj"), *layer("mlp.down_proj"), *layer("mlp.up_proj"), state["model.norm.weight"],
               torch.zeros(2, T, D // 2), state["lm_head.weight"]]
    with open(OUT / f"{name}.bin", "wb") as file:
        file.write(struct.pack("<7i", config.hidden_size, config.intermediate_size, L, H, G, -V, T))
        for tensor in tensors:
            file.write(tensor.contiguous().numpy().tobytes())


def main():
    only = sys.argv[1:]
    if not only:
        shutil.rmtree(OUT, ignore_errors=True)
        LOGITS.unlink(missing_ok=True)
    for seed, (name, config) in enumerate(CONFIGS.items()):
        if only and name not in only:
            continue
        torch.manual_seed(seed)
        config._attn_implementation = "eager"
        model = tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager").float().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 1:
                    parameter.add_(0.3 * torch.randn_like(parameter))
            for key, parameter in model.named_parameters():
                if name == "gpt_oss_gguf" and key.endswith(("gate_up_proj", "down_proj")):
                    parameter.copy_(in_mxfp4(parameter)[1])
        folder = OUT / name
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        tokens = torch.randint(0, 40, (2, T))
        # What the class of Qwen 3.5 computes in float32 whatever the type of the model, its recurrence, is 1e-5 off.
        with torch.no_grad(), all_float64() if name == "qwen3_5" else contextlib.nullcontext():
            logits = model.double()(tokens).logits
        files.replace(LOGITS, name, {"tokens": tokens.int().numpy(), "logits": logits.numpy()})
        if name in GGUF:
            write_gguf(name, config, model, load_file(folder / "model.safetensors"))
        if name == "llama2c":
            write_llama2c(name, config, load_file(folder / "model.safetensors"))
        print(name, float(logits.abs().max()))


if __name__ == "__main__":
    main()
