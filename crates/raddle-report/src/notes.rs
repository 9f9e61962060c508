//! What is said of things that the user should know.

use raddle_trace::{Note, Site};

use crate::columns::{clean, count};
use crate::races;

/// A note as one sentence.
#[must_use]
pub fn sentence(note: &Note) -> String {
    said(note).0
}

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
        Note::WaitsOutside { us, after, before } => {
            let place = |site: &Site| clean(&site.to_string());
            let where_to = match (after.as_ref().map(place), before.as_ref().map(place)) {
                (Some(after), Some(before)) => format!("between {after} and {before}"),
                (Some(after), None) => format!("after {after}"),
                (None, Some(before)) => format!("before {before}"),
                (None, None) => "at no step of its own".to_owned(),
            };
            let ms = us.div_ceil(1_000);
            let text = format!(
                "an execution waits about {ms} ms for something outside of raddle, {where_to}: a real sleep, or \
                 I/O? It takes that long each time; raddle's own clock (`raddle::thread::sleep`, \
                 `raddle::time`) takes no time"
            );
            (text, Vec::new())
        }
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
        Note::Difference { text } | Note::Text { text } => (clean(text), Vec::new()),
        _ => (format!("{note:?}"), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::site;

    #[test]
    fn a_wait_is_told_with_the_steps_around_it() {
        let told = |after, before| said(&Note::WaitsOutside { us: 4_900, after, before }).0;
        let text = told(Some(site(3)), Some(site(5)));
        let begins = "an execution waits about 5 ms for something outside of raddle, between \
                      tests/account.rs:3:9 and tests/account.rs:5:9: a real sleep, or I/O?";
        assert!(text.starts_with(begins), "{text}");
        assert!(told(None, Some(site(5))).contains("raddle, before tests/account.rs:5:9: a real"));
        assert!(told(Some(site(3)), None).contains("raddle, after tests/account.rs:3:9: a real"));
    }
}
