//! The hook into deliveries between actors on threads: how long a message is on its way, and who hears of it.
//!
//! Bita (Tasharofi, Pradel, Lin, Johnson; ASE 2013) compares its schedules with a scheduler that delays each
//! message at random. That is [`RandomDelays`], and what a test needs to do something else is [`Deliveries`].

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::hash::{GAMMA, mix};

/// A message between actors on threads, by identities that are the same in every run that does the same up to there.
///
/// An actor is a hash of (its type, the receive that created it, how many that one had created before), a message
/// a hash of (its type and variant, the receive that sent it, how many that one had sent before), and a receive is
/// (sender, receiver, message). What is done outside of all handlers counts as one receive, number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transit {
    /// The actor that sent it; 0: it was sent from outside.
    pub sender: u64,
    /// The actor that it is for.
    pub receiver: u64,
    /// The message. That of a timer is a hash of (its actor, how many timers that one had set before), and its sender
    /// is 0.
    pub message: u64,
    /// The type of the message.
    pub type_name: &'static str,
}

impl Transit {
    /// The receive of the message.
    #[must_use]
    pub fn receive(&self) -> u64 {
        mix(self.message ^ mix(self.receiver ^ mix(self.sender)))
    }
}

/// Decides how long messages are on their way, and hears of each that was handled: see
/// [`Builder::deliveries`](crate::Builder::deliveries).
pub trait Deliveries: Debug + Send + Sync + 'static {
    /// How long a message is held before it is put into the mailbox of its receiver. It is held longer if an earlier
    /// message from the same sender to the same receiver is: those stay in order.
    ///
    /// Called by the thread that sends, which does not wait.
    fn delay(&self, transit: &Transit) -> Duration {
        let _ = transit;
        Duration::ZERO
    }

    /// A message was handled; `became`: its receiver has another behaviour from now on. Called for one message of
    /// an actor after another, in order; not for one whose handler panicked.
    fn handled(&self, transit: &Transit, became: bool) {
        let _ = (transit, became);
    }
}

/// Delays each message by a random time from 0 up to a limit, and keeps the order of each two actors.
///
/// ```
/// use std::time::Duration;
/// use raddle_actors::{Actor, Context, Manager, RandomDelays, System};
///
/// struct Last(u32);
/// impl Actor for Last {
///     type Message = u32;
///     fn handle(&mut self, value: u32, _cx: &mut Context<'_, u32>) {
///         assert_eq!(value, self.0 + 1, "what one sender sends stays in order");
///         self.0 = value;
///     }
/// }
///
/// let system = System::builder()
///     .manager(Manager::Concurrent { threads: 2 })
///     .deliveries(RandomDelays::new(Duration::from_millis(1), 7))
///     .build();
/// let last = system.spawn(Last(0));
/// for value in 1..=3 {
///     system.send(&last, value);
/// }
/// system.handle_all();
/// assert_eq!(system.inspect(&last, |last: &Last| last.0), 3);
/// ```
#[derive(Debug)]
pub struct RandomDelays {
    most: Duration,
    state: AtomicU64,
}

impl RandomDelays {
    /// Delays of at most `most`, drawn from a seed. Which message gets which is up to the operating system, too.
    #[must_use]
    pub fn new(most: Duration, seed: u64) -> Self {
        Self { most, state: AtomicU64::new(mix(seed)) }
    }
}

impl Deliveries for RandomDelays {
    fn delay(&self, _: &Transit) -> Duration {
        let drawn = mix(self.state.fetch_add(GAMMA, Ordering::Relaxed));
        let most = u64::try_from(self.most.as_nanos()).unwrap_or(u64::MAX);
        // At most `most`, which is a u64.
        Duration::from_nanos(((u128::from(drawn) * (u128::from(most) + 1)) >> 64) as u64)
    }
}
