//! `#[raddle::test]`: a function as a test that is run under many schedules.
//!
//! The expansion is a plain `#[test]` around a call of `raddle`, so every test harness finds it.
//! The keys are those of `raddle_knobs`; what they mean is `raddle::Config`'s.

mod expand;
mod knobs;

use proc_macro::TokenStream;

/// Runs a function under one schedule after another, as `raddle::check` does.
///
/// ```ignore
/// #[raddle::test]
/// fn transfers_keep_the_total() { /* … */ }
///
/// #[raddle::test(strategy = "pct(3)", executions = 1_000)]
/// fn a_longer_one() { /* … */ }
///
/// #[raddle::test(fixture = Store::with_capacity(2))]
/// fn what_is_put_is_found(store: Store) { /* … */ }
/// ```
///
/// # Fixture
/// A test may have one argument. It is made anew in each execution, inside it: by the expression
/// `fixture = …`, or else by `Default`. Inside an execution, so that its locks are controlled.
///
/// # Result
/// Nothing, or `Result<(), E>` where `E: Debug`: an `Err` is a panic.
///
/// # Knobs
/// Each is a field of `raddle::Config`, and gives way to the environment variable of that name.
#[doc = raddle_knobs::attribute_table!()]
#[proc_macro_attribute]
pub fn test(knobs: TokenStream, item: TokenStream) -> TokenStream {
    expand::test(knobs.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}
