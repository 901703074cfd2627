"""What must hold after every event of a life. Each check returns what is wrong, as texts."""
import dataclasses
import json
import os
import re
import signal

from machine import Disturbance, Outcome, differing, whole
from run_faults import is_temporary

DISK_CODES = {3, 4, 6, 8}  # an input or a checkpoint cannot be read, out of memory, disk


@dataclasses.dataclass
class Event:
    chapter: object
    command: str
    disturbance: Disturbance
    outcome: Outcome
    before: dict
    tree: dict
    versions: dict  # of each path, the whole versions that the undisturbed life had, in order
    flushed_lines: dict  # of each checkpoint (path, bytes), the lines of its log that were flushed before it
    expected: dict  # the files of this command when it is done
    tainted: set  # what the disk damaged and nothing has repaired yet
    durable: dict  # what a power loss now would leave

    @property
    def ranks(self):
        return "--nproc" in self.command

    @property
    def done(self):
        """Whether nothing is left to do. A temporary that cannot be removed is left; `sweep` makes tables of damaged logs."""
        unlinks = self.disturbance.kind == "fail" and self.disturbance.call.startswith("unlink") and self.outcome.reached
        spoiled = "sweep" in self.command and self.tainted
        return self.outcome.code == 0 and not self.lost_power and not unlinks and not spoiled

    @property
    def lost_power(self):
        return self.disturbance.kind == "power" and self.outcome.reached


def standing(path):
    """The name of a file of an older run that --force keeps aside, before it was moved."""
    return path.replace("/.replaced/", "/")


def codes_of(event):
    kind, call, number = event.disturbance.kind, event.disturbance.call, event.disturbance.signal
    if not event.outcome.reached or kind in ("none", "slow") or "short" in call:  # which is no error
        return {0}
    if kind == "fail":
        return {0} | DISK_CODES
    if kind == "lie":
        return {0, 3, 4, 8} | ({1, 2} if "sweep" in event.command else set())  # 2: another value in config.toml
    if kind in ("kill", "power"):
        if "prepare" in event.command:
            return {-9, 8}  # its child writes the HDF5 file
        return {-9, 137, 0} if event.ranks else {-9, 1, 0} if "sweep" in event.command else {-9}
    if kind == "orphan":
        return {-9}
    if kind == "rank":
        return {0, 7, 137}
    return {0, 128 + number, -number}


def exit_code_is_documented(event):
    code = event.outcome.code
    if code == 2 and "already" in event.outcome.err and "export" in event.command:
        return []  # `export` does not replace a folder
    return [] if code in codes_of(event) else [f"exit code {code}, expected one of {sorted(codes_of(event))}: {event.outcome.err[-400:]}"]


def failure_has_a_message(event):
    code, err = event.outcome.code, event.outcome.err
    if not isinstance(code, int) or code <= 0 or event.disturbance.kind in ("kill", "power", "orphan"):
        return []
    explained = "error: " in err or "stopped by signal" in err or event.disturbance.kind == "rank"
    return [] if explained else [f"exit code {code} without a message"]


def every_file_is_whole(event):
    wrong = []
    for path, data in whole(event.tree).items():
        if path.endswith("/") or path in event.tainted or standing(path) in event.tainted:
            continue
        if not event.done and re.fullmatch(event.chapter.partial, path):
            continue
        if path.endswith("metrics.jsonl") or "metrics.damaged" in path:
            continue  # log_is_whole
        if data not in event.versions.get(standing(path), []):
            wrong.append(f"{path} ({len(data)} bytes) is no whole version")
    return wrong


def log_is_whole(event):
    """Every line that was promised is there once, in order: all of a finished run, and up to the checkpoint of others."""
    wrong = []
    for path, data in whole(event.tree).items():
        if not path.endswith("/metrics.jsonl") or path in event.tainted:
            continue
        known = event.versions.get(standing(path), [])
        lines = data if event.lost_power else data[:data.rfind(b"\n") + 1]
        checkpoint = path.replace("metrics.jsonl", "checkpoint.h5")
        if event.lost_power:  # lines after the last flush may be anything
            lines = b"".join(lines.splitlines(True)[:lines_flushed(event, checkpoint)])
        if not any(version.startswith(lines) for version in known):
            wrong.append(f"{path} is no beginning of the log: {lines[-300:]}")
    return wrong


def lines_flushed(event, checkpoint):
    return event.flushed_lines.get((standing(checkpoint), event.tree.get(checkpoint)), 0)


def checkpoints_never_go_back(event):
    """Nor does the older run go before --force has another; a --force that is repeated begins again."""
    wrong = []
    for path, known in event.versions.items():
        aside = path.replace("/checkpoint", "/.replaced/checkpoint")
        before, after = (tree.get(path, tree.get(aside)) for tree in (event.before, event.tree))
        if not path.endswith("checkpoint.h5") or ".replaced" in path or path in event.tainted or before not in known:
            continue
        forced = "--force" in event.command and after in known
        if after not in known or not forced and known.index(after) < known.index(before):
            wrong.append(f"{path} went back")
    return wrong


def finished_means_complete(event):
    if not event.done:
        return []
    here = {path: data for path, data in whole(event.tree).items() if path in event.expected or standing(path) in event.expected}
    wrong = [path for path, data in event.expected.items() if here.get(path) != data and path not in event.tainted]
    return [f"exit code 0, but {', '.join(wrong)} differ from an undisturbed life"] if wrong else []


def finished_means_durable(event):
    if not event.done:
        return []
    paths = [path for path in event.expected if path not in event.tainted]
    lost = differing({path: event.durable[path] for path in paths if path in event.durable},
                     {path: event.tree[path] for path in paths if path in event.tree})
    return [f"exit code 0, but a power loss now would lose: {lost}"] if lost else []


def no_temporary_is_left(event):
    if not event.done:
        return []
    new = [path for path in event.tree if is_temporary(path) and path not in event.before and not path.endswith("/.replaced/")]
    return [f"exit code 0, but {', '.join(new)} is left"] if new else []


def no_process_survives(event):
    return [f"still there 5 s later: {', '.join(event.outcome.survivors)}"] if event.outcome.survivors else []


def simulator_sees_every_call(event):
    exact = event.disturbance.kind not in ("rank", "power", "signal", "orphan")
    return [f"calls that the shim does not see: {event.outcome.hidden}"] if event.outcome.hidden and exact else []


INVARIANTS = [exit_code_is_documented, failure_has_a_message, every_file_is_whole, log_is_whole, checkpoints_never_go_back,
              finished_means_complete, finished_means_durable, no_temporary_is_left, no_process_survives, simulator_sees_every_call]
