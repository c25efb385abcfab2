#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""library_test.py - what tools/check/library.sh runs, keeps, and says.

Built as library_test: a copy.  Each test is a small tree of its own with one program as
test, which notes how it was run and says what it was told to; valgrind is a script.
"""
import os
import shutil
import subprocess
import sys

import trees

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

MAKEFILE = """\
programs:
\techo built >> $(NOTES)/builds
\tmkdir -p $(or $(OUT),.)
\tcp program $(or $(OUT),.)/a_test
OUT := $(if $(SAN),../../build/selftests-$(SAN:address%=address-undefined))
"""
PROGRAM = """\
#!/bin/bash
echo "${UNDER:-$(basename "$PWD")} $ROOST_BACKEND $ROOST_RUNQ $ROOST_WAKE_SLOT" \
     "${ROOST_WORKERS:-usual} $ROOST_SLOW" >> "$NOTES/calls"
. "$NOTES/answer"
"""
VALGRIND = """\
#!/bin/bash
while :; do case $1 in --*) shift ;; *) break ;; esac; done
UNDER=valgrind exec "$@"
"""
CHECK = """\
#!/bin/bash
echo "$CHECK_KERNELS $ROOST_RUNQ $ROOST_WAKE_SLOT $ROOST_WORKERS $CHECK_SLOW" \
     >> "$NOTES/calls"
echo '7 passed, 0 failed, 1 skipped'
"""
GOOD = "printf '1..2\\nok 1 one\\nok 2 two\\n'\n"
BAD = "printf '1..2\\nnot ok 1 one\\nok 2 two\\n'; exit 1\n"
# what a process of the program's own says that nobody hears
REPORT = GOOD + "log=${TSAN_OPTIONS#log_path=\\'} log=${log%%\\'*}\n" \
                "echo 'data race' > \"$log.17\"\n"


class Tree(trees.Files):
    """A tree with sources, and notes of what was called."""

    def __init__(self, top):
        self.top = os.path.join(os.path.realpath(top), "tree")
        self.notes = os.path.join(top, "notes")
        os.makedirs(self.notes)
        for path in ("common.sh", "check/library.sh", "check/results.sh",
                     "check/ways.sh", "check/tap.awk"):
            path = os.path.join("tools", path)
            os.makedirs(os.path.dirname(os.path.join(self.top, path)), exist_ok=True)
            shutil.copy(os.path.join(TOP, path), os.path.join(self.top, path))
        self.put(".gitignore", "/build/\n*_test\n")
        self.put("lib/a.c", "int a;\n")
        self.put("selftests/runtime/Makefile", MAKEFILE)
        self.put("selftests/runtime/a_test.c", "int a;\n")
        self.program("selftests/runtime/program", PROGRAM)
        self.program("tools/check/check.sh", CHECK)
        self.program(os.path.join(self.notes, "bin/valgrind"), VALGRIND)
        self.put(os.path.join(self.notes, "cache/kernels/6.12.env"), "image='%s'\n" %
                 os.path.join(self.notes, "cache/kernels/6.12.env"))
        self.answer(GOOD)
        subprocess.check_call(["git", "init", "-q", self.top])

    def program(self, path, text):
        self.put(path, text)
        os.chmod(os.path.join(self.top, path), 0o755)

    def answer(self, text):
        self.put(os.path.join(self.notes, "answer"), text)

    def run(self, *arguments, **environment):
        """Exit code, what was printed, and how the programs were run."""
        calls = os.path.join(self.notes, "calls")
        self.put(calls, "")
        more = {key: value for key, value in os.environ.items()
                if not key.startswith(("LIBRARY_", "ROOST_", "CHECK_", "KERNEL"))}
        more.update(NOTES=self.notes, ROOST_CACHE=os.path.join(self.notes, "cache"),
                    PATH=os.path.join(self.notes, "bin") + ":" + os.environ["PATH"],
                    **environment)
        done = subprocess.run([os.path.join(self.top, "tools/check/library.sh")] +
                              list(arguments), env=more, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True,
                              check=False)
        with open(calls, encoding="utf-8") as file:
            return done.returncode, done.stdout, file.read().splitlines()


def expect(seen, wanted):
    assert seen == wanted, "%r instead of %r" % (seen, wanted)


def stands(text, row):
    """What is in the row, but for where there are no such cells."""
    found = [x for x in text.splitlines() if x.split()[:3] == row.split("/")]
    expect(len(found), 1)
    return found[0][22:].replace(" BAD", "_BAD").replace("-", "").split()


def each_way(tree):
    code, text, calls = tree.run("*/mpmc/off/usual", "*/steal/on/8")
    expect(calls, ["runtime futex steal on 8 4", "6.12 steal on 8 4",
                   "selftests-address-undefined futex mpmc off usual 1",
                   "selftests-thread futex mpmc off usual 1",
                   "valgrind futex mpmc off usual 1"])
    expect(stands(text, "futex/steal/on"), ["?", "?", "?", "2", "?"])
    expect(stands(text, "kernel/steal/on"), ["?", "?", "?", "7", "?"])
    for tool in ("asan", "tsan", "valgrind"):
        expect(stands(text, tool + "/mpmc/off"), ["2"])
    assert text.endswith("5 of 5 cells are green\n"), text
    expect(code, 0)


def each_number_of_workers(tree):
    _, text, calls = tree.run("futex/mutex/on/*")
    expect([int(x.split()[4]) for x in calls], [1, 2, 3, 8, 70])
    expect(stands(text, "futex/mutex/on"), ["2"] * 5)


def green_ones_are_kept(tree):
    tree.run("tsan/steal/*")
    code, text, calls = tree.run("tsan/s*")
    expect((code, len(calls)), (0, 2))
    expect(stands(text, "tsan/steal/on"), ["2="])
    expect(stands(text, "tsan/striped/on"), ["2"])
    expect(len(tree.run("--fresh", "tsan/s*")[2]), 4)
    expect(tree.run("--list", "tsan/s*")[2], [])


def bad_ones_are_run_again(tree):
    tree.answer(BAD)
    code, text, _ = tree.run("tsan/steal/on/*")
    expect((code, stands(text, "tsan/steal/on")), (1, ["1_BAD"]))
    assert "tsan/steal/on/usual: tsan/selftests/runtime/a_test: one\n" in text, text
    tree.answer(GOOD)
    expect(len(tree.run("tsan/steal/on/*")[2]), 1)


def a_report_is_bad(tree):
    tree.answer(REPORT)
    code, text, _ = tree.run("tsan/steal/on/*")
    expect((code, stands(text, "tsan/steal/on")), (1, ["1_BAD"]))
    assert "report of the tool" in text, text


def what_says_nothing_is_bad(tree):
    for answer in ("", "exit 1\n", "kill -KILL $$\n"):
        tree.answer(answer)
        code, text, _ = tree.run("tsan/steal/on/*")
        expect((code, stands(text, "tsan/steal/on")), (1, ["1_BAD"]))


def what_cannot_be_built_is_bad(tree):
    tree.put("selftests/runtime/Makefile", "programs:\n\tfalse\n")
    code, text, calls = tree.run("tsan/steal/on/*")
    expect((code, stands(text, "tsan/steal/on"), calls), (1, ["1_BAD"], []))


def a_change_undoes_it(tree):
    tree.run("tsan/steal/on/*")
    for path in ("lib/b.c", "selftests/runtime/b.h", "tools/vm/run.sh"):
        tree.put(path, "int b;\n")
        expect(len(tree.run("tsan/steal/on/*")[2]), 1)
    tree.put("Documentation/b.rst", "B.\n")
    expect(tree.run("tsan/steal/on/*")[2], [])
    expect(len(tree.run("tsan/steal/on/*", LIBRARY_SLOW="3")[2]), 1)


def a_change_meanwhile(tree):
    tree.answer("echo 'int b;' > ../../lib/b.c\n" + GOOD)
    code, text, _ = tree.run("tsan/steal/on/*")
    expect((code, stands(text, "tsan/steal/on")), (0, ["2"]))
    expect(stands(tree.run("--list", "tsan/*")[1], "tsan/steal/on"), ["?"])


def what_changed_meanwhile_is_built(tree):
    tree.answer("[ -e ../../lib/b.c ] || echo 'int b;' > ../../lib/b.c\n" + GOOD)
    code, text, calls = tree.run("futex/steal/on/1", "futex/steal/on/2")
    expect((code, len(calls)), (0, 2))
    with open(os.path.join(tree.notes, "builds"), encoding="utf-8") as file:
        expect(len(file.readlines()), 2)


def what_there_is_not(tree):
    for argument in ("futex/*/on/4", "tsan/*/on/8", "steal", "--frehs"):
        code, text, calls = tree.run(argument)
        expect((code, text, calls), (125, "", []))


TESTS = trees.tests_in(globals())

sys.exit(trees.run_tests(TESTS, Tree))
