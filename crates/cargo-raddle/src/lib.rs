//! `cargo raddle`, the driver: builds the tests of a workspace, finds those that are raddle's, runs
//! each in a process of its own, and tells what comes of it.
//!
//! The driver never links the engine: what it knows of a search came over a socket, as the messages
//! of [`raddle_trace::host`]. So one driver serves test binaries with any raddle that speaks the same
//! version of them, and a test that takes its process down takes nothing else with it.
//!
//! Reading order: `cli` (what can be asked for), `project` (cargo builds), `find` (which tests are
//! raddle's), `host` (one process), `check` (one test: saved schedules first, then the search, then
//! what is left of a host that died), `run` (many tests at a time), `show` (what a person or a program
//! sees of it); then a file for each other command; those of many machines are in `fleet`.

// Elsewhere there is nothing, so that what `main.rs` says is the only error.
#![cfg(unix)]

mod check;
mod checkpoints;
mod cli;
mod command;
mod compare;
mod deaths;
mod debugger;
mod documents;
mod error;
mod estimate;
mod export;
mod expression;
mod find;
mod fleet;
mod host;
mod kept_deaths;
mod os;
mod page;
mod patience;
mod print;
mod project;
mod regressions;
mod replay;
mod run;
mod settings;
mod show;
mod strategies;
mod workers;

pub use command::main;
pub use documents::{man_page, markdown};
