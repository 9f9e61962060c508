//! Pages in a real browser: what a person sees and can do with them.
//!
//! A test makes a page, adds a script that presses keys and looks around, and has Chromium load it
//! without a window and print the document. Where there is no browser the tests are skipped, and say so;
//! with `BROWSER_TESTS=required` they fail instead. `BROWSER_TESTS` may also name the program.

#[expect(dead_code, reason = "the unit tests use all of it")]
#[path = "../../src/samples.rs"]
mod samples;

mod chromium;
mod runs;
mod traces;

use std::io::{self, Write};
use std::panic::catch_unwind;
use std::process::ExitCode;

use chromium::{Browser, Found};

type Test = (&'static str, fn(&Browser));

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let names: Vec<&String> = arguments.iter().filter(|one| !one.starts_with('-')).collect();
    let exact = has("--exact");
    let wanted = |name: &str| {
        let matches = |asked: &&String| if exact { *asked == name } else { name.contains(*asked) };
        names.is_empty() || names.iter().any(matches)
    };
    let tests: Vec<Test> = traces::TESTS.iter().chain(runs::TESTS).copied().collect();
    let tests: Vec<Test> = tests.into_iter().filter(|(name, _)| wanted(name)).collect();
    if has("--list") {
        // None is ignored: a run that asks for ignored tests gets an empty list.
        for (name, _) in tests.iter().filter(|_| !has("--ignored")) {
            say(&format!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    say(&format!("\nrunning {} tests in a browser", tests.len()));
    let browser = match chromium::find() {
        Found::Browser(browser) => browser,
        Found::Nothing { required } => return skipped(&tests, required),
    };
    let mut n_failed = 0;
    for (name, test) in &tests {
        let passed = catch_unwind(|| test(&browser)).is_ok();
        n_failed += usize::from(!passed);
        say(&format!("test {name} ... {}", if passed { "ok" } else { "FAILED" }));
    }
    let result = if n_failed == 0 { "ok" } else { "FAILED" };
    let n_passed = tests.len() - n_failed;
    say(&format!("\ntest result: {result}. {n_passed} passed; {n_failed} failed; 0 skipped\n"));
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn skipped(tests: &[Test], required: bool) -> ExitCode {
    for (name, _) in tests {
        say(&format!("test {name} ... SKIPPED: no browser"));
    }
    say(&format!(
        "\nNo Chromium was found, so nothing was tested in a browser. Install it (on Debian: \
         `apt-get install chromium`, or run ci/browser.sh), or name the program in BROWSER_TESTS.\n\
         test result: {}. 0 passed; 0 failed; {} skipped\n",
        if required { "FAILED" } else { "skipped" },
        tests.len()
    ));
    if required { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
