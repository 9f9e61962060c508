//! Tables 2 and 3: searches with reduction, and how they estimate what they leave out.

use raddle_engine::strategy::{Answer, Cut, Event, Finished, Needs, Plan, Point, Step, Strategy};
use raddle_engine::{Access, Limits, ObjectId, Setup, Stop, explore};
use raddle_trace::Covered;

use super::exhaustive::repeat;
use super::tests::{TESTS, Test, test};
use super::watched::{How, Run, run};
use super::{Effort, Part, accuracy, large, mean, seconds};
use crate::numbers::grouped;
use crate::table::{Comparison, Table};

/// Eta's reduction, depth first.
pub(super) const ETA: &str = "dpor(eta)";
/// Eta's reduction, with seeds at random: of this program alone, see `at_random.rs`.
pub(super) const ETA_AT_RANDOM: &str = "Eta's reduction with seeds at random";

const STRATEGIES: [&str; 3] = [ETA, "dpor(classic)", "dpor"];

/// Table 2.
pub(super) fn table2(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let header = [
        "test",
        "all",
        "Eta",
        "dpor(eta)",
        "dpor(classic)",
        "dpor",
        "Eta: time",
        "dpor(eta)",
        "dpor(classic)",
        "dpor",
        "",
    ];
    let mut table = Table {
        title: "Table 2: searches with reduction".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "Executions, then CPU time. `dpor(eta)` is Eta's algorithm. `dpor(classic)` and `dpor` \
             have sleep sets besides, so they run each order of dependent steps once, and no two \
             executions that are equivalent."
                .to_owned(),
            "Why Eta's numbers are so much larger than those of `dpor(eta)` is not known. The order in \
             which actors are tried matters, and the paper does not say it; of PingPong the next table \
             shows that a relation coarser than the published one gives them."
                .to_owned(),
            "* not all: Eta's after an hour, ours when given up.".to_owned(),
        ],
        ..Table::default()
    };
    for test in &TESTS {
        let runs = STRATEGIES.map(|strategy| {
            progress(&format!("table 2: {} {strategy}", test.name));
            repeat(test, How::new(strategy, effort.cap), effort)
        });
        add_row(&mut table, test, &runs);
    }
    note_failures(&mut table);
    vec![Part { table, plots: Vec::new() }, coarse(effort, progress)]
}

/// Eta's reduction of two actors, where a step touches the mailbox that it takes its message from, and
/// not only those that it sends to.
struct Coarse {
    inner: raddle_search::Eta,
    /// The two actors, as they were met.
    actors: Vec<ObjectId>,
}

impl Strategy for Coarse {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.inner.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.inner.decide(point)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        let Event::Step(step) = event else { return self.inner.step(event) };
        let Some((actor, Access::Write)) = step.footprint.first().copied() else {
            return self.inner.step(event);
        };
        let known = self.actors.iter().position(|known| *known == actor);
        let which = known.unwrap_or_else(|| {
            self.actors.push(actor);
            self.actors.len() - 1
        });
        assert!(which < 2, "there are two actors");
        // What is sent goes to the other one.
        let shared_resources = if step.shared_resources == 0 { 1 << which } else { 0b11 };
        self.inner.step(&Event::Step(Step { shared_resources, ..*step }))
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.inner.end(execution);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }
}

/// Executions of [`Coarse`].
fn coarsely(test: &Test) -> Result<u64, String> {
    let mut coarse = Coarse { inner: raddle_search::Eta::new(), actors: Vec::new() };
    let setup = Setup { limits: Limits::default(), ..Setup::default() };
    let explored = explore(&mut coarse, &setup, &mut |_| Stop::No, &mut |_| {}, &|| test.call());
    let explored = explored.map_err(|error| error.to_string())?;
    Ok(explored.counts.executions)
}

/// What gives the published numbers of `PingPong`.
fn coarse(_: Effort, progress: &dyn Fn(&str)) -> Part {
    let header = ["test", "Eta", "by definition 5.4", "coarser", ""];
    let mut table = Table {
        title: "Table 2: PingPong with a coarser relation".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "By definition 5.4 two steps commute if they send to no common mailbox. Two actors that do \
             not write to themselves never do, so one execution stands for all. The published numbers \
             come out if a step also touches the mailbox from which it takes its message: then the two \
             steps of a round depend on each other, in all rounds but the last, in which nothing is \
             sent. That is one level of n + 1 that is left out: 2^n."
                .to_owned(),
        ],
        ..Table::default()
    };
    for test in ["PingPong(10)", "PingPong(15)"].map(test) {
        progress(&format!("table 2: {} coarsely", test.name));
        let by_the_letter = run(test, How::new(ETA, std::time::Duration::MAX));
        match (coarsely(test), by_the_letter) {
            (Ok(ours), Ok(letter)) => table.rows.push(vec![
                test.name.to_owned(),
                grouped(test.reduced.0),
                grouped(letter.last().executions),
                grouped(ours),
                if ours == test.reduced.0 { "same" } else { "DIFFERS" }.to_owned(),
            ]),
            (Err(error), _) | (_, Err(error)) => table.failures.push(error),
        }
    }
    note_failures(&mut table);
    Part { table, plots: Vec::new() }
}

/// Says once what could not be measured.
fn note_failures(table: &mut Table) {
    table.failures.sort();
    table.failures.dedup();
    let notes = table.failures.drain(..).map(|failure| format!("Not measured: {failure}."));
    table.notes.extend(notes);
}

#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
fn add_row(table: &mut Table, test: &Test, runs: &[Result<Vec<Run>, String>; 3]) {
    let star = |is_whole: bool| if is_whole { "" } else { "*" };
    let (theirs, their_time) = test.reduced;
    let mut cells = vec![
        test.name.to_owned(),
        test.all.map_or("—".to_owned(), grouped),
        grouped(theirs) + star(test.all.is_some()),
    ];
    let executions = |runs: &Vec<Run>| grouped(runs[0].last().executions) + star(runs[0].is_whole);
    let time =
        |runs: &Vec<Run>| mean(&runs.iter().map(|run| run.last().seconds).collect::<Vec<_>>()).0;
    let or_dash = |text: Result<String, &String>| text.unwrap_or_else(|_| "—".to_owned());
    cells.extend(runs.iter().map(|runs| or_dash(runs.as_ref().map(executions))));
    cells.push(seconds(their_time));
    cells.extend(runs.iter().map(|runs| or_dash(runs.as_ref().map(|runs| seconds(time(runs))))));
    cells.push(String::new());
    table.rows.push(cells);
    for (strategy, runs) in STRATEGIES.iter().zip(runs) {
        match runs {
            Ok(runs) => table.comparisons.push(Comparison {
                table: "table2",
                row: test.name.to_owned(),
                column: (*strategy).to_owned(),
                ours: Some(runs[0].last().executions as f64),
                peer: Some(theirs as f64),
                ratio: None,
            }),
            Err(error) => table.failures.push(error.clone()),
        }
    }
}

/// Table 3.
#[expect(clippy::cast_precision_loss, reason = "executions are far below 2^52")]
pub(super) fn table3(effort: Effort, progress: &dyn Fn(&str)) -> Vec<Part> {
    let header = [
        "test",
        "all",
        "Eta: estimate",
        "ACC",
        "dpor(eta)",
        "ACC",
        "dpor(classic)",
        "ACC",
        "dpor",
        "ACC",
        "",
    ];
    let mut table = Table {
        title: "Table 3: the last estimate of searches with reduction".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        notes: vec![
            "What a search with reduction takes the whole space to be when it has ended, by Eta's \
             rule: the mean of the children that were visited, times the number of children. ACC is \
             2^|log2(y/x)|: 1 is exact."
                .to_owned(),
        ],
        ..Table::default()
    };
    for test in &TESTS {
        progress(&format!("table 3: {}", test.name));
        let once = Effort { repetitions: 1, ..effort };
        let runs = STRATEGIES.map(|strategy| repeat(test, How::new(strategy, effort.cap), once));
        let actual = test.all;
        let acc = |estimate: f64| {
            actual.map_or("—".to_owned(), |all| format!("{:.2}", accuracy(all, estimate)))
        };
        let published = test.estimate;
        let mut cells = vec![
            test.name.to_owned(),
            actual.map_or("—".to_owned(), grouped),
            published
                .map_or("~1e17 (without reduction)".to_owned(), |(estimate, _)| grouped(estimate)),
            published.map_or("—".to_owned(), |(_, accuracy)| format!("{accuracy:.2}")),
        ];
        for (strategy, runs) in STRATEGIES.iter().zip(runs) {
            let run = runs.map(|mut runs| runs.remove(0));
            let estimate = run.as_ref().ok().and_then(|run| run.last().estimate);
            match (run, estimate) {
                (Ok(run), Some(estimate)) => {
                    let star = if run.is_whole { "" } else { "*" };
                    let about = estimate.total.about;
                    cells.extend([large(about) + star, acc(about)]);
                    table.comparisons.push(Comparison {
                        table: "table3",
                        row: test.name.to_owned(),
                        column: (*strategy).to_owned(),
                        ours: Some(about),
                        peer: published.map(|(estimate, _)| estimate as f64),
                        ratio: None,
                    });
                }
                (run, _) => {
                    cells.extend(["—".to_owned(), "—".to_owned()]);
                    table.failures.extend(run.err());
                }
            }
        }
        cells.push(String::new());
        table.rows.push(cells);
    }
    note_failures(&mut table);
    vec![Part { table, plots: Vec::new() }]
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn a_coarser_relation_leaves_out_the_last_level_of_pingpong() {
        assert_eq!(coarsely(test("PingPong(10)")), Ok(1_024));
        let by_the_letter = run(test("PingPong(10)"), How::new(ETA, std::time::Duration::MAX));
        assert_eq!(by_the_letter.map(|run| run.last().executions), Ok(1));
    }
}
