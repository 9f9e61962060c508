//! A priority that a user wrote: a closure.
//!
//! It is asked once for each candidate, when that becomes known: a race that is found later does not
//! change what it said.

use std::fmt;

use super::{Candidate, Cost, Priority, Sees};

/// What a closure says first.
pub struct ClosurePriority<F> {
    name: String,
    sees: Sees,
    cost: F,
}

impl<F: FnMut(&Candidate) -> Cost + Send> ClosurePriority<F> {
    /// A priority with this name in reports.
    pub fn new(name: &str, cost: F) -> Self {
        // Ops alone, which cost little. What costs more a user has to ask for, by `seeing`.
        Self { name: name.to_owned(), sees: Sees { ops: true, ..Sees::default() }, cost }
    }

    /// The closure looks at these besides.
    #[must_use]
    pub fn seeing(self, sees: Sees) -> Self {
        Self { sees: self.sees.or(sees), ..self }
    }
}

impl<F> fmt::Debug for ClosurePriority<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A closure has no `Debug`.
        f.debug_struct("ClosurePriority").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F: FnMut(&Candidate) -> Cost + Send> Priority for ClosurePriority<F> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sees(&self) -> Sees {
        self.sees
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        (self.cost)(candidate)
    }
}
