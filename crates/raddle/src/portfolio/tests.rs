//! What needs a look inside: turns, panics of our own, and executions that meet.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::thread;

use raddle_trace::unit::Pace;
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
        (state.runs.clone(), state.waits.iter().copied().collect::<Vec<_>>())
    };
    assert_eq!(told(&turns), (vec![true, false, false], vec![(0, 1), (0, 2)]));
    thread::scope(|scope| {
        scope.spawn(|| turns.hand_on(0, 1));
        turns.wait(1, turns.state());
        assert_eq!(told(&turns), (vec![false, true, false], vec![(0, 2), (1, 0)]));
        turns.leave(1, false);
        assert_eq!(told(&turns), (vec![false, false, true], vec![(1, 0)]));
        turns.leave(2, false);
    });
    assert_eq!(told(&turns), (vec![true, false, false], vec![]));
}

#[test]
fn a_turn_grows_with_what_is_behind() {
    let turns =
        [0, 1, 255, 256, 1_280, 1_000_000].map(|executions| turn(executions, Pace::default()));
    assert_eq!(turns, [1, 1, 1, 2, 10, 256]);
}

#[test]
fn a_turn_ends_where_the_others_are_to_catch_up() {
    // 6,400 / 128 is 50.
    let pace = Pace { level: 6_410, alone: 6_470 };
    let turns = [6_400, 6_410, 6_460, 6_470].map(|executions| turn(executions, pace));
    assert_eq!(turns, [10, 50, 10, 50]);
}

/// Who runs the first so many executions, if none of these members ends.
fn order(paces: &[Pace], executions: usize) -> Vec<usize> {
    let turns = Arc::new(Turns::new(paces.len(), 1, executions as u64));
    let ran = Mutex::new(Vec::new());
    let control = Control::default();
    thread::scope(|scope| {
        for (member, pace) in paces.iter().enumerate() {
            let (turns, ran, control) = (Arc::clone(&turns), &ran, &control);
            scope.spawn(move || {
                let mut place = MemberTurns::new(Arc::clone(&turns), member, *pace);
                for executions in 0.. {
                    if place.should_stop(control, Lap { executions, steps: 0 }) == Stop::Search {
                        break;
                    }
                    ran.lock().expect("no panic").push(member);
                }
                place.has_left = true;
                turns.leave(member, false);
            });
        }
    });
    ran.into_inner().expect("no panic")
}

fn paces(budget: Option<u64>) -> Vec<Pace> {
    let config = Config { executions: budget, ..named("auto") };
    let plan = Plan::new(&config, None).expect("known");
    plan.members.iter().map(|member| member.pace).collect()
}

#[test]
fn the_reduction_of_auto_goes_on_alone_when_the_samplers_have_had_their_half() {
    // 20 / 4 rounds of one each, and the reduction alone up to 20 / 2.
    let expected = [[0, 1, 2].repeat(5), vec![0; 5]].concat();
    assert_eq!(order(&paces(Some(20)), 20), expected);
    // 23 / 4 is 5 and 23 / 2 is 11; what is left goes to those with the fewest.
    let expected = [[0, 1, 2].repeat(5), vec![0; 6], vec![1, 2]].concat();
    assert_eq!(order(&paces(Some(23)), 23), expected);
    for (budget, expected) in [(1, vec![0]), (2, vec![0, 1]), (3, vec![0, 1, 2])] {
        assert_eq!(order(&paces(Some(budget)), budget as usize), expected);
    }
}

/// As with a limit of time: the samplers catch up, and then all go on alike.
#[test]
fn after_its_budget_auto_goes_on_with_the_samplers_and_then_alike() {
    // 10 executions of the reduction and 5 of each sampler, 5 more of each sampler, and rounds.
    let begin = [[0, 1, 2].repeat(5), vec![0; 5], [1, 2].repeat(5)].concat();
    assert_eq!(order(&paces(Some(20)), 36), [begin, [0, 1, 2].repeat(2)].concat());
}

/// The places, from 1, of the executions of one member.
fn places(order: &[usize], of: usize) -> Vec<usize> {
    (1..).zip(order).filter(|(_, member)| **member == of).map(|(place, _)| place).collect()
}

/// In turns of one that is exact; a longer turn is at most 1/128 of what a member has run, and two others have it.
#[test]
fn the_nth_execution_of_each_member_of_auto_is_among_the_first_3_n() {
    let order = order(&paces(None), 10_000);
    let runs = [0, 1, 2].map(|member| places(&order, member));
    assert_eq!(runs.each_ref().map(Vec::len), [5_000, 2_500, 2_500]);
    for (n, place) in runs.iter().flat_map(|places| (1..).zip(places)) {
        let longer = if n <= 256 { 0 } else { 2 * n / 128 };
        assert!(*place <= 3 * n + longer, "the execution {n} of a member is number {place}");
    }
    assert_eq!(order, self::order(&paces(None), 10_000), "the same every time");
}

/// A portfolio that is written down has no member that is owed more than the others.
#[test]
fn the_members_of_a_list_go_on_alike() {
    let plan = Plan::new(&named("dfs | pos | random"), None).expect("known");
    let paces: Vec<_> = plan.members.iter().map(|member| member.pace).collect();
    assert_eq!(order(&paces, 30), [0, 1, 2].repeat(10));
}

#[test]
fn what_is_taken_and_not_run_is_for_the_others() {
    let turns = Arc::new(Turns::new(1, 1, 2));
    let control = Control::default();
    let mut place = MemberTurns::new(Arc::clone(&turns), 0, Pace::default());
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
    let mut place = MemberTurns::new(Arc::clone(turns), member, Pace::default());
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
                let mut place = MemberTurns::new(second, 1, Pace::default());
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
