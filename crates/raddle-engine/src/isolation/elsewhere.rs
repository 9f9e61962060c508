//! Where processes cannot be forked: a search that asks for that is refused.

use raddle_trace::{Schedule, Trace};

use crate::explore::{EngineError, Search};
use crate::host::Ran;
use crate::limits::{Lap, Stop};
use crate::pulse::Pulse;
use crate::strategy::Strategy;

/// There is none.
#[derive(Debug)]
pub(crate) enum Isolation {}

/// As in the other file.
#[derive(Debug)]
pub(crate) struct Repeated {
    pub(crate) ran: Ran,
    pub(crate) schedule: Schedule,
    pub(crate) trace: Trace,
}

fn unsupported() -> EngineError {
    EngineError::Isolation("processes cannot be forked on this system".to_owned())
}

pub(crate) fn pulse() -> Result<&'static Pulse, EngineError> {
    Err(unsupported())
}

impl Isolation {
    pub(crate) fn new() -> Result<Self, EngineError> {
        Err(unsupported())
    }

    pub(crate) fn run(
        &mut self,
        _: &mut Search,
        _: &mut dyn Strategy,
        _: &dyn Fn(),
        _: &mut dyn FnMut(Lap) -> Stop,
        _: u64,
    ) -> Result<Ran, EngineError> {
        match *self {}
    }

    pub(crate) fn repeat(
        &mut self,
        _: &mut Search,
        _: &dyn Fn(),
        _: &mut dyn FnMut(Lap) -> Stop,
    ) -> Result<Repeated, EngineError> {
        match *self {}
    }

    pub(crate) fn record(
        &mut self,
        _: &mut Search,
        _: &dyn Fn(),
        _: &mut dyn FnMut(Lap) -> Stop,
        _: impl FnOnce(&mut Search),
    ) -> Result<Repeated, EngineError> {
        match *self {}
    }
}
