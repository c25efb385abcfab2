#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
# S1-20
"""models_test.py - Spin finds nothing in the models, and something with each fault in them.

Built as models_test: a copy.  The models are what lies beside it as *.pml.  A fault is a
word that a model asks for by #ifdef or #ifndef.  Without one all states are searched: no
assertion fails, nobody waits for ever, and no step of the model is out of reach.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEPTH = 100000
# the ends of what never ends, and what is there for completeness
OUT_OF_REACH = re.compile(r'state \d+, "(-end-|\(1\))"')


def say(text):
    for line in text.splitlines():
        print("# %s" % line)


def call(folder, *command):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        say("%s: exit code %d\n%s" % (command[0], done.returncode, done.stdout))
        return None
    return done.stdout


def search(path, fault):
    """What the search of all states says; None if there was none."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["-D%s" % fault] if fault else []
        if call(folder, "spin", *words, "-a", path) is None or \
           call(folder, "gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan",
                "pan.c") is None:
            return None
        return call(folder, "./pan", "-m%d" % DEPTH)


def holds(text):
    """All was searched, and nothing found."""
    missed = [line.strip() for line in text.splitlines()
              if re.search(r"pml:\d+, state", line) and not OUT_OF_REACH.search(line)]
    return "errors: 0" in text and "max search depth too small" not in text and \
        "Search not completed" not in text and not missed


def fails(text):
    return re.search(r"errors: [1-9]", text) is not None


def faults_of(path):
    with open(path, encoding="utf-8") as file:
        return sorted(set(re.findall(r"^#ifn?def (\w+)", file.read(), re.M)))


def main():
    paths = sorted(glob.glob(os.path.join(HERE, "*.pml")))
    cases = [(path, fault) for path in paths for fault in [None, *faults_of(path)]]
    bad = 0
    print("TAP version 13\n1..%d" % len(cases))
    for number, (path, fault) in enumerate(cases, 1):
        text = search(path, fault)
        good = text is not None and (fails if fault else holds)(text)
        if not good:
            bad += 1
            say(text or "no search")
        print("%s %d %s" % ("ok" if good else "not ok", number,
                            os.path.basename(path)[:-4] + (": " + fault if fault else "")),
              flush=True)
    return 1 if bad or not cases else 0


sys.exit(main())
