"""Imports every module, which adds its commands, functions and printers to gdb."""
from . import backtrace, elements, heat, help, printers, row, tape
