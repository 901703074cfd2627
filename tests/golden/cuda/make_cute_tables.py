#!/usr/bin/env python3
"""Writes cute_tables.txt: where NVIDIA's CuTe says that a warp's lanes hold the numbers of mma.m16n8k16, ldmatrix.x4 and
ldmatrix.x4.trans, and where its swizzles put the 16-byte chunks of bf16 rows. The program `selftest` carries the table.

  make_cute_tables.py             writes the table
  make_cute_tables.py --check     compares (exit 1 on a difference; 77 without CuTe or CUDA's headers)

Needs: g++, CUDA's headers and CuTe's: `python3 -m pip download --no-deps nvidia-cutlass`, unzipped; --cute names the folder
that has cute/ in it (cutlass_library/source/include), --cuda the one that has cuda_runtime.h. No GPU.

Of each line: the table's name, a lane (of a swizzle a row), then "row,column" of the numbers it holds, in the order of
its registers, the lower half first. Rows and columns of `right` are column n and row k of the product's right matrix; a
row of `load` is the lane that gave its address.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = FOLDER / "cute_tables.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the stored table")
    parser.add_argument("--cute", default="cutlass_library/source/include", help="folder of CuTe's headers")
    parser.add_argument("--cuda", default="/usr/local/cuda/include", help="folder of CUDA's headers")
    given = parser.parse_args()
    for header in (pathlib.Path(given.cute) / "cute/tensor.hpp", pathlib.Path(given.cuda) / "cuda_runtime.h"):
        if not header.exists():
            print(f"make_cute_tables.py: there is no {header}; see --help", file=sys.stderr)
            sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cute_tables"
        subprocess.run(["g++", "-std=c++17", "-w", f"-I{given.cute}", f"-I{given.cuda}", f"-I{given.cuda}/cccl",
                        FOLDER / "cute_tables.cpp", "-o", program], check=True)
        table = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    if not given.check:
        TABLE.write_text(table)
    elif TABLE.read_text().split("\n", 1)[1] != table.split("\n", 1)[1]:  # another version of CuTe may say the same
        sys.exit(f"make_cute_tables.py: {TABLE} is not what CuTe says")


if __name__ == "__main__":
    main()
