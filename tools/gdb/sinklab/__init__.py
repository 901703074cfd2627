"""Sinklab for debuggers; tools/gdb/sinklab.py loads it into gdb. numbers.py knows no debugger."""
