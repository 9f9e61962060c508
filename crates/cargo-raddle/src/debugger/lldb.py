# In lldb: a stop at one of raddle's places selects the frame of the program; `raddle-next`, `raddle-continue` and `raddle-tasks`.
import re

import lldb

OWN = re.compile(r"OWN_FUNCTIONS")
OWN_FILES = re.compile(r"OWN_SOURCES")
REGISTERS = ("rip", "rsp", "rbp")
STATES = {"runs": "it runs", "left": "it waits for its turn", "unknown": "its stack cannot be read on this platform"}


def is_own(frame):
    # Where there are line tables alone, names do not say whose a function is.
    is_file = OWN_FILES.search(str(frame.GetLineEntry().GetFileSpec())) is not None
    return is_file or OWN.match(frame.GetFunctionName() or "std::") is not None


class Shown:
    def __init__(self, target, arguments, internal):
        pass

    def handle_stop(self, context, stream):
        thread = context.GetThread()
        if thread.GetStopReason() == lldb.eStopReasonBreakpoint:
            frame = next((frame for frame in thread if not is_own(frame)), None)
            if frame is not None:
                thread.SetSelectedFrame(frame.GetFrameID())
        return True


def raddle_next(debugger, command, context, result, internal):
    """Goes on to the end of the next step of any task."""
    debugger.HandleCommand("breakpoint enable step")
    debugger.HandleCommand("continue")


def raddle_continue(debugger, command, context, result, internal):
    """Goes on to a panic or to the failure, past all further steps."""
    debugger.HandleCommand("breakpoint disable step")
    debugger.HandleCommand("continue")


def set_registers(debugger, thread, values):
    for register, value in zip(REGISTERS, values):
        # Those of the newest frame, which each of these changes; in the frame that is selected they would be written to the stack.
        newest = lldb.SBExecutionContext(thread.GetFrameAtIndex(0))
        command = "register write %s 0x%x" % (register, value)
        debugger.GetCommandInterpreter().HandleCommand(command, newest, lldb.SBCommandReturnObject(), False)


def said_by_raddle(target, thread):
    symbol = target.FindSymbols("RADDLE_TASKS").GetContextAtIndex(0).GetSymbol()
    address = symbol.GetStartAddress().GetLoadAddress(target)
    options = lldb.SBExpressionOptions()
    options.SetLanguage(lldb.eLanguageTypeC)
    answer = thread.GetFrameAtIndex(0).EvaluateExpression("((unsigned long (*)(void)) 0x%x)()" % address, options)
    error = lldb.SBError()
    return thread.GetProcess().ReadCStringFromMemory(answer.GetValueAsUnsigned(), 1 << 20, error)


def raddle_tasks(debugger, command, context, result, internal):
    """Shows where each task of the execution is, without raddle's own frames."""
    thread = context.GetThread()
    level = context.GetFrame().GetFrameID()
    here = [thread.GetFrameAtIndex(0).FindRegister(register).GetValueAsUnsigned() for register in REGISTERS]
    lines = said_by_raddle(context.GetTarget(), thread).splitlines()
    if not lines:
        result.AppendMessage("no task has a stack now")
    for line in lines:
        state, *there, name = line.split(" ", 1 + len(REGISTERS))
        result.AppendMessage("%s: %s" % (name, STATES[state]))
        if state == "unknown":
            continue
        if state == "left":
            set_registers(debugger, thread, [int(value, 16) for value in there])
        for frame in thread:
            if not is_own(frame):
                place = frame.GetLineEntry()
                where = " at %s:%d" % (place.GetFileSpec(), place.GetLine()) if place.IsValid() else ""
                # Without the hash at the end of a symbol.
                name = re.sub(r"::h[0-9a-f]{16}$", "", frame.GetFunctionName())
                result.AppendMessage("  #%d %s%s" % (frame.GetFrameID(), name, where))
        if state == "left":
            set_registers(debugger, thread, here)
    thread.SetSelectedFrame(level)


def __lldb_init_module(debugger, internal):
    for name in ("next", "continue", "tasks"):
        debugger.HandleCommand("command script add -f %s.raddle_%s raddle-%s" % (__name__, name, name))
    debugger.HandleCommand("target stop-hook add -P %s.Shown" % __name__)
