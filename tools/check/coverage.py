#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Adds up what gcov has counted in several boots, by line of the module's sources.

The counts are files *.gcda below --counts, at any depth, under the path that the object
had when it was compiled. Beside the object, below --modules, lies the *.gcno that says
what is counted. A line may be part of several objects: of roost.ko and of the KUnit
module, and a header's of each that includes it. It is covered if one of them ran it.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

GCOV = "gcov-12"
# the copies that kmod.sh compiles, and in them this project's files
DEFINITION = re.compile(r"^(?=\w).*?\b(\w+)\([^;]*$")
SOURCE = re.compile(r"^/.*/(?:src|kunit)/(kmod/[^/]*)$")


def source_name(path):
    """The file's name in this project, or None: the kernel's are named below its tree."""
    match = SOURCE.search(os.path.normpath(path))
    return match and match.group(1)


class Coverage:
    """How often each line was run, and what function it is part of."""

    def __init__(self):
        self.lines = collections.defaultdict(lambda: collections.defaultdict(int))
        self.functions = {}

    def add(self, report):
        for file in report["files"]:
            name = source_name(file["file"])
            if not name:
                continue
            for line in file["lines"]:
                number = line["line_number"]
                self.lines[name][number] += line["count"]
                if line.get("function_name"):
                    self.functions.setdefault((name, number), line["function_name"])

    def function(self, name, number):
        """The function that a line is part of. gcov forgets it where all is inlined; then
        it is the last one before the line in the source."""
        if (name, number) in self.functions:
            return self.functions[name, number]
        with open(name, encoding="utf-8") as file:
            matches = [DEFINITION.match(text) for text in file.readlines()[:number]]
        names = [match.group(1) for match in matches if match]
        return names[-1] if names else "?"

    def missed(self, name):
        """Lines that were never run, by function in the order of the file."""
        missed = collections.OrderedDict()
        for number in sorted(self.lines[name]):
            if not self.lines[name][number]:
                missed.setdefault(self.function(name, number), []).append(number)
        return missed


def gcov(gcno, gcda):
    """What gcov says of one object; its files have to lie side by side."""
    with tempfile.TemporaryDirectory() as folder:
        stem = os.path.basename(gcno)[:-len(".gcno")]
        shutil.copy(gcno, folder)
        if gcda:
            shutil.copy(gcda, os.path.join(folder, stem + ".gcda"))
        done = subprocess.run([GCOV, "--json-format", "--stdout", stem + ".gcno"],
                              cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        sys.exit(f"coverage.py: {GCOV} does not read {gcda or gcno}: {done.stderr}")
    if "stamp mismatch" in done.stderr:
        sys.exit(f"coverage.py: {gcda} was counted by another build than {gcno}")
    return [json.loads(text) for text in done.stdout.splitlines() if text.strip()]


def find(top, ending):
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith(ending):
                yield os.path.join(folder, name)


def collect(modules, counts):
    """All counts of all objects; one that was never loaded counts as never run."""
    coverage = Coverage()
    objects = list(find(modules, ".gcno"))
    data = list(find(counts, ".gcda"))
    if not objects or not data:
        sys.exit("coverage.py: nothing was counted")
    used = 0
    for gcno in objects:
        stem = os.path.abspath(gcno)[:-len(".gcno")] + ".gcda"
        for gcda in [None] + [path for path in data if path.endswith(stem)]:
            used += gcda is not None
            for report in gcov(gcno, gcda):
                coverage.add(report)
    if used != len(data):
        sys.exit(f"coverage.py: {len(data) - used} of {len(data)} counts fit no object")
    return coverage


def ranges(numbers, lines):
    """Line numbers as text; a range may go over lines that are no code."""
    known = sorted(lines)
    parts = []
    for number in numbers:
        if parts and known.index(number) == known.index(parts[-1][1]) + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def read_reasons(path):
    """FILE FUNCTION: REASON, one a line; an indented line goes on with the reason."""
    reasons = {}
    last = None
    with open(path, encoding="utf-8") as file:
        for text in file:
            if text.startswith("#") or not text.strip():
                continue
            if text[0].isspace():
                reasons[last] += " " + text.strip()
                continue
            key, _, reason = text.partition(":")
            last = tuple(key.split())
            if len(last) != 2 or not reason.strip():
                sys.exit(f"{path}: not 'FILE FUNCTION: REASON': {text.strip()}")
            reasons[last] = reason.strip()
    return reasons


def print_table(coverage):
    total = covered = 0
    print(f"{'file':<24} {'lines':>6} {'run':>6} {'%':>6}")
    for name in sorted(coverage.lines):
        lines = coverage.lines[name]
        ran = sum(1 for count in lines.values() if count)
        total += len(lines)
        covered += ran
        print(f"{name:<24} {len(lines):>6} {ran:>6} {100 * ran / len(lines):>6.1f}")
    print(f"{'total':<24} {total:>6} {covered:>6} {100 * covered / total:>6.1f}")
    return 100 * covered / total


def print_missed(coverage, reasons):
    """The lines that were not run, and why; how many have no reason."""
    without = 0
    for name in sorted(coverage.lines):
        for function, numbers in coverage.missed(name).items():
            reason = reasons.get((name, function))
            if not reason:
                without += len(numbers)
                reason = "no reason is known"
            where = ranges(numbers, coverage.lines[name])
            print(f"{name}:{where}: {function}: {reason}")
    for name, function in reasons:
        if function not in coverage.missed(name):
            print(f"{name}: {function}: has a reason, and all its lines were run")
    return without


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", required=True)
    parser.add_argument("--counts", required=True)
    parser.add_argument("--uncovered", required=True)
    parser.add_argument("--least", type=float, default=0)
    options = parser.parse_args()

    reasons = read_reasons(options.uncovered)
    coverage = collect(options.modules, options.counts)
    print("\nNot run:")
    without = print_missed(coverage, reasons)
    print()
    percent = print_table(coverage)
    print(f"{without} of the lines not run have no reason in {options.uncovered}")
    if percent < options.least:
        sys.exit(f"coverage.py: less than {options.least:g} % of the lines were run")


if __name__ == "__main__":
    main()
