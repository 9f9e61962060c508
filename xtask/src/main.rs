//! `cargo xtask tidy`, `size`, `instructions`, `budgets`, `crates`, `weight`, `mutate` and `nightly`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xtask::{budgets, crates, instructions, mutate, nightly, tidy, weight};

const USAGE: &str = "usage: cargo xtask tidy
       cargo xtask size [CHECKOUT]
       cargo xtask instructions CHECKOUT
       cargo xtask budgets [--update]
       cargo xtask crates [--mutants] [--limit SECONDS] [--bound K|none] [--tests NAME] [--only loom|raddle] [--page FILE] [--write] [CRATE ...]
       cargo xtask weight
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
        ["budgets"] => budgeted(false),
        ["budgets", "--update"] => budgeted(true),
        ["crates", rest @ ..] => measured(rest),
        ["weight"] => weighed(),
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
    let tables =
        xtask::size::table(root).and_then(|table| Ok((table, xtask::size::comments(root)?)));
    match tables {
        Ok((sizes, comments)) => {
            print(&format!("{sizes}\n{comments}"));
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

fn measured(arguments: &[&str]) -> ExitCode {
    let root = xtask::root();
    let mut settings = crates::Settings { limit: 20, bound: None, tests: "", tool: None };
    let (mut page, mut subjects) = (None, Vec::new());
    let (mut mutants, mut only_write) = (false, false);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--limit" => match rest.next().and_then(|text| text.parse().ok()) {
                Some(seconds) => settings.limit = seconds,
                None => return refuse("--limit needs a number of seconds"),
            },
            "--bound" => match rest.next().map(|text| (*text, text.parse().ok())) {
                Some(("none", _)) => settings.bound = Some(None),
                Some((_, Some(bound))) => settings.bound = Some(Some(bound)),
                _ => return refuse("--bound needs a number of preemptions, or `none`"),
            },
            "--tests" => match rest.next() {
                Some(name) => settings.tests = name,
                None => return refuse("--tests needs a part of the names of tests"),
            },
            "--page" => match rest.next() {
                Some(file) => page = Some(PathBuf::from(file)),
                None => return refuse("--page needs a file"),
            },
            "--only" => match rest.next() {
                Some(&"loom") => settings.tool = Some(crates::Tool::Loom),
                Some(&"raddle") => settings.tool = Some(crates::Tool::Raddle),
                _ => return refuse("--only needs `loom` or `raddle`"),
            },
            "--mutants" => mutants = true,
            "--write" => only_write = true,
            name => {
                let Some(subject) = crates::SUBJECTS.iter().find(|one| one.name == name) else {
                    let known: Vec<&str> = crates::SUBJECTS.iter().map(|one| one.name).collect();
                    return refuse(&format!(
                        "there is no `{name}`; there are {}",
                        known.join(", ")
                    ));
                };
                subjects.push(*subject);
            }
        }
    }
    if subjects.is_empty() {
        subjects = crates::SUBJECTS.to_vec();
    }
    let (made, usual) = match (mutants, only_write) {
        (true, true) => (crates::mutants::page_of_kept(&root), "docs/results/crate-mutants.md"),
        (true, false) => {
            let made = crates::mutants::page(&root, &subjects, settings.limit, &say);
            (made, "docs/results/crate-mutants.md")
        }
        (false, true) => (crates::page_of_kept(&root), "docs/results/crates.md"),
        (false, false) => {
            (crates::page(&root, &subjects, &settings, &say), "docs/results/crates.md")
        }
    };
    let page = page.unwrap_or_else(|| root.join(usual));
    let written = made.and_then(|text| {
        std::fs::write(&page, &text).map_err(|error| format!("{}: {error}", page.display()))
    });
    match written {
        Ok(()) => {
            say(&format!("written to {}", page.display()));
            ExitCode::SUCCESS
        }
        Err(why) => refuse(&why),
    }
}

fn weighed() -> ExitCode {
    match weight::table(&xtask::root(), &say) {
        Ok(table) => {
            print(&format!("{}\n\n{table}", weight::compiler()));
            ExitCode::SUCCESS
        }
        Err(why) => refuse(&why),
    }
}

fn budgeted(update: bool) -> ExitCode {
    match budgets::check(&xtask::root(), update, &say) {
        Ok(budgets::Verdict::Kept | budgets::Verdict::NotCompared) => ExitCode::SUCCESS,
        Ok(budgets::Verdict::Exceeded) => ExitCode::FAILURE,
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
