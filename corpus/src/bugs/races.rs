//! Plain data that is handed from thread to thread, and locks that are taken in turn.

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicBool, Ordering};
use raddle::sync::{Arc, Mutex, counted, mpsc};
use raddle::{Named, thread};

use crate::program::{Expected, Group, Program};

/// `racy-publish`.
///
/// A race in the one execution of two in which the flag is seen.
pub const RACY_PUBLISH: Program =
    Program::new("racy-publish", Group::Bugs, "plain data behind a flag that is stored relaxed")
        .source("message passing: Boehm and Adve, PLDI 2008")
        .plain(racy_publish)
        .fails(Expected::DataRace, |_| 0);

fn publish(store: Ordering) {
    let (ready, data) = (AtomicBool::new(false).named("ready"), Tracked::new(0).named("data"));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.set(42);
            ready.store(true, store);
        });
        scope.spawn(|| {
            if ready.load(Ordering::Acquire) {
                assert_eq!(data.get(), 42);
            }
        });
    });
}

/// data = 42; ready = true (relaxed) ‖ if ready, data is 42: no assertion fails.
pub fn racy_publish() {
    publish(Ordering::Relaxed);
}

/// `published`.
///
/// Two steps that depend on each other; the accesses to the data are none.
pub const PUBLISHED: Program =
    Program::new("published", Group::Bugs, "plain data behind a flag that is stored with release")
        .plain(published)
        .interleavings(|_| Some(2))
        .traces(|_| Some(2));

/// [`racy_publish`] as it should be.
pub fn published() {
    publish(Ordering::Release);
}

/// `last-owner`.
///
/// The store and the load, in either order: the handles of std are no steps.
pub const LAST_OWNER: Program = Program::new(
    "last-owner",
    Group::Bugs,
    "the last owner's destructor reads what the other owner wrote",
)
.source("the shape of tokio's oneshot channel")
.plain(last_owner)
.interleavings(|_| Some(2))
.traces(|_| Some(2));

/// `last-owner-counted`.
///
/// Each owner has two steps, of which the drops depend on each other, and the store and the load:
/// 4! / (2! * 2!) interleavings, 2 * 2 traces.
pub const LAST_OWNER_COUNTED: Program = Program::new(
    "last-owner-counted",
    Group::Bugs,
    "last-owner, with handles whose drops are steps",
)
.plain(last_owner_counted)
.interleavings(|_| Some(6))
.traces(|_| Some(4));

/// `last-owner-unwraps`.
///
/// The store and the load, in either order, as in `last-owner`.
pub const LAST_OWNER_UNWRAPS: Program = Program::new(
    "last-owner-unwraps",
    Group::Bugs,
    "the last owner takes the value out and reads what the other owner wrote",
)
.plain(last_owner_unwraps)
.interleavings(|_| Some(2))
.traces(|_| Some(2));

/// `values[0] = 1; seen = true; take out ‖ values[1] = 2; seen; take out`: the thread that gets the values reads both.
pub fn last_owner_unwraps() {
    type Shared = (AtomicBool, [Tracked<u8>; 2]);
    let finish = |handle: Arc<Shared>| {
        if let Ok((_, values)) = Arc::try_unwrap(handle) {
            assert_eq!(values.iter().map(Tracked::get).sum::<u8>(), 3);
        }
    };
    let seen = AtomicBool::new(false).named("seen");
    let ours = Arc::new((seen, [Tracked::new(0), Tracked::new(0)]));
    let theirs = Arc::clone(&ours);
    let other = thread::spawn(move || {
        theirs.1[0].set(1);
        theirs.0.store(true, Ordering::Relaxed);
        finish(theirs);
    });
    ours.1[1].set(2);
    ours.0.load(Ordering::Relaxed);
    finish(ours);
    other.join().unwrap();
}

/// What two owners share.
#[derive(Debug)]
struct Owned {
    seen: AtomicBool,
    values: [Tracked<u8>; 2],
}

impl Drop for Owned {
    fn drop(&mut self) {
        assert_eq!(self.values.iter().map(Tracked::get).sum::<u8>(), 3);
    }
}

fn two_owners<A>(new: fn(Owned) -> A, clone: fn(&A) -> A)
where
    A: std::ops::Deref<Target = Owned> + Send + 'static,
{
    let seen = AtomicBool::new(false).named("seen");
    let ours = new(Owned { seen, values: [Tracked::new(0), Tracked::new(0)] });
    let theirs = clone(&ours);
    let other = thread::spawn(move || {
        theirs.values[0].set(1);
        theirs.seen.store(true, Ordering::Relaxed);
        drop(theirs);
    });
    ours.values[1].set(2);
    ours.seen.load(Ordering::Relaxed);
    drop(ours);
    other.join().unwrap();
}

/// `values[0] = 1; seen = true; drop ‖ values[1] = 2; seen; drop`: the last owner reads both values.
pub fn last_owner() {
    two_owners(Arc::new, Arc::clone);
}

/// [`last_owner`] with a count that is seen.
pub fn last_owner_counted() {
    two_owners(counted::Arc::new, counted::Arc::clone);
}

/// `lock-order`.
///
/// Covered without a deadlock, so the warning is all there is to say.
pub const LOCK_ORDER: Program = Program::new(
    "lock-order",
    Group::Bugs,
    "two locks in opposite orders, kept apart by a channel: a warning",
)
.plain(lock_order);

/// a, b; send ‖ receive; b, a.
pub fn lock_order() {
    let (a, b) = (Mutex::new(()).named("a"), Mutex::new(()).named("b"));
    let (sender, receiver) = mpsc::channel();
    let (a, b) = (&a, &b);
    thread::scope(|scope| {
        scope.spawn(move || {
            let first = a.lock().unwrap();
            drop(b.lock().unwrap());
            drop(first);
            sender.send(()).unwrap();
        });
        scope.spawn(move || {
            receiver.recv().unwrap();
            let _second = b.lock().unwrap();
            let _first = a.lock().unwrap();
        });
    });
}
