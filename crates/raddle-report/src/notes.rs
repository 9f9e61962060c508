//! What is said of things that the user should know.

use raddle_trace::Note;

use crate::columns::{clean, count};
use crate::races;

/// A sentence, and lines below it.
pub(crate) fn said(note: &Note) -> (String, Vec<String>) {
    match note {
        Note::NothingConcurrent => (
            "nothing concurrent happened: at no point was there more than one option, so the test \
             has one execution only. Spawn with raddle's `thread::spawn` and share raddle's locks, \
             atomics and channels: raddle does not see those of std. A test that is sequential by \
             design does not need raddle."
                .to_owned(),
            Vec::new(),
        ),
        Note::Diverged(divergence) => (
            "the search stopped: an execution did not repeat what was recorded".to_owned(),
            vec![
                format!("at step {}, decision {}", divergence.step, divergence.decision),
                format!("expected: {}", clean(&divergence.expected)),
                format!("found: {}", clean(&divergence.found)),
            ],
        ),
        Note::Leaked { tasks } => {
            let (were, they) = if *tasks == 1 { ("was", "it") } else { ("were", "they") };
            let text = format!(
                "{} could not be unwound after the failure and {were} leaked: what {they} held is \
                 never dropped. The failure itself is not in doubt.",
                count(*tasks, "task"),
            );
            (text, Vec::new())
        }
        Note::LockOrder { cycle } => (
            "locks were taken in orders that can deadlock. No execution that was run did, and if \
             something else than a lock keeps these apart none will:"
                .to_owned(),
            races::cycle(cycle),
        ),
        Note::Text { text } => (clean(text), Vec::new()),
        _ => (format!("{note:?}"), Vec::new()),
    }
}
