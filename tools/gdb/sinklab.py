"""Sinklab in gdb: tensors print as numbers, backtraces show what means something, and a few commands look around.

  gdb -x tools/gdb/sinklab.py --args build/debug/train_pos_learnable --reference ...

Printers: Tensor, Var, Gradient, Shape, Parameter, KeyRange, Span, Segment.
Commands ("help sink" lists them): sink-row, sink-tape, sink-heat, sink-diff, and $row(tensor, i, j, ...).
All of them read the program's memory and call nothing in it; `sink-row b h i` lets the program run on to that row.
"""
import re
import struct

import gdb
import gdb.FrameDecorator
import gdb.printing

# ---- Numbers of a tensor ----

BYTES = {"F32": 4, "F64": 8, "BF16": 2, "I32": 4}


def bf16_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def decode(dtype, data):
    """The numbers of `data`, little-endian, as Python's."""
    count = len(data) // BYTES[dtype]
    if dtype == "BF16":
        return [bf16_of(bits) for bits in struct.unpack(f"<{count}H", data)]
    return list(struct.unpack(f"<{count}{ {'F32': 'f', 'F64': 'd', 'I32': 'i'}[dtype]}", data))


def read_memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def enumerator(value):
    return str(value).rsplit("::", 1)[-1]


def pointee(shared):
    """What a std::shared_ptr or std::unique_ptr points to, as a pointer."""
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
    begin, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return [(begin + n).dereference() for n in range(int(end - begin))]


def plain(value):
    """Without references and const."""
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    return value


def sizes_of(shape):
    shape = plain(shape)
    return [int(shape["sizes_"]["_M_elems"][n]) for n in range(int(shape["rank_"]))]


def shape_text(sizes):
    return "(" + ", ".join(map(str, sizes)) + ")"


class TensorView:
    """A Tensor of the program, read when asked for."""

    def __init__(self, value):
        value = plain(value)
        if value.type.strip_typedefs().name == "sink::Var":
            value = value["value_"]
        self.storage = pointee(value["storage_"])
        self.defined = int(self.storage) != 0
        self.base = int(value["base_"])
        self.sizes = sizes_of(value["shape_"])
        self.dtype = enumerator(value["dtype_"])
        self.device = enumerator(self.storage["device"]) if self.defined else "cpu"

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
        """Elements [begin, begin + count) as they lie in memory; None where gdb cannot read them."""
        try:
            return decode(self.dtype, read_memory(self.base + begin * BYTES[self.dtype], count * BYTES[self.dtype]))
        except gdb.MemoryError:
            return None

    def row(self, indices):
        """The last axis at these indices of the others."""
        if len(indices) != len(self.sizes) - 1:
            raise gdb.GdbError(f"{self} needs {len(self.sizes) - 1} indices for a row, got {len(indices)}")
        place = 0
        for axis, index in enumerate(indices):
            if not 0 <= index < self.sizes[axis]:
                raise gdb.GdbError(f"index {index} is not below {self.sizes[axis]}, axis {axis} of {self}")
            place = place * self.sizes[axis] + index
        numbers = self.numbers(place * self.sizes[-1], self.sizes[-1])
        if numbers is None:
            raise gdb.GdbError(f"the numbers of {self} cannot be read from here")
        return numbers

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
        return " " + where + ("= " if where else "= ") + "{" + ", ".join(lines) + (", ..." if height > rows else "") + "}"

    def __str__(self):
        if not self.defined:
            return "undefined"
        there = "" if self.device == "cpu" else " on " + self.device
        return f"{self.dtype.lower()} {shape_text(self.sizes)}{there}"


def number_text(x):
    return str(x) if isinstance(x, int) else f"{x:.4g}"


# ---- Printers ----


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
    arrived = TensorView(state["value"])
    return "gradient arrived" if arrived.defined else "gradient wanted, none arrived"


def print_gradient(value):
    state = pointee(value["state_"])
    if int(state) == 0:
        return "no gradient wanted"
    arrived = TensorView(state["value"])
    return f"gradient {arrived}{arrived.corner()}" if arrived.defined else "gradient wanted, none arrived"


def print_var(value):
    tensor = TensorView(value["value_"])
    maker = maker_of(value["gradient_"])
    made = f", by {maker}" if maker else ""
    return f"Var {tensor}, {gradient_text(value['gradient_'])}{made}{tensor.corner()}"


def print_tensor(value):
    tensor = TensorView(value)
    return f"{tensor}{tensor.corner()}"


def print_key_range(value):
    prefix, window = int(value["prefix"]), int(value["window"])
    words = ["causal"] + ([f"window {window}"] if window else []) + ([f"prefix {prefix}"] if prefix else [])
    return ", ".join(words)


def print_parameter(value):
    info = value["info_"]
    name, axes = string_text(info["name"]), string_text(info["axes"])
    master = TensorView(value["master_"])
    return (f"{name} [{axes}] {enumerator(info['role'])}, {master}, {gradient_text(value['master_']['gradient_'])}"
            f"{master.corner()}")


def print_span(value):
    return f"[{int(value['begin'])}, {int(value['end'])})"


def string_text(value):
    data, length = value["_M_dataplus"]["_M_p"], int(value["_M_string_length"])
    return read_memory(int(data), length).decode("utf-8", "replace") if length else ""


PRINTERS = {
    "sink::Tensor": print_tensor,
    "sink::Shape": lambda value: shape_text(sizes_of(value)),
    "sink::Var": print_var,
    "sink::Gradient": print_gradient,
    "sink::KeyRange": print_key_range,
    "sink::Span": print_span,
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
    try:
        return Text(describe(plain(value)))
    except (gdb.error, KeyError, struct.error, StopIteration) as problem:  # not yet constructed, or gone
        return Text(f"<{kind.name.removeprefix('sink::')} that cannot be read: {problem}>")


# ---- The tape ----


def tape():
    """The living tape as a pointer, or None."""
    for name in ("sink::(anonymous namespace)::active_tape", "sink::active_tape"):
        try:
            found = gdb.parse_and_eval(f"'{name}'")
            return found if int(found) else None
        except gdb.error:
            continue
    return None


def nodes_of_tape():
    found = tape()
    return [pointee(node) for node in vector_items(found["nodes_"])] if found else []


def kind_of(node):
    """The node's own struct, such as "RmsNorm" of RmsNormNode; of attention its operation beside it."""
    name = str(node.dynamic_type.target().unqualified()).replace("sink::", "")
    head, _, rest = name.partition("Node")
    return head + rest.replace("<", " ").replace(">", "")


def maker_of(gradient):
    """"3 RmsNorm", the operation on the tape whose output has this gradient; "" if none."""
    state = int(pointee(gradient["state_"]))
    if not state:
        return ""
    for number, node in enumerate(nodes_of_tape()):
        for output in vector_items(node.dereference()["outputs"]):
            if int(pointee(output["state_"])) == state:
                return f"{number} {kind_of(node)}"
    return ""


def tensors_in(value, depth=0):
    """(name, TensorView) of every tensor that a struct holds, in itself or in structs of its own."""
    found = []
    for field in value.type.strip_typedefs().fields():
        if field.is_base_class or not hasattr(field, "bitpos"):  # what every node has; static members
            continue
        member = value[field]
        kind = member.type.unqualified().strip_typedefs()
        if kind.name in ("sink::Tensor", "sink::Var"):
            found.append((field.name, TensorView(member)))
        elif kind.code == gdb.TYPE_CODE_STRUCT and (kind.name or "").startswith("sink::") and depth < 3 and \
                kind.name not in ("sink::Gradient", "sink::Parameter"):
            found += tensors_in(member, depth + 1)
    return [(name, tensor) for name, tensor in found if tensor.defined]


class SinkTape(gdb.Command):
    """sink-tape: the operations on the living tape, in the order they ran: what each made and what it has saved.

    Saved bytes of tensors that several operations share count once, at the first of them."""

    def __init__(self):
        super().__init__("sink-tape", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        if tape() is None:
            raise gdb.GdbError("no tape is alive here: nothing is being recorded")
        seen, total = set(), 0
        print("   # operation                         made                      saved bytes, of")
        for number, node in enumerate(nodes_of_tape()):
            own = node.cast(node.dynamic_type).dereference()
            made = ", ".join(shape_text(sizes_of(pointee(output["state_"])["shape"]))
                             for output in vector_items(own["outputs"]) if int(pointee(output["state_"])))
            saved, names = 0, []
            for name, tensor in tensors_in(own):
                names.append(name)
                if int(tensor.storage) not in seen:
                    seen.add(int(tensor.storage))
                    saved += tensor.bytes
            total += saved
            print(f"{number:4} {kind_of(node):33} {made:25} {saved:11} {' '.join(names)}")
        print(f"     {total} bytes saved")


# ---- Rows ----


class Row(gdb.Function):
    """$row(tensor, i, j, ...): the numbers of the last axis at these indices of the others, as an array of doubles."""

    def __init__(self):
        super().__init__("row")

    def invoke(self, tensor, *indices):
        numbers = TensorView(tensor).row([int(index) for index in indices])
        double = gdb.lookup_type("double")
        return gdb.Value(struct.pack(f"<{len(numbers)}d", *numbers), double.array(len(numbers) - 1))


def frames():
    frame = gdb.selected_frame()
    while frame:
        yield frame
        frame = frame.older()


def frame_of(function):
    """The frame of that name, the selected one or one that called it; None if there is none."""
    for frame in frames():
        if re.sub("<[^<>]*>", "", shortened(frame.name() or "")).split("::")[-1] == function:
            return frame
    return None


def local(frame, name):
    try:
        return frame.read_var(name)
    except ValueError:
        raise gdb.GdbError(f"there is no {name} in {frame.name()}") from None


def vocabulary():
    """The bytes of every token as std::strings, of the text that the program trains on; [] where it has none."""
    for frame in frames():
        if (frame.name() or "").startswith("sink::TrainingRun::"):
            data = pointee(frame.read_var("this").dereference()["data_"])
            source = data.cast(data.dynamic_type).dereference()
            if "tokenizer_" in {field.name for field in source.type.fields()}:
                return vector_items(source["tokenizer_"]["model_"]["bytes"])
    return []


def token_words(b, keys):
    """What stands at each of the model's positions in sequence b: the token's text, else its number; none: unknown."""
    frame = frame_of("final_hidden")
    if not frame:
        return [""] * keys
    ids = TensorView(local(frame, "tokens_BT")).row([b])
    texts = vocabulary()
    words = [repr(string_text(texts[id]))[1:-1] if id < len(texts) else str(id) for id in ids]
    return ["*"] * (keys - len(words)) + words  # a model's own tokens stand first


def doubles(pointer, count):
    return decode("F64", read_memory(int(pointer), 8 * count))


def head_row(rows, *indices):
    """Row t of sequence b and head h of a ref::Rows."""
    heads, positions, width = int(rows["H"]), int(rows["T"]), int(rows["D"])
    b, h, t = indices
    return doubles(int(rows["data"]) + 8 * ((b * heads + h) * positions + t) * width, width)


def in_scope(frame, name):
    """A local whose line has been passed: before it, its memory holds anything."""
    block = frame.block()
    while block and not block.is_static:
        for symbol in block:
            if symbol.name == name:
                return symbol.line < frame.find_sal().line
        block = block.superblock
    return False


def vector_or_none(frame, name):
    return [float(x) for x in vector_items(local(frame, name))] if in_scope(frame, name) else None


def vector_text(numbers, most=6):
    return " ".join(f"{x:8.4f}" for x in numbers[:most]) + (" ..." if len(numbers) > most else "")


def run_on():
    """To the next breakpoint, without a word of it."""
    try:
        gdb.execute("set suppress-cli-notifications on")
    except gdb.error:  # before gdb 12
        pass
    try:
        gdb.execute("continue" if gdb.selected_inferior().pid else "run", to_string=True)
    finally:
        try:
            gdb.execute("set suppress-cli-notifications off")
        except gdb.error:
            pass


def end_of_row():
    """Where in attention_row all of the row is known, as gdb takes places: the line that stores m."""
    places = gdb.decode_line("attention_row")[1]
    if not places:
        raise gdb.GdbError("this program has no attention_row: a debug build has")
    table = places[0].symtab
    with open(table.fullname(), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            if "*m_i = m;" in line:
                return f"{table.filename}:{number}"
    raise gdb.GdbError(f"{table.filename} has no line '*m_i = m;', where a row ends")


class SinkRow(gdb.Command):
    """sink-row [b h i]: one query's attention as a table: q; of each key k, s and a; m, S and o.

    Without numbers, the row of attention_row that the program is in, as far as it has come. With them the program runs
    on to the end of the row of sequence b, head h and position i (counted from 0). Needs the reference: --reference."""

    def __init__(self):
        super().__init__("sink-row", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        numbers = gdb.string_to_argv(argument)
        if numbers and len(numbers) != 3:
            raise gdb.GdbError("expected sink-row, or sink-row b h i")
        if numbers:
            self.run_to(*map(int, numbers))
        frame = frame_of("attention_row")
        if not frame:
            raise gdb.GdbError("the program is not in attention_row: break attention_row, and run it with --reference; "
                               "or sink-row b h i")
        self.show(frame)

    @staticmethod
    def run_to(b, h, i):
        stop = gdb.Breakpoint("attention_row", internal=True)
        stop.condition = f"b == {b} && h == {h} && i == {i}"
        try:
            run_on()
            if not stop.is_valid() or stop.hit_count == 0:
                raise gdb.GdbError(f"the program came to no row b = {b}, h = {h}, i = {i} (with --reference?)")
        finally:
            if stop.is_valid():
                stop.delete()
        gdb.Breakpoint(end_of_row(), internal=True, temporary=True)
        run_on()

    @staticmethod
    def show(frame):
        head = plain(local(frame, "head"))
        b, h, i = (int(local(frame, name)) for name in ("b", "h", "i"))
        t = i - int(head["config"]["first_position"])
        g = h // (int(head["q"]["H"]) // int(head["k"]["H"]))
        words = token_words(b, int(head["k"]["T"]))
        print(f"sequence {b}, head {h}, query at position {i}" + (f", token {words[i]}" if words[i] else ""))
        print(f"q_i  {vector_text(head_row(head['q'], b, h, t))}")
        if not in_scope(frame, "keys"):
            return print("(its keys are not known yet: step on)")
        keys = [int(j) for j in vector_items(local(frame, "keys"))]
        s, a = vector_or_none(frame, "s"), vector_or_none(frame, "a")
        print("  key         s         a  token        k_j")
        names = [str(j) for j in keys] + ["*"] * (len(s or keys) - len(keys))
        for n, name in enumerate(names):
            s_n = f"{s[n]:9.4f}" if s and n < len(s) else "        ?"
            a_n = f"{a[n]:9.4f}" if a and n < len(a) else "        ?"
            vector = ""
            if name != "*":
                vector = vector_text(head_row(head["k"], b, g, keys[n]), 4)
            elif int(head["extra_k"]):
                vector = vector_text(doubles(head["extra_k"], int(head["k"]["D"])), 4)
            word = words[keys[n]] if name != "*" else "extra key"
            print(f"{name:>5} {s_n} {a_n}  {word[:12]:12} {vector}")
        if in_scope(frame, "S"):
            print(f"m {float(local(frame, 'm')):.6g}   S {float(local(frame, 'S')):.6g}   "
                  f"sum of a {sum(a) if a else float('nan'):.6g}")
        if a:
            print(f"o_i  {vector_text(doubles(local(frame, 'o_i'), int(head['v']['D'])))}")


# ---- Maps and differences ----

SHADES = " .:-=+*#%@"


class EndOfRows(gdb.Breakpoint):
    """Gathers the weights of one head's rows as they are computed; stops the program after the last."""

    def __init__(self, layer, head):
        super().__init__(end_of_row(), internal=True)
        self.condition = f"b == 0 && h == {head}"
        self.layer, self.rows, self.keys = layer, {}, 0

    def stop(self):
        layer = layer_of_frame()
        if layer not in (None, self.layer):
            return False
        frame = gdb.newest_frame()
        head, i = plain(local(frame, "head")), int(local(frame, "i"))
        a = [float(x) for x in vector_items(local(frame, "a"))]
        keys = [int(j) for j in vector_items(local(frame, "keys"))]
        self.keys = int(head["k"]["T"])
        self.rows[i] = (dict(zip(keys, a)), a[len(keys):])
        return i == int(head["config"]["first_position"]) + int(head["q"]["T"]) - 1


def layer_of_frame():
    """Which layer's attention is running, from 0; None where no caller knows."""
    for frame in frames():
        if "AttentionLayer" in (frame.name() or ""):
            return int(plain(frame.read_var("pass"))["layer"])
    return None


class SinkHeat(gdb.Command):
    """sink-heat layer head: the program runs on through that head's attention of the first sequence, and its weights
    are drawn as they were computed: a line per query, a character per key, darker for more; a * in front: the extra key.

    Layers and heads count from 0. Needs the reference: --reference."""

    def __init__(self):
        super().__init__("sink-heat", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        numbers = gdb.string_to_argv(argument)
        if len(numbers) != 2:
            raise gdb.GdbError("expected sink-heat layer head")
        gather = EndOfRows(*map(int, numbers))
        try:
            run_on()
            if not gather.is_valid() or not gather.rows:
                raise gdb.GdbError(f"the program came to no attention of layer {numbers[0]}, head {numbers[1]}")
            self.draw(gather)
        finally:
            if gather.is_valid():
                gather.delete()

    @staticmethod
    def draw(gather):
        extra = any(more for _, more in gather.rows.values())
        largest = max(max([*row.values(), *more], default=0) for row, more in gather.rows.values()) or 1
        shade = lambda a: SHADES[max(0, min(len(SHADES) - 1, int(a / largest * (len(SHADES) - 1) + 0.5)))]
        print(f"layer {gather.layer}: weights of queries (down) on keys (right), '{SHADES[-1]}' is {largest:.3g}")
        for i, (row, more) in sorted(gather.rows.items()):
            front = ("*" + shade(more[0]) + " ") if extra else ""
            print(f"{i:4} {front}|" + "".join(shade(row[j]) if j in row else " " for j in range(gather.keys)) + "|")
        seen = [(row[0], 1) for row, _ in gather.rows.values() if 0 in row]
        print(f"alpha_1, the mean weight of the first key: {sum(a for a, _ in seen) / max(1, len(seen)):.4f}")


class SinkDiff(gdb.Command):
    """sink-diff A B: where two tensors, any expressions, first differ, and by how much at most."""

    def __init__(self):
        super().__init__("sink-diff", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        names = gdb.string_to_argv(argument)
        if len(names) != 2:
            raise gdb.GdbError("expected sink-diff A B; quote expressions that have blanks")
        a, b = (TensorView(gdb.parse_and_eval(name)) for name in names)
        if a.sizes != b.sizes:
            raise gdb.GdbError(f"shapes differ: {names[0]} is {a}, {names[1]} is {b}")
        numbers = [tensor.numbers(0, tensor.size) for tensor in (a, b)]
        if None in numbers:
            raise gdb.GdbError("the numbers cannot be read from here")
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
        worst = max(abs(numbers[0][n] - numbers[1][n]) for n in places)
        print(f"{len(places)} of {a.size} numbers differ, first at {shape_text(index)}: {x!r} and {y!r}; "
              f"by {worst:.3g} at most")


class Sink(gdb.Command):
    """What Sinklab adds to gdb: sink-row, sink-tape, sink-heat, sink-diff and $row(tensor, i, j, ...).

    "help sink-row" and so on say what each does. Landmarks to break at: attention_row, attention_row_backward,
    rms_norm_row, layer_norm_row, rotary_row, cross_entropy_row, adamw_element."""

    def __init__(self):
        super().__init__("sink", gdb.COMMAND_DATA, prefix=False)

    def invoke(self, argument, from_tty):
        print(self.__doc__)


# ---- Backtraces ----

# Frames between an operation and what it computes that mean nothing to a reader.
PASSED_ON = ("std::", "boost::", "_ZSt", "_ZZ", "__", "start_thread", "clone", "sink::Selected", "sink::parallel_for",
             "sink::parallel_chunks", "sink::run_program", "sink::run_body")


def shortened(name):
    """Without the arguments of templates and functions, but for a word: AttentionLayer<pos_learnable>::operator()."""
    name = name.replace("sink::ablations::", "").replace("(anonymous namespace)::", "")
    name = re.sub(r"operator ?\(\)", "operator__", name).partition("(")[0]
    words = re.compile(r"<([^<>]*)>")
    while (found := words.search(name)):
        word = found[1].replace("sink::", "")
        name = name[:found.start()] + (f"\1{word}\2" if word.isidentifier() else "") + name[found.end():]
    name = re.sub("\1[^\1\2]*(\1[^\1\2]*\2)+[^\1\2]*\2", "", name)  # of arguments that have arguments nothing
    return name.replace("\1", "<").replace("\2", ">").replace("operator__", "operator()")


class Argument:
    """An argument of a frame; of a tensor its shape alone."""

    def __init__(self, symbol, frame):
        self.name, value = symbol.name, frame.read_var(symbol)
        kind = plain(value).type.unqualified().strip_typedefs().name
        if kind == "sink::Var":
            value = plain(value)["value_"]
        self.shown = plain(value)["shape_"] if kind in ("sink::Tensor", "sink::Var") else value

    def symbol(self):
        return self.name

    def value(self):
        return self.shown


class PlainFrame(gdb.FrameDecorator.FrameDecorator):
    def function(self):
        name = self.inferior_frame().name()
        return shortened(name) if name else super().function()

    def frame_args(self):
        frame = self.inferior_frame()
        try:
            block = frame.block()
        except RuntimeError:
            return None
        while not block.function:
            block = block.superblock
        return [Argument(symbol, frame) for symbol in block if symbol.is_argument and symbol.name != "this"]


class MeaningfulFrames:
    """The frame filter: `bt` shows what a reader of the engine looks for, `bt -no-filters` everything."""

    name, priority, enabled = "sinklab", 100, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        for frame in frames:
            name = frame.inferior_frame().name() or ""
            closure = "{lambda" in name or "<lambda" in name or name.startswith("operator()")
            if not closure and not name.startswith(PASSED_ON):
                yield PlainFrame(frame)


gdb.printing.register_pretty_printer(None, find_printer, replace=True)
for made in (Sink, SinkRow, SinkTape, SinkHeat, SinkDiff, Row, MeaningfulFrames):
    made()
