#!/usr/bin/env python3
"""Writes the page that trains sink.cpp in a browser: the program as WebAssembly, its worker, script and texts in one HTML file.

    build_page.py OUT.html          exit 77: this machine cannot compile for WebAssembly

Needs clang, lld and Debian's wasi-libc, libc++-dev-wasm32 and libclang-rt-dev-wasm32 (tools/setup.sh --tests). The same compiler
writes the same bytes."""
import base64
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parent
ROOT = PAGE.parents[2]
COMPILE = ["clang++", "--target=wasm32-wasi", "-std=c++20", "-O3", "-msimd128", "-fno-exceptions", "-mexec-model=reactor", "-Wno-return-type",
           "-Wl,--strip-all", "-I", "."]
WORDS = ["attention sink", "attention pattern", "alpha_k", "Sink_k", "row sum", "extra key", "gate"]
OPERATIONS = ["softmax", "sigmoid", "sigmoid_norm", "relu", "elu"]


def read(path):
    return (ROOT / path).read_text()


def module(source, **more):
    """The WebAssembly of a source."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "page.wasm"
        subprocess.run([*COMPILE, *source, "-o", out], check=True, cwd=ROOT, **more)
        return out.read_bytes()


def can_compile():
    try:
        return bool(module(["-x", "c++", "-"], input=b"#include <vector>\nstd::vector<int> x(1);", capture_output=True))
    except (FileNotFoundError, subprocess.CalledProcessError):
        return False


def marked(text):
    """The marks of a table cell of a page as HTML."""
    text = html.escape(text.replace("\\|", "|").replace("\\*", "*"), quote=False)
    return re.sub(r"\*([^*]+)\*", r"<i>\1</i>", re.sub(r"`([^`]*)`", r"<code>\1</code>", text))


def words():
    glossary = dict(re.findall(r"^\| ([^|]+) \| (.*) \|$", read("GLOSSARY.md"), re.M))
    return "".join(f"<dt>{word}</dt><dd>{marked(glossary[word])}</dd>" for word in WORDS)


def why():
    """OPERATIONS.md on rows that sum to one."""
    return re.search(r"Where the sum is 1 .*?need not\.", read("engine/ops/attention/op/OPERATIONS.md"), re.S).group()


def texts():
    """The sizes of sink.cpp, what `explain` says of the stages of a row, and the formulas of the operations."""
    sizes = {name: int(value) for name, value in re.findall(r"\b(T|C|H|kSteps) = (\d+)[,;]", read("tools/one_file/sink.cpp"))}
    explain = read("eval/explain/page/explain.js")
    say = {name: json.loads(f'"{text}"') for name, text in re.findall(r'name: "([^"]+)".*\n\s+say: "([^"]+)",\n', explain)}
    whole = {name: re.search(r'\.whole = "([^"]+)"', read(f"engine/ops/attention/op/{name}.h")).group(1) for name in OPERATIONS}
    return json.dumps({"sizes": sizes, "say": say, "whole": whole}, ensure_ascii=False).replace("<", "\\u003c")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not can_compile():
        print("build_page: clang has no WebAssembly here: install clang lld wasi-libc libc++-dev-wasm32 libclang-rt-dev-wasm32", file=sys.stderr)
        return 77
    program = module(["tools/one_file/page/sink_page.cpp"])
    parts = {
        "style": read("eval/explain/page/explain.css") + read("tools/one_file/page/sink_page.css"),
        "why": why(),
        "words": words(),
        "source": html.escape(read("tools/one_file/sink.cpp"), quote=False),
        "size": str(round(len(program) / 1000)),
        "module": base64.b64encode(program).decode(),
        "worker": read("tools/one_file/page/sink_worker.js"),
        "texts": texts(),
        "script": read("tools/report/page/weight_colours.js") + read("eval/explain/page/explain_draw.js") + read("tools/one_file/page/sink_draw.js") + read("tools/one_file/page/sink_page.js"),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], read("tools/one_file/page/sink_page.html"))
    pathlib.Path(sys.argv[1]).write_text(page)
    print(f"{sys.argv[1]}: {len(page.encode()) / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
