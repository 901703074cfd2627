"""Wrong arguments are Python exceptions with one clear sentence; nothing ends or damages the interpreter."""
import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import sinklab
from golden import MODELS

IDS = [1, 2, 3, 4]


@pytest.fixture(scope="module")
def model():
    return sinklab.load(MODELS / "llama")


@pytest.mark.parametrize("path, text", [
    ("no/such/model.gguf", "no/such/model.gguf"),
    ("no-org/no-model", "hf download no-org/no-model"),
    ("", "expected the path"),
    ("a\0b", "expected the path"),
    (str(pathlib.Path(__file__).parent), "is not a file"),
    (__file__, "test_errors.py"),
    (b"\xff\xfe", "xff"),
    ("a" * 60000, "File name too long"),
])
def test_a_missing_or_foreign_model(path, text):
    with pytest.raises(sinklab.Error, match=text) as caught:
        sinklab.load(path)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)
    assert caught.value.code in ("usage", "bad_input", "corrupt_checkpoint")


def test_a_damaged_model(tmp_path):
    whole = (MODELS / "llama.gguf").read_bytes()
    for size in (0, 3, 24, 1000, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.gguf").write_bytes(whole[:size])
        with pytest.raises(sinklab.Error):
            sinklab.load(tmp_path / "cut.gguf")


def test_arguments_of_load():
    with pytest.raises(sinklab.Error, match="dtype must be float32, float64 or bfloat16, got float16"):
        sinklab.load(MODELS / "llama", dtype="float16")
    with pytest.raises(sinklab.Error, match="CUDA|float64|f64"):
        sinklab.load(MODELS / "llama", dtype="float64", device="cuda")
    with pytest.raises(sinklab.Error):
        sinklab.load(MODELS / "llama", device="tpu")
    for wrong in (dict(dtype=np.float32), dict(device=0)):
        with pytest.raises(sinklab.Error, match="must be a text"):
            sinklab.load(MODELS / "llama", **wrong)
    with pytest.raises(TypeError):
        sinklab.load(3.5)


@pytest.mark.parametrize("ids, text", [
    ([], "not empty"), ([[]], "not empty"), (np.zeros((0,), int), "not empty"),
    ([-1], "from 0 to 39, got -1"), ([40], "got 40"), ([2**40], "got 1099511627776"), ([2**32 + 1], "got 4294967297"),
    ([1.5], "integer token ids"), ([True], "integer token ids"), (np.array(["a"]), "integer token ids"),
    (np.zeros((1, 1, 1), int), "shape"), (3, "shape"), (None, "integer token ids"), ([2**70], "integer token ids"),
    ([1] * 33, "context (of )?32$|context 32, got"), (np.ones((2, 33), int), "context (of )?32|one prompt"),
])
def test_wrong_ids(model, ids, text):
    for call in (model, model.run_with_cache, model.sink_scores, lambda ids: model.loss(ids), model.generate):
        with pytest.raises(sinklab.Error, match=text):
            call(ids)


def test_ragged_ids_and_lists_with_a_text_are_refused(model):
    ragged = [[1, 2], [3]]
    hook = lambda activation, name: [[1.0, 2.0], [3.0]]
    for call in (lambda: model(ragged), lambda: model.loss(IDS, targets=ragged), lambda: model.decode(ragged), lambda: model([1, [2]]),
                 lambda: model.tokens((np.ones(2, int), np.ones(3, int))), lambda: model.run_with_hooks(IDS, [(("pattern", 0), hook)])):
        with pytest.raises(sinklab.Error, match="lists of unequal length; give sequences of one length") as caught:
            call()
        assert "\n" not in str(caught.value)
    for texts in (["a", "b c"], ("a", [1])):
        with pytest.raises(sinklab.Error, match="got a list of 2 with a text in it; give one text at a time"):
            model.generate(texts)


def test_an_unknown_ablation_names_what_a_user_of_the_package_has():
    with pytest.raises(sinklab.Error, match=r"'baselin' is not one of the \d+ ablations that sinklab.ablation_names\(\) lists; did you mean baseline"):
        sinklab.ablation("baselin")
    with pytest.raises(sinklab.Error) as caught:
        sinklab.ablation("zzz")
    assert "cmake" not in str(caught.value)


def test_texts_of_a_model_without_tokenizer(model):
    with pytest.raises(sinklab.Error, match="no tokenizer"):
        model("Hello")
    with pytest.raises(sinklab.Error, match="not Unicode"):
        model("\ud800")


@pytest.mark.parametrize("ids", [np.arange(20)[::5], np.arange(20, dtype=np.uint8)[::-7], np.asfortranarray([[1, 2], [3, 4]]),
                                 np.array([1, 2, 3], ">i4"), np.arange(24).reshape(4, 6)[:, ::2].T, tuple(IDS), range(4)])
def test_layouts_and_types_of_ids(model, ids):
    expected = np.array(ids).tolist()
    np.testing.assert_array_equal(model(ids), model(expected))


def test_generation_refuses(model):
    for wrong in (dict(max_new_tokens=0), dict(temperature=-1), dict(temperature=float("nan")), dict(top_p=0), dict(top_p=2),
                  dict(seed=-1), dict(max_new_tokens=2.5), dict(max_new_tokens=2**63), dict(max_new_tokens=True),
                  dict(temperature="1"), dict(temperature=None), dict(seed=1.0), dict(seed=2**64)):
        with pytest.raises(sinklab.Error, match=f"{next(iter(wrong))} must be"):
            model.generate(IDS, **{"temperature": 1, **wrong})
    for unread in (dict(top_p=0.5), dict(seed=0), dict(top_p=1, seed=2, temperature=0)):
        with pytest.raises(sinklab.Error, match="temperature above 0 only"):
            model.generate(IDS, **unread)
    given = dict(max_new_tokens=np.int64(3), temperature=np.float32(0.5), top_p=np.float64(0.9), seed=np.uint64(3))
    np.testing.assert_array_equal(model.generate(IDS, stop_at_eos=np.bool_(True), **given),
                                  model.generate(IDS, 3, 0.5, 0.9, 3))
    with pytest.raises(sinklab.Error):
        model.generate([IDS, IDS])
    with pytest.raises(sinklab.Error):
        model.generate([1] * 40)
    assert len(model.generate(IDS, max_new_tokens=10**6)) <= 33  # the end of the context


def test_names(model):
    _, cache = model.run_with_cache(IDS, names=["pattern", ("z", 0)])
    assert sorted(cache) == ["blocks.0.attn.hook_pattern", "blocks.0.attn.hook_z", "blocks.1.attn.hook_pattern"]
    assert ("pattern", 1) in cache and ("pattern", -1) in cache and ("v", 0) not in cache and 7 not in cache
    for key in (("pattern", 2), ("pattern", -3), "pattern", ("nothing", 0), ("v", 0), ("pattern", 0, 1), (), 3):
        with pytest.raises(KeyError):
            cache[key]
    for names in ("nothing", ("pattern", 2), ("nothing", 0), ["blocks.7.attn.hook_z"], 3, [3], ("pattern", None),
                  ("pattern", 0, 1, 2), [("z", 0, 1)], ("normalized", 0, "ln1", 2)):
        with pytest.raises(sinklab.Error):
            model.run_with_cache(IDS, names=names)
    with pytest.raises(sinklab.Error, match="several names as a list"):
        model.run_with_cache(IDS, names=("pattern", "z"))


def test_resid_mid_is_in_the_cache_where_it_can_be_computed(model):
    _, cache = model.run_with_cache(IDS, names=[("resid_pre", 0), ("attn_out", 0), ("resid_pre", 1)])
    assert ("resid_mid", 0) in cache and cache["resid_mid", 0].shape == (1, 4, model.cfg["d_model"])
    assert ("resid_mid", 1) not in cache and cache.get(("resid_mid", 1)) is None
    _, cache = sinklab.load(MODELS / "gpt_neox").run_with_cache(IDS)  # attention and feed-forward in parallel
    assert ("resid_mid", 0) not in cache and cache.get(("resid_mid", 0)) is None


def test_hooks(model):
    plain = model(IDS)
    np.testing.assert_array_equal(model.run_with_hooks(IDS, [("pattern", lambda pattern, name: None)]).argmax(-1),
                                  plain.argmax(-1))
    np.testing.assert_array_equal(model.run_with_hooks(IDS, [("z", lambda z, name: None)]), plain)
    shapes = {}
    model.run_with_hooks(IDS, [(lambda name: not name.endswith("attn_scores"),
                               lambda array, name: shapes.update({name: array.shape}))])
    _, cache = model.run_with_cache(IDS)
    assert {name: cache[name].shape for name in shapes} == shapes and len(shapes) == 29

    def in_place(z, name):
        z[:] = 0

    changed = model.run_with_hooks(IDS, [(("z", 1), in_place)])
    np.testing.assert_allclose(changed, model.run_with_hooks(IDS, [(("attn_out", 1), lambda x, name: x * 0)]), atol=1e-5)
    assert np.abs(changed - plain).max() > 1e-3
    for wrong in (lambda z, name: z[:, :1], lambda z, name: "text", lambda z, name: 1, lambda z, name: z.astype(complex)):
        with pytest.raises(sinklab.Error, match="hook_z returned"):
            model.run_with_hooks(IDS, [(("z", 0), wrong)])
    with pytest.raises(sinklab.Error, match="cannot run a model"):
        model.run_with_hooks(IDS, [(("z", 0), lambda z, name: model(IDS))])
    with pytest.raises(ZeroDivisionError):
        model.run_with_hooks(IDS, [(("z", 0), lambda z, name: 1 / 0)])
    with pytest.raises(sinklab.Error, match="not replaced"):
        model.run_with_hooks(IDS, [(("attn_scores", 0), lambda x, name: x)])
    nothing = lambda z, name: None  # noqa: E731
    for wrong in ([(("z", 0), 3)], {"z": nothing}, ("z", nothing), [("z", 0, nothing)], ["z"], [nothing], None, 3, nothing, "z",
                  [("z", "text")]):
        for call in (lambda: model.run_with_hooks(IDS, wrong), lambda: model.loss(["a"], fwd_hooks=wrong),
                     lambda: model.run_with_cache(IDS, fwd_hooks=wrong), lambda: model.generate(IDS, fwd_hooks=wrong)):
            with pytest.raises(sinklab.Error, match=r"^fwd_hooks is a list of pairs of a name and a function, such as .*, got .*$"):
                call()
        with pytest.raises(sinklab.Error, match="^bwd_hooks is a list of pairs of a name and a function"):
            model.run_with_hooks(IDS, bwd_hooks=wrong, return_type="loss")
    np.testing.assert_array_equal(model(IDS), plain)  # after all of this


def test_a_pattern_can_be_replaced(model):
    def uniform(pattern, name):
        mask = np.tri(pattern.shape[-1])
        return np.broadcast_to(mask / mask.sum(-1, keepdims=True), pattern.shape)

    _, cache = model.run_with_cache(IDS)
    seen = {}
    model.run_with_hooks(IDS, [(("pattern", 0), uniform), (("z", 0), lambda z, name: seen.update(z=z.copy()))])
    v = np.repeat(cache["v", 0], 2, axis=2)
    expected = np.cumsum(v, axis=1) / np.arange(1, 5)[:, None, None]
    np.testing.assert_allclose(seen["z"], expected, rtol=1e-5, atol=1e-6)


def test_arrays_outlive_their_model():
    model = sinklab.load(MODELS / "gpt2")
    logits, cache = model.run_with_cache(IDS)
    parameter = model.parameter(model.parameter_names()[0])
    copies = [logits.copy(), {name: array.copy() for name, array in cache.items()}, parameter.copy()]
    pattern = cache["pattern", 0]
    del model
    gc.collect()
    other = sinklab.load(MODELS / "llama")
    for _ in range(20):
        other(IDS)
    np.testing.assert_array_equal(logits, copies[0])
    for name, array in cache.items():
        np.testing.assert_array_equal(array, copies[1][name])
    np.testing.assert_array_equal(parameter, copies[2])
    del cache
    gc.collect()
    assert pattern.shape == (1, 3, 4, 4) and np.isfinite(pattern).all()


def test_arrays_of_a_cache_are_read_only_and_not_copied(model):
    _, cache = model.run_with_cache(IDS)
    for array in cache.values():
        assert not array.flags.writeable and not array.flags.owndata
        with pytest.raises(ValueError):
            array[...] = 0


def test_threads_compute_at_once_and_get_the_same_values(model):
    expected, got = model(IDS), {}

    def run(n):  # half of them with hooks, which need the GIL
        hooks = [("z", lambda z, name: None)] if n % 2 else []
        got[n] = all(np.array_equal(model.run_with_hooks(IDS, hooks), expected) for _ in range(30))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert got == {n: True for n in range(4)}


def slow_model():
    return sinklab.ablation("baseline", vocabulary=512, layers=8, heads=4, width=256, feed_forward=1024, context=512)


def test_the_gil_is_released():
    model, ids = slow_model(), np.ones((8, 512), int)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin, before = time.perf_counter(), counted[0]
    model(ids)
    seconds, while_computing = time.perf_counter() - begin, counted[0] - before
    stop.set()
    thread.join()
    assert while_computing > 20 * seconds, f"{while_computing} counts in {seconds:.2f} s"


@pytest.mark.parametrize("call", [lambda model, ids: model(ids), lambda model, ids: model.train_step(ids),
                                  lambda model, ids: model.sink_scores(ids)])
def test_ctrl_c_ends_a_computation(call):
    model, ids = slow_model(), np.ones((24, 512), int)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts jobs in the background without
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    begin = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(200):
                call(model, ids)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - begin < 20
    assert np.isfinite(model(ids[:1, :8])).all()


@pytest.mark.parametrize("call", [lambda model, ids: model.generate(ids, max_new_tokens=1),
                                  lambda model, ids: model.sink_scores(ids)])
def test_ctrl_c_ends_one_long_sequence(call):
    sizes = dict(vocabulary=64, layers=8, heads=4, width=128, feed_forward=256, context=4096)
    model, ids = sinklab.ablation("baseline", **sizes), np.ones(4096, int)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        begin = time.perf_counter()
        call(model, ids)
        whole = time.perf_counter() - begin
        threading.Timer(0.1 * whole, signal.raise_signal, [signal.SIGINT]).start()
        begin = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            call(model, ids)
            time.sleep(60)
        assert time.perf_counter() - begin < 0.7 * whole
    finally:
        signal.signal(signal.SIGINT, before)


def test_ablations():
    names = sinklab.ablation_names()
    assert len(names) >= 80 and "op_sigmoid_none" in names
    for wrong in (dict(name="no_such"), dict(name="baseline", heads=3, width=128), dict(name="baseline", colour=1),
                  dict(name="baseline", run="x"), dict(name="baseline", vocabulary=0), dict(name="baseline", width=-1),
                  dict(name="baseline", init='"]'), dict(name="baseline", learning_rate=float("nan")),
                  dict(name="baseline", layers=1.5), dict(name="baseline", width=[1])):
        with pytest.raises(sinklab.Error):
            sinklab.ablation(**wrong)
    small = dict(vocabulary=8, width=16, heads=2, layers=1, feed_forward=16, context=8)
    as_numpy = dict(vocabulary=np.int64(8), layers=np.int32(1), learning_rate=np.float64(0.01), recompute=np.bool_(True),
                    adam_epsilon=np.float32(1e-6), optimizer=np.str_("adamw"))
    assert sinklab.ablation("baseline", **{**small, **as_numpy}).train_step(IDS).learning_rate == 0.01 / 100
    for wrong in (8.0, True, "8", 2**24 + 1):
        with pytest.raises(sinklab.Error, match="vocabulary must be"):
            sinklab.ablation("baseline", **{**small, "vocabulary": wrong})
    # Settings that neither the model nor its steps read.
    for wrong in (dict(reference=True), dict(threads=1), dict(document_mask=True), dict(reset_positions=True),
                  dict(fixed_token=3), dict(random_from=2), dict(data_fraction=0.5), dict(data_order="released"),
                  dict(loader_ranks=4), dict(eval_sequences=4), dict(prefix_validation="study"), dict(replay_check=4),
                  dict(graph="off"), dict(gradient_sum="fast"), dict(nan_patience=4), dict(accumulate=2), dict(batch=2),
                  dict(eval_every=5), dict(task="text"), dict(initial="a.h5"), dict(steps=9, dry_run=True),
                  {"eval-every": 5}):
        with pytest.raises(sinklab.Error, match="is a setting of a run, which sinklab.ablation does not make"):
            sinklab.ablation("baseline", **small, **wrong)
    for wrong, text in ((dict(ablation="op_relu"), "is a setting of a run"), (dict(momentum=0.1), "is not read"),
                        (dict(optimizer="sgd", beta1=0.1), "is not read"), (dict(experts=4), "mixture of experts"),
                        (dict(min_learning_rate=1e-4), "schedule is constant"),
                        (dict(precision="tf32", device="cuda"), "tf32 is for train_<ablation>")):
        with pytest.raises(sinklab.Error, match=text):
            sinklab.ablation("baseline", **small, **wrong)
    with pytest.raises(sinklab.Error, match="not trained here"):
        sinklab.load(MODELS / "llama").train_step(IDS)
    small = sinklab.ablation("op_sigmoid_none", vocabulary=8, width=16, heads=2, layers=1, feed_forward=16, warmup=0)
    with pytest.raises(sinklab.Error):
        small.train_step(IDS, targets=[1, 2])
    with pytest.raises(sinklab.Error):
        small.train_step(IDS, targets=[1, 2, 3, 8])
    before = small.parameter("embedding.token.weight").copy()
    for call in (small.train_step, small.loss):
        for arguments in (([1],), ([1, 2], [-1, -1]), ([[1], [2]],)):
            with pytest.raises(sinklab.Error, match="has a target"):
                call(*arguments)
    np.testing.assert_array_equal(small.parameter("embedding.token.weight"), before)
    losses = [small.train_step(IDS).loss for _ in range(30)]
    assert losses[-1] < losses[0] / 2


def test_every_ablation_runs():
    for name in sinklab.ablation_names():
        model = sinklab.ablation(name, vocabulary=16, layers=2, heads=2, width=128, feed_forward=16, context=16)
        logits, cache = model.run_with_cache([1, 2, 3, 4, 5])
        assert logits.shape == (5, 16) and np.isfinite(logits).all(), name
        assert all(np.isfinite(array).all() for array in cache.values()), name
        assert model.sink_scores([1, 2, 3, 4, 5]).alpha_1_layer_head.shape == (2, 2), name


EXIT = """
import threading, time, numpy as np, sinklab
model = sinklab.ablation("baseline", vocabulary=512, layers=4, heads=4, width=256, feed_forward=1024, context=512)
hooks = [("z", lambda z, name: None)]

def work(hooks):
    while True:
        model.run_with_hooks(np.ones((4, 512), int), hooks)

for hooks in ([], hooks, hooks):
    threading.Thread(target=work, args=(hooks,), daemon=True).start()
time.sleep(0.7)
"""


def test_the_interpreter_can_end_while_threads_compute():
    package = str(pathlib.Path(sinklab.__file__).parents[1])
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, timeout=60,
                               env={**os.environ, "PYTHONPATH": package})
        assert ended.returncode == 0, ended.stderr


def test_a_forked_process_computes(model):
    def values(pipe):
        pipe.send(model(IDS))

    expected = model(IDS)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe()
    process = context.Process(target=values, args=(sender,))
    process.start()
    np.testing.assert_array_equal(receiver.recv(), expected)
    process.join()


FORK = """
import os, signal, sys, threading, time, numpy as np, sinklab
model = sinklab.ablation("baseline", vocabulary=512, layers=8, heads=4, width=256, feed_forward=1024, context=512)
ids, expected, stop = np.ones((4, 512), int), model([1, 2, 3]), threading.Event()

def work():
    while not stop.is_set():
        model(ids)

thread = threading.Thread(target=work)
thread.start()
time.sleep(0.5)
for n in range(4):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        assert n % 2 or np.array_equal(model([1, 2, 3]), expected)
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
thread.join()
"""


def test_a_process_forked_while_a_thread_computes(model):
    """The child neither waits for that computation nor, when it ends, for that thread."""
    ended = subprocess.run([sys.executable, "-c", FORK], capture_output=True, timeout=120,
                           env={**os.environ, "PYTHONPATH": str(pathlib.Path(sinklab.__file__).parents[1])})
    assert ended.returncode == 0, ended.stderr


def test_activations_that_do_not_fit_are_refused():
    model = sinklab.ablation("baseline", vocabulary=8, layers=2, heads=4, width=16, feed_forward=8, context=65536)
    with pytest.raises(MemoryError, match="names="):
        model.run_with_cache(np.zeros(65536, int))


def test_logits_that_do_not_fit_are_refused(monkeypatch):
    model = sinklab.ablation("baseline", vocabulary=1000, layers=1, heads=1, width=16, feed_forward=8, context=64)
    monkeypatch.setattr("sinklab.model._available_memory", lambda: 4 * 64 * 1000 - 1)
    for wrong in (lambda: model(np.zeros(64, int)), lambda: model.run_with_hooks(np.zeros(64, int), [])):
        with pytest.raises(MemoryError, match="logits"):
            wrong()
    model(np.zeros(63, int))


def test_memory_that_the_engine_keeps_for_the_next_activations_counts_as_free(monkeypatch):
    model = sinklab.ablation("baseline", vocabulary=8, layers=1, heads=1, width=16, feed_forward=8, context=64)
    before_and_after = [0, 10**9]
    monkeypatch.setattr("sinklab.model._available_memory", lambda: before_and_after.pop(0))
    model.run_with_cache(np.zeros(64, int), names="pattern")
    assert not before_and_after


def test_activations_of_float64_take_twice_the_memory(monkeypatch):
    sizes = dict(vocabulary=8, layers=1, heads=1, width=16, feed_forward=8, context=64)
    monkeypatch.setattr("sinklab.model._available_memory", lambda: 6 * 64 * (65 + 8))
    for precision, fits in (("f32", True), ("f64", False)):
        model = sinklab.ablation("baseline", precision=precision, **sizes)
        if fits:
            model.run_with_cache(np.zeros(64, int), names="pattern")
        else:
            with pytest.raises(MemoryError):
                model.run_with_cache(np.zeros(64, int), names="pattern")


@pytest.mark.skipif(not os.path.exists("/usr/bin/qemu-x86_64"), reason="needs qemu-user")
def test_another_processor():
    """An ImportError, where the engine's instructions would end the interpreter."""
    program = "import sys; sys.path[:0] = sys.argv[1:]; import sinklab"
    paths = [str(pathlib.Path(sinklab.__file__).parents[1])]
    ended = subprocess.run(["/usr/bin/qemu-x86_64", "-cpu", "Nehalem", sys.executable, "-S", "-c", program, *paths],
                           capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("ImportError: this sinklab was built for a processor with avx2"), ended.stderr
