//! Keeps the OS threads of a process away from shared state while the process is forked.
//!
//! A fork has one thread, and memory as it was at that moment: what another thread had locked stays locked in it for
//! ever. An execution that came to such a lock in a fork would hang, and be reported as a hang of the test. So code that
//! locks what all threads share, or has std do so, enters first ([`lock`]), and the thread that forks waits until it is
//! alone ([`fork_alone`](crate::fork_alone)).
//!
//! Misses: locks of the program under test, and that of std for backtraces where the program itself takes one.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError};
use std::thread;
use std::time::Duration;

static GATE: RwLock<()> = RwLock::new(());

/// How often a thread looks whether it may enter, a millisecond apart. A fork takes less than one. If it takes as long as all of
/// them, it waits for standard output, which this thread has: it panics while it prints.
const LOOKS: u32 = 1_000;

thread_local! {
    /// How often this OS thread has entered and not left.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While this lives the process is not forked by [`alone`].
#[derive(Debug)]
#[must_use = "the process may be forked as soon as this is dropped"]
pub(crate) struct Inside {
    /// Only of the outermost one: a lock that is waited for must not be taken twice.
    _shared: Option<RwLockReadGuard<'static, ()>>,
    /// Counted by thread.
    _not_send: PhantomData<*const ()>,
}

/// To be called before std takes a lock that other OS threads take as well. Not while waiting for anything that may take long:
/// the thread that forks waits, too.
pub(crate) fn enter() -> Inside {
    // The thread may be on its way out: then nothing is counted.
    let depth = DEPTH.try_with(|depth| depth.replace(depth.get() + 1)).unwrap_or(1);
    let shared = if depth == 0 { wait_for_gate() } else { None };
    Inside { _shared: shared, _not_send: PhantomData }
}

fn wait_for_gate() -> Option<RwLockReadGuard<'static, ()>> {
    for _ in 0..LOOKS {
        match GATE.try_read() {
            Ok(inside) => return Some(inside),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
    }
}

/// A lock that other OS threads take as well, while its thread is inside.
#[derive(Debug)]
pub struct Locked<T: 'static> {
    // Dropped in this order.
    guard: MutexGuard<'static, T>,
    _inside: Inside,
}

/// Locks what the OS threads of the process share.
///
/// ```
/// use std::sync::Mutex;
///
/// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
///
/// raddle_engine::at_fork::lock(&NAMES).push("a name".to_owned());
/// ```
pub fn lock<T>(shared: &'static Mutex<T>) -> Locked<T> {
    let inside = enter();
    Locked { guard: shared.lock().unwrap_or_else(PoisonError::into_inner), _inside: inside }
}

impl<T> Deref for Locked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Calls `fork` while no other thread is inside, nor prints by std.
///
/// # Panics
/// If this thread is inside itself.
pub(crate) fn alone<R>(fork: impl FnOnce() -> R) -> R {
    assert_eq!(DEPTH.get(), 0, "engine bug: a thread forks that is inside itself");
    let _gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    // After the gate: a panic hook prints while it is inside.
    let (_out, _err) = (io::stdout().lock(), io::stderr().lock());
    fork()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "it runs no execution")]
    #[test]
    fn a_thread_that_is_inside_is_waited_for() {
        let (say, hear) = mpsc::channel();
        let inside = enter();
        let again = enter();
        assert!(GATE.try_write().is_err());
        let forks = thread::spawn(move || alone(|| hear.try_iter().collect::<Vec<_>>()));
        drop(again);
        assert!(GATE.try_write().is_err(), "the outermost counts");
        say.send("left").unwrap();
        drop(inside);
        assert_eq!(forks.join().unwrap(), ["left"]);
    }
}
