//! The generator that all strategies draw from: the engine's, which draws from it for those that only want a number.

pub use raddle_engine::rng::Rng;
