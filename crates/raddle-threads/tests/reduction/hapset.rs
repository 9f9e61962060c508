//! Guided searches: with a filter that leaves nothing out they are what they filter; with one they run a
//! part of that, end, and do the same every time.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::strategy::{Cut, Event, Plan};
use raddle_engine::{Ended, Explored, Limits, Setup, Strategy, TaskId};
use raddle_search::DepthFirst;
use raddle_search::bound::Bound;
use raddle_search::order::NonPreemptive;
use raddle_search::traces::TraceCounter;
use raddle_search::{Alternatives, HapSet};
use raddle_search::{Dpor, Reduction};
use raddle_testing::{Sample, figures};
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::{Covered, Settings};

use crate::random::{Skips, check_skips, execute, program};
use crate::{Saw, Schedules, exhaustive, is_out_of_reach, observed};

/// What a whole search did.
struct Ran {
    schedules: Vec<Vec<u32>>,
    traces: BTreeSet<u64>,
    /// The most steps that a task took in a row.
    longest: u32,
    covered: Covered,
    explored: Explored,
}

/// Measures how many steps tasks take in a row.
#[derive(Default)]
struct Stretches {
    task: Option<TaskId>,
    length: u32,
    longest: u32,
}

impl Observer for Stretches {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.task = None;
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        let Event::Step(step) = event else { return };
        let goes_on = self.task == Some(step.task);
        self.length = if goes_on { self.length + 1 } else { 1 };
        self.task = Some(step.task);
        self.longest = self.longest.max(self.length);
    }
}

/// After so many visits of one statement in a row a guided search takes a task for one that spins, and lets others go
/// on first. The order of its executions is another then.
const TAKEN_FOR_SPINNING: u32 = 8;

/// Runs a search, failures or not. None if it does not end within `most` executions.
fn run(
    mut strategy: impl Strategy,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<Ran> {
    let (mut schedules, mut traces) = (Schedules::default(), TraceCounter::new(usize::MAX));
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, settings, ..Setup::default() };
    let body = || drop(program());
    let mut stretches = Stretches::default();
    let observers: &mut [&mut dyn Observer] = &mut [&mut schedules, &mut traces, &mut stretches];
    let explored = observed(&mut strategy, observers, &setup, &body);
    (explored.ended == Ended::Covered).then(|| Ran {
        schedules: schedules.0,
        traces: traces.seen().clone(),
        longest: stretches.longest,
        covered: strategy.covered(),
        explored,
    })
}

const OVER: [Alternatives; 4] = [
    Alternatives::Dpor,
    Alternatives::All,
    Alternatives::Preemptions(0),
    Alternatives::Preemptions(1),
];

/// What is wrong with guided searches of a program, if anything is.
fn compare(
    all: &Saw,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Result<(), String> {
    // All statements of a kind are at one place, whatever calls them.
    let within = |strategy: HapSet| run(strategy.with_calls(0), most, settings, program);
    let classic = run(Dpor::new(Reduction::Classic), most, settings, program);
    let lenient = within(HapSet::new(Alternatives::Dpor).lenient());
    let (Some(lenient), Some(classic)) = (lenient, classic) else {
        return Err("dpor does not end".to_owned());
    };
    let may_spin = classic.longest >= TAKEN_FOR_SPINNING;
    let reordered = may_spin && lenient.traces == all.traces;
    if lenient.schedules != classic.schedules && !reordered {
        return Err("dpor without pruning is not dpor".to_owned());
    }
    let schedules = |ran: Option<Ran>| ran.map(|ran| ran.schedules);
    let lenient = within(HapSet::new(Alternatives::All).lenient());
    if lenient.map(|ran| ran.traces).as_ref() != Some(&all.traces) {
        return Err("all without pruning loses traces".to_owned());
    }
    for k in 0..2 {
        let bounded = DepthFirst::within(NonPreemptive, Bound::Preemptions(k)).expect("it fits");
        let Some(bounded) = run(bounded, most, settings, program) else { return Ok(()) };
        let bounded: BTreeSet<_> = bounded.schedules.into_iter().collect();
        let ours = within(HapSet::new(Alternatives::Preemptions(k)).lenient());
        let Some(ours) = ours else { return Err(format!("{k} preemptions do not end")) };
        let count = ours.schedules.len();
        let ours: BTreeSet<_> = ours.schedules.into_iter().collect();
        // A task that is taken for spinning is left for free.
        let within_bound = may_spin || ours.is_subset(&bounded);
        if ours.len() != count || !within_bound {
            return Err(format!("{k} preemptions: something twice, or out of the bound"));
        }
    }
    for search in [HapSet::new, HapSet::of_accesses] {
        let search = search(Alternatives::Dpor).widening();
        let name = search.name();
        // Each of the four widths is a search of its own.
        let widened = run(search.with_calls(0), most * 4, settings, program);
        let Some(widened) = widened else { return Err(format!("{name} does not end")) };
        if widened.traces != all.traces {
            let (ours, of) = (widened.traces.len(), all.traces.len());
            return Err(format!("{name} ended with {ours} of {of} traces"));
        }
    }
    for over in OVER {
        for search in [HapSet::new, HapSet::of_accesses] {
            let name = search(over).name();
            let Some(ran) = within(search(over)) else {
                return Err(format!("{name} does not end"));
            };
            if !ran.traces.is_subset(&all.traces) {
                return Err(format!("{name} runs what there is not"));
            }
            let Covered::Guided { executions, ended: true, .. } = ran.covered else {
                return Err(format!("{name} claims {:?}", ran.covered));
            };
            if executions != ran.explored.counts.executions {
                return Err(format!("{name} counts {executions}"));
            }
            if schedules(within(search(over))) != Some(ran.schedules) {
                return Err(format!("{name} does something else the second time"));
            }
        }
    }
    Ok(())
}

/// Two thousand programs if there is time, else 30.
#[test]
fn a_filter_that_leaves_nothing_out_changes_nothing_and_one_that_does_ends() {
    let sample = Sample::new((30, 300), (2_000, 5_000));
    let most = sample.most;
    let (mut compared, mut skipped, mut seed) = (0, 0, 300_000 + sample.from);
    while compared < sample.programs {
        let program = program(seed);
        let body = || execute(&program);
        let settings = program.settings();
        let reached = is_out_of_reach(most, settings, &body).is_none();
        if reached && let Some(all) = exhaustive(most, settings, &body) {
            if let Err(how) = compare(&all, 4 * most, settings, &body) {
                panic!("seed {seed}: {how}\n{program:?}");
            }
            compared += 1;
        } else {
            skipped += 1;
        }
        seed += 1;
    }
    figures("filters", &[("compared", compared), ("skipped", skipped)]);
    check_skips(sample, compared, skipped, Skips { exactly: 24, percent: (20, 50) });
}

/// Figure 2 of Wang, Said and Gupta: one task polls under a lock what another sets, without a yield.
fn busy_wait() -> String {
    let set = Arc::new((Mutex::new(()), AtomicBool::new(false)));
    let theirs = Arc::clone(&set);
    let poller = thread::spawn(move || {
        loop {
            let guard = theirs.0.lock().expect("not poisoned");
            let seen = theirs.1.load(SeqCst);
            drop(guard);
            if seen {
                break;
            }
        }
    });
    let guard = set.0.lock().expect("not poisoned");
    set.1.store(true, SeqCst);
    drop(guard);
    poller.join().expect("no panic");
    String::new()
}

#[test]
fn waiting_without_a_yield_ends_after_a_handful_of_executions() {
    for over in [
        Alternatives::Dpor,
        Alternatives::All,
        Alternatives::Preemptions(1),
        Alternatives::Preemptions(2),
    ] {
        let ran = run(HapSet::new(over), 1_000, Settings::default(), &busy_wait);
        let executions = ran.map(|ran| ran.schedules.len());
        assert!(executions.is_some_and(|n| n <= 6), "{over:?}: {executions:?}");
    }
    // By accesses to memory alone nothing is left out at the locks, where the orders are decided.
    assert!(
        run(HapSet::of_accesses(Alternatives::All), 200, Settings::default(), &busy_wait).is_none()
    );
    let classic = HapSet::new(Alternatives::Dpor).lenient();
    assert!(run(classic, 200, Settings::default(), &busy_wait).is_none());
}

/// Checks and then uses, while another takes away: the order that breaks it is the one not seen.
#[test]
fn what_is_undivided_in_all_that_passed_is_divided() {
    let check_then_use = || {
        let full = Arc::new(AtomicUsize::new(1));
        let theirs = Arc::clone(&full);
        let taker = thread::spawn(move || theirs.store(0, SeqCst));
        if full.load(SeqCst) == 1 {
            assert_eq!(full.load(SeqCst), 1, "taken away in between");
        }
        taker.join().expect("no panic");
        String::new()
    };
    for over in [Alternatives::Dpor, Alternatives::All, Alternatives::Preemptions(1)] {
        let ran = run(HapSet::new(over), 100, Settings::default(), &check_then_use);
        let ran = ran.expect("it ends");
        assert_eq!(ran.explored.kinds.get("panicked"), Some(&1), "{over:?}");
    }
}
