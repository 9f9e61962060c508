//! Table 2: executions and CPU time to each bug, by strategy; and what they come to.

use std::time::Duration;

use super::runs::{Bug, COLUMNS, Column, End, Family, Runs, Size, Try};
use crate::numbers::{duration, grouped};
use crate::table::{Comparison, Table};

/// GAMBIT's kinds, and one of ours.
const KINDS: [&str; 4] = ["assertion", "deadlock", "livelock", "data race"];

/// What the strategies come to, then each bug, a table for each family.
pub(crate) fn tables(all: &Runs) -> Vec<Table> {
    let mut tables = vec![totals(all)];
    let families = [
        (Family::Reduced, "dpor(classic), without a bound"),
        (Family::Bounded, "at most two preemptions, without a reduction"),
        (Family::Others, "the other strategies"),
    ];
    tables.extend(families.map(|(family, name)| bug_by_bug(all, family, name)));
    tables
}

fn size(all: &Runs) -> &'static str {
    match all.effort.size {
        Size::Small => "small arguments",
        Size::Large => "large arguments",
    }
}

/// The columns that were run.
fn columns(all: &Runs) -> impl Iterator<Item = (usize, &'static Column)> {
    COLUMNS.iter().enumerate().filter(|(nth, _)| all.bugs.iter().all(|bug| bug.was_run(*nth)))
}

fn of_family(all: &Runs, family: Family) -> impl Iterator<Item = (usize, &'static Column)> {
    columns(all).filter(move |(_, column)| column.family == family)
}

fn bug_by_bug(all: &Runs, family: Family, name: &str) -> Table {
    let names = of_family(all, family).map(|(_, column)| column.name.to_owned());
    let mut table = Table {
        title: format!("Table 2: executions and CPU time to each bug; {name}; {}", size(all)),
        header: names.collect(),
        ..Table::default()
    };
    table.header.insert(0, "bug".to_owned());
    table.header.push("kind".to_owned());
    for bug in &all.bugs {
        let mut row = vec![bug.program.name.to_owned()];
        row.extend(of_family(all, family).map(|(nth, _)| cell(&bug.tries[nth])));
        row.push(bug.kind().to_owned());
        table.rows.push(row);
        table
            .comparisons
            .extend(of_family(all, family).map(|(nth, column)| comparison(bug, nth, column)));
    }
    table.notes.push(legend(all));
    table
}

fn legend(all: &Runs) -> String {
    let (budget, seeds) = (grouped(all.effort.budget), all.effort.seeds);
    let cap = duration(all.effort.cap.as_secs_f64() * 1e9);
    format!(
        "`–`: not found within {budget} executions; `cap`: given up before, after {cap} of CPU time; \
         `ended`: the search ended without it. What draws is run with {seeds} seeds: the average \
         over those that found it (least–most), and how many did if not all."
    )
}

/// What one strategy did on one bug.
fn cell(tries: &[Try]) -> String {
    let found: Vec<_> = tries.iter().copied().filter(|run| run.end == End::Found).collect();
    if let ([_], [run]) = (tries, &found[..]) {
        return format!("{} · {}", grouped(run.executions), time(run.cpu));
    }
    if found.is_empty() {
        return match tries[0].end {
            End::Other(kind) => format!("another: {kind}"),
            End::Cap => "cap".to_owned(),
            End::Covered => "ended".to_owned(),
            End::Broken => "broken".to_owned(),
            End::Budget | End::Found => "–".to_owned(),
        };
    }
    let executions = || found.iter().map(|run| run.executions);
    let n = found.len() as u64;
    let average = (executions().sum::<u64>() + n / 2) / n;
    let cpu = found.iter().map(|run| run.cpu).sum::<Duration>() / found.len() as u32;
    let (least, most) = (executions().min().unwrap_or(0), executions().max().unwrap_or(0));
    let of =
        if found.len() == tries.len() { String::new() } else { format!(" {n}/{}", tries.len()) };
    format!("{} ({}–{}){of} · {}", grouped(average), grouped(least), grouped(most), time(cpu))
}

fn time(cpu: Duration) -> String {
    duration(cpu.as_secs_f64() * 1e9)
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn comparison(bug: &Bug, nth: usize, column: &Column) -> Comparison {
    let found: Vec<_> = bug.tries[nth].iter().filter_map(|run| run.found()).collect();
    let whole = found.len() == bug.tries[nth].len();
    Comparison {
        table: "gambit table2",
        row: bug.program.name.to_owned(),
        column: column.strategy.to_owned(),
        ours: whole.then(|| found.iter().sum::<u64>() as f64 / found.len() as f64),
        peer: None,
        ratio: None,
    }
}

fn totals(all: &Runs) -> Table {
    let n = all.bugs.len();
    let of = |kind: &str| all.bugs.iter().filter(|bug| bug.kind() == kind).count();
    let mut header = vec!["strategy".to_owned(), format!("bugs found of {n}")];
    header.extend(KINDS.map(|kind| format!("{kind} ({})", of(kind))));
    header.extend(
        ["executions", "CPU time", "fewer executions", "less CPU time", "missed"]
            .map(str::to_owned),
    );
    let mut table = Table {
        title: format!("What the strategies find; {}", size(all)),
        header,
        ..Table::default()
    };
    let mut others = Vec::new();
    for (nth, column) in columns(all) {
        let seeds = all.bugs.first().map_or(1, |bug| bug.tries[nth].len());
        let mut row = vec![format!("`{}`", column.strategy)];
        row.push(found_by(all.bugs.iter(), nth));
        row.extend(
            KINDS.map(|kind| found_by(all.bugs.iter().filter(|bug| bug.kind() == kind), nth)),
        );
        let tries = || all.bugs.iter().flat_map(|bug| &bug.tries[nth]);
        let executions = tries().map(|run| run.executions).sum::<u64>() / seeds as u64;
        let cpu = tries().map(|run| run.cpu).sum::<Duration>() / seeds as u32;
        row.extend([grouped(executions), time(cpu)]);
        row.extend(speed_up(all, nth));
        row.push(missed(all, nth));
        table.rows.push(row);
        for bug in &all.bugs {
            others.extend(bug.tries[nth].iter().filter_map(|run| match run.end {
                End::Other(kind) => Some(format!(
                    "`{}` showed {kind} in {}, whose bug is {}",
                    column.strategy,
                    bug.program.name,
                    bug.kind()
                )),
                End::Broken => {
                    table.failures.push(format!("{}: {} broke", bug.program.name, column.strategy));
                    None
                }
                _ => None,
            }));
        }
    }
    table.notes.push(format!(
        "A strategy has {} executions for each bug. What draws is run with {} seeds: the average number of \
         bugs found, and in brackets how many every seed found and how many some seed did. Executions \
         and CPU time are those of a run over all bugs, each ended by its bug.",
        grouped(all.effort.budget), all.effort.seeds
    ));
    table.notes.push(
        "Fewer executions, less CPU time: how many times, beside `dpor(classic)` depth first; the \
         geometric mean over the bugs that both find, of which there are as many as in brackets."
            .to_owned(),
    );
    table.notes.push(if others.is_empty() {
        "No strategy showed another kind of failure than the known one.".to_owned()
    } else {
        others.dedup();
        format!("Another kind of failure than the known one: {}.", others.join("; "))
    });
    let capped = all.bugs.iter().flat_map(|bug| bug.tries.iter().flatten());
    let capped = capped.filter(|run| run.end == End::Cap).count();
    table.notes.push(format!(
        "{capped} runs were given up before their last execution, after {} of CPU time. Everything \
         together took {} of CPU time on one core, beside other work.",
        time(all.effort.cap),
        time(all.cpu)
    ));
    table
}

/// The number of bugs found.
#[expect(clippy::cast_precision_loss, reason = "there are some bugs and seeds")]
fn found_by<'a>(bugs: impl Iterator<Item = &'a Bug>, nth: usize) -> String {
    let (mut found, mut every, mut some, mut seeds) = (0, 0, 0, 1);
    for bug in bugs {
        let tries = &bug.tries[nth];
        let hits = tries.iter().filter(|run| run.end == End::Found).count();
        seeds = tries.len();
        found += hits;
        every += usize::from(hits == seeds);
        some += usize::from(hits > 0);
    }
    if every == some {
        return every.to_string();
    }
    format!("{:.1} ({every}–{some})", found as f64 / seeds as f64)
}

/// Which bugs no seed, or not every seed found; only if they are few.
fn missed(all: &Runs, nth: usize) -> String {
    const FEW: usize = 4;
    let hits = |bug: &&Bug| bug.tries[nth].iter().all(|run| run.end == End::Found);
    let missed: Vec<_> =
        all.bugs.iter().filter(|bug| !hits(bug)).map(|bug| bug.program.name).collect();
    if missed.len() <= FEW { missed.join(", ") } else { format!("{} bugs", missed.len()) }
}

/// How many times fewer executions, and less time, than the first strategy.
#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
pub(crate) fn speed_up(all: &Runs, nth: usize) -> [String; 2] {
    let mut ratios: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let mut both = 0;
    for bug in &all.bugs {
        let Some(classic) = bug.tries[0].iter().find(|run| run.end == End::Found) else { continue };
        let hits: Vec<_> = bug.tries[nth].iter().filter(|run| run.end == End::Found).collect();
        if hits.len() < bug.tries[nth].len() {
            continue;
        }
        both += 1;
        let n = hits.len() as f64;
        // Over the seeds too it is the mean of logarithms.
        let mean = |of: &dyn Fn(&Try) -> f64| hits.iter().map(|run| of(run).ln()).sum::<f64>() / n;
        ratios[0].push((classic.executions as f64).ln() - mean(&|run| run.executions as f64));
        ratios[1].push(classic.cpu.as_secs_f64().ln() - mean(&|run| run.cpu.as_secs_f64()));
    }
    ratios.map(|ratios| {
        let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
        format!("{:.2} ({both})", mean.exp())
    })
}

#[cfg(test)]
mod checks {
    use super::*;

    fn run(end: End, executions: u64) -> Try {
        Try { end, executions, cpu: Duration::from_millis(executions) }
    }

    #[test]
    fn a_cell_says_what_came_of_its_runs() {
        assert_eq!(cell(&[run(End::Found, 1_200)]), "1,200 · 1.2 s");
        assert_eq!(cell(&[run(End::Budget, 5)]), "–");
        assert_eq!(cell(&[run(End::Covered, 5)]), "ended");
        assert_eq!(cell(&[run(End::Other("deadlock"), 5)]), "another: deadlock");
        let some = [run(End::Found, 10), run(End::Budget, 99), run(End::Found, 20)];
        assert_eq!(cell(&some), "15 (10–20) 2/3 · 15 ms");
        assert_eq!(cell(&some[..1].repeat(2)), "10 (10–10) · 10 ms");
    }
}
