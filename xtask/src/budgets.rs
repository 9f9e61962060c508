//! `cargo xtask budgets`: what an execution may cost in instructions, as `bench/budgets.txt` says.
//!
//! Measured is `raddle-budgets`, a package of its own that is built in a minute, in release without link-time
//! optimisation, under valgrind's callgrind: the difference of two run lengths is free of what a process costs. Counts
//! do not hang on how busy the machine is, but on the compiler. So the table says by which one it was made, and nothing is
//! compared under another.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{instructions, write_file};

const TABLE: &str = "bench/budgets.txt";
/// How much more than its budget an execution may take.
const SLACK: f64 = 1.03;
/// Below so much of its budget a row is to be made anew, or a loss as large would go unnoticed.
const STALE: f64 = 0.94;

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    program: String,
    strategy: String,
    /// Executions of the short run and of the long one.
    lengths: [u32; 2],
    /// Instructions of an execution.
    budget: f64,
    /// Why it needs as many as it does, where a change made it need more.
    reason: String,
}

/// The table: its comment, the compiler that it holds for, its rows.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    comment: String,
    compiler: String,
    rows: Vec<Row>,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All rows are within their budgets, or have new ones.
    Kept,
    /// Some are not.
    Exceeded,
    /// There is no valgrind here, or the table was made by another compiler.
    NotCompared,
}

/// Measures every row and compares it with its budget, or writes down what was measured.
///
/// # Errors
/// If the table cannot be read, the measured package does not build, or does not run.
pub fn check(root: &Path, update: bool, say: &dyn Fn(&str)) -> Result<Verdict, String> {
    let path = root.join(TABLE);
    let text = fs::read_to_string(&path).map_err(|error| format!("{TABLE}: {error}"))?;
    let mut table = parse(&text)?;
    if Command::new("valgrind").arg("--version").output().is_err() {
        say("no valgrind here: budgets are not checked");
        return Ok(Verdict::NotCompared);
    }
    let compiler = compiler()?;
    if compiler != table.compiler && !update {
        let made = &table.compiler;
        say(&format!(
            "{TABLE} was made by rustc {made}, this is {compiler}: nothing is compared. Run `cargo xtask budgets \
             --update` on a commit whose speed is known to be right"
        ));
        return Ok(Verdict::NotCompared);
    }
    let binary = instructions::binary(root, "-p raddle-budgets")?;
    let mut verdict = Verdict::Kept;
    for row in &mut table.rows {
        let cost = cost(&binary, row)?;
        let (ratio, judgement) = judge(cost, row.budget);
        let (program, strategy, budget) = (&row.program, &row.strategy, row.budget);
        say(&format!(
            "{program:<18} {strategy:<8} {cost:>11.0} of {budget:>11.0}  {ratio:.3}  {judgement}"
        ));
        if judgement == Judgement::Exceeds {
            verdict = Verdict::Exceeded;
        }
        if update {
            row.budget = cost.round();
        }
    }
    if update {
        table.compiler = compiler;
        write_file(&path, table.text().as_bytes())?;
        return Ok(Verdict::Kept);
    }
    if verdict == Verdict::Exceeded {
        say(&format!(
            "a change that needs more writes the new number into {TABLE} (`cargo xtask budgets --update`) and \
             says why at the end of its line"
        ));
    }
    Ok(verdict)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Fits,
    Exceeds,
    Stale,
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fits => "",
            Self::Exceeds => "TOO MUCH",
            Self::Stale => "less than budgeted: lower the budget with --update",
        })
    }
}

fn judge(cost: f64, budget: f64) -> (f64, Judgement) {
    let ratio = cost / budget;
    let judgement = if ratio > SLACK {
        Judgement::Exceeds
    } else if ratio < STALE {
        Judgement::Stale
    } else {
        Judgement::Fits
    };
    (ratio, judgement)
}

/// The instructions of an execution.
fn cost(binary: &Path, row: &Row) -> Result<f64, String> {
    let count = |executions: u32| {
        let arguments = [&*row.program, &*row.strategy, &*executions.to_string()];
        let (did, instructions) = instructions::run(binary, arguments)?;
        let executions: f64 = did
            .split(' ')
            .next()
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| format!("{arguments:?}: {did}"))?;
        Ok::<_, String>((executions, instructions))
    };
    let [few, many] = row.lengths;
    let (few, many) = (count(few)?, count(many)?);
    if many.0 <= few.0 {
        return Err(format!(
            "{} {}: the longer run has no more executions",
            row.program, row.strategy
        ));
    }
    Ok((many.1 - few.1) / (many.0 - few.0))
}

/// The version of the compiler that builds the workspace.
fn compiler() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let output = output.map_err(|error| format!("could not run rustc: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.split(' ').nth(1).map(str::to_owned).ok_or_else(|| format!("rustc says `{said}`"))
}

fn parse(text: &str) -> Result<Table, String> {
    let mut table = Table { comment: String::new(), compiler: String::new(), rows: Vec::new() };
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.is_empty() {
            if table.rows.is_empty() {
                let _ = writeln!(table.comment, "{line}");
            }
            continue;
        }
        let (line, reason) = line.split_once(" # ").unwrap_or((line, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || format!("{TABLE}:{}: not `program strategy few many instructions`", at + 1);
        match words.as_slice() {
            ["rustc", version] => (*version).clone_into(&mut table.compiler),
            [program, strategy, few, many, budget] => {
                let number = |word: &str| word.parse::<u32>().map_err(|_| wrong());
                table.rows.push(Row {
                    program: (*program).to_owned(),
                    strategy: (*strategy).to_owned(),
                    lengths: [number(few)?, number(many)?],
                    budget: number(budget)?.into(),
                    reason: reason.to_owned(),
                });
            }
            _ => return Err(wrong()),
        }
    }
    Ok(table)
}

impl Table {
    fn text(&self) -> String {
        let mut text = format!("{}rustc {}\n", self.comment, self.compiler);
        for Row { program, strategy, lengths: [few, many], budget, reason } in &self.rows {
            let reason = if reason.is_empty() { String::new() } else { format!(" # {reason}") };
            let _ = writeln!(
                text,
                "{program:<18} {strategy:<8} {few:>5} {many:>5} {budget:>11.0}{reason}"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_checkout_is_read_and_written_alike() {
        let path = crate::root().join(TABLE);
        let text = fs::read_to_string(&path).expect("the table is there");
        let table = parse(&text).expect("and can be read");
        assert_eq!(table.text(), text);
    }

    #[test]
    fn a_reason_stays_with_its_row() {
        let text = "# What this is.\n\nrustc 1.2.3\ntiny               random     300  1300        8800 # clocks\n";
        let table = parse(text).expect("a table");
        assert_eq!(table.rows[0].reason, "clocks");
        assert_eq!(table.text(), text);
        assert!(parse("tiny random 300\n").is_err_and(|why| why.contains("budgets.txt:1")));
    }

    #[test]
    fn three_in_a_hundred_is_no_loss_and_more_is() {
        assert_eq!(judge(1_029.0, 1_000.0).1, Judgement::Fits);
        assert_eq!(judge(1_031.0, 1_000.0).1, Judgement::Exceeds);
        assert_eq!(judge(900.0, 1_000.0).1, Judgement::Stale);
    }
}
