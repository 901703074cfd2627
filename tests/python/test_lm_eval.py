"""The adapter of tools/lm_eval, with a program that gives every continuation its length as log-probability."""
import importlib
import json
import pathlib
import sys
import types

import pytest

PROGRAM = """#!{python}
import json, pathlib, sys
pathlib.Path(__file__).with_suffix(".arguments").write_text(json.dumps(sys.argv[1:]))
for line in map(json.loads, sys.stdin):
    if not line["continuation"]:
        sys.exit("no continuation")
    print(json.dumps(dict(logprob=-len(line["continuation"]), greedy=line["context"] == "")))
"""


@pytest.fixture(scope="module")
def adapter():
    try:
        importlib.import_module("lm_eval.api.model")
    except ImportError:  # the two names that the adapter takes from there
        names = {"lm_eval": {}, "lm_eval.api": {}, "lm_eval.api.model": {"LM": object},
                 "lm_eval.api.registry": {"register_model": lambda name: lambda made: made}}
        for name, held in names.items():
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(held)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/lm_eval"))
    return importlib.import_module("sinklab_lm").Sinklab


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    return path


def requests(*all_arguments):
    return [types.SimpleNamespace(args=arguments) for arguments in all_arguments]


def test_scores(adapter, program):
    model = adapter(str(program), "m.gguf")
    assert model.loglikelihood(requests(("a", " bc"), ("", "d"))) == [(-3, False), (-1, True)]
    assert model.loglikelihood_rolling(requests(("ab",), ("",), ("c",))) == [-2, 0.0, -1]  # hf: nothing to score is 0
    assert model.loglikelihood_rolling(requests(("",))) == [0.0] and model.loglikelihood([]) == []


def test_arguments(adapter, program):
    adapter(str(program), "m.gguf", prefix_token=7, threads=2, device="cpu", batch_size=8, max_batch_size=None).loglikelihood(
        requests(("a", "b")))
    assert json.loads(program.with_suffix(".arguments").read_text()) == [
        "score", "m.gguf", "-", "--threads", "2", "--prefix-token", "7", "--device", "cpu"]
    for unknown in ("prefx_token", "dtype", "max_length"):
        with pytest.raises(TypeError, match=unknown):
            adapter(str(program), "m.gguf", **{unknown: 1})
