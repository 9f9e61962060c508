//! What a process says when it ends in the middle of an execution: which command shows how it came to that, a failure that was
//! found, a panic whose unwinding it did not survive.
//!
//! A guard that aborts when it is dropped by a panic, or a panic in a destructor, ends the process before anything
//! can be reported. So whatever is known is written down before code of the test runs that could do that: the panic hook
//! runs before anything is unwound. A handler of `SIGABRT` hands it to the thread that watches the search, which runs
//! the execution again for its trace and reports it; the thread that aborts waits for ever. Without one that
//! watches, the handler prints it and the process ends. Elsewhere than on Unix nothing is printed.
//!
//! The command is a text that the search was given ([`Setup::at_death`](crate::Setup)), so that a handler has nothing to put
//! together. It is also printed if the process ends by a fault (`faults.rs`) or by `exit`. Only the OS thread that runs the
//! execution knows of it: what another thread of the test does leaves no line.
//!
//! # Why: A panic that is being handled belongs to the test
//! A task that panics unwinds, because it may be caught or joined: that is what the program does. If the process does
//! not survive that, the hook has noted the panic before: the driver hears of it (`RetracedEvent::Panicked`). Without a driver
//! the hook has noted what was decided until then, too, and `last_words.rs` catches `SIGABRT`: the OS thread that
//! aborts is left behind, as one is that hangs, and another goes the same way for the trace (`raddle/src/cut_off.rs`).
//! The process goes on. Whether a thread that hangs still unwinds only it can know, so it is asked by a signal.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::at_fork;
use crate::pulse::Pulse;

thread_local! {
    /// Of the execution that runs on this OS thread: the lines, and its pulse once there is one.
    static PANICKED: RefCell<(String, Option<&'static Pulse>)> =
        const { RefCell::new((String::new(), None)) };
}

/// Of the whole process, the latest last.
static FOUND: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());

/// The same for watchdogs, by the address of the pulse.
static BY_PULSE: Mutex<BTreeMap<usize, SoFar>> = Mutex::new(BTreeMap::new());

/// What is known of an execution that has panicked and may never come back.
#[derive(Clone, Debug, Default)]
pub struct SoFar {
    /// Its panics, a line for each.
    pub panics: String,
    /// The options it had taken when the last of them was raised.
    pub options: Vec<u32>,
    /// The setting `rounds` of its search.
    pub rounds: Option<u32>,
    /// Whether a panic ended its task, and no other task has taken it from a `join`.
    pub ended_a_task: bool,
    /// The OS thread on which it runs.
    thread: usize,
}

/// A task panics. The line is printed if the process aborts while the execution of this OS thread runs, and with the
/// options that were taken the execution can be run again up to here.
pub(crate) fn add(
    pulse: &'static Pulse,
    line: Option<&str>,
    options: impl Iterator<Item = u32>,
    rounds: Option<u32>,
) {
    // The thread may be on its way out.
    let _ = PANICKED.try_with(|words| {
        let (words, of) = &mut *words.borrow_mut();
        if words.is_empty() {
            words.push_str(BEFORE);
        }
        words.push_str(line.unwrap_or_default());
        *of = Some(pulse);
    });
    change(pulse, |so_far| {
        so_far.panics.push_str(line.unwrap_or_default());
        so_far.options.clear();
        so_far.options.extend(options);
        so_far.rounds = rounds;
        so_far.thread = interrogation::this_thread();
    });
}

/// Whether a panic has ended its task, and no other has taken it.
pub(crate) fn set_ended_a_task(pulse: &'static Pulse, ended: bool) {
    change(pulse, |so_far| so_far.ended_a_task = ended);
}

fn change(pulse: &'static Pulse, change: impl FnOnce(&mut SoFar)) {
    let mut all = at_fork::lock(&BY_PULSE);
    change(all.entry(std::ptr::from_ref(pulse).addr()).or_default());
}

/// Forgets these lines.
pub(crate) fn clear(pulse: &'static Pulse) {
    let _ = PANICKED.try_with(|words| {
        let (words, of) = &mut *words.borrow_mut();
        words.clear();
        *of = None;
    });
    let mut all = at_fork::lock(&BY_PULSE);
    all.remove(&std::ptr::from_ref(pulse).addr());
}

/// The panics of the execution that runs with this pulse; for a watchdog that gives it up. None: there were none.
#[must_use]
pub fn panics_so_far(pulse: &'static Pulse) -> Option<SoFar> {
    let all = at_fork::lock(&BY_PULSE);
    all.get(&std::ptr::from_ref(pulse).addr()).cloned()
}

/// Whether the task that runs with this pulse unwinds from a panic right now. `false` if that cannot be known.
#[must_use]
pub fn unwinds_now(pulse: &'static Pulse) -> bool {
    // While this is locked the execution cannot come to its end, so its OS thread is there.
    let all = at_fork::lock(&BY_PULSE);
    let so_far = all.get(&std::ptr::from_ref(pulse).addr());
    so_far.is_some_and(|so_far| so_far.thread != 0 && interrogation::unwinds(so_far.thread))
}

/// Asks an OS thread whether it unwinds. Only the thread itself knows, so it is interrupted by a signal.
#[cfg(unix)]
mod interrogation {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    /// Ignored unless a program asks for it.
    const QUESTION: libc::c_int = libc::SIGURG;
    const NONE: u32 = 0;
    const NO: u32 = 1;
    const YES: u32 = 2;
    static ANSWER: AtomicU32 = AtomicU32::new(NONE);
    /// One question at a time.
    static ASKING: Mutex<()> = Mutex::new(());
    /// How often it is looked for the answer, a millisecond apart.
    const LOOKS: u32 = 2_000;

    pub(super) fn this_thread() -> usize {
        // SAFETY: a plain call.
        unsafe { libc::pthread_self() as usize }
    }

    extern "C" fn answer(_: libc::c_int) {
        let answer = if std::thread::panicking() { YES } else { NO };
        ANSWER.store(answer, Ordering::Release);
    }

    /// The thread exists.
    pub(super) fn unwinds(thread: usize) -> bool {
        let _one = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: plain calls with valid pointers; the handler stores a word.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(QUESTION, std::ptr::null(), &raw mut before);
            if before.sa_sigaction != libc::SIG_DFL {
                // The program uses this signal itself.
                return false;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = answer as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
            ANSWER.store(NONE, Ordering::Relaxed);
            libc::sigaction(QUESTION, &raw const action, std::ptr::null_mut());
            libc::pthread_kill(thread as libc::pthread_t, QUESTION);
            for _ in 0..LOOKS {
                if ANSWER.load(Ordering::Acquire) != NONE {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            libc::sigaction(QUESTION, &raw const before, std::ptr::null_mut());
        }
        ANSWER.load(Ordering::Acquire) == YES
    }
}

#[cfg(not(unix))]
mod interrogation {
    pub(super) fn this_thread() -> usize {
        0
    }

    pub(super) fn unwinds(_: usize) -> bool {
        false
    }
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
        catch_aborts();
        let mut found = at_fork::lock(&FOUND);
        let number = found.last().map_or(0, |(number, _)| number + 1);
        found.push((number, text));
        Self(number)
    }
}

/// Forgets what all searches of the process have found: for a fork, whose end is no loss of theirs.
pub fn forget_last_words() {
    at_fork::lock(&FOUND).clear();
}

impl Drop for LastWords {
    fn drop(&mut self) {
        let mut found = at_fork::lock(&FOUND);
        found.retain(|(number, _)| *number != self.0);
    }
}

#[cfg(unix)]
const HOW: &str =
    "`cargo raddle test` runs the test in a process of its own, and shows how it came to that.\n";

/// What is said of the execution that runs on an OS thread, if one does and something is to be said ([`install`]).
#[cfg(unix)]
type Running = fn() -> Option<&'static str>;

#[cfg(unix)]
static RUNNING: std::sync::OnceLock<Running> = std::sync::OnceLock::new();

#[cfg(unix)]
fn write(text: &str) {
    // SAFETY: a valid buffer of that length. May be called in a handler of a signal.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

/// The process ends: says of the execution that runs on this OS thread how to find out what leads to that, if one runs.
/// Neither allocates nor waits, so it may be called in a handler of a signal.
#[cfg(unix)]
pub(crate) fn say_what_runs() -> bool {
    let line = RUNNING.get().and_then(|running| running());
    line.inspect(|line| write(line)).is_some()
}

/// Says all that is known, without waiting for anything.
#[cfg(unix)]
fn say() {
    let panicked = PANICKED.try_with(|words| {
        let Ok(words) = words.try_borrow() else { return false };
        write(&words.0);
        !words.0.is_empty()
    });
    if !say_what_runs() && panicked == Ok(true) {
        write(HOW);
    }
    if let Ok(found) = FOUND.try_lock() {
        found.iter().for_each(|(_, text)| write(text));
    }
}

/// The thread that calls this aborts. Whether the one that watches it has taken over: then the process need not end,
/// and this thread is left where it is, as one is that hangs.
///
/// Only of an abort while a panic unwinds: a guard against that, or a second panic. Others may come from the
/// allocator, with locks held that the report would need.
#[cfg(unix)]
fn is_handed_over() -> bool {
    let pulse = PANICKED.try_with(|words| words.try_borrow().ok().and_then(|words| words.1));
    let Ok(Some(pulse)) = pulse else { return false };
    std::thread::panicking() && pulse.abort()
}

/// Sees to it that what is known is said when the process aborts, or ends by `exit` in the middle of an execution. `running`
/// is asked then; it must neither allocate nor wait.
#[cfg(unix)]
pub(crate) fn install(running: fn() -> Option<&'static str>) {
    static AT_EXIT: std::sync::Once = std::sync::Once::new();

    extern "C" fn on_exit() {
        say_what_runs();
    }

    RUNNING.get_or_init(|| running);
    catch_aborts();
    // SAFETY: a plain call; the function does not unwind.
    AT_EXIT.call_once(|| _ = unsafe { libc::atexit(on_exit) });
}

#[cfg(unix)]
fn catch_aborts() {
    use std::sync::{Once, OnceLock};

    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
    static INSTALLED: Once = Once::new();

    unsafe extern "C" fn on_abort(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        let theirs = BEFORE.get().filter(|before| before.sa_sigaction > libc::SIG_IGN);
        // A program with a handler of its own keeps it, and ends as that one says.
        if theirs.is_none() && is_handed_over() {
            loop {
                // SAFETY: a plain call.
                unsafe { libc::pause() };
            }
        }
        say();
        // SAFETY: what was installed before is called as the kernel would call it. `abort` raises the signal once more when
        // this returns.
        unsafe {
            match theirs {
                Some(theirs) => call(theirs, signal, info, context),
                None => _ = libc::signal(signal, libc::SIG_DFL),
            }
        }
    }

    BEFORE.get_or_init(|| {
        // SAFETY: plain calls with valid pointers. What was there is known before the handler is.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGABRT, std::ptr::null(), &raw mut before);
            before
        }
    });
    INSTALLED.call_once(|| {
        // SAFETY: plain calls with valid pointers.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_abort as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
            libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
        }
    });
}

/// Calls the handler that was installed before ours.
///
/// # Safety
/// In a handler, with what the kernel passed to it; `before` has a function.
#[cfg(unix)]
pub(crate) unsafe fn call(
    before: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    type Handler = unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    // SAFETY: by contract. A handler of one argument does not look at the others.
    unsafe {
        let handler: Handler = std::mem::transmute(before.sa_sigaction);
        handler(signal, info, context);
    }
}

#[cfg(not(unix))]
pub(crate) fn install(_: fn() -> Option<&'static str>) {}

#[cfg(not(unix))]
fn catch_aborts() {}
