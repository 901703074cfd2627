"""Reads and writes files of expected values: safetensors, with Python's standard library and NumPy."""
import json

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def header(path):
    """{tensor: {dtype, shape, data_offsets}} and {name: text} of a file, and where its data begins."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(length))
    return tensors, tensors.pop("__metadata__", {}), 8 + length


def read(path):
    """{name: array} and {name: text}."""
    tensors, texts, begin = header(path)
    data = path.read_bytes()
    return {name: np.frombuffer(data, TYPES[about["dtype"]], int(np.prod(about["shape"])), begin + about["data_offsets"][0])
            .reshape(about["shape"]) for name, about in tensors.items()}, texts


def write(path, arrays, texts=None):
    """Sorted by name: the same values make the same bytes."""
    tensors, data = {}, b""
    for name, array in sorted(arrays.items()):
        dtype = next(dtype for dtype, type_ in TYPES.items() if type_ == array.dtype)
        tensors[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps({**({"__metadata__": dict(sorted(texts.items()))} if texts else {}), **tensors}, separators=(",", ":"))
    text = text.encode() + b" " * (-len(text.encode()) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def replace(path, group, arrays, texts=None):
    """Writes the values of a group, named group/name, in the file in place of those it has."""
    kept, kept_texts = read(path) if path.exists() else ({}, {})
    kept, kept_texts = ({name: value for name, value in of.items() if not name.startswith(group + "/")} for of in (kept, kept_texts))
    named = [{f"{group}/{name}": value for name, value in of.items()} for of in (arrays, texts or {})]
    write(path, kept | named[0], kept_texts | named[1])
