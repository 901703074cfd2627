"""Runs the notebook with few steps. Skipped without matplotlib."""
import json
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "tools/python/sinks.ipynb"


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
