"""Sinklab in gdb: tensors print as numbers, backtraces show what means something, and a few commands look around.

  gdb -x tools/gdb/sinklab.py --args build/debug/train_pos_learnable --tiny

Or automatically with every program of a debug build, where ~/.config/gdb/gdbinit has
  add-auto-load-safe-path <this repository>

"help sink" says what there is. Everything reads the program's memory and calls nothing in it; `sink-row b h i` and
`sink-heat` let the program run on. One idea a file: sinklab/ beside this one.
"""
import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
if folder not in sys.path:
    sys.path.insert(0, folder)

import sinklab.in_gdb
