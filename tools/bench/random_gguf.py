#!/usr/bin/env python3
"""Writes a GGUF file of the shape of a known model, with random weights: for times, which do not depend on what weights say.

usage: random_gguf.py {1b,8b} {Q8_0,Q4_K} FILE

1b and 8b are LLaMA 3.2 1B (its unembedding is the embedding) and LLaMA 3 8B. Needs the packages numpy and gguf.
"""
import argparse

import gguf
import numpy

# layers, width, feed-forward, heads, heads of keys, tied
SHAPES = {"1b": (16, 2048, 8192, 32, 8, True), "8b": (32, 4096, 14336, 32, 8, False)}
VOCABULARY, CONTEXT, ROTARY_BASE = 128256, 8192, 500000.0
SCALE = numpy.array([0.002], numpy.float16).view(numpy.uint8)
# Bytes of a block that are 16-bit numbers, scales and minima; all other bytes may be anything.
HALVES = {gguf.GGMLQuantizationType.Q8_0: (0,), gguf.GGMLQuantizationType.Q4_K: (0, 2)}


def blocks(random, kind, rows, columns):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    made = random.integers(0, 256, (rows * columns // elements, size), numpy.uint8)
    for at in HALVES[kind]:
        made[:, at : at + 2] = SCALE
    return made.reshape(rows, columns // elements * size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("type", choices=[kind.name for kind in HALVES])
    parser.add_argument("file")
    given = parser.parse_args()
    layers, width, hidden, heads, key_heads, tied = SHAPES[given.shape]
    kind, random = gguf.GGMLQuantizationType[given.type], numpy.random.default_rng(0)
    file = gguf.GGUFWriter(given.file, "llama", use_temp_file=True)
    for key, value in (("block_count", layers), ("context_length", CONTEXT), ("embedding_length", width), ("feed_forward_length", hidden),
                       ("head_count", heads), ("head_count_kv", key_heads), ("vocab_size", VOCABULARY), ("rope_dimension_count", width // heads)):
        getattr(file, f"add_{key}")(value)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_freq_base(ROTARY_BASE)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("llama-bpe")
    file.add_token_list([f"t{n}" for n in range(VOCABULARY)])
    file.add_token_types([1] * VOCABULARY)
    file.add_token_merges(["t 1"])
    file.add_bos_token_id(0)
    file.add_eos_token_id(1)

    def matrix(name, rows, columns):
        file.add_tensor(f"{name}.weight", blocks(random, kind, rows, columns), raw_dtype=kind)

    def ones(name):
        file.add_tensor(f"{name}.weight", numpy.ones(width, numpy.float32))

    matrix("token_embd", VOCABULARY, width)
    for n in range(layers):
        ones(f"blk.{n}.attn_norm")
        ones(f"blk.{n}.ffn_norm")
        for name, rows, columns in (("attn_q", width, width), ("attn_k", width // heads * key_heads, width),
                                    ("attn_v", width // heads * key_heads, width), ("attn_output", width, width), ("ffn_gate", hidden, width),
                                    ("ffn_up", hidden, width), ("ffn_down", width, hidden)):
            matrix(f"blk.{n}.{name}", rows, columns)
    ones("output_norm")
    if not tied:
        matrix("output", VOCABULARY, width)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


if __name__ == "__main__":
    main()
