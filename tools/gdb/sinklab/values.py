"""Reads standard containers, strings, shapes and tensors from gdb's values, without calling functions of the program."""
import re

import gdb

from .numbers import TensorView, decode

DTYPES = {"double": "F64", "float": "F32", "int": "I32"}


def read_memory(address, size):
    """Bytes, or None if gdb cannot read them."""
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size)) if size else b""
    except gdb.MemoryError:
        return None


def plain(value):
    """The value without references."""
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    return value


def type_name(value):
    return plain(value).type.unqualified().strip_typedefs().name or ""


def enumerator(value):
    return str(value).rsplit("::", 1)[-1]


def pointee(shared):
    """The raw pointer of a std::shared_ptr or std::unique_ptr."""
    if shared.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return shared
    for path in (["_M_ptr"], ["_M_t", "_M_t", "_M_head_impl"]):
        value = shared
        try:
            for name in path:
                value = value[name]
            return value
        except gdb.error:
            continue
    return gdb.default_visualizer(shared).children().__next__()[1]


def vector_items(vector):
    vector = plain(vector)
    begin, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return [(begin + n).dereference() for n in range(int(end - begin))]


def place_of(value):
    """Address and number of the elements of a std::vector or std::span."""
    value = plain(value)
    if type_name(value).startswith("std::span<"):
        return int(value["_M_ptr"]), int(value["_M_extent"]["_M_extent_value"])
    first, last = value["_M_impl"]["_M_start"], value["_M_impl"]["_M_finish"]
    return int(first), int(last - first)


def numbers_of(value):
    """The doubles of a std::vector or std::span; [] if they cannot be read."""
    begin, count = place_of(value)
    data = read_memory(begin, 8 * count)
    return decode("F64", data) if data is not None else []


def numbers_or_tensor(value):
    """The TensorView of a Tensor, a Var, or a std::vector or std::span of numbers."""
    name = type_name(value)
    if name in ("sink::Tensor", "sink::Var"):
        return tensor_of(value)
    of = re.match(r"std::(?:vector|span)<(?:const )?(\w+)(?: const)?[,>]", name)
    if not of or of[1] not in DTYPES:
        raise gdb.GdbError(f"expected a Tensor, a Var, or a vector or span of numbers, got a {name or value.type}")
    begin, count = place_of(value)
    if not 0 <= count < 2**28:
        raise gdb.GdbError(f"a {name} of {count} numbers: its line has not run yet")
    return TensorView(read_memory, 1, begin, DTYPES[of[1]], [count], "cpu")


def string_text(value):
    data = read_memory(int(value["_M_dataplus"]["_M_p"]), int(value["_M_string_length"]))
    return (data or b"").decode("utf-8", "replace")


def sizes_of(shape):
    shape = plain(shape)
    return [int(shape["sizes_"]["_M_elems"][n]) for n in range(int(shape["rank_"]))]


def tensor_of(value):
    """The TensorView of a Tensor or a Var."""
    value = plain(value)
    name = type_name(value)
    if name == "sink::Var":
        value = value["value_"]
    elif name != "sink::Tensor":
        raise gdb.GdbError(f"expected a Tensor or a Var, got a {name or value.type}")
    if value.is_optimized_out:
        raise gdb.GdbError("that tensor is optimised out here: build with `cmake --preset debug`")
    storage = pointee(value["storage_"])
    device = enumerator(storage["device"]) if int(storage) else "cpu"
    return TensorView(read_memory, int(storage), int(value["base_"]), enumerator(value["dtype_"]),
                      sizes_of(value["shape_"]), device)
