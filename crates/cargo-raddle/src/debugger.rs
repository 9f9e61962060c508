//! A replay in a debugger, with breakpoints where raddle lets one stop: see `raddle_engine::debug`.
//!
//! There the test binary runs as by `cargo test`, not as a host: a debugger wants the process for
//! itself. The watchdog is off, since nothing moves while one looks.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::cli::Debugger;
use crate::find::Test;
use crate::wrong::Wrong;

/// The commands with which the debugger begins.
pub(crate) fn script(debugger: Debugger, step: Option<u64>) -> String {
    match debugger {
        Debugger::Gdb => gdb(step),
        Debugger::Lldb => lldb(step),
    }
}

fn gdb(step: Option<u64>) -> String {
    // A breakpoint that is ignored so often as there are steps before: the number of the step is
    // known without the names of variables, which an optimised build does not have.
    let wanted = match step {
        Some(step) => format!("ignore $bpnum {step}\n"),
        None => "disable $bpnum\n".to_owned(),
    };
    format!(
        "set pagination off
set confirm off
set breakpoint pending on
# A panic, on the stack of the task that panics.
break raddle_engine::debug::raddle_panicked
# Any failure, a deadlock too: no task runs, and all are where they were.
break raddle_engine::debug::raddle_failed
# After each op, before the code that follows it.
break raddle_engine::debug::raddle_step
set $raddle_step_breakpoint = $bpnum
{wanted}define raddle-next
  enable $raddle_step_breakpoint
  continue
end
document raddle-next
Goes on to the end of the next step of any task.
end
run
"
    )
}

fn lldb(step: Option<u64>) -> String {
    let wanted = match step {
        Some(step) => format!("-i {step} "),
        None => "-d ".to_owned(),
    };
    format!(
        "breakpoint set -N panicked -n raddle_engine::debug::raddle_panicked
breakpoint set -N failed -n raddle_engine::debug::raddle_failed
breakpoint set -N step {wanted}-n raddle_engine::debug::raddle_step
command alias raddle-next breakpoint enable step
run
"
    )
}

/// Starts the debugger in place of this process.
pub(crate) fn start(
    debugger: Debugger,
    script: &str,
    test: &Test,
    recording: &str,
) -> Result<u8, Wrong> {
    let name = match debugger {
        Debugger::Gdb => "gdb",
        Debugger::Lldb => "lldb",
    };
    let file = std::env::temp_dir().join(format!("raddle-{}.{name}", std::process::id()));
    std::fs::write(&file, script)
        .map_err(|error| Wrong::tool(format!("{}: {error}", file.display())))?;
    let as_cargo_does = test.binary.command();
    let mut command = Command::new(name);
    command.args(if debugger == Debugger::Gdb { ["-q", "-x"] } else { ["-Q", "-s"] }).arg(&file);
    command
        .arg(if debugger == Debugger::Gdb { "--args" } else { "--" })
        .arg(&test.binary.path)
        .args(["--exact", &test.id.test, "--nocapture", "--include-ignored", "--test-threads=1"])
        .env("RADDLE_REPLAY", recording)
        .env("RADDLE_WATCHDOG", "none");
    for (name, value) in as_cargo_does.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    if let Some(directory) = as_cargo_does.get_current_dir() {
        command.current_dir(directory);
    }
    // Returns only if there is no such program.
    let error = command.exec();
    Err(Wrong::tool(format!("{name} could not be started: {error}; is it installed?")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_reached_by_counting() {
        assert!(gdb(Some(7)).contains("raddle_step\nset $raddle_step_breakpoint = $bpnum\nignore $bpnum 7\n"));
        assert!(gdb(None).contains("disable $bpnum\n"));
        assert!(lldb(Some(7)).contains("-N step -i 7 -n raddle_engine::debug::raddle_step\n"));
        assert!(lldb(None).contains("-N step -d -n"));
    }
}
