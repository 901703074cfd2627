"""Files that the disk damaged, by decay or by a write that it only claimed to do: who reads them refuses them by name."""
import re

from run_faults import timeless

DAMAGES = ["bit", "bit", "sector", "cut", "other"]
PROBE = "probe"  # the files of a reader


def decayed(data, how, other, chosen):
    """The bytes after a flipped bit, a sector that was never written or holds another file, or a lost end."""
    at = chosen.randrange(len(data))
    if how == "bit":
        return data[:at] + bytes([data[at] ^ 1 << chosen.randrange(8)]) + data[at + 1:]
    if how == "cut":
        return data[:at]
    at = at // 512 * 512
    sector = data[at:at + 512]
    return data[:at] + (other[:512].ljust(512, b"\0") if how == "other" else bytes(512))[:len(sector)] + data[at + 512:]


def reader_of(path):
    """A program that reads this file and writes only files named probe."""
    if re.search(r"(checkpoint|imported|birth/step-\d+)\.h5$", path):
        return f"eval_baseline sink {path} --sequences 2 --threads 1 --out {PROBE}.json"
    if path == "data/tokens.h5":
        return ("train_baseline --layers 1 --heads 1 --width 16 --feed-forward 16 --context 32 --batch 2 --steps 1 --eval-sequences 2"
                f" --threads 1 --data data --run {PROBE}")
    if path.startswith("exported/"):
        return f"eval_baseline import exported {PROBE}.h5"
    if re.search(r"(evaluation\.json|metrics\.jsonl|config\.toml)$", path):
        return f"report {path.rpartition('/')[0]} --out {PROBE}.html"
    if path == "sink.json":
        return f"report sink.json --out {PROBE}.html"
    return None


def has_checksum(path):
    return path.endswith(".h5")


def is_same(path, data, versions):
    return timeless(path, data) in versions


def check_reader(path, outcome, same_result):
    """What is wrong, or None. `same_result`: the reader wrote what it writes of the undamaged file."""
    folder, _, name = path.rpartition("/")
    if outcome.code == 0:
        wrong = has_checksum(path) and not same_result
        return f"{path} is damaged, and a reader makes other values of it, with exit code 0" if wrong else None
    if outcome.code not in (2, 3, 4):
        return f"{path} is damaged, and a reader ends with {outcome.code}: {outcome.err[-300:]}"
    if name not in outcome.err and not (folder and folder in outcome.err):
        return f"{path} is damaged, and the reader does not name it: {outcome.err[-300:]}"
    return None
