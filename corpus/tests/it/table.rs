//! `counts.txt`: how much each search does. A diff of it is the performance review.

use std::fmt::Write;
use std::path::Path;

use raddle_corpus::{Ask, run};

use crate::{SAMPLERS, SEARCHES, all, sample};

const HEAD: &str = "\
# How much each strategy does with each program of the corpus, at its default arguments: until it
# has covered what it can, found the bug, or run 200 executions (samplers, seed 1; only 2 if the
# program has only one).
# Written by `UPDATE_COUNTS=1 cargo test -p raddle-corpus`, compared by the same without it.
";

fn table() -> String {
    let mut table = HEAD.to_owned();
    let mut line = |cells: [&str; 6]| {
        let [program, arguments, strategy, executions, steps, decisions] = cells;
        let _ = writeln!(
            table,
            "{program:<22} {arguments:<9} {strategy:<18} {executions:>10} {steps:>9} {decisions:>9}"
        );
    };
    line(["# program", "arguments", "strategy", "executions", "steps", "decisions"]);
    for (program, arguments) in all() {
        let searches = SEARCHES.map(Ask::new);
        let samples = SAMPLERS.map(|strategy| sample(program, &arguments, strategy, 200));
        for ask in searches.into_iter().chain(samples) {
            let counts = run(program, &arguments, &ask).expect("a known strategy").counts;
            let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
            let arguments = if arguments.is_empty() { "-".to_owned() } else { arguments.join(",") };
            line([
                program.name,
                &arguments,
                &ask.strategy,
                &counts.executions.to_string(),
                &counts.steps.to_string(),
                &counts.decisions.to_string(),
            ]);
        }
    }
    table
}

#[test]
fn the_table_of_counts_is_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.txt");
    let now = table();
    if std::env::var_os("UPDATE_COUNTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).expect("the table can be written");
        return;
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<_> =
        now.lines().filter(|line| !before.lines().any(|old| old == *line)).collect();
    assert!(
        now == before,
        "counts.txt does not have these lines, or has others; if they are meant, run the tests \
         with UPDATE_COUNTS=1:\n{}",
        changed.join("\n")
    );
}
