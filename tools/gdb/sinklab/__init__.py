"""Sinklab for debuggers; tools/gdb/sinklab.py loads it into gdb. numbers.py is independent of the debugger."""
