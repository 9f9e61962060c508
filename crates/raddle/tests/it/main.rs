//! The facade from outside: what a search reports, what a test prints, and what is refused.
#![expect(clippy::unwrap_used, reason = "programs under test, written as users write them")]

mod bad_input;
mod checkpoints;
mod checks;
mod handlers;
mod hangs;
mod isolation;
mod learned;
mod portfolios;
mod programs;
mod replays;
mod searches;
mod teardown;
mod tests;
mod trees;
mod twice;
mod values;
mod waits_outside;
