"""Runs the notebook with few steps, where matplotlib is, and the examples of the README, where its model is.

The README's example of TransformerLens is in test_transformer_lens.py.
"""
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK, README = ROOT / "tools/python/sinks.ipynb", ROOT / "tools/python/README.md"


def test_the_notebook_runs(capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    cells = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    code = "\n".join(cells)
    assert code.count("STEPS = 4000\n") == 1
    names = {}
    exec(compile(code.replace("STEPS = 4000\n", "STEPS = 40\n"), str(NOTEBOOK), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["baseline", "op_sigmoid_none", "softmax", "without", "the"]
    assert len(names["figure"].axes) == 3 and all(len(curve) == 20 for _, curve in names["models"].values())


def test_the_examples_of_the_readme(capsys, monkeypatch):
    page = README.read_text()
    model = re.search(r'load\("(.*)"\)', page).group(1)
    if not (ROOT / model).exists():
        pytest.skip(f"there is no {model}: tools/quickstart.sh downloads it")
    monkeypatch.chdir(ROOT)
    blocks, names = re.findall(r"```python\n(.*?)```", page, re.DOTALL), {}
    blocks = [block for block in blocks if "transformer_lens" not in block and "sinklab.torch" not in block]
    assert len(blocks) == 4
    exec(blocks[0], names)
    assert capsys.readouterr().out == re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1)
    for block in blocks[1:]:
        exec(block, names)
    assert names["logits"].shape == (6, 49152) and names["loss"] < 4


def test_the_examples_with_torch_of_the_readme(capsys, monkeypatch):
    pytest.importorskip("torch")
    names = {"AutoModelForCausalLM": pytest.importorskip("transformers").AutoModelForCausalLM}
    monkeypatch.chdir(ROOT)
    page = README.read_text()
    page = page.split("## Attention in PyTorch\n")[1].split("\n## ")[0]
    blocks, texts = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "text"))
    assert len(blocks) == len(texts) == 2
    for block, text in zip(blocks, texts):
        exec(block, names)
        assert capsys.readouterr().out == text
