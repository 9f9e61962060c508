//! `std::hint`.

use raddle_engine::rt;

/// Like [`std::hint::spin_loop`]: inside an execution a yield.
#[track_caller]
pub fn spin_loop() {
    if rt::inside() {
        rt::yield_now("spin_loop");
    } else {
        std::hint::spin_loop();
    }
}
