//! `Condvar` in programs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use raddle_threads::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle_threads::sync::{Condvar, Mutex, MutexGuard};
use raddle_threads::thread;
use raddle_trace::{Outcome, Settings, Timeouts};

use crate::{explore_all, failure, outcomes, outcomes_with, shared};

const SECOND: Duration = Duration::from_secs(1);
const IDLE: Settings = settings(Timeouts::Idle, false);
const NEVER: Settings = settings(Timeouts::Never, false);
const SPURIOUS: Settings = settings(Timeouts::Any, true);

const fn settings(timeouts: Timeouts, spurious: bool) -> Settings {
    Settings { timeouts, spurious, data_seed: None, rounds: None }
}

/// A value, and the condition variable that tells of its changes.
#[derive(Debug, Default)]
struct Told<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Told<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().expect("not poisoned")
    }
}

/// A child says that it is ready; `wait` waits for it.
fn handshake<T>(wait: impl FnOnce(&Told<bool>) -> T) -> T {
    let (a, b) = shared(Told::<bool>::default());
    let other = thread::spawn(move || {
        *a.lock() = true;
        a.changed.notify_one();
    });
    let seen = wait(&b);
    other.join().expect("no panic");
    seen
}

fn wait_in_a_loop(told: &Told<bool>) -> bool {
    let mut ready = told.lock();
    while !*ready {
        ready = told.changed.wait(ready).expect("not poisoned");
    }
    *ready
}

fn wait_in_an_if(told: &Told<bool>) -> bool {
    let mut ready = told.lock();
    if !*ready {
        ready = told.changed.wait(ready).expect("not poisoned");
    }
    *ready
}

#[test]
fn who_waits_in_a_loop_is_woken() {
    // If main locks first it waits, and all else follows: 1. If the child does, main locks and
    // unlocks, and the notification comes before, between or after: 3.
    let expected = (BTreeSet::from([true]), 4);
    assert_eq!(outcomes(|| handshake(wait_in_a_loop)), expected);
    let wait_while = |told: &Told<bool>| {
        *told.changed.wait_while(told.lock(), |ready| !*ready).expect("not poisoned")
    };
    assert_eq!(outcomes(|| handshake(wait_while)), expected);
}

#[test]
fn a_wake_up_is_spurious_only_where_that_is_explored() {
    assert_eq!(outcomes(|| handshake(wait_in_an_if)).0, BTreeSet::from([true]));
    let (found, _) = outcomes_with(SPURIOUS, || handshake(wait_in_an_if));
    assert_eq!(found, BTreeSet::from([false, true]));
    // Besides the 4: main waits, and will wake spuriously (L E). It may wake before the child
    // locks and wait again (W E), for good, until the child tells it: 1. Or the child locks and
    // unlocks first, and then main wakes and unlocks, with the notification before, between or
    // after: 3.
    let expected = (BTreeSet::from([true]), 8);
    assert_eq!(outcomes_with(SPURIOUS, || handshake(wait_in_a_loop)), expected);
}

#[test]
fn a_spurious_wake_up_is_found_and_replayed() {
    let outcome = failure(SPURIOUS, &|| assert!(handshake(wait_in_an_if), "woken too early"));
    assert!(matches!(outcome, Outcome::Panicked { .. }));
}

#[test]
fn a_condition_that_is_checked_without_the_lock_misses_the_wake_up() {
    let outcome = failure(Settings::default(), &|| {
        let (a, b) = shared((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let other = thread::spawn(move || {
            a.0.store(true, SeqCst);
            a.2.notify_one();
        });
        if !b.0.load(SeqCst) {
            drop(b.2.wait(b.1.lock().expect("not poisoned")));
        }
        other.join().expect("no panic");
    });
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].task, waiting[0].op.as_str()), (0, "wait"));
    assert_eq!(waiting[0].held_by, []);
}

/// A queue for one value, with one condition variable for both of its ends.
type Buffer = Told<VecDeque<u32>>;

fn put(buffer: &Buffer, value: u32, tell: fn(&Condvar)) {
    let mut queue = buffer.changed.wait_while(buffer.lock(), |q| q.len() == 1).expect("no poison");
    queue.push_back(value);
    drop(queue);
    tell(&buffer.changed);
}

fn take(buffer: &Buffer, tell: fn(&Condvar)) -> u32 {
    let mut queue = buffer.changed.wait_while(buffer.lock(), |q| q.is_empty()).expect("no poison");
    let value = queue.pop_front().expect("not empty");
    drop(queue);
    tell(&buffer.changed);
    value
}

#[test]
fn a_bounded_buffer_with_one_producer_and_one_consumer_may_notify_one() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(Buffer::default());
        let producer = thread::spawn(move || {
            put(&a, 1, Condvar::notify_one);
            put(&a, 2, Condvar::notify_one);
        });
        let taken = (take(&b, Condvar::notify_one), take(&b, Condvar::notify_one));
        producer.join().expect("no panic");
        taken
    });
    assert_eq!(found, BTreeSet::from([(1, 2)]));
}

/// Two producers and two consumers.
fn crowd(tell: fn(&Condvar)) {
    let buffer = Arc::new(Buffer::default());
    let mut others = Vec::new();
    for value in [1, 2] {
        let (a, b) = (Arc::clone(&buffer), Arc::clone(&buffer));
        others.push(thread::spawn(move || put(&a, value, tell)));
        if value == 1 {
            others.push(thread::spawn(move || assert!(take(&b, tell) > 0)));
        }
    }
    assert!(take(&buffer, tell) > 0);
    for other in others {
        other.join().expect("no panic");
    }
}

#[test]
fn a_bounded_buffer_that_notifies_one_of_two_kinds_of_waiters_deadlocks() {
    let outcome = failure(Settings::default(), &|| crowd(Condvar::notify_one));
    let Outcome::Deadlock { waiting } = outcome else { panic!("expected a deadlock") };
    // A producer and a consumer at least, or one of them and the join that waits for it.
    assert!(waiting.iter().any(|one| one.op == "wait"), "{waiting:?}");
}

/// Two children wait until main, which knows that both do, notifies; `wait` says how.
fn two_waiters<T: Send + 'static>(
    wait: fn(u32, &Told<u32>, &Condvar) -> T,
    tell: impl FnOnce(&Told<u32>, &Condvar),
) -> (T, T) {
    let shared = Arc::new((Told::<u32>::default(), Condvar::new()));
    let [one, two] = [1, 2].map(|id| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || wait(id, &shared.0, &shared.1))
    });
    let (here, go) = &*shared;
    drop(here.changed.wait_while(here.lock(), |n| *n < 2).expect("not poisoned"));
    tell(here, go);
    (one.join().expect("no panic"), two.join().expect("no panic"))
}

#[test]
fn which_waiter_is_woken_is_a_decision() {
    let (found, _) = outcomes(|| {
        two_waiters(
            |_, here, go| {
                let mut n = here.lock();
                *n += 1;
                here.changed.notify_one();
                n = go.wait(n).expect("not poisoned");
                *n += 1;
                here.changed.notify_one();
                *n
            },
            |here, go| {
                go.notify_one();
                drop(here.changed.wait_while(here.lock(), |n| *n < 3));
                go.notify_one();
            },
        )
    });
    // The child that is woken first counts 3, the other 4.
    assert_eq!(found, BTreeSet::from([(3, 4), (4, 3)]));
}

#[test]
fn notify_all_wakes_all() {
    let (found, _) = outcomes(|| {
        two_waiters(
            |_, here, go| {
                let mut n = here.lock();
                *n += 1;
                here.changed.notify_one();
                drop(go.wait(n).expect("not poisoned"));
            },
            |_, go| go.notify_all(),
        )
    });
    assert_eq!(found, BTreeSet::from([((), ())]));
}

#[test]
fn a_timed_wait_that_nobody_ends_times_out() {
    let program = || {
        let told = Told::<bool>::default();
        let (ready, result) = told.changed.wait_timeout(told.lock(), SECOND).expect("no poison");
        (*ready, result.timed_out())
    };
    // Nothing else can happen.
    let expected = (BTreeSet::from([(false, true)]), 1);
    assert_eq!(outcomes(program), expected);
    assert_eq!(outcomes_with(IDLE, program), expected);
}

#[test]
fn a_timed_wait_may_end_either_way_or_only_when_nothing_else_can() {
    let once = |told: &Told<bool>| {
        let ready = told.lock();
        if *ready {
            return (true, false);
        }
        let (ready, result) = told.changed.wait_timeout(ready, SECOND).expect("not poisoned");
        (*ready, result.timed_out())
    };
    // The last: the timeout came when the child had the lock, or between its unlock and its
    // notification.
    let any = BTreeSet::from([(true, false), (false, true), (true, true)]);
    assert_eq!(outcomes(|| handshake(once)).0, any);
    assert_eq!(outcomes_with(IDLE, || handshake(once)).0, BTreeSet::from([(true, false)]));
    assert_eq!(outcomes_with(NEVER, || handshake(once)).0, BTreeSet::from([(true, false)]));
}

#[test]
fn where_timeouts_never_fire_a_timed_wait_that_nobody_ends_is_a_deadlock() {
    let wait = |timeout| {
        let told = Told::<bool>::default();
        drop(told.changed.wait_timeout(told.lock(), timeout).expect("no poison"));
    };
    let failure = explore_all(NEVER, &|| wait(SECOND)).failure.expect("nothing ends the wait");
    assert!(matches!(failure.outcome, Outcome::Deadlock { .. }), "{:?}", failure.outcome);
    // Of no time at all is no wait.
    assert_eq!(explore_all(NEVER, &|| wait(Duration::ZERO)).failure.map(|it| it.outcome), None);
}

#[test]
fn a_timed_wait_with_a_condition_times_out_only_while_it_holds() {
    let wait = |told: &Told<bool>| {
        let wait = told.changed.wait_timeout_while(told.lock(), SECOND, |ready| !*ready);
        let (ready, result) = wait.expect("not poisoned");
        (*ready, result.timed_out())
    };
    let any = BTreeSet::from([(true, false), (false, true)]);
    assert_eq!(outcomes(|| handshake(wait)).0, any);
    assert_eq!(outcomes_with(SPURIOUS, || handshake(wait)).0, any);
    assert_eq!(outcomes_with(IDLE, || handshake(wait)).0, BTreeSet::from([(true, false)]));
    // No thread ever notifies: the wait times out.
    let alone = || wait(&Told::default());
    assert_eq!(outcomes(alone).0, BTreeSet::from([(false, true)]));
    assert_eq!(outcomes_with(IDLE, alone).0, BTreeSet::from([(false, true)]));
}

#[test]
fn a_loop_of_timed_waits_ends() {
    let program = || {
        let (a, b) = shared((AtomicBool::new(false), Told::<()>::default()));
        let other = thread::spawn(move || a.0.store(true, SeqCst));
        let (mut guard, mut tries) = (b.1.lock(), 0);
        while !b.0.load(SeqCst) {
            guard = b.1.changed.wait_timeout(guard, SECOND).expect("not poisoned").0;
            tries += 1;
        }
        drop(guard);
        other.join().expect("no panic");
        tries
    };
    // After the second timeout the other must move before there is a third.
    assert_eq!(outcomes(program).0, BTreeSet::from([0, 1, 2, 3]));
    assert_eq!(outcomes_with(IDLE, program).0, BTreeSet::from([0, 1]));
}

/// Waits in a loop, each time for a second.
fn wait_with_patience(told: &Told<bool>) -> bool {
    let (mut ready, mut tries) = (told.lock(), 0);
    while !*ready {
        ready = told.changed.wait_timeout(ready, SECOND).expect("not poisoned").0;
        tries += 1;
    }
    tries > 0
}

#[test]
fn a_loop_of_timed_waits_under_a_lock_that_the_other_needs_ends() {
    let found = BTreeSet::from([false, true]);
    assert_eq!(outcomes_with(IDLE, || handshake(wait_with_patience)).0, found);
    assert_eq!(outcomes(|| handshake(wait_with_patience)).0, found);
}

#[test]
fn a_timeout_swallows_no_notification() {
    let (found, _) = outcomes(|| {
        two_waiters(
            |id, here, go| {
                let mut n = here.lock();
                *n += 1;
                here.changed.notify_one();
                if id == 2 {
                    drop(go.wait(n).expect("not poisoned"));
                    return false;
                }
                let (_, result) = go.wait_timeout(n, SECOND).expect("not poisoned");
                if !result.timed_out() {
                    go.notify_one();
                }
                result.timed_out()
            },
            |_, go| go.notify_one(),
        )
    });
    assert_eq!(found, BTreeSet::from([(false, false), (true, false)]));
}

#[test]
fn who_waits_finds_the_poison_when_it_locks_again() {
    let (found, _) = outcomes(|| {
        let (a, b) = shared(Told::<bool>::default());
        let ready = b.lock();
        let other = thread::spawn(move || {
            let _ready = a.lock();
            a.changed.notify_one();
            panic!("on purpose");
        });
        let woken = b.changed.wait(ready);
        let poisoned = woken.is_err();
        drop(woken);
        (poisoned, other.join().is_err())
    });
    assert_eq!(found, BTreeSet::from([(true, true)]));
}

#[test]
fn a_condvar_is_named_in_the_guarantee_for_what_is_not_explored() {
    let explored = explore_all(Settings::default(), &|| assert!(handshake(wait_in_a_loop)));
    assert!(explored.assumptions.contains(&raddle_trace::Assumption::NothingSpurious));
}

#[test]
fn outside_an_execution_a_condvar_is_a_condvar() {
    static BUFFER: Buffer = Told { value: Mutex::new(VecDeque::new()), changed: Condvar::new() };
    let producers: Vec<_> = (0..2)
        .map(|id| {
            thread::spawn(move || {
                for n in 0..50 {
                    put(&BUFFER, id * 50 + n, Condvar::notify_all);
                }
            })
        })
        .collect();
    let taken: BTreeSet<u32> = (0..100).map(|_| take(&BUFFER, Condvar::notify_all)).collect();
    for producer in producers {
        producer.join().expect("no panic");
    }
    assert_eq!(taken, (0..100).collect());
}

#[test]
fn outside_an_execution_a_timed_wait_times_out() {
    let told = Told::<bool>::default();
    let soon = Duration::from_millis(5);
    let (ready, result) = told.changed.wait_timeout(told.lock(), soon).expect("not poisoned");
    assert!(!*ready && result.timed_out());
    drop(ready);
    let wait = told.changed.wait_timeout_while(told.lock(), soon, |ready| !*ready);
    assert!(wait.expect("not poisoned").1.timed_out());
    let long = Duration::from_secs(600);
    let done = handshake(|told| {
        let wait = told.changed.wait_timeout_while(told.lock(), long, |ready| !*ready);
        let (ready, result) = wait.expect("not poisoned");
        *ready && !result.timed_out()
    });
    assert!(done);
}
