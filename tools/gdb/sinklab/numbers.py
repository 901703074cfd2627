"""A tensor of the program: dtype, shape and address, with elements read from memory on demand. Independent of the debugger:
the caller passes a function that reads memory."""
import struct

BYTES = {"F32": 4, "F64": 8, "BF16": 2, "I32": 4}


class Unreadable(Exception):
    """The reason why a value cannot be shown, as a sentence."""


def bf16_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def decode(dtype, data):
    """The little-endian elements of `data` as Python numbers."""
    count = len(data) // BYTES[dtype]
    if dtype == "BF16":
        return [bf16_of(bits) for bits in struct.unpack(f"<{count}H", data)]
    return list(struct.unpack(f"<{count}{ {'F32': 'f', 'F64': 'd', 'I32': 'i'}[dtype]}", data))


def number_text(x):
    return str(x) if isinstance(x, int) else f"{x:.4g}"


def shape_text(sizes):
    return "(" + ", ".join(map(str, sizes)) + ")"


class TensorView:
    """read(address, bytes) returns bytes, or None if they cannot be read. `storage`: the address of the storage, which
    tensors may share; 0 for an undefined tensor."""

    def __init__(self, read, storage, base, dtype, sizes, device):
        self.read, self.storage, self.base, self.dtype, self.sizes, self.device = read, storage, base, dtype, sizes, device

    @property
    def defined(self):
        return self.storage != 0

    @property
    def size(self):
        size = 1
        for n in self.sizes:
            size *= n
        return size

    @property
    def bytes(self):
        return self.size * BYTES[self.dtype] if self.defined else 0

    def numbers(self, begin, count):
        """Elements [begin, begin + count) in memory order; None if they cannot be read."""
        width = BYTES[self.dtype]
        data = self.read(self.base + begin * width, count * width) if self.defined else None
        return decode(self.dtype, data) if data is not None else None

    def all_numbers(self):
        return self.readable(self.numbers(0, self.size))

    def row(self, indices):
        """The last axis at these indices of the others."""
        if not self.defined:
            raise Unreadable("the tensor is undefined: it has no numbers")
        if len(indices) != len(self.sizes) - 1:
            raise Unreadable(f"{self} needs {len(self.sizes) - 1} indices for a row, got {len(indices)}")
        place = 0
        for axis, index in enumerate(indices):
            if not 0 <= index < self.sizes[axis]:
                raise Unreadable(f"index {index} is not below {self.sizes[axis]}, axis {axis} of {self}")
            place = place * self.sizes[axis] + index
        return self.readable(self.numbers(place * self.sizes[-1], self.sizes[-1]))

    def readable(self, numbers):
        if numbers is not None:
            return numbers
        if not self.defined:
            raise Unreadable("the tensor is undefined: it has no numbers")
        where = "it is on a device: run the program with --device cpu" if self.device != "cpu" else "its memory is gone"
        raise Unreadable(f"the numbers of {self} cannot be read from here, {where}")

    def corner(self, rows=3, columns=4):
        """The first rows and columns of the last two axes, all other indices 0."""
        if not self.defined or self.size == 0:
            return ""
        width = self.sizes[-1] if self.sizes else 1
        height = self.sizes[-2] if len(self.sizes) > 1 else 1
        lines = []
        for r in range(min(rows, height)):
            numbers = self.numbers(r * width, min(columns, width))
            if numbers is None:
                return " (not to be read from here)"
            lines.append("{" + ", ".join(number_text(x) for x in numbers) + (", ..." if width > columns else "") + "}")
        if len(self.sizes) < 2:
            return " = " + lines[0]
        where = "" if len(self.sizes) == 2 else "[" + ", ".join(["0"] * (len(self.sizes) - 2)) + "]"
        return " " + where + "= " + "{" + ", ".join(lines) + (", ..." if height > rows else "") + "}"

    def __str__(self):
        if not self.defined:
            return "undefined"
        there = "" if self.device == "cpu" else " on " + self.device
        return f"{self.dtype.lower()} {shape_text(self.sizes)}{there}"
