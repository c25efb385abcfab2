#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Puts faults into the library, one at a time, and sees whether the tests find them.

The faults stand in tools/check/mutations, which says in what form.  Each is put into a
copy of the sources, the library and the tests that the fault names are built there, with
the library's checks and delays (DEBUG=1 INJECT=1), and run one after the other until one
fails, crashes, or does not come to its end.  Then the fault is caught.

First all of these tests are run on the library as it is: what fails there tells nothing.
What the kernel backend does is tested in VMs, with the module as it is.

The copies are build/mutants/tree-1 and so on, one for each job; they are kept, so that
only what has changed is compiled.  Logs are build/mutants/NAME.log, the table is printed
and is build/mutants/results.  The exit code is 1 if a fault has survived that is not
said to, with the reason; or if one does not fit the sources, or does not compile.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
COPIED = ("lib", "include", "kmod", "selftests/runtime", "selftests/stress",
          "selftests/unit", "VERSION")
SOURCES = re.compile(r"(^|/)(Makefile|VERSION)$|\.(c|h|S|in|inc|map)$")
TOLD = re.compile(r"^# VIOLATED: (.*)|^not ok \d+ (?:- )?(.*)|^(roost: .*)")
# Where a test runs, if not with checks and delays on this machine.
PLACES = ("plain", "vm", "carriers")
KERNEL = "6.12"
# Seconds: long enough for tests that wait for what does not come, on a busy machine.
LIMIT = 150


class Fault(Exception):
    """Something is wrong with the list, the sources or the build."""


class Edit:
    """In one file, one text for another."""

    def __init__(self, path):
        self.path = path
        self.before = ""
        self.after = ""

    def apply(self, tree):
        path = os.path.join(tree, self.path)
        try:
            text = read(path)
        except FileNotFoundError as error:
            raise Fault("there is no %s" % self.path) from error
        found = text.count(self.before) if self.before else 0
        if found != 1:
            raise Fault("%s: its text is there %d times" % (self.path, found))
        write(path, text.replace(self.before, self.after))


class Test:
    """A program of selftests, which tests of it, and what is in its environment."""

    def __init__(self, words):
        self.text = " ".join(words)
        self.env = {}
        self.names = []
        self.place = words.pop(0) if words and words[0] in PLACES else ""
        if not words or "/" not in words[0]:
            raise Fault("test wants FOLDER/PROGRAM: %s" % self.text)
        self.folder, self.program = words.pop(0).split("/")
        for word in words:
            name, equal, value = word.partition("=")
            if equal:
                self.env[name] = value
            else:
                self.names.append(word)

    def __str__(self):
        place = [self.place] if self.place else []
        return " ".join(place + [self.folder + "/" + self.program] + self.names)

    def in_vm(self):
        return self.place in ("vm", "carriers")

    def target(self, tree):
        """Return the folder's arguments for make, what to make, and its path."""
        if self.place == "plain" or self.folder == "stress":
            path = os.path.join(tree, "selftests", self.folder, self.program)
            return [], "./" + self.program, path
        path = os.path.join(tree, "build/selftests-debug-inject", self.program)
        return ["DEBUG=1", "INJECT=1"], path, path


class Mutation:
    """A fault, and who is to find it."""

    def __init__(self, name):
        self.name = name
        self.trips = ""
        self.survives = ""
        self.tests = []
        self.edits = []
        self.outcome = self.how = ""
        self.seconds = 0

    def check(self):
        for wanted in ("trips", "tests", "edits"):
            if not getattr(self, wanted):
                raise Fault("%s: no %s" % (self.name, wanted))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def parse_word(mutation, line, where):
    """A line outside of the texts, of @mutation."""
    word, _, rest = line.partition(" ")
    if word == "file":
        mutation.edits.append(Edit(rest))
    elif word == "trips":
        mutation.trips = rest
    elif word == "survives":
        mutation.survives = rest
    elif word == "test":
        mutation.tests.append(Test(rest.split()))
    else:
        raise Fault("%s: what is %s?" % (where, word))


def parse(path):
    """Return the list of mutations."""
    result = []
    part = None
    for number, line in enumerate(read(path).splitlines(), 1):
        where = "%s:%d" % (path, number)
        if line in ("<<<<", "====", ">>>>"):
            if not result or not result[-1].edits:
                raise Fault("%s: no file" % where)
            part = {"<<<<": "before", "====": "after", ">>>>": None}[line]
        elif part:
            edit = result[-1].edits[-1]
            setattr(edit, part, getattr(edit, part) + line + "\n")
        elif not line or line.startswith("#"):
            continue
        elif line.startswith("mutation "):
            result.append(Mutation(line.split(" ", 1)[1]))
        elif not result:
            raise Fault("%s: not of a mutation" % where)
        else:
            parse_word(result[-1], line, where)
    for mutation in result:
        mutation.check()
    if len({m.name for m in result}) != len(result):
        raise Fault("%s: a name is there twice" % path)
    return result


def sources(top):
    for part in COPIED:
        path = os.path.join(top, part)
        if os.path.isfile(path):
            yield part
        for folder, folders, files in os.walk(path):
            folders[:] = [f for f in folders if f != "build"]
            for name in files:
                relative = os.path.relpath(os.path.join(folder, name), top)
                if SOURCES.search(relative):
                    yield relative


def bring_up_to_date(top, tree):
    """Make the copy like the sources; what differs gets a new time."""
    there = set(sources(top))
    for path in set(sources(tree)) - there:
        os.remove(os.path.join(tree, path))
    for path in there:
        copy = os.path.join(tree, path)
        text = read(os.path.join(top, path))
        if not os.path.exists(copy) or read(copy) != text:
            write(copy, text)


def run_command(command, cwd, log, limit, env=None):
    """Return the exit code; None if it took too long."""
    with open(log, "a", encoding="utf-8") as file:
        file.write("== %s\n" % " ".join(command))
        file.flush()
        with subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file,
                              stderr=subprocess.STDOUT, env=env,
                              start_new_session=True) as process:
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return code


def build(tree, test, log):
    arguments, target, program = test.target(tree)
    folder = os.path.join(tree, "selftests", test.folder)
    command = ["make", "-s", "-C", folder, "CFLAGS=-O2 -g -Wno-error"]
    if run_command(command + arguments + [target], tree, log, 1200) != 0:
        raise Fault("does not build: see %s" % os.path.relpath(log, TOP))
    return program


def last_words(log, begin):
    """What a test that failed has said first, or of its end."""
    for line in read(log)[begin:].splitlines():
        match = TOLD.match(line.rstrip("\r"))
        if match:
            return next(g for g in match.groups() if g)
    return ""


def ends_how(code, told):
    if code is None:
        return told or "hangs"
    if code < 0:
        return told or signal.Signals(-code).name
    return told or "exit code %d" % code


def vm_command(program, test, module):
    """Return the command for one test in a VM."""
    command = [os.path.join(TOP, "tools/vm/run.sh"), "--kernel", KERNEL, "--smp", "2",
               "--env", "ROOST_BACKEND=kernel", "--env", "ROOST_STUCK=15",
               "--env", "ROOST_SLOW=4"]
    for name, value in test.env.items():
        command += ["--env", name + "=" + value]
    if test.place == "carriers":
        command += ["--module-args", "carriers=1", "--env", "ROOST_TAKEOVER=must"]
    if module:
        command += ["--ko", module]
    return command + ["--timeout", "120", "--file", program + ":mutant", "--",
                      "./mutant"] + test.names


def build_module(log):
    """Build what tools/vm/run.sh loads."""
    command = [os.path.join(TOP, "tools/kernel/kmod.sh"), "--kver", KERNEL]
    if run_command(command, TOP, log, 1200) != 0:
        raise Fault("the module does not build: see %s" % log)


def run_test(tree, test, log, options):
    """Return None if it passed, else what it said."""
    program = build(tree, test, log)
    begin = len(read(log))
    env = dict(os.environ, ROOST_STUCK="15", ROOST_LIMIT="40", ROOST_BACKEND="futex",
               **test.env)
    command = [program] + test.names
    limit = options.limit
    if test.in_vm():
        command = vm_command(program, test, options.ko)
        limit += 600
    code = run_command(command, os.path.dirname(program), log, limit, env)
    return None if code == 0 else ends_how(code, last_words(log, begin))


class Runner:
    """The copies, and who works in them."""

    def __init__(self, top, options):
        self.top = top
        self.options = options
        self.out = os.path.join(top, "build/mutants")
        self.trees = queue.Queue()
        self.jobs = options.jobs
        self.say_lock = threading.Lock()
        os.makedirs(self.out, exist_ok=True)
        for i in range(self.jobs):
            self.trees.put(os.path.join(self.out, "tree-%d" % (i + 1)))

    def say(self, text):
        with self.say_lock:
            print(text, flush=True)

    def log_of(self, name):
        path = os.path.join(self.out, name + ".log")
        write(path, "")
        return path

    def in_tree(self, work, argument):
        tree = self.trees.get()
        try:
            bring_up_to_date(self.top, tree)
            return work(tree, argument)
        finally:
            self.trees.put(tree)

    def all(self, work, arguments):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda a: self.in_tree(work, a), arguments))

    def without(self, tree, test):
        """The test on the library as it is.  Return what it says, or None."""
        log = self.log_of("without-" + re.sub(r"[^A-Za-z0-9]+", "-", test.text))
        begin = time.monotonic()
        try:
            told = run_test(tree, test, log, self.options)
        except Fault as fault:
            told = str(fault)
        self.say("%-9s %4d s  %s%s" % ("fails" if told else "passes",
                                       time.monotonic() - begin, test,
                                       ": " + told if told else ""))
        return told

    def try_tests(self, tree, mutation, log):
        for edit in mutation.edits:
            edit.apply(tree)
        for test in mutation.tests:
            told = run_test(tree, test, log, self.options)
            if told:
                mutation.outcome = "caught"
                mutation.how = "%s: %s" % (test, told)
                return
        mutation.outcome = "SURVIVED"
        if mutation.survives:
            mutation.outcome, mutation.how = "survived", mutation.survives

    def mutate(self, tree, mutation):
        begin = time.monotonic()
        try:
            self.try_tests(tree, mutation, self.log_of(mutation.name))
        except Fault as fault:
            mutation.outcome, mutation.how = "ERROR", str(fault)
        mutation.seconds = time.monotonic() - begin
        self.say(line_of(mutation))


def line_of(mutation):
    return "%-9s %4d s  %-44s %s" % (mutation.outcome, mutation.seconds, mutation.name,
                                     mutation.how)


def distinct_tests(mutations):
    tests = {test.text: test for m in mutations for test in m.tests}
    # Those of one kind one after the other: less is compiled.
    return sorted(tests.values(), key=lambda t: (t.place, t.folder, t.program))


def check(runner, mutations, control):
    tests = distinct_tests(mutations)
    if any(test.in_vm() for test in tests) and not runner.options.ko:
        build_module(runner.log_of("module"))
    if control and any(runner.all(runner.without, tests)):
        print("tests fail without a fault: nothing can be said")
        return 1
    runner.all(runner.mutate, mutations)
    text = "".join(line_of(m) + "\n" for m in mutations)
    write(os.path.join(runner.out, "results"), text)
    count = {}
    for mutation in mutations:
        count[mutation.outcome] = count.get(mutation.outcome, 0) + 1
    print("%d mutations: %d caught, %d survived for a reason, %d survived, %d errors" %
          (len(mutations), count.get("caught", 0), count.get("survived", 0),
           count.get("SURVIVED", 0), count.get("ERROR", 0)))
    return 1 if count.get("SURVIVED") or count.get("ERROR") else 0


def list_all(mutations):
    for mutation in mutations:
        print("%-44s %s" % (mutation.name, mutation.trips))


def fit(runner, mutations):
    """Only whether all of them fit the sources."""
    bad = 0
    tree = os.path.join(runner.out, "fit")
    for mutation in mutations:
        bring_up_to_date(runner.top, tree)
        try:
            for edit in mutation.edits:
                edit.apply(tree)
        except Fault as fault:
            print("%s: %s" % (mutation.name, fault))
            bad = 1
    shutil.rmtree(tree, ignore_errors=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="shell patterns; default: all")
    parser.add_argument("--list", action="store_true", help="only print them")
    parser.add_argument("--fit", action="store_true", help="only whether they fit")
    parser.add_argument("--jobs", type=int, default=2, help="at a time (2)")
    parser.add_argument("--no-vm", action="store_true",
                        help="leave out those that are tested in VMs")
    parser.add_argument("--ko", help="the module for VMs (%s), else it is built" % KERNEL)
    parser.add_argument("--no-control", action="store_true",
                        help="do not run the tests without a fault first")
    parser.add_argument("--limit", type=int, default=LIMIT,
                        help="seconds that a test may take (%d)" % LIMIT)
    parser.add_argument("--top", default=TOP, help="the sources")
    parser.add_argument("--mutations", help="instead of tools/check/mutations")
    options = parser.parse_args()

    path = options.mutations or os.path.join(options.top, "tools/check/mutations")
    try:
        mutations = parse(path)
    except (Fault, OSError) as fault:
        sys.exit("mutants: %s" % fault)
    names = options.names or ["*"]
    mutations = [m for m in mutations if any(fnmatch.fnmatch(m.name, n) for n in names)]
    if options.no_vm:
        mutations = [m for m in mutations if not any(t.in_vm() for t in m.tests)]
    if not mutations:
        sys.exit("mutants: none is called so")
    if options.list:
        list_all(mutations)
        return 0
    runner = Runner(os.path.realpath(options.top), options)
    if options.fit:
        return fit(runner, mutations)
    try:
        return check(runner, mutations, not options.no_control)
    except Fault as fault:
        sys.exit("mutants: %s" % fault)


if __name__ == "__main__":
    sys.exit(main())
