//! Actors under a search, as a user meets them: through `raddle::explore`.

mod bita;
mod bridge;
mod failures;
mod faults;
mod messages;
mod tests;

use raddle::{Config, Report};

/// Searches the whole space depth first.
pub(crate) fn explore(test: impl Fn() + Send + Sync + 'static) -> Report {
    explore_by("dfs", test)
}

pub(crate) fn explore_by(strategy: &str, test: impl Fn() + Send + Sync + 'static) -> Report {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    raddle::explore(config, test).expect("the search can run")
}

/// What a failure says.
#[track_caller]
pub(crate) fn failure(report: &Report) -> String {
    let failure = report.failure.as_ref().expect("there is a failure");
    format!("{:?}", failure.outcome)
}
