//! Programs whose tasks share state that raddle does not see: what of it is noticed, and by which strategy.
//!
//! Each has an execution that fails, or does not repeat itself, because of state outside raddle's types. A strategy
//! that runs every interleaving of the visible steps meets it. One that leaves out interleavings which differ in
//! the order of independent steps alone need not: between these steps the order matters, and nothing says so.
//! `book/src/hidden-state.md` has a table of it, which `tests/it/hidden.rs` compares with what happens.
//!
//! These programs are in no other list: they break the rule that nothing is kept between executions, and
//! some are not sound on real threads.

#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::Relaxed};

use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::thread;

/// A program with hidden state.
#[derive(Clone, Copy, Debug)]
pub struct Hidden {
    /// What is hidden, as the table calls it.
    pub name: &'static str,
    /// The program.
    pub run: fn(),
}

/// All of them, in the order of the table.
pub const ALL: [Hidden; 6] = [
    Hidden { name: "an atomic of std", run: std_atomic },
    Hidden { name: "the order of writes to an atomic of std", run: order_of_writes },
    Hidden { name: "memory behind a raw pointer", run: raw_pointer },
    Hidden { name: "the count of an `Arc`", run: arc_count },
    Hidden { name: "a `thread_local!` of std", run: thread_local },
    Hidden { name: "a `static` that outlives the execution", run: kept_in_a_static },
];

/// Two threads that do something between two steps of their own, which no other thread's steps depend on.
fn between_own_steps(first: impl Fn() -> usize + Sync, then: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let own = AtomicUsize::new(0);
                own.store(1, SeqCst);
                let found = first();
                own.store(2, SeqCst);
                then(found);
            });
        }
    });
}

/// Two increments, each a load and a store with a step between them: one may be lost.
pub fn std_atomic() {
    let count = StdAtomicUsize::new(0);
    between_own_steps(|| count.load(Relaxed), |found| count.store(found + 1, Relaxed));
    assert_eq!(count.load(Relaxed), 2, "an increment was lost");
}

/// Each of two threads writes its number twice, and one order of the four is wrong. To the cache both orders of the
/// first two are the same, so of what follows the second it runs one way to go on, which is not the wrong one.
pub fn order_of_writes() {
    let written = StdAtomicUsize::new(0);
    let write = |number| written.store(written.load(Relaxed) * 10 + number, Relaxed);
    thread::scope(|scope| {
        for number in 1..=2 {
            scope.spawn(move || {
                let own = AtomicUsize::new(0);
                own.store(1, SeqCst);
                write(number);
                own.store(2, SeqCst);
                write(number);
            });
        }
    });
    assert_ne!(written.load(Relaxed), 2112, "the wrong order");
}

/// A pointer that threads may have.
struct Shared(*mut usize);

#[expect(unsafe_code, reason = "what raw pointers hide is what this is about")]
// SAFETY: tasks of one execution take turns on one OS thread, so no two accesses are at once.
unsafe impl Sync for Shared {}

impl Shared {
    #[expect(unsafe_code, reason = "what raw pointers hide is what this is about")]
    fn get(&self) -> usize {
        // SAFETY: the value outlives the threads, and they take turns.
        unsafe { *self.0 }
    }

    #[expect(unsafe_code, reason = "what raw pointers hide is what this is about")]
    fn set(&self, value: usize) {
        // SAFETY: as above.
        unsafe { *self.0 = value }
    }
}

/// The same through a pointer. On real threads that would be a data race: a cell of raddle would have it found.
pub fn raw_pointer() {
    let mut count = 0;
    let shared = Shared(&raw mut count);
    between_own_steps(|| shared.get(), |found| shared.set(found + 1));
    assert_eq!(shared.get(), 2, "an increment was lost");
}

/// Each of two threads looks whether it has the last handle, and then drops its own; the one that has closes.
/// If both look before one drops, none closes.
pub fn arc_count() {
    let closed = Arc::new(AtomicBool::new(false));
    let handle = Arc::new(());
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (handle, closed) = (Arc::clone(&handle), Arc::clone(&closed));
            thread::spawn(move || {
                let own = AtomicUsize::new(0);
                own.store(1, SeqCst);
                let last = Arc::strong_count(&handle) == 1;
                own.store(2, SeqCst);
                drop(handle);
                if last {
                    closed.store(true, SeqCst);
                }
            })
        })
        .collect();
    drop(handle);
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert!(closed.load(SeqCst), "no thread had the last handle");
}

/// Each of two threads has a value of its own, as std has it. Under raddle tasks take turns on one OS thread, so
/// they share it: what fails here does not on real threads. `raddle::thread_local!` is by task.
pub fn thread_local() {
    std::thread_local! {
        static OWN: Cell<usize> = const { Cell::new(0) };
    }
    let next = StdAtomicUsize::new(1);
    between_own_steps(
        || {
            let mine = next.fetch_add(1, Relaxed);
            OWN.set(mine);
            mine
        },
        |mine| assert_eq!(OWN.get(), mine, "another thread's value"),
    );
}

/// Executions of none, one and two steps in turn. Nothing fails, and nothing is covered: the second execution is
/// not the program of the first.
pub fn kept_in_a_static() {
    static EXECUTIONS: StdAtomicUsize = StdAtomicUsize::new(0);
    let count = AtomicUsize::new(0);
    for _ in 0..EXECUTIONS.fetch_add(1, Relaxed) % 3 {
        count.load(SeqCst);
    }
}
