//! A priority of best-first search: where two tasks are about to use one object, the other order comes early.

use raddle::extend::{Candidate, Cost, Priority, Sees};

/// Candidates first whose task would use the object that another task used there instead.
#[derive(Debug)]
pub struct Contended;

impl Priority for Contended {
    fn name(&self) -> String {
        "contended".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { ops: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        let same = candidate.op.zip(candidate.instead).is_some_and(|(a, b)| a.object == b.object);
        Cost(if same { 0 } else { 1 } + candidate.preemptions)
    }
}
