"""Printers: `print x` shows a Tensor, Var, Gradient, Shape, Parameter, KeyRange, Span or Segment in one readable line."""
import struct

import gdb
import gdb.printing

from .numbers import shape_text
from .tape import maker_of
from .values import enumerator, plain, pointee, sizes_of, string_text, tensor_of


class Text:
    """A printer of one line."""

    def __init__(self, text):
        self.text = text

    def to_string(self):
        return self.text


def gradient_text(gradient):
    state = pointee(gradient["state_"])
    if int(state) == 0:
        return "no gradient wanted"
    return "gradient arrived" if tensor_of(state["value"]).defined else "gradient wanted, none arrived"


def print_gradient(value):
    state = pointee(value["state_"])
    arrived = tensor_of(state["value"]) if int(state) else None
    return f"gradient {arrived}{arrived.corner()}" if arrived and arrived.defined else gradient_text(value)


def print_var(value):
    tensor = tensor_of(value)
    maker = maker_of(value["gradient_"])
    made = f", by {maker}" if maker else ""
    return f"Var {tensor}, {gradient_text(value['gradient_'])}{made}{tensor.corner()}"


def print_tensor(value):
    tensor = tensor_of(value)
    return f"{tensor}{tensor.corner()}"


def print_key_range(value):
    prefix, window = int(value["prefix"]), int(value["window"])
    words = ["causal"] + ([f"window {window}"] if window else []) + ([f"prefix {prefix}"] if prefix else [])
    return ", ".join(words)


def print_parameter(value):
    info = value["info_"]
    name, axes = string_text(info["name"]), string_text(info["axes"])
    master = tensor_of(value["master_"])
    return (f"{name} [{axes}] {enumerator(info['role'])}, {master}, {gradient_text(value['master_']['gradient_'])}"
            f"{master.corner()}")


def print_span(value):
    return f"[{int(value['begin'])}, {int(value['end'])})"


PRINTERS = {
    "sink::Tensor": print_tensor,
    "sink::Shape": lambda value: shape_text(sizes_of(value)),
    "sink::Var": print_var,
    "sink::Gradient": print_gradient,
    "sink::KeyRangeOf<long>": print_key_range,
    "sink::KeyRangeOf<int>": print_key_range,
    "sink::SpanOf<long>": print_span,
    "sink::SpanOf<int>": print_span,
    "sink::Segment": print_span,
    "sink::Parameter": print_parameter,
}


def find_printer(value):
    kind = value.type.unqualified().strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        kind = kind.target().unqualified().strip_typedefs()
    describe = PRINTERS.get(kind.name)
    if not describe:
        return None
    short = kind.name.removeprefix("sink::")
    try:
        if plain(value).is_optimized_out:
            return Text(f"<{short}, optimised out: build with `cmake --preset debug`>")
        return Text(describe(plain(value)))
    except (gdb.error, gdb.GdbError, KeyError, struct.error, StopIteration) as problem:
        return Text(f"<{short} that cannot be read, not yet made or gone: {problem}>")


gdb.printing.register_pretty_printer(None, find_printer, replace=True)
