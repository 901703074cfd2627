"""The base class of commands, which reports errors as sentences, and helpers to continue the program silently."""
import contextlib

import gdb

from .numbers import Unreadable


class Command(gdb.Command):
    """A command whose docstring begins with its name and arguments, as in "sink-diff A B: ...". A subclass has
    run(words)."""

    completer = gdb.COMPLETE_NONE

    def __init__(self):
        self.usage = self.__doc__.partition(":")[0]
        self.name = self.usage.split()[0]
        super().__init__(self.name, gdb.COMMAND_DATA, self.completer)

    def invoke(self, argument, from_tty):
        try:
            self.run(gdb.string_to_argv(argument))
        except (Unreadable, gdb.error, KeyError, ValueError) as problem:
            raise gdb.GdbError(f"{self.name}: {str(problem).strip(chr(39))}") from None

    def whole_numbers(self, words, *counts):
        """The words as whole numbers from 0; their count must be one of `counts`."""
        if len(words) not in counts or not all(word.isdecimal() for word in words):
            raise gdb.GdbError(f"expected {self.usage}, whole numbers from 0; "
                               + (f"got `{' '.join(words)}`" if words else "got nothing"))
        return [int(word) for word in words]


@contextlib.contextmanager
def only_own_breakpoints():
    """Disables the existing breakpoints; those set inside the block stop the program."""
    others = [stop for stop in gdb.breakpoints() if stop.enabled]
    for stop in others:
        stop.enabled = False
    try:
        yield
    finally:
        for stop in others:
            if stop.is_valid():
                stop.enabled = True


def run_on():
    """Continues to the next breakpoint without output; starts the program if necessary."""
    if not gdb.current_progspace().filename:
        raise gdb.GdbError("no program: gdb --args build/debug/train_pos_learnable --tiny")
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
