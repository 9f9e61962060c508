//! How often executions of samplers show a bug: `random` beside shuttle's, and samplers beside each other.

use std::time::Duration;

use peer::{Rate, RateAsked, RateSearch, cpu_time};
use raddle_corpus::Program;
use raddle_engine::{Lap, Limits, Setup, Stop, Strategy, explore};

use crate::numbers::grouped;
use crate::peers::{Peers, Tool};
use crate::table::{Comparison, Table};

/// Deviations of the logarithm of a ratio within which two rates are called the same: one in 370 differs by more without
/// a reason.
const DEVIATIONS: f64 = 3.0;

/// Programs of the second table: name, arguments, how many seeds, what Zhao et al. published for SURW.
const PUBLISHED: [(&str, &[usize], u64, &str); 6] = [
    ("reorder", &[3], 200, "7"),
    ("reorder", &[10], 200, "17"),
    ("reorder", &[100], 20, "194"),
    ("bluetooth", &[], 200, "36"),
    ("two-stage", &[], 200, ""),
    ("double-checked", &[], 200, ""),
];
const SAMPLERS: [&str; 5] = ["random", "pct(3)", "pos", "urw", "surw"];
/// A search of the second table that has found nothing until then counts as this many executions.
const GIVEN_UP: u64 = 5_000;

/// Measures both tables.
pub(crate) fn measure(peers: &Peers, quick: bool, progress: impl Fn(&str)) -> Vec<Table> {
    vec![beside_shuttle(peers, quick, &progress), beside_each_other(quick, &progress)]
}

/// One search of raddle, up to its first failure or its limits.
fn search(
    strategy: &str,
    program: &Program,
    arguments: &[usize],
    asked: RateSearch,
) -> (u64, bool) {
    let Ok(mut built) = raddle_search::build(strategy, asked.seed) else { return (0, false) };
    search_by(&mut *built.strategy, program, arguments, asked)
}

/// The same, by a strategy that is there.
pub(crate) fn search_by(
    strategy: &mut dyn Strategy,
    program: &Program,
    arguments: &[usize],
    asked: RateSearch,
) -> (u64, bool) {
    let usual = Limits::default();
    let steps = program.steps.unwrap_or(usual.steps);
    let limits = Limits { executions: asked.executions, steps, ..usual };
    let setup = Setup { limits, ..Setup::default() };
    let begin = cpu_time();
    let mut lap = |lap: Lap| {
        let looks = lap.executions.is_multiple_of(16) && lap.steps == 0;
        let over = looks && cpu_time().saturating_sub(begin) > asked.within;
        if over { Stop::Search } else { Stop::No }
    };
    let body = || program.call(arguments);
    match explore(strategy, &setup, &mut lap, &mut |_| {}, &body) {
        Ok(explored) => (explored.counts.executions, explored.failure.is_some()),
        Err(_) => (0, false),
    }
}

/// A program, and how often executions of both tools failed.
pub(crate) struct Row {
    pub(crate) program: &'static Program,
    pub(crate) ours: Rate,
    pub(crate) shuttle: Rate,
}

impl Row {
    /// Executions to a failure here over those of shuttle, and the factor within which that is known; none if one of
    /// the tools saw no failure.
    pub(crate) fn ratio(&self) -> Option<(f64, f64)> {
        let mean = |rate: Rate| float(rate.executions) / float(rate.failures);
        (self.ours.failures > 0 && self.shuttle.failures > 0).then(|| {
            let variance = 1.0 / float(self.ours.failures) + 1.0 / float(self.shuttle.failures);
            (mean(self.ours) / mean(self.shuttle), (DEVIATIONS * variance.sqrt()).exp())
        })
    }

    /// Which of the two shows the bug more often, if that is certain.
    pub(crate) fn verdict(&self) -> &'static str {
        match (self.ratio(), self.ours.failures, self.shuttle.failures) {
            (Some((ratio, within)), ..) if ratio / within > 1.0 => "shuttle",
            (Some((ratio, within)), ..) if ratio * within < 1.0 => "raddle",
            (Some(_), ..) => "",
            (None, 0, 0) => "neither saw it",
            // Three or more, so that none in as many executions is no chance.
            (None, 3.., 0) => "raddle alone",
            (None, 0, 3..) => "shuttle alone",
            (None, ..) => "too rare to say",
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
pub(crate) fn float(n: u64) -> f64 {
    n as f64
}

fn beside_shuttle(peers: &Peers, quick: bool, progress: &dyn Fn(&str)) -> Table {
    let names = peers.text(Tool::ShuttleCorpus, "its programs", &[]).unwrap_or_default();
    let mut table = Table {
        title: "Executions to a failure: random scheduling beside shuttle's".to_owned(),
        header: [
            "program",
            "raddle",
            "shuttle",
            "raddle ÷ shuttle",
            "known within ×",
            "more often",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Table::default()
    };
    if names.is_empty() {
        table.failures.push("shuttle's binary named no program".to_owned());
    }
    let (failures, executions, seconds) =
        if quick { (20, 2_000, 0.1) } else { (400, 1_000_000, 2.0) };
    let mut rows = Vec::new();
    for name in names.lines() {
        progress(name);
        let Ok((program, arguments)) = raddle_corpus::find(name, &[]) else {
            table.failures.push(format!("{name} is not in the corpus"));
            continue;
        };
        let asked = RateAsked { program: Some(name.to_owned()), failures, executions, seconds };
        let ours = Rate::measure(&asked, |one| search("random", program, &arguments, one));
        let given = [
            name.to_owned(),
            format!("--failures={failures}"),
            format!("--executions={executions}"),
            format!("--seconds={seconds}"),
        ];
        match peers.line(Tool::ShuttleCorpus, name, &given) {
            Ok(shuttle) => rows.push(Row { program, ours, shuttle }),
            Err(error) => table.failures.push(error.to_string()),
        }
    }
    rows.sort_by(|a, b| {
        let key = |row: &Row| row.ratio().map_or(0.0, |(ratio, _)| ratio);
        key(b).total_cmp(&key(a))
    });
    let mean = |rate: Rate| match rate.failures {
        0 => format!("none in {}", grouped(rate.executions)),
        n => format!("{:.1}", float(rate.executions) / float(n)),
    };
    for row in &rows {
        let (ratio, within) =
            row.ratio().map_or((String::new(), String::new()), |(ratio, within)| {
                (format!("{ratio:.2}"), format!("{within:.2}"))
            });
        table.comparisons.push(Comparison {
            table: "random",
            row: row.program.name.to_owned(),
            column: "executions to a failure".to_owned(),
            ours: Some(float(row.ours.executions) / float(row.ours.failures.max(1))),
            peer: Some(float(row.shuttle.executions) / float(row.shuttle.failures.max(1))),
            ratio: row.ratio().map(|(ratio, _)| 1.0 / ratio),
        });
        let cells = [row.program.name.to_owned(), mean(row.ours), mean(row.shuttle), ratio, within];
        table.rows.push(cells.into_iter().chain([row.verdict().to_owned()]).collect());
    }
    table.notes = notes(&rows, failures, executions, seconds);
    table
}

fn notes(rows: &[Row], failures: u64, executions: u64, seconds: f64) -> Vec<String> {
    let count = |verdict: &str| rows.iter().filter(|row| row.verdict() == verdict).count();
    let ratios: Vec<f64> =
        rows.iter().filter_map(|row| row.ratio().map(|(ratio, _)| ratio)).collect();
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    let mean = (logarithms / float(ratios.len().max(1) as u64)).exp();
    vec![
        format!(
            "{} programs. More often under shuttle: {}, under raddle: {}; only under shuttle: {}, only under raddle: {}; \
             the rest do not differ by more than chance. Geometric mean of the ratios: {mean:.2}.",
            rows.len(),
            count("shuttle"),
            count("raddle"),
            count("shuttle alone"),
            count("raddle alone"),
        ),
        format!(
            "Each program is searched again and again with another seed until {failures} searches have failed, or {} \
             executions were run, or {seconds} s of CPU time are over. Shown: executions over failures. `random` of raddle, \
             `RandomScheduler` of shuttle 0.9, both with their usual settings, the same source text of each program.",
            grouped(executions)
        ),
        "Why they differ, for the two rows that were reckoned: in shuttle a thread that was spawned may run before the next one is, in raddle to spawn is no step. So bugs that need \
         one thread far ahead of another are more frequent there, and bugs that need threads side by side are more frequent here. \
         double-checked: one of two threads does four steps before the other's first, and then waits for two of the other's: \
         2 · (1/2)^6 = 1/32 here. abba: of two threads the second takes its first lock between the two of the first: 1/2 here. Unlocks \
         are points of both tools. What the points that only one of the two has make of all rows: [points.md](points.md)."
            .to_owned(),
        format!(
            "*known within*: the ratio divided and multiplied by this is where it lies by {DEVIATIONS:.0} standard deviations \
             of its logarithm. *more often*: who shows the bug more often, where that interval leaves no doubt."
        ),
    ]
}

fn beside_each_other(quick: bool, progress: &dyn Fn(&str)) -> Table {
    let header = ["program", "seeds"].into_iter().chain(SAMPLERS).chain(["published for SURW"]);
    let mut table = Table {
        title: "Executions to the first failure, by sampler".to_owned(),
        header: header.map(str::to_owned).collect(),
        ..Table::default()
    };
    for (name, given, seeds, published) in PUBLISHED {
        let seeds = if quick { 3 } else { seeds };
        let Ok((program, arguments)) = raddle_corpus::find(name, given) else {
            table.failures.push(format!("{name} is not in the corpus"));
            continue;
        };
        let given: Vec<_> = given.iter().map(ToString::to_string).collect();
        let mut row = vec![format!("{name} {}", given.join(" ")).trim_end().to_owned()];
        row.push(seeds.to_string());
        for sampler in SAMPLERS {
            progress(&format!("{name} {sampler}"));
            let one = |seed| {
                let within = Duration::from_mins(1);
                let asked = RateSearch { seed, executions: GIVEN_UP, within };
                search(sampler, program, &arguments, asked)
            };
            let all: Vec<_> = (0..seeds).map(one).collect();
            let missed = all.iter().filter(|(_, failed)| !failed).count();
            let mean = float(all.iter().map(|(run, _)| run).sum()) / float(seeds);
            let note = if missed == 0 { String::new() } else { format!(" ({missed} missed)") };
            row.push(format!("{mean:.1}{note}"));
        }
        row.push(published.to_owned());
        table.rows.push(row);
    }
    table.notes = vec![
        format!(
            "The mean over seeds from 0 on. What is missed in {} executions counts as that many. The counting executions \
             of `urw` and `surw` are among them. The deviation of a mean is about the mean divided by the root of the \
             seeds.",
            grouped(GIVEN_UP)
        ),
        "Published: Zhao et al., *Selectively Uniform Concurrency Testing* (ASPLOS 2025). Their programs have steps for \
         spawning and joining, and other objects; in raddle neither is a step, so all samplers have fewer orders to draw \
         from."
            .to_owned(),
    ];
    table
}
