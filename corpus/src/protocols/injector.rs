//! The injector of failures: an actor that chooses who fails, at a time that the search decides.

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
    /// The next failure.
    Strike,
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
}

impl<M> Injector<M> {
    /// Lets some of these fail, so many times.
    #[must_use]
    pub fn new(targets: Vec<Address<M>>, failure: Failure, strikes: usize) -> Self {
        Self { targets, failure, strikes }
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
            ToInjector::Strike => {
                let target = cx.choose(self.targets.len() as u32) as usize;
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
            let me = cx.me().clone();
            cx.send(&me, ToInjector::Strike);
        }
    }
}
