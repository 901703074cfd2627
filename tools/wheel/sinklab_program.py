"""What the programs of a wheel begin as: becomes the one that has the name it was called by. It is not in the package, which would take
its time to load."""
import os
import sys


def main():
    name = os.path.basename(sys.argv[0])
    program = "ablation_program" if name.startswith(("train_", "eval_")) else name
    os.execv(os.path.join(os.path.dirname(__file__), "sinklab", "programs", program), sys.argv)
