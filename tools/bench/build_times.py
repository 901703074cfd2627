#!/usr/bin/env python3
"""Measures compile times: processor seconds per object and per header of a configured build folder.

  python3 tools/bench/build_times.py build/release                        every object that `all` compiles
  python3 tools/bench/build_times.py build/tsan --target thread_tests     what one target needs
  python3 tools/bench/build_times.py build/asan --sample 4                of objects whose sources are generated alike
                                                                          (ablations, attention operations): 4 each
  python3 tools/bench/build_times.py build/release --only attention       objects whose path has the word
  python3 tools/bench/build_times.py build/release --links                links too; the folder must be built
  python3 tools/bench/build_times.py build/release --headers              headers: objects that read it x cost alone

Every object is compiled again, one at a time, without ccache. User and system time are counted, so that other programs on
the machine matter little (they share caches and clock). Outputs are deleted. Precompiled headers are compiled first and
kept.
"""
import argparse
import collections
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile


def processor_seconds(command, folder, may_fail=False):
    """Of a command that succeeds; None of one that may fail and does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, shell=isinstance(command, str), capture_output=True, text=True,
                          env={**os.environ, "CCACHE_DISABLE": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 and may_fail:
        return None
    if done.returncode != 0:
        sys.exit(f"build_times: error: this failed (are generated sources there? build the target build_commit first):\n"
                 f"{command}\n{done.stderr[:2000]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def wanted_objects(build, target):
    inputs = subprocess.run(["ninja", "-C", build, "-t", "inputs", target], capture_output=True, text=True, check=True)
    return {line for line in inputs.stdout.splitlines() if line.endswith((".o", ".gch", ".pch"))}


def entries_of(build, target):
    """(output, words of the command) of every object that the target needs, precompiled headers first."""
    wanted, entries = wanted_objects(build, target), []
    with open(os.path.join(build, "compile_commands.json")) as file:
        for entry in json.load(file):
            words = shlex.split(entry["command"])
            output = words[words.index("-o") + 1]
            if output in wanted:
                entries.append((output, words))
    return sorted(entries, key=lambda e: not e[0].endswith((".gch", ".pch")))


def family(output):
    """Generated sources that differ in a name only: one family. Every other object is a family of its own."""
    for pattern, name in ((r"generated/ablations/ablation_\w+\.cpp", "generated ablation_*.cpp"),
                          (r"generated/attention_\w+\.cpp", "generated attention_*.cpp")):
        if re.search(pattern, output):
            return name
    return output


def measure_objects(build, entries, sample):
    """{family: (objects, measured, seconds of all, estimated where not every one is measured)}"""
    families = collections.OrderedDict()
    for output, words in entries:
        families.setdefault(family(output), []).append((output, words))
    costs = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, members in families.items():
            step = max(1, len(members) // sample) if sample and len(members) > 1 else 1
            chosen = members[::step][:sample or None]
            seconds = []
            for output, words in chosen:
                words = list(words)
                if not output.endswith((".gch", ".pch")):
                    words[words.index("-o") + 1] = os.path.join(scratch, "object.o")
                seconds.append(processor_seconds(words, build))
            costs[name] = (len(members), len(chosen), sum(seconds) / len(chosen) * len(members))
            print(f"  {costs[name][2]:8.1f} s  {name}", file=sys.stderr)
    return costs


def print_objects(costs, top):
    total = sum(seconds for _, _, seconds in costs.values())
    print(f"{sum(n for n, _, _ in costs.values())} objects, {total:.0f} processor seconds")
    for name, (count, measured, seconds) in sorted(costs.items(), key=lambda c: -c[1][2])[:top]:
        each = f"  ({count} objects, {seconds / count:.1f} s each, {measured} measured)" if count > 1 else ""
        print(f"{seconds:8.1f} s  {name}{each}")


def print_links(build, target, top):
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True,
                              check=True).stdout.splitlines()
    costs = []
    for command in commands:
        found = re.search(r" -o (\S+) ", command)
        if " -c " in command or not command.startswith(": &&") or not found:
            continue
        costs.append((processor_seconds(command, build), found.group(1)))
    print(f"{len(costs)} links, {sum(seconds for seconds, _ in costs):.0f} processor seconds")
    for seconds, name in sorted(costs, reverse=True)[:top]:
        print(f"{seconds:8.1f} s  {name}")


def print_headers(build, entries, root, top):
    """Headers that our files include by name, with the cost of a file that includes it alone."""
    includes, readers, command_of = {}, collections.Counter(), {}
    named = re.compile(r'^#include ["<]([^">]+)[">]', re.M)
    for output, words in entries:
        words = [w for w in words if w not in ("-c",)]
        at = words.index("-o")
        base = words[:at] + words[at + 2:-1]
        text = subprocess.run(base + ["-M", words[-1]], cwd=build, capture_output=True, text=True).stdout
        read = [f for f in text.replace("\\\n", " ").split()[1:]]
        ours = [f for f in read if os.path.abspath(f).startswith(root)]
        for path in ours:
            if path not in includes:
                with open(path) as file:
                    includes[path] = set(named.findall(file.read()))
        for header in set().union(*(includes[f] for f in ours)) if ours else ():
            readers[header] += 1
            command_of.setdefault(header, base)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for header, count in readers.items():
            if header.endswith((".def", ".inc")):  # no header of its own: what it is depends on who includes it
                continue
            source = os.path.join(scratch, "alone.cpp")
            with open(source, "w") as file:
                file.write(f"#include <{header}>\n")
            alone = processor_seconds(command_of[header] + ["-fsyntax-only", source], build, may_fail=True)
            if alone is None:  # a library's, which wants a macro first
                continue
            rows.append((alone * count, count, alone, header))
    print("headers: seconds alone x objects that read it (headers that others include are in both)")
    for total, count, alone, header in sorted(rows, reverse=True)[:top]:
        print(f"{total:8.1f} s  {alone:5.2f} s x {count:3d}  {header}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="a configured build folder")
    parser.add_argument("--target", default="all", help="what is to be built (default: all)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="measure N of generated sources, not all")
    parser.add_argument("--only", default="", metavar="WORD", help="objects whose path has WORD")
    parser.add_argument("--top", type=int, default=25, help="lines of each table (default: 25)")
    parser.add_argument("--links", action="store_true", help="measure links too; everything must be built")
    parser.add_argument("--headers", action="store_true", help="the table of headers in place of objects'")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        sys.exit(f"build_times: error: {options.build} is no configured build folder (cmake --preset release makes one)")
    entries = [e for e in entries_of(build, options.target) if options.only in e[0]]
    if options.headers:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
        print_headers(build, entries, root, options.top)
    else:
        print_objects(measure_objects(build, entries, options.sample), options.top)
    if options.links:
        print_links(build, options.target, options.top)


if __name__ == "__main__":
    main()
