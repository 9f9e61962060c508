//! What an execution has made and not given back: looked for when all its threads have ended, as loom does.
//!
//! Allocations, [`Track`](crate::alloc::Track)s and messages are on a list from their beginning to their end; of `Arc`s
//! [`LeakCheck`] knows. Statics of [`lazy_static!`](macro@crate::lazy_static) are dropped before the list is looked at, since they
//! live as long as the execution.
//!
//! # Why: a thread-local of the test's body
//! What the body has in thread-locals goes after the body itself. Thread-locals are dropped the latest first, so one that is made
//! before the body begins is dropped after all others. It waits for the other threads and looks then.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle::extend;
use raddle::sync::counted::LeakCheck;

type Place = &'static Location<'static>;

/// What can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Arc,
    Allocation,
    Track,
    Message,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arc => "Arc leaked: made",
            Self::Allocation => "Allocation leaked: made",
            Self::Track => "Allocation leaked: a Track made",
            Self::Message => "Messages leaked: sent",
        })
    }
}

/// What the execution that runs on this OS thread has made.
#[derive(Default)]
struct Made {
    /// Which execution that is, of all in this process.
    execution: u64,
    next: u64,
    /// What is on the list, by number.
    listed: BTreeMap<u64, (Kind, Place)>,
    /// The numbers of allocations, by where they are.
    allocations: BTreeMap<usize, u64>,
    /// Values of statics, in the order in which they were made.
    statics: Vec<*mut dyn Any>,
    /// The statics have been dropped.
    over: bool,
    /// A panic has ended a thread.
    unwound: bool,
    /// How many threads there have been, the body's among them.
    threads: usize,
    /// From how many on loom would have refused.
    max_threads: usize,
}

std::thread_local! {
    /// All tasks of an execution are coroutines of one OS thread, and executions follow each other there.
    static MADE: RefCell<Made> = RefCell::default();
}

raddle::thread_local! {
    /// The end of the body.
    static END: RefCell<Option<End>> = RefCell::new(None);
}

/// An execution begins; `site` is where the test calls the model.
pub(crate) fn begin(site: Place, max_threads: usize) {
    static EXECUTIONS: AtomicU64 = AtomicU64::new(1);
    let execution = EXECUTIONS.fetch_add(1, Ordering::Relaxed);
    MADE.set(Made { execution, threads: 1, max_threads, ..Made::default() });
    let end = End { arcs: LeakCheck::new(), site };
    END.with_borrow_mut(|place| *place = Some(end));
}

/// A thread is about to be started.
pub(crate) fn count_thread() {
    if !extend::inside() {
        return;
    }
    let most = MADE.with_borrow_mut(|made| {
        made.threads += 1;
        (made.threads > made.max_threads).then_some(made.max_threads)
    });
    if let Some(most) = most {
        extend::tell_difference(&format!(
            "loom refuses a test with more than {most} threads (max_threads), and raddle has no such limit: the test has more"
        ));
    }
}

/// Runs the code of a thread. An execution in which a panic ends one is not looked at for leaks; a panic that the code catches
/// is no reason not to.
pub(crate) fn run<T>(code: impl FnOnce() -> T) -> T {
    struct Unwinds;
    impl Drop for Unwinds {
        fn drop(&mut self) {
            MADE.with_borrow_mut(|made| made.unwound = true);
        }
    }
    let unwinds = Unwinds;
    let value = code();
    std::mem::forget(unwinds);
    value
}

/// Whether the execution has failed, or was cut off, and so has not given back what it would have.
fn is_cut_short() -> bool {
    let unwound = extend::has_panicked() && MADE.with_borrow(|made| made.unwound);
    unwound || extend::execution_ended()
}

/// Something on the list, until it is dropped.
#[derive(Debug)]
pub(crate) struct Listed {
    execution: u64,
    number: u64,
}

impl Listed {
    /// Puts it on the list of the execution. Outside of one there is none.
    pub(crate) fn new(kind: Kind, place: Place) -> Self {
        if !extend::inside() {
            return Self { execution: 0, number: 0 };
        }
        MADE.with_borrow_mut(|made| {
            let number = made.next;
            made.next += 1;
            made.listed.insert(number, (kind, place));
            Self { execution: made.execution, number }
        })
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        MADE.with_borrow_mut(|made| {
            if made.execution == self.execution {
                made.listed.remove(&self.number);
            }
        });
    }
}

/// Memory was allocated.
pub(crate) fn allocated(pointer: *mut u8, place: Place) {
    if pointer.is_null() || !extend::inside() {
        return;
    }
    let listed = std::mem::ManuallyDrop::new(Listed::new(Kind::Allocation, place));
    MADE.with_borrow_mut(|made| made.allocations.insert(pointer.addr(), listed.number));
}

/// Memory is about to be given back.
pub(crate) fn deallocated(pointer: *mut u8, place: Place) {
    if !extend::inside() || extend::execution_ended() {
        return;
    }
    let known = MADE.with_borrow_mut(|made| {
        let number = made.allocations.remove(&pointer.addr())?;
        made.listed.remove(&number)
    });
    if known.is_none() {
        extend::panic_at(
            place,
            "pointer not tracked: dealloc is given what alloc and alloc_zeroed of loom did not return \
             in this execution, or what was given back before"
                .to_owned(),
        );
    }
}

/// Keeps the value of a static until the end of the execution. Outside of one, for good.
pub(crate) fn keep_static<T: 'static>(value: T) -> *const T {
    let value = Box::into_raw(Box::new(value));
    if extend::inside() {
        MADE.with_borrow_mut(|made| made.statics.push(value));
    }
    value
}

/// Statics must not be used any more.
///
/// # Panics
/// If the execution has dropped them.
#[track_caller]
pub(crate) fn check_statics() {
    let over = extend::inside() && MADE.with_borrow(|made| made.over);
    assert!(
        !over,
        "a lazy_static is used while the statics are dropped, at the end of the execution"
    );
}

/// The end of the body: dropped after all that the body has.
struct End {
    arcs: LeakCheck,
    site: Place,
}

impl Drop for End {
    fn drop(&mut self) {
        if is_cut_short() {
            return;
        }
        extend::join_others(self.site);
        if is_cut_short() {
            return;
        }
        let statics = MADE.with_borrow_mut(|made| {
            made.over = true;
            std::mem::take(&mut made.statics)
        });
        for value in statics.into_iter().rev() {
            drop_static(value);
        }
        let mut lost: Vec<(Kind, Place)> =
            self.arcs.left().into_iter().map(|place| (Kind::Arc, place)).collect();
        MADE.with_borrow_mut(|made| lost.extend(std::mem::take(&mut made.listed).into_values()));
        if let Some(&(_, first)) = lost.first() {
            extend::panic_at(first, message(&lost));
        }
    }
}

#[expect(
    unsafe_code,
    reason = "references to statics live as long as the program, and statics do not"
)]
fn drop_static(value: *mut dyn Any) {
    // SAFETY: it comes from a box, and once. All threads of the execution but this one have ended, and whoever asks for a
    // static from now on is refused. A reference that outlives the threads of the execution is used by nothing but
    // destructors of other statics, which loom does not allow either.
    drop(unsafe { Box::from_raw(value) });
}

/// One line for each place, with how often.
fn message(lost: &[(Kind, Place)]) -> String {
    let mut counts: BTreeMap<(Kind, Place), usize> = BTreeMap::new();
    for &what in lost {
        *counts.entry(what).or_default() += 1;
    }
    let line = |((kind, place), n): ((Kind, Place), usize)| match n {
        1 => format!("{kind} at {place}"),
        n => format!("{kind} at {place}, {n} times"),
    };
    counts.into_iter().map(line).collect::<Vec<_>>().join("\n")
}
