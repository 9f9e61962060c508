//! GAMBIT's experiments: what best first costs and holds.

pub(crate) mod cost;
pub(crate) mod memory;
