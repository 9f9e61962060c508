//! What a debugger asks of an execution that it has stopped: where each task is.
//!
//! As in `debug.rs` no symbol is exported by its bare name.

use std::cell::RefCell;

use crate::execution::Execution;

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
