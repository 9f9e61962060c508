//! The panic hook: where a panic was is known to it alone.
//!
//! A caught payload does not say where the panic was. So the first
//! search of a process puts one hook in front of the one it finds. Inside an execution ours keeps
//! place and message and prints nothing, because a search may run into thousands of panics that
//! the test expects; everywhere else it hands on to the hook it found. It holds no setting of any
//! search. A program that replaces it loses the places, nothing else.

use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

use raddle_trace::{Call, Site};

use crate::at_fork;
use crate::context;
use crate::execution::Execution;
use crate::explorer;
use crate::fiber::Fiber;
use crate::op::site_of;
use crate::panics;

pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let found = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !explorer::note_panic(info) && !note(info) {
                // It may take a backtrace.
                let _inside = at_fork::enter();
                found(info);
            }
        }));
    });
}

/// Keeps the place of a panic inside an execution. `false`: it is not inside one.
fn note(info: &PanicHookInfo<'_>) -> bool {
    let execution = Execution::current();
    if execution.is_null() {
        return false;
    }
    let site = info.location().map(site_of);
    let message = panics::message(info.payload());
    // SAFETY: the current execution of this OS thread; used for a moment.
    let (shown, tearing, task) = unsafe {
        let shown = (*execution).lasting.shown;
        (shown, (*execution).is_tearing(), (*execution).label((*execution).current))
    };
    let torn = tearing && std::thread::panicking();
    if torn {
        let place = site.as_ref().map_or_else(|| "an unknown place".to_owned(), Site::to_string);
        // If the destructor does not catch this, the process aborts now: say why first.
        let _ = writeln!(
            std::io::stderr(),
            "raddle: a destructor panicked at {place} while {task} was unwound after a failure: \
             {message}. If the process aborts now, run the test without RADDLE_TEARDOWN=unwind, or with \
             RADDLE_TEARDOWN=leak: then no destructors run after a failure."
        );
    }
    // SAFETY: as above.
    unsafe {
        if (*execution).listeners.recorder.is_some() && !(*execution).is_tearing() {
            crate::debug::raddle_panicked();
        }
        (*execution).raise_panic(message, site);
    }
    if shown.backtraces && (shown.loud || shown.calls) && !tearing {
        // SAFETY: as above. Where a task runs, and is no handler, its fiber is live.
        let calls = unsafe {
            let me = (*execution).me;
            let fiber = if me.is_null() { std::ptr::null_mut() } else { (*me).fiber };
            if fiber.is_null() { Vec::new() } else { context::stack(&Fiber::stack(fiber)) }
        };
        print(info, &task, &calls);
        return true;
    }
    !shown.loud
}

/// A panic as std prints it, with the functions of the program alone: those of raddle and of std between and
/// around them say nothing of the test.
fn print(info: &PanicHookInfo<'_>, task: &str, calls: &[Call]) {
    let place = info.location().map(|location| format!(" at {location}")).unwrap_or_default();
    let mut text =
        format!("\nthread '{task}' panicked{place}:\n{}\n", panics::message(info.payload()));
    if !calls.is_empty() {
        text.push_str("stack backtrace, without functions of raddle and std:\n");
    }
    for (nth, Call { function, site }) in calls.iter().enumerate() {
        let _ = writeln!(text, "{nth:>4}: {function}");
        if !site.file.is_empty() {
            let _ = writeln!(text, "             at {site}");
        }
    }
    // By the macro: the test harness may keep what a test prints.
    #[expect(clippy::print_stderr, reason = "it stands in for the hook of std")]
    {
        eprint!("{text}");
    }
}
