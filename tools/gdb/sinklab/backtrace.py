"""The frame filter: `bt` hides frames of libraries and glue code, `bt -no-filters` shows all."""
import re

import gdb
import gdb.FrameDecorator

from .stack import shortened
from .values import plain, type_name

# Glue code between an operation and its computation, hidden.
HIDDEN = ("std::", "boost::", "_ZSt", "_ZZ", "__", "start_thread", "clone", "sink::Selected", "sink::parallel_for",
          "sink::parallel_chunks", "sink::RecordedNode", "sink::run_program", "sink::run_body", "sink::StepRecording",
          "sink::attention_in_context")
# Private helpers of the model's classes, hidden: their callers are shown.
STEP = re.compile(r"::call_layer$|::checked_forward$|::forward_from$|::Block<.*>::forward$")


class Argument:
    """An argument of a frame; for a tensor only its shape."""

    def __init__(self, symbol, frame):
        self.name, value = symbol.name, frame.read_var(symbol)
        kind = type_name(value)
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
    name, priority, enabled = "sinklab", 100, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        for frame in frames:
            name = frame.inferior_frame().name() or ""
            closure = "{lambda" in name or "<lambda" in name or name.startswith("operator()")
            short = shortened(name)
            if not closure and not name.startswith(HIDDEN) and not short.startswith(HIDDEN) and not STEP.search(short):
                yield PlainFrame(frame)


MeaningfulFrames()
