//! Where and why a task panicked: what the panic hook leaves, and what a payload says.

use std::any::Any;
use std::cell::RefCell;

use raddle_trace::Site;

thread_local! {
    static LAST: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// Keeps the place of a panic.
pub(crate) fn keep_site(site: Option<Site>) {
    // The thread may be on its way out.
    let _ = LAST.try_with(|last| *last.borrow_mut() = site);
}

/// The place of the last panic in a task of this OS thread.
pub(crate) fn take_site() -> Option<Site> {
    LAST.with_borrow_mut(Option::take)
}

/// The text of a panic's payload.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is not text".to_owned()
    }
}
