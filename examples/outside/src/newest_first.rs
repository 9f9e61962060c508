//! A default order: the task that was created last moves first.

use raddle::extend::{Order, Point};

/// The running task goes on; where it cannot, the one that was created last moves.
///
/// So it never leaves a task that could go on, and preemptions along it can be bounded.
#[derive(Debug)]
pub struct NewestFirst;

impl Order for NewestFirst {
    fn name(&self) -> String {
        "newest-first".to_owned()
    }

    fn preempts(&self) -> bool {
        false
    }

    fn next(&mut self, point: &Point<'_>) -> u32 {
        point.running_option().unwrap_or(point.arity() - 1)
    }
}
