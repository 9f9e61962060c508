//! Actors that run on threads in production and under raddle's control in tests.
//!
//! Follows Eta (Simsa, Bryant, Gibson, Hickey; CMU-PDL-11-113): one program, four managers, tests that
//! build a system, inject messages, have them handled and inspect what came of it. Where it differs:
//! messages are typed, mailboxes keep the order between each two actors unless asked otherwise, faults
//! and values are decisions of the search, and everything is an event of raddle's engine, so that every
//! strategy, replay and report works for actors as it does for threads.
//!
//! # One program, four managers
//! ```
//! use raddle_actors::{Actor, Address, Context, Manager, System};
//!
//! /// Adds up what it is told.
//! struct Sum(u32);
//! impl Actor for Sum {
//!     type Message = u32;
//!     fn handle(&mut self, n: u32, _cx: &mut Context<'_, u32>) {
//!         self.0 += n;
//!     }
//! }
//!
//! /// Tells another one twice of what it is told.
//! struct Echo(Address<u32>);
//! impl Actor for Echo {
//!     type Message = u32;
//!     fn handle(&mut self, n: u32, cx: &mut Context<'_, u32>) {
//!         cx.send(&self.0, n);
//!         cx.send(&self.0, n);
//!     }
//! }
//!
//! fn test(system: &System) {
//!     let sum = system.spawn(Sum(0));
//!     for n in [1, 10] {
//!         let echo = system.spawn(Echo(sum.clone()));
//!         system.send(&echo, n);
//!     }
//!     system.handle_all();
//!     assert_eq!(system.inspect(&sum, |sum: &Sum| sum.0), 22);
//! }
//!
//! let with = |manager| System::builder().manager(manager).build();
//! // On as many threads as the machine has, as in production.
//! test(&with(Manager::Concurrent { threads: 0 }));
//! // Each in turn; one at random.
//! test(&with(Manager::Deterministic));
//! test(&with(Manager::Random { seed: 7 }));
//! // In every order of messages, with the feature `check`.
//! raddle::check(|| test(&System::new()));
//! ```
//!
//! Reading order: [`Actor`], [`Context`], [`System`]; then `step` (what a step does), `mailboxes` and
//! `faults` (what it depends on), `turn` and `any_actor` (a handler without its types), `world` (a system
//! that steps change in place), `serial` and `explored` (its managers), `concurrent` (production); then
//! [`Model`], `snapshot`, `stepper` (steps that make new states), `states` (searches over them) and
//! `follow` (from a path of states to a trace).

#![cfg_attr(not(feature = "check"), allow(rustdoc::broken_intra_doc_links, reason = "no search"))]

#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches copy"))]
mod actor;
pub mod adapters;
mod address;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches copy"))]
mod any_actor;
mod concurrent;
mod context;
mod deliveries;
#[cfg(feature = "check")]
mod explored;
mod faults;
#[cfg(feature = "check")]
mod follow;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches copy"))]
mod hash;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches ask"))]
mod letters;
mod mailboxes;
mod model;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches copy"))]
mod monitor;
mod reply;
mod serial;
#[cfg(feature = "check")]
mod snapshot;
#[cfg(feature = "check")]
mod states;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches need all of it"))]
mod step;
#[cfg(feature = "check")]
mod stepper;
mod system;
mod things;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches need all of it"))]
mod turn;
mod view;
mod waiter;
#[cfg_attr(not(feature = "check"), allow(dead_code, reason = "only searches need all of it"))]
mod world;

pub use actor::{Actor, Snapshots};
pub use address::{ActorId, Address, AnyAddress};
pub use context::{Context, Timer};
pub use deliveries::{Deliveries, RandomDelays, Transit};
pub use faults::Faults;
pub use mailboxes::Mailboxes;
pub use model::{Model, PropertyKind};
pub use monitor::{Copies, Monitor, Watch};
pub use reply::Reply;
#[cfg(feature = "check")]
pub use snapshot::Snapshot;
#[cfg(feature = "check")]
pub use states::{
    Delivery, Enabled, Judged, Next, Order, Refused, Searched, Space, States, Stopped, Violation,
    Visited, WhenFull,
};
pub use system::{Builder, Manager, System};
pub use view::View;
