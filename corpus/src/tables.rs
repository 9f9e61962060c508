//! The tables of programs that are in lists of their own, for people: `docs/results`.

pub mod applications;
pub mod libraries;
pub mod spinning;

use std::fmt::Write;

use crate::libraries::Test;
use crate::program::{Expected, Program};
use crate::run::{Ask, run};

/// The tests of one library or application.
fn section(table: &mut String, name: &str, line: &str, tests: &'static [Test]) {
    let _ = writeln!(
        table,
        "\n## {name}\n\n{}.\n\n| program | what | kind | pattern | steps | large | steps |\n\
         |---|---|---|---|---:|---|---:|",
        capital(line)
    );
    for test in tests {
        row(table, "", &test.correct);
        test.bugs.iter().for_each(|bug| row(table, "- ", bug));
    }
}

fn capital(line: &str) -> String {
    let mut letters = line.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn row(table: &mut String, mark: &str, program: &'static Program) {
    let kind = match program.expected {
        Expected::Pass => "",
        Expected::Panic => "assertion",
        Expected::Deadlock => "deadlock",
        Expected::Livelock => "livelock",
        Expected::DataRace => "data race",
    };
    let arguments = |of: &[usize]| {
        let of: Vec<_> = of.iter().map(ToString::to_string).collect();
        of.join(" ")
    };
    let call = format!("{} {}", program.name, arguments(&program.defaults()));
    let large = match program.large {
        [] => " | ".to_owned(),
        large => format!("`{}` | {}", arguments(large), steps(program, large)),
    };
    let _ = writeln!(
        table,
        "| {mark}`{}` | {} | {kind} | {} | {} | {large} |",
        call.trim_end(),
        program.line,
        program.pattern,
        steps(program, &program.defaults()),
    );
}

fn steps(program: &'static Program, arguments: &[usize]) -> String {
    let report = run(program, arguments, &Ask::new("round-robin")).expect("a known strategy");
    let mark = if report.failure.is_some() { "*" } else { "" };
    format!("{}{mark}", report.counts.steps)
}
