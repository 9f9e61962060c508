//! The panic hook: where a panic was is known to it alone.
//!
//! A caught payload does not say where the panic was. So the first
//! search of a process puts one hook in front of the one it finds. Inside an execution ours keeps
//! place and message and prints nothing, because a search may run into thousands of panics that
//! the test expects; everywhere else it hands on to the hook it found. It holds no setting of any
//! search. A program that replaces it loses the places, nothing else.

use std::io::Write;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

use raddle_trace::Site;

use crate::execution::Execution;
use crate::op::site_of;
use crate::panics;

pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let found = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !note(info) {
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
    let (loud, torn, task) = unsafe {
        let cancelled = (*execution).is_tearing() && std::thread::panicking();
        ((*execution).lasting.loud, cancelled, (*execution).label((*execution).current))
    };
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
    !loud
}
