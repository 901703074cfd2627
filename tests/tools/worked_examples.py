#!/usr/bin/env python3
"""model/ADD_A_POLICY.md, done as it says: its blocks are put into a copy of the sources, what they make is compiled, linked
with the libraries of a build that exists, and run; and each mistake it lists is made and gets its sentence. With
SINK_SHORT_TESTS every third mistake, and the kind of policy.

  worked_examples.py BUILD
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT = "SINK_SHORT_TESTS" in os.environ
PAGE = ROOT / "model/ADD_A_POLICY.md"


def leave(sentence, log=""):
    sys.exit(f"{log}\nworked_examples: error: {sentence}")


def run(*words, cwd=None):
    done = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def must(*words, cwd=None):
    code, log = run(*words, cwd=cwd)
    return log if code == 0 else leave(f"this failed: {' '.join(map(str, words))[:300]}", log)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def insert(path, where, line, text):
    """Puts `text` above or below the one line of the file that is `line`."""
    lines = path.read_text().splitlines(keepends=True)
    found = [n for n, one in enumerate(lines) if one.rstrip("\n") == line]
    if len(found) != 1:
        leave(f"{path} has the line {line!r} {len(found)} times, expected once")
    at = found[0] + (where == "below")
    path.write_text("".join(lines[:at]) + text + "".join(lines[at:]))


def put(tree, work):
    """Every block of C++ where its first line says."""
    for block in blocks("cpp"):
        head, _, text = block.partition("\n")
        edit = re.fullmatch(r"// (\S+), (above|below): (.*)", head)
        if edit:
            insert(tree / edit[1], edit[2], edit[3], text)
            continue
        path = (work if head == "// my_ablations.h" else tree) / head[3:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def configure(tree, folder, *more):
    return run("cmake", "-G", "Ninja", "-S", tree, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DSINK_TESTS=OFF",
               "-DSINK_CUDA=OFF", *more)


def command_of(folder, target):
    return must("ninja", "-C", folder, "-t", "commands", target).splitlines()[-1]


def objects_in(command):
    return [word for word in command.split() if word.endswith(".o") and not word.startswith("-")]


def link(build, program, objects, main="libsink_train_main.a"):
    """As the build links train_baseline, with other objects and perhaps another main()."""
    command = command_of(build, "train_baseline")
    for old, new in ((" ".join(objects_in(command)), " ".join(map(str, objects))), ("-o train_baseline", f"-o {program}"),
                     ("libsink_train_main.a", main)):
        if old not in command:
            leave(f"no {old} in the command that links train_baseline", command)
        command = command.replace(old, new)
    must("bash", "-c", command, cwd=build)
    return program


def program_of(ablation, folder, build, work):
    objects = [made for made in objects_in(command_of(folder, f"train_{ablation}"))
               if "attention_of" not in made]  # the kernels of an operation that the build has
    must("ninja", "-C", folder, *objects)
    return link(build, work / f"train_{ablation}", [folder / made for made in objects])


def check_program(program, work):
    policies = next((line for line in must(program, "--version").splitlines() if line.startswith("policies: ")), "")
    if policies.removeprefix("policies: ") not in [text.strip() for text in blocks("text")]:
        leave(f"the page does not print the policies of {program.name}, which are: {policies}")
    must(program, "--task", "bigram-backcopy", "--layers", "1", "--heads", "2", "--width", "16", "--feed-forward", "16",
         "--batch", "2", "--steps", "3", "--eval-sequences", "2", "--threads", "1", "--run", work / f"run_{program.name}")


def check_test(tree, folder, build, work):
    """The page's own test, compiled against the copy as an ablation is."""
    made = next(made for made in objects_in(command_of(folder, "train_value_norm")) if "program" not in made)
    compiler = command_of(folder, made)
    flags = [word for word in compiler.split() if re.match("-(march|std|f|O|m)", word)]
    must("g++", *flags, f"-I{tree}", "-c", tree / "tests/model/value_norm_test.cpp", "-o", work / "test.o")
    must(link(build, work / "value_norm_test", [work / "test.o", *objects_in(command_of(build, "train_baseline"))],
              main="tests/libsink_test_main.a"))


def check_mistakes(tree, folder):
    rows = re.findall(r"^\| `(\S+)` \| `(.*?)` \| `(.*?)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    if len(rows) < 3:
        leave(f"the page lists {len(rows)} mistakes, expected at least 3")
    for file, line, text, sentence in rows[::3 if SHORT else 1]:
        path, kept = tree / file, (tree / file).read_text()
        insert(path, "below", line, text + "\n")
        code, log = configure(tree, folder)
        path.write_text(kept)
        if code == 0 or sentence.replace("`", "") not in " ".join(log.replace("`", "").split()):
            leave(f"{text} in {file} did not get the sentence: {sentence}", log)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        tree, folder = work / "tree", work / "build"
        for part in ("engine", "autograd", "model", "train", "eval", "tools", "tests"):
            shutil.copytree(ROOT / part, tree / part)
        shutil.copy(ROOT / "CMakeLists.txt", tree)
        check_mistakes(tree, folder)
        put(tree, work)
        code, log = configure(tree, folder, f"-DSINK_ABLATIONS={work / 'my_ablations.h'}")
        if code != 0:
            leave("the page's changes do not configure", log)
        for ablation in ("value_norm",) if SHORT else ("kern_relu_norm", "value_norm"):
            check_program(program_of(ablation, folder, build, work), work)
        check_test(tree, folder, build, work)
    print("worked_examples: a policy and a kind of policy, added as the page says, compile, train and pass their test")


main()
