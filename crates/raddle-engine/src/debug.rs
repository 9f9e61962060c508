//! Places for breakpoints.
//!
//! While an execution is run for its trace (a replay, or a failure once more) [`raddle_step`] is
//! called after each op, before the code that follows it. `cargo raddle replay --debugger` stops
//! there. No symbol is exported by its bare name: two versions of raddle may share a binary.

/// Step number `step` (from 0) was just made by task number `task` of the trace.
#[inline(never)]
pub extern "C" fn raddle_step(step: u64, task: u32) {
    std::hint::black_box((step, task));
}

/// A task panics, on its own stack. It may be caught: then it is no failure.
#[inline(never)]
pub extern "C" fn raddle_panicked() {
    std::hint::black_box(());
}

/// The execution that is run for its trace has failed; its tasks are where they were.
#[inline(never)]
pub extern "C" fn raddle_failed(steps: u64) {
    std::hint::black_box(steps);
}
