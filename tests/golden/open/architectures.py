#!/usr/bin/env python3
"""Writes model/open/ARCHITECTURES.md: which language models of transformers are read here, and what the others have that is not computed.

  architectures.py SINKLAB            writes the page
  architectures.py SINKLAB --check    compares it with transformers and with what this program reads; exit code 1 if it differs

What a model has is found in the source of its class in transformers. Exit code 77 without transformers, or with another minor version than
the page's. Needs: transformers, Python 3.11.
"""
import importlib
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import transformers
    from transformers.models.auto.modeling_auto import (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES,
                                                        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)
except ImportError as error:
    print(f"architectures.py: {error}", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "model/open/ARCHITECTURES.md"
VERSION = ".".join(transformers.__version__.split(".")[:2])
HEAD = """# Architectures

For users with a model that is refused, and for people who add a family: all {count} architectures of causal language models that transformers
{version} has, by the `model_type` of `config.json`. {read} are read. For the others the table says what their class has that no family here
computes, as far as its source tells; where it says *nothing that was found*, a family is likely to be one file ([family/](family/), with
[CONFIG_KEYS.md](CONFIG_KEYS.md) and [TENSOR_NAMES.md](TENSOR_NAMES.md)). The programs carry this table for their messages.

Made by `tests/golden/open/architectures.py`.

## By type

| `model_type` | here | what is missing |
| --- | --- | --- |
"""
# What the source does not tell by names.
KNOWN = {"hunyuan_v1_dense": "norms of queries and keys after they rotate",
         "nanochat": "a norm of embeddings, rotations in the other direction and caps of logits at 15",
         "apertus": "an activation with learned values", "bitnet": "norms inside attention and the feed-forward block",
         "hyperclovax": "factors of what norms after sublayers give", "dory": "a residual stream of another form",
         "diffllama": "attention that is a difference of two",
         "persimmon": "LayerNorm of queries and keys",
         "moshi": "audio", "musicgen": "audio", "musicgen_melody": "audio"}
ENCODER = "attention to an encoder"
# In this order; several may hold.
FEATURES = [
    (r"class \w*(Rwkv|xLSTM|mLSTM|RecurrentBlock|RgLru)\w*\(", "recurrent layers"),
    (r"class \w*(Mamba|SSM)\w*\(|mamba_ssm", "state-space layers"),
    (r"class \w*(GatedDeltaNet|DeltaAttention|DeltaNet|LightningAttention|KimiDelta)\w*\(", "layers of linear attention"),
    (r"nn\.Conv1d\(", "convolutions"),
    (r"kv_a_proj|kv_a_layernorm|kv_b_proj", "latent attention"),
    (r"class \w*(Indexer|SparseAttention)\w*\(", "attention to chosen keys"),
    (r"class \w*(Router|SparseMoe|MoE|Moe|Experts|TopKGate)\w*\(", "another mixture of experts"),
    (r"class \w*(BlockSparse|LSH|LocalSelfAttention)\w*\(", "sparse or hashed attention"),
    (r"class \w*(CrossAttention)\w*\(|cross_attn|encoder_attn", ENCODER),
    (r"vision_tower|vision_model|get_image_features", "images"),
    (r"build_alibi|alibi", "ALiBi"),
    (r"self\.lm_head = nn\.Linear\(config\.(n_embd|hidden_size), config\.vocab_size(, bias=True)?\)", "a bias of the unembedding"),
    (r"clip_qkv", "queries, keys and values that are clipped"),
    (r"class \w*(AltUp|Laurel|PerLayer|HyperConnection|LayerScale)\w*\(", "a residual stream of another form"),
]


def read_here(program):
    """The types that the program names when it refuses one that nobody has."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text('{"model_type": "none"}')
        said = subprocess.run([program, folder, "--text", "a"], capture_output=True, text=True).stderr
    listed = re.search(r"; ([a-z0-9_, .-]+ and [a-z0-9_.-]+) are$", said.strip())
    if not listed:
        sys.exit(f"architectures.py: {program} says something else of an unknown type: {said}")
    return set(re.split(r", | and ", listed[1]))


def source_of(model_type, class_name):
    for module in (model_type.replace("-", "_"), re.sub(r"_text$", "", model_type)):
        try:
            found = getattr(importlib.import_module(f"transformers.models.{module}"), class_name)
            return inspect.getsource(sys.modules[found.__module__])
        except (ImportError, AttributeError):
            continue
    found = getattr(transformers, class_name)
    return inspect.getsource(sys.modules[found.__module__])


def missing_in(model_type, class_name):
    if model_type in KNOWN:
        return KNOWN[model_type]
    if model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        return "an encoder"
    if model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "the form of an encoder, whose attention is not causal"
    source = source_of(model_type, class_name)
    found = [words for pattern, words in FEATURES if re.search(pattern, source)]
    if "add_cross_attention" in source and ENCODER in found:
        found.remove(ENCODER)  # on request
    return ", ".join(found) or "nothing that was found"


def page(program):
    names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    here, rows = read_here(program), []
    for model_type in sorted(names):
        class_name = names[model_type] if isinstance(names[model_type], str) else names[model_type][0]
        rows.append((model_type, "read", "") if model_type in here else (model_type, "", missing_in(model_type, class_name)))
    read = sum(row[1] == "read" for row in rows)
    others = sorted(here - set(names))
    text = HEAD.format(count=len(rows), version=VERSION, read=read)
    text += "".join(f"| `{name}` | {status} | {missing} |\n" for name, status, missing in rows)
    return text + (f"\nAlso read, though it is no language model of this list: {', '.join(f'`{name}`' for name in others)}.\n" if others else "")


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not sys.argv[2:]:
        PAGE.write_text(page(sys.argv[1]))
        return 0
    written = PAGE.read_text()
    if f"\n{VERSION} has" not in written:
        print(f"architectures.py: the page is not of transformers {VERSION}", file=sys.stderr)
        return 77
    if written == page(sys.argv[1]):
        return 0
    print("architectures.py: model/open/ARCHITECTURES.md differs: make it again", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
