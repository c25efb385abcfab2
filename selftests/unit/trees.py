# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""trees.py - tests of tools, each in a small tree of files of its own."""
import os
import tempfile


class Files:
    """A tree, at @top."""

    def __init__(self, top):
        self.top = top

    def put(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def tests_in(names):
    """Of a module's globals: functions of a tree, by name, in their order."""
    return [(name, value) for name, value in names.items()
            if getattr(value, "__code__", None) and
            value.__code__.co_varnames[:1] in (("tree",), ("_tree",))]


def run_tests(tests, make):
    """Each on what @make makes of a new folder; TAP. Return: the exit code."""
    failures = 0
    print("TAP version 13\n1..%d" % len(tests))
    for number, (name, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as top:
            try:
                test(make(top))
                word = "ok"
            except AssertionError as error:
                failures += 1
                word = "not ok"
                for line in str(error).splitlines():
                    print("# %s" % line)
        print("%s %d %s" % (word, number, name), flush=True)
    return 1 if failures else 0
