"""Runs inside gdb, after tools/gdb/sinklab.py, on a debug build of train_<ablation> --tiny: stops in attention and
compares what printers and commands say with what gdb itself reads of the same memory, by pointers."""
import math
import os
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_check import array, check, close, ends_well, number, quiet, refused, said
from sinklab.stack import shortened
from sinklab.values import tensor_of


def to_frame(words):
    """Selects the newest frame whose name has these words."""
    frame = gdb.newest_frame()
    while words not in shortened(frame.name() or "") or "lambda" in frame.name():
        frame = frame.older()
        check(frame is not None, f"no frame {words}")
    frame.select()


def bytes_on_tape():
    """What the nodes of the tape hold, out of gdb's own text of them: the sizes beside each address of a storage."""
    said("set print object on")
    nodes = "('sink::(anonymous namespace)::active_tape')->nodes_._M_impl"
    count, held = int(gdb.parse_and_eval(f"{nodes}._M_finish - {nodes}._M_start")), {}
    for n in range(count):
        text = said(f"output /r *((sink::Node**){nodes}._M_start)[{n}]")
        for storage, sizes, rank, dtype in re.findall(r"storage_ = .*?_M_ptr = (0x\w+),.*?_M_elems = \{([\d, ]*)\}\}, "
                                                      r"rank_ = (\d+)\}, dtype_ = sink::DType::(\w+)", text):
            if int(storage, 16):
                numbers = math.prod(int(size) for size in sizes.split(", ")[:int(rank)])
                held.setdefault(storage, numbers * {"F32": 4, "F64": 8, "BF16": 2, "I32": 4}[dtype])
    said("set print object off")
    return sum(held.values())


quiet()

# ---- Before the program runs ----
for command in ("sink-row", "print $row(1, 2)", "sink-tape", "sink-diff x y"):
    refused(command, {"sink-row": "the program is not running: `run` it to a landmark first",
                      "sink-tape": "no tape is alive here",
                      "sink-diff x y": 'No symbol "x" in current context'}.get(command, "expected a Tensor or a Var"))

# ---- A row, in the middle and at its end ----
said("break attention_row if h == 1 && i == 5")
said("run")
check("its keys are not known yet" in said("sink-row"), "sink-row before the keys are known")
refused("sink-diff q head", "expected a Tensor, a Var, or a vector or span of numbers, got a sink::ref::Head")
seen = set()
for _ in range(200):  # line by line through the row: S and o as gdb has them at its end, or not at all
    if "AttentionRow row(" in said("frame"):  # twice into the loop of the weights
        said("tbreak AttentionRow::post"), said("ignore $bpnum 2")
        said("continue")
    else:
        said("next")
    table = said("sink-row")
    found = re.search(r"^m (\S+) +S (\S+) +sum of a (\S+)(?s:.*)^o +(\S+)", table, re.M)
    if found:
        seen.add((found.groups(), len(re.findall(r"^ +(?:\d+|\*) +(?:-?[\d.]+|\?) +-?[\d.]+ ", table, re.M))))
    if "*m_i = m;" in said("frame"):
        break
weights = array("*a._M_impl._M_start@(a._M_impl._M_finish - a._M_impl._M_start)")
for (m, S, total, o), known in seen:
    for text, expected in ((m, number("m")), (S, number("S")), (total, sum(weights)), (o, number("o._M_ptr[0]"))):
        check(text == "?" or close(float(text), expected), f"m {m}, S {S}, sum of a {total}, o {o}, {known} weights")
    check((total == "?") == (known < len(weights)), f"sum of a {total} of {known} weights")
check({m == "?" for (m, *_), _ in seen} == {o == "?" for (*_, o), _ in seen} == {True, False}, f"{seen}")
check(f"all {len(weights)} numbers of f64 ({len(weights)}) are equal" in said("sink-diff a a"), said("sink-diff a a"))
check("first at (0): " in said("sink-diff q *k._M_impl._M_start"), said("sink-diff q *k._M_impl._M_start"))
refused("sink-diff q s", "shapes differ")
said("delete")
table = said("sink-row 0 1 6")
check("sequence 0, head 1, query at position 6" in table, table)
rows = re.findall(r"^ +(\d+|\*) +(-?[\d.]+) +(-?[\d.]+) ", table, re.M)
keys = [int(j) for j in range(7)]
extra = "extra key" in table
check(len(rows) == len(keys) + extra, f"{len(rows)} rows: {table}")
gdb.newest_frame().select()
scores, weights = (array(f"*{name}._M_impl._M_start@{len(rows)}") for name in ("s", "a"))
for (_, s, a), expected_s, expected_a in zip(rows, scores, weights):
    check(close(float(s), expected_s) and close(float(a), expected_a), f"{s} {a}, expected {expected_s} {expected_a}")
total = float(re.search(r"sum of a (\S+)", table)[1])
check(close(total, sum(weights)), f"the sum of a is {total}")
check(close(float(re.search(r"S (\S+)", table)[1]), number("S")), "S")
D = int(gdb.parse_and_eval("head.q.D"))
q_i = array(f"head.q.data[(head.q.T + 6) * {D}]@{D}")
said_q = [float(x) for x in re.search(r"^q (.*)", table, re.M)[1].replace("...", "").split()]
check(all(close(x, y) for x, y in zip(said_q, q_i)) and len(said_q) == min(6, D), f"q_i {said_q}, expected {q_i}")
check(array("$row(head.q, 0, 1, 6)") == q_i, f"$row of head.q: {said('output $row(head.q, 0, 1, 6)')}")
k_j = array(f"head.k.data[(head.k.T + 3) * {D}]@{D}")
check(array("$row(head.k, 0, 1, 3)") == k_j, f"$row of head.k: {said('output $row(head.k, 0, 1, 3)')}")
refused("print $row(head.q, 0, 1)", "needs 3 indices")
refused("print $row(head.q, 0, 2, 0)", "index 2 is not below 2")
o_i = array(f"*o._M_ptr@{D}")
said_o = [float(x) for x in re.search(r"^o (.*)", table, re.M)[1].replace("...", "").split()]
check(all(close(x, y) for x, y in zip(said_o, o_i)), f"o_i {said_o}, expected {o_i}")

# ---- The tensors it came from ----
trace = said("backtrace")
names = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", trace, re.M)
check(len(names) < 20 and "lambda" not in trace and "std::" not in " ".join(names), trace)
for name in ("attention_row", "AttentionLayer", "Transformer<", "add_gradients", "step"):
    check(any(name in found for found in names), f"{name} is not in the backtrace: {trace}")
check(sum(name.startswith("sink::ref::attention<") for name in names) == 1, "closures are left out: " + trace)
check("q_BHTD=(" in trace, "shapes of tensors in the backtrace: " + trace)

to_frame("sink::ref::attention<")
T = tensor_of(gdb.parse_and_eval("q_BHTD")).sizes[2]
printed = said("output q_BHTD")
base = "((double*)q_BHTD.base_)"
check(printed.startswith(f"f64 (1, 2, {T}, {D})"), printed)
lines = re.findall(r"\{([^{}]*)\}", printed)
check(len(lines) == 3, printed)
for t, line in enumerate(lines):
    corner = [float(x) for x in line.replace("...", "").split(",") if x.strip()]
    expected = array(f"{base}[{t * D}]@4")
    check(len(corner) == 4 and all(close(x, y, 3) for x, y in zip(corner, expected)), f"row {t} of {printed}")
row = array("$row(q_BHTD, 0, 1, 6)")
check(row == q_i, f"$row {row}, expected {q_i}")
check("equal" in said("sink-diff q_BHTD q_BHTD"), "sink-diff of one tensor")
difference = said("sink-diff q_BHTD k_BGKD")
check("first at (0, 0, 0, 0)" in difference, difference)
memory, k, size = gdb.selected_inferior(), int(gdb.parse_and_eval("(long)k_BGKD.base_")), 8 * 2 * T * D
kept = bytes(memory.read_memory(k, size))
memory.write_memory(k, bytes(memory.read_memory(int(gdb.parse_and_eval("(long)q_BHTD.base_")), size)))
gdb.execute(f"set variable ((double*)k_BGKD.base_)[{(T + 3) * D + 5}] += 0.5")
difference = said("sink-diff q_BHTD k_BGKD")
check(f"1 of {2 * T * D} numbers differ, first at (0, 1, 3, 5): " in difference and "by 0.5 at most" in difference, difference)
memory.write_memory(k, kept)
for wrong, words in (("sink-diff q_BHTD", "expected sink-diff A B"), ("sink-diff q_BHTD m_BHT", "shapes differ"),
                     ("print $row(q_BHTD, 0)", "needs 3 indices"), ("print $row(q_BHTD, 0, 9, 0)", "index 9 is not below 2"),
                     ("print $row(op, 0)", "expected a Tensor or a Var, got a sink::"),
                     ("print $row(config.bias_HT, 0)", "the tensor is undefined"),
                     ("sink-row 1", "expected sink-row"), ("sink-heat 1", "expected sink-heat"),
                     ("sink-heat", "expected sink-heat layer head, whole numbers from 0; got nothing"),
                     ("sink-row 0 -1 2", "whole numbers from 0"), ("sink-row a b c", "whole numbers from 0")):
    refused(wrong, words)
check(said("output config.range") == "causal", said("output config.range"))
check(said("output q_BHTD.shape_") == f"(1, 2, {T}, {D})", said("output q_BHTD.shape_"))

to_frame("AttentionLayer")
var = said("output h_BTC")
check(re.match(rf"Var f32 \(1, {T}, 16\), gradient wanted, none arrived, by \d+ (RmsNorm|SplitHeads)", var), var)
to_frame("Transformer<")
parameter = said("output token_embedding_")
check("embedding.token.weight [V C] embedding, f32 (64, 16), gradient wanted, none arrived" in parameter, parameter)

# ---- The tape ----
lines = said("sink-tape").splitlines()
check(lines[1].split()[:2] == ["0", "Embedding"] and len(lines) > 4, "\n".join(lines))
check("bytes saved" in lines[-1], lines[-1])

# ---- A map: the next layer's, of the other head ----
picture = said("sink-heat 1 0")
lines = re.findall(r"^ *(\d+) (?:\*. )?\|(.*)\|$", picture, re.M)
check([int(i) for i, _ in lines] == list(range(T)) and all(line[int(i) + 1:].strip() == "" for i, line in lines), picture)
gdb.newest_frame().select()  # which is at the end of the last row
largest = float(re.search(r"'@' is (\S+)", picture)[1])
for character, a in zip(lines[-1][1], array(f"*a._M_impl._M_start@{T}")):
    check(abs(" .:-=+*#%@".index(character) - 9 * a / largest) < 0.6, f"{a} is drawn as '{character}': {picture}")
lines = said("sink-tape").splitlines()  # of a layer more, what attention saved among it
saved = {line.split()[1]: re.match(r".*\) +(\d+) ", line)[1] for line in lines[1:-1]}
# q, k, v, o; m and S; the extra key once, which the node holds twice
check(int(saved["Attention"]) == 4 * (4 * 2 * T * D + 2 * 2 * T + 2 * D * extra), "\n".join(lines))
check(sum(map(int, re.findall(r"\) +(\d+) ", "\n".join(lines)))) == int(lines[-1].split()[0]), "\n".join(lines))
check(bytes_on_tape() == int(lines[-1].split()[0]), f"the nodes hold {bytes_on_tape()} bytes: " + "\n".join(lines))
alpha_1 = float(re.search(r"alpha_1.*: (\S+)", picture)[1])
check(0 < alpha_1 <= 1.5, picture)

# ---- A row that the program does not come to ----
refused("sink-row 0 99 0", "the program came to no row b = 0, h = 99, i = 0: start it with --reference")
refused("sink-row", "the program is not running")
ends_well()
