//! Examples to copy. Each is a file of `tests/it`, with the code twice: with a bug, and right. What raddle
//! says of the bug is in `reports/`, as text and as a page.

/// The code in the book and in the README, as tests. What the book includes from files is tested there.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../book/src/first-test.md")]
    mod first_test {}
    #[doc = include_str!("../../../book/src/failure.md")]
    mod failure {}
    #[doc = include_str!("../../../book/src/pass.md")]
    mod pass {}
    #[doc = include_str!("../../../book/src/strategies.md")]
    mod strategies {}
    #[doc = include_str!("../../../book/src/actors.md")]
    mod actors {}
    #[doc = include_str!("../../../book/src/ci.md")]
    mod ci {}
    #[doc = include_str!("../../../book/src/examples.md")]
    mod examples {}
    #[doc = include_str!("../../../book/src/migrating.md")]
    mod migrating {}
    #[doc = include_str!("../../../book/src/extending.md")]
    mod extending {}
    #[doc = include_str!("../../../book/src/reports.md")]
    mod reports {}
    #[doc = include_str!("../../../book/src/hidden-state.md")]
    mod hidden_state {}
    #[doc = include_str!("../../../book/src/cargo-raddle.md")]
    mod cargo_raddle {}
}
