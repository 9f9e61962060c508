//! The happens-before cache: the same traces and the same final states as without, and fewer
//! executions.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use raddle_engine::happens::History;
use raddle_engine::rt;
use raddle_engine::strategy::{Answer, Cut, Event, Finished, Needs, Plan, Point, Strategy};
use raddle_engine::{Ended, Limits, Observer, Setup};
use raddle_search::DepthFirst;
use raddle_search::bound::Bound;
use raddle_search::order::NonPreemptive;
use raddle_search::traces::TraceCounter;
use raddle_testing::{Sample, figures};
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::sync::mpsc;
use raddle_threads::thread;
use raddle_trace::{Covered, Settings, Timeouts};

use crate::programs::*;
use crate::random::{Skips, check_skips, execute, program};
use crate::{OutOfReach, is_out_of_reach, observed};

const MAX_EXECUTIONS: u64 = 3_000_000;

fn within(bound: Option<u32>) -> DepthFirst {
    let bound = bound.map_or(Bound::None, Bound::Preemptions);
    DepthFirst::within(NonPreemptive, bound).expect("they fit")
}

/// What a whole search saw in the executions that were not cut.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    traces: BTreeSet<u64>,
    /// How executions ended, and with which result.
    ends: BTreeSet<String>,
}

/// Writes down how executions end.
struct Ends<'a> {
    result: &'a Mutex<String>,
    all: BTreeSet<String>,
}

impl Observer for Ends<'_> {
    fn end(&mut self, execution: &Finished<'_>) {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        let result = std::mem::take(&mut *result);
        if execution.cut.is_none() {
            self.all.insert(format!("{} {result}", execution.outcome.kind()));
        }
    }
}

/// Runs a whole search. `None` if it does not end within `most` executions.
fn search<S: Strategy>(
    strategy: S,
    most: u64,
    program: &dyn Fn() -> String,
) -> Option<(Whole, u64)> {
    search_with(Settings::default(), strategy, most, program)
}

fn search_with<S: Strategy>(
    settings: Settings,
    mut strategy: S,
    most: u64,
    program: &dyn Fn() -> String,
) -> Option<(Whole, u64)> {
    let result = Mutex::new(String::new());
    let mut traces = TraceCounter::new(usize::MAX);
    let mut ends = Ends { result: &result, all: BTreeSet::new() };
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { settings, limits, keep_going: true, ..Setup::default() };
    let body = || {
        let ended = program();
        *result.lock().unwrap_or_else(PoisonError::into_inner) = ended;
    };
    let explored = observed(&mut strategy, &mut [&mut traces, &mut ends], &setup, &body);
    if explored.ended == Ended::Executions {
        return None;
    }
    assert_eq!(explored.ended, Ended::Covered);
    assert_eq!(explored.counts.rejected, 0);
    let whole = Whole { traces: traces.seen().clone(), ends: ends.all };
    Some((whole, explored.counts.executions))
}

fn cached(bound: Option<u32>, program: &dyn Fn()) -> Whole {
    let run = || {
        program();
        String::new()
    };
    search(within(bound).cached(1_000_000), MAX_EXECUTIONS, &run).expect("it ends").0
}

#[track_caller]
fn traces(expected: u64, program: &dyn Fn()) {
    assert_eq!(cached(None, program).traces.len() as u64, expected);
}

/// With 0, 1, 2, … preemptions.
#[track_caller]
fn bounded(expected: &[usize], program: &dyn Fn()) {
    let found = |k| cached(Some(k), program).traces.len();
    let found: Vec<_> = (0..expected.len() as u32).map(found).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_trace_is_kept() {
    (1..=5).for_each(|n| traces(1 << n, &|| readers(n)));
    // (N + 3) * 2^(N - 2).
    (2..=5).for_each(|n| traces((n as u64 + 3) << n >> 2, &|| last_zero(n)));
    traces(4, &|| inc(2));
    traces(36, &|| inc(3));
    traces(576, &|| inc(4));
    traces(216, &|| cinc(3, 3));
    // N * 2^(N - 1) + 1.
    (2..=6).for_each(|n| traces(((n as u64) << (n - 1)) + 1, &|| wcas(n)));
    traces(20, &|| circular_buffer(2, 3));
    traces(252, &|| circular_buffer(2, 5));
    traces(90, &|| circular_buffer(3, 2));
    traces(1, &|| independent(3, 4));
}

#[test]
fn every_trace_within_a_bound_is_kept() {
    bounded(&[2, 4], &|| inc(2));
    bounded(&[6, 24, 36], &|| inc(3));
    bounded(&[24, 168, 432, 576], &|| inc(4));
    bounded(&[6, 42, 120, 192, 216], &|| cinc(3, 3));
}

/// Cuts wherever the partial order was seen before, with whatever budget.
struct Careless {
    inner: DepthFirst,
    history: History,
    seen: BTreeSet<u64>,
}

impl Strategy for Careless {
    fn needs(&self) -> Needs {
        Needs { steps: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.history.begin(0);
        self.inner.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if self.seen.insert(self.history.fingerprint()) {
            self.inner.decide(point)
        } else {
            Answer::Cut(Cut::Redundant)
        }
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.history.hear(event);
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.inner.end(execution);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }
}

// The budget is what makes it right: without it 9 of the 24 traces within one preemption are lost.
#[test]
fn to_cut_on_the_partial_order_alone_loses_traces() {
    let careless =
        |k| Careless { inner: within(Some(k)), history: History::default(), seen: BTreeSet::new() };
    let run = || {
        inc(3);
        String::new()
    };
    let (saw, _) = search(careless(1), MAX_EXECUTIONS, &run).expect("it ends");
    assert_eq!(saw.traces.len(), 15);
}

/// Compares the search with and without a cache, at every bound.
#[track_caller]
fn same(settings: Settings, program: &dyn Fn() -> String) {
    for bound in [None, Some(0), Some(1), Some(2), Some(3)] {
        let (all, _) =
            search_with(settings, within(bound), MAX_EXECUTIONS, program).expect("it ends");
        let cached = within(bound).cached(1_000_000);
        let (saw, _) = search_with(settings, cached, MAX_EXECUTIONS, program).expect("it ends");
        assert_eq!(saw, all, "at bound {bound:?}");
    }
}

/// Runs the tasks of a program over a few words, and says what they saw.
fn tasks<const N: usize>(bodies: [fn(&[AtomicUsize; 4]) -> usize; N]) -> String {
    let words = Arc::new([const { AtomicUsize::new(0) }; 4]);
    let children = bodies.map(|body| {
        let words = Arc::clone(&words);
        thread::spawn(move || body(&words))
    });
    format!("{:?}", children.map(|child| child.join().expect("no panic")))
}

// A task that yields twice while the other could move must wait for it. Whether the other moved between
// two yields is not in the partial order: yields are independent of everything. To come first at the
// word, the first task yields twice, waits for a load, and yields once more; had the load come
// between the first two, it would have to wait again.
#[test]
fn prefixes_with_yields_are_not_taken_for_each_other() {
    let yielding = |words: &[AtomicUsize; 4]| {
        (0..3).for_each(|_| thread::yield_now());
        words[0].fetch_add(1, SeqCst)
    };
    let loading = |words: &[AtomicUsize; 4]| {
        words[1].load(SeqCst);
        words[0].fetch_add(1, SeqCst)
    };
    same(Settings::default(), &|| tasks([yielding, loading]));
}

// Time passes for a task that reads the clock twice if nothing changed meanwhile. Here the word
// changed before the second reading, and whether that was before the first is not in the partial
// order.
#[test]
fn prefixes_with_readings_of_the_clock_are_not_taken_for_each_other() {
    let reading = |words: &[AtomicUsize; 4]| {
        let first = rt::now();
        let changed = words[0].load(SeqCst);
        let chosen = rt::choose(2) as usize;
        chosen * 100 + changed * 10 + usize::from(rt::now() > first)
    };
    let storing = |words: &[AtomicUsize; 4]| {
        words[0].store(1, SeqCst);
        words[1].load(SeqCst)
    };
    same(Settings::default(), &|| tasks([reading, storing]));
}

// Of two timeouts due at once the timer that was made first is first, and timers are made in no
// order that a step has. The choice comes after both were made.
#[test]
fn prefixes_with_timers_in_another_order_are_not_taken_for_each_other() {
    let program = || {
        let order = Arc::new(AtomicUsize::new(0));
        let parked = || {
            let ((sender, receiver), order) = (mpsc::channel(), Arc::clone(&order));
            let child = thread::spawn(move || {
                sender.send(()).expect("open");
                thread::park_timeout(Duration::from_secs(1));
                order.fetch_add(1, SeqCst)
            });
            (receiver, child)
        };
        let children = [parked(), parked()];
        for (receiver, _) in &children {
            receiver.recv().expect("sent");
        }
        let chosen = rt::choose(2);
        let places = children.map(|(_, child)| child.join().expect("no panic"));
        format!("{chosen} {places:?}")
    };
    same(Settings { timeouts: Timeouts::Idle, ..Settings::default() }, &program);
}

/// Compares the search with and without a cache on a random program, at every bound. `None`: it
/// has too many interleavings.
fn compare(seed: u64, most: u64) -> Option<()> {
    let program = program(seed);
    let (run, settings) = (|| execute(&program), program.settings());
    if is_out_of_reach(most, settings, &run) == Some(OutOfReach::TooLarge) {
        return None;
    }
    for bound in [None, Some(0), Some(1), Some(2), Some(3)] {
        let (all, executions) = search_with(settings, within(bound), most, &run)?;
        let name = format!("seed {seed}, bound {bound:?}\n{program:?}");
        // Seven are soon full.
        let entries: &[usize] = if bound < Some(1) { &[1_000_000, 7] } else { &[1_000_000] };
        for &entries in entries {
            let cached = within(bound).cached(entries);
            let cached = search_with(settings, cached, executions + 1, &run);
            let (saw, _) = cached.expect("no more executions than without");
            let lost = all.traces.difference(&saw.traces).count();
            let extra = saw.traces.difference(&all.traces).count();
            assert_eq!((lost, extra), (0, 0), "traces lost and extra: {name}");
            assert_eq!(saw.ends, all.ends, "{name}");
        }
    }
    Some(())
}

#[test]
fn random_programs_lose_nothing() {
    let sample = Sample::new((150, 1_000), (3_000, 10_000));
    let (mut compared, mut skipped, mut seed) = (0, 0, sample.from);
    while compared < sample.programs {
        match compare(seed, sample.most) {
            None => skipped += 1,
            Some(()) => compared += 1,
        }
        seed += 1;
    }
    figures("cache", &[("compared", compared), ("skipped", skipped)]);
    check_skips(sample, compared, skipped, Skips { exactly: 119, percent: (15, 50) });
}
