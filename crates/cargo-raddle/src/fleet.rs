//! Searches by many machines: `coordinate`, `work` and `status`, over a NATS server.
//!
//! A coordinator is `cargo raddle test` whose search is run elsewhere: it puts the first units, folds the records
//! that workers leave, and has a host of its own judge what they come to. Whatever it knows is in the records, so it
//! may be killed and started again with the same command. A worker leases units, has hosts run them, and records
//! what comes of them; it needs no coordinator for that. `raddle_fleet` has the protocol.
//!
//! `access.rs`: flags to a connection; `coordinate.rs`, `work.rs`, `status.rs`: the commands; `standing.rs`: how a run stands, as
//! text, JSON and page; `page.rs`: the page's server.
//!
//! Without the feature `nats` the commands say how to get them.

use std::fmt;

use raddle_trace::Progress;

use crate::find::Test;
use crate::host::Hosts;

#[cfg(feature = "nats")]
mod access;
#[cfg(feature = "nats")]
mod coordinate;
#[cfg(feature = "nats")]
mod page;
#[cfg(feature = "nats")]
mod standing;
#[cfg(feature = "nats")]
mod status;
#[cfg(feature = "nats")]
mod work;

#[cfg(feature = "nats")]
pub(crate) use self::{coordinate::coordinate, status::status, work::work};

/// What a manifest has under these names beside the rest: what the coordinator's host meant by the test.
#[cfg(feature = "nats")]
const PLAN: &str = "plan";
/// After so many executions a host gives back what is left of a unit.
#[cfg(feature = "nats")]
const UNIT_EXECUTIONS: &str = "unit-executions";
/// And after so long, in milliseconds.
#[cfg(feature = "nats")]
const UNIT_TIME: &str = "unit-time-ms";

/// Other machines that search a test.
pub(crate) trait Fleet: fmt::Debug + Sync {
    /// Searches. The file for the host that makes the report of it, and what the test printed last; or why nothing can be
    /// said.
    fn search(
        &self,
        hosts: &Hosts<'_>,
        test: &Test,
        hear: &mut dyn FnMut(Progress),
    ) -> Result<(String, String), String>;
}

#[cfg(not(feature = "nats"))]
mod absent {
    use crate::cli;
    use crate::error::DriverError;

    fn absent() -> Result<u8, DriverError> {
        Err(DriverError::usage(
            "this cargo-raddle was built without searches by many machines; install it with: cargo install cargo-raddle \
             --features nats",
        ))
    }

    pub(crate) fn coordinate(_: &cli::Coordinate, _: &[String]) -> Result<u8, DriverError> {
        absent()
    }

    pub(crate) fn work(_: &cli::Work) -> Result<u8, DriverError> {
        absent()
    }

    pub(crate) fn status(_: &cli::Status) -> Result<u8, DriverError> {
        absent()
    }
}

#[cfg(not(feature = "nats"))]
pub(crate) use self::absent::{coordinate, status, work};
