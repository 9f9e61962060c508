//! `#[raddle::test]`, as a user writes it.

use raddle::sync::Mutex;
use raddle::thread;

use crate::programs::{kept_update, lock_order, lost_update};

const FEW: u64 = 20;

#[raddle::test]
fn a_plain_test_is_explored() {
    kept_update();
}

/// Docs and attributes stay.
#[raddle::test(
    strategy = "random",
    executions = FEW,
    steps = 1_000,
    tasks = 10,
    memory = 1 << 20,
    seed = 7,
    time = "10s",
    execution_time = "1s",
    watchdog = "30s",
    timeouts = "idle",
    spurious,
    data = "seeded",
    traces,
    pairs = "count",
    teardown = "leak",
    stack_size = 64 << 10,
)]
#[cfg(test)]
fn every_knob_can_be_turned() {
    kept_update();
}

#[raddle::test(preemptions = 0, spurious = false)]
fn a_bound_hides_what_is_beyond_it() {
    lost_update();
}

#[raddle::test(expect = "panic")]
fn an_expected_panic_is_a_pass() {
    lost_update();
}

#[raddle::test(expect = "deadlock")]
fn an_expected_deadlock_is_a_pass() {
    lock_order();
}

#[raddle::test(expect = "deadlock")]
#[should_panic(expected = "expected a deadlock, found another failure:\nFAILED")]
fn another_failure_than_expected_is_none() {
    lost_update();
}

#[raddle::test(expect = "livelock")]
#[should_panic(expected = "expected a livelock, found no failure:\nCOVERED")]
fn an_expected_failure_must_be_found() {
    kept_update();
}

#[raddle::test]
#[should_panic(expected = "an update was lost")]
fn a_failure_is_a_panic() {
    lost_update();
}

#[derive(Default)]
struct Store {
    slots: Mutex<Vec<u8>>,
    size: usize,
}

#[raddle::test]
fn a_fixture_is_made_by_default(store: Store) {
    thread::scope(|scope| {
        scope.spawn(|| store.slots.lock().unwrap().push(1));
        scope.spawn(|| store.slots.lock().unwrap().push(2));
    });
    // Anew in each execution: else there would be more.
    assert_eq!(store.slots.into_inner().unwrap().len(), 2);
}

#[raddle::test(fixture = (Store { size: 3, ..Store::default() }, 4))]
fn a_fixture_is_made_by_an_expression((store, mut more): (Store, usize)) {
    more += raddle::choose(2) as usize;
    assert!(store.size + more >= 7);
}

#[raddle::test]
fn a_result_is_fine() -> Result<(), String> {
    if raddle::choose(2) < 2 { Ok(()) } else { Err("never".to_owned()) }
}

#[raddle::test(expect = "panic")]
fn an_error_is_a_panic() -> Result<(), String> {
    if raddle::choose(2) == 0 { Ok(()) } else { Err("sometimes".to_owned()) }
}

#[raddle::test]
#[should_panic(expected = "main panicked at crates/raddle/tests/it/tests.rs:")]
fn an_error_has_its_place() -> Result<(), String> {
    Err("always".to_owned())
}

#[raddle::test(expect = "data-race")]
fn an_expected_data_race_is_a_pass() {
    let cell = raddle::cell::Tracked::new(0);
    thread::scope(|scope| {
        scope.spawn(|| cell.set(1));
        scope.spawn(|| cell.set(2));
    });
}

#[raddle::test(executions = 1)]
#[should_panic(expected = "to do: hold one lock at both accesses")]
fn a_data_race_is_a_failure_with_a_remedy() {
    let cell = raddle::cell::Tracked::new(0);
    thread::scope(|scope| {
        scope.spawn(|| cell.with_mut(|value| *value += 1));
        scope.spawn(|| cell.with_mut(|value| *value += 1));
    });
}

#[raddle::test(expect = "deadlock")]
#[should_panic(expected = "note: locks were taken in orders that can deadlock.")]
fn opposite_orders_of_locks_are_a_note() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    let (sender, receiver) = raddle::sync::mpsc::channel();
    let (first, second) = (&a, &b);
    thread::scope(|scope| {
        scope.spawn(move || {
            let held = first.lock().unwrap();
            drop(second.lock());
            drop(held);
            sender.send(()).unwrap();
        });
        scope.spawn(move || {
            receiver.recv().unwrap();
            let _held = second.lock().unwrap();
            drop(first.lock());
        });
    });
}
