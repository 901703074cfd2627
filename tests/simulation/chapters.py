"""The commands of a life, and which may be disturbed how."""
import collections
import signal

from machine import Disturbance

MODEL = "--layers 1 --heads 1 --width 16 --feed-forward 32 --context 32 --batch 2"
# folder: of a run. every: steps between its checkpoints. partial: files that a failed program makes of what there is.
Chapter = collections.namedtuple("Chapter", "command needs folder partial every", defaults=["", "", "no file", 1])


def chapters_of(chosen):
    """All commands, with the settings of this life."""
    every = chosen.choice([1, 1, 2])
    # Not read from the table of optimizers: another list would change every life of a seed.
    train = (f"train_baseline {MODEL} --optimizer {chosen.choice(['adamw', 'adamw', 'sgd', 'lion', 'muon', 'orthoadam'])} --accumulate 2"
             f" --warmup 1 --steps {chosen.randint(3, 6)} --eval-every {chosen.randint(2, 3)} --eval-sequences 4 --threads 1"
             f" --checkpoint-every {every} --birth-checkpoints 1")
    seed, task = chosen.randrange(1000), "--task bigram-backcopy"
    return {
        "train": Chapter(f"{train} {task} --seed {seed} --run run --resume auto", "", "run", every=every),
        "second": Chapter(f"{train} {task} --seed {seed + 1} --run second --resume auto", "", "second", every=every),
        "force": Chapter(f"{train} {task} --seed {seed + 2} --run second --force", "second", "second", every=every),
        "prepare": Chapter("prepare --vocab 280 --text text.txt --out data --force"),
        "text": Chapter(f"{train} --data data --seed {seed} --run text --resume auto", "prepare", "text", every=every),
        "sink": Chapter("eval_baseline sink run/checkpoint.h5 --sequences 4 --threads 1 --out sink.json", "train"),
        "logits": Chapter("eval_baseline logits --checkpoint run/checkpoint.h5 --tokens tokens.txt --threads 1 --out logits.h5", "train"),
        "export": Chapter("eval_baseline export run/checkpoint.h5 exported", "train"),
        "import": Chapter("eval_baseline import exported imported.h5", "export"),
        "report": Chapter("report run --out page.html --csv tables/", "train"),
        "sweep": Chapter("sweep tiny.toml --workers 1 --threads 1 --out out", "", "", "out/tiny.*"),
    }


def order_of(chapters, chosen):
    """A few chapters in any order in which each comes after what it needs; often those that begin a chain."""
    wanted = set(chosen.sample([*chapters], 3))
    for _ in chapters:
        wanted |= {chapters[name].needs for name in wanted} - {""}
    order = []
    while len(order) < len(wanted):
        order.append(chosen.choice([name for name in sorted(wanted - {*order}) if chapters[name].needs in ("", *order)]))
    return order


# About how many calls of each kind these programs make.
FEW = {"open": 6, "write": 2, "fsync": 2, "rename": 1, "close": 6}
SOME = {"open": 14, "write": 14, "fsync": 5, "truncate": 3, "rename": 3, "unlink": 3, "mkdir": 1, "close": 13, "mmap": 2}
MANY = {"open": 50, "write": 21, "fsync": 28, "truncate": 2, "rename": 15, "unlink": 4, "mkdir": 2, "close": 32, "mmap": 2}
CALLS = {"prepare": SOME, "export": SOME, "sink": FEW, "logits": FEW, "import": FEW}
CHANGES = ["write", "write", "write", "fsync", "fsync", "rename", "rename", "truncate", "unlink", "mkdir"]
ERRORS = {"open": ["EIO"], "write": ["ENOSPC", "full", "EIO", "short", "short+"], "fsync": ["EIO", "EIO+"], "truncate": ["EIO"],
          "rename": ["EIO"], "unlink": ["EIO"], "mkdir": ["ENOSPC"], "close": ["EIO"], "mmap": ["ENOMEM"]}


def draw_disturbance(name, chapter, has_mpi, chosen):
    """What happens to one start of a program; and whether it has several ranks."""
    calls = CALLS.get(name, MANY)

    def call_of(kinds, what):
        kind = chosen.choice([kind for kind in kinds if kind in calls])
        return f"{kind}:{chosen.randint(1, calls[kind])}:{what}"

    trains = bool(chapter.folder)
    several, of_ranks, of_parent = (chosen.random() for _ in range(3))  # drawn always, so that a seed means the same without MPI
    ranks = 2 if trains and has_mpi and several < 0.25 else 1
    kinds = ["kill", "kill", "power", "power", "power", "fail", "fail", "lie", "lie", "slow", "signal", "none"]
    kind = chosen.choice(kinds)
    if ranks > 1 and of_ranks < 0.7:
        kind = "rank"
    if (name in ("sweep", "prepare") or ranks > 1) and of_parent < 0.3:
        kind = "orphan"
    made = Disturbance(kind)
    changes = call_of(CHANGES, "stop")
    if kind == "kill":
        made.call = changes.replace("stop", "kill")
    elif kind == "orphan":
        made.call = changes
    elif kind == "power":
        made.call = changes
        made.power = chosen.choice(["dropped", "reordered", f"torn {chosen.randrange(10**6)}", f"torn {chosen.randrange(10**6)}"])
    elif kind == "fail":
        call = call_of([*ERRORS, "write", "fsync", "rename"], "")
        made.call = call + chosen.choice(ERRORS[call.partition(":")[0]])
    elif kind == "lie":
        made.call = call_of(["write"], chosen.choice(["lost", "torn", "misdirected"]))
    elif kind == "slow":
        made.call = chosen.choice(["write", "fsync", "rename", "open"]) + ":1:slow+"
    elif kind == "signal":
        made.call, made.signal = changes, chosen.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
        if not trains and made.signal == signal.SIGUSR1:
            made.signal = signal.SIGTERM
    elif kind == "rank":
        made.call, made.rank = call_of(["write", "fsync"], "stop"), chosen.randrange(2)
        made.signal = chosen.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
    if kind in ("signal", "orphan") and trains and chapter.every > 1:  # may save a step that the reference has not
        made = Disturbance()
    if chosen.random() < 0.2:
        made.clock = f"{chosen.randint(1, 20)}:{chosen.choice([3600, -3600, 40 * 365 * 86400, -40 * 365 * 86400, -10**10])}"
    return made, ranks
