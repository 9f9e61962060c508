//! What the measured binaries share, so that they differ in the tool alone.
//!
//! Each tool has its own binary, `peer-<tool> <program> <mode> --executions N`, which measures one
//! program and prints one [`Measurement`] as a JSON line. The programs are one text, compiled
//! against each tool by [`programs!`]; the loop, the warm-up and the clock are in [`main`].

mod clock;
mod measure;
mod program;
mod programs;
pub mod protocols;
mod rate;
mod states;

pub use clock::cpu_time;
pub use measure::{Measurement, Mode, Reduction, Search, SearchKind, Searched, main};
pub use program::{Program, UnknownProgram};
pub use rate::{Rate, RateAsked, RateSearch, rate_main};
pub use states::{
    Counted, Frontier, Network, StateSearch, StatesMeasurement, Subject, states_main,
};
