//! A bound on preemptions together with a reduction, against every execution within the bound.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use raddle_search::order::NonPreemptive;
use raddle_search::{Bound, DepthFirst, Dpor, Memoryless, Reduction};
use raddle_testing::{Sample, figures};
use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::Covered;

use crate::random::{
    Program, Skips, check_skips, counting, execute, once_lost, program, shrink_while,
};
use crate::{Saw, is_out_of_reach, search, search_to_its_end};

/// Statements that the bounded reduction does not see through.
const UNSEEN: [&str; 3] = ["Timeout", "IsFinished", "Yield"];

/// Statements that may wait, or are about a channel.
const WAITING: [&str; 18] = [
    "Section",
    "Read(",
    "Write(",
    "Gated",
    "Send",
    "Receive",
    "Wait",
    "Park",
    "Put",
    "Get",
    "Hand",
    "Meet",
    "Once",
    "Notify",
    "TryRead",
    "TryWrite",
    "DropSender",
    "Join",
];

/// The bounds that are compared.
const BOUNDS: std::ops::RangeInclusive<u32> = 0..=3;

/// What a comparison of one program came to.
#[derive(Debug, Default)]
struct Same {
    /// For each bound: traces within it, and executions of the reduction, those that were cut too.
    bounds: Vec<(u64, u64)>,
    /// Whether something was met that the reduction does not see through, so that it claimed nothing.
    unclaimed: bool,
    /// Whether a search took ten times the executions that a program may have.
    unfinished: bool,
}

/// `None` if the program has too many executions.
fn compare(program: &Program, most: u64) -> Option<Result<Same, String>> {
    let run = || execute(program);
    let settings = program.settings();
    if is_out_of_reach(most, settings, &run).is_some() {
        return None;
    }
    let mut same = Same::default();
    for k in BOUNDS {
        let within = DepthFirst::within(NonPreemptive, Bound::Preemptions(k));
        let all = search(within.expect("its order has none"), most, settings, &run)?;
        let Some((saw, covered)) =
            search_to_its_end(Memoryless::within(k), 10 * most, settings, &run)
        else {
            same.unfinished = true;
            return Some(Ok(same));
        };
        match covered {
            Covered::Reduced { .. } => {
                let text = format!("{program:?}");
                if !UNSEEN.iter().any(|word| text.contains(word)) {
                    return Some(Err(format!("{k}: it claims only {covered}")));
                }
                same.unclaimed = true;
                continue;
            }
            covered if covered == Covered::BoundedEquivalence(k) => {}
            covered => return Some(Err(format!("{k}: it claims {covered}"))),
        }
        let (lost, of) = (all.traces.difference(&saw.traces).count(), all.traces.len());
        if lost > 0 {
            return Some(Err(format!("{k}: lost {lost} of {of} traces")));
        }
        let unseen: Vec<_> = all.results.difference(&saw.results).collect();
        if !unseen.is_empty() {
            return Some(Err(format!("{k}: never saw {unseen:?}")));
        }
        same.bounds.push((of as u64, saw.executions + saw.blocked));
    }
    Some(Ok(same))
}

/// The program of a seed: every eighth is about reference counts.
fn drawn(seed: u64) -> Program {
    if seed.is_multiple_of(8) { counting(seed) } else { program(seed) }
}

/// More than 1,000 executions of 151 programs, beside the 300 that are compared.
const TOO_LARGE: Skips = Skips { exactly: 151, percent: (15, 60) };

/// Every trace within k preemptions, for k from 0 to 3, of some hundred programs; `cargo xtask nightly bounded` compares 12,000.
#[test]
fn a_bounded_reduction_loses_no_trace_within_its_bound() {
    let sample = Sample::new((300, 1_000), (12_000, 5_000));
    let (mut compared, mut skipped, mut waiting) = (0, 0, 0);
    let (mut unclaimed, mut unfinished) = (0, 0);
    let (mut traces, mut executions) = ([0; 4], [0; 4]);
    let mut seed = 1_000_000 + sample.from;
    while compared < sample.programs {
        let program = drawn(seed);
        match compare(&program, sample.most) {
            None => skipped += 1,
            Some(Ok(same)) if same.unclaimed => unclaimed += 1,
            Some(Ok(same)) if same.unfinished => unfinished += 1,
            Some(Ok(same)) => {
                compared += 1;
                let text = format!("{program:?}");
                waiting += u64::from(WAITING.iter().any(|word| text.contains(word)));
                for (k, (of, ran)) in same.bounds.into_iter().enumerate() {
                    traces[k] += of;
                    executions[k] += ran;
                }
            }
            Some(Err(how)) => {
                let differs = |program: &Program| {
                    compare(program, sample.most).is_some_and(|compared| compared.is_err())
                };
                let small = shrink_while(program, differs);
                let why = compare(&small, sample.most).and_then(Result::err).unwrap_or_default();
                panic!("seed {seed}: {how}\nshrunk, {why}:\n{small:?}");
            }
        }
        seed += 1;
    }
    figures(
        "bounded",
        &[
            ("compared", compared),
            ("skipped", skipped),
            ("waiting", waiting),
            ("unclaimed", unclaimed),
            ("unfinished", unfinished),
            ("traces-0", traces[0]),
            ("executions-0", executions[0]),
            ("traces-1", traces[1]),
            ("executions-1", executions[1]),
            ("traces-2", traces[2]),
            ("executions-2", executions[2]),
            ("traces-3", traces[3]),
            ("executions-3", executions[3]),
        ],
    );
    // One in some hundred programs: what is dropped is too little where locks are tried inside of locks.
    assert!(100 * unfinished <= compared, "{unfinished} take too long beside {compared}");
    assert!(2 * waiting >= compared, "{waiting} of {compared} have something that waits");
    check_skips(sample, compared, skipped, TOO_LARGE);
}

/// Programs of which something was lost once: an attempt to receive that, where it comes earlier, finds nothing and depends
/// on senders that go; a task that was notified and waits for its lock again; a writer that comes before two readers only
/// if it comes before both; and a task that is unparked twice, of which the second does nothing where it comes earlier.
const LOST: [u64; 6] = [1_000_626, 1_005_523, 1_015_827, 1_054_109, 3_640_070, 6_001_494];

#[test]
fn programs_of_which_something_was_lost_once_lose_nothing() {
    for program in LOST.map(drawn).into_iter().chain(once_lost()) {
        let run = || execute(&program);
        let settings = program.settings();
        let optimal = Dpor::new(Reduction::Optimal);
        let all = search(optimal, 20_000, settings, &run).expect("few traces");
        let (saw, _) = search_to_its_end(Memoryless::new(), 20_000, settings, &run).expect("few");
        assert_eq!(all.traces, saw.traces, "{program:?}");
        for k in 0..=1 {
            let within = DepthFirst::within(NonPreemptive, Bound::Preemptions(k));
            let within = within.expect("its order has none");
            let all = search(within, 20_000, settings, &run).expect("few executions");
            let (saw, _) =
                search_to_its_end(Memoryless::within(k), 20_000, settings, &run).expect("few");
            assert!(all.traces.is_subset(&saw.traces), "{k}: {program:?}");
        }
    }
}

/// Two tasks of which one is left inside of its section, where nothing of it races. The other then comes to wait for the lock, and
/// the switch back is free.
fn left_inside() -> String {
    let words: [AtomicUsize; 3] = Default::default();
    let (words, lock) = (Arc::new(words), Arc::new(Mutex::new(0)));
    let section = |lock: &Mutex<usize>| {
        let mut turn = lock.lock().expect("not poisoned");
        *turn += 1;
        *turn
    };
    let (theirs, same) = (Arc::clone(&words), Arc::clone(&lock));
    let other = thread::spawn(move || {
        let began = theirs[0].load(SeqCst);
        theirs[1].store(1, SeqCst);
        section(&same);
        (began, theirs[2].load(SeqCst))
    });
    words[0].store(1, SeqCst);
    let turn = section(&lock);
    let seen = words[1].load(SeqCst);
    words[2].store(1, SeqCst);
    let (began, ended) = other.join().expect("no panic");
    format!("{began} {seen} {turn} {ended}")
}

// The trace in which the other task begins after the first one's store, stores before its load, is second to have the lock, and
// loads after its last store. Before the section the switch back would cost one more, since the lock is free; after it
// also, since the other task does not wait any more.
#[test]
fn a_task_left_where_nothing_races_is_within_the_bound() {
    let within = |k| DepthFirst::within(NonPreemptive, Bound::Preemptions(k)).expect("it is free");
    let settings = raddle_trace::Settings::default();
    let shown = "1 1 1 1";
    let all = search(within(0), 1_000, settings, &left_inside).expect("few");
    assert!(!all.results.contains(shown), "{:?}", all.results);
    let all = search(within(1), 1_000, settings, &left_inside).expect("few");
    assert!(all.results.contains(shown), "{:?}", all.results);
    let times = AtomicU64::new(0);
    let counted = || {
        let result = left_inside();
        times.fetch_add(u64::from(result == shown), Relaxed);
        result
    };
    search(within(1), 1_000, settings, &counted).expect("few");
    assert_eq!(times.into_inner(), 1, "one execution with one preemption shows it");
    let saw = search(Memoryless::within(1), 1_000, settings, &left_inside).expect("few");
    assert!(all.traces.is_subset(&saw.traces) && all.results.is_subset(&saw.results));
}

/// What `dfs preemptions(0)` and `dpor preemptions(0)` see of a program.
fn without_preemptions(program: &dyn Fn() -> String) -> (Saw, Saw) {
    let settings = raddle_trace::Settings::default();
    let within = DepthFirst::within(NonPreemptive, Bound::Preemptions(0)).expect("it is free");
    let all = search(within, 1_000, settings, program).expect("few");
    let saw = search(Memoryless::within(0), 1_000, settings, program).expect("few");
    assert!(all.traces.is_subset(&saw.traces));
    (all, saw)
}

// What an increment does where it comes earlier is not known (a compare-exchange might fail there), but where all others
// change the counter, too, its races are the same: what it could come before is found without running it where it is too dear.
#[test]
fn counters_are_run_once_for_each_trace_within_the_bound() {
    let program = || {
        let counters: Arc<[AtomicUsize; 3]> = Arc::default();
        let spawn = |_| {
            let counters = Arc::clone(&counters);
            thread::spawn(move || counters.iter().for_each(|one| _ = one.fetch_add(1, SeqCst)))
        };
        let tasks: Vec<_> = (0..3).map(spawn).collect();
        for task in tasks {
            task.join().expect("no panic");
        }
        String::new()
    };
    let (all, saw) = without_preemptions(&program);
    assert_eq!((all.traces.len(), saw.executions, saw.blocked), (6, 6, 0));
}

// Of exchanges it is not known whether they succeed where they come earlier, and here some do not.
#[test]
fn exchanges_that_fail_elsewhere_are_found_within_the_bound() {
    let program = || {
        let words: Arc<[AtomicUsize; 2]> = Arc::default();
        let [x, y, z] = [0, 1, 2].map(|_| Arc::clone(&words));
        let first = thread::spawn(move || x[0].swap(1, SeqCst));
        let second =
            thread::spawn(move || usize::from(y[0].compare_exchange(1, 2, SeqCst, SeqCst).is_ok()));
        let third = thread::spawn(move || {
            z[1].store(1, SeqCst);
            usize::from(z[0].compare_exchange(2, 3, SeqCst, SeqCst).is_ok())
        });
        let ends = [first, second, third].map(|task| task.join().expect("no panic"));
        format!("{ends:?} {}", words[0].load(SeqCst))
    };
    for bound in 0..3 {
        let settings = raddle_trace::Settings::default();
        let within = Bound::Preemptions(bound);
        let within = DepthFirst::within(NonPreemptive, within).expect("it is free");
        let all = search(within, 1_000, settings, &program).expect("few");
        let saw = search(Memoryless::within(bound), 1_000, settings, &program).expect("few");
        assert!(all.traces.is_subset(&saw.traces) && all.results.is_subset(&saw.results));
    }
}

// The program of docs/decisions/bounded-reduction.md: two executions have no preemption, and the way from one to the other is
// a third that has one.
#[test]
fn an_execution_on_the_way_may_be_beyond_the_bound() {
    let program = || {
        let words: Arc<[AtomicUsize; 2]> = Arc::default();
        let spawn = |own: usize| {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                words[own].store(1, SeqCst);
                words[1 - own].load(SeqCst)
            })
        };
        let tasks = [0, 1].map(spawn);
        format!("{:?}", tasks.map(|task| task.join().expect("no panic")))
    };
    let (all, saw) = without_preemptions(&program);
    assert_eq!((all.traces.len(), saw.executions, saw.blocked), (2, 3, 0));
}
