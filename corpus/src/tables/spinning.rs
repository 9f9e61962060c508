//! The table of programs that spin, for people: `docs/results/spinning.md`.

use std::fmt::Write;

use raddle::Verdict;

use crate::counts::spinning::{
    BAKERY, DEKKER, MCS_LOCK, PETERSON, SEQLOCK_READER, SPIN_LOCK, TICKET_LOCK,
};
use crate::program::Program;
use crate::run::{Ask, run};

const HEAD: &str = "\
# Programs that spin: traces by rounds

How many traces `dpor` covers of locks and readers that wait in loops, if each loop may make at most so many rounds in
vain: r is the setting `rounds`, 2 with `dpor` unless another is given. A round is a sequence of looks that comes again
while what it looks at stays as it is. `dpor` runs each trace once, so these are its executions, too.

Written by `UPDATE_COUNTS=1 cargo test -p raddle-corpus`, shown by `raddle-corpus spinning`; the programs are in
`corpus/src/counts/spinning.rs`. Where all interleavings were run, which is so for none with r = 3, `dfs`
with the same setting shows as many (`corpus/tests/it/spinning.rs`).
";

/// What is counted: programs with their arguments.
const ROWS: [(&Program, &[usize]); 9] = [
    (&PETERSON, &[]),
    (&DEKKER, &[]),
    (&BAKERY, &[]),
    (&TICKET_LOCK, &[2, 1]),
    (&TICKET_LOCK, &[2, 2]),
    (&SPIN_LOCK, &[2, 1]),
    (&SPIN_LOCK, &[2, 2]),
    (&MCS_LOCK, &[2]),
    (&SEQLOCK_READER, &[]),
];

/// The rounds of the columns.
const ROUNDS: [u32; 3] = [1, 2, 3];

/// The whole table, as Markdown.
///
/// # Panics
/// If a program cannot be run, is not covered, or has another number of traces than is known of it.
#[must_use]
pub fn table() -> String {
    let mut table = HEAD.to_owned();
    table.push_str("\n| program | what |");
    for rounds in ROUNDS {
        let _ = write!(table, " r = {rounds} |");
    }
    table.push_str("\n|---|---|");
    table.push_str(&"---:|".repeat(ROUNDS.len()));
    table.push('\n');
    for (program, arguments) in ROWS {
        let _ = write!(table, "| {} | {} |", call(program, arguments), program.line);
        for rounds in ROUNDS {
            let _ = write!(table, " {} |", traces(program, arguments, rounds));
        }
        table.push('\n');
    }
    table
}

fn call(program: &Program, arguments: &[usize]) -> String {
    let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
    if arguments.is_empty() {
        program.name.to_owned()
    } else {
        format!("{}({})", program.name, arguments.join(", "))
    }
}

/// The traces that `dpor` covers, each in one execution.
fn traces(program: &'static Program, arguments: &[usize], rounds: u32) -> u64 {
    let ask = Ask { traces: true, rounds: Some(rounds), ..Ask::new("dpor") };
    let report = run(program, arguments, &ask).expect("a known strategy");
    let what = format!("{}{arguments:?} in {rounds} rounds", program.name);
    assert_eq!(report.verdict, Verdict::Covered, "{what}");
    let seen = report.guarantee.traces.as_ref().expect("asked for").distinct;
    assert_eq!(seen, report.counts.executions, "{what}");
    assert_eq!(Some(seen), program.known_traces(arguments, Some(rounds)), "{what}");
    seen
}
