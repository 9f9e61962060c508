//! `docs/results/nightly.md`: what a nightly run came to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::thread::available_parallelism;

use super::{Done, How, Kind, Mutated, Outcome, Pages, Verdict, Wanted, shape, verdict};

/// The page. `before`: the page as it was, from which rows of parts that were not run now are taken over, with their commits.
pub(super) fn text(
    results: &[Outcome],
    wanted: &Wanted,
    commit: &str,
    spent: u64,
    before: &str,
) -> String {
    let mut text = String::from("# Nightly: everything that takes long\n\n");
    let before = Before::read(before);
    let is_missing = |result: &Outcome| !is_finished(result) && before.row(result).is_none();
    let whole = match verdict(results) {
        Verdict::Failed => "**Something failed**",
        _ if results.iter().any(is_missing) => {
            "What was run passed, and **not everything was run**"
        }
        _ => "Everything passed",
    };
    let _ = writeln!(
        text,
        "`cargo xtask nightly --time {}m`, commit {commit}, {}, {}, {}.\n\n{whole}. Times are of {} at a time; \
         those of tests in parts are sums.",
        wanted.time.as_secs() / 60,
        today(),
        // What was kept of runs of other commits took its time then.
        duration(spent.max(results.iter().map(seconds).sum())),
        machine(),
        match wanted.jobs {
            1 => "one process".to_owned(),
            n => format!("{n} processes"),
        },
    );
    if wanted.scale < 100 {
        let _ = writeln!(text, "\n**Only {} % of the programs were compared.**", wanted.scale);
    }
    let commits = commits(results, commit, &before);
    if commits.len() > 1 {
        let _ = writeln!(
            text,
            "\nParts ran at {} commits, each at the one that its row names: what had passed at an earlier commit was not run \
             again, whatever has changed since. `git diff COMMIT {commit}` is what lies between one of them and this page.",
            commits.len(),
        );
    }
    let at = |result: &Outcome| if commits.len() > 1 { ran_at(result) } else { String::new() };
    let is_page = |result: &&Outcome| matches!(result.part.kind, Kind::Page(_));
    text.push_str("\n| part | outcome | time | figures |\n|---|---|--:|---|\n");
    for result in results.iter().filter(|result| !is_page(result)) {
        if let (false, Some(row)) = (is_finished(result), before.row(result)) {
            let _ = writeln!(text, "{row}");
            continue;
        }
        let _ = writeln!(
            text,
            "| {} | {}{} | {} | {} |",
            result.part.name,
            outcome(result, wanted),
            at(result),
            took(result),
            figures(result)
        );
    }
    let pages: Vec<_> = results.iter().filter(is_page).collect();
    if !pages.is_empty() {
        text.push_str(PAGES);
    }
    for result in pages {
        let Kind::Page(page) = result.part.kind else { continue };
        if let (false, Some(row)) = (is_finished(result), before.row(result)) {
            let _ = writeln!(text, "{row}");
            continue;
        }
        let command = match page.how {
            How::Bench { arguments, .. } => format!("raddle-bench {arguments}"),
            How::Corpus { arguments } => format!("raddle-corpus {arguments}"),
        };
        let _ = writeln!(
            text,
            "| [{0}]({0}) | `{command}` | {1}{2} | {3} |",
            page.file,
            outcome(result, wanted),
            at(result),
            took(result)
        );
    }
    for result in results {
        for done in result.jobs.iter().flatten().filter(|done| !done.passed) {
            let _ =
                writeln!(text, "\n## {} failed\n\n```text\n{}\n```", result.part.name, done.said);
        }
    }
    text
}

const PAGES: &str = "\n## Pages of results\n\nThe pages themselves are as they were committed. *checked*: what \
                     measures them was run with fewer rounds, in a build without link-time optimisation and beside \
                     other parts, and every number could be measured; *re-made*: as it is made for the page. \
                     `applications.md`, `libraries.md` and `spinning.md` are compared by the tests of the part `corpus`, and \
                     `mutations.md` is the part `mutations`; `crates.md` and `crate-mutants.md` are made by `cargo xtask crates`, `weight.md` by `cargo xtask weight`.\n\n\
                     | page | command | outcome | time |\n|---|---|---|--:|\n";

fn outcome(result: &Outcome, wanted: &Wanted) -> String {
    let finished = result.jobs.iter().flatten().count();
    let failed = result.jobs.iter().flatten().filter(|done| !done.passed).count();
    let (all, chunk) = shape(result.part, wanted.scale);
    let page = matches!(result.part.kind, Kind::Page(_));
    if result.left_out {
        "not asked for".to_owned()
    } else if failed > 0 {
        "**failed**".to_owned()
    } else if let Some(Mutated { caught, survived }) = result.begun {
        let all = crate::mutate::MUTATIONS.len();
        format!("**cut** after {} of {all}: {survived} survived", caught + survived)
    } else if finished == 0 {
        "**not run**".to_owned()
    } else if (finished as u64) < all {
        format!("**cut** after {finished} of {all} times {chunk} programs")
    } else if page && wanted.pages == Pages::Quick && !is_always_whole(result) {
        "checked".to_owned()
    } else if page {
        "re-made".to_owned()
    } else {
        "passed".to_owned()
    }
}

/// Whether there is no quicker way to measure a page.
fn is_always_whole(result: &Outcome) -> bool {
    matches!(result.part.kind, Kind::Page(page) if matches!(page.how, How::Corpus { .. }))
}

/// Whether every job of a part was run to its end.
fn is_finished(result: &Outcome) -> bool {
    result.jobs.iter().all(Option::is_some)
}

/// What the page said before, by part.
struct Before {
    /// Rows of parts that passed, each with the commits at which they did.
    rows: BTreeMap<String, (String, Vec<String>)>,
}

impl Before {
    fn read(page: &str) -> Self {
        // A page on which everything ran at one commit names it once, above the table.
        let only = page.split_once(", commit ").and_then(|(_, rest)| rest.split_once(','));
        let only = only.map(|(commit, _)| commit);
        let mut rows = BTreeMap::new();
        for line in page.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let Some(outcome) = cells.iter().position(|cell| is_good(cell)) else { continue };
            let (verdict, at) = match cells[outcome].split_once(" at ") {
                Some((verdict, at)) => (verdict, at),
                None => (cells[outcome], only.unwrap_or_default()),
            };
            let commits = at.split(", ").map(str::to_owned).collect();
            let cell = format!(" {verdict} at {at} ");
            let written: Vec<&str> = line.split('|').collect();
            let row = written.iter().enumerate();
            let row = row.map(|(nth, old)| if nth == outcome { cell.as_str() } else { old });
            let name = cells[1].trim_start_matches('[').split(']').next().unwrap_or_default();
            rows.insert(name.to_owned(), (row.collect::<Vec<_>>().join("|"), commits));
        }
        Self { rows }
    }

    fn of(&self, result: &Outcome) -> Option<&(String, Vec<String>)> {
        let name = match result.part.kind {
            Kind::Page(page) => page.file,
            _ => result.part.name,
        };
        // What was begun now and failed, or was cut off, is not what it was.
        self.rows
            .get(name)
            .filter(|_| result.jobs.iter().all(Option::is_none) && result.begun.is_none())
    }

    fn row(&self, result: &Outcome) -> Option<&str> {
        self.of(result).map(|(row, _)| row.as_str())
    }

    fn commits(&self, result: &Outcome) -> &[String] {
        self.of(result).map_or(&[], |(_, commits)| commits)
    }
}

/// Whether a cell says that all of a part was run and nothing failed.
fn is_good(cell: &str) -> bool {
    let verdict = cell.split(" at ").next().unwrap_or(cell);
    ["passed", "checked", "re-made"].contains(&verdict)
}

/// The commits at which jobs ran, in the order of the parts, and last the one that the page is of.
fn commits<'a>(results: &'a [Outcome], last: &'a str, before: &'a Before) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for result in results {
        let now = result.jobs.iter().flatten().map(|done| done.commit.as_str());
        let earlier = before.commits(result).iter().map(String::as_str);
        for commit in now.chain(earlier) {
            if commit != last && !all.contains(&commit) {
                all.push(commit);
            }
        }
    }
    all.push(last);
    all
}

/// At which commits the jobs of a part ran.
fn ran_at(result: &Outcome) -> String {
    let all: BTreeSet<&str> =
        result.jobs.iter().flatten().map(|done| done.commit.as_str()).collect();
    if all.is_empty() {
        return String::new();
    }
    format!(" at {}", all.into_iter().collect::<Vec<_>>().join(", "))
}

fn took(result: &Outcome) -> String {
    duration(seconds(result))
}

fn seconds(result: &Outcome) -> u64 {
    result.jobs.iter().flatten().map(|done| done.seconds).sum()
}

fn figures(result: &Outcome) -> String {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, value) in result.jobs.iter().flatten().flat_map(|Done { figures, .. }| figures) {
        *all.entry(key).or_insert(0) += value;
    }
    // What matters most first; the rest in the order of the alphabet.
    let first = ["compared", "skipped"];
    let rest = all.keys().copied().filter(|key| !first.contains(key)).collect::<Vec<_>>();
    let keys = first.into_iter().filter(|key| all.contains_key(key)).chain(rest);
    let figure = |key: &str| format!("{} {key}", grouped(all[key]));
    keys.map(figure).collect::<Vec<_>>().join(", ")
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

fn today() -> String {
    let output = Command::new("date").args(["-u", "+%F"]).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Cores, memory, and how busy it is.
fn machine() -> String {
    let cores = available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let memory =
        kib.map_or(String::new(), |kib| format!(", {} GiB memory", (kib + (1 << 19)) >> 20));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(2).map_or(String::new(), |load| format!(", load {load}"));
    format!("{cores} cores{memory}{load}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_for_people() {
        assert_eq!(
            ["1", "1,000", "12,345,678"],
            [1, 1_000, 12_345_678].map(grouped).each_ref().map(String::as_str)
        );
        assert_eq!(duration(119), "119 s");
        assert_eq!(duration(5_400), "90 min");
        assert_eq!(duration(7_260), "2 h 1 min");
    }
}
