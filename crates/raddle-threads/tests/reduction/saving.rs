//! Searches that are stopped, saved and taken up again by another engine: the same schedules in the same
//! order, the same counts and the same words at the end.

use raddle_engine::observer::{self, Observer, Observers, Paused};
use raddle_engine::strategy::{Checkpoint, Strategy as _, Unsupported};
use raddle_engine::{Ended, Limits, Setup, Stop, explore_from};
use raddle_search::rng::Rng;
use raddle_search::traces::TraceCounter;
use raddle_search::{Built, build};
use raddle_testing::{Sample, figures};
use raddle_trace::{Assumption, Carried, Covered, Progress, Settings};

use crate::Schedules;
use crate::programs;
use crate::random::{execute, program};

/// Keeps what a search needs to go on, when it has ended.
#[derive(Default)]
struct Kept(Option<(Result<Checkpoint, Unsupported>, Carried)>);

impl Observer for Kept {
    fn finish(&mut self, search: &mut Paused<'_, '_>, _: &Ended) {
        self.0 = Some((search.save(), search.carried()));
    }
}

/// What a search came to.
#[derive(Debug, PartialEq)]
struct Ran {
    schedules: Vec<Vec<u32>>,
    ended: Ended,
    carried: Carried,
    covered: Covered,
    progress: Progress,
    assumptions: Vec<Assumption>,
}

/// Runs at most so many executions, in parts of a few.
fn run(
    text: &str,
    most: u64,
    settings: Settings,
    body: &dyn Fn(),
    mut part: impl FnMut() -> u64,
) -> Ran {
    let mut schedules = Vec::new();
    let mut state: Option<(Checkpoint, Carried)> = None;
    loop {
        let Built { mut strategy, .. } = build(text, 3).expect("a strategy");
        let (mut traces, mut these) = (TraceCounter::new(50), Schedules::default());
        let mut kept = Kept::default();
        let mut carried = Carried::default();
        if let Some((saved, before)) = &state {
            let resumed = observer::restore(&mut *strategy, &mut [&mut traces], saved);
            resumed.unwrap_or_else(|why| panic!("{text}: {why}"));
            // As from a file.
            let json = serde_json::to_string(before).expect("every map has names for keys");
            carried = serde_json::from_str(&json).expect("what was written");
        }
        let executions = (carried.counts.executions.saturating_add(part())).min(most);
        let limits = Limits { executions, ..Limits::default() };
        let setup = Setup { limits, keep_going: true, settings, ..Setup::default() };
        let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
        let observers: Observers<'_, '_> = &mut [&mut traces, &mut these, &mut kept];
        let explored = explore_from(&carried, &mut *strategy, observers, &setup, lap, pulse, body);
        let explored = explored.expect("a search can run here");
        schedules.append(&mut these.0);
        let (saved, carried) = kept.0.expect("the search has ended");
        assert_eq!(explored.counts, carried.counts);
        if explored.ended != Ended::Executions || executions == most {
            return Ran {
                schedules,
                ended: explored.ended,
                covered: strategy.covered(),
                progress: Progress { frontier_bytes: 0, ..explored.progress },
                assumptions: explored.assumptions,
                carried,
            };
        }
        state = Some((saved.expect(text), carried));
    }
}

/// What has something to do with tasks, objects or statements, or learns.
const STRATEGIES: [&str; 17] = [
    "dpor",
    "dpor(source)",
    "dpor(classic)",
    "dpor(eta)",
    "dpor probes(3)",
    "hapset(dpor)",
    "hapset(all, calls(0))",
    "hapset(preemptions(1), train(3))",
    "pset(dpor)",
    "dfs cache",
    "dfs preemptions(1) cache(20)",
    "all breadth-first",
    "pct",
    "pos",
    "rff",
    "urw",
    "surw",
];

/// How many executions were compared.
#[track_caller]
fn compare(
    text: &str,
    most: u64,
    settings: Settings,
    body: &dyn Fn(),
    what: &str,
    rng: &mut Rng,
) -> u64 {
    let whole = run(text, most, settings, body, || u64::MAX);
    let parts = run(text, most, settings, body, || u64::from(1 + rng.below(12)));
    assert_eq!(parts, whole, "{text} of {what}");
    whole.carried.counts.executions
}

/// Two thousand programs if there is time, else 40.
#[test]
fn random_programs_are_searched_as_if_nothing_had_happened() {
    let sample = Sample::new((40, 150), (2_000, 150));
    let mut rng = Rng::new(9 + sample.from);
    let mut executions = 0;
    for seed in (700_000 + sample.from..).take(sample.programs as usize) {
        let program = program(seed);
        let body = || drop(execute(&program));
        let what = format!("seed {seed}: {program:?}");
        // Each program with some of them, so that all have met many.
        for at in 0..3 {
            let text = STRATEGIES[(seed as usize + 5 * at) % STRATEGIES.len()];
            executions += compare(text, sample.most, program.settings(), &body, &what, &mut rng);
        }
        executions += compare("dpor", sample.most, program.settings(), &body, &what, &mut rng);
    }
    figures("saved-threads", &[("compared", sample.programs), ("executions", executions)]);
}

#[test]
fn programs_of_the_literature_are_searched_as_if_nothing_had_happened() {
    let mut rng = Rng::new(10);
    for (what, body) in [
        ("readers(5)", (|| programs::readers(5)) as fn()),
        ("last_zero(4)", || programs::last_zero(4)),
        ("inc(3)", || programs::inc(3)),
    ] {
        for text in STRATEGIES {
            compare(text, 200, Settings::default(), &body, what, &mut rng);
        }
    }
}

/// In the first a timer is there before any step or not, by a value: what was known of it in one execution was
/// taken to hold in the next. In the second a filter asks about an op that races with nothing.
#[test]
fn what_once_hung_on_the_executions_before_does_not() {
    let mut rng = Rng::new(12);
    for (seed, text) in [(700_986, "pos"), (700_306, "pset(dpor)")] {
        let program = program(seed);
        let body = || drop(execute(&program));
        for _ in 0..4 {
            let what = format!("seed {seed}: {program:?}");
            compare(text, 150, program.settings(), &body, &what, &mut rng);
        }
    }
}
