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
        Note::Kept { file, anew } => {
            let file = clean(file);
            let lost = |strategy: &String| {
                format!(", but `{}` cannot be saved and would begin anew", clean(strategy))
            };
            let lost: String = anew.iter().map(lost).collect();
            let text = format!(
                "the search was stopped before it was through; it can go on from {file}{lost}"
            );
            (text, Vec::new())
        }
        Note::NotKept { why } => (
            format!(
                "the search was stopped before it was through and cannot go on later: {}",
                clean(why)
            ),
            Vec::new(),
        ),
        Note::Resumed { parts, executions, elapsed_ms } => {
            let before = count(*executions, "execution");
            let text = format!(
                "the search went on where an earlier one had stopped: executions, traces and time are of {parts} \
                 parts together, {before} and {} s of them before this one",
                elapsed_ms / 1000,
            );
            (text, Vec::new())
        }
        Note::Text { text } => (clean(text), Vec::new()),
        _ => (format!("{note:?}"), Vec::new()),
    }
}
