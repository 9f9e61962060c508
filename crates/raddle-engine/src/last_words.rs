//! What a process says when it aborts: a failure that was found, or a panic whose unwinding it did not survive.
//!
//! A guard that aborts when it is dropped by a panic, or a panic in a destructor, ends the process before anything
//! can be reported. So whatever is known is written down before code of the test runs that could do that, and
//! a handler of `SIGABRT` prints it. Elsewhere than on Unix nothing is printed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::pulse::Pulse;

thread_local! {
    /// Of the execution that runs on this OS thread.
    static PANICKED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Of the whole process, the latest last.
static FOUND: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());

/// The same for watchdogs, by the address of the pulse.
static BY_PULSE: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());

/// Adds a line on what came before, if the process aborts while the execution of this OS thread runs.
pub(crate) fn add(pulse: &'static Pulse, line: &str) {
    // The thread may be on its way out.
    let _ = PANICKED.try_with(|words| {
        let mut words = words.borrow_mut();
        if words.is_empty() {
            words.push_str(BEFORE);
        }
        words.push_str(line);
    });
    let mut all = BY_PULSE.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(std::ptr::from_ref(pulse).addr()).or_default().push_str(line);
}

/// Forgets these lines.
pub(crate) fn clear(pulse: &'static Pulse) {
    let _ = PANICKED.try_with(|words| words.borrow_mut().clear());
    let mut all = BY_PULSE.lock().unwrap_or_else(PoisonError::into_inner);
    all.remove(&std::ptr::from_ref(pulse).addr());
}

/// The panics of the execution that runs with this pulse, a line for each; for a watchdog that gives it up.
#[must_use]
pub fn panics_so_far(pulse: &'static Pulse) -> String {
    let all = BY_PULSE.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(&std::ptr::from_ref(pulse).addr()).cloned().unwrap_or_default()
}

const BEFORE: &str = "\nraddle: the process aborts in the middle of an execution. What came before, the first thing \
                      first:\n";

/// A text that is printed if the process aborts before this is dropped.
#[derive(Debug)]
#[must_use = "the text is forgotten when this is dropped"]
pub struct LastWords(u64);

impl LastWords {
    /// Has this text printed if the process aborts.
    ///
    /// ```
    /// let words = raddle_engine::LastWords::new("what was found".to_owned());
    /// // Code that might abort runs here.
    /// drop(words);
    /// ```
    pub fn new(text: String) -> Self {
        install();
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let number = found.last().map_or(0, |(number, _)| number + 1);
        found.push((number, text));
        Self(number)
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|(number, _)| *number != self.0);
    }
}

#[cfg(unix)]
const HOW: &str =
    "`cargo raddle test` runs the test in a process of its own, and shows how it came to that.\n";

/// Says it, without waiting for anything.
#[cfg(unix)]
fn say() {
    let write = |text: &str| {
        // SAFETY: a valid buffer of that length.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    };
    let _ = PANICKED.try_with(|words| {
        if let Ok(words) = words.try_borrow()
            && !words.is_empty()
        {
            write(&words);
            write(HOW);
        }
    });
    if let Ok(found) = FOUND.try_lock() {
        found.iter().for_each(|(_, text)| write(text));
    }
}

#[cfg(unix)]
pub(crate) fn install() {
    use std::sync::Once;

    static INSTALLED: Once = Once::new();

    extern "C" fn on_abort(signal: libc::c_int) {
        say();
        // SAFETY: a plain call. `abort` raises the signal once more when this returns.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }

    INSTALLED.call_once(|| {
        // SAFETY: plain calls with valid pointers.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_abort as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGABRT, std::ptr::null(), &raw mut before);
            // A program with a handler of its own keeps it.
            if before.sa_sigaction == libc::SIG_DFL {
                libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn install() {}
