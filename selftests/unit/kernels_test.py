#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""kernels_test.py - what tools/check/kernels.sh runs, keeps, and says.

Built as kernels_test: a copy.  Each test is a small tree of its own, where check.sh only
notes how it was called and says what it was told to.
"""
import os
import shutil
import subprocess
import sys

import trees

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

# $CHECK_KERNELS, the one folder of --only, and the share of the rounds
CHECK = """\
#!/bin/bash
folder=${3#??} folder=${folder%??}
echo "$CHECK_KERNELS $folder $CHECK_SLOW" >> "$NOTES/calls"
[ "$1 $2 $3" = "--vm-only --only */$folder/*" ] || exit 1
answer=$NOTES/$CHECK_KERNELS-$folder
[ -f "$answer" ] || answer=$NOTES/usual
. "$answer"
"""
GOOD = "echo '5 passed, 0 failed, 1 skipped'\n"
BAD = "printf 'Failed:\\n  a_test: one\\n  a_test: two\\n\\n'\n" \
      "echo '3 passed, 2 failed, 0 skipped'; exit 1\n"
EARLY = "echo 'no such kernel'; exit 125\n"

KERNELS = "6.1 6.1-rt 6.12 6.12-rt 6.1-debug 6.12-debug 6.12-kcsan 7.2".split()
FOLDERS = "kunit module uapi compat netlink runtime httpd stress".split()


class Tree(trees.Files):
    """A tree with sources, a cache of kernels, and notes of what was called."""

    def __init__(self, top):
        self.top = os.path.join(os.path.realpath(top), "tree")
        self.notes = os.path.join(top, "notes")
        self.cache = os.path.join(top, "cache")
        for path in ("tools/common.sh", "tools/check/kernels.sh"):
            os.makedirs(os.path.dirname(os.path.join(self.top, path)), exist_ok=True)
            shutil.copy(os.path.join(TOP, path), os.path.join(self.top, path))
        self.put("tools/check/check.sh", CHECK)
        os.chmod(os.path.join(self.top, "tools/check/check.sh"), 0o755)
        self.put(".gitignore", "/build/\n*_test\n")
        self.put("kmod/a.c", "int a;\n")
        self.put("selftests/uapi/a_test", "built")
        self.put("Documentation/a.rst", "A.\n")
        os.makedirs(self.notes)
        self.answer("usual", GOOD)
        for kernel in KERNELS:
            self.image(kernel, "image")
        subprocess.check_call(["git", "init", "-q", self.top])

    def answer(self, cell, text):
        self.put(os.path.join(self.notes, cell), text)

    def image(self, kernel, text):
        image = os.path.join(self.cache, "kernels", kernel + " ~image")
        self.put(image, text)
        self.put(os.path.join(self.cache, "kernels", kernel + ".env"),
                 "image='%s'\n" % image)

    def run(self, *arguments, **environment):
        """Exit code, what was printed, and the cells that were run."""
        calls = os.path.join(self.notes, "calls")
        self.put(calls, "")
        more = dict(os.environ, NOTES=self.notes, ROOST_CACHE=self.cache, **environment)
        if "CHECK_SLOW" not in environment:
            more.pop("CHECK_SLOW", None)
        done = subprocess.run([os.path.join(self.top, "tools/check/kernels.sh")] +
                              list(arguments), env=more, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True,
                              check=False)
        with open(calls, encoding="utf-8") as file:
            return done.returncode, done.stdout, file.read().splitlines()


def row(text, kernel):
    """The row of a kernel, as a dictionary by folder."""
    lines = [x.split() for x in text.replace(" BAD", "_BAD").splitlines()]
    found = [x for x in lines if x and x[0] == kernel]
    assert len(found) == 1 and len(lines[0]) == len(found[0]), text
    return dict(zip(lines[0], found[0]))


def expect(seen, wanted):
    assert seen == wanted, "%r instead of %r" % (seen, wanted)


def all_of_it(tree):
    code, text, calls = tree.run()
    expect(code, 0)
    # KUnit is in the four that are built here
    wanted = ["%s %s %d" % (k, f, 10 if "debug" in k or "kcsan" in k else 1)
              for k in KERNELS for f in FOLDERS
              if f != "kunit" or k in KERNELS[4:]]
    expect(calls, wanted)
    assert text.endswith("60 of 60 cells are green\n"), text
    expect(row(text, "6.12")["kunit"], "-")
    expect(row(text, "7.2")["kunit"], "5")
    expect(row(text, "7.2")["skipped"], "8")


def green_ones_are_kept(tree):
    tree.run("7.2")
    code, text, calls = tree.run("7.2", "6.12")
    expect((code, len(calls)), (0, 7))
    assert all(x.startswith("6.12 ") for x in calls), calls
    expect(row(text, "7.2")["uapi"], "5=")
    expect(row(text, "7.2")["skipped"], "8")
    expect(row(text, "6.12")["uapi"], "5")
    assert text.endswith("15 of 15 cells are green\n"), text


def bad_ones_are_run_again(tree):
    tree.answer("7.2-uapi", BAD)
    code, text, _ = tree.run("7.2")
    expect((code, row(text, "7.2")["uapi"]), (1, "2_BAD"))
    assert "7.2, uapi: a_test: two\n7 of 8 cells are green\n" in text, text
    code, text, calls = tree.run("--list", "7.2")
    expect((code, calls, row(text, "7.2")["uapi"]), (1, [], "2_BAD="))
    tree.answer("7.2-uapi", GOOD)
    code, text, calls = tree.run("7.2")
    expect((code, calls), (0, ["7.2 uapi 1"]))
    expect((row(text, "7.2")["uapi"], row(text, "7.2")["stress"]), ("5", "5="))


def an_early_end_is_bad(tree):
    tree.answer("7.2-uapi", EARLY)
    code, text, _ = tree.run("7.2")
    expect((code, row(text, "7.2")["uapi"]), (1, "1_BAD"))
    assert "7.2, uapi: no such kernel\n" in text, text


def a_good_end_with_an_error_is_bad(tree):
    tree.answer("7.2-uapi", GOOD + "exit 1\n")
    code, text, _ = tree.run("7.2")
    expect((code, row(text, "7.2")["uapi"]), (1, "1_BAD"))


def an_interrupted_cell_is_not_green(tree):
    tree.run("7.2")
    tree.answer("7.2-uapi", "kill -KILL $PPID\n")
    code, _, _ = tree.run("--fresh", "--folder", "uapi", "7.2")
    assert code != 0
    _, text, _ = tree.run("--list", "7.2")
    expect((row(text, "7.2")["uapi"], row(text, "7.2")["stress"]), ("?", "5="))


def fresh_runs_all(tree):
    tree.run("7.2")
    code, text, calls = tree.run("--fresh", "7.2")
    expect((code, len(calls), row(text, "7.2")["uapi"]), (0, 8, "5"))


def folders(tree):
    code, text, calls = tree.run("--folder", "uapi", "--folder", "kunit", "6.12", "7.2")
    expect((code, calls), (0, ["6.12 uapi 1", "7.2 uapi 1", "7.2 kunit 1"]))
    expect(row(text, "7.2")["stress"], "?")
    assert text.endswith("3 of 3 cells are green\n"), text


def a_change_of(change):
    """A test: what is green does not stay so after that."""
    def test(tree):
        tree.run("7.2")
        change(tree)
        code, text, calls = tree.run("--list", "7.2")
        expect((code, calls, row(text, "7.2")["uapi"]), (1, [], "?"))
        code, text, calls = tree.run("7.2")
        expect((code, len(calls)), (0, 8))
    return test


def a_change_of_what_does_not_matter(tree):
    tree.run("7.2")
    tree.put("Documentation/a.rst", "B.\n")
    tree.put("selftests/uapi/a_test", "built again")
    tree.put("build/b.c", "int b;\n")
    tree.image("6.12", "another")
    _, _, calls = tree.run("7.2")
    expect(calls, [])


def run_after(a_tree, path):
    """The folders that 7.2 runs anew once that file is new."""
    a_tree.run("7.2")
    a_tree.put(path, "new\n")
    return [x.split()[1] for x in a_tree.run("7.2")[2]]


def a_test_is_its_folders_own(tree):
    expect(run_after(tree, "selftests/netlink/b_test.c"), ["netlink"])
    expect(run_after(tree, "selftests/runtime/b_test.c"), ["runtime"])
    expect(run_after(tree, "selftests/httpd/b.c"), ["httpd"])
    expect(run_after(tree, "kmod/tests/b.c"), ["kunit"])
    expect(run_after(tree, "selftests/unit/b_test.py"), [])


def a_test_of_uapi_is_of_compat_too(tree):
    expect(run_after(tree, "selftests/uapi/b_test.c"), ["uapi", "compat"])
    expect(run_after(tree, "selftests/compat/b_test.c"), ["compat"])


def the_device_is_not_tested_by_the_library(tree):
    expect(run_after(tree, "lib/b.c"), ["runtime", "httpd", "stress"])
    expect(run_after(tree, "include/uapi/linux/b.h"), FOLDERS)


def a_header_is_everybodys(tree):
    expect(run_after(tree, "selftests/uapi/b.h"), FOLDERS)
    expect(run_after(tree, "selftests/runtime/b.h"), FOLDERS)


def a_change_meanwhile(tree):
    tree.answer("7.2-uapi", "echo 'int b;' > kmod/b.c\n" + GOOD)
    code, text, _ = tree.run("--folder", "uapi", "7.2")
    expect((code, row(text, "7.2")["uapi"]), (0, "5"))
    _, text, _ = tree.run("--list", "--folder", "uapi", "7.2")
    expect(row(text, "7.2")["uapi"], "?")


def another_share_of_the_rounds(tree):
    tree.run("7.2")
    _, _, calls = tree.run("--folder", "uapi", "7.2", CHECK_SLOW="3")
    expect(calls, ["7.2 uapi 3"])


def without_git_nothing_is_kept(tree):
    shutil.rmtree(os.path.join(tree.top, ".git"))
    tree.run("7.2")
    code, text, calls = tree.run("7.2")
    expect((code, len(calls), row(text, "7.2")["uapi"]), (0, 8, "5"))


def below_anothers_git_nothing_is_kept(tree):
    shutil.move(os.path.join(tree.top, ".git"), os.path.dirname(tree.top))
    without = tree.run("7.2")[2]
    expect(tree.run("7.2")[2], without)


def what_there_is_not(tree):
    for arguments in (["6.3"], ["--folder", "unit"], ["--frehs"]):
        code, text, calls = tree.run(*arguments)
        expect((code, text, calls), (125, "", []))


TESTS = trees.tests_in(globals())
TESTS += [("a_change_of_" + name, a_change_of(change)) for name, change in {
    "the_module": lambda tree: tree.put("kmod/a.c", "int b;\n"),
    "a_file_that_is_new": lambda tree: tree.put("kmod/b.c", "int b;\n"),
    "a_file_that_has_gone": lambda tree: os.unlink(tree.top + "/kmod/a.c"),
    "the_tools": lambda tree: tree.put("tools/vm/run.sh", "exit 0\n"),
    "the_kernel": lambda tree: tree.image("7.2", "another"),
}.items()]

sys.exit(trees.run_tests(TESTS, Tree))
