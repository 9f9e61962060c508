//! Where a step is shown to be.
//!
//! A step is recorded with the place that its operation was called from. A guard is dropped without saying
//! where, so an unlock is recorded with the place of its lock; and what a destructor does that the compiler
//! calls is recorded with a place in std. There the trace's calls know better, if it has any.

use raddle_trace::{Event, Site};

/// How the release of a lock is called.
pub(crate) const UNLOCK: &str = "unlock";

/// The place of a step.
pub(crate) fn shown_at(event: &Event) -> &Site {
    let drops = event.op == UNLOCK || event.op.starts_with("drop");
    if drops || is_std(&event.site.file) { called_at(event) } else { None }.unwrap_or(&event.site)
}

/// Whether that is the place of a lock, though the step is the unlock.
pub(crate) fn is_at_its_lock(event: &Event) -> bool {
    event.op == UNLOCK && called_at(event).is_none() && !event.site.file.is_empty()
}

/// Where the innermost function of the program was.
fn called_at(event: &Event) -> Option<&Site> {
    event.calls.iter().map(|call| &call.site).find(|site| !site.file.is_empty())
}

fn is_std(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("rustlib/src/rust/library")
}

#[cfg(test)]
mod tests {
    use raddle_trace::Call;

    use super::*;
    use crate::samples::{event, site};

    #[test]
    fn an_unlock_is_where_the_guard_is_dropped_if_that_is_known() {
        let mut unlock = event((0, "unlock", Some(0), 5));
        assert_eq!((shown_at(&unlock), is_at_its_lock(&unlock)), (&site(5), true));
        unlock.calls = vec![Call { function: "a::b".to_owned(), site: site(9) }];
        assert_eq!((shown_at(&unlock), is_at_its_lock(&unlock)), (&site(9), false));
    }

    #[test]
    fn what_std_does_is_shown_in_the_program() {
        let mut store = event((0, "store(1)", Some(0), 5));
        store.calls = vec![Call { function: "a::b".to_owned(), site: site(9) }];
        assert_eq!(shown_at(&store), &site(5));
        store.site.file = "/rustc/59807/library/core/src/ptr/mod.rs".to_owned();
        assert_eq!(shown_at(&store), &site(9));
    }
}
