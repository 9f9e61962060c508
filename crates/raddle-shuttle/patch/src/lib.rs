//! The crate `raddle-shuttle` under the name of shuttle, for `[patch.crates-io]`.

pub use raddle_shuttle::*;
