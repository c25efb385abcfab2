# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""What gdb needs to know about actors.

    (gdb) source tools/gdb/roost.py
    (gdb) roost actors          a line for each actor of each runtime
    (gdb) roost bt 3            the backtrace of actor 3, by the number in that list
    (gdb) roost bt all

In a process, or in a core. The library has to have debug information.

An actor that does not run is two words, its stack pointer and where it goes on, and what
its stack has saved: lib/arch/*/jump.h. Its backtrace is made by an unwinder that says of
the frame that the selected thread is in, that those words are its caller's registers; all
older frames gdb finds as usual. An actor that runs is on some thread, the one whose stack
pointer lies in the actor's stack.
"""

import gdb
from gdb.unwinder import Unwinder

STATES = ["vacant", "ready", "running", "running", "waiting", "ended"]
QUEUED, RUNNING, NOTIFIED, PARKED, DONE = 1, 2, 3, 4, 5
STATE_MASK, PARKING, STOP = 0x07, 0x10, 0x20
WAITS = ["I/O", "unpark", "time", "end", "file", "I/O"]
WAITS_UNPARK = 1


class Registers:
    """How a context that does not run has kept its frame pointer, and goes on."""

    BY_ARCHITECTURE = {
        # stack pointer, frame pointer, program counter; bytes pushed, the last instruction
        "i386:x86-64": ("rsp", "rbp", "rip", 8, 1),
        "aarch64": ("sp", "x29", "pc", 16, 4),
    }

    def __init__(self, frame):
        name = frame.architecture().name()
        if name not in self.BY_ARCHITECTURE:
            raise gdb.GdbError(f"actors are not known on {name}")
        (self.sp, self.fp, self.pc, self.pushed,
         self.length) = self.BY_ARCHITECTURE[name]


def word_at(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(),
                          "little")


def cycles_of(runtime, slot):
    """What its tenant has used, or None if that is not counted."""
    cycles = runtime["cycles"]
    return int(cycles[int(slot["index"])]) if int(cycles) else None


class Actor:
    """A slot that is not vacant."""

    def __init__(self, runtime, slot):
        word = int(slot["word"])
        self.slot = slot
        self.number = int(runtime["base"]) + int(slot["index"])
        self.generation = word >> 32
        self.word = word & 0xffffffff
        self.state = self.word & STATE_MASK
        self.low = int(slot["stack"]["low"])
        self.overruns = int(slot["overruns"])
        self.cycles = cycles_of(runtime, slot)
        self.thread = None

    @property
    def pid(self):
        return self.generation << 32 | self.number

    def name(self):
        raw = b"".join(int(self.slot["name"][i]).to_bytes(8, "little")
                       for i in range(2))
        # its last byte is none of the text's: see slot_set_name()
        return raw[:15].split(b"\0")[0].decode("ascii", "replace")

    def waits_for(self):
        if self.state != PARKED:
            return ""
        if self.word & PARKING:
            return WAITS[WAITS_UNPARK]
        return WAITS[int(self.slot["waits_for"])]

    def describe(self):
        if self.thread:
            return f"on thread {self.thread.num}"
        # on one worker, who is ready may be left Running
        return STATES[QUEUED if self.state in (RUNNING, NOTIFIED) else self.state]


def runtimes():
    try:
        head = gdb.parse_and_eval("&'registry.c'::runtimes")
    except gdb.error as error:
        raise gdb.GdbError("no debug information of the library, or no process: "
                           f"{error}")
    of = gdb.lookup_type("struct runtime")
    offset = [f for f in of.fields() if f.name == "registered"][0].bitpos // 8
    node = head["next"]
    while node != head:
        yield gdb.Value(int(node) - offset).cast(of.pointer()).dereference()
        node = node["next"]


def stack_pointers():
    """Of each thread; the selected one stays selected."""
    selected = gdb.selected_thread()
    if not selected:
        raise gdb.GdbError("no process, and no core")
    found = []
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        frame = gdb.newest_frame()
        found.append((thread, int(frame.read_register(Registers(frame).sp))))
    selected.switch()
    return found


def actors():
    """All of them, in order; those that run know on which thread."""
    threads = stack_pointers()
    for runtime in runtimes():
        fresh = min(int(runtime["slot_fresh"]), int(runtime["config"]["max_actors"]))
        for i in range(fresh):
            slot = runtime["slots"][i]
            if not int(slot["word"]) & STATE_MASK:
                continue
            actor = Actor(runtime, slot)
            actor.thread = thread_of(actor, threads)
            yield actor


def thread_of(actor, threads):
    """Whose stack pointer lies in the actor's stack, or None."""
    if actor.state == DONE:
        return None
    high = actor.low + int(actor.slot["stack"]["chunk"]["of"]["size"])
    for thread, sp in threads:
        if actor.low <= sp < high:
            return thread
    return None


class ActorUnwinder(Unwinder):
    """While it is set, the newest frame of the selected thread is called by an actor's."""

    def __init__(self):
        super().__init__("roost")
        self.registers = None
        self.newest = None
        self.caller = None

    def set(self, actor):
        frame = gdb.newest_frame()
        regs = Registers(frame)
        words = actor.slot["ctx"]["words"]
        sp, pc = int(words["sp"]), int(words["pc"])
        # where it goes on, one instruction takes the frame pointer off the stack
        self.caller = (sp + regs.pushed, word_at(sp), pc + regs.length)
        self.registers = regs
        self.newest = (int(frame.read_register(regs.sp)),
                       int(frame.read_register(regs.pc)))
        gdb.invalidate_cached_frames()

    def unset(self):
        self.newest = None
        gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if not self.newest:
            return None
        regs = self.registers
        sp, pc = pending.read_register(regs.sp), pending.read_register(regs.pc)
        if (int(sp), int(pc)) != self.newest:
            return None
        info = pending.create_unwind_info(FrameId(sp, pc))
        for name, value in zip((regs.sp, regs.fp, regs.pc), self.caller):
            old = pending.read_register(name)
            info.add_saved_register(name, gdb.Value(value).cast(old.type))
        return info


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


def has_run(actor):
    start = int(gdb.parse_and_eval("(unsigned long)&roost_ctx_start"))
    return int(actor.slot["ctx"]["words"]["pc"]) != start


UNWINDER = ActorUnwinder()


def print_frames(frame):
    level = 0
    while frame and frame.is_valid():
        line = f"#{level:<2} {frame.pc():#018x} in {frame.name() or '??'} ()"
        where = frame.find_sal()
        if where.symtab:
            line += f" at {where.symtab.filename}:{where.line}"
        print(line)
        level += 1
        try:
            frame = frame.older()
        except gdb.error as error:
            print(f"    ({error})")
            return


def print_running(actor):
    selected = gdb.selected_thread()
    actor.thread.switch()
    print_frames(gdb.newest_frame())
    selected.switch()


def print_suspended(actor):
    UNWINDER.set(actor)
    try:
        print_frames(gdb.newest_frame().older())
    finally:
        UNWINDER.unset()


def print_backtrace(actor):
    print(f"actor {actor.number} ({actor.pid:#x}) {actor.name()}".rstrip() +
          f": {actor.describe()} {actor.waits_for()}".rstrip())
    if actor.state == DONE:
        print("    (it has no stack any more)")
    elif actor.thread:
        print_running(actor)
    elif not has_run(actor):
        print(f"    (it has not run yet: {actor.slot['fn']})")
    else:
        print_suspended(actor)


class Roost(gdb.Command):
    """Actors: roost actors, roost bt NUMBER|all."""

    def __init__(self):
        super().__init__("roost", gdb.COMMAND_STACK, prefix=True)


class RoostActors(gdb.Command):
    """A line for each actor: its number, pid, what it does, waits for, how often it had
    to give way, the cycles that it has used if they are counted, its name."""

    def __init__(self):
        super().__init__("roost actors", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        print(f"{'number':>8} {'pid':<20} {'does':<14} {'waits for':<10} "
              f"{'overruns':>8} {'cycles':>14} name")
        for actor in actors():
            stop = " (stopped)" if actor.word & STOP else ""
            print(f"{actor.number:>8} {actor.pid:<#20x} {actor.describe():<14} "
                  f"{actor.waits_for():<10} {actor.overruns:>8} "
                  f"{'-' if actor.cycles is None else actor.cycles:>14} "
                  f"{actor.name()}{stop}".rstrip())


class RoostBacktrace(gdb.Command):
    """roost bt NUMBER|all: the backtrace of an actor, or of each."""

    def __init__(self):
        super().__init__("roost bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        argument = argument.strip()
        if argument == "all":
            for actor in list(actors()):
                print_backtrace(actor)
            return
        try:
            number = int(argument, 0) & 0xffffffff
        except ValueError:
            raise gdb.GdbError("roost bt NUMBER|all: a number of `roost actors', or "
                               "a pid")
        for actor in actors():
            if actor.number == number:
                print_backtrace(actor)
                return
        raise gdb.GdbError(f"no actor has number {number}")


Roost()
RoostActors()
RoostBacktrace()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
