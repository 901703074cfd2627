"""sink-heat: draws the attention pattern of a head with characters, from the rows that attention_row computes."""
import gdb

from .command import Command, only_own_breakpoints, run_on
from .row import end_of_row, of_row
from .stack import frames, local
from .values import numbers_of, plain, vector_items

SHADES = " .:-=+*#%@"


class EndOfRows(gdb.Breakpoint):
    """Collects the weights of one head's rows as they are computed; stops the program after the last row."""

    def __init__(self, layer, head):
        super().__init__(end_of_row(), internal=True)
        of_row(self, f"b == 0 && h == {head}")
        self.layer, self.rows, self.keys, self.several_threads = layer, {}, 0, False

    def stop(self):
        self.several_threads = len(gdb.selected_inferior().threads()) > 1
        if self.several_threads:  # the layer is only known in the thread that waits for the loop
            return True
        if layer_of_frame() not in (None, self.layer):
            return False
        frame = gdb.newest_frame()
        head, i = plain(local(frame, "head")), int(local(frame, "i"))
        a = numbers_of(local(frame, "a"))
        keys = [int(j) for j in vector_items(local(frame, "keys"))]
        self.keys = int(head["k"]["T"])
        self.rows[i] = (dict(zip(keys, a)), a[len(keys):])
        return i == int(head["config"]["first_position"]) + int(head["q"]["T"]) - 1


def layer_of_frame():
    """The layer whose attention is running, from 0; None if no caller knows it."""
    for frame in frames():
        if "AttentionLayer" in (frame.name() or ""):
            return int(plain(frame.read_var("ctx"))["layer"])
    return None


class SinkHeat(Command):
    """sink-heat layer head: continues through that head's attention of the first sequence and draws its attention
    pattern: a line per query, a character per key, darker for larger weights; the column * is the extra key.

    Layers and heads count from 0. Needs the reference: --reference, and --threads 1, both of which --tiny has."""

    def run(self, words):
        layer, head = self.whole_numbers(words, 2)
        gather = None
        try:
            with only_own_breakpoints():
                gather = EndOfRows(layer, head)
                run_on()
            if gather.several_threads:
                raise gdb.GdbError("the rows are computed by several threads: start the program with --threads 1")
            if not gather.is_valid() or not gather.rows:
                raise gdb.GdbError(f"the program came to no attention of layer {layer}, head {head}: start it with "
                                   "--reference (--tiny does)")
            self.draw(gather)
        finally:
            if gather and gather.is_valid():
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
        first = [row[0] for row, _ in gather.rows.values() if 0 in row]
        print(f"alpha_1, the mean weight of the first key: {sum(first) / max(1, len(first)):.4f}")


SinkHeat()
