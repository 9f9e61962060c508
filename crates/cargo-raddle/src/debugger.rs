//! A replay in a debugger, with breakpoints where raddle lets one stop: see `raddle_engine::debug`.
//!
//! There the test binary runs as by `cargo test`, not as a host: a debugger wants the process for
//! itself. The watchdog is off, since nothing moves while one looks.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use memchr::memmem;

use crate::cli::Debugger;
use crate::error::DriverError;
use crate::find::Test;

/// The places to stop at, as the binary calls them. With line tables alone a debugger does not know
/// functions by their paths, and the names of symbols end in a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    panicked: String,
    failed: String,
    step: String,
    /// Called by the debugger: see `raddle_engine::inspect::raddle_tasks`.
    tasks: String,
}

impl Places {
    /// Looks for them among the symbols of a binary; by their paths if it has none.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let place = |module: &str, name: &str| {
            // As both ways of mangling write the end of the path.
            let part = format!("{module}{}{name}", name.len());
            let found = memmem::find_iter(bytes, part.as_bytes()).find_map(|at| symbol(bytes, at));
            found.unwrap_or_else(|| format!("raddle_engine::{module}::{name}"))
        };
        Self {
            panicked: place("debug", "raddle_panicked"),
            failed: place("debug", "raddle_failed"),
            step: place("debug", "raddle_step"),
            tasks: place("inspect", "raddle_tasks"),
        }
    }
}

/// The symbol in which there is a byte, if it is one of a function of Rust.
fn symbol(bytes: &[u8], at: usize) -> Option<String> {
    let from = bytes[..at].iter().rposition(|&byte| byte == 0)? + 1;
    let to = at + bytes[at..].iter().position(|&byte| byte == 0)?;
    let name = std::str::from_utf8(&bytes[from..to]).ok()?;
    let mangled = name.starts_with("_ZN") || name.starts_with("_R");
    (mangled && name.contains("raddle_engine")).then(|| name.to_owned())
}

/// The commands with which the debugger begins.
pub(crate) fn script(debugger: Debugger, step: Option<u64>, places: &Places) -> String {
    match debugger {
        Debugger::Gdb => gdb(step, places),
        Debugger::Lldb => lldb(step, places),
    }
}

fn gdb(step: Option<u64>, places: &Places) -> String {
    let Places { panicked, failed, step: at_step, .. } = places;
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
break {panicked}
# Any failure, a deadlock too: no task runs, and all are where they were.
break {failed}
# After each op, before the code that follows it.
break {at_step}
set $raddle_step_breakpoint = $bpnum
{wanted}define raddle-next
  enable $raddle_step_breakpoint
  continue
end
document raddle-next
Goes on to the end of the next step of any task.
end
define raddle-continue
  disable $raddle_step_breakpoint
  continue
end
document raddle-continue
Goes on to a panic or to the failure, past all further steps.
end
run
"
    )
}

fn lldb(step: Option<u64>, places: &Places) -> String {
    let Places { panicked, failed, step: at_step, .. } = places;
    let wanted = match step {
        Some(step) => format!("-i {step} "),
        None => "-d ".to_owned(),
    };
    format!(
        "breakpoint set -N panicked -n {panicked}
breakpoint set -N failed -n {failed}
breakpoint set -N step {wanted}-n {at_step}
settings set target.process.thread.step-avoid-regexp {OWN_FUNCTIONS}
run
"
    )
}

/// Functions that are not the program's, as an expression that both debuggers know.
const OWN_FUNCTIONS: &str =
    r"^[<&*]*(mut |dyn )?(raddle(_[a-z]+)?|core|alloc|std|corosensei)::|^__rust_";

/// The files that they are in.
const OWN_SOURCES: &str = r"^/rustc/|(^|/)(raddle(-(engine|threads|search|actors|isolate|loom|shuttle))?|corosensei)(-[0-9.]+)?/src/";

/// What a debugger with Python can do besides: a stop at one of raddle's places selects the frame of the program, and a command
/// shows where all tasks are.
fn extension(debugger: Debugger, places: &Places) -> String {
    let python = match debugger {
        Debugger::Gdb => include_str!("debugger/gdb.py"),
        Debugger::Lldb => include_str!("debugger/lldb.py"),
    };
    python
        .replace("OWN_FUNCTIONS", OWN_FUNCTIONS)
        .replace("OWN_SOURCES", OWN_SOURCES)
        .replace("RADDLE_TASKS", &places.tasks)
}

/// Writes what the debugger reads, and makes the command line up to the program. Each is a file of its own: a debugger without
/// Python says that it cannot read the one, and goes on with the other.
fn command(debugger: Debugger, script: &str, places: &Places) -> Result<Command, DriverError> {
    let name = match debugger {
        Debugger::Gdb => "gdb",
        Debugger::Lldb => "lldb",
    };
    let write = |file: &Path, text: &str| {
        fs::write(file, text)
            .map_err(|error| DriverError::tool(format!("{}: {error}", file.display())))
    };
    // A name that Python imports, so without a dash.
    let base = std::env::temp_dir().join(format!("raddle_{}", std::process::id()));
    let (commands, python) = (base.with_extension(name), base.with_extension("py"));
    write(&commands, script)?;
    write(&python, &extension(debugger, places))?;
    let mut command = Command::new(name);
    match debugger {
        Debugger::Gdb => {
            command.arg("-q").arg("-x").arg(python).arg("-x").arg(commands).arg("--args")
        }
        Debugger::Lldb => command
            .args(["-Q", "-O", "settings set interpreter.stop-command-source-on-error false"])
            .arg("-O")
            .arg(format!("command script import {}", python.display()))
            .arg("-s")
            .arg(commands)
            .arg("--"),
    };
    Ok(command)
}

/// Starts the debugger in place of this process.
pub(crate) fn start(
    debugger: Debugger,
    (step, places): (Option<u64>, &Places),
    test: &Test,
    recording: &str,
) -> Result<u8, DriverError> {
    let mut command = command(debugger, &script(debugger, step, places), places)?;
    let as_cargo_does = test.binary.command();
    command
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
    let name = command.get_program().display();
    Err(DriverError::tool(format!("{name} could not be started: {error}; is it installed?")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_reached_by_counting() {
        let places = Places::of(b"nothing");
        let gdb = gdb(Some(7), &places);
        assert!(gdb.contains("break raddle_engine::debug::raddle_step\nset $"), "{gdb}");
        assert!(gdb.contains("ignore $bpnum 7\n"), "{gdb}");
        assert!(super::gdb(None, &places).contains("disable $bpnum\n"));
        assert!(
            gdb.contains("define raddle-continue\n  disable $raddle_step_breakpoint\n"),
            "{gdb}"
        );
        let lldb = lldb(Some(7), &places);
        assert!(lldb.contains("-N step -i 7 -n raddle_engine::debug::raddle_step\n"), "{lldb}");
        assert!(super::lldb(None, &places).contains("-N step -d -n"));
    }

    #[test]
    fn places_are_found_as_the_compiler_mangles_them() {
        let step = |text: &[u8]| Places::of(text).step;
        let old = "_ZN13raddle_engine5debug11raddle_step17hb78f8fe791c786f6E";
        assert_eq!(step(format!("\0text debug11raddle_step\0x\0{old}\0").as_bytes()), old);
        let new = "_RNvNtCs1_13raddle_engine5debug11raddle_step";
        assert_eq!(step(format!("\0{new}\0").as_bytes()), new);
    }
}
