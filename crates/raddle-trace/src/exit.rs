//! How `cargo raddle` ends: the numbers a shell or a CI sees.
//!
//! 1 and 2 are as in every test runner and command line; the others tell apart what would all be
//! "failed" otherwise. If several apply, the order is: interrupted, failed, inconclusive.

/// No test failed. Of `replay`: the recorded execution passes.
pub const PASSED: u8 = 0;
/// A test failed. Of `replay`: the failure shows again.
pub const FAILED: u8 = 1;
/// The arguments, `raddle.toml` or a variable are wrong; nothing was run.
pub const USAGE: u8 = 2;
/// No test failed, but of at least one nothing can be said: its search could not be run or not go
/// on. Of `replay`: the execution is another one than was recorded.
pub const INCONCLUSIVE: u8 = 3;
/// There is no raddle test, or none with such a name.
pub const NO_TESTS: u8 = 4;
/// The tests do not compile, or cargo could not be run.
pub const BUILD: u8 = 5;
/// Stopped by Ctrl-C. What was found until then has been reported.
pub const INTERRUPTED: u8 = 130;

/// Every code with its meaning, for documentation.
pub const ALL: [(u8, &str); 7] = [
    (PASSED, "no test failed; of `replay`: the recorded execution passes now"),
    (FAILED, "a test failed; of `replay`: the failure shows again"),
    (USAGE, "the arguments, `raddle.toml` or a variable are wrong; nothing was run"),
    (
        INCONCLUSIVE,
        "no test failed, but of at least one nothing can be said; of `replay`: the execution is \
         another one than was recorded",
    ),
    (NO_TESTS, "there is no raddle test, or none with such a name"),
    (BUILD, "the tests do not compile, or cargo could not be run"),
    (INTERRUPTED, "stopped by Ctrl-C; what was found until then has been reported"),
];
