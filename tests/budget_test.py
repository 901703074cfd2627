#!/usr/bin/env python3
"""Fails when what git knows of a folder outgrows its budget of C++ and CUDA lines, or of files of any kind. `--print` prints what each has.

What grows pays by a deletion in the same folder, or raises the number here with a sentence in the commit about what is worth it. Lower a number
when a folder has become smaller."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Folder, lines, files. A file belongs to the first folder whose path it begins with.
FOLDERS = """
engine/ops 15895 209
engine/cuda 5560 66
engine/io 5915 67
engine/data 5475 57
engine 5655 67
autograd 1835 31
model/open 6075 65
model 4225 65
train/studies 185 207
train 5140 63
eval 11820 135
tools/report 3590 47
tools/sweep 2490 17
tools 6630 200
tests 45220 624
"""
CODE = {".h", ".cpp", ".cu", ".cuh", ".hpp"}


def measured(files):
    found = {}
    folders = [line.split()[0] for line in FOLDERS.split("\n") if line]
    for file in files:
        folder = next((folder for folder in folders if file.startswith(folder + "/")), "others")
        lines, count = found.get(folder, (0, 0))
        path = ROOT / file
        found[folder] = lines + (len(path.read_bytes().splitlines()) if path.suffix in CODE else 0), count + 1
    return found


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0:
        print("budget_test: skipped: this is no checkout of git")
        return 77
    found = measured([name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()])
    outgrown = []
    for line in filter(None, FOLDERS.split("\n")):
        folder, *budget = line.split()
        for kind, has, may in zip(("lines of C++", "files"), found.get(folder, (0, 0)), map(int, budget)):
            if has > may:
                outgrown.append(f"{folder} has {has} {kind}, its budget is {may}")
    if "--print" in sys.argv:
        for folder, (lines, files) in found.items():
            print(f"{folder} {lines} {files}")
        house = [sum(of[i] for folder, of in found.items() if folder != "tests") for i in (0, 1)]
        print(f"outside tests: {house[0]} lines of C++; {house[1] + found['tests'][1]} files in all")
    for sentence in outgrown:
        print(f"budget_test: {sentence}: delete in this folder, or raise it in tests/budget_test.py and say in the commit what is worth it")
    return int(bool(outgrown))


if __name__ == "__main__":
    sys.exit(main())
