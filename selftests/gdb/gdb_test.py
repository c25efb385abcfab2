#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
# C40
"""What gdb prints of actors, in a process and in its core: tools/gdb/roost.py."""

import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "../../tools/gdb/roost.py")
PROGRAM = os.path.join(HERE, "actors")
ASK = ["roost actors", "roost bt all", "roost bt 2", "roost bt 0x100000002",
       "roost bt 99", "roost bt", "bt"]


def gdb(*arguments, commands=()):
    line = ["gdb", "-q", "-nx", "-batch"]
    for command in commands:
        line += ["-ex", command]
    # what it asks a server for would take as long as that likes
    environment = dict(os.environ, DEBUGINFOD_URLS="", ROOST_BACKEND="futex")
    done = subprocess.run(line + list(arguments), capture_output=True, text=True,
                          timeout=100, env=environment, check=False)
    return done.stdout + done.stderr


def backtrace(text, number):
    """The lines of one actor in what `roost bt all' has printed."""
    found = re.search(rf"^actor {number} .*\n((?:[# ].*\n)*)", text, re.MULTILINE)
    return found.group(1) if found else ""


def functions(lines):
    return re.findall(r"^#\d+ +0x[0-9a-f]+ in (\S+) \(\)", lines, re.MULTILINE)


def in_order(names, wanted):
    """Do those wanted follow each other in names, others between them or not?"""
    rest = iter(names)
    return all(any(name == one for name in rest) for one in wanted)


FAILED = []


def check(holds, what, text):
    if not holds:
        FAILED.append(what)
        print(f"# {what}:")
        print("".join(f"#   {line}\n" for line in text.splitlines()), end="")


def check_list(text):
    for number, does, waits, name in (
            (0, r"on thread \d+", "", ""), (1, "waiting", "unpark", "deep"),
            (2, "waiting", "time", "sleeper"), (3, "ended", "", ""),
            (4, r"on thread \d+", "", ""), (5, "ready", "", "")):
        # who never left its worker has not been charged for anything
        used = r"[1-9]\d*" if does in ("waiting", "ended") else r"\d+"
        check(re.search(rf"^ +{number} 0x[0-9a-f]+ +{does} *{waits} +\d+ +{used} *{name}$",
                        text, re.MULTILINE), f"no line for actor {number}", text)


def check_backtraces(text):
    for number, wanted in (
            (0, ["look_now", "root", "actor_main"]),
            (1, ["roost_park"] + ["inner"] * 4 + ["parks_deep", "actor_main"]),
            (2, ["roost_sleep_until", "sleeping", "sleeps", "actor_main"]),
            (4, ["spinning", "spins", "actor_main"])):
        lines = backtrace(text, number)
        names = functions(lines)
        check(in_order(names, wanted), f"backtrace of actor {number}", lines or text)
        check("inner" not in names or names.count("inner") == 4,
              "a frame comes twice", lines)
        check(names and names[-1] in ("actor_main", "roost_ctx_start"),
              f"actor {number}'s has no clean end", lines or text)
    check("no stack any more" in backtrace(text, 3), "the ended one", text)
    check(re.search("has not run yet: .*<ends>", backtrace(text, 5)),
          "the one that never ran", text)


def check_answers(text):
    check(len(re.findall("^actor 2 ", text, re.MULTILINE)) == 3,
          "by number and by pid", text)
    check("no actor has number 99" in text, "a wrong number", text)
    check("roost bt NUMBER|all" in text, "no number", text)
    # the debugger's own, which names arguments, is as before
    check(re.search(r"^#\d+ .* root \(arg=", text, re.MULTILINE), "gdb's own", text)


def test_process(_folder):
    text = gdb(PROGRAM, commands=["run", f"source {SCRIPT}"] + ASK)
    check("SIGABRT" in text, "the program does not get that far", text)
    check_list(text)
    check_backtraces(text)
    check_answers(text)


def no_core():
    """Why a process that crashes leaves none where it ran, or None."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        return f"cores go elsewhere: core_pattern is {pattern}"
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        return "RLIMIT_CORE"
    return None


def large_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


def test_core(folder):
    why = no_core()
    if why:
        return why
    subprocess.run([PROGRAM], cwd=folder, preexec_fn=large_cores, check=False,
                   env=dict(os.environ, ROOST_BACKEND="futex"), timeout=100)
    cores = os.listdir(folder)
    check(len(cores) == 1, "no core", " ".join(cores))
    if not cores:
        return None
    text = gdb(PROGRAM, os.path.join(folder, cores[0]),
               commands=[f"source {SCRIPT}"] + ASK)
    check_list(text)
    check_backtraces(text)
    check_answers(text)
    return None


def test_nothing(_folder):
    text = gdb(PROGRAM, commands=[f"source {SCRIPT}", "roost actors"])
    check("no process" in text, "nothing runs", text)
    check("Traceback" not in text, "a Python error", text)


def main():
    tests = [test_process, test_core, test_nothing]
    status = 0
    print(f"TAP version 13\n1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        FAILED.clear()
        with tempfile.TemporaryDirectory() as folder:
            why = test(folder)
        status |= bool(FAILED)
        print(f"{'not ok' if FAILED else 'ok'} {number} {test.__name__[5:]}" +
              (f" # SKIP {why}" if why else ""), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
