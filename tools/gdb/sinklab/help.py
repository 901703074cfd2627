"""`sink` and `help sink`: what there is."""
import gdb


class Sink(gdb.Command):
    """What Sinklab adds to gdb: sink-row, sink-tape, sink-heat, sink-diff and $row(tensor, i, j, ...).

    "help sink-row" and so on say what each does. Landmarks to break at, all of the reference (--reference, --tiny):
    attention_row and attention_row_backward (b, h, i), norm_row (row), rotary_row (t), cross_entropy_row (n),
    adamw_element (i); as in `break attention_row if h == 1 && i == 5`. Their locals have the paper's names, q, k, v, s, a, o: at the stop none is
    set yet, so `next` past the pass you want and `print s`, or let `sink-row 0 0 5` run to the end of a row. To have all
    this in every debug build without -ix, put `add-auto-load-safe-path <the repository>` into ~/.config/gdb/gdbinit."""

    def __init__(self):
        super().__init__("sink", gdb.COMMAND_DATA, prefix=False)

    def invoke(self, argument, from_tty):
        print(self.__doc__)


Sink()
