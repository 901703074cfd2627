"""sinklab.torch.operation: own operations against autograd in float64, their cache, and the messages of the compiler. Skipped
without torch and without a C++ compiler."""
import os
import shutil
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

import sinklab  # noqa: E402
import sinklab.torch  # noqa: E402
from sinklab import _core  # noqa: E402

if not os.environ.get("CXX") and shutil.which(_core.compiler) is None:
    pytest.skip(f"there is no {_core.compiler}", allow_module_level=True)

TEMPERED = """// e^(x - 1) / 8
struct ShiftedExp : AttentionOpDefaults {
  SINK_HD static auto g(auto x) { return exp_fast(x - 1) / 8; }
};
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "sinklab"


def cpu_seconds():
    times = os.times()
    return times.children_user + times.children_system


def compare(op, weights, dtype, bound):
    """Of weights(s, mask, n) in float64: s is 0 where a query does not see a key."""
    random = torch.Generator().manual_seed(1)
    q, k, v, upstream = (torch.randn(2, 2, 40, 16, generator=random, dtype=torch.float64) for _ in range(4))
    results = []
    for exact in (False, True):
        inputs = [x.to(torch.float64 if exact else dtype).requires_grad_() for x in (q, k, v)]
        if exact:
            mask = torch.tril(torch.ones(40, 40, dtype=torch.float64))
            s = inputs[0] @ inputs[1].mT / 4
            o = weights(s * mask, mask, mask.sum(-1, keepdim=True)) @ inputs[2]
        else:
            o = sinklab.torch.attention(*inputs, op=op)
        o.backward(upstream.to(o.dtype))
        results.append([o.detach(), *(x.grad for x in inputs)])
    for ours, theirs in zip(*results):
        assert (ours - theirs).abs().max() <= bound * theirs.abs().max()


def test_formulas_equal_autograd_in_float64_and_compile_once(cache):
    before = cpu_seconds()
    op = sinklab.torch.operation("ShiftedExp", g="exp(x - 1) / 8")
    compiled = cpu_seconds() - before
    assert 0.5 < compiled < 12, compiled  # CPU seconds, since other work may run
    weights = lambda s, mask, n: torch.exp(s - 1) / 8 * mask
    compare(op, weights, torch.float32, 1e-5)
    compare(op, weights, torch.float64, 1e-12)
    library, = cache.iterdir()
    changed, began = library.stat().st_mtime_ns, time.monotonic()
    assert sinklab.torch.operation("ShiftedExp", g="exp(x - 1) / 8") == op
    assert time.monotonic() - began < 3 and library.stat().st_mtime_ns == changed
    assert op.name == "ShiftedExp" and repr(op) == "Operation(name='ShiftedExp')"
    assert sinklab.torch.operation_names().count("ShiftedExp") == 0
    q = torch.randn(1, 2, 9, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: sinklab.torch.attention(q, q, q, op=op), (q,))
    # Another process finds it.
    code = "import sinklab.torch; sinklab.torch.operation('ShiftedExp', g='exp(x - 1) / 8')"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert library.stat().st_mtime_ns == changed


def test_all_formulas_together():
    op = sinklab.torch.operation("Powered", g="sigmoid(x)", normalizer="sum", r="pow(sigmoid(x), 1.5)", z="sqrt(S + 1e-8) + .5",
                                 post="min(1.25 * w, 0.4)")
    compare(op, lambda s, mask, n: torch.clamp(1.25 * torch.sigmoid(s) * mask
                                               / (torch.sqrt((torch.sigmoid(s)**1.5 * mask).sum(-1, keepdim=True) + 1e-8) + 0.5),
                                               max=0.4), torch.float32, 2e-5)


def test_a_struct_in_a_file(tmp_path):
    (tmp_path / "my attention.h").write_text(TEMPERED)
    op = sinklab.torch.operation("ShiftedExp", file=tmp_path / "my attention.h")
    compare(op, lambda s, mask, n: torch.exp(s - 1) / 8 * mask, torch.float32, 1e-5)


WRONG = {
    "a parenthesis": (dict(g="exp(x - 1"), r"g, line 1: expected .*: exp\(x - 1$"),
    "a name": (dict(g="2 * y"), r"g, line 1: '?.?y.* was not declared.*: 2 \* y$|g, line 1: use of undeclared"),
    "a function": (dict(g="1 +\nmy_own(x)"), r"g, line 2: .*my_own.*: my_own\(x\)$"),
    "a power": (dict(g="x ** 2"), r"g, line 1: "),
    "z": (dict(g="x", normalizer="sum", z="S +* 1"), r"z, line 1: "),
    "a struct": (dict(source=TEMPERED.replace("/ 8;", "/ 8")), r"source, line 3: expected '?.*;.*SINK_HD static auto g"),
    "of one type": (dict(source="struct ShiftedExp : AttentionOpDefaults {\n  SINK_HD static float g(float x) { return x; }\n};"),
                    "has g.x. of one type only, so that the compiler cannot derive it"),
    "without g": (dict(source="struct ShiftedExp : AttentionOpDefaults {};"), "has no g.x., the similarity of a score"),
    "without a property": (dict(source="struct ShiftedExp : AttentionOpDefaults {\n  SINK_HD static auto g(auto x) { return x; }\n"
                                "  SINK_HD static auto z(auto S) { return S; }\n};"), "has no effect: state|which has no effect"),
    "another struct": (dict(source=TEMPERED.replace("ShiftedExp", "Tempered")), "source has no struct ShiftedExp"),
    "a wrong derivative": (dict(source=TEMPERED.replace("};", "  SINK_HD static auto dg(auto x) { return x; }\n};")),
                           "a derivative dg that is not the one of its g"),
    "no file": (dict(file="no/such.h"), "no/such.h' cannot be read: No such file or directory"),
    "no text": (dict(g=3), "g must be a text in C.., got 3"),
    "an empty text": (dict(g=" "), "g must be a text"),
    "nothing": ({}, "give one of g, source and file"),
    "both": (dict(g="x", source=TEMPERED), "give one of g, source and file"),
    "r of a struct": (dict(source=TEMPERED, r="x"), "r, z, post and normalizer belong to g"),
    "a normalizer": (dict(g="x", normalizer="max"), "normalizer must be none, sum or key_count, got 'max'"),
    "z without effect": (dict(g="x", z="S"), "z has no effect with the normalizer none"),
    "r without effect": (dict(g="x", normalizer="key_count", r="x"), "r has no effect with the normalizer key_count"),
}


@pytest.mark.parametrize("given, text", WRONG.values(), ids=WRONG)
def test_wrong_operations_are_one_sentence(given, text):
    with pytest.raises(sinklab.Error, match=text) as caught:
        sinklab.torch.operation("ShiftedExp", **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "con smax", "x;", 3, "conSmax"])
def test_wrong_names(name):
    with pytest.raises(sinklab.Error, match="the name of an operation must be a C.. name"):
        sinklab.torch.operation(name, g="x")
    with pytest.raises(sinklab.Error, match="the engine has an operation Softmax"):
        sinklab.torch.operation("Softmax", g="x")


def test_caches_that_cannot_be_used(cache, monkeypatch, tmp_path):
    sinklab.torch.operation("Kept", g="x")
    library = next(cache.glob("Kept-*.so"))
    data = library.read_bytes()
    library.unlink()  # this process has loaded it
    library.write_bytes(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
    with pytest.raises(sinklab.Error, match="Kept-.* is not what was compiled: it was damaged or changed; remove it"):
        sinklab.torch.operation("Kept", g="x")
    library.unlink()
    cache.chmod(0o777)
    with pytest.raises(sinklab.Error, match="can be written by others, who could change what is run: chmod 700"):
        sinklab.torch.operation("Kept", g="x")
    cache.chmod(0o700)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(sinklab.Error, match="cannot be written: Not a directory; set XDG_CACHE_HOME"):
        sinklab.torch.operation("Kept", g="x")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    with pytest.raises(sinklab.Error, match="the cache folder /proc/sinklab cannot be written"):
        sinklab.torch.operation("Kept", g="x")


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(sinklab.Error, match="there is no C.. compiler no-such-compiler: install g.., or name one in CXX"):
        sinklab.torch.operation("ShiftedExp", g="x")
    monkeypatch.setenv("CXX", sys.executable)
    with pytest.raises(sinklab.Error, match="does not compile") as caught:
        sinklab.torch.operation("ShiftedExp", g="x")
    assert "\n" not in str(caught.value)
