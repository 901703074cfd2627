#!/usr/bin/env python3
"""Has transformers load what `eval_<family> export` writes, and compares its logits with ours.

  check_export.py BUILD_FOLDER      exit 1 where they differ; 77 without the packages

Of every tiny model of models/ whose program is built: it is imported, every number of the checkpoint is made another one
(embedding and unembedding apart, gains and biases not the trivial ones), exported, and computed in float64 by both, by
transformers with eager attention; the tolerance is 1e-5 of the largest logit. Then models of ours in sizes that the tiny
ones have not. Needs: torch, transformers, h5py. With transformer_lens, the exported adapter opens each folder there, too, or
refuses it with a sentence.
"""
import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    import torch
    import transformers
except ImportError as error:
    print(f"check_export.py: {error}; python3 -m venv venv && venv/bin/pip install torch transformers h5py",
          file=sys.stderr)
    sys.exit(77)

MODELS = pathlib.Path(__file__).parent / "models"
MORE = [("llama", "llama", dict(rotary_factor=4, rotary_base=77, norm_epsilon=1e-3)),
        ("llama", "llama", dict(window=4)),
        ("llama", "llama", dict(no_rope_every=2, window=4, rotary_factor=4)),
        ("llama", "llama", dict(rotary_part=0.5, window=4)),
        ("llama", "llama", dict(attention_scale=0.3, rotary_factor=4)),
        ("llama3", "llama3", dict(no_rope_every=1)),
        ("olmo2", "olmo2", dict(rotary_factor=3, norm_epsilon=1e-3)),
        ("falcon", "falcon", dict(rotary_factor=3, norm_epsilon=1e-3)),
        ("llama3", "llama3", dict(rotary_factor=0, rotary_context=0)),
        ("gpt_neox", "gpt_neox", dict(rotary_factor=3, rotary_base=50, norm_epsilon=1e-3)),
        ("gpt2", "gpt2", dict(norm_epsilon=1e-3)),
        ("qwen2", "qwen2", dict(window=5, global_every=2)),
        ("qwen3", "qwen3", dict(window=3)),
        ("gemma3", "gemma3", dict(window=0, global_every=0)),
        ("gemma3", "gemma3", dict(rotary_factor=8, window=4, global_every=2, attention_scale=0.5)),
        ("gpt_oss", "gpt_oss", dict(window=0, global_every=0, rotary_factor=0, chosen_experts=4)),
        ("gemma2", "gemma2", dict(window=4, global_every=3, rotary_factor=4, attention_scale=0.5)),
        ("mixtral", "mixtral", dict(window=4, rotary_factor=4, chosen_experts=3)),
        ("qwen3_moe", "qwen3_moe", dict(window=4, rotary_factor=4, chosen_experts=3)),
        ("seed_oss", "qwen2", dict(rotary_factor=4)),
        ("olmo", "olmo", dict(rotary_factor=4, rotary_base=77)),
        ("stablelm", "stablelm", dict(rotary_part=0.25, norm_epsilon=1e-3)),
        ("nemotron", "nemotron", dict(rotary_part=1, rotary_factor=4)),
        ("cohere", "cohere", dict(rotary_factor=4, norm_epsilon=1e-3)),
        ("cohere2", "cohere", dict(window=4, global_every=3, no_rope_every=3, rotary_base=50)),
        ("glm", "qwen2", dict(rotary_part=0.25)),
        ("glm4", "glm4", dict(rotary_part=0.25, rotary_factor=4)),
        ("gemma", "gemma", dict(rotary_factor=4, norm_epsilon=1e-3)),
        ("starcoder2", "starcoder2", dict(window=4, rotary_factor=4)),
        ("exaone4", "exaone4", dict(window=0, global_every=0, no_rope_every=0)),
        ("exaone4", "exaone4", dict(window=4, global_every=3, no_rope_every=3, rotary_factor=4)),
        ("qwen2_moe", "qwen2_moe", dict(window=4, global_every=2, rotary_factor=4, chosen_experts=3)),
        ("granitemoe", "mixtral", dict(attention_scale=0.3, chosen_experts=3)),
        ("olmoe", "olmoe", dict(rotary_base=77, chosen_experts=2))]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")


def change(path, seed, sizes):
    """Other numbers in every parameter, other sizes in the attributes, and a new checksum header (engine/io/CHECKPOINT.md)."""
    generator = numpy.random.default_rng(seed)
    with h5py.File(path, "r+") as file:
        for name, value in sizes.items():
            file.attrs[name] = numpy.bytes_(str(value))
        of_attention = lambda name: name.replace("feed_forward", "attention")
        one_norm = [name for name, data in file["parameters"].items()
                    if name.endswith("feed_forward.norm.gain") and of_attention(name) in file["parameters"]
                    and (data[...] == file["parameters"][of_attention(name)][...]).all()]
        for name, data in file["parameters"].items():
            if (data[...] == name.endswith(".gain")).all():  # what files do not have: biases, and gains of 1
                continue
            numbers = 0.3 * generator.standard_normal(data.shape)
            data[...] = (1 + numbers if name.endswith(".gain") else numbers).astype(data.dtype)
        for name in one_norm:
            file["parameters"][name][...] = file["parameters"][of_attention(name)][...]
    data = path.read_bytes()[512:]
    header = (f"sinklab-checkpoint 1\nbytes {len(data)}\nsha256 {hashlib.sha256(data).hexdigest()}\n"
              "HDF5 follows these 512 bytes; look inside with: h5ls -r FILE\n")
    path.write_bytes(header.encode().ljust(512, b"\0") + data)


def family_of(build, model):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as tokens:
        print("1 2 3", file=tokens, flush=True)
        done = subprocess.run([build / "sinklab", MODELS / model, "--tokens", tokens.name, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sinklab {model}: {done.stderr}")
    return json.loads(done.stdout)["ablation"]


def check(program, model, folder, seed, sizes):
    checkpoint, exported = folder / "model.h5", folder / "exported"
    done = subprocess.run([program, "import", MODELS / model, checkpoint], capture_output=True, text=True)
    if done.returncode and "a checkpoint has no place for a list of layers" in done.stderr:
        return 0, "not imported, since its layers with a window are a list"
    if done.returncode:
        sys.exit(f"import of {model}: {done.stderr}")
    change(checkpoint, seed, sizes)
    run(program, "export", checkpoint, exported)
    tokens = numpy.random.default_rng(seed).integers(0, 40, (2, 20))
    numpy.savetxt(folder / "tokens.txt", tokens, fmt="%d")
    run(program, "logits", "--checkpoint", checkpoint, "--tokens", folder / "tokens.txt", "--out", folder / "ours.h5",
        "--precision", "f64")
    ours = h5py.File(folder / "ours.h5")["logits"][:]
    theirs = transformers.AutoModelForCausalLM.from_pretrained(exported, attn_implementation="eager", experts_implementation="eager",
                                                              dtype=torch.float64).eval()
    with torch.no_grad():
        logits = theirs(torch.tensor(tokens)).logits.numpy()
    off = abs(ours - logits).max() / abs(logits).max()
    if importlib.util.find_spec("transformer_lens") is None:
        return off, "transformer_lens is missing"
    there = in_transformer_lens(exported, torch.tensor(tokens))
    return (off, there) if isinstance(there, str) else (max(off, abs(ours - there).max() / abs(ours).max()), "also in TransformerLens")


def in_transformer_lens(exported, tokens):
    """The logits of the adapter in the folder, or the sentence with which it refuses."""
    spec = importlib.util.spec_from_file_location("transformer_lens_adapter", exported / "transformer_lens_adapter.py")
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    try:
        model = adapter.load(dtype=torch.float64)
    except ValueError as refusal:
        return str(refusal)
    with torch.no_grad():
        return model(tokens).numpy()


def main():
    build = pathlib.Path(sys.argv[1])
    cases = [(path.name, family_of(build, path.name), {}) for path in sorted(MODELS.iterdir())
             if path.is_dir() and not path.name.startswith("longrope") and not path.name.endswith("yarn")]  # which is not exported
    worst = 0
    for seed, (model, family, sizes) in enumerate(cases + MORE):
        program = build / f"eval_{family}"
        if not program.exists():
            if family in (build / "generated/ablations/names.txt").read_text().split():
                sys.exit(f"{program} is not built (SINK_PROGRAMS), which exports {model}")
            print(f"{family} is not in this build (SINK_ABLATION_SET): {model} left out")
            continue
        with tempfile.TemporaryDirectory() as folder:
            off, remark = check(program, model, pathlib.Path(folder), seed, sizes)
        worst = max(worst, off)
        print(f"{model} {sizes or ''}: {off:.2g}; {remark}")
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
