"""The golden models of tests/golden/open, for the tests of the Python module; without torch."""
import json
import pathlib
import sys

MODELS = pathlib.Path(__file__).resolve().parents[1] / "golden/open/models"
sys.path.insert(0, str(MODELS.parents[1]))
import expected  # noqa: E402

# The folders of families, which have a grid of the same name, and of LongRoPE.
FAMILIES = sorted(name for name in [*json.loads((MODELS.parent / "grid.json").read_text()), "longrope", "longrope_short"]
                  if (MODELS / name).is_dir())


def safetensors(path):
    """The tensors of a safetensors file by name."""
    return expected.read(path)[0]


def families():
    """(name, path of a model, its golden tensors): every folder, GGUF file and .bin."""
    values, found = safetensors(MODELS.parent / "logits.safetensors"), []
    for folder in sorted(path for path in MODELS.iterdir() if path.is_dir()):
        golden = {name: values[f"{folder.name}/{name}"] for name in ("tokens", "logits")}
        found += [(path.name, path, golden) for path in (folder, folder.with_suffix(".gguf"), folder.with_suffix(".bin")) if path.exists()]
    return found
