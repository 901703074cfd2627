"""kernels.so (attention_kernels.h) in Python: ctypes and NumPy."""
import ctypes
import pathlib

import numpy


class Failed(Exception):
    """A call that failed, with its exit code (engine/check.h)."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


_pointer, _int, _double = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class Attention(ctypes.Structure):
    _fields_ = [*((name, _int) for name in ("B", "H", "G", "T", "K", "D", "is_bf16")), ("q", _pointer), ("k", _pointer),
                ("v", _pointer), ("scale", _double), ("window", _int), ("prefix", _int), ("first_position", _int),
                ("document_starts", _pointer), ("lead", _int), ("bias", _pointer), ("bias_columns", _int),
                ("extra_k", _pointer), ("extra_logit", _pointer), ("extra_v", _pointer), ("o", _pointer),
                ("m", _pointer), ("S", _pointer), ("stream", _pointer)]


class Gradients(ctypes.Structure):
    _fields_ = [(name, _pointer) for name in ("grad_o", "dq", "dk", "dv", "dbias", "dextra_k", "dextra_logit",
                                              "dextra_v")]


class KernelLibrary:
    def __init__(self, path):
        self._so = ctypes.CDLL(str(pathlib.Path(path).resolve()))
        for name, result, arguments in [
                ("sink_last_error", ctypes.c_char_p, []), ("sink_operations", ctypes.c_char_p, []),
                ("sink_device_name", ctypes.c_char_p, []),
                ("sink_attention", ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(Attention)]),
                ("sink_attention_backward", ctypes.c_int,
                 [ctypes.c_char_p, ctypes.POINTER(Attention), ctypes.POINTER(Gradients)]),
                ("sink_malloc", _pointer, [_int]), ("sink_free", None, [_pointer]),
                ("sink_copy_in", ctypes.c_int, [_pointer, _pointer, _int]),
                ("sink_copy_out", ctypes.c_int, [_pointer, _pointer, _int]), ("sink_synchronize", ctypes.c_int, []),
                ("sink_event_create", _pointer, []), ("sink_event_record", ctypes.c_int, [_pointer, _pointer]),
                ("sink_event_elapsed", _double, [_pointer, _pointer])]:
            function = getattr(self._so, name)
            function.restype, function.argtypes = result, arguments

    def _check(self, code):
        if code:
            raise Failed(self._so.sink_last_error().decode(errors="replace"), code)

    def operations(self):
        return self._so.sink_operations().decode().split(",")

    def device_name(self):
        """Empty if there is no device."""
        return self._so.sink_device_name().decode()

    def is_emulated(self):
        return self.device_name() == "emulated"

    def forward(self, operation, attention):
        self._check(self._so.sink_attention(operation.encode(), attention))

    def backward(self, operation, attention, gradients):
        self._check(self._so.sink_attention_backward(operation.encode(), attention, gradients))

    def synchronize(self):
        self._check(self._so.sink_synchronize())

    def milliseconds(self, calls, stream=None):
        """The device's time between the beginning and the end of calls()."""
        events = [self._so.sink_event_create() for _ in range(2)]
        self._check(self._so.sink_event_record(events[0], stream))
        calls()
        self._check(self._so.sink_event_record(events[1], stream))
        elapsed = self._so.sink_event_elapsed(*events)
        if elapsed < 0:
            raise Failed(self._so.sink_last_error().decode(errors="replace"), 7)
        return elapsed


def to_bf16_bits(x):
    """BF16 values of float64 or float32 ones, as uint16; to the nearest, ties to even."""
    bits = numpy.ascontiguousarray(x, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def from_bf16_bits(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


class DeviceArrays:
    """Arrays in memory of the library, freed together."""

    def __init__(self, library):
        self._so, self._check, self._pointers = library._so, library._check, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pointer in self._pointers:
            self._so.sink_free(pointer)

    def put(self, x):
        """The address of a copy of a NumPy array."""
        x = numpy.ascontiguousarray(x)
        pointer = self._so.sink_malloc(max(1, x.nbytes))
        if not pointer:
            raise Failed(f"no memory for {x.nbytes} bytes: {self._so.sink_last_error().decode()}", 6)
        self._pointers.append(pointer)
        if x.nbytes:
            self._check(self._so.sink_copy_in(pointer, x.ctypes.data, x.nbytes))
        return pointer

    def nans(self, shape, dtype):
        return self.put(numpy.full(int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize, 0xFF, numpy.uint8))

    def get(self, pointer, shape, dtype):
        x = numpy.empty(shape, dtype)
        if x.nbytes:
            self._check(self._so.sink_copy_out(x.ctypes.data, pointer, x.nbytes))
        return x
