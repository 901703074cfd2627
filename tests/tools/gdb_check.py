"""What the tests that run inside gdb share: commands, checks, and numbers read by gdb's own means, not by sinklab's."""
import re

import gdb


def said(command):
    return gdb.execute(command, to_string=True)


def leave(status):
    if gdb.selected_inferior().pid:
        gdb.execute("kill")
    gdb.execute(f"quit {status}")


def check(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        leave(1)


def close(x, y, digits=4):
    return abs(x - y) <= 0.6 * 10**-digits * max(1, abs(y))


def all_close(xs, ys, tolerance=1e-9):
    xs, ys = list(xs), list(ys)
    return len(xs) == len(ys) and all(abs(x - y) <= tolerance * max(1, abs(y)) for x, y in zip(xs, ys))


def number(expression):
    value = gdb.parse_and_eval(expression)
    return float(value.referenced_value() if value.type.code == gdb.TYPE_CODE_REF else value)


def array(expression):
    """Numbers of an array by gdb's own reading, as in *pointer@count."""
    value = gdb.parse_and_eval(expression)
    low, high = value.type.range()
    return [float(value[n]) for n in range(low, high + 1)]


def printed(name):
    """The numbers that `print` shows of a vector or span: the last braces."""
    text = said(f"output {name}")
    return [float(x) for x in re.search(r"\{([^{}]*)\}$", text)[1].split(",")] if "{" in text else []


def refused(command, words):
    """The command fails with these words, in one line."""
    try:
        answer = said(command)
    except gdb.error as problem:
        check(words in str(problem), f"{command}: expected '{words}', got: {problem}")
        return check("Traceback" not in str(problem) and "\n" not in str(problem).strip(), f"{command}: {problem}")
    check(False, f"{command} was not refused: {answer}")


def quiet():
    for setting in ("pagination off", "confirm off", "width 0", "print elements 0", "print repeats 0"):
        said(f"set {setting}")
    said("handle SIGSEGV nostop noprint pass")  # the emulated device's


def ends_well():
    print("all that gdb was told is so")
    leave(0)
