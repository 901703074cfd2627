"""One life: programs in some order, each disturbed a few times and then not, until all is done. Its seed decides all of it.

The same commands without any disturbance tell what must come out, to the bit, and every version of every file.
"""
import collections
import pathlib
import random
import tempfile

from chapters import chapters_of, draw_disturbance, order_of
from damage import DAMAGES, PROBE, check_reader, decayed, is_same, reader_of
from invariants import INVARIANTS, Event
from machine import Disturbance, Machine, differing, whole
from run_faults import STUDY, is_temporary, timeless

START = {"text.txt": "".join(f"Line {i * i} of a document.\n<|endoftext|>\n" for i in range(400)).encode(),
         "tokens.txt": b"1 2 3 4 5", "tiny.toml": STUDY.encode()}


def forget_clocks(machine):
    """Sets the times in the files of `run` to 0: a report has them, and they differ between lives."""
    for path, data in machine.tree().items():
        if path in ("run/metrics.jsonl", "run/evaluation.json") and timeless(path, data) != data:
            machine.write(path, timeless(path, data))


class Reference:
    """The undisturbed life: what each chapter leaves, and all whole versions of each file."""

    def __init__(self, machine, chapters, order):
        self.versions, self.flushed_lines, self.expected, self.trees = collections.defaultdict(list), {}, {}, {}
        machine.restore(START)
        machine.on_call = lambda call: call[0] == "rename" and self.note(machine.model)
        for name in order:
            before = whole(machine.tree())
            if name == "report":
                forget_clocks(machine)
            outcome = machine.run(chapters[name].command)
            self.note(machine.model)
            self.tree = machine.tree()
            if outcome.code or outcome.hidden:
                raise RuntimeError(f"undisturbed: {chapters[name].command}: exit code {outcome.code} {outcome.hidden} {outcome.err}")
            self.trees[name] = self.tree
            self.expected[name] = {path: data for path, data in whole(self.tree).items() if before.get(path) != data}
        machine.on_call = None

    def note(self, model):
        flushed = model.tree(True, False)
        for path, data in whole(model.tree(True, True)).items():
            if data not in self.versions[path]:
                self.versions[path].append(data)
            if path.endswith("checkpoint.h5"):
                log = flushed.get(path.replace("checkpoint.h5", "metrics.jsonl"), b"")
                self.flushed_lines.setdefault((path, data), log.count(b"\n"))


class Life:
    def __init__(self, seed, build, plant="", tell=lambda text: None):
        self.seed, self.build, self.plant, self.tell = seed, build, plant, tell
        self.problems, self.counts, self.tainted = [], collections.Counter(), set()

    def live(self):
        with tempfile.TemporaryDirectory(prefix="sim-") as work:
            work = pathlib.Path(work).resolve()
            self.chosen = random.Random(self.seed)
            self.chapters = chapters_of(self.chosen)
            order = order_of(self.chapters, self.chosen)
            self.tell(f"chapters: {' '.join(order)}; {self.chapters['train'].command}")
            for part in ("reference", "life"):
                (work / part).mkdir()
            self.reference = Reference(Machine(self.build, work / "reference"), self.chapters, order)
            self.machine = Machine(self.build, work / "life", self.plant)
            self.machine.restore(START)
            for name in order:
                self.finish(name)
                if self.problems:
                    break
                if self.chosen.random() < 0.4:
                    self.decay(name)
            else:
                self.check_end()
        return self.problems

    def problem(self, where, what):
        self.problems.append(f"{where}: {what}")
        self.tell(f"  PROBLEM {what}")

    def finish(self, name):
        """Runs a chapter until it is done, with at most three disturbances."""
        if name == "report":
            forget_clocks(self.machine)
        for attempt in range(6):
            disturbance, ranks = Disturbance(), 1
            if attempt < 3:
                drawn = draw_disturbance(name, self.chapters[name], self.machine.has_mpi, self.chosen)
                if self.chosen.random() >= 0.3:
                    disturbance, ranks = drawn
            if self.event(name, disturbance, ranks) or self.problems:
                return
        self.problem(name, "is not done after three undisturbed starts")

    def event(self, name, disturbance, ranks):
        chapter, before = self.chapters[name], self.machine.tree()
        command = chapter.command + (" --nproc 2 --comm-timeout 2" if ranks > 1 else "")
        outcome = self.machine.run(command, disturbance)
        self.counts["events"] += 1
        self.counts[disturbance.kind if outcome.reached else "undisturbed"] += 1
        self.counts["clock jumps"] += bool(disturbance.clock)
        where = f"{name} [{disturbance}]{' 2 ranks' if ranks > 1 else ''}"
        self.tell(f"{where}{'' if outcome.reached or not disturbance.call else ' (not reached)'}: exit code {outcome.code}")
        tree = self.machine.tree()
        if name == "sweep" and disturbance.kind in ("orphan", "signal"):
            before, tree = self.without_steps_of_its_own(before, tree)
        self.tainted = {path for path in self.tainted | outcome.damaged if path in tree and not is_temporary(path)
                        and not is_same(path, tree[path], self.reference.versions[path])}
        event = Event(chapter, command, disturbance, outcome, before, tree, self.reference.versions, self.reference.flushed_lines,
                      self.reference.expected[name], {*self.tainted}, self.machine.model.tree(False, False))
        for check in INVARIANTS:
            for wrong in check(event):
                self.problem(where, f"{check.__name__}: {wrong}")
        for path in sorted(self.tainted & set(tree)):
            self.meet_damage(name, path, event.done)
        here = whole(self.machine.tree())
        exported = name == "export" and all(here.get(path) == data for path, data in self.reference.expected[name].items())
        # Temporary files of a killed program are removed if the disk lets them be listed; else the next start removes them.
        kept = disturbance.kind == "fail" and outcome.reached and any(is_temporary(path) for path in before if path in tree)
        if kept and exported:  # the next start would refuse this folder before it removes the temporary
            self.machine.remove("exported")
        return (event.done or exported) and not kept

    def decay(self, name):
        """One file of this chapter is damaged between two programs."""
        tree = self.machine.tree()
        paths = [path for path in sorted(self.reference.expected[name]) if tree.get(path) and reader_of(path)]
        if not paths:
            return
        path, how = self.chosen.choice(paths), self.chosen.choice(DAMAGES)
        data = decayed(tree[path], how, tree["text.txt"], self.chosen)
        self.tell(f"decay of {path}: {how}")
        self.counts["decayed files"] += 1
        if not is_same(path, data, self.reference.versions[path]):
            self.machine.write(path, data)
            self.meet_damage(name, path, True, tree[path])
        for _ in range(3):
            if self.problems or self.event(name, Disturbance(), 1):
                break

    def meet_damage(self, name, path, done, backup=None):
        """A reader meets the damaged file and must refuse it; then the user removes it or its run, or has a backup."""
        damaged, intact = self.machine.tree()[path], backup or self.reference.trees[name].get(path)
        if reader_of(path) and not self.problems and (intact or not done):
            outcome, made = self.read(path, damaged)
            same = outcome.code == 0 and intact is not None and made == self.read(path, intact)[1]
            unnoticed = f"of {path.rpartition('/')[2]} not noticed"
            self.counts["damage " + ("refused" if outcome.code else "without effect" if same else unnoticed)] += 1
            why = outcome.err[-120:].strip() if outcome.code else ", same result" * same
            self.tell(f"  reader of {path}: exit code {outcome.code} {why}")
            if wrong := check_reader(path, outcome, same):
                self.problem(path, wrong)
        backup = backup or (self.reference.trees[name].get(path) if done else None)
        can_be_made_again = path.endswith("checkpoint.h5") and not path.startswith("second") and self.chosen.random() < 0.5
        in_study = path.startswith("out/") and can_be_made_again  # a study does not need the checkpoint of a complete run
        if path.endswith("metrics.jsonl") and backup is None or in_study:
            self.machine.remove(path.replace("/.replaced", "").rpartition("/")[0])
        else:
            measured = path.replace("checkpoint.h5", "evaluation.json")
            if can_be_made_again and measured in self.machine.tree():  # a run that has ended is not begun again
                self.machine.write(measured, None)
            self.machine.write(path, None if can_be_made_again or backup is None else backup)
        self.tainted.discard(path)

    def without_steps_of_its_own(self, before, tree):
        """Removes runs of a study that were told to stop and saved a step which the undisturbed life has not saved."""
        for path, data in whole(tree).items():
            if path.startswith("out/") and path.endswith("/checkpoint.h5") and data not in self.reference.versions[path]:
                run = path.removesuffix("checkpoint.h5")
                self.machine.remove(run.rstrip("/"))
                before = {name: old for name, old in before.items() if not name.startswith(run)}
        return before, self.machine.tree()

    def read(self, path, data):
        """The reader of this file, if it had these bytes, and what it writes."""
        self.machine.write(path, data)
        outcome = self.machine.run(reader_of(path))
        made = {name: timeless(name, data) for name, data in self.machine.tree().items() if name.startswith(PROBE)}
        self.machine.remove(PROBE)
        return outcome, made

    def check_end(self):
        """All is done, and no disturbance has left a trace."""
        # The log of a run that a power loss damaged is kept next to the repaired one.
        tree = {path: data for path, data in whole(self.machine.tree()).items() if "metrics.damaged-" not in path}
        expected = whole(self.reference.tree)
        if wrong := differing(tree, expected):
            self.problem("end of life", f"not the undisturbed life: {wrong}")
        # A power loss may bring the lock of an ended program back. No process holds it, and the next program takes it over.
        left = [path for path in self.machine.tree() if is_temporary(path) and not path.endswith("/.lock")]
        if left:
            self.problem("end of life", f"temporary files are left: {left}")
