"""Sinklab in gdb: printers for tensors, short backtraces, and commands to inspect attention and the tape.

  gdb -ix tools/gdb/sinklab.py --args build/debug/train_pos_learnable --tiny

To load it automatically with every program of a debug build, add this line to ~/.config/gdb/gdbinit:
  add-auto-load-safe-path <this repository>

"help sink" lists the commands. They read the program's memory and call no functions in it; `sink-row b h i` and
`sink-heat` continue the program. The code is in sinklab/, next to this file.
"""
import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
if folder not in sys.path:
    sys.path.insert(0, folder)

import gdb

# With -ix, before the program's own <program>-gdb.py is looked for: else gdb prints nine lines on declining it.
gdb.execute(f"add-auto-load-safe-path {os.path.dirname(os.path.dirname(folder))}")
import sinklab.in_gdb
