"""tools/try_table.py: each of its verdicts, its means by hand, and runs that did not end."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(folder, name, sink_1=100.0, raw=None, loss=2.0, mass=1.0, seconds=10.0):
    """A run folder with what a training measures."""
    place = pathlib.Path(folder) / name
    place.mkdir()
    # Sink_1 at 0.2, 0.3 and 0.4: only the one at 0.3 may be read.
    (place / "evaluation.json").write_text(json.dumps({
        "sink_epsilon": [0.2, 0.3, 0.4], "sink_1": [-1, sink_1, -1], "sink_1_raw": [-1, sink_1 if raw is None else raw, -1],
        "val_loss": loss, "alpha_1": 0.5, "alpha_1_raw": 0.25, "row_mass": mass, "entropy": 1.5, "context": 2}))
    (place / "metrics.jsonl").write_text('{"tokens": 1, "seconds": 9}\n{"tokens": 1000, "seconds": %g}\n' % seconds)


def table(folder, names, seeds="2"):
    program = [sys.executable, "-B", str(ROOT / "tools/try_table.py"), folder, "softmax", "40", seeds, *names]
    done = subprocess.run(program, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done


def ends(done, name, text):
    line = next(line for line in done.stdout.splitlines() if line.startswith(name + " "))
    assert line.endswith("  " + text), f"{line!r} does not end with {text!r}"
    return line


def check_verdicts():
    cases = {
        "sinks": (dict(), dict(sink_1=30.0), "sinks in every seed"),
        "only_proxy": (dict(raw=2.9), dict(raw=0), "sinks by proxy weights; as they act (raw), not"),
        "raw_differs": (dict(raw=2.9), dict(raw=30), "sinks by proxy weights; raw undecided"),
        "no_sink": (dict(sink_1=2.9), dict(sink_1=0), "does not sink in any seed"),
        "differs": (dict(sink_1=29.9), dict(), "undecided: seeds differ"),
        "between": (dict(sink_1=3.0), dict(sink_1=0), "undecided: seeds differ"),
        "off": (dict(sink_1=0, mass=0.09), dict(sink_1=0), "does not sink in any seed"),
        "all_off": (dict(sink_1=0, mass=0.09), dict(sink_1=0, mass=0.09), "does not sink in any seed; attention is almost off"),
        "worse": (dict(sink_1=0, loss=2.2), dict(sink_1=0, loss=2.2), "does not sink in any seed; learned less than the baseline"),
    }
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "softmax-1", loss=2.0)
        run(folder, "softmax-2", loss=2.2, seconds=30.0)
        for name, (one, two, _) in cases.items():
            run(folder, name + "-1", **one)
            run(folder, name + "-2", **two)
        done = table(folder, cases)
        for name, (_, _, text) in cases.items():
            ends(done, name, text)
        # The mean loss, (100 + 100/3) / 2 tokens per second, and (1 + 1/2) / 2 for two tokens.
        line = ends(done, "softmax", "sinks in every seed")
        assert line.split()[1:10] == ["2.1000", "100.0", "(100.0)", "0.500", "(0.250)", "0.750", "1.500", "1.000", "1.00"], line
        assert " 1.50 x " in ends(done, "sinks", "sinks in every seed")
        assert done.returncode == 0
        ends(table(folder, ["sinks"], "1"), "sinks", "one seed: no verdict")


def check_failures():
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "softmax-1", sink_1=29.9)
        run(folder, "softmax-2")
        run(folder, "mine-1", sink_1=0)
        run(folder, "mine-2", sink_1=0)
        run(folder, "diverges-1")
        (pathlib.Path(folder) / "diverges-2.log").write_text("error: first\nerror: the loss is NaN at step 3; lower it. More\n")
        (pathlib.Path(folder) / "killed-1.log").write_text("")
        (pathlib.Path(folder) / "killed-2.log").write_text("")
        done = table(folder, ["mine", "diverges", "killed"])
        ends(done, "mine", "no verdict: the baseline does not sink either, train longer")
        assert "diverges                 did not end: the loss is NaN at step 3\n" in done.stdout, done.stdout
        assert "killed                   did not end: it was stopped\n" in done.stdout, done.stdout
        assert done.returncode == 1
        for seed in "12":  # the baseline itself
            (pathlib.Path(folder) / f"softmax-{seed}" / "evaluation.json").unlink()
            (pathlib.Path(folder) / f"softmax-{seed}.log").write_text("train_softmax: error: no memory\n")
        done = table(folder, ["mine"])
        assert "softmax                  did not end: no memory\n" in done.stdout, done.stdout
        ends(done, "mine", "no verdict: the baseline does not sink either, train longer")


check_verdicts()
check_failures()
