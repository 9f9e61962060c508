//! What needs a look inside: turns, panics of our own, and executions that meet.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

use raddle_trace::{Covered, Note, Verdict};

use super::turns::turn;
use super::*;
use crate::config::Config;
use crate::plan::DEFAULT;

const BETWEEN: Lap = Lap { executions: 0, steps: 0 };

fn named(strategy: &str) -> Config {
    Config { strategy: strategy.to_owned(), ..Config::default() }
}

#[test]
fn the_first_of_the_default_members_covers_everything_if_it_ends() {
    let report = crate::explore(named(DEFAULT[0]), || {
        let n = crate::sync::atomic::AtomicU32::new(0);
        crate::thread::scope(|scope| {
            scope.spawn(|| n.store(1, SeqCst));
            n.store(2, SeqCst);
        });
    });
    assert_eq!(report.expect("runs").guarantee.covered, Covered::Equivalence);
}

/// With one at a time: in order, each for as long as its turn, in whichever order they arrive.
#[test]
fn members_take_turns_in_order() {
    let turns = Turns::new(3, 1, u64::MAX);
    let told = |turns: &Turns| {
        let state = turns.state();
        (state.runs.clone(), Vec::from(state.waits.clone()))
    };
    assert_eq!(told(&turns), (vec![true, false, false], vec![1, 2]));
    thread::scope(|scope| {
        scope.spawn(|| turns.hand_on(0));
        turns.wait(1, turns.state());
        assert_eq!(told(&turns), (vec![false, true, false], vec![2, 0]));
        turns.leave(1, false);
        assert_eq!(told(&turns), (vec![false, false, true], vec![0]));
        turns.leave(2, false);
    });
    assert_eq!(told(&turns), (vec![true, false, false], vec![]));
}

#[test]
fn a_turn_grows_with_what_is_behind() {
    let turns = [0, 1, 15, 16, 80, 1_000_000].map(|executions| turn(executions, 1));
    assert_eq!(turns, [1, 1, 1, 2, 10, 256]);
    let twice = [0, 1, 30, 32, 160, 1_000_000].map(|executions| turn(executions, 2));
    assert_eq!(twice, [2, 2, 2, 4, 20, 512]);
}

#[test]
fn what_is_taken_and_not_run_is_for_the_others() {
    let turns = Arc::new(Turns::new(1, 1, 2));
    let control = Control::default();
    let mut place = MemberTurns::new(Arc::clone(&turns), 0, 1);
    assert_eq!(place.should_stop(&control, BETWEEN), Stop::No);
    assert_eq!(place.should_stop(&control, Lap { executions: 1, steps: 0 }), Stop::No);
    // The second question after the same execution is one of its steps.
    assert_eq!(place.should_stop(&control, Lap { executions: 1, steps: 0 }), Stop::No);
    assert_eq!(place.should_stop(&control, Lap { executions: 2, steps: 0 }), Stop::Search);
    let found = crate::search::run_one(
        search::build("dfs", 0.into()).expect("known").strategy,
        "dfs".to_owned(),
        &Asked::new(&Config::default().into()),
        None,
        &control,
        &mut |_| Stop::No,
        &|| {},
    );
    place.leave(&found.expect("runs"));
    assert_eq!(turns.left.load(SeqCst), 1, "two were taken and one was run");
}

/// Asks until it is told to end.
fn run_on(turns: &Arc<Turns>, member: usize, control: &Control) {
    let mut place = MemberTurns::new(Arc::clone(turns), member, 1);
    let mut executions = 0;
    while place.should_stop(control, Lap { executions, steps: 0 }) != Stop::Search {
        executions += 1;
    }
    place.has_left = true;
    turns.leave(member, false);
}

#[test]
fn a_panic_of_our_own_ends_all_and_is_told() {
    for at_once in [1, 2] {
        let turns = Arc::new(Turns::new(2, at_once, u64::MAX));
        let (first, second) = (Arc::clone(&turns), Arc::clone(&turns));
        let searches: Vec<supervisor::SearchFn<()>> = vec![
            Box::new(move |control| {
                run_on(&first, 0, control);
                Ok(())
            }),
            Box::new(move |control| -> Result<(), EngineError> {
                let mut place = MemberTurns::new(second, 1, 1);
                place.should_stop(control, BETWEEN);
                panic!("a slip of the pen");
            }),
        ];
        let results =
            supervisor::run_all(&Config::default().into(), None, searches).expect("nobody hangs");
        let bug = Error::Bug { message: "a slip of the pen".to_owned() };
        assert_eq!(results, [Ok(()), Err(bug)], "{at_once} at once");
    }
}

/// The first two calls meet here; later ones pass.
fn meet(calls: &AtomicU32, barrier: &Barrier) -> u32 {
    let call = calls.fetch_add(1, SeqCst);
    if call < 2 {
        barrier.wait();
    }
    call
}

fn told(report: &Report) -> Vec<&str> {
    fn text(note: &Note) -> Option<&str> {
        match note {
            Note::Text { text } => Some(text),
            _ => None,
        }
    }
    report.notes.iter().filter_map(text).collect()
}

/// If they did not run at once the first would wait for ever.
#[test]
fn two_members_run_at_once() {
    let (calls, barrier) = (AtomicU32::new(0), Barrier::new(2));
    let config = Config { members: Some(2), executions: Some(10), ..named("random | pos") };
    let test = move || {
        meet(&calls, &barrier);
        crate::thread::scope(|scope| {
            scope.spawn(crate::thread::yield_now);
        });
    };
    let report = crate::explore(config, test).expect("runs");
    assert_eq!(report.verdict, Verdict::Passed);
    assert_eq!(report.counts.executions, 10);
    assert_eq!(report.members.len(), 2);
}

static SHARED: crate::sync::Mutex<u32> = crate::sync::Mutex::new(0);

/// Says that its owner was refused something.
struct Refused<'a>(&'a AtomicBool);

impl Drop for Refused<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(thread::panicking(), SeqCst);
    }
}

/// The first execution has the static until the second has been refused it.
#[test]
fn members_that_meet_at_a_static_begin_anew_and_take_turns() {
    let (calls, barrier, claimed) = (AtomicU32::new(0), Barrier::new(2), AtomicBool::new(false));
    let refused = AtomicBool::new(false);
    let config = Config { members: Some(2), ..named("dfs | dpor") };
    let test = move || {
        let call = meet(&calls, &barrier);
        let _says = (call == 1).then(|| Refused(&refused));
        while call == 1 && !claimed.load(SeqCst) {
            thread::yield_now();
        }
        *SHARED.lock().expect("nobody panicked") = 1;
        claimed.store(true, SeqCst);
        while call == 0 && !refused.load(SeqCst) {
            thread::yield_now();
        }
        crate::thread::scope(|scope| {
            scope.spawn(|| *SHARED.lock().expect("nobody panicked") += 1);
        });
        assert_eq!(*SHARED.lock().expect("nobody panicked"), 2);
    };
    let report = crate::explore(config, test).expect("runs");
    assert_eq!(report.verdict, Verdict::Covered, "{:?}", report.failure);
    let notes = told(&report);
    insta::assert_snapshot!(notes[0], @"executions that ran at once used the same object of raddle, such as a static, so the members began anew and took turns; with RADDLE_MEMBERS=1 they do so at once");
}

#[test]
fn a_failure_that_comes_of_running_at_once_is_not_reported() {
    let (calls, barrier, inside) = (AtomicU32::new(0), Barrier::new(2), AtomicU32::new(0));
    let config = Config { members: Some(2), ..named("dfs | dpor") };
    let test = move || {
        let before = inside.fetch_add(1, SeqCst);
        let call = meet(&calls, &barrier);
        inside.fetch_sub(1, SeqCst);
        assert!(call >= 2 || before == 0, "a static of std was not as it should be");
        crate::thread::scope(|scope| {
            scope.spawn(crate::thread::yield_now);
        });
    };
    let report = crate::explore(config, test).expect("runs");
    assert_eq!(report.verdict, Verdict::Covered, "{:?}", report.failure);
    insta::assert_snapshot!(told(&report)[0], @"a failure did not show again when it was run alone, so the members began anew and took turns; with RADDLE_MEMBERS=1 they do so at once");
}
