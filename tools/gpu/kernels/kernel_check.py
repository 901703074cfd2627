#!/usr/bin/env python3
"""Checks the attention kernels of kernels.so against float64: all operations x head widths x masks x biases x extra
keys, forward and backward.

  kernel_check.py [--library build/kernels.so] [--operations Softmax,Sigmoid] [--cases N] [--workers N]
                  [--operation-seconds S] [--out FILE]

The expected values are attention_reference.py's. An error may be twice that of a naive computation in BF16 (1e-5 for
F32), as in tests/engine/ops/attention_tiles_cuda_test.cpp: the larger one of two, which round at different places.
Each operation runs in a separate process, so that one that crashes or hangs fails alone. Prints one line per
operation, as soon as it is done, and each failed case; --out gets them as JSON lines.
Exit codes: 0 all agree, 1 some do not, 2 wrong use, 7 no device.
"""
import argparse
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import numpy

from attention_reference import NAIVE, OPERATIONS, Case, compute, make_mask, round_to_bf16, self_check
from kernel_library import Attention, DeviceArrays, Failed, Gradients, KernelLibrary, from_bf16_bits, to_bf16_bits

# (type, head width): those of the tile kernels, one that is padded, one that BF16 converts to F32, and F32.
WIDTHS = [("bf16", 64), ("bf16", 128), ("bf16", 96), ("bf16", 32), ("bf16", 40), ("bf16", 20), ("f32", 64)]
MASKS = ["causal", "window", "prefix", "prefix and window", "documents", "documents after a prefix"]
BIASES = [False, True]
EXTRAS = ["none", "key and value", "key", "logit", "logit and value"]
LENGTHS = [129, 65, 200, 77]
HEADS = [(2, 2), (2, 1), (4, 2)]  # of queries, of keys
FIRST_POSITIONS = [0, 0, 0, 63]


def all_cases():
    """Settings of every case. Those after the four factors of the product take turns."""
    product = itertools.product(range(len(WIDTHS)), range(len(MASKS)), range(len(BIASES)), range(len(EXTRAS)))
    for n, (width, mask, bias, extra) in enumerate(product):
        dtype, D = WIDTHS[width]
        yield {"dtype": dtype, "D": D, "mask": MASKS[mask], "bias": BIASES[bias], "extra": EXTRAS[extra],
               "K": LENGTHS[n % 4], "heads": HEADS[n % 3], "first_position": FIRST_POSITIONS[n // 3 % 4]}


def some_cases(count):
    """All, or `count` in which every width, mask, bias and extra key takes its turn."""
    cases = list(all_cases())
    if not count or count >= len(cases):
        return cases
    stride = next(n for n in range(int(len(cases) * 0.618), len(cases)) if math.gcd(n, len(cases)) == 1)
    return [cases[n * stride % len(cases)] for n in range(count)]


def make_case(operation, settings, seed):
    random = numpy.random.default_rng(seed)
    in_type = round_to_bf16 if settings["dtype"] == "bf16" else lambda x: x.astype(numpy.float32).astype(numpy.float64)
    in_f32 = lambda x: x.astype(numpy.float32).astype(numpy.float64)
    B, (H, G), K, D = 2, settings["heads"], settings["K"], settings["D"]
    first = min(settings["first_position"], K - 1)
    T = K - first
    normal = random.standard_normal
    q, k = normal((B, H, T, D)), normal((B, G, K, D))
    bias = normal((H, K + 3)) if settings["bias"] else None  # more distances than positions
    has_key = settings["extra"].startswith("key")
    extra_k, extra_logit = normal((H, D)) if has_key else None, normal(H)
    if operation == "LinearNorm":  # as with its feature maps; otherwise sums cancel
        q, k, extra_logit = abs(q), abs(k), abs(extra_logit)
        bias, extra_k = None if bias is None else abs(bias), None if extra_k is None else abs(extra_k)
    mask = {"window": 20 if "window" in settings["mask"] else 0, "prefix": 5 if "prefix" in settings["mask"] else 0,
            "document_starts": None, "lead": 0}
    if "documents" in settings["mask"]:
        mask["lead"] = 3 if mask["prefix"] else 0
        begins = random.random((B, K - mask["lead"])) < 1 / 9
        positions = numpy.arange(K - mask["lead"])
        mask["document_starts"] = numpy.maximum.accumulate(numpy.where(begins, positions, 0), axis=1)
    case = Case(in_type(q), in_type(k), in_type(normal((B, G, K, D))), in_type(normal((B, H, T, D))), 1 / math.sqrt(D),
                make_mask(T, K, first, **mask), first, settings=mask)
    if bias is not None:
        case.bias = in_f32(bias)
    if has_key:
        case.extra_k = in_f32(extra_k)
    elif settings["extra"].startswith("logit"):
        case.extra_logit = in_f32(extra_logit)
    if settings["extra"].endswith("value"):
        case.extra_v = in_f32(normal((H, D)))
    return case


def run_kernels(library, operation, case, dtype):
    """o and the gradients of the device, in float64."""
    B, H, T, D = case.q.shape
    G, K = case.k.shape[1], case.k.shape[2]
    store = to_bf16_bits if dtype == "bf16" else lambda x: x.astype(numpy.float32)
    load = from_bf16_bits if dtype == "bf16" else lambda x: x.astype(numpy.float64)
    stored = numpy.uint16 if dtype == "bf16" else numpy.float32
    with DeviceArrays(library) as memory:
        f32 = lambda x: None if x is None else memory.put(x.astype(numpy.float32))
        starts = case.settings["document_starts"]
        a = Attention(B=B, H=H, G=G, T=T, K=K, D=D, is_bf16=dtype == "bf16", q=memory.put(store(case.q)),
                      k=memory.put(store(case.k)), v=memory.put(store(case.v)), scale=case.scale,
                      window=case.settings["window"], prefix=case.settings["prefix"], first_position=case.first_position,
                      document_starts=None if starts is None else memory.put(starts.astype(numpy.int32)),
                      lead=case.settings["lead"], bias=f32(case.bias),
                      bias_columns=0 if case.bias is None else case.bias.shape[1], extra_k=f32(case.extra_k),
                      extra_logit=f32(case.extra_logit), extra_v=f32(case.extra_v), o=memory.nans((B, H, T, D), stored),
                      m=memory.nans((B, H, T), numpy.float32), S=memory.nans((B, H, T), numpy.float32))
        gradients = Gradients(grad_o=memory.put(store(case.grad_o)))
        outputs = {"dq": case.q, "dk": case.k, "dv": case.v, "dbias": case.bias, "dextra_k": case.extra_k,
                   "dextra_logit": case.extra_logit, "dextra_v": case.extra_v}
        outputs = {name: like.shape for name, like in outputs.items() if like is not None}
        type_of = lambda name: stored if name in ("dq", "dk", "dv") else numpy.float32
        for name, shape in outputs.items():
            setattr(gradients, name, memory.nans(shape, type_of(name)))
        library.forward(operation, a)
        library.backward(operation, a, gradients)
        library.synchronize()
        found = {"o": load(memory.get(a.o, case.q.shape, stored))}
        for name, shape in outputs.items():
            x = memory.get(getattr(gradients, name), shape, type_of(name))
            found[name] = load(x) if type_of(name) is stored else x.astype(numpy.float64)
        return found


def compare(found, exact, naive, dtype):
    """For each tensor: the error divided by what is allowed; more than 1 is wrong, and a NaN is infinitely wrong.
    naive: a list of results."""
    ratios = {}
    for name, expected in exact.tensors.items():
        difference = found[name] - expected
        largest = float(abs(difference).max())
        if not math.isfinite(largest):
            ratios[name] = math.inf
            continue
        size = float(abs(expected).max())
        if name != "o":
            size = max(size, exact.gradients)
        if dtype == "f32":
            ratios[name] = largest / (1e-5 * exact.weights * max(1, size))
            continue
        errors = [one.tensors[name] - expected for one in naive]
        if name == "dextra_logit":  # H numbers, one of which may be right by chance: the errors of its terms instead
            errors = [numpy.sqrt(((one.extra_ds - exact.extra_ds) ** 2).sum((0, 2))) for one in naive]
        many = name in ("o", "dq", "dk", "dv")
        rounding = (1e-5 if many else 1e-2) * exact.weights * size
        ratios[name] = largest / (6 * max(float(abs(error).max()) for error in errors) + rounding)
        if many:
            typical = lambda x: float(numpy.sqrt((x * x).mean()))
            ratios[name] = max(ratios[name], typical(difference) / (2 * max(map(typical, errors)) + rounding))
    return ratios


def check_operation(library, operation, cases):
    """Prints a JSON line for each failed case, then one for the operation."""
    started, worst, wrong, failure = time.monotonic(), {}, 0, None
    for n, settings in enumerate(cases):
        case = make_case(operation, settings, n)
        exact = compute(operation, case)
        naive = [compute(operation, case, naive=way) for way in NAIVE] if settings["dtype"] == "bf16" else None
        try:
            ratios = compare(run_kernels(library, operation, case, settings["dtype"]), exact, naive, settings["dtype"])
        except Failed as error:
            failure, ratios = str(error), {}
        for name, ratio in ratios.items():
            worst[name] = max(worst.get(name, 0), ratio)
        over = {name: round(ratio, 3) for name, ratio in ratios.items() if not ratio <= 1}
        if failure or over:
            wrong += 1
            print(json.dumps({"operation": operation, "failed_case": settings, "error_of_allowed": over,
                              "message": failure}), flush=True)
        if failure:  # after an error of the device nothing more runs in this process
            break
    line = {"operation": operation, "cases": n + 1, "wrong": wrong,
            "worst": {name: round(ratio, 3) for name, ratio in worst.items()},
            "seconds": round(time.monotonic() - started, 1)}
    print(json.dumps(line | ({"message": failure} if failure else {})), flush=True)
    return wrong == 0


def run_in_process(arguments, operation):
    """The JSON lines of one operation, checked in a separate process."""
    command = [sys.executable, "-B", __file__, "--library", arguments.library, "--worker", operation, "--cases",
               str(arguments.cases)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=arguments.operation_seconds, env=environment)
        output, end = done.stdout, f"ended with code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if error.stdout else ""
        end = f"was stopped after {arguments.operation_seconds} s"
    lines, rest = [], []
    for line in output.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            rest.append(line)
    if not any("cases" in line for line in lines):
        lines.append({"operation": operation, "cases": 0, "wrong": 1,
                      "message": f"the process {end}: " + " | ".join(rest[-3:])[-600:]})
    return lines


def summary(line):
    if "failed_case" in line:
        return f"       {line['failed_case']}: {line['message'] or line['error_of_allowed']}"
    state = "ok   " if line["wrong"] == 0 else "WRONG"
    if "message" in line:
        return f"{state} {line['operation']:15} {line['message']}"
    worst = max(line["worst"].items(), key=lambda item: item[1], default=("nothing", math.inf))
    return (f"{state} {line['operation']:15} {line['cases']} cases, {line['wrong']} wrong; largest error, of what is "
            f"allowed: {worst[1]:.2f} ({worst[0]}); {line['seconds']} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/kernels.so")
    parser.add_argument("--operations", help="default: all of the library")
    parser.add_argument("--cases", type=int, default=0, help="per operation; 0: all of the product")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--operation-seconds", type=float, default=120, help="limit of one operation")
    parser.add_argument("--out", help="file for JSON lines, which are appended")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.library).is_file():
        parser.error(f"no library {arguments.library}: build it with tools/gpu/kernels/build.sh")
    library = KernelLibrary(arguments.library)
    cases = some_cases(arguments.cases)
    if arguments.worker:
        return 0 if check_operation(library, arguments.worker, cases) else 1
    self_check()
    built = library.operations()
    # In a separate process: a context here would hold memory of the device, and could not be used after a fork.
    named = subprocess.run([sys.executable, "-B", "-c", "import sys; from kernel_library import KernelLibrary; "
                            "print(KernelLibrary(sys.argv[1]).device_name())", arguments.library],
                           cwd=pathlib.Path(__file__).parent if pathlib.Path(arguments.library).is_absolute() else None,
                           env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)},
                           stdout=subprocess.PIPE, text=True).stdout.strip()
    if not named:
        print("kernel_check.py: error: the library finds no device", file=sys.stderr)
        return 7
    operations = arguments.operations.split(",") if arguments.operations else built
    for operation in operations:
        if operation not in built or operation not in OPERATIONS:
            parser.error(f"no operation is called {operation}; the library has {', '.join(built)}")
    print(f"attention kernels on {named}, compared with float64: {len(operations)} operations, {len(cases)} cases each",
          flush=True)
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.workers)) as pool:
        waiting = [pool.submit(run_in_process, arguments, operation) for operation in operations]
        for done in concurrent.futures.as_completed(waiting):
            for line in done.result():
                print(summary(line), flush=True)
                wrong += line.get("wrong", 0) > 0
                if arguments.out:
                    with open(arguments.out, "a") as out:
                        out.write(json.dumps({"device": named, **line}) + "\n")
    print(f"{len(operations) - wrong} of {len(operations)} operations agree with float64")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
