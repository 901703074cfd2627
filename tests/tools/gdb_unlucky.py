"""Runs inside gdb, after tools/gdb/sinklab.py, on a program without debug information: whatever is asked, one sentence
says what to do, and nothing of Python's."""
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_check import check, ends_well, quiet, refused, said
from sinklab.numbers import TensorView, Unreadable
from sinklab.stack import shortened
from sinklab.tokens import texts_of_json

quiet()
for command in ("sink-row 0 0 1", "sink-heat 0 0"):
    refused(command, "no attention_row to stop in: a debug build has, `cmake --preset debug`")
refused("sink-row", "the program is not running: `run` it to a landmark first")
refused("sink-tape", "no tape is alive here")
refused("sink-diff a b", "sink-diff: No symbol table is loaded")
refused("print $row(1)", "expected a Tensor or a Var, got a int")
said("starti")  # somewhere before main
refused("sink-row", "the program is not in attention_row")
check("#0" in said("backtrace"), said("backtrace"))

there = TensorView(lambda address, size: None, 1, 4096, "F32", [2, 3], "cuda")
for ask in (lambda: there.row([0]), there.all_numbers):
    try:
        check(False, str(ask()))
    except Unreadable as problem:
        check("it is on a device: run the program with --device cpu" in str(problem), str(problem))
check(str(there) + there.corner() == "f32 (2, 3) on cuda (not to be read from here)", there.corner())

for name, short in (("void sink::ref::attention<sink::Softmax>(sink::Tensor const&, std::function<int (long)>)",
                     "sink::ref::attention<Softmax>"),
                    ("std::function<int ()>::operator()() const", "std::function::operator()"),
                    ("sink::Sublayer<sink::OneNorm<sink::RmsNorm>, sink::SwiGlu>::operator()",
                     "sink::Sublayer::operator()"),
                    ("sink::(anonymous namespace)::train(sink::TrainingRun&)", "sink::train")):
    check(shortened(name) == short, f"{name}: {shortened(name)}")
# As a checkpoint carries it.
words = texts_of_json('{"model": {"vocab": {"\\u0120the": 0, "\\u00c3\\u00a9": 1, "\\u010a": 2}}, "added_tokens": '
                      '[{"id": 3, "content": "<|endoftext|>"}]}')
check(words == {0: " the", 1: "\u00e9", 2: "\n", 3: "<|endoftext|>"}, str(words))
ends_well()
