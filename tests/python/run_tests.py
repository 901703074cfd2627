#!/usr/bin/env python3
"""Runs the tests of the Python module.

  run_tests.py [BUILD_FOLDER]   the module of a build with SINK_PYTHON=ON, or the one that pip installed

With pytest all of them; without it those of test_golden.py, which need NumPy alone. Exit 77: no module is installed, or there is
no NumPy.
"""
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    if len(sys.argv) > 1:
        sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "python"))
    sys.path.insert(0, str(HERE))
    try:
        importlib.import_module("sinklab")
    except ImportError as error:
        if len(sys.argv) > 1 and (pathlib.Path(sys.argv[1]) / "python").exists() and importlib.util.find_spec("numpy"):
            print(f"the module of {sys.argv[1]} cannot be imported: {error}", file=sys.stderr)
            return 1
        print(f"skipped: {error}. Run `pip install .`, or build with -DSINK_PYTHON=ON and this python", file=sys.stderr)
        return 77
    try:
        import pytest
    except ImportError:
        print("without pytest: only test_golden.py", file=sys.stderr)
        return importlib.import_module("test_golden").main()
    return pytest.main(["-q", "-p", "no:cacheprovider", str(HERE)])


if __name__ == "__main__":
    sys.exit(main())
