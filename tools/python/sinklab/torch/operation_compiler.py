"""Compiles attention operations into a cache of shared libraries."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

from sinklab import _core
from sinklab._core import Error

_INCLUDES = '#include "engine/ops/attention/attention_dispatch.h"\n#include "tools/python/bindings/attention_functions.h"\n'
_EXPORT = """
namespace sink {{
static_assert(attention_op_is_complete<{name}>());
}}  // namespace sink
extern "C" __attribute__((visibility("default"))) sink::python::AttentionFunctions sinklab_attention_functions() {{
  return sink::python::attention_functions<sink::{name}>();
}}
"""


def compiled(name: str, code: str, texts: dict[str, str]) -> tuple[str, pathlib.Path]:
    """A key of the operation, and the library that has it, compiled unless the cache has it. ``texts``: what the user wrote, by
    the names that #line gives it in the code, for messages."""
    source = _INCLUDES + code + _EXPORT.format(name=name)
    compiler = shlex.split(os.environ.get("CXX", "")) or [_core.compiler]
    module = pathlib.Path(_core.__file__)
    command = [*compiler, *_core.compile_flags.split(), "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-w", "-shared",
               f"-I{module.parent / 'include'}", "-x", "c++", "-", "-x", "none", str(module)]
    key = hashlib.sha256("\0".join([_digest(module), *command, source]).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    folder = _cache_folder()
    library = _cached(folder, name, key)
    if library is None:
        library = _compile(command, source, texts, folder, name, key)
    return f"{name}@{key}", library


def _cache_folder():
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (pathlib.Path(base) if os.path.isabs(base) else pathlib.Path.home() / ".cache") / "sinklab"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise _unwritable(folder, error) from None
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise Error(f"the cache folder {folder} belongs to another user or can be written by others, who could change what is run: "
                    f"chmod 700 it, or set XDG_CACHE_HOME to a folder of yours")
    return folder


def _unwritable(folder, error):
    return Error(f"the cache folder {folder} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder that can")


def _cached(folder, name, key):
    """The library of this key; its name ends with the checksum of its bytes. None: there is none."""
    for library in sorted(folder.glob(f"{name}-{key}-*.so")):
        if _digest.__wrapped__(library)[:24] != library.stem.rpartition("-")[2]:
            raise Error(f"{library} is not what was compiled: it was damaged or changed; remove it")
        return library
    return None


def _compile(command, source, texts, folder, name, key):
    try:
        handle, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".tmp", dir=folder)
    except OSError as error:
        raise _unwritable(folder, error) from None
    os.close(handle)
    temporary = pathlib.Path(path)
    try:
        run = subprocess.run([*command, "-o", path], input=source, capture_output=True, text=True, errors="replace",
                             env={**os.environ, "LC_ALL": "C"})
        if run.returncode != 0:
            raise Error(f"the operation {name} does not compile: {_sentence(run.stderr, texts)}")
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        library = folder / f"{name}-{key}-{_digest.__wrapped__(temporary)[:24]}.so"
        temporary.rename(library)
        return library
    except FileNotFoundError:
        raise Error(f"there is no C++ compiler {command[0]}: install g++, or name one in CXX") from None
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def _sentence(output, texts):
    """The first error about a line of the user; else a static assertion, which is a sentence by itself; else the first error."""
    errors = re.findall(r"^([^:\n]+):(\d+):(?:\d+:)? (?:fatal )?error: (.*)", output, re.M)
    asserted = re.search(r"static (?:assertion|_assert) failed[^:]*: \"?(.*?)\"?$", output, re.M)
    for where, number, message in errors:
        if where in texts and not message.startswith("static"):
            line = texts[where].splitlines()[int(number) - 1:int(number)]
            return f"{where}, line {number}: {message}" + "".join(f": {text.strip()}" for text in line)
    if asserted:
        return asserted[1]
    if errors:
        return errors[0][2]
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "the compiler failed without a message")


@functools.lru_cache(maxsize=None)
def _digest(path):
    with open(path, "rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
