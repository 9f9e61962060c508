//! `std::hint`.

pub use std::hint::{
    assert_unchecked, black_box, cold_path, select_unpredictable, unreachable_unchecked,
};

use raddle_engine::rt;

/// Waits until `condition` holds, which must only look: load atomics, try locks that it gives back, and change
/// nothing outside of itself.
///
/// A loop that says so is a wait for any number of rounds: inside an execution the condition is evaluated again only
/// when something it looked at has changed, under every strategy and whatever
/// [`rounds`](https://docs.rs/raddle/latest/raddle/struct.Config.html#structfield.rounds) is. A loop that does not say so is
/// one for as many rounds as that setting has. Outside of an execution it spins, and yields now and then.
///
/// ```
/// use raddle_threads::sync::atomic::{AtomicBool, Ordering::SeqCst};
///
/// let ready = AtomicBool::new(false);
/// raddle_threads::thread::scope(|scope| {
///     scope.spawn(|| ready.store(true, SeqCst));
///     raddle_threads::hint::await_until(|| ready.load(SeqCst));
/// });
/// ```
#[track_caller]
pub fn await_until(mut condition: impl FnMut() -> bool) {
    if rt::inside() {
        return rt::await_until(condition);
    }
    let mut rounds = 0_u32;
    while !condition() {
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(64) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Like [`std::hint::spin_loop`]: inside an execution a yield.
#[track_caller]
pub fn spin_loop() {
    if rt::inside() {
        rt::yield_now("spin_loop");
    } else {
        std::hint::spin_loop();
    }
}
