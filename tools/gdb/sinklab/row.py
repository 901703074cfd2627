"""sink-row: one query's attention as a table, from the local variables of attention_row."""
import gdb

from .command import Command, only_own_breakpoints, run_on
from .stack import frame_of, in_scope, line_of_local, local
from .tokens import token_words
from .values import numbers_of, plain, vector_items

LAST_LINE = "*m_i = m;"  # in attention_row, where the whole row is known


def line_of_end(table):
    """The line number of LAST_LINE in the source file of a symbol table."""
    try:
        with open(table.fullname(), encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                if LAST_LINE in line:
                    return number
    except OSError:
        raise gdb.GdbError(f"the source {table.fullname()} is not there to look for the end of a row") from None
    raise gdb.GdbError(f"{table.filename} has no line '{LAST_LINE}', where a row ends")


def at_end(frame):
    """Whether the whole row is known; False if the source is missing."""
    place = frame.find_sal()
    try:
        return line_of_end(place.symtab) <= place.line
    except gdb.GdbError:
        return False


def end_of_row():
    """The location of LAST_LINE for a breakpoint."""
    try:
        places = gdb.decode_line("attention_row")[1]
    except gdb.error:
        places = None
    if not places or not places[0].symtab:
        raise gdb.GdbError("this program has no attention_row to stop in: a debug build has, `cmake --preset debug`")
    table = places[0].symtab
    return f"{table.filename}:{line_of_end(table)}"


def of_row(stop, condition):
    """Sets the condition of a breakpoint in attention_row."""
    try:
        stop.condition = condition
    except gdb.error:
        stop.delete()
        raise gdb.GdbError(f"attention_row of this program has no names to ask for {condition}: a debug build has, "
                           "`cmake --preset debug`") from None


def vector_text(numbers, most=6):
    return " ".join(f"{x:8.4f}" for x in numbers[:most]) + (" ..." if len(numbers) > most else "")


def known(frame, name):
    """The values of a local variable, None before its declaration."""
    return numbers_of(local(frame, name)) if in_scope(frame, name) else None


def complete(frame, name, then):
    """A value as text, "?" before the declaration of `then`, the local variable after the loop that computes it."""
    done = in_scope(frame, name) and line_of_local(frame, then) <= frame.find_sal().line
    return f"{float(local(frame, name)):.6g}" if done else "?"


class SinkRow(Command):
    """sink-row [b h i]: one query's attention as a table: q; of each key k, s and a; m, S and o.

    Without indices, shows the row in which the program is, up to its current line. With them, continues to the end of
    the row of sequence b, head h and position i (from 0). Values that are not complete yet are shown as ?. Needs the
    reference: --reference."""

    def run(self, words):
        numbers = self.whole_numbers(words, 0, 3)
        if numbers:
            self.run_to(*numbers)
        frame = frame_of("attention_row")
        if not frame:
            raise gdb.GdbError("the program is not in attention_row: break attention_row, and run it with --reference; "
                               "or sink-row b h i")
        self.show(frame)

    @staticmethod
    def run_to(b, h, i):
        with only_own_breakpoints():
            stop = gdb.Breakpoint(end_of_row(), internal=True)
            of_row(stop, f"b == {b} && h == {h} && i == {i}")
            try:
                run_on()
                if not stop.is_valid() or stop.hit_count == 0:
                    raise gdb.GdbError(f"the program came to no row b = {b}, h = {h}, i = {i}: start it with "
                                       "--reference (--tiny does) and a sequence that has it")
            finally:
                if stop.is_valid():
                    stop.delete()

    @staticmethod
    def show(frame):
        head = plain(local(frame, "head"))
        b, h, i = (int(local(frame, name)) for name in ("b", "h", "i"))
        words = token_words(b, int(head["k"]["T"]))
        print(f"sequence {b}, head {h}, query at position {i}" + (f", token {words[i]}" if words[i] else ""))
        q = known(frame, "q")
        if q is None or not in_scope(frame, "k"):
            return print("(q and its keys are not known yet: step on)")
        print(f"q  {vector_text(q)}")
        keys = [int(j) for j in vector_items(local(frame, "keys"))]
        k = [numbers_of(row) for row in vector_items(local(frame, "k"))] + [numbers_of(head["extra_k"])]
        s, a = known(frame, "s"), known(frame, "a")
        print("  key         s         a  token        k")
        names = [str(j) for j in keys] + ["*"] * (len(s or keys) - len(keys))
        for n, name in enumerate(names):
            s_n = f"{s[n]:9.4f}" if s and n < len(s) else "        ?"
            a_n = f"{a[n]:9.4f}" if a and n < len(a) else "        ?"
            word = words[keys[n]] if name != "*" else "extra key"
            print(f"{name:>5} {s_n} {a_n}  {word[:12]:12} {vector_text(k[n], 4)}")
        total = f"{sum(a):.6g}" if s and a and len(a) == len(s) else "?"
        print(f"m {complete(frame, 'm', 'S')}   S {complete(frame, 'S', 'row')}   sum of a {total}")
        print(f"o  {vector_text(numbers_of(local(frame, 'o'))) if at_end(frame) else '       ?'}")


SinkRow()
