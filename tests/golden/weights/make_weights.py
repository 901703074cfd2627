#!/usr/bin/env python3
"""Writes the files of weights beside it, which tests read, with other programs' writers: PyPI gguf 0.19 and
safetensors 0.8 (numpy 2.4). Numbers of blocks.gguf, as gguf dequantises them, are in blocks.safetensors.

    python3 -m venv venv && venv/bin/pip install gguf safetensors numpy
    venv/bin/python tests/golden/weights/make_weights.py
"""

import json
import pathlib

import gguf
import numpy as np
import safetensors
import safetensors.numpy
from gguf import GGMLQuantizationType as Type

HERE = pathlib.Path(__file__).parent
RANDOM = np.random.default_rng(12)


def k_blocks(rows, blocks, type_bytes, f16_at, scale):
    """Random blocks, whose f16 at some offsets are made of ordinary size."""
    raw = RANDOM.integers(0, 256, (rows, blocks, type_bytes), dtype=np.uint8)
    for at in f16_at:
        raw[:, :, at : at + 2] = (RANDOM.normal(size=(rows, blocks)) * scale).astype("<f2")[..., None].view(np.uint8)
    return raw.reshape(rows, blocks * type_bytes)


def write_blocks():
    writer = gguf.GGUFWriter(HERE / "blocks.gguf", "llama")
    writer.add_custom_alignment(64)
    writer.add_uint8("n.u8", 200)
    writer.add_int8("n.i8", -100)
    writer.add_uint16("n.u16", 60000)
    writer.add_int16("n.i16", -30000)
    writer.add_uint32("n.u32", 4000000000)
    writer.add_int32("n.i32", -2000000000)
    writer.add_float32("n.f32", 0.1)
    writer.add_uint64("n.u64", 2**64 - 1)
    writer.add_int64("n.i64", -(2**62))
    writer.add_float64("n.f64", 0.1)
    writer.add_bool("n.bool", True)
    writer.add_string("a.text", "na\u00efve \U0001f642")
    writer.add_array("a.texts", ["<s>", "", "\u0120the", "x" * 300])
    writer.add_array("a.numbers", [3, -1, 4])
    writer.add_array("a.reals", [0.5, -0.25])
    writer.add_array("a.lists", [[1, 2], [3]])
    expected = {}
    normal = RANDOM.normal(size=(2, 3, 64)).astype(np.float32)
    for kind in (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1):
        raw = gguf.quants.quantize(normal, kind)
        writer.add_tensor(kind.name, raw, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(raw, kind)
    for kind, f16_at in ((Type.Q4_K, (0, 2)), (Type.Q5_K, (0, 2)), (Type.Q6_K, (208,))):
        raw = k_blocks(3, 2, gguf.GGML_QUANT_SIZES[kind][1], f16_at, 0.01)
        writer.add_tensor(kind.name, raw, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(raw, kind)
    raw = gguf.quants.quantize(normal, Type.BF16)
    writer.add_tensor("BF16", raw, raw_dtype=Type.BF16)
    expected["BF16"] = gguf.quants.dequantize(raw, Type.BF16)
    writer.add_tensor("F16", normal.astype(np.float16))
    expected["F16"] = normal.astype(np.float16).astype(np.float32)
    writer.add_tensor("F32", normal)
    expected["F32"] = normal
    for kind, f16_at in ((Type.Q2_K, (80, 82)), (Type.Q3_K, (108,)), (Type.IQ4_NL, (0,)), (Type.IQ4_XS, (0,))):
        raw = k_blocks(3, 2, gguf.GGML_QUANT_SIZES[kind][1], f16_at, 0.01)
        writer.add_tensor(kind.name, raw, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(raw, kind)
    # Scales of 2^-127, whose values are subnormal, to 2^127, whose largest are infinite. 255 is NaN, which gguf ignores.
    raw = k_blocks(3, 5, 17, (), 0)
    raw[:, ::17] = np.array([[0, 1, 2, 3, 125], [126, 127, 128, 129, 130], [250, 252, 253, 254, 110]])
    writer.add_tensor("MXFP4", raw, raw_dtype=Type.MXFP4)
    expected["MXFP4"] = gguf.quants.dequantize(raw, Type.MXFP4)
    for kind, f16_at in ((Type.TQ1_0, (52,)), (Type.TQ2_0, (64,))):
        raw = k_blocks(3, 2, gguf.GGML_QUANT_SIZES[kind][1], f16_at, 1)
        writer.add_tensor(kind.name, raw, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(raw, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    safetensors.numpy.save_file(expected, HERE / "blocks.safetensors")


def write_types():
    """Numbers 0, 1, ... of every type, minus 3 where it has a sign; odd ones for bool."""
    count = np.arange(6).reshape(2, 3)
    signed = ("float64", "float32", "float16", "int64", "int32", "int16", "int8")
    tensors = {name: (count - 3).astype(name) for name in signed}
    tensors["uint8"] = count.astype("uint8")
    tensors["bool"] = count % 2 == 1
    tensors["bfloat16"] = ((count - 3).astype("<f4").view("<u4") >> 16).astype("<u2")
    tensors["scalar"] = np.array(2.5, "f4")
    tensors["empty"] = np.empty((0, 3), "f4")
    dtypes = {"scalar": "float32", "empty": "float32"}
    specs = {
        name: safetensors.TensorSpec(
            dtype=dtypes.get(name, name), shape=t.shape, data_ptr=t.ctypes.data, data_len=t.nbytes
        )
        for name, t in tensors.items()
    }
    metadata = {"a\u00efb": '"quoted"\n'}
    (HERE / "types.safetensors").write_bytes(safetensors.serialize(specs, metadata))


def write_shards():
    folder = HERE / "sharded"
    folder.mkdir(exist_ok=True)
    shards = {
        "model-00001-of-00002.safetensors": {"a": np.full((2, 2), 1, "f4"), "b": np.full(3, 2, "f4")},
        "model-00002-of-00002.safetensors": {"c": np.full((1, 4), 3, "f4")},
    }
    weight_map = {}
    for file, tensors in shards.items():
        safetensors.numpy.save_file(tensors, folder / file, {"format": "pt"})
        weight_map |= {name: file for name in tensors}
    index = {"metadata": {"total_size": 44}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


write_blocks()
write_types()
write_shards()
