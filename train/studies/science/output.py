"""What the programs of this folder print and write: aligned tables, Markdown, CSV, files that are replaced whole, and exit codes."""
import math
import os
import pathlib
import re
import socket
import sys
import tempfile
import zlib

from runs import BadInput


class Usage(Exception):
    """Exit code 2: a sentence for the user."""


def widths_of(rows):
    return [max(1, *map(len, column)) for column in zip(*rows)]


def aligned(rows):
    widths = widths_of(rows)
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def escaped(text):
    """A text of a file in Markdown begins no HTML; our own <ablation> stays, which is in code."""
    return re.sub("<(?!ablation>)(?=[A-Za-z/!?])", "&lt;", text)


def markdown(rows, is_aligned=False):
    rows = [[escaped(cell).replace("|", "\\|") for cell in row] for row in rows]
    widths = widths_of(rows) if is_aligned else [0] * len(rows[0])
    lines = ["".join("| " + cell.ljust(width) + " " for cell, width in zip(row, widths)) + "|\n" for row in rows]
    lines.insert(1, "".join("|" + "-" * max(3, width + 2) for width in widths) + "|\n")
    return "".join(lines)


def field(value):
    """A cell of CSV: nine digits, nothing where a value is unknown; a spreadsheet takes no text for a formula."""
    if isinstance(value, float):
        return f"{value:.9g}" if math.isfinite(value) else ""
    text = str(value)
    if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") and text:
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def require_ours(path, beginning, holds="", force=False):
    """Only a file of ours is replaced: empty, or with this beginning and this text in it."""
    if not path.exists() or (force and path.is_file()):
        return
    found = path.read_bytes() if path.is_file() else None
    if found is None or (found and not (found.startswith(beginning.encode()) and holds.encode() in found)):
        raise Usage(f"{path} already exists and is not what this program writes; move it or give another --out")


def this_machine():
    """Where process ids mean the same processes: the host, and on it the container."""
    try:
        processes = os.readlink("/proc/self/ns/pid")
    except OSError:
        processes = ""
    return f"{zlib.crc32((socket.gethostname() + processes).encode()):08x}"


def has_ended(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def remove_orphans(path):
    """What processes of this machine that ended have left of the file, as engine/io/temporary_name.h does."""
    names = re.compile(re.escape(f".{path.name}.tmp-") + r"(\d+)-" + this_machine() + "-")
    for other in path.parent.iterdir():
        if (match := names.match(other.name)) and has_ended(int(match[1])):
            other.unlink(missing_ok=True)


def write(path, text):
    """Replaces the file whole."""
    remove_orphans(path)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.tmp-{os.getpid()}-{this_machine()}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)  # the new name
    finally:
        os.close(folder)


def run_program(name, function):
    """Runs a program to its exit code."""
    try:
        function()
    except (BadInput, Usage) as error:
        print("\n".join(f"{name}: error: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 2 if isinstance(error, Usage) else 3
    except OSError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 8
    return 0
