#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""mutants_test.py - what tools/check/mutants.py does with faults, and with lists of them.

Built as mutants_test: a copy.  Each test is a small tree of its own, with a library of one
function and a program that tests it; and one test is whether the list of this very tree
fits its sources.
"""
import os
import subprocess
import sys

import trees

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TOOL = os.path.join(TOP, "tools/check/mutants.py")

LIBRARY = """\
int twice(int a)
{
	int b = 0;

	b += a;
	b += a;
	return b;
}

int half(int a)
{
	return a / 2;
}
"""
PROGRAM = """\
#include <stdio.h>
#include <string.h>

int twice(int a);
int half(int a);

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc < 2 || strstr("two_and_two", argv[1]))
		bad |= twice(2) != 4;
	if (argc < 2 || strstr("half_of_four", argv[1]))
		bad |= half(4) != 2;
	for (; half(4) == 3; )
		;
	printf("%sok 1 two_and_two\\n", bad ? "not " : "");
	return bad;
}
"""
MAKEFILE = """\
../../build/selftests-debug-inject/a_test: a_test.c ../../lib/a.c
	mkdir -p $(@D)
	cc -o $@ $^

%/a_test: ../../build/selftests-debug-inject/a_test
	[ $@ -ef $< ]
"""
ONE_LINE = """\
mutation %s
trips twice is twice
test runtime/a_test %s
%sfile lib/a.c
<<<<
%s
====
%s
>>>>

"""


def mutation(name, before, after, test="two", more=""):
    return ONE_LINE % (name, test, more, before, after)


CAUGHT = mutation("returns-nothing", "\treturn b;", "\treturn 0;")
SURVIVES = mutation("a-plus", "\tint b = 0;", "\tint b = +0;")


class Tree(trees.Files):
    """The sources, and a list of mutations."""

    def __init__(self, top):
        self.top = os.path.realpath(top)
        self.put("lib/a.c", LIBRARY)
        self.put("selftests/runtime/a_test.c", PROGRAM)
        self.put("selftests/runtime/Makefile", MAKEFILE)

    def run(self, text, *arguments):
        self.put("tools/check/mutations", text)
        done = subprocess.run([TOOL, "--top", self.top, *arguments], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
        return done.returncode, done.stdout


def expect(is_so, text):
    if not is_so:
        raise AssertionError("not expected:\n%s" % text)


def outcome(text, name):
    for line in text.splitlines():
        words = line.split()
        if name in words:
            return words[0]
    return None


def a_fault_that_is_caught(tree):
    code, text = tree.run(CAUGHT)
    expect(code == 0 and outcome(text, "returns-nothing") == "caught", text)
    expect("runtime/a_test two: two_and_two" in text, text)


def a_fault_that_survives(tree):
    code, text = tree.run(CAUGHT + SURVIVES)
    expect(code == 1 and outcome(text, "a-plus") == "SURVIVED", text)
    expect(outcome(text, "returns-nothing") == "caught", text)


def one_that_may(tree):
    code, text = tree.run(SURVIVES.replace("file", "survives it is the same\nfile"))
    expect(code == 0 and outcome(text, "a-plus") == "survived", text)
    expect("it is the same" in text, text)


def the_sources_are_as_before_for_the_next(tree):
    code, text = tree.run(CAUGHT + mutation("no-half", "\treturn a / 2;", "\treturn a;",
                                            "half") + SURVIVES, "--jobs", "1")
    expect(code == 1 and outcome(text, "a-plus") == "SURVIVED", text)
    expect(outcome(text, "no-half") == "caught", text)
    code, text = tree.run(CAUGHT, "--jobs", "1")
    expect(code == 0, text)


def a_text_that_is_not_there(tree):
    wrong = mutation("wrong", "\treturn c;", "\treturn 0;")
    code, text = tree.run(wrong + CAUGHT)
    expect(code == 1 and outcome(text, "wrong") == "ERROR", text)
    expect(outcome(text, "returns-nothing") == "caught", text)
    expect(tree.run(wrong, "--fit")[0] == 1, "--fit")
    expect(tree.run(CAUGHT, "--fit")[0] == 0, "--fit")


def a_text_that_is_there_twice(tree):
    code, text = tree.run(mutation("once-more", "\tb += a;", "\tb -= a;"))
    expect(code == 1 and outcome(text, "once-more") == "ERROR", text)


def two_edits(tree):
    code, text = tree.run(CAUGHT.replace("\treturn b;", "\tint b = 0;")
                          .replace("\treturn 0;", "\tint b = 1;") +
                          "file lib/a.c\n<<<<\n\treturn b;\n====\n\treturn b - 1;\n>>>>\n")
    expect(code == 1 and outcome(text, "returns-nothing") == "SURVIVED", text)


def one_that_does_not_compile(tree):
    code, text = tree.run(mutation("typo", "\treturn b;", "\tretrun b;"))
    expect(code == 1 and outcome(text, "typo") == "ERROR", text)


def one_that_hangs(tree):
    code, text = tree.run(mutation("three", "\treturn a / 2;", "\treturn 3;"),
                          "--limit", "3")
    expect(code == 0 and "runtime/a_test two: hangs" in text, text)


def a_test_that_fails_anyway(tree):
    tree.put("lib/a.c", LIBRARY.replace("int b = 0", "int b = 1"))
    code, text = tree.run(CAUGHT)
    expect(code == 1 and "nothing can be said" in text, text)
    expect(outcome(text, "returns-nothing") is None, text)


def only_those_that_are_named(tree):
    code, text = tree.run(CAUGHT + SURVIVES, "returns-*")
    expect(code == 0 and outcome(text, "a-plus") is None, text)
    expect(tree.run(CAUGHT, "nobody")[0] == 1, "nobody")


def lists_that_are_wrong(tree):
    for text in (CAUGHT + CAUGHT, CAUGHT.replace("trips", "trip"),
                 CAUGHT.replace("test runtime/a_test two\n", ""),
                 CAUGHT.replace("file lib/a.c\n", ""), "file lib/a.c\n"):
        code, said = tree.run(text, "--fit")
        expect(code == 1 and "mutants: " in said, text + said)


def the_list_of_this_tree_fits(_tree):
    done = subprocess.run([TOOL, "--fit"], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    expect(done.returncode == 0, done.stdout)


TESTS = trees.tests_in(globals())

sys.exit(trees.run_tests(TESTS, Tree))
