//! `std::hint`, and a loop that waits.

pub use std::hint::*;

/// Waits until `condition` holds: spins, and yields now and then.
///
/// With the feature `check` such a loop is a wait, in which a search sees nothing to decide.
pub fn await_until(mut condition: impl FnMut() -> bool) {
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
