//! Programs of actors: Eta's tests, small protocols of messages, and [systems] with bugs.
//!
//! Follows Simsa, Bryant, Gibson and Hickey, "Efficient Exploratory Testing of Concurrent Systems"
//! (CMU-PDL-11-113), sections 3 and 5. Their programs were not published, but the numbers of their
//! executions were. `store`, `phils` and `pingpong` are the natural programs whose every number comes
//! out: nine of nine. They have one queue for each actor, as Eta's actors do, and all their inputs are
//! sent before the first message is handled.
//!
//! Where they differ: the executions that a reduction leaves are far fewer than theirs; `pingpong` has
//! what is known of why. `scheduler` is ours but for its name.

#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub mod phils;
pub mod pingpong;
pub mod protocols;
pub mod scheduler;
pub mod store;
pub mod systems;

use raddle::actors::{Mailboxes, System};

const ETA: &str = "Eta: Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113, 2011";

/// A system as Eta has it: one queue for each actor.
fn queues() -> System {
    System::builder().mailboxes(Mailboxes::Queue).build()
}
