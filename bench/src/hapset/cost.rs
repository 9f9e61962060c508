//! What learning and filtering cost: instructions per execution, counted by valgrind's callgrind.
//!
//! Both searches of a pair run the same executions: the filter leaves nothing out, and learning changes
//! nothing. So what one needs more is the cost. Instructions are the same on every run of one binary,
//! whatever else the machine does. The start of the process is taken out by running twice, with few
//! executions and with more.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::PROFILE;
use crate::table::{Comparison, Table};

/// Programs with locks, atomics and condition variables, and so many executions that no search ends.
const PROGRAMS: [&str; 4] = ["inc", "circular-buffer", "aget", "thrift"];

/// Where it goes, as far as that was looked into.
const WHERE: &str = "Where it goes, of `thrift` with 5 calls: of 301 thousand instructions an execution 149 are those of `dpor(classic)` alone, 79 the \
    filter's and what it learns, 31 to recognise the calls on the stack, and the rest the engine's, which tells the filter of all \
    156 steps, and `dpor` only of those after the beginning that it repeats (callgrind, between 120 and 320 executions). At the start: \
    the debug information of this binary, which has the whole corpus in it, is read once for the names of functions.";

/// Measures the table. Needs `valgrind` in the path and `hapset-cost` beside this binary.
pub(crate) fn measure(quick: bool) -> Table {
    let mut table = Table {
        title: "Instructions per execution, with and without learning".to_owned(),
        header: ["program", "", "without", "with", "÷", "more at the start, millions"]
            .map(str::to_owned)
            .to_vec(),
        notes: vec![
            "dpor(classic): with a filter that is asked at every race and leaves nothing out; statements by place alone, or with 5 calls, \
             which is what `hapset(dpor)` does. random: with pairs counted, by place alone. Counted by callgrind. More at the start: \
             what is done once, mostly to find the names of functions in debug information."
                .to_owned(),
            WHERE.to_owned(),
        ],
        ..Table::default()
    };
    let Some(binary) = beside() else {
        table.failures.push(format!(
            "hapset-cost is not built; run cargo build --profile {PROFILE} -p raddle-bench"
        ));
        return table;
    };
    let executions = if quick { (5, 20) } else { (20, 120) };
    for program in PROGRAMS {
        for (name, without, with) in [
            ("dpor(classic), by place", "dpor", "dpor-filtered"),
            ("dpor(classic), 5 calls", "dpor", "dpor-calls"),
            ("random", "random", "random-watched"),
        ] {
            let per_execution = |what| per_execution(&binary, what, program, executions);
            match (per_execution(without), per_execution(with)) {
                (Ok(without), Ok(with)) => add(&mut table, program, name, without, with),
                (Err(error), _) | (_, Err(error)) => {
                    table.failures.push(format!("{program}, {name}: {error}"));
                }
            }
        }
    }
    table
}

fn add(table: &mut Table, program: &str, name: &str, without: Cost, with: Cost) {
    let ratio = with.execution / without.execution;
    let number = |number: f64| format!("{number:.0}");
    let start = (with.start - without.start) / 1e6;
    let cells = [
        number(without.execution),
        number(with.execution),
        format!("{ratio:.2}"),
        format!("{start:.1}"),
    ];
    let mut row = vec![program.to_owned(), name.to_owned()];
    row.extend(cells);
    table.rows.push(row);
    table.comparisons.push(Comparison {
        table: "hapset-cost",
        row: program.to_owned(),
        column: name.to_owned(),
        ours: Some(ratio),
        peer: None,
        ratio: None,
    });
}

/// The binary that makes one search.
fn beside() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    Some(here.with_file_name("hapset-cost")).filter(|path| path.is_file())
}

/// Instructions.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Of one execution.
    execution: f64,
    /// Of what is done once.
    start: f64,
}

/// What a search takes.
#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
fn per_execution(
    binary: &Path,
    what: &str,
    program: &str,
    (few, more): (u64, u64),
) -> Result<Cost, String> {
    let (less, few) = instructions(binary, what, program, few)?;
    let (all, more) = instructions(binary, what, program, more)?;
    if more <= few {
        return Err("the search ends too soon".to_owned());
    }
    let execution = all.saturating_sub(less) as f64 / (more - few) as f64;
    Ok(Cost { execution, start: less as f64 - execution * few as f64 })
}

/// Instructions of a whole search, and its executions.
fn instructions(
    binary: &Path,
    what: &str,
    program: &str,
    executions: u64,
) -> Result<(u64, u64), String> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .args([what, program, &executions.to_string()])
        .output()
        .map_err(|error| format!("valgrind cannot be run: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let ran = out.trim().parse().map_err(|_| format!("no result: {}", err.trim()))?;
    let counted = err.lines().find_map(|line| line.split_once("Collected : "));
    let counted = counted.and_then(|(_, number)| number.trim().parse().ok());
    Ok((counted.ok_or("valgrind counted nothing")?, ran))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_given_as_a_ratio() {
        let mut table = Table::default();
        let without = Cost { execution: 100.0, start: 1e6 };
        let with = Cost { execution: 141.0, start: 3.5e6 };
        add(&mut table, "inc", "random", without, with);
        assert_eq!(table.rows[0], ["inc", "random", "100", "141", "1.41", "2.5"]);
    }
}
