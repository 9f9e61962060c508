//! `patterns`: candidates that look like known mistakes first: something that another task has looked at is
//! changed before it acts on it, or a lock is taken that another task, which holds the one wanted next, is
//! about to wait for. `windows.rs` says how they are recognised.

use super::{Candidate, Cost, Priority, Sees, Window};

/// What would break into another task's window first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patterns;

impl Priority for Patterns {
    fn name(&self) -> String {
        "patterns".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { windows: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // The two kinds cost the same: which of them is more often a bug depends on the program.
        Cost(u32::from(candidate.window == Window::None))
    }
}
