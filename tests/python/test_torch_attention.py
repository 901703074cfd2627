"""sinklab.torch.attention against PyTorch's autograd in float64 (torch_reference.py). Skipped without torch."""
import ctypes
import gc
import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("h5py")  # of torch_reference

import sinklab  # noqa: E402
import sinklab.torch  # noqa: E402
import torch_reference as reference  # noqa: E402
from sinklab import _core  # noqa: E402
from sinklab.torch import custom_ops  # noqa: E402

NAMES = sorted(reference.OPERATIONS)
B, H, G, T, D = 2, 4, 2, 70, 24
DOCUMENTS = torch.tensor([[7] * 20 + [3] * 50, [1] * 69 + [2]])
SETTINGS = {
    "plain": {}, "window": dict(window=13), "prefix": dict(prefix=5, window=9), "documents": dict(documents=DOCUMENTS),
    "bias": dict(bias=(H, T + 3)), "key": dict(extra_key=(H, D)), "key and value": dict(extra_key=(H, D), extra_value=(H, D)),
    "logit": dict(extra_logit=(H,)), "all": dict(extra_logit=(H,), extra_value=(H, D), bias=(H, T), window=40, prefix=2, scale=0.3)}
# Largest differences, divided by the largest value; those of bfloat16 to the values of rounded inputs.
BOUNDS = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 3e-2}


def make(seed, op="Softmax", keys=T, queries=T, **settings):
    """q, k, v and settings in float64, random where a shape is given."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape):
        x = torch.randn(*shape, generator=random, dtype=torch.float64).to(torch.bfloat16).double()
        return x.abs() if op == "LinearNorm" else x  # as with its feature maps; otherwise sums cancel

    settings = {name: normal(*x) if isinstance(x, tuple) else x for name, x in settings.items()}
    return [normal(B, H, queries, D), normal(B, G, keys, D), normal(B, G, keys, D)], settings


def gradients(function, tensors, settings, dtype):
    """o, and the gradients of the tensors and of those in settings, for one upstream gradient."""
    inputs = [x.to(dtype).requires_grad_() for x in tensors]
    own = {name: x.to(dtype).requires_grad_() if torch.is_tensor(x) and x.is_floating_point() else x for name, x in settings.items()}
    o = function(*inputs, **own)
    upstream = torch.randn(o.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(torch.bfloat16)
    o.backward(upstream.to(dtype))
    return {"o": o.detach(), **{name: x.grad for name, x in zip("qkv", inputs)},
            **{name: x.grad for name, x in own.items() if torch.is_tensor(x) and x.requires_grad}}


@pytest.mark.parametrize("op", NAMES)
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_every_operation_equals_autograd_in_float64(op, dtype):
    for seed, (what, chosen) in enumerate(SETTINGS.items()):
        tensors, settings = make(seed, op, **chosen)
        ours = gradients(lambda *x, **s: sinklab.torch.attention(*x, op=op, **s), tensors, settings, dtype)
        exact = gradients(lambda *x, **s: reference.attention(op, *x, **s), tensors, settings, torch.float64)
        assert ours.keys() == exact.keys()
        for name, x in exact.items():
            assert ours[name].dtype == (dtype if name in "oqkv" or dtype == torch.float64 else dtype)
            size = max(x.abs().max().item(), 1e-3)
            error = (ours[name].double() - x).abs().max().item() / size
            assert error < BOUNDS[dtype], f"{op}, {what}, {name}: {error}"


def test_all_operations_of_the_engine_are_compared():
    assert sinklab.torch.operation_names() == NAMES


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_last_queries_equal_those_of_all(dtype):
    tensors, settings = make(3, extra_logit=(H,))
    for op in ("Softmax", "Sigmoid"):
        q, k, v = (x.to(dtype) for x in tensors)
        every = sinklab.torch.attention(q, k, v, op=op, extra_logit=settings["extra_logit"])
        last = sinklab.torch.attention(q[:, :, -3:], k, v, op=op, extra_logit=settings["extra_logit"])
        assert torch.equal(last, every[:, :, -3:])


@pytest.mark.parametrize("what", SETTINGS)
@pytest.mark.parametrize("op", ["Softmax", "Sigmoid", "Linear"])
def test_statistics_equal_those_of_the_pattern(op, what):
    tensors, settings = make(5, op, **SETTINGS[what])
    for queries in (T, 9):
        q, k, v = tensors
        q = q[:, :, -queries:]
        o, found = sinklab.torch.attention(q.float().requires_grad_(), k.float(), v.float(), op=op, statistics=True, **settings)
        assert o.requires_grad and not found.alpha.requires_grad
        of_pattern = {name: x for name, x in settings.items() if name != "extra_value"}
        a, mask = reference.pattern(op, q, k, **of_pattern)
        extra = a.shape[-1] - T
        absolute = a.abs()
        proxy = absolute / absolute.sum(-1, keepdim=True)
        rows = mask[..., extra:].expand(B, 1, queries, T).sum(-2)
        close = lambda ours, theirs: torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-6)
        close(found.rows, rows[:, 0])
        close(found.alpha, proxy[..., extra:].sum(-2) / rows.clamp(min=1))
        close(found.alpha_raw, a[..., extra:].sum(-2) / rows.clamp(min=1))
        close(found.largest, proxy[..., extra:].amax(-2))
        close(found.row_sum, a[..., extra:].sum(-1).mean(-1))
        close(found.entropy, -torch.xlogy(proxy, proxy).sum(-1).mean(-1))
        i, j = torch.arange(T - queries, T)[:, None], torch.arange(T)[None]
        for d in (0, 1, 30):
            close(found.by_distance[..., d], (proxy[..., extra:] * (i - j == d)).sum((-1, -2)) / min(queries, T - d))
        if extra:
            close(found.alpha_star, (1 + proxy[..., 0].sum(-1)) / (queries + 1))
        else:
            assert found.alpha_star is None


def test_the_sinks_of_statistics():
    q = torch.ones(1, 3, 20, 4)
    k = torch.zeros(1, 3, 20, 4)
    k[:, :2, 5] = 10
    _, found = sinklab.torch.attention(q, k, k, op="Softmax", statistics=True)
    assert found.sinks() == [(5, 2)]
    assert "20 keys" in repr(found)


def operator_arguments(op, dtype, requires_grad=True, **chosen):
    tensors, settings = make(2, op, keys=9, queries=9, **chosen)
    q, k, v = (x[..., :4].to(dtype).contiguous().requires_grad_(requires_grad) for x in tensors)
    sums = torch.float64 if dtype == torch.float64 else torch.float32
    extras = [settings[name].to(sums).requires_grad_(requires_grad) if name in settings else None
              for name in ("bias", "extra_key", "extra_logit", "extra_value")]
    documents = torch.tensor([[0] * 4 + [1] * 5, [0] * 9], dtype=torch.int32) if op == "Sigmoid" else None
    return op, q, k, v, 0.5, 0, 1, *extras, documents


CHOSEN = {"plain": {}, "key": dict(bias=(H, 9), extra_key=(H, 4), extra_value=(H, 4)), "logit": dict(extra_logit=(H,), extra_value=(H, 4))}


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("op", ["Softmax", "Sigmoid"])
def test_opcheck(op, dtype, chosen):
    arguments = operator_arguments(op, dtype, **chosen)
    torch.library.opcheck(custom_ops.attention, arguments)
    without = operator_arguments(op, dtype, requires_grad=False, **chosen)
    o, m, S = custom_ops.attention(*without)
    torch.library.opcheck(custom_ops.attention_statistics, (*without, m, S))
    torch.library.opcheck(custom_ops.attention_backward, (*without, torch.randn_like(o), o, m, S, True))


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("op", NAMES)
def test_gradcheck(op, chosen):
    arguments = operator_arguments(op, torch.float64, **chosen)
    assert torch.autograd.gradcheck(lambda *tensors: custom_ops.attention(op, *tensors[:3], *arguments[4:7], *tensors[3:])[0],
                                    (*arguments[1:4], *arguments[7:]))


def test_compiled_code_equals_eager():
    tensors, settings = make(4, extra_logit=(H,))
    q, k, v = (x.float() for x in tensors)
    function = lambda q, k, v, logit: sinklab.torch.attention(q, k, v, op="Softmax", extra_logit=logit, statistics=True)
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    results = []
    for f in (function, compiled):
        inputs = [x.clone().requires_grad_() for x in (q, k, v, settings["extra_logit"].float())]
        o, found = f(*inputs)
        o.square().sum().backward()
        results.append([o, found.alpha, *(x.grad for x in inputs)])
    assert all(map(torch.equal, *results))


def test_layouts_that_are_not_contiguous():
    tensors, _ = make(6)
    q, k, v = (x.float() for x in tensors)
    plain = sinklab.torch.attention(q, k, v)
    strided = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert not strided[0].is_contiguous()
    assert torch.equal(sinklab.torch.attention(*strided), plain)
    same = [x[:1, :1].expand(2, 4, -1, -1) for x in (q, k, v)]  # strides of 0
    assert torch.equal(sinklab.torch.attention(*same)[1, 3], plain[0, 0])
    offset = torch.cat([torch.zeros(1), q.flatten()])[1:].view_as(q)  # not aligned
    assert offset.data_ptr() % 16 and torch.equal(sinklab.torch.attention(offset, k, v), plain)
    negative = torch.complex(torch.zeros_like(q), -q).conj().imag  # a view with the negative bit
    assert negative.is_neg() and torch.equal(sinklab.torch.attention(negative, k, v), plain)


def test_results_have_the_same_bits_with_any_number_of_threads():
    tensors, settings = make(7, bias=(H, T), extra_logit=(H,))
    run = lambda: gradients(lambda *x, **s: sinklab.torch.attention(*x, **s), tensors, settings, torch.float32)
    first = run()
    try:
        for threads in (1, 2, 3):
            sinklab.set_threads(threads)
            again = run()
            assert all(torch.equal(first[name], again[name]) for name in first)
    finally:
        sinklab.set_threads(2)


def test_inputs_stay_as_they_are_and_results_outlive_them():
    tensors, _ = make(8)
    inputs = [x.float().requires_grad_() for x in tensors]
    copies = [x.detach().clone() for x in inputs]
    o = sinklab.torch.attention(*inputs, op="Sigmoid")
    expected = o.detach().clone()
    o.sum().backward()
    assert all(torch.equal(x, copy) for x, copy in zip(inputs, copies))
    del inputs
    gc.collect()
    sinklab.torch.attention(*copies, op="Softmax")  # would get the memory if it were free
    assert torch.equal(o, expected)


def test_two_threads_at_once():
    q = torch.randn(1, 2, 900, 64)
    expected, results = sinklab.torch.attention(q, q, q), []

    def attend():
        for _ in range(4):
            results.append(torch.equal(sinklab.torch.attention(q, q, q), expected))

    threads = [threading.Thread(target=attend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8


def test_other_threads_run_meanwhile():
    q = torch.randn(1, 2, 2500, 64, dtype=torch.float64)  # the reference: slow
    sinklab.torch.attention(q[:, :, :3], q[:, :, :3], q[:, :, :3])  # the first call imports modules
    thread, ticks = threading.Thread(target=lambda: sinklab.torch.attention(q, q, q)), 0
    began = time.monotonic()
    thread.start()
    while thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert time.monotonic() - began > 0.1 and ticks > 10  # 2 with the GIL held


X = torch.zeros(2, 4, 6, 8)
WRONG = {
    "no tensor": (dict(q=np.zeros((2, 4, 6, 8))), "q must be a torch.Tensor, got ndarray"),
    "none": (dict(k=None), "k must be a torch.Tensor, got NoneType"),
    "rank": (dict(q=X[0]), "q must be of shape"),
    "empty": (dict(q=X[:, :, :0]), "not empty"),
    "empty keys": (dict(k=X[:, :, :0], v=X[:, :, :0]), "k must be of shape"),
    "no head": (dict(k=X[:, :0], v=X[:, :0]), "k must be of shape"),
    "heads": (dict(k=X[:, :3], v=X[:, :3]), "a number of heads that divides"),
    "width": (dict(k=X[..., :7], v=X[..., :7]), "k must be of shape"),
    "batch": (dict(k=X[:1], v=X[:1]), "k must be of shape"),
    "fewer keys": (dict(k=X[:, :, :5], v=X[:, :, :5]), "there are 6 queries and 5 keys"),
    "values": (dict(v=X[:, :, :5]), "v must have the shape of k"),
    "half": (dict(q=X.half(), k=X.half(), v=X.half()), "q must be float32, bfloat16 or float64, got torch.float16"),
    "integers": (dict(q=X.int(), k=X.int(), v=X.int()), "q must be float32"),
    "complex": (dict(q=X.to(torch.complex64)), "q must be float32"),
    "mixed": (dict(k=X.double()), "k must have the dtype of q"),
    "sparse": (dict(q=X.to_sparse()), "dense tensor"),
    "device": (dict(k=X.to("meta")), "all tensors must be on the device of q, cpu: k is on meta"),
    "operation": (dict(op="Sigmoidal"), "there is no attention operation 'Sigmoidal': expected one of ClippedSoftmax"),
    "no operation": (dict(op=None), "there is no attention operation None"),
    "scale": (dict(scale=float("nan")), "scale must be a number"),
    "scale of text": (dict(scale="1"), "scale must be a number"),
    "window": (dict(window=-1), "window must be a whole number from 0"),
    "long window": (dict(window=2**40), "window must be a whole number from 0"),
    "prefix": (dict(prefix=1.5), "prefix must be a whole number from 0"),
    "bias": (dict(bias=torch.zeros(4, 5)), r"bias must be of shape \(4, at least 6\), got \(4, 5\)"),
    "key": (dict(extra_key=torch.zeros(4, 7)), r"extra_key must be of shape \(4, 8\)"),
    "logit": (dict(extra_logit=torch.zeros(())), r"extra_logit must be of shape \(4,\)"),
    "integer logit": (dict(extra_logit=torch.zeros(4, dtype=torch.int64)), "extra_logit must be float32"),
    "both": (dict(extra_logit=torch.zeros(4), extra_key=torch.zeros(4, 8)), "a vector or a logit, not both"),
    "value": (dict(extra_value=torch.zeros(4, 8)), "an extra value needs an extra key"),
    "documents": (dict(documents=torch.zeros(2, 5, dtype=torch.int64)), r"documents must be of shape \(2, 6\)"),
    "real documents": (dict(documents=torch.zeros(2, 6)), "documents must be whole numbers"),
}


@pytest.mark.parametrize("changed, text", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_one_sentence(changed, text):
    with pytest.raises(sinklab.Error, match=text) as caught:
        sinklab.torch.attention(**{"q": X, "k": X, "v": X, **changed})
    assert "\n" not in str(caught.value)


def test_a_second_derivative_is_refused():
    x = X.double().requires_grad_()
    gradient, = torch.autograd.grad(sinklab.torch.attention(x, x, x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="attention_backward"):
        gradient.sum().backward()


def test_the_binding_makes_no_copy_and_refuses_strides():
    with pytest.raises(sinklab.Error, match="q must be contiguous"):
        _core.attention("Softmax", X.transpose(1, 2), X, X, 1, 0, 0, None, None, None, None, None)


class OnDevice:
    """A tensor of the CPU that DLPack calls one of another device."""

    def __init__(self, tensor, device_type):
        self.tensor, self.device_type = tensor, device_type

    def __dlpack__(self, **_):
        capsule, pointer = self.tensor.__dlpack__(), ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = self.device_type
        return capsule


@pytest.mark.parametrize("device_type, text", [(2, "this build has no CUDA"), (8, "q must be on the CPU or on a CUDA device")])
def test_devices_that_the_build_does_not_have(device_type, text):
    if device_type == 2 and _core.has_cuda:
        pytest.skip("this build has CUDA")
    with pytest.raises(sinklab.Error, match=text):
        _core.attention("Softmax", *[OnDevice(X, device_type)] * 3, 1, 0, 0, None, None, None, None, None)


def test_wrong_tensors_do_not_end_the_interpreter():
    """The binding itself checks what attention() and the custom operators check before."""
    random, refused, done = np.random.default_rng(1), 0, 0
    shapes = [(2, 4, 6, 8), (2, 2, 6, 8), (4, 8), (4,), (4, 6), (2, 6), (0, 4, 6, 8), (2, 4, 6, 0), (6,), (1, 1, 1, 1), (2, 4, 9, 8), (2,) * 6]
    dtypes = [torch.float32] * 6 + [torch.float64, torch.bfloat16, torch.int32, torch.int64, torch.float16, torch.uint8]

    def tensor():
        shape = shapes[random.integers(len(shapes))]
        x = torch.zeros(shape, dtype=dtypes[random.integers(len(dtypes))])
        return x.transpose(0, -1) if random.random() < 0.1 else x

    def maybe(chance):
        return tensor() if random.random() < chance else None

    limits = [-2**63, -1, 0, 0, 1, 2, 3, 2**31 - 1, 2**63 - 1]
    for _ in range(3000):
        like = tensor()
        q, k, v = (torch.zeros_like(like) if random.random() < 0.8 else tensor() for _ in range(3))
        common = ("Softmax" if random.random() < 0.9 else "x", q, k, v, 1.0, int(random.choice(limits)), int(random.choice(limits)),
                  *(maybe(0.1) for _ in range(5)))
        try:
            o, m, S = _core.attention(*common)
            rest = [x if random.random() < 0.9 else tensor() for x in (o, o, m, S)]
            _core.attention_backward(*common, *rest, True)
            _core.attention_statistics(*common, *rest[2:])
            done += 1
        except (sinklab.Error, TypeError) as error:
            assert "\n" not in str(error) or isinstance(error, TypeError)
            refused += 1
    assert refused > 1000 and done > 30
