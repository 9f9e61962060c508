//! What time it is.

use std::fmt::Debug;
use std::time::Duration;
use std::time::Instant;

use crate::context::Context;

/// A clock that never goes back.
pub trait Clock: Send {
    /// The time since the clock began.
    fn now<M: Debug + Send + 'static>(&mut self, cx: &mut Context<'_, M>) -> Duration;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    begin: Instant,
}

impl SystemClock {
    /// A clock that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { begin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now<M: Debug + Send + 'static>(&mut self, _: &mut Context<'_, M>) -> Duration {
        self.begin.elapsed()
    }
}

/// A stand-in for a clock: before each reading one of several times passes, and the search decides
/// which.
///
/// `Misses:` times between those.
#[cfg(feature = "check")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SteppedClock {
    now: Duration,
    steps: Vec<Duration>,
}

#[cfg(feature = "check")]
impl SteppedClock {
    /// A clock that shows 0. Without steps it stands still.
    #[must_use]
    pub fn new(steps: &[Duration]) -> Self {
        Self { now: Duration::ZERO, steps: steps.to_vec() }
    }
}

#[cfg(feature = "check")]
impl Clock for SteppedClock {
    fn now<M: Debug + Send + 'static>(&mut self, cx: &mut Context<'_, M>) -> Duration {
        if !self.steps.is_empty() {
            self.now += *cx.choose_from(&self.steps);
        }
        self.now
    }
}
