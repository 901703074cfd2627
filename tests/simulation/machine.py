"""A machine with one disk, which is a folder: it starts programs under fault_shim.cpp, disturbs them, and can lose power.

disk_model.py follows every call of a whole life, so that a power loss also takes what an earlier program did not flush.
"""
import ctypes
import dataclasses
import mmap
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
from disk_model import Disk, read_trace  # noqa: E402
from run_faults import FAULTS, differing, tree_of, whole  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36  # children of a killed program become ours
KINDS = [*FAULTS]
LONGEST = 60  # seconds of a program


@dataclasses.dataclass
class Disturbance:
    """What happens to a program. `call` is FAULT_CALL; the other fields say what is done besides."""
    kind: str = "none"  # none, kill, power, fail, lie, slow, signal, rank, orphan
    call: str = ""
    clock: str = ""  # FAULT_CLOCK
    signal: int = 0
    rank: int = 0
    power: str = ""  # which of the states that a power loss may leave

    def __str__(self):
        words = [self.kind, self.call, self.power, self.signal and f"signal {self.signal}", self.kind == "rank" and f"rank {self.rank}"]
        return " ".join(word for word in [*words, self.clock and f"clock {self.clock}"] if word)


@dataclasses.dataclass
class Outcome:
    code: int
    out: str
    err: str
    reached: bool  # the call that the disturbance waits for
    damaged: set  # paths of which the disk lied
    survivors: list  # processes of this program that were there 5 s after it
    hidden: str = ""  # changes of the folder that the shim did not see


class Machine:
    def __init__(self, build, work, plant=""):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.has_mpi = shutil.which("mpirun") is not None and (build / "libsinklab_mpi.so").exists()
        self.on_call = None  # called with each call that changed the disk
        self.build, self.work, self.disk, self.plant = build, work, work / "disk", plant
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("SINKLAB_", "FAULT_", "OMPI_"))}
        (work / "tmp").mkdir()
        self.env["TMPDIR"] = self.env["OMPI_MCA_btl_vader_backing_directory"] = str(work / "tmp")  # files of MPI, which kills leave

    def tree(self):
        return tree_of(self.disk)

    def restore(self, tree):
        """What is on the disk when the machine starts: all of it is durable."""
        shutil.rmtree(self.disk, ignore_errors=True)
        self.disk.mkdir()
        for path, data in tree.items():
            target = self.disk / path
            (target if path.endswith("/") else target.parent).mkdir(parents=True, exist_ok=True)
            if not path.endswith("/"):
                target.write_bytes(data)
        self.model = Disk(self.disk)

    def write(self, path, data):
        """The user, or decay, changes a file: None removes it."""
        (self.disk / path).write_bytes(data) if data is not None else (self.disk / path).unlink()
        self.model = Disk(self.disk)

    def remove(self, name):
        """The file or folder of this name, and those that also have an extension."""
        for path in [self.disk / name, *self.disk.glob(name + ".*")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.model = Disk(self.disk)

    def processes(self):
        """Those that work on this disk, with their environment."""
        found, tag = [], f"FAULT_FOLDER={self.disk}\0".encode()
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and tag in (environment := (entry / "environ").read_bytes() + b"\0"):
                    found.append((int(entry.name), environment))
            except OSError:
                pass
        return found

    def run(self, command, disturbance=Disturbance()):
        words, trace, counts = command.split(), self.work / "trace", self.work / "counts"
        trace.unlink(missing_ok=True)
        counts.write_bytes(bytes(4096))
        env = self.env | {"LD_PRELOAD": str(self.build / "tests/libfault_shim.so"), "FAULT_FOLDER": str(self.disk),
                          "FAULT_TRACE": str(trace), "FAULT_COUNTS": str(counts)}
        env |= {name: value for name, value in [("FAULT_CALL", disturbance.call), ("FAULT_CLOCK", disturbance.clock),
                                               ("FAULT_PLANT", self.plant)] if value}
        with open(self.work / "out", "w+b") as out, open(self.work / "err", "w+b") as err, open(counts, "r+b") as file:
            calls = memoryview(mmap.mmap(file.fileno(), 4096)).cast("i")
            child = subprocess.Popen([self.build / words[0], *words[1:]], cwd=self.disk, env=env, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err)
            if disturbance.call.endswith(":stop"):
                self.act_at_stop(child, disturbance, calls)
            try:
                code = child.wait(LONGEST)
            except subprocess.TimeoutExpired:
                code = "no end"
                self.end_all()
                child.wait()
            survivors = self.wait_for_end()
            named, _, rest = disturbance.call.partition(":")
            reached = named in KINDS and calls[KINDS.index(named)] >= int(rest.partition(":")[0])
            texts = [self.text_in(file) for file in (out, err)]
        damaged, hidden = self.follow(trace)
        if disturbance.kind == "power" and reached:
            self.lose_power(disturbance.power)
        return Outcome(code, *texts, reached, damaged, survivors, hidden)

    @staticmethod
    def text_in(file):
        file.seek(0)
        return file.read().decode(errors="replace")

    def act_at_stop(self, child, disturbance, calls):
        """Waits until a process has stopped itself at its call. Nothing else can change the disk then."""
        named, number, _ = disturbance.call.split(":")
        while calls[KINDS.index(named)] < int(number):
            if child.poll() is not None:
                return
            time.sleep(0.001)
        stopped = self.wait_for_stop(child)
        if disturbance.kind == "power":
            return self.end_all()
        if disturbance.kind == "orphan":
            return self.orphan(child, stopped)
        targets = [child.pid]
        if disturbance.kind == "rank":
            name = f"\0OMPI_COMM_WORLD_RANK={disturbance.rank}\0".encode()
            targets = [pid for pid, environment in self.processes() if name in environment]
        for pid in targets:
            self.send(pid, disturbance.signal)
        if disturbance.signal != signal.SIGSTOP or stopped not in targets:
            self.send(stopped, signal.SIGCONT)

    def orphan(self, child, stopped):
        """Kills the program that was started. Its stopped child continues when it has a signal; else it survives."""
        self.send(child.pid, signal.SIGKILL)
        end = time.monotonic() + 5
        while stopped != child.pid and time.monotonic() < end:
            try:
                status = pathlib.Path(f"/proc/{stopped}/status").read_text()
            except OSError:
                return
            if int(status.partition("ShdPnd:")[2].split()[0], 16) & (1 << signal.SIGTERM - 1 | 1 << signal.SIGKILL - 1):
                return self.send(stopped, signal.SIGCONT)
            time.sleep(0.005)

    def wait_for_stop(self, child):
        while child.poll() is None:
            for pid, _ in self.processes():
                try:
                    if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                        return pid
                except OSError:
                    pass
            time.sleep(0.001)
        return child.pid

    @staticmethod
    def send(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def end_all(self):
        for pid, _ in self.processes():
            self.send(pid, signal.SIGKILL)

    def wait_for_end(self):
        end = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.005)
        names = [pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid, _ in left]
        while left and self.processes():
            self.end_all()
            time.sleep(0.005)
        try:  # an ended process whose parent has not asked for its end still has its id
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            return names

    def follow(self, trace):
        """Brings the model of the disk up to date; returns the paths that the disk lied about."""
        calls = read_trace(trace)
        for call in calls:
            self.model.apply(call)
            if self.on_call:
                self.on_call(call)
        damaged = {self.model.path_of(int(call[1])) for call in calls if call[0] == "damage"} - {None}
        hidden = differing(whole(self.model.tree(True, True)), whole(self.tree()))
        if hidden:
            self.model = Disk(self.disk)
        return damaged, hidden

    def lose_power(self, state):
        kind, _, seed = state.partition(" ")
        self.restore(self.model.torn(random.Random(seed)) if kind == "torn" else self.model.crash_states()[kind])
