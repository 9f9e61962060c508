//! Timers as actors: whether time is over is an explicit choice.
//!
//! A timer that is started ticks. At each tick it chooses to let its time be over or to tick once more, at
//! most `patience` times; so one that is not cancelled fires in the end, and what waits for it does not wait
//! for ever. With a *pause* so many ticks come before the first of these choices: messages are faster than
//! timers then, as they are in production. A timeout that is on its way when the timer is cancelled arrives all the same: its round tells
//! that it is late.

use std::fmt::Debug;
use std::hash::Hash;

use raddle::actors::{Actor, Address, Context};

/// A message that can say that time is over.
pub trait Timeout: Clone + Debug + Hash + Send + 'static {
    /// The time of this round is over.
    fn timeout(round: u32) -> Self;
}

/// What a timer is told.
#[derive(Clone, Copy, Debug, Hash)]
pub enum ToTimer {
    /// Begins a round; the one before does not fire any more.
    Start {
        /// What the timeout will say.
        round: u32,
    },
    /// The round that is running does not fire any more.
    Cancel,
    /// From itself: a while has passed.
    Tick {
        /// The round in which it was sent.
        round: u32,
        /// How many more ticks there may be.
        left: u32,
    },
}

/// A timer of one actor.
#[derive(Clone, Debug, Hash)]
pub struct Timer<M> {
    owner: Address<M>,
    patience: u32,
    pause: u32,
    running: Option<u32>,
}

impl<M> Timer<M> {
    /// A timer of this actor that ticks at most so many times before its time is over.
    #[must_use]
    pub fn new(owner: Address<M>, patience: u32) -> Self {
        Self { owner, patience, pause: 0, running: None }
    }

    /// So many ticks pass before its time may be over.
    #[must_use]
    pub fn pause(self, ticks: u32) -> Self {
        Self { pause: ticks, ..self }
    }
}

impl<M: Timeout> Actor for Timer<M> {
    type Message = ToTimer;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToTimer, cx: &mut Context<'_, ToTimer>) {
        let me = cx.me().clone();
        match message {
            ToTimer::Start { round } => {
                self.running = Some(round);
                cx.send(&me, ToTimer::Tick { round, left: self.pause + self.patience });
            }
            ToTimer::Cancel => self.running = None,
            ToTimer::Tick { round, left } if self.running == Some(round) => {
                if left > self.patience || left > 0 && cx.choose(2) == 0 {
                    cx.send(&me, ToTimer::Tick { round, left: left - 1 });
                } else {
                    self.running = None;
                    cx.send(&self.owner, M::timeout(round));
                }
            }
            ToTimer::Tick { .. } => {}
        }
    }
}
