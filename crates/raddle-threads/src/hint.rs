//! `std::hint`.

pub use std::hint::{
    assert_unchecked, black_box, cold_path, select_unpredictable, unreachable_unchecked,
};

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
