#!/usr/bin/env python3
"""Deletes what orders and bounds the threads of CUDA kernels, one line at a time, and sees that a test fails.

Every sync_block(), sync_warp(), commit and wait of asynchronous copies, every `if (...) return;` that keeps a thread or a
warp from a row that is not there, and the bounds of CONDITIONS, in the kernels of engine/ops and in the headers they
share. A deletion that no test notices is listed and makes the exit code 1: then a test is missing, or the line is. The
emulated device, a temporary copy; the checkout is left alone.

  mutate_cuda.py              all of them; about 15 minutes on two cores
  mutate_cuda.py norm_cuda    those of files whose path has this in it
  mutate_cuda.py --list       what would be deleted
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A whole line that is a barrier, a commit or a wait, or a return of threads without work.
ORDER = re.compile(r"^\s*(?:(?:sync_block|sync_warp|cp_async_commit_group|cp_async_wait_group<\d>|fence_mbarrier_init|"
                   r"wgmma_fence|wgmma_commit_group|wgmma_wait_group<\d>|wait_for_turn|give_turn)\(\)|"
                   r"(?:wait_for|release|mbarrier_wait|(?:ring\.)?(?:wait_for|release)_stage)\(.*\));\s*(//.*)?$")
BOUND = re.compile(r"^\s*if \([^;]*((>=|<|>|==) ?|sees_nothing)[^;]*\) return;\s*(//.*)?$")
# Bounds inside of expressions, and what is put in their place.
TILES = "engine/ops/attention/cuda/attention_tiles"
HOPPER = "engine/ops/attention/cuda/attention_hopper"
ROWS = "engine/ops/attention/cuda/attention"
PART = "begin + rows_per_block < rows ? begin + rows_per_block : rows"
CONDITIONS = [("engine/cuda/elements.cuh", "if (i < count) ", ""),
              ("engine/cuda/column_sums.cuh", "(last < rows ? last : rows)", "last"),
              ("engine/cuda/column_sums.cuh", "if (c < columns)", ""),
              ("engine/cuda/norm_rows.cuh", "if (c < C) ", ""),
              ("engine/cuda/warp.cuh", "lane < static_cast<int>(blockDim.x) / kWarp ? of_warp[lane] : 0.0f",
               "of_warp[lane]"),
              ("engine/ops/norm/norm_cuda.cu", "bool real = row < rows;", "bool real = true;"),
              ("engine/ops/norm/norm_cuda.cu", "if (!real) return;", ""),
              ("engine/ops/norm/norm_cuda.cu", PART, "begin + rows_per_block"),
              ("engine/ops/reductions/scaled_sum_cuda.cu", "begin + kBlock < count ? begin + kBlock : count",
               "begin + kBlock"),
              ("engine/ops/rotary/rotary_cuda.cu", "if (e < E)", "if (true)"),
              ("engine/ops/add_head_vector/add_head_vector_cuda.cu", "last < B * T ? last : B * T", "last"),
              ("engine/ops/add_head_vector/add_head_vector_cuda.cu", "t + last - first < T ? t + last - first : T",
               "T"),
              ("engine/ops/embedding/embedding_cuda.cu", "begin + kTile < N ? begin + kTile : N", "begin + kTile"),
              ("engine/ops/embedding/embedding_cuda.cu", "other + run < N ? other + run : N", "other + run"),
              ("engine/ops/embedding/embedding_cuda.cu", "n > 0 && ", ""),
              ("engine/ops/embedding/embedding_cuda.cu", "n < count && ", ""),
              ("engine/ops/embedding/embedding_cuda.cu", "begin + kBlock < runs.count ? begin + kBlock : runs.count",
               "begin + kBlock"),
              (f"{ROWS}_forward_cuda.cuh", "n < keys ? weights.a(query.score(query.key(n))) : 0",
               "weights.a(query.score(query.key(n)))"),
              (f"{ROWS}_forward_cuda.cuh", "keys - first < kWarp ? keys - first : kWarp", "kWarp"),
              (f"{ROWS}_backward_cuda.cuh", "if (n < keys) {", "{"),
              (f"{ROWS}_backward_cuda.cuh", "keys - first < kWarp ? keys - first : kWarp", "kWarp"),
              (f"{ROWS}_backward_cuda.cuh", "t < end_t && ", ""),
              (f"{ROWS}_backward_cuda.cuh", "end_t - first < kWarp ? end_t - first : kWarp", "kWarp"),
              (f"{ROWS}_backward_cuda.cuh", "(end < a.K ? end : a.K)", "end"),
              (f"{ROWS}_backward_cuda.cuh", "j >= 0 && ", ""),
              ("engine/cuda/matrix_tiles.cuh", "row + n * kStep < count);", "true);"),
              ("engine/cuda/matrix_tiles.cuh", "if (column >= width) count = 0;", ""),
              (f"{TILES}_cuda.cuh", "in_prefix || last - position >= queries ? queries : ", ""),
              (f"{TILES}_cuda.cuh", "column >= begin[e / 2] && ", ""),
              (f"{TILES}_cuda.cuh", " && column < end[e / 2]", ""),
              (f"{TILES}_cuda.cuh", " || (!kTransposed && column < prefix_end[e / 2])", ""),
              (f"{TILES}_cuda.cuh", "distance < last ? distance : last", "distance"),
              (f"{TILES}_cuda.cuh", "nearest + n < 0 ? 0 : nearest + n", "nearest + n"),
              (f"{TILES}_cuda.cuh", "if (!exists(e)) continue;", ""),
              (f"{TILES}_cuda.cuh", "if (d < D) *", "*"),
              (f"{TILES}_cuda.cuh", "if (begin_ < prefix_end_) begin_ = prefix_end_;", ""),
              (f"{TILES}_cuda.cuh", "(range.first(queries.end - 1 + head.shift) + kKeys - 1)",
               "range.first(queries.end - 1 + head.shift)"),
              (f"{TILES}_cuda.cuh", "(queries.begin + head.shift + 1) / kKeys", "(queries.begin + head.shift + kKeys) / kKeys"),
              (f"{TILES}_cuda.cuh", "has_bias && scale > 0", "has_bias"),
              (f"{TILES}_forward_cuda.cuh", "kSeesAll || !is_masked(s[n][e])", "true"),
              (f"{TILES}_forward_cuda.cuh", "t_of(mt, e) < head.T ? t_of(mt, e) : head.T - 1", "t_of(mt, e)"),
              (f"{TILES}_forward_cuda.cuh", "!exists(2 * half) || ", ""),
              (f"{TILES}_cuda.cuh", "first_t + row < head.T);", "true);"),
              (f"{TILES}_dq_cuda.cuh", "exists(mt, e) ? t_of(mt, e) : head.T - 1", "t_of(mt, e)"),
              (f"{TILES}_dq_cuda.cuh", "return exists(mt, e) && ", "return "),
              (f"{TILES}_dk_dv_cuda.cuh", "last_of_first_key < first.T ? last_of_first_key + 1 : first.T", "first.T"),
              (f"{TILES}_dk_dv_cuda.cuh", "(keys.end - 1 - first.shift + kQueries - 1) / kQueries", "0"),
              (f"{TILES}_dk_dv_cuda.cuh", "keys.begin < head.K && ", ""),
              (f"{TILES}_dbias_cuda.cuh", "t < head.T ? t : head.T - 1", "t"),
              (f"{HOPPER}_tiles_cuda.cuh", "if (use.n >= Shape::kStages) ", "if (false) "),
              (f"{HOPPER}_tiles_cuda.cuh", "1 - use.parity()", "use.parity()"),
              (f"{HOPPER}_tiles_cuda.cuh", "distance < last ? distance : last", "distance"),
              (f"{HOPPER}_tiles_cuda.cuh", "nearest + n < 0 ? 0 : nearest + n", "nearest + n"),
              (f"{HOPPER}_mask_cuda.cuh", "key >= first[half] && ", ""),
              (f"{HOPPER}_mask_cuda.cuh", " && key < end[half]", ""),
              (f"{HOPPER}_mask_cuda.cuh", " || key < prefix", ""),
              (f"{HOPPER}_mask_cuda.cuh", "first_key >= full_begin && ", ""),
              (f"{HOPPER}_mask_cuda.cuh", " && end_key <= full_end", ""),
              (f"{HOPPER}_forward_cuda.cuh", "t_of(e) < head.T ? t_of(e) : head.T - 1", "t_of(e)"),
              (f"{HOPPER}_forward_cuda.cuh", "t_of(2 * half) >= head.T || ", ""),
              (f"{HOPPER}_forward_cuda.cuh", "return t_of(e) < head.T;", "return true;"),
              (f"{HOPPER}_forward_cuda.cuh", "if (consumer_index == 1) consumer.give_turn();", ""),
              (f"{HOPPER}_forward_cuda.cuh", "if (rescales) rows.rescale_output(factors);", ""),
              (f"{HOPPER}_tiles_cuda.cuh", "if (8 * n < D)", ""),
              (f"{HOPPER}_ring_cuda.cuh", "if (n >= kStages) ", "if (false) "),
              (f"{HOPPER}_ring_cuda.cuh", "1 - parity(n)", "parity(n)"),
              (f"{HOPPER}_dq_cuda.cuh", "t_of(e) < head.T ? t_of(e) : head.T - 1", "t_of(e)"),
              (f"{HOPPER}_dq_cuda.cuh", "return t_of(e) < head.T && ", "return "),
              (f"{HOPPER}_dq_cuda.cuh", "t_of(e) < head.T ? head.query_row(dq_BHTD, t_of(e)) : nullptr",
               "head.query_row(dq_BHTD, t_of(e))"),
              (f"{HOPPER}_dq_cuda.cuh", "sees_all() || !is_masked(s[m][e]) ? gradient : 0", "gradient"),
              (f"{HOPPER}_dk_dv_cuda.cuh", "tile.first_t >= full.begin && ", ""),
              (f"{HOPPER}_dk_dv_cuda.cuh", " && tile.first_t + kQueries <= full.end", ""),
              (f"{HOPPER}_dk_dv_cuda.cuh", "last < first.T ? last + 1 : first.T", "first.T"),
              (f"{HOPPER}_dk_dv_cuda.cuh", "key < head.K ? head.key_row(x_BGKD, key) : nullptr",
               "head.key_row(x_BGKD, key)")]
# Which tests look at what the kernels of several operations share.
SHARED = {"engine/cuda/warp.cuh": ["scaled_sum_test", "sum_of_squares_test", "norm_test"],
          "engine/cuda/elements.cuh": ["add_test", "rotary_test"],
          "engine/cuda/column_sums.cuh": ["norm_test", "attention_cuda_test"],
          "engine/cuda/norm_rows.cuh": ["norm_test"],
          "engine/cuda/matrix_tiles.cuh": ["attention_tiles_cuda_test"]}
TILE_TESTS = ["attention_tiles_cuda_test", "emulated_attention_cost_test"]
# Of attention's operations, those that its test names and one that divides by a sum: the others have the same kernels.
OPERATIONS = ["Softmax", "Sigmoid", "SigmoidLogN", "ClippedSoftmax", "Softpick", "Linear", "EluNorm"]


def kernels_of(text):
    """Of each line: whether it stands in a device function."""
    inside, depth, result = False, 0, []
    for line in text.splitlines():
        if not inside and re.search(r"__(global|device)__", line) and not line.rstrip().endswith(";"):
            inside, depth = True, 0
            opened = False
        result.append(inside)
        if inside:
            depth += line.count("{") - line.count("}")
            opened = opened or "{" in line
            if opened and depth <= 0:
                inside = False
    return result


def mutations(only):
    """(file, number of the line, what is deleted of it, what is put there, tests that must notice)"""
    found = []
    files = sorted(ROOT.glob("engine/ops/**/*_cuda.cu")) + sorted(ROOT.glob("engine/ops/**/*_cuda.cuh"))
    for path in files + [ROOT / name for name in SHARED]:
        name = str(path.relative_to(ROOT))
        own = "attention_cuda_test" if "/attention/" in name else path.stem.removesuffix("_cuda") + "_test"
        tests = SHARED.get(name, [own])
        if name.startswith(TILES) or name == "engine/cuda/matrix_tiles.cuh":
            tests = TILE_TESTS
        if name.startswith(HOPPER):
            tests = TILE_TESTS[:1]
        text = path.read_text()
        for number, (line, inside) in enumerate(zip(text.splitlines(), kernels_of(text))):
            if inside and (ORDER.match(line) or BOUND.match(line)):
                found.append((name, number, line.strip(), "", tests))
            for file, old, new in CONDITIONS:
                if file == name and old in line:
                    found.append((name, number, old, new, tests))
        for file, old, _ in CONDITIONS:
            if file == name and old not in text:
                sys.exit(f"mutate_cuda.py: {name} has no '{old}'; correct CONDITIONS")
    return [mutation for mutation in found if not only or only in mutation[0]]


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)


def run_test(copy, test, name, **more):
    """For a mutation of the file `name`."""
    environment = dict(os.environ, SINK_COMPUTE_CAPABILITY="90" if name.startswith(HOPPER) else "80")
    return run([f"build/tests/{test}", "--abort-after=1"], cwd=copy, env=environment, **more)


def build(copy, tests):
    return run(["cmake", "--build", "build", "--target", *tests], cwd=copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="?", default="", help="a part of a path")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    all_of_them = mutations(given.only)
    if not all_of_them:
        sys.exit(f"mutate_cuda.py: no line to delete in files with '{given.only}' in their path")
    if given.list:
        for name, number, old, new, tests in all_of_them:
            print(f"{name}:{number + 1}: {old}{' -> ' + new if new else ''}  ({', '.join(tests)})")
        return
    with tempfile.TemporaryDirectory(prefix="sinklab-mutate-") as folder:
        copy = pathlib.Path(folder) / "sinklab"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", ".git", "runs"))
        configured = run(["cmake", "--preset", "emulated", "-B", "build", "-DSINK_ABLATION_SET=baseline",
                          "-DSINK_ATTENTION_SET=" + ";".join(OPERATIONS),
                          "-DSINK_PROGRAMS=none", "-DSINK_JOIN_TESTS=OFF"], cwd=copy)
        tests = sorted({test for *_, tests in all_of_them for test in tests})
        built = build(copy, tests) if configured.returncode == 0 else configured
        if built.returncode:
            sys.exit(f"mutate_cuda.py: the copy does not build:\n{built.stdout[-3000:]}")
        for test in tests:
            if any(run_test(copy, test, name).returncode for name in {HOPPER, ""}):
                sys.exit(f"mutate_cuda.py: {test} fails before anything is deleted")
        survivors = []
        for count, (name, number, old, new, tests) in enumerate(all_of_them, 1):
            path = copy / name
            text = path.read_text()
            lines = text.splitlines()
            lines[number] = lines[number].replace(old, new)
            path.write_text("\n".join(lines) + "\n")
            built = build(copy, tests)
            noticed = "does not compile" if built.returncode else None
            for test in tests if not noticed else []:
                try:
                    if run_test(copy, test, name, timeout=300).returncode:
                        noticed = test
                        break
                except subprocess.TimeoutExpired:
                    noticed = f"{test} does not end"
                    break
            path.write_text(text)
            print(f"{count}/{len(all_of_them)} {name}:{number + 1}: {old}  -> {noticed or 'NOT NOTICED'}", flush=True)
            if not noticed or noticed == "does not compile":
                survivors.append(f"{name}:{number + 1}: {old}")
    print(f"{len(all_of_them) - len(survivors)} of {len(all_of_them)} deletions noticed")
    if survivors:
        print("not noticed:\n  " + "\n  ".join(survivors))
        sys.exit(1)


if __name__ == "__main__":
    main()
