#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Which test covers which row of Documentation/behaviours.rst, and what it said.

A row is a term of a definition list, ID : STATE, and what is indented below it.
States are "built", "in part, ...", "later, with ...", "superseded, by ...".

A test carries ids in the comment right above it, in a comment on its first line, or
in front of its name; "S3-01 to S3-04" are four. Tests are found in selftests/
(ROOST_TEST, ACTOR_TEST, TEST, TEST_F and the like; a script is one test, whose
comment is the one at its head) and in kmod/tests/ (KUnit).

Results are what tools/check/check.sh leaves in build/check/results. A test that
passed somewhere and failed nowhere has passed.

Faults, one a line, after which the exit code is 1: a row that is built, or in part,
without a test; an id of a test that no row has, or whose row comes later; an id
twice; a malformed row; a covering test that failed; with --complete also one that
did not run, or was only skipped.
"""
import argparse
import os
import re
import sys

ID = r"(?:S[0-3]-[0-9]{2}|C[0-9]{2})"
ROW = re.compile(r"^(%s) : (.*)$" % ID)
LIKE_A_ROW = re.compile(r"^(?:S[0-9]+-[0-9]|C[0-9])")
STATES = re.compile(r"^(?:built|in part, \S.*|later, with \S.*|superseded, by \S.*)$")
COVERED = ("built", "in part")
IDS = re.compile(r"\b(%s)\b(?: to (%s)\b)?" % (ID, ID))
NAMED = re.compile(r"^((?:s[0-3]_[0-9]{2}_|c[0-9]{2}_)+)")
TEST = re.compile(r"^[A-Z_]*TEST[A-Z_]*\(((?:[^()]|\([^()]*\))*)\)(.*)$")
KUNIT = re.compile(r"^static void (\w+)\(struct kunit \*\w+\)(.*)$")
CASE = re.compile(r"KUNIT_CASE(?:_SLOW)?\((\w+)\)")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


class Row:
    """One row of the list."""

    def __init__(self, state):
        self.word = state.split(",")[0]
        self.state = state
        self.tests = []


class Test:
    """One test: where it stands, and its name in the results."""

    def __init__(self, path, name):
        self.path = path
        self.name = name

    def __str__(self):
        return "%s: %s" % (self.path, self.name) if self.name else self.path


def read_rows(path, faults):
    """The rows by id, in their order."""
    rows = {}
    lines = read(path)
    for number, line in enumerate(lines):
        where = "%s:%d" % (os.path.basename(path), number + 1)
        match = ROW.match(line)
        if not match:
            if LIKE_A_ROW.match(line):
                faults.append("%s: not a row: %s" % (where, line))
            continue
        name, state = match.groups()
        if name in rows:
            faults.append("%s: %s is there twice" % (where, name))
        if not STATES.match(state):
            faults.append("%s: %s: no such state: %s" % (where, name, state))
        if number + 1 == len(lines) or not re.match(r" +\S", lines[number + 1]):
            faults.append("%s: %s says nothing" % (where, name))
        rows[name] = Row(state)
    if not rows:
        faults.append("%s: no rows" % path)
    return rows


def ids_in(text, kinds):
    """The ids in a comment, ranges spelled out, of the documents' kinds alone."""
    found = []
    for first, last in IDS.findall(text):
        if last and first[:-2] == last[:-2]:
            numbers = range(int(first[-2:]), int(last[-2:]) + 1)
            found += ["%s%02d" % (first[:-2], n) for n in numbers]
        else:
            found += [first] + ([last] if last else [])
    return [i for i in found if i[0] in kinds]


def ids_of_name(name, kinds):
    match = NAMED.match(name)
    text = match.group(1).upper() if match else ""
    return ids_in(re.sub(r"(S[0-3])_([0-9]{2})_", r"\1-\2 ", text).replace("_", " "),
                  kinds)


def comment_above(lines, number):
    """The comment that ends right above line @number, or nothing."""
    end = number - 1
    if end < 0 or not lines[end].rstrip().endswith("*/"):
        return ""
    begin = end
    while begin >= 0 and "/*" not in lines[begin]:
        begin -= 1
    # behind code: that is a comment of the code
    if begin < 0 or not lines[begin].lstrip().startswith("/*"):
        return ""
    return " ".join(lines[begin:end + 1])


def comment_at_head(lines):
    head = []
    for line in lines:
        if not line.startswith("#"):
            break
        head.append(line)
    return " ".join(head)


def tests_of_c(path, lines):
    """(test, comments) for each test of a C file."""
    kunit = path.endswith("_kunit.c")
    cases = set(CASE.findall("\n".join(lines))) if kunit else set()
    for number, line in enumerate(lines):
        match = (KUNIT if kunit else TEST).match(line)
        if not match:
            continue
        name = match.group(1)
        if kunit and name not in cases:
            continue
        if not kunit:
            args = [a.strip() for a in name.split(",")]
            name = args[1] if re.match(r"TEST_F", line) and len(args) > 1 else args[0]
        yield Test(path, name), comment_above(lines, number) + " " + match.group(2)


def sources(top):
    for folder in ("selftests", "kmod/tests"):
        for where, _, names in sorted(os.walk(os.path.join(top, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".sh", "_test.py")):
                    yield os.path.relpath(os.path.join(where, name), top)


def find_tests(top, kinds):
    """(test, ids) for each test that carries ids."""
    for path in sources(top):
        lines = read(os.path.join(top, path))
        if path.endswith((".sh", ".py")):
            found = [(Test(path, ""), comment_at_head(lines))]
        else:
            found = tests_of_c(path, lines)
        for test, comment in found:
            ids = ids_in(comment, kinds) + ids_of_name(test.name, kinds)
            if ids:
                yield test, sorted(set(ids))


def key_of(test):
    """What stands for @test in the results: a program, and a name there."""
    path, name = test.path, test.name
    kunit = re.match(r"kmod/tests/(\w+)_kunit\.c$", path)
    if kunit:
        return "selftests/kunit/kunit.sh", "roost_%s: %s" % (kunit.group(1), name)
    return re.sub(r"\.(c|py)$", "", path), name


class Results:
    """What the last check has said of each test."""

    def __init__(self, path):
        self.words = {}
        self.programs = {}
        for line in read(path) if path else []:
            match = re.match(r"(pass|fail|skip) [^/ ]+/([^: ]+): (.*)$", line)
            if match:
                self.take(*match.groups())

    def take(self, word, program, text):
        text = re.sub(r" *# *SKIP.*", "", text)
        self.programs.setdefault(program, set()).add(word)
        # the harness of kselftests says FIXTURE.VARIANT.NAME
        for name in {text, text.rsplit(".", 1)[-1]}:
            self.words.setdefault((program, name), set()).add(word)

    def of(self, test):
        program, name = key_of(test)
        if name:
            words = self.words.get((program, name), set())
        else:
            words = self.programs.get(program, set())
        for word, said in (("fail", "failed"), ("pass", "passed"), ("skip", "skipped")):
            if word in words:
                return said
        return "not run"


def cover(rows, top, kinds, faults):
    for test, ids in find_tests(top, kinds):
        for name in ids:
            if name not in rows:
                faults.append("%s: there is no %s" % (test, name))
                continue
            rows[name].tests.append(test)
            if rows[name].word == "later":
                faults.append("%s: %s is said to come later" % (test, name))
    for name, row in rows.items():
        if row.word in COVERED and not row.tests:
            faults.append("%s: %s, and no test carries it" % (name, row.word))


def show(rows, results, complete, faults):
    count = {}
    for name, row in rows.items():
        count[row.word] = count.get(row.word, 0) + 1
        print("%-6s %s" % (name, row.state))
        for test in row.tests:
            said = results.of(test)
            print("       %-8s %s" % (said, test))
            if said == "failed" or (complete and said != "passed"):
                faults.append("%s: %s: %s" % (name, test, said))
    print("\n%d rows: %s" % (len(rows), ", ".join("%d %s" % (count[w], w)
                                                 for w in sorted(count))))


def arguments():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", nargs="?",
                        help="by default Documentation/behaviours.rst")
    parser.add_argument("--top", default=top, help="of the tree")
    parser.add_argument("--results", help="of a check; by default build/check/results, "
                                          "if it is there")
    parser.add_argument("--no-results", action="store_true",
                        help="only whether rows and tests fit together")
    parser.add_argument("--complete", action="store_true",
                        help="each covering test must have passed")
    parser.add_argument("--quiet", action="store_true", help="print faults alone")
    return parser.parse_args()


def results_path(args):
    if args.no_results:
        return None
    path = args.results or os.path.join(args.top, "build/check/results")
    return path if args.results or os.path.exists(path) else None


def main():
    args = arguments()
    document = args.document or os.path.join(args.top, "Documentation/behaviours.rst")
    faults = []
    try:
        rows = read_rows(document, faults)
        results = Results(results_path(args))
        cover(rows, args.top, {name[0] for name in rows}, faults)
    except OSError as error:
        sys.exit("behaviours.py: %s" % error)
    if args.quiet:
        with open(os.devnull, "w", encoding="utf-8") as sys.stdout:
            show(rows, results, args.complete, faults)
        sys.stdout = sys.__stdout__
    else:
        show(rows, results, args.complete, faults)
    for fault in faults:
        print("fault: %s" % fault)
    sys.exit(1 if faults else 0)


main()
