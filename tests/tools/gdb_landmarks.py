"""Runs inside gdb, after tools/gdb/sinklab.py, on a debug build of train_<ablation> --tiny: stops at every landmark and
compares what `print` shows of its locals with the tensors they come from, read by address, and with the formula, computed
here."""
import math
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_check import all_close, array, check, ends_well, number, printed, quiet, said


def stop_at(place):
    """A breakpoint that is hit once."""
    stop = gdb.Breakpoint(place.partition(" if ")[0], temporary=True)
    if " if " in place:
        stop.condition = place.partition(" if ")[2]
    said("continue" if gdb.selected_inferior().pid else "run")
    check(place.split()[0] in (gdb.newest_frame().name() or ""), f"the program does not stop at {place}")


def source_line(function, words):
    """file:line of the last line of the function's file that begins so."""
    table = gdb.decode_line(function)[1][0].symtab
    lines = open(table.fullname(), encoding="utf-8").read().splitlines()
    found = [n for n, line in enumerate(lines, 1) if line.strip().startswith(words)]
    check(found, f"{table.filename} has no line {words}")
    return f"{table.filename}:{found[-1]}"


def to_line(function, words):
    gdb.Breakpoint(source_line(function, words), temporary=True)
    said("continue")
    check(function in gdb.newest_frame().name(), f"{function} does not come to {words}")


def at(address, count):
    return array(f"*(double*){address}@{count}")


def address_of(span):
    return int(gdb.parse_and_eval(f"(long){span}._M_ptr"))


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def head_row(rows, b, h, t):
    """Row t of head h in sequence b of a ref::Rows, by address."""
    H, T, D = (int(number(f"{rows}.{name}")) for name in "HTD")
    return at(int(gdb.parse_and_eval(f"(long){rows}.data")) + 8 * ((b * H + h) * T + t) * D, D)


def check_keys(b, g, keys, what):
    """print k and v are the rows of the keys."""
    for n, j in enumerate(keys):
        for x in "kv":
            row = f"{x}._M_impl._M_start[{n}]"
            check(all_close(printed(row), head_row(f"head.{x}", b, g, j)), f"{what}: {row}, of key {j}: {said('output ' + row)}")


def heads():
    """b, h, i, the group and the keys of the row that the program is in; causal, without a window."""
    b, h, i = (int(number(name)) for name in "bhi")
    g = h // (int(number("head.q.H")) // int(number("head.k.H")))
    keys = [int(j) for j in array(f"*keys._M_impl._M_start@{i + 1}")]
    check(keys == list(range(i + 1)), f"keys {keys} of query {i}")
    return b, h, i, g, keys


def extra():
    return bool(printed("head.extra_k") or printed("head.extra_logit"))


def scores(q, b, g, i, keys):
    """s by its formula."""
    scale = number("head.config.scale")
    bias = printed("head.bias")
    s = [scale * dot(q, head_row("head.k", b, g, j)) + (bias[i - j] if bias else 0) for j in keys]
    if printed("head.extra_k"):
        s.append(scale * dot(q, printed("head.extra_k")))
    return s


def weights(s):
    """a by its formula, of the operations that the test is run with."""
    name = gdb.newest_frame().name()
    if "sink::Sigmoid>" in name:
        return [1 / (1 + math.exp(-x)) for x in s]
    check("sink::Softmax" in name, f"this test has no formula of {name}")
    largest = max(s)
    powers = [math.exp(x - largest) for x in s]
    return [x / sum(powers) for x in powers]


def attention_row():
    stop_at("attention_row if h == 1 && i == 5")
    to_line("attention_row", "*m_i = m;")
    b, h, i, g, keys = heads()
    q = head_row("head.q", b, h, i)
    check(all_close(printed("q"), q), f"q {printed('q')}, expected {q}")
    check_keys(b, g, keys, "attention_row")
    s = scores(q, b, g, i, keys)
    check(all_close(printed("s"), s), f"s {printed('s')}, expected {s}")
    a = weights(s)
    check(len(a) == len(keys) + extra() and all_close(printed("a"), a), f"a {printed('a')}, expected {a}")
    v = [head_row("head.v", b, g, j) for j in keys] + ([printed("head.extra_v")] if printed("head.extra_v") else [])
    o = [sum(a_j * v_j[d] for a_j, v_j in zip(a, v)) for d in range(len(q))]
    check(all_close(printed("o"), o), f"o {printed('o')}, expected {o}")
    check(all_close(at(address_of("o"), len(o)), o), "o in memory")


def attention_row_backward():
    stop_at("attention_row_backward if h == 1 && i == 5")
    b, h, i = (int(number(name)) for name in "bhi")
    before = head_row("gradients.dq", b, h, i), [head_row("gradients.dv", b, h, j) for j in range(i + 1)]
    to_line("attention_row_backward", "if (!head.extra_logit.empty()) gradients")
    b, h, i, g, keys = heads()
    check(g == h, "this test is for a key head per query head")
    q, grad = head_row("head.q", b, h, i), printed("do_i")
    check(all_close(printed("q"), q), "q backwards")
    check_keys(b, g, keys, "attention_row_backward")
    check(all_close(grad, at(address_of("do_i"), len(q))) and any(grad), f"do_i {grad}")
    # To seven digits: m and S come from where the fast kernels keep them, in F32.
    a = weights(scores(q, b, g, i, keys))
    da = [dot(grad, head_row("head.v", b, g, j)) for j in keys] + [0] * extra()
    check(all_close(printed("a"), a, 1e-6) and all_close(printed("da"), da), f"a {printed('a')}, da {printed('da')}")
    check(any(da), "da")
    a = printed("a")
    ds = [x * (1 - x) * dx if "Sigmoid" in gdb.newest_frame().name() else x * (dx - dot(a, da)) for x, dx in zip(a, da)]
    check(all_close(printed("ds"), ds) and max(map(abs, ds)) > 1e-5, f"ds {printed('ds')}, expected {ds}")
    k = [head_row("head.k", b, g, j) for j in keys] + [printed("head.extra_k")] * extra()
    scale = number("head.config.scale")
    dq = [old + scale * sum(ds_j * k_j[d] for ds_j, k_j in zip(ds, k)) for d, old in enumerate(before[0])]
    check(all_close(printed("dq"), dq) and all_close(head_row("gradients.dq", b, h, i), dq), f"dq {printed('dq')}, expected {dq}")
    for n, j in enumerate(keys):
        dv = [old + a[n] * x for old, x in zip(before[1][n], grad)]
        check(all_close(printed(f"dv._M_impl._M_start[{n}]"), dv), f"dv of key {j}")


def norm_row():
    stop_at("norm_row if row == 3")
    x, gain, y = printed("x_C"), printed("gain_C"), address_of("y_C")
    C, epsilon = int(number("x_C._M_extent._M_extent_value")), number("epsilon")
    check(C == 16 and all_close(x, at(address_of("x_C"), C)) and all_close(gain, at(address_of("gain_C"), C)), f"x_C {x}")
    to_line("norm_row", "return {mean, r};")
    r = 1 / math.sqrt(dot(x, x) / C + epsilon)
    check(all_close([number("r")], [r]), f"r is {number('r')}, expected {r}")
    expected = [x_c * r * g for x_c, g in zip(x, gain)]
    check(all_close(printed("y_C"), expected) and all_close(at(y, C), expected), f"y_C {printed('y_C')}, expected {expected}")


def rotary_row():
    stop_at("rotary_row if t == 3 && sign == 1")
    x, cos, sin, y = printed("x_D"), printed("cos_E"), printed("sin_E"), address_of("y_D")
    D, E = len(x), len(cos)
    check(all_close(x, at(address_of("x_D"), D)) and D == 8, f"x_D {x}")
    check(all_close([c * c + s * s for c, s in zip(cos, sin)], [1] * E, 1e-6), f"cos_E {cos}, sin_E {sin}")
    check(all_close([math.atan2(s, c) for c, s in zip(cos[:1], sin)], [3.0], 1e-6), f"the first angle at t = 3: {cos} {sin}")
    said("finish")
    expected = [x[e] * cos[e] - x[e + E] * sin[e] for e in range(E)] + [x[e] * sin[e] + x[e + E] * cos[e] for e in range(E)]
    check(all_close(at(y, D), expected), f"y_D {at(y, D)}, expected {expected}")


def cross_entropy_row():
    stop_at("cross_entropy_row if n == 4 && target >= 0")
    logits, target = printed("logits_V"), int(number("target"))
    check(len(logits) == 64 and all_close(logits, at(address_of("logits_V"), 64)), f"logits_V {logits}")
    to_line("cross_entropy_row", "return loss;")
    loss = math.log(sum(math.exp(x) for x in logits)) - logits[target]
    check(all_close([number("loss")], [loss]), f"the loss is {number('loss')}, expected {loss}")
    check(all_close([number("m"), number("S")], [max(logits), sum(math.exp(x - max(logits)) for x in logits)]), "m, S")


def adamw_element():
    stop_at("adamw_element if i == 5")
    g, w, m, v = (number(name) for name in ("g", "w", "m", "v"))
    places = [int(gdb.parse_and_eval(f"(long)&{name}")) for name in "wmv"]
    beta1, beta2, epsilon, decay = (number(f"settings.{name}") for name in ("beta1", "beta2", "epsilon", "weight_decay"))
    rate = number("step.learning_rate")
    check(rate > 0 and 0.8 < beta1 < beta2 < 1, f"settings {said('output settings')}")
    said("finish")  # of the first update
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    w -= rate * (m / (1 - beta1) / (math.sqrt(v / (1 - beta2)) + epsilon) + decay * w)
    found = [at(place, 1)[0] for place in places]
    check(all_close(found, [w, m, v]) and g != 0, f"w, m, v are {found}, expected {[w, m, v]}")


quiet()
if not gdb.current_progspace().filename.endswith("pos_learnable"):
    rotary_row()
for landmark in (attention_row, norm_row, cross_entropy_row, attention_row_backward, adamw_element):
    landmark()
ends_well()
