#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
# S0-87
"""What roost_trace_write() and ROOST_TRACE leave is JSON, and fits together."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "traced")
WORKERS = 3
SNAPSHOTS = 1000
# as the program names one, each byte a character
SLEEPER = "sl\"ee\\p\n\xc3\xa9"

FAILED = []


def check(holds, what):
    if not holds:
        FAILED.append(what)
        print(f"# {what}")


def run(*arguments, **environment):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                          timeout=100, check=False,
                          env=dict(os.environ, ROOST_BACKEND="futex", **environment))
    check(done.returncode == 0, f"{arguments}: exit code {done.returncode}")
    return done.stderr


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def tracks(events):
    """The events of each track, in order, without those that only name it."""
    found = {}
    for event in events:
        if event["ph"] != "M":
            found.setdefault(event["tid"], []).append(event)
    return found


def check_names(events):
    names = {e["tid"]: e["args"]["name"] for e in events
             if e["ph"] == "M" and e["name"] == "thread_name"}
    check(names == {**{i + 1: f"roost-w{i}" for i in range(WORKERS)},
                    WORKERS + 1: "others"}, f"names of tracks: {names}")
    check(set(tracks(events)) <= set(names), "a track without a name")
    check(len({e["pid"] for e in events}) == 1, "several processes")


def check_order(events):
    times = [e["ts"] for e in events if e["ph"] != "M"]
    check(all(a <= b for a, b in zip(times, times[1:])), "not in the order of time")


def check_slices(events):
    """Each beginning has its end before the next beginning. Return: how many."""
    count = 0
    for tid, track in tracks(events).items():
        inside = False
        for event in track:
            if event["ph"] == "B":
                check(not inside, f"track {tid}: a slice in a slice")
                inside = True
                count += 1
            elif event["ph"] == "E":
                check(inside, f"track {tid}: an end without a beginning")
                inside = False
            else:
                check(event["ph"] == "i", f"what is {event['ph']}?")
        check(not inside, f"track {tid}: a slice without an end")
    return count


def check_trace(path):
    events = load(path)
    check_names(events)
    check_order(events)
    return events, check_slices(events)


def named(events, name, ph="i"):
    return [e for e in events if e["ph"] == ph and e["name"] == name]


def check_all_kinds(events):
    """Of a trace in which nothing was overwritten."""
    for kind in ("spawn", "enqueue", "dequeue", "wake", "timer"):
        check(named(events, kind), f"no event: {kind}")
    slices = [e for e in events if e["ph"] == "B" and e["name"] != "sleeps"]
    taken = named(events, "dequeue") + named(events, "slot pop")
    check(slices and all("actor" in e["args"] for e in slices), "whose slice?")
    # each that was taken runs, but for what went back to a queue
    check(len(taken) >= len(slices), f"{len(taken)} taken, {len(slices)} run")
    check(named(events, "player", "B"), "no actor by its name")
    check(named(events, SLEEPER, "B"), "no actor whose name is odd")
    left = {e["args"]["left"] for e in events if e["ph"] == "E" and e.get("args")}
    check({"park", "yield", "done"} <= left, f"how slices end: {left}")
    born = {e["args"]["actor"] for e in named(events, "spawn")}
    check(len(born) >= 15, f"{len(born)} actors")
    by = {e["args"]["by"] for e in named(events, "wake")
          if e["args"]["what"] == "unpark"}
    check(by and None not in by and by <= born, f"who wakes: {by}")


def test_written_while_others_run(folder):
    path = os.path.join(folder, "trace")
    run("write", "65536", path)
    events, count = check_trace(path)
    check(count > 100, f"{count} slices")
    check_all_kinds(events)
    # who spins, and who writes, end with the trace
    last = max(e["ts"] for e in events if e["ph"] != "M")
    cut = [e for e in events if e["ph"] == "E" and not e.get("args")
           and e["ts"] == last]
    check(len(cut) >= 2, f"{len(cut)} slices are cut")


def test_after_it_was_stopped(folder):
    path = os.path.join(folder, "trace")
    run("stopped", "65536", path)
    events, count = check_trace(path)
    check(count > 100, f"{count} slices")
    check_all_kinds(events)


def test_overwritten(folder):
    path = os.path.join(folder, "trace")
    run("write", "64", path)
    events, count = check_trace(path)
    check(count > 0, "no slices")
    number = len([e for e in events if e["ph"] == "B" or e["ph"] == "i"])
    check(number <= 64 * (WORKERS + 1), f"{number} events of {WORKERS + 1} x 64")


def test_by_a_thread_outside(folder):
    path = os.path.join(folder, "trace")
    run("outside", "256", path)
    _events, count = check_trace(path)
    check(count > 0, "no slices")


def test_by_the_environment(folder):
    path = os.path.join(folder, "trace")
    said = run("plain", ROOST_TRACE=path)
    check(said == "", f"it says: {said}")
    events, count = check_trace(path)
    check(count > 100, f"{count} slices")
    check_all_kinds(events)


def test_where_nothing_can_be_written(folder):
    path = os.path.join(folder, "no", "trace")
    said = run("plain", ROOST_TRACE=path)
    check("the trace is not in" in said and path in said, f"it says: {said}")
    check(run("plain", ROOST_TRACE="") == "", "an empty name")


def test_names_are_nobody_elses(folder):
    path = os.path.join(folder, "trace")
    run("names", "32", path)
    differences = set()
    for number in range(SNAPSHOTS):
        for event in load(f"{path}.{number}"):
            if event["ph"] == "B" and event["name"].startswith("number "):
                generation = int(event["args"]["actor"], 16) >> 32
                differences.add(generation - int(event["name"][7:]))
    check(len(differences) == 1, f"names of {len(differences)} others")


def test_runs_that_end_at_once(folder):
    path = os.path.join(folder, "trace")
    for _ in range(20):
        run("twice", ROOST_TRACE=path)
        load(path)
    check(os.listdir(folder) == ["trace"], f"there is {os.listdir(folder)}")


def test_what_is_no_regular_file(folder):
    path = os.path.join(folder, "pipe")
    os.mkfifo(path)
    said = run("plain", ROOST_TRACE=path)
    check("the trace is not in" in said, f"it says: {said}")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen([PROGRAM, "plain"], stderr=subprocess.DEVNULL,
                          env=dict(os.environ, ROOST_BACKEND="futex",
                                   ROOST_TRACE=path)) as program:
        os.set_blocking(reader, True)
        with os.fdopen(reader, encoding="utf-8") as file:
            # opened before there was a writer, so the end may come too early
            text = ""
            while program.poll() is None or not text:
                text += file.read()
            text += file.read()
    json.loads(text)
    check(program.returncode == 0, f"exit code {program.returncode}")


def test_threads_that_record_when_a_run_ends(_folder):
    done = subprocess.run([os.path.join(HERE, "traced_late")], capture_output=True,
                          text=True, timeout=100, check=False,
                          env=dict(os.environ, ROOST_BACKEND="futex"))
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")


def main():
    tests = [test_written_while_others_run, test_after_it_was_stopped,
             test_overwritten, test_by_a_thread_outside, test_by_the_environment,
             test_where_nothing_can_be_written, test_names_are_nobody_elses,
             test_runs_that_end_at_once, test_what_is_no_regular_file,
             test_threads_that_record_when_a_run_ends]
    status = 0
    print(f"TAP version 13\n1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        FAILED.clear()
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                check(False, f"{type(error).__name__}: {error}")
        status |= bool(FAILED)
        print(f"{'not ok' if FAILED else 'ok'} {number} {test.__name__[5:]}",
              flush=True)
    sys.exit(status)


main()
