"""The golden models of tests/golden/open, for the tests of the Python module; without torch."""
import json
import pathlib

import numpy as np

MODELS = pathlib.Path(__file__).resolve().parents[1] / "golden/open/models"
# A folder of every family, which has a grid of the same name, and of LongRoPE.
FAMILIES = sorted([path.stem for path in (MODELS.parent / "grid").glob("*.json")] + ["longrope", "longrope_short"])
TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def safetensors(path):
    """The tensors of a safetensors file by name."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    return {name: np.frombuffer(data[8 + length:], TYPES[about["dtype"]], offset=about["data_offsets"][0],
                                count=int(np.prod(about["shape"]))).reshape(about["shape"])
            for name, about in header.items() if name != "__metadata__"}


def families():
    """(name, path of a model, its golden tensors): every folder, GGUF file and .bin."""
    found = []
    for folder in sorted(path for path in MODELS.iterdir() if path.is_dir()):
        if (folder / "golden.safetensors").exists():
            golden = safetensors(folder / "golden.safetensors")
            found += [(path.name, path, golden)
                      for path in (folder, folder.with_suffix(".gguf"), folder.with_suffix(".bin"))
                      if path.is_file() or (path / "config.json").exists()]
    return found
