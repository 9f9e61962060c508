//! `new-pair`: first what would put two statements in an order that no passing execution has shown, then
//! the rest. `HaPSet`'s guidance (`hapset.rs`) as a priority: it leaves nothing out.
//!
//! A candidate moves a task before the one that moved there. If their ops conflict, the first would come
//! directly before the second. Whether that is new is asked when the candidate becomes known, so one that
//! waits does not fall back when another shows its pair.

use raddle_engine::context::Context;
use raddle_engine::dependence::{conflict, reversible};
use raddle_engine::op::ObjectId;
use raddle_engine::strategy::Step;
use raddle_trace::PairSet;

use super::{Candidate, Cost, Priority, Sees};
use crate::hapset::{Learner, Metric};

/// New orders of statements first.
#[derive(Debug)]
pub struct NewPair {
    learner: Learner,
}

impl Default for NewPair {
    fn default() -> Self {
        Self { learner: Learner::new(Metric::HapSet, false) }
    }
}

impl Priority for NewPair {
    fn name(&self) -> String {
        "new-pair".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { ops: true, steps: true, ..Sees::default() }
    }

    fn begin(&mut self) {
        self.learner.begin();
    }

    fn step(&mut self, step: &Step<'_>) {
        self.learner.step(step);
    }

    fn end(&mut self, passed: bool) {
        self.learner.end(passed);
    }

    fn know(&mut self, pairs: &PairSet) {
        self.learner.know(pairs);
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        // A value, or a point whose ops were not noted: nothing is known to be new.
        let (Some(op), Some(instead)) = (candidate.op, candidate.instead) else { return Cost(1) };
        // The statements come directly one after the other only if they meet at an object.
        let meet = op.object == instead.object
            && op.object != ObjectId::NONE
            && conflict(instead.access, op.access)
            // Two ops that conflict and can come in one order only, such as a release and the acquire that waits for it, are no new order.
            && reversible(instead.access, op.access);
        let later = self.learner.statement(instead.site, Context::NONE);
        let earlier = self.learner.statement(op.site, Context::NONE);
        Cost(u32::from(!meet || self.learner.known().contains(later, earlier)))
    }
}
