//! `cargo xtask tidy`, `size`, `instructions`, `mutate` and `nightly`.

use std::path::Path;
use std::process::ExitCode;

use xtask::{instructions, mutate, nightly, tidy};

const USAGE: &str = "usage: cargo xtask tidy
       cargo xtask size [CHECKOUT]
       cargo xtask instructions CHECKOUT
       cargo xtask mutate [--markdown] [--every-test] [--done FILE] [NAME ...]
       cargo xtask nightly [--time 4h] [--resume] [--keep COMMIT] [--jobs 2] [--pages quick|full|none] [PART ...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidied(),
        ["size"] => sized(&xtask::root()),
        ["size", other] => sized(Path::new(other)),
        ["instructions", before] => counted(Path::new(before)),
        ["mutate", rest @ ..] => match mutate::wanted(rest) {
            Ok(wanted) => mutated(&wanted),
            Err(why) => refuse(&why),
        },
        ["nightly", rest @ ..] => match nightly::wanted(rest) {
            Ok(wanted) => ran_nightly(&wanted),
            Err(why) => refuse(&why),
        },
        _ => refuse(USAGE),
    }
}

fn tidied() -> ExitCode {
    let root = xtask::root();
    let complaints = match tidy::check(&root) {
        Ok(complaints) => complaints,
        Err(why) => return refuse(&why),
    };
    for complaint in &complaints {
        say(complaint);
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn sized(root: &Path) -> ExitCode {
    match xtask::size::table(root) {
        Ok(table) => {
            print(&table);
            ExitCode::SUCCESS
        }
        Err(why) => refuse(&why),
    }
}

fn counted(before: &Path) -> ExitCode {
    let root = xtask::root();
    let page = root.join("docs/results/core.md");
    let section = instructions::section(&root, before, &say);
    match section.and_then(|section| instructions::write(&page, &section).map(|()| section)) {
        Ok(section) => {
            print(&section);
            ExitCode::SUCCESS
        }
        Err(why) => refuse(&why),
    }
}

fn mutated(wanted: &mutate::Wanted) -> ExitCode {
    let rows = match mutate::run(&xtask::root(), wanted, &mut |what| say(what)) {
        Ok(rows) => rows,
        Err(why) => return refuse(&why),
    };
    print(&mutate::table(&rows, wanted.markdown));
    let survivors = rows.iter().filter(|row| row.verdict.survived()).count();
    if survivors > 0 {
        say(&format!("{survivors} of {} mutations survived", rows.len()));
    }
    if survivors > 0 || wanted.done_before().iter().any(|done| done.survived) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn ran_nightly(wanted: &nightly::Wanted) -> ExitCode {
    match nightly::run(&xtask::root(), wanted, &say) {
        Ok(nightly::Verdict::Passed) => ExitCode::SUCCESS,
        Ok(nightly::Verdict::Cut) => {
            say("the time was over before everything was run; go on with --resume");
            ExitCode::from(3)
        }
        Ok(nightly::Verdict::Failed) => ExitCode::FAILURE,
        Err(why) => refuse(&why),
    }
}

fn refuse(why: &str) -> ExitCode {
    say(why);
    ExitCode::from(2)
}

#[expect(clippy::print_stderr, reason = "a command line program")]
fn say(text: &str) {
    eprintln!("{text}");
}

#[expect(clippy::print_stdout, reason = "a command line program")]
fn print(text: &str) {
    print!("{text}");
}
