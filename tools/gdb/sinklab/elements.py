"""Elements of tensors by their indices: $row(tensor, i, j, ...) and sink-diff."""
import struct

import gdb

from .command import Command
from .numbers import TensorView, Unreadable, shape_text
from .values import numbers_or_tensor, plain, read_memory, tensor_of, type_name


def rows_or_tensor(value, indices):
    """The TensorView of a tensor or of attention's Rows, as in $row(head.q, b, h, t)."""
    if not type_name(value).startswith("sink::ref::Rows<"):
        return tensor_of(value)
    rows = plain(value)
    sizes = [max(indices[:1], default=0) + 1] + [int(rows[name]) for name in "HTD"]
    return TensorView(read_memory, 1, int(rows["data"]), "F64", sizes, "cpu")


class Row(gdb.Function):
    """$row(tensor, i, j, ...): the elements of the last axis at these indices of the others, as an array of doubles; also
    for the input rows of attention, $row(head.k, b, g, j)."""

    def __init__(self):
        super().__init__("row")

    def invoke(self, tensor, *indices):
        try:
            indices = [int(index) for index in indices]
            numbers = rows_or_tensor(tensor, indices).row(indices)
        except (Unreadable, gdb.error) as problem:
            raise gdb.GdbError(f"$row: {problem}") from None
        double = gdb.lookup_type("double")
        return gdb.Value(struct.pack(f"<{len(numbers)}d", *numbers), double.array(len(numbers) - 1))


class SinkDiff(Command):
    """sink-diff A B: the first difference of two Tensors, Vars, vectors or spans of numbers, and the largest."""

    completer = gdb.COMPLETE_EXPRESSION

    def run(self, words):
        if len(words) != 2:
            raise gdb.GdbError("expected sink-diff A B; quote expressions that have blanks")
        a, b = (numbers_or_tensor(gdb.parse_and_eval(word)) for word in words)
        if a.sizes != b.sizes:
            raise gdb.GdbError(f"shapes differ: {words[0]} is {a}, {words[1]} is {b}")
        numbers = a.all_numbers(), b.all_numbers()
        same = lambda x, y: x == y or (x != x and y != y)
        places = [n for n, (x, y) in enumerate(zip(*numbers)) if not same(x, y)]
        if not places:
            return print(f"all {a.size} numbers of {a} are equal")
        first = places[0]
        index, rest = [], first
        for size in reversed(a.sizes):
            index.insert(0, rest % size)
            rest //= size
        x, y = numbers[0][first], numbers[1][first]
        worst = max((abs(numbers[0][n] - numbers[1][n]) for n in places), key=lambda d: (d != d, d))  # NaN is the largest
        print(f"{len(places)} of {a.size} numbers differ, first at {shape_text(index)}: {x!r} and {y!r}; "
              f"by {worst:.3g} at most")


Row()
SinkDiff()
