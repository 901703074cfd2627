#!/usr/bin/env python3
"""refused_code.py COMPILER SOURCE: compiles SOURCE, of whose cases the compiler must refuse each for its own reason. A case is a line of it:

    static_assert(...);  // refused: what its errors say, a regular expression
    static_assert(...);  // compiles
"""
import re
import subprocess
import sys

compiler, source = sys.argv[1:3]
if "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout:
    print("refused_code: skipped: only GCC names the case before its errors")
    sys.exit(77)
cases = {}  # line: what its errors say, a regular expression, or "" if it compiles
with open(source) as file:
    for number, line in enumerate(file, 1):
        if case := re.search(r";  // (?:refused: (.+)|compiles)$", line):
            cases[number] = case[1] or ""
done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-fopenmp-simd", "-fmax-errors=0", "-I.", source], capture_output=True, text=True)

errors = dict.fromkeys([*cases, 0], "")
at = 0  # the line that the compiler named last: "SOURCE:30:37:   required from here"
for line in done.stderr.splitlines():
    if named := re.match(re.escape(source) + r":(\d+):", line):
        at = int(named[1]) if int(named[1]) in cases else 0
    if "error: " in line:
        errors[at] += line + "\n"
wrong = [f"line {number}: the compiler should say '{expected}' and says:\n{errors[number] or 'nothing'}"
         for number, expected in cases.items() if bool(expected) != bool(errors[number]) or not re.search(expected, errors[number], re.DOTALL)]
if errors[0] or len(cases) < 2:
    wrong.append(f"of {len(cases)} cases, errors of no case:\n{errors[0]}")
for text in wrong:
    print(f"refused_code: {source}: {text}")
print(f"refused_code: {source}: {len(cases)} cases, {len(wrong)} wrong")
sys.exit(bool(wrong))
