"""All that gdb gets: each of these adds what it has, once."""
from . import backtrace, elements, heat, help, printers, row, tape
