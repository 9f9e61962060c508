//! The tests that `crates/raddle/tests/migrate.rs` moves over, as they were.

#![expect(clippy::unwrap_used, reason = "tests as their users write them")]
#![expect(unsafe_code, reason = "tests of cells that are not safe")]

include!("../../../crates/raddle/tests/moved/loom.rs");
