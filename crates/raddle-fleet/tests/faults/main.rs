//! Faults with real parts: `nats-server`, alone and as a cluster of three, and workers and a coordinator in processes of their own.
//!
//! What is searched is a tree with a known number of leaves, so that after every fault the result can be compared
//! with that of the undisturbed search: leaves, their sum, and the set of failures, each equal. Faults are
//! placed by the progress of the run, not by time. `DEADLINE` only ends what hangs.
//!
//! Where there is no `nats-server` the tests are skipped, and say so; with `NATS_TESTS=required` they fail
//! instead. `NATS_TESTS` may also name the program. What needs a right that this user does not have (a network of its own,
//! a small disk) is skipped by name; for root, with `NATS_TESTS=required`, that is a failure, too. `FLEET_SOAK=120s` repeats the faults for so long.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::unnecessary_wraps, reason = "some tests say that they could not be tried")]

mod bad_input;
mod faults;
mod fleet;
mod links;
mod process;
mod secrets;
mod server;
mod watch;

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Duration;

use server::Program;

/// Passed, or why it was not tried.
pub(crate) type Tried = Result<(), Untried>;

/// Why a test was not tried.
#[derive(Debug)]
pub(crate) enum Untried {
    /// It takes long, and nobody asked for it.
    NotAsked(String),
    /// This user cannot make the fault, or a program for it is missing.
    Cannot(String),
}

impl From<String> for Untried {
    fn from(why: String) -> Self {
        Self::Cannot(why)
    }
}

type Test = (&'static str, fn(&Program) -> Tried);

/// What hangs is ended after this.
pub(crate) const DEADLINE: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = process::main(&arguments) {
        return code;
    }
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let names: Vec<&String> = arguments.iter().filter(|one| !one.starts_with('-')).collect();
    let exact = has("--exact");
    let wanted = |name: &str| {
        let matches = |asked: &&String| if exact { *asked == name } else { name.contains(*asked) };
        names.is_empty() || names.iter().any(matches)
    };
    let tests = bad_input::TESTS
        .iter()
        .chain(secrets::TESTS)
        .chain(faults::TESTS)
        .chain(links::TESTS)
        .copied();
    let tests: Vec<Test> = tests.filter(|(name, _)| wanted(name)).collect();
    if has("--list") {
        for (name, _) in tests.iter().filter(|_| !has("--ignored")) {
            say(&format!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    say(&format!("\nrunning {} tests with nats-server", tests.len()));
    let (program, required) = server::find();
    let mut failed = 0;
    let mut skipped = 0;
    for (name, test) in &tests {
        let tried = match &program {
            Some(program) => watch::within(name, || catch_unwind(|| test(program))),
            None => Ok(Err(Untried::NotAsked("no nats-server".to_owned()))),
        };
        match tried {
            Ok(Ok(())) => say(&format!("test {name} ... ok")),
            // Where all are required, root must be able to make every fault: one that is left out unseen is no test.
            Ok(Err(Untried::Cannot(why))) if required && is_root() => {
                failed += 1;
                say(&format!("test {name} ... FAILED: {why}, and NATS_TESTS=required"));
            }
            Ok(Err(Untried::NotAsked(why) | Untried::Cannot(why))) => {
                skipped += 1;
                say(&format!("test {name} ... SKIPPED: {why}"));
            }
            Err(_) => {
                failed += 1;
                say(&format!("test {name} ... FAILED"));
            }
        }
    }
    if program.is_none() {
        say(
            "\nInstall nats-server (on Debian: `apt-get install nats-server`, or run ci/nats.sh), or name \
             the program in NATS_TESTS.",
        );
        failed += usize::from(required);
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    let passed = (tests.len() - skipped).saturating_sub(failed);
    say(&format!("\ntest result: {result}. {passed} passed; {failed} failed; {skipped} skipped\n"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
