#!/usr/bin/env python3
"""The TOML that train_* writes, read by Python's tomllib: hostile texts, seeds and numbers come back as they were given.
  toml_elsewhere.py BUILD
"""
import pathlib
import random
import subprocess
import sys

try:
    import tomllib
except ImportError:
    sys.exit(77)

program = pathlib.Path(sys.argv[1]) / "train_baseline"
draw = random.Random(1)
for case in range(20):
    kinds = [lambda: chr(draw.randrange(1, 128)), lambda: chr(draw.randrange(128, 0xD800)),
             lambda: chr(draw.randrange(0xE000, 0x110000)), lambda: draw.choice("\"\\#'\n\t=[]")]
    text = "".join(draw.choice(kinds)() for _ in range(draw.randrange(200)))
    seed, rate = draw.randrange(2**64), draw.random()
    done = subprocess.run([program, f"--data={text}", "--seed", str(seed), "--learning-rate", repr(rate), "--print-config"],
                          capture_output=True, check=True)
    settings = tomllib.loads(done.stdout.decode())
    assert settings["data"] == text, (text, settings["data"])
    assert int(settings["seed"]) == seed, (seed, settings["seed"])
    assert settings["learning-rate"] == rate, (rate, settings["learning-rate"])
print("toml_elsewhere: 20 configurations read back")
