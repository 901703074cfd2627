"""Frames of the program, their local variables, and short names."""
import re

import gdb

NO_PROGRAM = "the program is not running: `run` it to a landmark first, such as `break attention_row` (help sink)"


def frames():
    """The selected frame and its callers."""
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        raise gdb.GdbError(NO_PROGRAM) from None
    while frame:
        yield frame
        frame = frame.older()


def of_caller(find):
    """find() in the selected thread; if that is a worker of a parallel loop and finds nothing, in the thread that waits for
    the loop."""
    found, thread = find(), gdb.selected_thread()
    first = min(gdb.selected_inferior().threads(), key=lambda thread: thread.num)
    if found or thread.num == first.num:
        return found
    frame = gdb.selected_frame()
    first.switch()
    try:
        gdb.newest_frame().select()
        return find()
    finally:
        thread.switch()
        frame.select()


def shortened(name):
    """A name without template and function arguments, except single words: AttentionLayer<pos_learnable>::operator()."""
    name = name.replace("sink::ablations::", "").replace("(anonymous namespace)::", "")
    name = re.sub(r"operator ?\(\)", "operator__", name)
    words = re.compile(r"<([^<>]*)>")
    while (found := words.search(name)):
        word = found[1].replace("sink::", "")
        name = name[:found.start()] + (f"\1{word}\2" if word.isidentifier() else "") + name[found.end():]
    name = re.sub("\1[^\1\2]*(\1[^\1\2]*\2)+[^\1\2]*\2", "", name)  # drops arguments that have arguments
    name = name.partition("(")[0].replace("\1", "<").replace("\2", ">").replace("operator__", "operator()")
    return name if "operator " in name else name.split(" ")[-1]  # without debug information the return type comes first


def function_of(frame):
    """attention_row for sink::ref::attention_row<sink::Softmax>(...)."""
    return re.sub("<[^<>]*>", "", shortened(frame.name() or "")).split("::")[-1]


def frame_of(function):
    """The first frame of this function, from the selected one through its callers; None if there is none."""
    return next((frame for frame in frames() if function_of(frame) == function), None)


def local(frame, name):
    try:
        value = frame.read_var(name)
    except (ValueError, RuntimeError):
        raise gdb.GdbError(f"there is no {name} in {function_of(frame)}: build with `cmake --preset debug`; "
                           "if it has another name now, tools/gdb/sinklab has to know") from None
    if value.is_optimized_out:
        raise gdb.GdbError(f"{name} is optimised out in {function_of(frame)}: build with `cmake --preset debug`")
    return value


def locals_of(frame):
    """(name, value) of all local variables and arguments of a frame."""
    try:
        block = frame.block()
    except RuntimeError:  # no debug information
        return
    while block and not block.is_static and not block.is_global:
        for symbol in block:
            if symbol.is_argument or symbol.is_variable:
                try:
                    yield symbol.name, frame.read_var(symbol)
                except (gdb.error, ValueError, RuntimeError):
                    continue
        if block.function:
            return
        block = block.superblock


def line_of_local(frame, name):
    """The line that declares it; infinity if there is none."""
    block = frame.block()
    while block and not block.is_static:
        for symbol in block:
            if symbol.name == name:
                return symbol.line
        block = block.superblock
    return float("inf")


def in_scope(frame, name):
    """Whether the declaration of a local variable has been passed; before it, its memory is uninitialized."""
    return line_of_local(frame, name) < frame.find_sal().line
