//! raddle in loom's place.

mod api;
mod differences;
mod leaks;
mod whole_api;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The report of a model that fails, as one line.
fn report_of(test: impl Fn() + Send + Sync + 'static) -> String {
    report_of_run(|| raddle_loom::model(test))
}

/// What a run panics with, as one line.
fn report_of_run(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it fails");
    let text = payload.downcast::<String>().expect("a report is text");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
