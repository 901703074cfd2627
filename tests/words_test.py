#!/usr/bin/env python3
"""Rejects words that this project used in a private sense and that have a standard word.

    words_test.py [--code] [--comments] [FILE...]

Without FILE it checks every *.md file of the repository. Code blocks, inline code, link targets and tables written by `sweep` are skipped.
--code also checks string literals (help texts, messages) of C++ and CUDA files outside tests/, --comments comments of all of them.
Exit 0: no hits. 1: prints each as FILE:LINE: "WORD": write REPLACEMENT. 2: usage.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("engine", "autograd", "model", "eval", "train", "tools", "tests", "results")

# Whole words, as a pattern, and what to write instead.
WORDS = {
    r"(?<!dual\s)numbers": "values, elements, entries, parameters or weights",
    r"behind": "after",
    r"beside": "compared with, next to or in addition to",
    r"anew": "again",
    r"go(?:es|ing|ne)? on|went on": "continues",
    r"whoever|nobody|somebody": "the caller, the process, no caller",
    r"twins?": "backend or implementation",
    r"arms?": "group or configuration",
    r"mass": "row sum",
    r"seal(?:s|ed)?": "checksum header",
    r"births?": "onset",
    r"landmarks?": "breakpoint function",
    r"stand-ins?": "fake, mock or substitute",
    r"poison(?:s|ed)?": "fill with NaN",
    r"mourning": "grace period",
    r"wishes": "control flags",
    r"vouch(?:es|ed)?": "untrusted input",
    r"minds": "requires or reports",
    r"forgets?": "drops, evicts or releases",
    r"says so": "reports it",
    r"lies": "is or is stored",
    r"stands": "is or exists",
    r"rooms?": "folder, space or grad buffer",
}

# (file, word) -> why the word is right there. An exception that no longer occurs is an error.
EXCEPTIONS = {
    ("tools/report/page_data.cpp", "arms"): "key of the page's data",
    ("train/birth_checkpoints.cpp", "birth"): "name of a folder",
    ("train/run_config_table.cpp", "birth"): "name of a folder",
    ("train/run_folder.cpp", "birth"): "name of a folder",
}


def blank(match):
    """Spaces of the same length, so that lines and columns stay."""
    return re.sub(r"[^\n]", " ", match.group())


def prose_of(text):
    """A page without code and link targets."""
    if text.startswith("<!-- made by "):
        return ""
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", blank, text, flags=re.M)
    text = re.sub(r"`[^`]*`", blank, text)
    return re.sub(r"\]\([^)]*\)", blank, text)


def strings_of(text):
    """A source with everything but its string literals blanked."""
    text = re.sub(r"//[^\n]*|#include[^\n]*", blank, text)
    inside = re.compile(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', re.S)
    kept, at = [], 0
    for match in inside.finditer(text):
        kept += [re.sub(r"[^\n]", " ", text[at:match.start()]), match.group()]
        at = match.end()
    return "".join(kept) + re.sub(r"[^\n]", " ", text[at:])


def comments_of(text):
    """A source with everything but its // comments blanked, and in these inline code."""
    line = r"""^((?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|(?!//).)*)(//[^\n]*)?"""
    kept = lambda match: " " * len(match[1]) + re.sub(r"^//|`[^`]*`", blank, match[2] or "")
    return re.sub(line, kept, text, flags=re.M)


def whole_word(pattern):
    return r"(?<![\w-])(?:" + pattern.replace(" ", r"\s+") + r")(?![\w-])"


ANY_WORD = re.compile(whole_word("|".join(WORDS)))


def hits_of(text):
    """(line, word, replacement) of each hit; a phrase may span a line break."""
    if not ANY_WORD.search(text.lower()):  # as most: one search of letters of one case is ten times as fast
        return
    for pattern, replacement in WORDS.items():
        for match in re.finditer(whole_word(pattern), text, re.I):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), replacement


def files_of(*extensions):
    found = [path for extension in extensions for path in ROOT.glob(f"*{extension}")]
    found += [path for folder in FOLDERS for extension in extensions for path in (ROOT / folder).rglob(f"*{extension}")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", action="store_true", help="also check string literals of C++ and CUDA files")
    parser.add_argument("--comments", action="store_true", help="also check comments of C++ and CUDA files")
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    files = arguments.files or files_of(".md")
    if (arguments.code or arguments.comments) and not arguments.files:
        files += files_of(".cpp", ".h", ".cu", ".cuh")
    wrong, excused = [], set()
    for name in files:
        text = (ROOT / name).read_text(encoding="utf-8")
        parts = [prose_of(text)] if name.endswith(".md") else []
        if not name.endswith(".md"):
            parts += [strings_of(text)] if (arguments.code or arguments.files) and not name.startswith("tests/") else []
            parts += [comments_of(text)] if arguments.comments else []
        for line, word, replacement in sorted(hit for part in parts for hit in hits_of(part)):
            if (name, word.lower()) in EXCEPTIONS:
                excused.add((name, word.lower()))
            else:
                wrong.append(f'{name}:{line}: "{word}": write {replacement}')
    if arguments.code and not arguments.files:
        wrong += [f'{name}: "{word}": no longer occurs; remove it from EXCEPTIONS' for name, word in EXCEPTIONS.keys() - excused]
    print("\n".join(wrong) if wrong else f"{len(files)} files: no hits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
