//! The tour: right programs are covered, wrong ones are found out.
//!
//! Run `cargo test -p tour -- --nocapture` to see what each wrong program does. Or take the
//! `expect` out of one, and see a test fail.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use raddle::actors::{Manager, System};
use raddle::sync::Arc;
use raddle::thread;
use tour::{Accounts, Cache, Gate, LeakyCache, LockedCounter, RacyCounter, sum_of_squares};
use tour::{Stock, Till, TillMessage};

#[raddle::test]
fn a_locked_counter_counts(counter: LockedCounter) {
    thread::scope(|scope| {
        scope.spawn(|| counter.add_one());
        scope.spawn(|| counter.add_one());
    });
    assert_eq!(counter.get(), 2);
}

#[raddle::test]
fn a_pipeline_loses_nothing() {
    assert_eq!(sum_of_squares(vec![1, 2, 3]), 14);
}

#[raddle::test]
fn a_cache_makes_its_value_once(cache: Cache) {
    let values = thread::scope(|scope| {
        let (a, b) = (scope.spawn(|| cache.get()), scope.spawn(|| cache.get()));
        [a.join(), b.join()].map(|value| value.expect("getting does not panic"))
    });
    assert_eq!((values, cache.made()), ([0, 0], 1));
}

#[raddle::test(expect = "panic")]
fn a_racy_counter_loses_an_update() {
    let counter = Arc::new(RacyCounter::default());
    let theirs = Arc::clone(&counter);
    let thread = thread::spawn(move || theirs.add_one());
    counter.add_one();
    thread.join().unwrap();
    assert_eq!(counter.get(), 2);
}

#[raddle::test(expect = "deadlock", fixture = Accounts::new(10, 10))]
fn opposite_transfers_block_each_other(accounts: Accounts) {
    thread::scope(|scope| {
        scope.spawn(|| accounts.transfer(0, 1, 5));
        scope.spawn(|| accounts.transfer(1, 0, 3));
    });
}

#[raddle::test(expect = "deadlock")]
fn an_opening_can_be_missed(gate: Gate) {
    thread::scope(|scope| {
        scope.spawn(|| gate.pass());
        scope.spawn(|| gate.open());
    });
}

#[raddle::test(expect = "panic")]
fn a_leaky_cache_makes_its_value_twice(cache: LeakyCache) {
    thread::scope(|scope| {
        scope.spawn(|| cache.get());
        scope.spawn(|| cache.get());
    });
    assert_eq!(cache.made(), 1);
}

/// Two tills sell the last piece: how many are sold.
fn two_tills(system: &System, hasty: bool) -> u32 {
    let stock = system.spawn_named("stock", Stock(1));
    let till = |name| {
        let till = if hasty { Till::hasty(stock.clone()) } else { Till::new(stock.clone()) };
        system.spawn_named(name, till)
    };
    let tills = ["left", "right"].map(till);
    for till in &tills {
        system.send(till, TillMessage::Sell);
    }
    system.handle_all();
    tills.iter().map(|till| system.inspect(till, |till: &Till| till.sold)).sum()
}

#[raddle::test]
fn a_piece_is_sold_once(system: System) {
    assert_eq!(two_tills(&system, false), 1);
}

#[raddle::test(expect = "panic")]
fn hasty_tills_sell_a_piece_twice(system: System) {
    two_tills(&system, true);
}

// The same actors on threads, as in production, or each in turn.
#[test]
fn an_ordinary_test_of_actors_works_too() {
    for manager in [Manager::Deterministic, Manager::Random { seed: 7 }] {
        assert_eq!(two_tills(&System::builder().manager(manager).build(), false), 1);
    }
}

// The same types outside a search: they are std's in all but name.
#[test]
fn an_ordinary_test_works_too() {
    assert_eq!(sum_of_squares(vec![3, 4]), 25);
}
