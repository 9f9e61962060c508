//! Instructions for an execution, best first beside depth first, on the same executions.
//!
//! Counted by valgrind, so that it does not matter what else the machine does. Each search is run to its end,
//! so that both run the same set of executions (with a reduction: one of each class), and once for a single
//! execution, which is taken off: what is done once is in neither.
//!
//! What it is compared with: `all best-first(..)` with `dfs` within the same bound, and with a reduction the
//! same reduction depth first. Priorities that look at races or sleep sets must hear of each new step, which
//! `dfs` need not. So those are also compared with the same search depth first: what they look at is found out, but no
//! candidate is preferred (`level` of `one-search`), and as in a search that jumps nothing is taken over from the execution before.

use std::process::{Command, Stdio};

use crate::numbers::{grouped, shown};
use crate::peers::{Peers, Tool};
use crate::table::{Comparison, Table};

/// Programs with a bound, to be searched whole; shortest first.
const PROGRAMS: [(&str, &str); 6] = [
    ("inc(4)", ""),
    ("semaphore(2,2)", " preemptions(2)"),
    ("ms-queue(2,2)", " preemptions(2)"),
    ("deque(2,2)", " preemptions(1)"),
    ("event(2,2)", " preemptions(2)"),
    ("blocking(1,2)", " preemptions(0)"),
];

const PRIORITIES: [&str; 8] =
    ["pb", "departures", "rand", "dpor", "mdpor", "mdpor, pb", "ss", "ss, mdpor"];

/// Programs for a reduction.
const REDUCED: [&str; 4] = ["inc(4)", "event(1,2)", "lastzero(7)", "circular-buffer(5)"];

const REDUCTIONS: [&str; 2] = ["source", "classic"];

/// Where it goes, as far as that was looked into.
const FLOOR: &str = "Priorities that look at races or sleep sets must be told of steps, which `dfs` is not. Of \
    `event(2,2)` under `dpor`, 306 million instructions beside 161 of `dfs`: 38 million to be told, 48 for the \
    order of events, 21 for races (callgrind, inclusive). So there to be told is 0.24 of \
    depth first by itself, and that cannot be saved; other programs were not taken apart.";

/// More executions than any of them has.
const ALL: u64 = 100_000;

/// What an execution takes, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    executions: u64,
    instructions: f64,
    steps: f64,
}

/// One run: what was done and what that took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    executions: u64,
    steps: u64,
    instructions: u64,
}

/// Measures all of it; needs valgrind. `progress` hears what is measured next.
pub(crate) fn measure(quick: bool, progress: impl Fn(&str)) -> Table {
    let header = [
        "program",
        "search",
        "executions",
        "steps",
        "instructions",
        "the same depth first, without reuse",
        "ratio",
        "depth first as it is",
        "ratio",
    ];
    let mut table = Table {
        title: "Instructions for an execution, best first beside depth first".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "Counted by valgrind over the whole search, without its first execution, for each execution. \
             depth first as it is: `dfs` within the same bound, which runs the same executions; or the same reduction. the same depth first, \
             without reuse: a search that looks at the same races and sleep sets, prefers none, and takes nothing over from the execution \
             before, as one that jumps in the tree cannot."
                .to_owned(),
            FLOOR.to_owned(),
        ],
        ..Table::default()
    };
    // Both searches of a ratio are of one binary, so another profile than that of comparisons will do.
    let peers = match Peers::build(&[Tool::OneSearch]).or_else(|_| Peers::beside()) {
        Ok(peers) => peers,
        Err(error) => {
            table.failures.push(error.to_string());
            return table;
        }
    };
    let n = if quick { 2 } else { usize::MAX };
    for (program, bound) in PROGRAMS.into_iter().take(n) {
        let best = PRIORITIES.map(|priority| format!("all best-first({priority}){bound}"));
        compare(&mut table, &peers, program, &format!("dfs{bound}"), &best, &progress);
    }
    for program in REDUCED.into_iter().take(n) {
        for reduction in REDUCTIONS {
            let best = ["pb", "mdpor, pb"]
                .map(|priority| format!("dpor({reduction}) best-first({priority})"));
            compare(&mut table, &peers, program, &format!("dpor({reduction})"), &best, &progress);
        }
    }
    table
}

/// Adds a row for each of the searches.
fn compare(
    table: &mut Table,
    peers: &Peers,
    program: &str,
    depth_first: &str,
    best_first: &[String],
    progress: &impl Fn(&str),
) {
    progress(&format!("counting instructions of {program} under {depth_first} and best first"));
    let baseline = match cost(peers, program, depth_first) {
        Ok(cost) => cost,
        Err(why) => return table.failures.push(why),
    };
    for composition in best_first {
        match cost(peers, program, composition) {
            Ok(best) => {
                let level = level(composition).map(|level| cost(peers, program, &level));
                match level.transpose() {
                    Ok(level) => add(table, program, composition, best, (level, baseline)),
                    Err(why) => table.failures.push(why),
                }
            }
            Err(why) => table.failures.push(why),
        }
    }
}

/// The same search with no preference, of priorities that look at races or sleep sets.
fn level(composition: &str) -> Option<String> {
    let names = composition.strip_prefix("all best-first(")?.split_once(')')?.0;
    let compares = names.split(", ").any(|name| ["dpor", "mdpor", "ss"].contains(&name));
    compares.then(|| format!("level {composition}"))
}

fn add(
    table: &mut Table,
    program: &str,
    composition: &str,
    cost: Cost,
    (level, baseline): (Option<Cost>, Cost),
) {
    let ratio = cost.instructions / baseline.instructions;
    let by_level = level.map(|level| cost.instructions / level.instructions);
    #[expect(clippy::cast_sign_loss, reason = "counts are not negative")]
    let whole = |number: f64| grouped(number.round() as u64);
    table.rows.push(vec![
        program.to_owned(),
        composition.to_owned(),
        grouped(cost.executions),
        whole(cost.steps),
        whole(cost.instructions),
        level.map_or_else(|| "–".to_owned(), |level| whole(level.instructions)),
        by_level.map_or_else(|| "–".to_owned(), |ratio| shown(Some(ratio), 2)),
        whole(baseline.instructions),
        shown(Some(ratio), 2),
    ]);
    table.comparisons.push(Comparison {
        table: "best-first-instructions",
        row: program.to_owned(),
        column: composition.to_owned(),
        ours: Some(cost.instructions),
        peer: Some(baseline.instructions),
        ratio: Some(ratio),
    });
}

/// What an execution takes.
fn cost(peers: &Peers, program: &str, composition: &str) -> Result<Cost, String> {
    let [one, all] = [1, ALL].map(|executions| run(peers, program, composition, executions));
    let (one, all) = (one?, all?);
    if all.executions == ALL {
        return Err(format!("{composition} on {program} did not end"));
    }
    Ok(difference(one, all))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn difference(one: Run, all: Run) -> Cost {
    let executions = (all.executions - one.executions) as f64;
    let per_execution = |one: u64, all: u64| all.saturating_sub(one) as f64 / executions;
    Cost {
        executions: all.executions,
        instructions: per_execution(one.instructions, all.instructions),
        steps: per_execution(one.steps, all.steps),
    }
}

fn run(peers: &Peers, program: &str, composition: &str, executions: u64) -> Result<Run, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(peers.path(Tool::OneSearch));
    command.args([program, composition, &executions.to_string()]);
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        format!("could not start valgrind ({error}): install it to count instructions")
    })?;
    let (said, counted) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    read(&said, &counted)
        .ok_or_else(|| format!("{composition} on {program} could not be counted: {counted}"))
}

/// What the search said, and what valgrind did.
fn read(said: &str, counted: &str) -> Option<Run> {
    let mut numbers = said.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    let (executions, _blocked, steps) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let line = counted.lines().find(|line| line.contains("I ") && line.contains("refs:"))?;
    let digits: String = line.rsplit(':').next()?.chars().filter(char::is_ascii_digit).collect();
    Some(Run { executions, steps, instructions: digits.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_valgrind_says_is_read() {
        let counted = "==7== Cachegrind\n==7== \n==7== I   refs:      36,081,671\n";
        let run = read("1200 0 14400 Executions\n", counted).expect("both are there");
        assert_eq!(run, Run { executions: 1_200, steps: 14_400, instructions: 36_081_671 });
        assert_eq!(read("one-search: no such program", counted), None);
    }

    #[test]
    fn what_is_done_once_is_in_no_execution() {
        let run = |n| Run { executions: n, steps: 10 * n, instructions: 1_000 + 500 * n };
        let cost = Cost { executions: 101, instructions: 500.0, steps: 10.0 };
        assert_eq!(difference(run(1), run(101)), cost);
    }

    #[test]
    fn every_row_names_a_search_that_can_be_built() {
        let bounded = PROGRAMS.iter().flat_map(|(_, bound)| {
            PRIORITIES.map(|priority| format!("all best-first({priority}){bound}"))
        });
        let reduced = REDUCTIONS.iter().flat_map(|reduction| {
            PRIORITIES.map(|priority| format!("dpor({reduction}) best-first({priority})"))
        });
        for text in bounded.chain(reduced) {
            let built = raddle_search::build(&text, 1);
            assert!(built.is_ok(), "{text}: {:?}", built.err());
        }
    }
}
