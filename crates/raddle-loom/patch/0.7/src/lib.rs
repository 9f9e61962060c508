//! The crate `raddle-loom` under the name of loom, for `[patch.crates-io]`.

pub use raddle_loom::*;
