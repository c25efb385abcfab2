#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""behaviours_test.py - each kind of fault that tools/check/behaviours.py has to find.

Built as behaviours_test: a copy.  Each test is a small tree of its own.
"""
import os
import subprocess
import sys

import trees

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../tools/check/behaviours.py")

ROWS = """\
A heading
=========

S0-01 : built
    One.
S0-02 : in part, half of it is missing
    Two.
S0-03 : later, with wings
    Three.
S0-04 : superseded, by something better
    Four.
"""

CASES = """\
C05 : built
    Five.
"""

TESTS = """\
/* S0-01: as it says. */
ROOST_TEST(one)
{
}

ACTOR_TEST(two, usually(2))\t/* S0-02 */
{
}

/*
 * C05: also this,
 * which takes two lines.
 */
TEST_F(fixture, five)
{
}
"""

RESULTS = """\
pass host/selftests/runtime/a_test: one
pass host/selftests/runtime/a_test: two
pass 6.1/selftests/runtime/a_test: two
pass 6.1/selftests/runtime/a_test: fixture.five
"""


class Tree(trees.Files):
    """A tree with a document, tests, and results."""

    def __init__(self, top):
        self.top = top
        self.put("Documentation/behaviours.rst", ROWS)
        self.put("Documentation/cases.rst", CASES)
        self.put("selftests/runtime/a_test.c", TESTS)
        self.put("build/check/results", RESULTS)

    def change(self, path, old, new):
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            text = file.read()
        assert old in text
        self.put(path, text.replace(old, new))

    def rows(self, old, new):
        self.change("Documentation/behaviours.rst", old, new)

    def tests(self, old, new):
        self.change("selftests/runtime/a_test.c", old, new)

    def results(self, old, new):
        self.change("build/check/results", old, new)

    def run(self, *options):
        """Exit code, and what was printed."""
        done = subprocess.run([sys.executable, TOOL, "--top", self.top] + list(options),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, check=False)
        return done.returncode, done.stdout

    def good(self, *options):
        code, text = self.run(*options)
        assert code == 0 and "fault:" not in text, text
        return text

    def fault(self, wanted, *options):
        """Exactly one fault, which is this one."""
        code, text = self.run(*options)
        found = [x for x in text.splitlines() if x.startswith("fault:")]
        assert code == 1 and len(found) == 1 and wanted in found[0], text


def all_is_well(tree):
    text = tree.good()
    assert "S0-01  built\n       passed   selftests/runtime/a_test.c: one\n" in text
    assert "4 rows: 1 built, 1 in part, 1 later, 1 superseded" in text
    assert "five" not in text
    tree.good("--complete")
    tree.good("--no-results")


def cases_alone(tree):
    text = tree.good(os.path.join(tree.top, "Documentation/cases.rst"))
    assert "passed   selftests/runtime/a_test.c: five" in text and "one" not in text


def quiet_says_nothing(tree):
    assert tree.good("--quiet") == ""
    tree.tests("S0-01: as it says", "nothing")
    tree.fault("S0-01: built, and no test carries it", "--quiet")


def built_without_a_test(tree):
    tree.tests("S0-01: as it says", "nothing")
    tree.fault("S0-01: built, and no test carries it")


def in_part_without_a_test(tree):
    tree.tests("\t/* S0-02 */", "")
    tree.fault("S0-02: in part, and no test carries it")


def later_and_superseded_need_no_test(tree):
    tree.rows("S0-01 : built", "S0-01 : superseded, by nothing to do")
    tree.tests("S0-01: as it says", "nothing")
    tree.good()


def an_id_that_is_no_row(tree):
    tree.tests("S0-01:", "S0-01, S0-09:")
    tree.fault("selftests/runtime/a_test.c: one: there is no S0-09")


def an_id_of_what_comes_later(tree):
    tree.tests("S0-01:", "S0-01, S0-03:")
    tree.fault("one: S0-03 is said to come later")


def a_superseded_row_may_have_a_test(tree):
    tree.tests("S0-01:", "S0-01, S0-04:")
    assert "S0-04  superseded, by something better\n       passed" in tree.good()


def a_row_twice(tree):
    tree.rows("S0-04", "S0-03")
    tree.fault("S0-03 is there twice")


def no_such_state(tree):
    tree.rows("built", "nearly built")
    tree.fault("no such state: nearly built")


def later_with_nothing(tree):
    tree.rows("later, with wings", "later")
    tree.fault("S0-03: no such state: later")


def superseded_by_nothing(tree):
    tree.rows("superseded, by something better", "superseded")
    tree.fault("S0-04: no such state: superseded")


def a_row_without_a_colon(tree):
    tree.rows("S0-03 : later", "S0-03 later")
    tree.fault("not a row: S0-03 later")


def a_row_that_says_nothing(tree):
    tree.rows("    Three.\n", "")
    tree.fault("S0-03 says nothing")


def no_rows_at_all(tree):
    tree.put("Documentation/behaviours.rst", "Nothing.\n")
    tree.fault("no rows")


def no_document(tree):
    code, text = tree.run(tree.top + "/none.rst")
    assert code == 1 and "none.rst" in text


def a_test_that_failed(tree):
    tree.results("pass host/selftests/runtime/a_test: one",
                 "fail host/selftests/runtime/a_test: one")
    tree.fault("S0-01: selftests/runtime/a_test.c: one: failed")
    tree.good("--no-results")


def failed_in_one_place_of_two(tree):
    tree.results("pass 6.1/selftests/runtime/a_test: two",
                 "fail 6.1/selftests/runtime/a_test: two")
    tree.fault("S0-02: selftests/runtime/a_test.c: two: failed")


def a_test_that_did_not_run(tree):
    tree.results("pass host/selftests/runtime/a_test: one\n", "")
    assert "not run  selftests/runtime/a_test.c: one" in tree.good()
    tree.fault("S0-01: selftests/runtime/a_test.c: one: not run", "--complete")


def a_test_that_was_skipped(tree):
    tree.results("pass host/selftests/runtime/a_test: one",
                 "skip host/selftests/runtime/a_test: one # SKIP no wings")
    assert "skipped  selftests/runtime/a_test.c: one" in tree.good()
    tree.fault("one: skipped", "--complete")


def skipped_in_one_place_of_two(tree):
    tree.results("pass 6.1/selftests/runtime/a_test: two",
                 "skip 6.1/selftests/runtime/a_test: two # SKIP no wings")
    tree.good("--complete")


def another_program_proves_nothing(tree):
    tree.results("host/selftests/runtime/a_test: one",
                 "host/selftests/runtime/b_test: one")
    tree.fault("one: not run", "--complete")


def another_test_proves_nothing(tree):
    tree.results("host/selftests/runtime/a_test: one",
                 "host/selftests/runtime/a_test: one_more")
    tree.fault("one: not run", "--complete")


def ids_in_names(tree):
    tree.tests("/* S0-01: as it says. */\nROOST_TEST(one)",
               "ROOST_TEST(s0_01_s0_04_one)")
    tree.results("a_test: one", "a_test: s0_01_s0_04_one")
    text = tree.good("--complete")
    assert text.count("passed   selftests/runtime/a_test.c: s0_01_s0_04_one") == 2


def ranges(tree):
    tree.rows("later, with wings", "built")
    tree.tests("S0-01:", "S0-01 to S0-03:")
    assert tree.good().count("a_test.c: one") == 3


def a_comment_elsewhere_is_none(tree):
    tree.tests("/* S0-01: as it says. */\n", "/* S0-01: as it says. */\n\n")
    tree.fault("S0-01: built, and no test carries it")


def a_comment_of_other_code_is_none(tree):
    tree.tests("/* S0-01: as it says. */", "int x;\t/* S0-01 */")
    tree.fault("S0-01: built, and no test carries it")


def scripts(tree):
    tree.tests("S0-01: as it says", "nothing")
    tree.put("selftests/module/b.sh", "#!/bin/sh\n# S0-01: all of it.\n\n# S0-09\n")
    tree.fault("selftests/module/b.sh: not run", "--complete")
    tree.put("build/check/results", RESULTS +
             "pass 6.1/selftests/module/b.sh: loads\n")
    tree.good("--complete")
    tree.put("build/check/results", RESULTS +
             "pass 6.1/selftests/module/b.sh: loads\n"
             "fail 6.1/selftests/module/b.sh: goes away\n")
    tree.fault("S0-01: selftests/module/b.sh: failed")


def scripts_in_python(tree):
    tree.tests("S0-01: as it says", "nothing")
    tree.put("selftests/gdb/b_test.py", "#!/usr/bin/env python3\n# S0-01\n")
    tree.fault("selftests/gdb/b_test.py: not run", "--complete")
    tree.put("build/check/results", RESULTS +
             "pass host/selftests/gdb/b_test: prints\n")
    tree.good("--complete")
    tree.put("selftests/gdb/b_test.py", "#!/usr/bin/env python3\n\"\"\"S0-01\"\"\"\n")
    tree.fault("S0-01: built, and no test carries it")


def kunit(tree):
    tree.tests("S0-01: as it says", "nothing")
    case = "/* S0-01 */\nstatic void all(struct kunit *test)\n{\n}\n"
    tree.put("kmod/tests/c_kunit.c", case)
    tree.fault("S0-01: built, and no test carries it")
    tree.put("kmod/tests/c_kunit.c", case + "\tKUNIT_CASE(all),\n")
    tree.fault("kmod/tests/c_kunit.c: all: not run", "--complete")
    tree.put("build/check/results", RESULTS +
             "pass 6.1-debug/selftests/kunit/kunit.sh: roost_c: all\n")
    tree.good("--complete")


TESTS_HERE = trees.tests_in(globals())

sys.exit(trees.run_tests(TESTS_HERE, Tree))
