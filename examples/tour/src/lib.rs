//! Small things done right and the same things done wrong, to be tested with raddle.
//!
//! The library uses `raddle::sync` and `raddle::thread` as it would use std's. `cargo build` builds
//! it on std itself: raddle is then nothing but re-exports. `cargo test` brings the feature
//! `check` in through the dev-dependencies (see `Cargo.toml`), and the tests of `tests/tour.rs`
//! control every lock, atomic and channel in here. No cfg, no flags.
//!
//! Cargo gives dev-dependencies to examples and benchmarks too, so those would measure controlled
//! primitives (which outside a test do what std's do, a little slower). The remedy is a package of
//! its own for benchmarks, that depends on the library and not on raddle's feature; and to run it
//! by itself (`cargo bench -p my-benches`), because one cargo command builds a dependency once,
//! with the features that any package of that command asks for.

mod cache;
mod counter;
mod orders;
mod pipeline;

pub use cache::{Cache, LeakyCache};
pub use counter::{Accounts, LockedCounter, RacyCounter};
pub use orders::{Stock, StockMessage, Till, TillMessage};
pub use pipeline::{Gate, sum_of_squares};
