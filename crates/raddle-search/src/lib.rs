//! The strategies: which executions of a test are explored, and in what order.
//!
//! A *sampler* decides step by step and never ends. A *search* is composed of parts
//! (expansion × frontier × bound × default order, and a cache) and ends when the space within its bound is
//! covered. Users name either in one line, such as `pct(3)` or `dfs preemptions(2)`, and
//! [`build`] makes it:
//!
//! ```
//! let built = raddle_search::build("all depth-first preemptions(2)", 7).expect("a known search");
//! assert_eq!(built.name, "dfs preemptions(2)");
//! ```
//!
//! Reading order: [`random`] (the smallest strategy), [`pct`], [`pos`], [`urw`] and [`surw`]; then the kernel of
//! searches: [`path`] (depth first) over an [`expansion`], [`tree`] (every other frontier), with [`order`], [`bound`],
//! `cache.rs`, `races.rs` and `estimate.rs`; then [`probe`], [`grammar`] and [`registry`].
//!
//! # To add a strategy
//! 1. Copy `random.rs`. Its header says what it is, which paper it follows and where it differs,
//!    and what it misses. It holds no budget, reads no clock and draws only from its [`Rng`].
//! 2. Add an [`Entry`] to [`REGISTRY`], with how it is made.
//! 3. Run it on the toy program of `toy.rs`: the same seed twice, saved and restored half-way.
//!    Then run the corpus.
//!
//! What only listens to a search (counting, coverage, the tree of decisions) is an observer that the engine
//! holds beside the strategy: [`traces`], [`coverage`], [`tree_recorder`].
//!
//! A new bound or order is one file's change: a variant of [`Bound`], an implementation of
//! [`Order`].
//!
//! Architecture invariant: strategies use only what a stranger could, the public API of
//! `raddle-engine`. Nothing here iterates over a hash map, so that one seed gives one search.

pub mod bita;
pub mod blocks;
pub mod bound;
mod cache;
mod counted;
pub mod coverage;
mod estimate;
pub mod expansion;
pub mod explain;
pub mod explorers;
pub mod filtered;
pub mod grammar;
pub mod hapset;
pub mod irs;
pub mod memoryless;
pub mod minimise;
pub mod order;
pub mod over_states;
pub mod path;
pub mod pct;
pub mod pos;
mod priorities;
pub mod probe;
mod races;
pub mod random;
pub mod receives;
pub mod registry;
pub mod replay;
pub mod rff;
pub mod rng;
pub mod round_robin;
#[cfg(test)]
mod sequences;
mod sleep;
mod state;
pub mod strata_sample;
pub mod surw;
pub mod then_sample;
#[cfg(test)]
mod toy;
pub mod traces;
pub mod tree;
pub mod tree_recorder;
pub mod units;
pub mod urw;
mod wakeup;

pub use bita::Bita;
pub use bound::Bound;
pub use coverage::PairCoverage;
pub use expansion::all::{CostlyOrder, DepthFirst};
pub use expansion::delayed::DelayBounded;
pub use expansion::eta::Eta;
pub use expansion::reduced::{Dpor, Reduction};
pub use explain::Explain;
pub use filtered::{Alternatives, HapSet};
pub use grammar::{Arg, Composition, ParseError, Term};
pub use irs::IterativeRandom;
pub use memoryless::Memoryless;
pub use minimise::Minimise;
pub use order::Order;
pub use over_states::OverStates;
pub use pct::Pct;
pub use pos::Pos;
pub use probe::Probes;
pub use random::Random;
pub use receives::ReceiveCoverage;
pub use registry::{
    Arguments, BuildError, Built, CHOICES, Entry, Environment, LEARNING, Memory, PRIORITIES, Piece,
    REGISTRY, Role, Status, UnitSearch, build, build_unit, stock_explorer, unit_method,
};
pub use replay::Replay;
pub use rff::Rff;
pub use rng::Rng;
pub use round_robin::RoundRobin;
pub use strata_sample::StrataSample;
pub use surw::Surw;
pub use then_sample::ThenSample;
pub use traces::TraceCounter;
pub use tree::{Frontier, TreeExpansion, TreeSearch};
pub use tree_recorder::{RecordedTree, TreeRecorder};
pub use urw::Urw;
