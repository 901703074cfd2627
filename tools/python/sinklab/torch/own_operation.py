"""Attention operations of your own: a few formulas or a C++ struct, compiled once."""

from __future__ import annotations

import os
import pathlib
import re
from dataclasses import dataclass, field

from sinklab import _core
from sinklab._core import Error
from sinklab.torch.operation_compiler import compiled

_NORMALIZERS = ("none", "sum", "key_count")
# What a formula may call, as the engine calls it: functions that compilers make vector code of and differentiate.
_FUNCTIONS = {"exp": "exp_fast", "sigmoid": "logistic_fast", "log_sigmoid": "log_logistic_fast", "tanh": "tanh_fast", "erf": "erf_fast",
              "max": "larger_of", "min": "smaller_of"}
_FORMULA_HEAD = """
namespace sink {
template <class R>
struct NumberOf {
  using type = R;
};
template <class R>
struct NumberOf<Dual<R>> {
  using type = R;
};
template <class A, class B>
auto larger_of(A a, B b) {
  return a < b ? b : a;
}
template <class A, class B>
auto smaller_of(A a, B b) {
  return a > b ? b : a;
}
auto relu(auto x) { return larger_of(x, 0); }
"""


@dataclass(frozen=True)
class Operation:
    """An operation for ``attention(..., op=...)``."""

    name: str
    _key: str = field(repr=False)


def operation(name: str, g: str | None = None, normalizer: str = "none", r: str | None = None, z: str | None = None,
              post: str | None = None, source: str | None = None, file: str | os.PathLike | None = None) -> Operation:
    """Compiles an attention operation: a_ij = post(g(s_ij) / z(S_i)) with S_i = sum_j r(s_ij). Gradients are derived.

    The C++ compiler is called once for each source and version of Sinklab, for some seconds; the result is kept in
    $XDG_CACHE_HOME/sinklab, by default ~/.cache/sinklab. CXX names another g++. The operation runs on the CPU.

    Args:
        name: a C++ name with a capital first, such as "ShiftedExp".
        g: a C++ expression of x, which may call exp, log, sigmoid, log_sigmoid, tanh, erf, sqrt, pow, abs, max, min and relu.
        normalizer: "none", "sum" (divides by z(S)) or "key_count" (divides by z(n), n keys that the query sees).
        r: an expression of x: what S sums; by default g.
        z: an expression of S or n; by default S or n itself.
        post: an expression of w = g(x) / z; by default w.
        source, file: instead of the formulas, C++ that defines a struct ``name`` as engine/ops/attention/op does, by
            itself in namespace sink.

    >>> op = sinklab.torch.operation("ShiftedExp", g="exp(x - 1) / 8")
    >>> o = sinklab.torch.attention(q, k, v, op=op)
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Z][A-Za-z0-9_]{0,63}", name):
        raise Error(f"the name of an operation must be a C++ name with a capital first, such as ShiftedExp, got {name!r}")
    if name in _core.attention_operations():
        raise Error(f"the engine has an operation {name}: give yours another name")
    formulas = {"g": g, "r": r, "z": z, "post": post}
    given = {what: text for what, text in {**formulas, "source": source}.items() if text is not None}
    for what, text in given.items():
        if not isinstance(text, str) or not text.strip():
            raise Error(f"{what} must be a text in C++, got {text!r}")
    if (g is not None) + (source is not None) + (file is not None) != 1:
        raise Error("give one of g, source and file")
    if g is None and (len(given) > (source is not None) or normalizer != "none"):
        raise Error("r, z, post and normalizer belong to g: with source or file, the struct has them")
    if g is not None:
        code = _struct(name, normalizer, formulas)
    else:
        what, text = ("source", str(source)) if file is None else _text_of(file)
        given, code = {what: text}, _own_struct(text, what)
        if not re.search(rf"\bstruct\s+{name}\b", text):
            raise Error(f"{what} has no struct {name}: name the operation as its struct")
    key, library = compiled(name, code, given)
    _core.load_operation(key, str(library))
    return Operation(name, key)


def _struct(name, normalizer, formulas):
    if normalizer not in _NORMALIZERS:
        raise Error(f"normalizer must be none, sum or key_count, got {normalizer!r}")
    if normalizer == "none" and formulas["z"] is not None:
        raise Error("z has no effect with the normalizer none: give sum or key_count")
    if normalizer != "sum" and formulas["r"] is not None:
        raise Error(f"r has no effect with the normalizer {normalizer}: give sum")
    variable = "n" if normalizer == "key_count" else "S"
    if normalizer != "none":
        formulas = {**formulas, "z": formulas["z"] or variable}
    lines = [_FORMULA_HEAD, f"struct {name} : AttentionOpDefaults {{",
             f"static constexpr Normalizer normalizer = Normalizer::{normalizer};"]
    for function, argument, what in (("g", "x", None), ("r", "x", "has_separate_normalizer"), ("z", variable, None),
                                     ("post", "w", "has_post")):
        formula = formulas[function]
        if formula is None:
            continue
        if what:
            lines.append(f"static constexpr bool {what} = true;")
        lines += [f"SINK_HD static auto {function}(auto {argument}) {{",
                  f"using R = decltype({argument}); using Number = typename NumberOf<R>::type;",
                  "using std::abs, std::log, std::pow, std::sqrt;", "const auto value =", f'#line 1 "{function}"', _in_cpp(formula),
                  f'#line {len(formula.splitlines())} "{function}"', ";", '#line 1 "sinklab"', "return R(value);", "}"]
    return "\n".join([*lines, "};", "}  // namespace sink"])


def _in_cpp(formula):
    """With the engine's functions, and decimal numbers in the type of the argument."""
    formula = re.sub(r"\b[A-Za-z_]\w*(?=\s*\()", lambda match: _FUNCTIONS.get(match[0], match[0]), formula)
    return re.sub(r"(?<![\w.])(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?(?![\w.])", r"Number(\g<0>)", formula)


def _own_struct(text, name):
    return f'namespace sink {{\n#line 1 "{name}"\n{text}\n#line 1 "sinklab"\n}}  // namespace sink'


def _text_of(file):
    try:
        path = pathlib.Path(file)
        return re.sub(r'[^\w.-]', "_", path.name), path.read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        raise Error(f"the file {file!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
