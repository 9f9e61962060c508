# In gdb: a stop at one of raddle's places selects the frame of the program, `step` goes over raddle's own functions, and
# `raddle-tasks` shows where each task is.
import re

import gdb

OWN = re.compile(r"OWN_FUNCTIONS")
OWN_FILES = re.compile(r"OWN_SOURCES")
REGISTERS = ("rip", "rsp", "rbp")
STATES = {"runs": "it runs", "left": "it waits for its turn", "unknown": "its stack cannot be read on this platform"}


def is_own(frame):
    # Where there are line tables alone, names do not say whose a function is.
    symtab = frame.find_sal().symtab
    is_file = symtab is not None and OWN_FILES.search(symtab.filename) is not None
    return is_file or OWN.match(frame.name() or "std::") is not None


def show(event):
    if not isinstance(event, gdb.BreakpointEvent):
        return
    frame = gdb.newest_frame()
    while frame is not None and is_own(frame):
        frame = frame.older()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


def set_registers(values):
    for register, value in zip(REGISTERS, values):
        # Registers are written in the newest frame alone, which each of these changes.
        gdb.newest_frame().select()
        gdb.execute("set $%s = %d" % (register, value), to_string=True)


def show_stack():
    """The frames of the program, with the numbers that raddle's own frames leave them."""
    frame, number = gdb.newest_frame(), 0
    while frame is not None:
        if not is_own(frame):
            place = frame.find_sal()
            where = " at %s:%d" % (place.symtab.filename, place.line) if place.symtab else ""
            print("  #%d %s%s" % (number, frame.name(), where))
        try:
            frame = frame.older()
        except gdb.error:
            frame = None
        number += 1


def said_by_raddle():
    symbol = gdb.execute("info address RADDLE_TASKS", to_string=True)
    address = re.search(r"0x[0-9a-f]+", symbol).group()
    gdb.execute("set language c", to_string=True)
    try:
        return gdb.parse_and_eval("((char *(*)(void)) %s)()" % address).string()
    finally:
        gdb.execute("set language auto", to_string=True)


class Tasks(gdb.Command):
    """Shows where each task of the execution is, without raddle's own frames."""

    def __init__(self):
        super().__init__("raddle-tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        level = gdb.selected_frame().level()
        here = [int(gdb.newest_frame().read_register(register)) for register in REGISTERS]
        lines = said_by_raddle().splitlines()
        if not lines:
            print("no task has a stack now")
        for line in lines:
            state, *there, name = line.split(" ", 1 + len(REGISTERS))
            print("%s: %s" % (name, STATES[state]))
            if state == "unknown":
                continue
            try:
                if state == "left":
                    set_registers(int(value, 16) for value in there)
                show_stack()
            finally:
                if state == "left":
                    set_registers(here)
        gdb.execute("frame %d" % level, to_string=True)


gdb.execute("skip -rfu ^<?raddle(_[a-z]+)?::")
gdb.events.stop.connect(show)
Tasks()
