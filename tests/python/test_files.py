"""Checkpoints and the folders of runs."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import sinklab


@pytest.fixture
def saved(tmp_path):
    model = sinklab.ablation("bias_k", vocabulary=12, layers=2, heads=2, width=16, feed_forward=16, context=8)
    model.train_step([1, 2, 3, 4])
    model.save(tmp_path / "checkpoint.h5")
    return model, tmp_path


def test_a_checkpoint_has_the_parameters_of_its_model(saved):
    model, folder = saved
    checkpoint = sinklab.Checkpoint(folder)
    assert sorted(checkpoint) == sorted(model.parameter_names()) and len(checkpoint) == len(model.parameter_names())
    for name in checkpoint:
        np.testing.assert_array_equal(checkpoint[name], model.parameter(name))
        assert len(checkpoint.axes[name].split()) == checkpoint[name].ndim
    assert checkpoint.attributes["ablation"] == "bias_k" and checkpoint.attributes["step"] == "1"
    # Its batches were the caller's, so eval_<ablation> asks for data instead of measuring on the synthetic task.
    assert tomllib.loads(checkpoint.attributes["config_toml"])["task"] == "text"
    np.testing.assert_array_equal(sinklab.load(folder)([1, 2, 3]), model([1, 2, 3]))
    with pytest.raises(KeyError, match="nothing"):
        checkpoint["nothing"]
    with pytest.raises(sinklab.Error, match="exists"):
        model.save(folder / "checkpoint.h5")


@pytest.mark.parametrize("name", sinklab.ablation_names())
def test_every_ablation_is_loaded_as_it_was_saved(name, tmp_path):
    model = sinklab.ablation(name, vocabulary=12, layers=2, heads=2, width=16, head_width=64, feed_forward=16, context=8)
    model.train_step([1, 2, 3, 4])
    model.save(tmp_path / "checkpoint.h5")
    np.testing.assert_array_equal(sinklab.load(tmp_path)([1, 2, 3]), model([1, 2, 3]))


def test_the_version_is_that_of_the_project():
    cmake = (pathlib.Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
    assert sinklab.__version__ == re.search(r"project\(sinklab VERSION ([0-9.]+)", cmake).group(1)


def test_a_checkpoint_is_that_of_h5py(saved):
    h5py = pytest.importorskip("h5py")
    model, folder = saved
    checkpoint = sinklab.Checkpoint(folder / "checkpoint.h5")
    with h5py.File(folder / "checkpoint.h5") as file:
        for name in checkpoint:
            np.testing.assert_array_equal(checkpoint[name], file["parameters/" + name][...])


def test_a_damaged_checkpoint_is_refused(saved):
    _, folder = saved
    whole = bytearray((folder / "checkpoint.h5").read_bytes())
    for position in (10, len(whole) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        (folder / "damaged.h5").write_bytes(damaged)
        with pytest.raises(sinklab.Error) as caught:
            sinklab.Checkpoint(folder / "damaged.h5")
        assert caught.value.code == "corrupt_checkpoint"
    with pytest.raises(sinklab.Error):
        sinklab.Checkpoint(folder / "none.h5")


def test_names_and_texts_that_are_not_utf8(saved):
    model, folder = saved
    path = os.fsencode(folder) + b"/\xff\xfe.h5"
    model.save(path)
    for given in (path, os.fsdecode(path)):
        np.testing.assert_array_equal(sinklab.Checkpoint(given)["final_norm.gain"], model.parameter("final_norm.gain"))
        assert sinklab.load(given).path == os.fsdecode(path)


def test_attributes_that_are_not_utf8(saved):
    """As of a model that was imported from such a path."""
    h5py = pytest.importorskip("h5py")
    path = saved[1] / "checkpoint.h5"
    with h5py.File(path, "r+") as file:
        file.attrs["imported_from"] = np.bytes_(b"\xff/model.bin")
    data = path.read_bytes()[512:]
    header = (f"sinklab-checkpoint 1\nbytes {len(data)}\nsha256 {hashlib.sha256(data).hexdigest()}\n"
              "HDF5 follows these 512 bytes; look inside with: h5ls -r FILE\n")
    path.write_bytes(header.encode().ljust(512, b"\0") + data)
    assert os.fsencode(sinklab.Checkpoint(path).attributes["imported_from"]) == b"\xff/model.bin"


def test_the_folder_of_a_run(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "config.toml").write_text('ablation = "baseline"\nlearning-rate = 0.004\nsteps = 2\n')
    (tmp_path / "metrics.jsonl").write_text('{"step":1,"train_loss":4.1,"sink_1":0}\n{"step":2,"train_loss":"nan"}\n')
    maps = {"layers": 1, "heads": 2, "extra_key": False, "tokens": [["a", "b"]], "weights": [[[[[1], [0.25, 0.75]], None]]]}
    evaluation = {"run": "nan", "val_loss": 3.5, "entropy": "nan", "alpha_k": [0.5, "inf"], "maps": maps}
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation))
    run = sinklab.Run(tmp_path)
    assert np.isnan(run.evaluation["entropy"]) and run.evaluation["alpha_k"] == [0.5, np.inf]
    assert run.evaluation["run"] == "nan"
    assert run.metrics["step"].tolist() == [1, 2] and np.isnan(run.metrics["train_loss"][1])
    assert run.metrics["sink_1"][0] == 0 and np.isnan(run.metrics["sink_1"][1])
    assert run.settings["learning-rate"] == 0.004 and run.evaluation["val_loss"] == 3.5
    np.testing.assert_array_equal(run.maps[0, 0, 0], [[1, 0], [0.25, 0.75]])
    for index in ((0, 0, 1), (1, 0, 0), (0, 0, 2), 3, "a", (slice(None), 0, 0), (0, 0)):
        with pytest.raises(IndexError):
            run.maps[index]
    with pytest.raises(sinklab.Error):
        run.checkpoint
    (tmp_path / "metrics.jsonl").write_text('{"step":1}\n{"st')
    with pytest.raises(sinklab.Error, match="line 2"):
        sinklab.Run(tmp_path).metrics
    (tmp_path / "evaluation.json").write_text("{")
    (tmp_path / "config.toml").write_text("steps = ")
    for broken, file in ((lambda run: run.evaluation, "evaluation.json is not JSON"), (lambda run: run.settings, "config.toml is not TOML")):
        with pytest.raises(sinklab.Error, match=file):
            broken(sinklab.Run(tmp_path))
    with pytest.raises(sinklab.Error, match="no config.toml"):
        sinklab.Run(tmp_path / "none")


def test_tables_have_a_row_for_each_head_and_key(monkeypatch):
    pytest.importorskip("pandas")
    model = sinklab.ablation("bias_k", vocabulary=12, layers=3, heads=2, width=16, feed_forward=16, context=8)
    scores, sums = model.sink_scores([[1, 2, 3, 4], [5, 6, 7, 8]]), sinklab.attention_sums(model, [1, 2, 3, 4, 5])
    heads, keys = scores.to_frame(), sums.to_frame()
    assert list(heads) == ["layer", "head", "alpha_1", "alpha_2", "alpha_3", "alpha_4", "alpha_1_raw", "row_sum", "alpha_star"]
    assert list(keys) == ["layer", "head", "key", "alpha", "alpha_raw", "largest", "rows"] and len(heads) == 6 and len(keys) == 30
    for row in heads.itertuples():
        assert [row.alpha_1, row.alpha_2, row.alpha_3, row.alpha_4] == scores.alpha_k[row.layer, row.head].tolist()
        assert row.alpha_1_raw == scores.alpha_1_raw_layer_head[row.layer, row.head] and row.row_sum == scores.row_sum[row.layer, row.head]
        assert row.alpha_star == scores.alpha_star[row.layer, row.head]
    for row in keys.itertuples():
        for name in ("alpha", "alpha_raw", "largest"):
            assert getattr(row, name) == getattr(sums, name)[row.layer, row.head, row.key]
        assert row.rows == 5 - row.key
    assert "alpha_star" not in sinklab.ablation("baseline", vocabulary=12).sink_scores([1, 2]).to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="a table needs pandas: pip install pandas"):
        scores.to_frame()


def test_types_are_those_that_pyright_finds(tmp_path):
    """The types of the public functions, and no error in the package itself."""
    pytest.importorskip("pyright")
    package = pathlib.Path(sinklab.__file__).parent
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(package.parent)], "pythonVersion": "3.11"}))
    (tmp_path / "use.py").write_text(USE)
    own = [str(file) for file in package.glob("*.py")]  # sinklab.torch needs the types of torch
    checked = subprocess.run([sys.executable, "-m", "pyright", "-p", str(tmp_path), "--pythonpath", sys.executable, str(tmp_path / "use.py"), *own],
                             capture_output=True, text=True, env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"})
    assert checked.returncode == 0 and "0 errors" in checked.stdout, checked.stdout + checked.stderr


USE = """
from typing import Any, assert_type
import numpy as np
import pandas
import sinklab
from sinklab import ActivationCache, AttentionSums, SinkScores

model = sinklab.load("x")
hooks = [("pattern", lambda pattern, name: None)]
assert_type(model("a"), np.ndarray)
assert_type(model(["a", "b"]), list[np.ndarray])
assert_type(model([1, 2]), np.ndarray)
assert_type(model([[1, 2]], return_type="loss"), float)
assert_type(model("a", "both"), tuple[np.ndarray, float])
assert_type(model(["a"], "both"), list[tuple[np.ndarray, float]])
assert_type(model.run_with_hooks("a", hooks), np.ndarray)
assert_type(model.run_with_hooks(["a"], hooks, return_type="loss"), list[float])
assert_type(model.run_with_hooks("a", [(("pattern", 3), lambda pattern, name: pattern * 2)]), np.ndarray)
assert_type(model.loss([1, 2], [2, -1]), float)
assert_type(model.loss("a", per_token=True), np.ndarray)
assert_type(model.loss(["a"], per_token=True, fwd_hooks=hooks), list[np.ndarray])
assert_type(model.sink_scores(["a"]), list[SinkScores])
assert_type(sinklab.sink_scores(model, "a"), SinkScores)
assert_type(sinklab.sink_scores(model, ["a"]), list[SinkScores])
assert_type(sinklab.attention_sums(model, "a"), AttentionSums)
assert_type(sinklab.attention_sums(model, ["a"]), list[AttentionSums])
assert_type(model.sink_scores("a").to_frame(), pandas.DataFrame)
assert_type(sinklab.attention_sums(model, "a").to_frame(), pandas.DataFrame)
assert_type(model.to_tokens("a"), np.ndarray)
assert_type(model.to_tokens(["a"], prepend_bos=False), list[np.ndarray])
assert_type(model.to_str_tokens(["a"]), list[list[str]])
assert_type(model.to_str_tokens(np.array([1])), list[str])
assert_type(model.to_string([1, 2]), str)
assert_type(model.cfg.n_layers, int)
assert_type(model.cfg["n_layers"], int)
assert_type(model.W_Q, np.ndarray)
model.run_with_cache("a", names_filter=lambda name: True, fwd_hooks=hooks, return_type=None)
model.run_with_cache("a", ["pattern", ("z", 1)])
model.run_with_cache("a", return_type="loss", incl_bwd=True)
assert_type(model([[1, 2]], attention_mask=[[1, 0]]), np.ndarray)
assert_type(model.loss([[1, 2]], attention_mask=np.array([[1, 0]])), float)
assert_type(model.run_with_cache(["a"]), list[tuple[Any, ActivationCache]])
sinklab.set_progress(True)
assert_type(model.run_with_hooks("a", bwd_hooks=hooks, return_type="loss"), float)
model.generate("a", fwd_hooks=hooks)
"""


def test_the_synthetic_task():
    task = sinklab.BigramBackcopy(context=32, seed=3)
    ids, targets = task.batch(5, 8)
    assert ids.shape == targets.shape == (8, 32) and (ids[:, 0] == 0).all() and (targets[:, 0] == -1).all()
    np.testing.assert_array_equal(ids[:, 1:], np.where(targets[:, :-1] == -1, ids[:, 1:], targets[:, :-1]))
    after_trigger = (ids[:, 1:-1] >= 1) & (ids[:, 1:-1] <= 3)
    np.testing.assert_array_equal(ids[:, 2:][after_trigger], ids[:, :-2][after_trigger])
    np.testing.assert_array_equal(task.batch(5, 8)[0], ids)
    assert not np.array_equal(task.batch(6, 8)[0], ids) and 0 < task.entropy_floor < np.log(64)
    assert task.validation()[0].shape == (100, 32)
    for wrong in (lambda: task.batch(-1), lambda: task.batch(0, 0), lambda: sinklab.BigramBackcopy(context=1),
                  lambda: sinklab.BigramBackcopy(seed=-1), lambda: task.batch(1.5), lambda: task.batch(2**63),
                  lambda: task.batch(2**60), lambda: sinklab.BigramBackcopy(context=65536).batch(0, 65536),
                  lambda: sinklab.BigramBackcopy(context=8.5), lambda: task.validation(101)):
        with pytest.raises(sinklab.Error, match="must be a whole number"):
            wrong()
    with pytest.raises(sinklab.Error, match="sequences must be a whole number from 1 to 100, got 101"):
        task.validation(101)
