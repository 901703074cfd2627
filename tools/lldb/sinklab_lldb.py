"""Sinklab in lldb: readable printing of Tensor, Var and Shape, and the values of rows of the reference.

  lldb -o "command script import tools/lldb/sinklab_lldb.py" -- build/debug/train_pos_learnable --tiny
  (lldb) breakpoint set -r "attention_row<" -c "h == 1 && i == 5"

If lldb reports that it has no embedded_interpreter (Debian 12), give it the path of its own Python:
  export PYTHONPATH=/usr/lib/llvm-14/lib/python3.11/dist-packages
Commands such as sink-row exist only in gdb (tools/gdb/sinklab.py)."""
import os
import sys

import lldb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gdb"))
from sinklab.numbers import TensorView, decode, number_text, shape_text


def member(value, *names):
    for name in names:
        value = value.GetNonSyntheticValue().GetChildMemberWithName(name)
    return value


def memory_of(value):
    """A function that reads the program's memory: bytes, or None."""
    process = value.GetProcess()

    def read(address, size):
        error = lldb.SBError()
        data = process.ReadMemory(address, size, error) if size else b""
        return data if error.Success() else None

    return read


def sizes_of(shape):
    elements = member(shape, "sizes_", "_M_elems")
    return [elements.GetChildAtIndex(n).GetValueAsSigned() for n in range(member(shape, "rank_").GetValueAsUnsigned())]


def tensor_of(value):
    storage = member(value, "storage_", "_M_ptr")
    device = member(storage.Dereference(), "device").GetValue() if storage.GetValueAsUnsigned() else "cpu"
    return TensorView(memory_of(value), storage.GetValueAsUnsigned(), member(value, "base_").GetValueAsUnsigned(),
                      member(value, "dtype_").GetValue(), sizes_of(member(value, "shape_")), device)


def tensor_summary(value, _):
    tensor = tensor_of(value)
    return f"{tensor}{tensor.corner()}"


def var_summary(value, _):
    return "Var " + tensor_summary(member(value, "value_"), _)


def shape_summary(value, _):
    return shape_text(sizes_of(value))


def row_summary(value, _):
    begin = member(value, "_M_ptr").GetValueAsUnsigned()
    count = member(value, "_M_extent", "_M_extent_value").GetValueAsUnsigned()
    data = memory_of(value)(begin, 8 * count)
    return "{" + ", ".join(map(number_text, decode("F64", data))) + "}" if data is not None else "not to be read from here"


def __lldb_init_module(debugger, _):
    for function, kind in (("tensor_summary", "sink::Tensor"), ("var_summary", "sink::Var"), ("shape_summary", "sink::Shape")):
        debugger.HandleCommand(f"type summary add -F {__name__}.{function} {kind}")
    debugger.HandleCommand(f"type summary add -F {__name__}.row_summary -x '^std::span<(const )?double'")
