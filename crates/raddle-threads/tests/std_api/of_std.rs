//! What is asked for, of std.

use std as lib;

#[path = "same.rs"]
pub(crate) mod same;
