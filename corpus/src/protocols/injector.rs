//! The injector of failures: an actor that chooses who fails, at a time that the search decides.
//!
//! For each failure it asks of one target after another whether it is this one, each in a step of its own, as a
//! program in P does, which has choices between two things alone; if it is none of them nothing fails. So every
//! target is one choice away from an execution without failures, and the last of many is unlikely to be drawn.

use std::fmt::Debug;
use std::hash::Hash;

use raddle::actors::{Actor, Address, Context};

/// A message that can say that a node fails.
pub trait Failing: Clone + Debug + Hash + Send + 'static {
    /// The node fails: it loses what is not on its disk, and hears nothing.
    fn crash() -> Self;
    /// The node is up again, with what was on its disk.
    fn restart() -> Self;
}

/// What the injector is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum ToInjector {
    /// From itself: a while has passed. So many more come before the next failure.
    Wait(u32),
    /// From itself: does this target fail?
    Strike(usize),
    /// The end of the failure of this target.
    Repair(usize),
}

/// What becomes of a node that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// It is up again before the next one fails.
    Restarts,
    /// It is gone. The last one does not fail.
    Stops,
}

/// Lets nodes fail, one after another.
#[derive(Clone, Debug, Hash)]
pub struct Injector<M> {
    targets: Vec<Address<M>>,
    failure: Failure,
    strikes: usize,
    pause: u32,
}

impl<M> Injector<M> {
    /// Lets some of these fail, so many times.
    #[must_use]
    pub fn new(targets: Vec<Address<M>>, failure: Failure, strikes: usize) -> Self {
        Self { targets, failure, strikes, pause: 0 }
    }

    /// Takes so many steps before each failure.
    #[must_use]
    pub fn pause(self, steps: u32) -> Self {
        Self { pause: steps, ..self }
    }
}

impl<M: Failing> Actor for Injector<M> {
    type Message = ToInjector;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, ToInjector>) {
        self.go_on(cx);
    }

    fn handle(&mut self, message: ToInjector, cx: &mut Context<'_, ToInjector>) {
        match message {
            ToInjector::Wait(more) => Self::wait(more, cx),
            ToInjector::Strike(target) if target == self.targets.len() => self.go_on(cx),
            ToInjector::Strike(target) if cx.choose(2) == 0 => {
                let me = cx.me().clone();
                cx.send(&me, ToInjector::Strike(target + 1));
            }
            ToInjector::Strike(target) => {
                cx.send(&self.targets[target], M::crash());
                match self.failure {
                    Failure::Restarts => {
                        let me = cx.me().clone();
                        cx.send(&me, ToInjector::Repair(target));
                    }
                    Failure::Stops => {
                        self.targets.remove(target);
                        self.go_on(cx);
                    }
                }
            }
            ToInjector::Repair(target) => {
                cx.send(&self.targets[target], M::restart());
                self.go_on(cx);
            }
        }
    }
}

impl<M: Failing> Injector<M> {
    fn go_on(&mut self, cx: &mut Context<'_, ToInjector>) {
        let least = match self.failure {
            Failure::Restarts => 1,
            Failure::Stops => 2,
        };
        if self.strikes > 0 && self.targets.len() >= least {
            self.strikes -= 1;
            Self::wait(self.pause, cx);
        }
    }

    fn wait(more: u32, cx: &mut Context<'_, ToInjector>) {
        let next = more.checked_sub(1).map_or(ToInjector::Strike(0), ToInjector::Wait);
        let me = cx.me().clone();
        cx.send(&me, next);
    }
}
