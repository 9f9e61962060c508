//! What was read is no longer true when it is used.

use raddle::sync::atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

use crate::program::{Expected, Group, Program, parameter};

/// `lost-update`.
pub const LOST_UPDATE: Program =
    Program::new("lost-update", Group::Bugs, "n increment a counter by a load and a store")
        .one(lost_update, &[parameter("n", 2, 2, 8)])
        .fails(Expected::Panic, |_| 1);

/// n × (R x; W x + 1), and x must be n.
pub fn lost_update(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| x.store(x.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(x.load(SeqCst), n);
}

/// `lost-update-fixed`.
pub const LOST_UPDATE_FIXED: Program =
    Program::new("lost-update-fixed", Group::Bugs, "n increment a counter in one step")
        .one(lost_update_fixed, &[parameter("n", 3, 2, 8)]);

/// [`lost_update`] with one step instead of two.
pub fn lost_update_fixed(n: usize) {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| x.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(x.load(SeqCst), n);
}

/// `check-then-act`.
pub const CHECK_THEN_ACT: Program =
    Program::new("check-then-act", Group::Bugs, "two withdraw if there is enough for one of them")
        .plain(check_then_act)
        .fails(Expected::Panic, |_| 1);

/// Two look at the balance and then withdraw.
pub fn check_then_act() {
    let balance = AtomicI64::new(100);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                if balance.load(SeqCst) >= 60 {
                    balance.fetch_sub(60, SeqCst);
                }
            });
        }
    });
    assert!(balance.load(SeqCst) >= 0, "overdrawn");
}

/// `check-then-act-fixed`.
pub const CHECK_THEN_ACT_FIXED: Program =
    Program::new("check-then-act-fixed", Group::Bugs, "two look and withdraw in one step")
        .plain(check_then_act_fixed);

/// [`check_then_act`] with an update that fails if the balance has changed.
pub fn check_then_act_fixed() {
    let balance = AtomicI64::new(100);
    let withdraw = || {
        let enough = |balance: i64| (balance >= 60).then(|| balance - 60);
        let _ = balance.fetch_update(SeqCst, SeqCst, enough);
    };
    thread::scope(|scope| {
        scope.spawn(withdraw);
        scope.spawn(withdraw);
    });
    assert_eq!(balance.load(SeqCst), 40);
}

/// `stale-guard`.
pub const STALE_GUARD: Program =
    Program::new("stale-guard", Group::Bugs, "one holds the lock of a value that another replaces")
        .plain(stale_guard)
        .fails(Expected::Panic, |_| 1);

/// A value with its own lock, in a place where it can be exchanged for another.
type Place = Mutex<Arc<Mutex<usize>>>;

/// One increments the value; the other moves it to a new home. The guard of the first may be that
/// of the old home.
pub fn stale_guard() {
    let place = Place::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let home = Arc::clone(&place.lock().unwrap());
            *home.lock().unwrap() += 1;
        });
        scope.spawn(|| {
            let mut place = place.lock().unwrap();
            let value = *place.lock().unwrap();
            *place = Arc::new(Mutex::new(value));
        });
    });
    assert_eq!(*place.lock().unwrap().lock().unwrap(), 1);
}

/// `stale-guard-fixed`.
pub const STALE_GUARD_FIXED: Program =
    Program::new("stale-guard-fixed", Group::Bugs, "the place is locked as long as the value is")
        .plain(stale_guard_fixed);

/// [`stale_guard`] with the place locked while the value is used.
pub fn stale_guard_fixed() {
    let place = Place::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let home = place.lock().unwrap();
            *home.lock().unwrap() += 1;
        });
        scope.spawn(|| {
            let mut place = place.lock().unwrap();
            let value = *place.lock().unwrap();
            *place = Arc::new(Mutex::new(value));
        });
    });
    assert_eq!(*place.lock().unwrap().lock().unwrap(), 1);
}
