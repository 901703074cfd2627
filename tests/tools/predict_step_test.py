"""tools/gpu/predict_step.py against times computed by hand, and what it refuses."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = "kernel launches requested read written MFLOP\n"


def predict(text, *arguments):
    program = [sys.executable, str(ROOT / "tools/gpu/predict_step.py"), *arguments]
    return subprocess.run(program, input=text, capture_output=True, text=True)


def check(condition, done):
    if not condition:
        sys.exit(f"predict_step_test: wrong output\n{done.stdout}{done.stderr}")


# Per token 790 MFLOP at 790 TFLOP/s, 1 us, and 3,350 + 3,350 bytes at 3.35 TB/s, 2 ns. Expected: 1 us / 0.78 and
# 2 ns / 0.75, and 1 us for each of 100 launches in a step of 1,000 tokens.
title = "60m, baseline, 1 x 1000 tokens, heads of 96, bf16; bytes and FLOPs per token, launches per step\n"
done = predict(title + HEAD + "gemm 60 9 0 0 790.0\nupdate 40 9 3350 3350 0.0\nsum 100 9 3350 3350 790.0\n")
check("tokens/s: at most 998K, expected 722K\n" in done.stdout, done)
# A GPU with a faster memory.
done = predict(title + HEAD + "update 0 9 2400 2400 0.0\n", "--gpu", "h200")
check("tokens/s: at most 1000000K, expected 750000K\n" in done.stdout, done)
# One HMMA iteration of the portable forward kernel at width 96 (kernels_sm90.txt): 516 TFLOP/s.
done = predict(title + HEAD + "attention_tiles_kernel 0 9 0 0 516.0\n")
speed = float(done.stdout.split("at most ")[1].split("K")[0])
check(995 <= speed <= 1005, done)
for text, arguments, message in [("", [], "the first line is not step_cost's"),
                                 (title.replace("96", "256") + HEAD, [], "heads of 256 have no tensor-core kernel"),
                                 (title + HEAD, ["--operation", "Nothing"], "has no inner loop of Nothing")]:
    done = predict(text, *arguments)
    check(done.returncode == 1 and message in done.stderr, done)
