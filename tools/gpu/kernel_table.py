#!/usr/bin/env python3
"""What nvcc made of every kernel, one line each: engine/cuda/kernels_sm{80,90,90a}.txt. No GPU is needed. sm_90a has the
kernels that only Hopper runs.

    python3 tools/gpu/kernel_table.py            builds the kernels (preset cuda), reads them, writes the tables
    python3 tools/gpu/kernel_table.py --check    writes nothing; names the kernels that differ from the tables

Both print the inner loops of Softmax's tensor-core kernels and the speed that they allow (sass_loops.py); the tables
have those of every operation. cuobjdump and nvdisasm come from PyPI, into build/gpu_tools.
Exit codes: 0 done, or nothing differs; 1 kernels differ; 2 something is missing.
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import sass_loops

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = {"sm_80": "sink_kernels", "sm_90": "sink_kernels", "sm_90a": "sink_hopper_kernels"}
TABLES = {arch: ROOT / f"engine/cuda/kernels_{arch.replace('_', '')}.txt" for arch in LIBRARIES}
TOOLS = ROOT / "build/gpu_tools"
PACKAGES = ["nvidia-cuda-cuobjdump==13.2.51", "nvidia-cuda-nvdisasm==13.2.51"]
COLUMNS = {
    "registers": "of a thread",
    "shared": "bytes of static shared memory; what a launch asks for besides is in the sources",
    "stack": "bytes of a thread's frame in local memory",
    "local": "instructions that read or write local memory: spilled registers, and arrays indexed at run time",
    "fp64": "instructions that compute in double precision",
    "fp64cvt": "instructions that convert from or to it",
    "hmma": "instructions of the tensor cores",
    "calls": "of subroutines: divisions of 64-bit integers and exact divisions of floats, mostly",
    "all": "instructions",
}
HEADER = " ".join(f"{column:>9}" for column in COLUMNS) + "  kernel"
Kernel = collections.namedtuple("Kernel", COLUMNS)
TILES = re.compile(r"attention_tiles_(|dq_|dk_dv_|dbias_|key_sums_)kernel ?<(\w+), (\d+)>$")
LOOP = ("hmma", "ldsm", "copies", "lds", "sts", "mufu", "all", "body")
LOOP_HEADER = ("#   " + " ".join(f"{column:>6}" for column in LOOP + ("tensor", "shared", "issue", "mufu", "TFLOP")) +
               "  kernel")
KINDS = {
    "local": re.compile(r"(LDL|STL)\b"),
    "fp64": re.compile(r"(DADD|DMUL|DFMA|DSETP|DMNMX|DMMA)\b|MUFU\.R(CP|SQ)64H"),
    "fp64cvt": re.compile(r"\w+\.(.*\.)?F64\b"),
    "hmma": re.compile(r"HG?MMA\b"),
    "calls": re.compile(r"CALL\b"),
    "all": re.compile(r"(?!NOP\b)"),
}


def leave(message):
    print(f"kernel_table: error: {message}", file=sys.stderr)
    raise SystemExit(2)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        print((done.stdout + done.stderr)[-4000:], file=sys.stderr)
        leave(f"`{' '.join(map(str, command))}` failed with code {done.returncode}; its last lines are above")
    return done.stdout


def tools_folder():
    """Where cuobjdump and nvdisasm are, installed if they are not."""
    found = list(TOOLS.glob("lib/*/site-packages/nvidia/cu13/bin"))
    if not found or not (found[0] / "nvdisasm").exists():
        run(sys.executable, "-m", "venv", TOOLS)
        run(TOOLS / "bin/pip", "install", "-q", *PACKAGES)
        found = list(TOOLS.glob("lib/*/site-packages/nvidia/cu13/bin"))
    return found[0]


def build():
    """The objects of each library."""
    run("cmake", "--preset", "cuda", cwd=ROOT)
    objects = {}
    for library in dict.fromkeys(LIBRARIES.values()):
        run("cmake", "--build", "--preset", "cuda", "--target", library, cwd=ROOT)
        folder = ROOT / f"build/cuda/CMakeFiles/{library}.dir"
        objects[library] = sorted(folder.rglob("*.o")) or leave(f"no objects in {folder} after building {library}")
    return objects


def without(text, opening, closing):
    """`text` without what stands between the two, nested ones included."""
    result, depth = [], 0
    for character in text:
        depth += character == opening
        if depth == 0:
            result.append(character)
        depth -= character == closing
    return "".join(result)


def short(name):
    """A demangled name without return type, parameters and our namespaces."""
    name = re.sub(r"\(anonymous namespace\)::|sink::(cuda::)?", "", name)
    name = re.sub(r"\{lambda\([^()]*\)(#\d+)\}", r"lambda\1", name)
    name = without(name, "(", ")")
    name = re.sub(r"^void |(?<=>)::.*? const(?=::)| const&?(?=::)", "", name)
    return re.sub(r"\s+", " ", name).strip()


def kernels_of(path, tools, arch):
    """Of an object: {mangled name: (Kernel, its inner loops with products)}."""
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
    read = lambda what: run(tools / "cuobjdump", what, "-arch", arch, path, env=environment)
    resources = {}
    for name, line in re.findall(r"^ Function (\S+):\n(.*)$", read("-res-usage"), re.M):
        resources[name] = {key: int(value) for key, value in re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", line)}
    code = collections.defaultdict(list)
    if resources:
        for line in read("-sass").splitlines():
            if "Function :" in line:
                name = line.split()[-1]
            elif instruction := sass_loops.parse(line):
                code[name].append(instruction)
    result = {}
    for name, of in resources.items():
        counts = {kind: sum(bool(those.match(i.opcode)) for i in code[name]) for kind, those in KINDS.items()}
        kernel = Kernel(registers=of["REG"], shared=of["SHARED"], stack=of["STACK"] + of["LOCAL"], **counts)
        result[name] = kernel, tuple(sass_loops.loops_of(code[name]) if "attention_tiles" in name else [])
    return result


def all_kernels(objects, tools, arch):
    """({short name: Kernel}, {short name: loops}); a kernel of several objects is the same in all, or has a line for
    each kind."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = collections.defaultdict(set)
        for of_object in pool.map(lambda path: kernels_of(path, tools, arch), objects):
            for mangled, kernel in of_object.items():
                found[mangled].add(kernel)
    readable = run("c++filt", input="\n".join(found)).splitlines()
    table, loops = {}, {}
    for name, kernels in zip(map(short, readable), found.values()):
        for kernel, of_kernel in sorted(kernels):
            number = 1
            while (unique := name if number == 1 else f"{name} ({number})") in table:
                number += 1
            table[unique] = kernel
            if of_kernel:
                loops[unique] = of_kernel[0]  # without masks
    return dict(sorted(table.items())), dict(sorted(loops.items()))


def ceiling(name, loops):
    """TFLOP/s that the loops of a forward kernel, or of both backward kernels, allow; None for other kernels."""
    kernel, op, width = TILES.match(name).groups()
    if kernel == "":
        return sass_loops.forward_ceiling(loops[name])
    dq, dk_dv = (loops.get(f"attention_tiles_{which}_kernel<{op}, {width}>") for which in ("dq", "dk_dv"))
    return sass_loops.backward_ceiling([(dq, 3), (dk_dv, 4)]) if kernel == "dk_dv_" and dq and dk_dv else None


def loop_lines(loops, only=""):
    yield LOOP_HEADER
    for name, loop in loops.items():
        if only in name:
            limit = ceiling(name, loops)
            columns = [getattr(loop, column) for column in LOOP] + [round(x) for x in loop.clocks().values()]
            yield ("#   " + " ".join(f"{value:6}" for value in columns) +
                   (f" {limit:6.0f}" if limit else " " * 7) + "  " + name)


def text_of(arch, table, loops):
    compiler = next((ROOT / "build/cuda/CMakeFiles").glob("*/CMakeCUDACompiler.cmake")).read_text()
    release = re.search(r'CMAKE_CUDA_COMPILER_VERSION "(.+?)"', compiler)[1]
    lines = [f"# Every CUDA kernel as nvcc {release} makes it for {arch}, written by tools/gpu/kernel_table.py.", "#"]
    lines += [f"# {name}: {meaning}" for name, meaning in COLUMNS.items()]
    lines += ["#"]
    for column, what in (("fp64", "compute in double precision"), ("fp64cvt", "convert from or to it"),
                         ("local", "use local memory"), ("stack", "have a stack"), ("hmma", "use the tensor cores")):
        those = collections.defaultdict(list)
        for name, kernel in table.items():
            if getattr(kernel, column):
                base, _, arguments = name.partition("<")
                those[base].append("<" * bool(arguments) + arguments)
        lines.append(f"# {sum(map(len, those.values()))} of {len(table)} kernels {what}{':' * bool(those)}")
        lines += [" ".join(["#  ", base, *filter(None, arguments)]) for base, arguments in sorted(those.items())]
    if loops:
        lines += ["# Inner loops of attention: an iteration's instructions, its clocks on an H100 and TFLOP/s that they allow"]
        lines += ["# (sass_loops.py); those of the backward pass, dq and dk_dv together, are with dk_dv", *loop_lines(loops)]
    lines += [HEADER]
    lines += [" ".join(f"{value:9}" for value in kernel) + "  " + name for name, kernel in table.items()]
    return "\n".join(lines) + "\n"


def table_in(text):
    if HEADER not in text.splitlines():  # of other columns
        return {}
    rows = [line.split(None, len(COLUMNS)) for line in text.splitlines() if re.match(r"\s*\d", line)]
    return {row[-1]: Kernel(*map(int, row[:-1])) for row in rows}


def differences(before, now):
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            yield f"gone: {name}"
        elif name not in before:
            yield f"new: {name}: " + ", ".join(f"{k} {v}" for k, v in now[name]._asdict().items() if v)
        elif before[name] != now[name]:
            yield f"changed: {name}: " + ", ".join(f"{column} {a} -> {b}" for column, a, b in
                                                   zip(COLUMNS, before[name], now[name]) if a != b)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        leave(f"unknown arguments {' '.join(sys.argv[1:])} (expected nothing or --check)")
    objects, tools, differ = build(), tools_folder(), False
    for arch, path in TABLES.items():
        before = table_in(path.read_text()) if path.exists() else {}
        now, loops = all_kernels(objects[LIBRARIES[arch]], tools, arch)
        if not now:
            leave(f"no code for {arch} in build/cuda; -DCMAKE_CUDA_ARCHITECTURES='80-real;90' makes it")
        changes = list(differences(before, now))
        for line in changes[:40] + [f"and {len(changes) - 40} more"] * (len(changes) > 40):
            print(line)
        print(f"kernel_table: {len(now)} kernels, {len(changes)} differ from {path.relative_to(ROOT)}")
        if loops:
            print(f"loops for {arch}:", *(line[4:] for line in loop_lines(loops, "<Softmax,")), sep="\n")
        differ = differ or bool(changes)
        if "--check" not in sys.argv:
            path.write_text(text_of(arch, now, loops))
    raise SystemExit(1 if differ and "--check" in sys.argv else 0)


if __name__ == "__main__":
    main()
