//! The engine as the author of a primitive or of a strategy sees it, without any frontend: a semaphore
//! written here, and a depth-first search written here.

mod observers;
mod primitive;
mod searches;
mod work;

use raddle_engine::strategy::{Answer, Plan, Point, Taken};
use raddle_engine::{Ended, Explored, Limits, Setup, Stop, Strategy, explore};
use raddle_trace::Covered;

/// Depth first: of the decisions of the last execution the last one that has an option left is changed, and
/// what came after it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Every {
    /// The decisions of the last execution, and whether there was one.
    taken: Option<Vec<Taken>>,
}

impl Strategy for Every {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        let Some(taken) = &self.taken else { return true };
        let Some(at) = taken.iter().rposition(|taken| taken.option + 1 < taken.of) else {
            return false;
        };
        plan.prefix.truncate(at + 1);
        plan.prefix[at] += 1;
        true
    }

    fn decide(&mut self, _: &Point<'_>) -> Answer {
        Answer::Take(0)
    }

    fn end(&mut self, execution: &raddle_engine::strategy::Finished<'_>) {
        self.taken = Some(execution.decisions.to_vec());
    }

    fn covered(&self) -> Covered {
        Covered::Everything
    }
}

pub(crate) fn explored(setup: &Setup, body: &dyn Fn()) -> Explored {
    explore(&mut Every::default(), setup, &mut |_| Stop::No, &mut |_| {}, body)
        .expect("a search can run here")
}

/// How many executions there are, and how they end, by kind.
pub(crate) fn kinds(body: &dyn Fn()) -> (u64, Vec<(&'static str, u64)>) {
    let setup = Setup { keep_going: true, ..Setup::default() };
    let explored = explored(&setup, body);
    assert_eq!(explored.ended, Ended::Covered);
    (explored.counts.executions, explored.kinds.into_iter().collect())
}

pub(crate) fn limited(limits: Limits) -> Setup {
    Setup { limits, ..Setup::default() }
}
