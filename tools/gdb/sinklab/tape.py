"""The active tape: sink-tape, and the operation that made a Var."""
import re

import gdb

from .command import Command
from .numbers import shape_text
from .values import pointee, sizes_of, tensor_of, vector_items


def tape():
    """A pointer to the active tape, or None."""
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
    """The operation of a node, "RmsNorm" for RecordedNode<RmsNormNode, 1>; for attention with its kind."""
    name = str(node.dynamic_type.target().unqualified()).replace("sink::", "").replace("(anonymous namespace)::", "")
    if recorded := re.fullmatch(r"RecordedNode<(.*), \d+>", name):
        name = recorded[1]
    head, _, rest = name.partition("Node")
    return head + rest.replace("<", " ").replace(">", "")


def maker_of(gradient):
    """"3 RmsNorm": the operation on the tape whose output has this gradient; "" if there is none."""
    state = int(pointee(gradient["state_"]))
    if not state:
        return ""
    for number, node in enumerate(nodes_of_tape()):
        for output in vector_items(node.dereference()["outputs"]):
            if int(pointee(output["state_"])) == state:
                return f"{number} {kind_of(node)}"
    return ""


def tensors_in(value, depth=0):
    """(name, TensorView) of every tensor of a struct, including its member structs and bases."""
    found = []
    for field in sorted(value.type.strip_typedefs().fields(), key=lambda field: field.is_base_class):
        if not hasattr(field, "bitpos"):  # static members
            continue
        member = value[field]
        kind = member.type.unqualified().strip_typedefs()
        if kind.name == "sink::Node":  # the base of every node
            continue
        if kind.name in ("sink::Tensor", "sink::Var"):
            found.append((field.name, tensor_of(member)))
        elif kind.code == gdb.TYPE_CODE_STRUCT and (kind.name or "").startswith("sink::") and depth < 3 and \
                kind.name not in ("sink::Gradient", "sink::Parameter"):
            found += tensors_in(member, depth + 1)
    return [(name, tensor) for name, tensor in found if tensor.defined]


class SinkTape(Command):
    """sink-tape: the operations on the active tape in the order they ran, with the shapes of their outputs and the bytes they
    saved.

    The bytes of a tensor that several operations saved count once, for the first of them."""

    def run(self, words):
        if tape() is None:
            raise gdb.GdbError("no tape is alive here: nothing is being recorded")
        seen, total = set(), 0
        print("   # operation                         made                      saved bytes, of")
        for number, node in enumerate(nodes_of_tape()):
            own = node.cast(node.dynamic_type).dereference()
            made = ", ".join(shape_text(sizes_of(pointee(output["state_"])["shape"]))
                             for output in vector_items(own["outputs"]) if int(pointee(output["state_"])))
            saved, names = 0, []
            for name, tensor in tensors_in(own["op"] if "RecordedNode<" in str(own.type) else own):
                names.append(name)
                if tensor.storage not in seen:
                    seen.add(tensor.storage)
                    saved += tensor.bytes
            total += saved
            print(f"{number:4} {kind_of(node):33} {made:25} {saved:11} {' '.join(names)}")
        print(f"     {total} bytes saved")


SinkTape()
