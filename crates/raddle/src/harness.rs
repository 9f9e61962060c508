//! What `#[raddle::test]` expands to: a check with the environment and a name, or a host of `cargo raddle`.

use std::panic::Location;
use std::sync::Arc;

use raddle_engine::rt;

use crate::check::check_dyn;
use crate::config::Config;
use crate::host;
use crate::job::Body;

/// Where the `#[raddle::test]` is that expands to a call of [`test`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TestPlace {
    /// The package.
    pub package: Option<&'static str>,
    /// As `module_path!` says.
    pub module: &'static str,
    /// The function.
    pub name: &'static str,
    /// What the driver finds in the binary: see `raddle_trace::host::TestMark`.
    pub mark: &'static str,
}

/// What `#[raddle::test]` expands to: [`check_with`], with the environment and a name.
#[doc(hidden)]
#[track_caller]
pub fn test<F, R>(mut config: Config, place: TestPlace, test: F)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Returned,
{
    // Looked at, so that it is in the binary.
    std::hint::black_box(place.mark);
    // As the test harness calls it: without the crate.
    let module = place.module.split_once("::").map_or("", |(_, module)| module);
    let colons = if module.is_empty() { "" } else { "::" };
    config.test.get_or_insert_with(|| format!("{module}{colons}{}", place.name));
    config.env.package = place.package.map(str::to_owned);
    config.env.is_marked = true;
    let caller = Location::caller();
    let body: Body = Arc::new(move || test().finish(caller));
    match config.with_env() {
        Ok(config) if config.env.host.is_some() => host::serve(config, &body),
        config => check_dyn(config, caller, &body),
    }
}

/// What a test may return.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a raddle test returns `()` or `Result<(), E>` where `E: Debug`, not `{Self}`",
    label = "this cannot be the result of a test"
)]
pub trait Returned {
    /// Panics if it is an error, at the place of the test.
    fn finish(self, test: &'static Location<'static>);
}

impl Returned for () {
    fn finish(self, _: &'static Location<'static>) {}
}

impl<E: std::fmt::Debug> Returned for Result<(), E> {
    fn finish(self, test: &'static Location<'static>) {
        if let Err(error) = self {
            rt::panic_at(test, format!("the test returned an error: {error:?}"));
        }
    }
}
