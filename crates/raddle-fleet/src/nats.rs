//! The queue of many machines: NATS `JetStream` does what a queue over a network has to, and this says how it is used.
//!
//! Of a run `R` there are:
//!
//! | what | where | why |
//! |---|---|---|
//! | units that wait | work-queue stream `raddle-R-work`, explicit acknowledgement, acknowledged by the worker that completed them | a message that is not acknowledged in time is delivered again: that is the lease |
//! | records | stream `raddle-R-done`, a subject for each unit, nothing is ever removed | a record is published only if its subject is empty, which the server decides: so there is one for each unit |
//! | what the run is, who works, what was folded | key-value bucket `raddle-R` | |
//! | the test binary; units and records too large for a message | object store `raddle-R` | |
//!
//! A worker that has completed a unit publishes the record, then what is left as further units, then acknowledges. If
//! it dies in between, the unit is delivered to another, which finds the record, publishes the same leftovers once more
//! and acknowledges. A unit that waits twice is run twice at worst, and its second record is refused. So no
//! step needs a coordinator, and `Nats-Msg-Id` only saves work: nothing rests on its window.
//!
//! The server's clock decides when a lease has lapsed; it is told by heartbeats that work goes on.

mod access;
mod queue;
mod run;
mod signature;

pub use access::{Access, Nats};
pub use queue::NatsQueue;
pub use run::{Binary, Manifest, Run, RunState, WorkerStatus, sha256};
pub use signature::{Signature, SigningKey};
