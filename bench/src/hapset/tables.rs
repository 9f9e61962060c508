//! Tables 1, 2, 3 and 5: executions and CPU time to the bug, and to the end of the search.

use raddle_corpus::{Expected, find};

use super::searched::{Case, How, Result, mean_until_bug, until_bug};
use super::{Effort, Part};
use crate::table::{Comparison, Table};

/// Searches, ours first.
const SEARCHES: [&str; 10] = [
    "hapset(dpor)",
    "hapset(preemptions(2))",
    "pset(dpor)",
    "dpor(classic)",
    "dpor",
    "dfs preemptions(0)",
    "dfs preemptions(1)",
    "dfs preemptions(2)",
    "dfs preemptions(3)",
    "dfs preemptions(4)",
];

/// Samplers; means over some seeds.
const SAMPLERS: [&str; 5] = ["random", "pct(3)", "pos", "surw", "rff"];

/// A program of the corpus, with its arguments.
pub(crate) fn case(name: &str, arguments: &'static [usize]) -> Case {
    let (program, _) = find(name, arguments).expect("it is in the corpus");
    Case { program, arguments }
}

fn named(case: Case) -> String {
    let arguments: Vec<_> = case.arguments.iter().map(ToString::to_string).collect();
    format!("{} {}", case.program.name, arguments.join(" ")).trim_end().to_owned()
}

fn kind(expected: Expected) -> &'static str {
    match expected {
        Expected::Deadlock => "deadlock",
        Expected::DataRace => "data race",
        _ => "assertion",
    }
}

/// Two tables of the same programs: to the bug, and to the end.
fn both(
    (key, title): (&'static str, &str),
    cases: &[Case],
    effort: Effort,
    progress: &dyn Fn(&str),
) -> Vec<Part> {
    let texts =
        |columns: &[&str]| columns.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut bug = Table {
        title: format!("{title}: to the bug"),
        header: [&["program", "bug"][..], &SEARCHES, &SAMPLERS, &["hapset(dpor)"]]
            .into_iter()
            .flat_map(texts)
            .collect(),
        ..Table::default()
    };
    let mut end = Table {
        title: format!("{title}: to the end of the search"),
        header: [&["program"][..], &SEARCHES, &["ended"]].into_iter().flat_map(texts).collect(),
        ..Table::default()
    };
    let part = Effort { executions: effort.executions / 4, cap: effort.cap / 4, ..effort };
    for &case in cases {
        let name = named(case);
        progress(&format!("{key}: {name}"));
        let searched = SEARCHES.map(|strategy| until_bug(case, How::new(strategy, effort)));
        let sampled =
            SAMPLERS.map(|strategy| mean_until_bug(case, How::new(strategy, effort), effort.seeds));
        bug.comparisons.extend(compared(key, &name, &searched));
        if let [Result::Missing, ..] = searched {
            bug.failures.push(format!("{key}: this version has no hapset(dpor)"));
        }
        let verdict = if searched[0].found().is_some() { "found" } else { "not found" };
        let cells = searched.iter().chain(&sampled).map(Result::hunt);
        bug.rows.push(
            [name.clone(), kind(case.program.expected).to_owned()]
                .into_iter()
                .chain(cells)
                .chain([verdict.to_owned()])
                .collect(),
        );
        let ended = SEARCHES.map(|strategy| until_bug(case, How::new(strategy, part).to_the_end()));
        let n = ended.iter().filter(|result| matches!(result, Result::Ended(..))).count();
        let verdict = format!("{n} of {}", ended.len());
        end.rows.push(
            [name].into_iter().chain(ended.iter().map(Result::cell)).chain([verdict]).collect(),
        );
    }
    bug.notes = vec![format!(
        "Executions · CPU time to the first failure. `>`: given up after {} executions, or after {} s of \
             CPU time; `none in`: the search ended without it. Samplers: means over {} seeds, given up if one \
             of them was.",
        crate::numbers::grouped(effort.executions),
        effort.cap.as_secs_f64(),
        effort.seeds
    )];
    end.notes = vec![
        "Executions · CPU time of the search on the same program, failures or not, with a quarter of the \
         budget."
            .to_owned(),
    ];
    vec![bug.into(), end.into()]
}

/// hapset(dpor) beside the searches it is meant to beat. A peer that gave up needs at least so many.
fn compared<'a>(
    key: &'static str,
    name: &'a str,
    searched: &'a [Result; 10],
) -> impl Iterator<Item = Comparison> + 'a {
    let peers = SEARCHES.iter().zip(searched).skip(3);
    peers.map(move |(strategy, peer)| {
        let ours = searched[0].found();
        let peer = match peer {
            Result::Ended(..) => None,
            other => other.run(),
        };
        let ratio = ours.zip(peer).map(|(ours, peer)| peer / ours);
        let (row, column) = (name.to_owned(), (*strategy).to_owned());
        Comparison { table: key, row, column, ours, peer, ratio }
    })
}

/// The thread pool, whose known deadlock is any of three here.
pub(crate) fn table1(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let cases: Vec<_> = ["thrift-leave", "thrift-room", "thrift-timer"]
        .into_iter()
        .flat_map(|name| [&[2, 5], &[3, 5], &[4, 5], &[5, 5]].map(|size| case(name, size)))
        .collect();
    let mut parts = both(
        ("table1", "Table 1, a thread pool with w workers and 5 tasks for each"),
        &cases,
        effort,
        progress,
    );
    let (ratios, rows) = ratios(&parts[0].table);
    let what = "Executions of other searches beside those of `hapset(dpor)`, with 3 to 5 workers: found, or \
                given up after so many times as many (`>`); `never`: the search ended without the bug.";
    let table = Table {
        title: "Table 1: the fraction that hapset(dpor) needs".to_owned(),
        header: ratios,
        rows,
        notes: vec![
            what.to_owned(),
            "`thrift-leave` has the shape of Thrift's own code; the other two are of our making. \
             `thrift-room` shows in the first execution of every search."
                .to_owned(),
        ],
        ..Table::default()
    };
    parts.insert(1, table.into());
    parts
}

/// How many times the executions of hapset(dpor) others need, of rows with 3 workers and more.
fn ratios(bug: &Table) -> (Vec<String>, Vec<Vec<String>>) {
    let peers: Vec<_> = SEARCHES.iter().skip(3).map(|text| (*text).to_owned()).collect();
    let header = ["program".to_owned(), "hapset(dpor)".to_owned()].into_iter().chain(peers);
    let header = header.chain(["least".to_owned()]).collect();
    let rows = bug.rows.iter().filter(|row| !row[0].contains(" 2 ")).map(|row| {
        let of_row = bug.comparisons.iter().filter(|of| of.row == row[0]);
        let mut cells = vec![row[0].clone()];
        let mut least = f64::INFINITY;
        for (nth, comparison) in of_row.enumerate() {
            if nth == 0 {
                cells.push(comparison.ours.map_or("not found".to_owned(), super::searched::mean));
            }
            let given_up = row[5 + nth].starts_with('>');
            cells.push(match comparison.ratio {
                Some(ratio) => {
                    least = least.min(ratio);
                    format!(
                        "{}{} ×",
                        if given_up { "> " } else { "" },
                        super::searched::mean(ratio)
                    )
                }
                None if comparison.ours.is_some() => "never".to_owned(),
                None => "—".to_owned(),
            });
        }
        let finite = least.is_finite();
        cells.push(if finite {
            format!("{} ×", super::searched::mean(least))
        } else {
            "—".to_owned()
        });
        cells
    });
    (header, rows.collect())
}

pub(crate) fn table2(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let cases = [
        case("aget-count", &[3, 2]),
        case("aget-save", &[3, 2]),
        case("aget-progress", &[3, 2]),
        case("pbzip2-free", &[3, 2]),
        case("pbzip2-size", &[3, 2]),
        case("pbzip2-plain", &[3, 2]),
        case("pfscan-late", &[2, 4]),
        case("pfscan-close", &[2, 4]),
    ];
    both(("table2", "Table 2, aget, pbzip2 and pfscan"), &cases, effort, progress)
}

/// The columns of table 2 that the paper has a table of its own for, and more threads.
pub(crate) fn table3(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let bounds = &SEARCHES[5..];
    let header = ["program"].into_iter().chain(bounds.iter().copied()).chain(["found"]);
    let rows = ["aget-count", "aget-save"].into_iter().flat_map(|name| {
        [&[2, 1], &[3, 2], &[5, 2]].map(|size| {
            let case = case(name, size);
            progress(&format!("table3: {}", named(case)));
            let results: Vec<_> =
                bounds.iter().map(|bound| until_bug(case, How::new(bound, effort))).collect();
            let found = results.iter().filter(|result| result.found().is_some()).count();
            let cells = results.iter().map(Result::hunt);
            [named(case)].into_iter().chain(cells).chain([format!("{found} of 5")]).collect()
        })
    });
    let rows = rows.collect();
    let note = "The paper counts the switch back too: its bound 2 is about our 1.";
    let table = Table {
        title: "Table 3, aget with 0 to 4 preemptions: to the bug".to_owned(),
        header: header.map(str::to_owned).collect(),
        rows,
        notes: vec![note.to_owned()],
        ..Table::default()
    };
    vec![table.into()]
}

pub(crate) fn table5(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let tests = raddle_corpus::applications::extracted::APPLICATION.tests;
    let bugs = tests.iter().flat_map(|test| test.bugs);
    let cases: Vec<_> = bugs.map(|bug| case(bug.name, &[])).collect();
    both(("table5", "Table 5, bugs out of Mozilla and MySQL"), &cases, effort, progress)
}
