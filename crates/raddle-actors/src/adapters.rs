//! Adapters: an actor's ways to the environment, with stand-ins under test.
//!
//! Follows Eta (section 2.1): an adapter is what an actor has to do with a clock, a server elsewhere or
//! a disk; under test it is made deterministic. Each is a trait. In production it is std's clock, a
//! connection, a directory. Under test (feature `check`) a stand-in takes its place whose every answer
//! and every failure is a decision of the search, so a search that covers everything has also covered
//! everything that the environment may do, within the stand-in's budget.
//!
//! Where we differ: Eta mocks the environment by hand, with fixed answers. And an adapter is a part of
//! an actor, not an actor: what it does belongs to the step of the handler that uses it. An actor that
//! holds nothing but an adapter is Eta's kind.
//!
//! Write an actor with its adapter as a parameter:
//!
#![cfg_attr(feature = "check", doc = "```")]
#![cfg_attr(not(feature = "check"), doc = "```ignore")]
//! use raddle_actors::adapters::{Clock, SteppedClock, SystemClock};
//! use raddle_actors::{Actor, Context, System};
//! use std::time::Duration;
//!
//! /// Notes when it was told something.
//! struct Log<C> {
//!     clock: C,
//!     times: Vec<Duration>,
//! }
//!
//! impl<C: Clock + 'static> Actor for Log<C> {
//!     type Message = ();
//!     fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
//!         self.times.push(self.clock.now(cx));
//!     }
//! }
//!
//! // In production:
//! let _log = Log { clock: SystemClock::new(), times: Vec::new() };
//!
//! // Under test: between two readings no time passes, or a second.
//! let second = Duration::from_secs(1);
//! raddle::check(move || {
//!     let system = System::new();
//!     let clock = SteppedClock::new(&[Duration::ZERO, second]);
//!     let log = system.spawn(Log { clock, times: Vec::new() });
//!     system.send(&log, ());
//!     system.send(&log, ());
//!     system.handle_all();
//!     let times = system.inspect(&log, |log: &Log<SteppedClock>| log.times.clone());
//!     assert!(times[1] - times[0] <= second);
//! });
//! ```
//!
//! Stand-ins do not exist without the feature `check`.

mod clock;
mod rpc;
mod storage;

pub use clock::{Clock, SystemClock};
pub use rpc::{Rpc, RpcError, TcpRpc};
pub use storage::{Directory, Storage};

#[cfg(feature = "check")]
pub use clock::SteppedClock;
#[cfg(feature = "check")]
pub use rpc::Server;
#[cfg(feature = "check")]
pub use storage::Disk;
