//! The tests that `crates/raddle/tests/migrate.rs` moves over, as they were.

#![expect(clippy::unwrap_used, reason = "tests as their users write them")]

include!("../../../crates/raddle/tests/moved/shuttle.rs");
