//! Places for breakpoints.
//!
//! While an execution is run for its trace (a replay, or a failure once more) [`raddle_step`] is
//! called after each op, before the code that follows it. `cargo raddle replay --debugger` stops
//! there. No symbol is exported by its bare name: two versions of raddle may share a binary.
//!
//! [`raddle_tasks`] is for debuggers to call: where each task is.

use std::cell::RefCell;

use crate::execution::Execution;

/// Step number `step` (from 0) was just made by task number `task` of the trace.
#[inline(never)]
pub extern "C" fn raddle_step(step: u64, task: u32) {
    // Nothing calls the second, and what nothing refers to is not linked.
    std::hint::black_box((step, task, raddle_tasks as extern "C" fn() -> *const u8));
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

thread_local! {
    /// What [`raddle_tasks`] has last answered on this OS thread.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The tasks of the execution on this OS thread that have a stack, a line each, up to a zero. On a line: `left`, or `runs` for the
/// one that does, or `unknown` on platforms where stacks are switched by others; the instruction, stack and frame pointers with
/// which it goes on if it was left; its name.
///
/// The text stays until the next call. It has no closures, whose symbols would begin as its own does.
#[must_use]
#[inline(never)]
pub extern "C" fn raddle_tasks() -> *const u8 {
    let mut text = answer();
    text.push(0);
    let start = text.as_ptr();
    keep(text);
    start
}

fn answer() -> Vec<u8> {
    let ex = Execution::current();
    // SAFETY: the current execution. A debugger has stopped this OS thread, so nothing changes it meanwhile.
    if ex.is_null() { Vec::new() } else { unsafe { (*ex).tasks.stacks() }.into_bytes() }
}

fn keep(text: Vec<u8>) {
    ANSWER.set(text);
}
