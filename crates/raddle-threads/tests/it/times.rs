//! `time` in programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_threads::sync::Mutex;
use raddle_threads::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_threads::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use raddle_trace::{Settings, Timeouts};

use crate::{outcomes, outcomes_with, panic_message, shared};

const IDLE: Settings =
    Settings { timeouts: Timeouts::Idle, spurious: false, data_seed: None, rounds: None };
const NEVER: Settings =
    Settings { timeouts: Timeouts::Never, spurious: false, data_seed: None, rounds: None };

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn time_advances_by_what_was_slept() {
    for settings in [Settings::default(), IDLE, NEVER] {
        let (found, executions) = outcomes_with(settings, || {
            let (start, date) = (Instant::now(), SystemTime::now());
            thread::sleep(ms(5));
            let slept = start.elapsed();
            thread::sleep(ms(7));
            let all = date.elapsed().expect("time goes forward");
            (slept, all, date.duration_since(UNIX_EPOCH).ok(), start - ms(1) < start)
        });
        // The date was read after the instant, without anything in between: a microsecond later.
        assert_eq!(found.len(), 1);
        let (slept, all, date, back) = found.into_iter().next().expect("one");
        assert!(slept >= ms(5) && slept < ms(6), "{slept:?}");
        assert!(all >= ms(12) && all < ms(13), "{all:?}");
        assert!(date.is_some_and(|date| date < ms(1)) && back);
        assert_eq!(executions, 1);
    }
}

#[test]
fn sleepers_wake_in_any_order_or_by_their_deadlines() {
    let program = || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let sleepers = [20, 10].map(|n| {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                thread::sleep(ms(n));
                log.lock().expect("not poisoned").push(n);
            })
        });
        for sleeper in sleepers {
            sleeper.join().expect("no panic");
        }
        log.lock().expect("not poisoned").clone()
    };
    let (found, executions) = outcomes(program);
    assert_eq!(found, BTreeSet::from([vec![10, 20], vec![20, 10]]));
    // Each sleeper wakes, locks and unlocks. One wakes first: 2. Then the other wakes before the
    // lock, 2 ways to go on; between lock and unlock, 1; or after the unlock, 1.
    assert_eq!(executions, 8);
    assert_eq!(outcomes_with(IDLE, program), (BTreeSet::from([vec![10, 20]]), 1));
    assert_eq!(outcomes_with(NEVER, program), (found, executions), "a sleep is no timeout");
}

#[test]
fn a_program_that_takes_sleep_for_order_is_found() {
    let message = panic_message(&|| {
        let (a, b) = shared(AtomicBool::new(false));
        let child = thread::spawn(move || a.store(true, SeqCst));
        thread::sleep(Duration::from_secs(1));
        assert!(b.load(SeqCst), "a second was not enough");
        child.join().expect("no panic");
    });
    assert!(message.contains("a second was not enough"), "{message}");
}

#[test]
fn a_loop_until_a_deadline_ends() {
    for wait in [thread::yield_now, || {}, || thread::sleep(ms(1))] {
        let (found, _) = outcomes(move || {
            let (a, b) = shared(AtomicBool::new(false));
            let child = thread::spawn(move || a.store(true, SeqCst));
            let deadline = Instant::now() + ms(10);
            let mut seen = false;
            while !seen && Instant::now() < deadline {
                seen = b.load(SeqCst);
                wait();
            }
            child.join().expect("no panic");
            seen
        });
        assert!(found.contains(&true), "{found:?}");
    }
}

#[test]
fn a_deadline_that_passes_alone_is_reached() {
    let (found, executions) = outcomes(|| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3600) {
            thread::yield_now();
        }
        start.elapsed() >= Duration::from_secs(3600)
    });
    assert_eq!(found, BTreeSet::from([true]));
    assert_eq!(executions, 1);
}

#[test]
fn virtual_and_real_times_do_not_mix() {
    let outside = Instant::now();
    let message = panic_message(&move || assert!(Instant::now() > outside));
    assert!(message.contains("one is virtual, the other real"), "{message}");
}

#[test]
fn outside_an_execution_time_is_real() {
    let (start, date) = (Instant::now(), SystemTime::now());
    thread::sleep(ms(2));
    assert!(start.elapsed() >= ms(2));
    assert!(date > UNIX_EPOCH + Duration::from_secs(24 * 3600));
    assert!(Instant::now().checked_duration_since(start) >= Some(ms(2)));
}
