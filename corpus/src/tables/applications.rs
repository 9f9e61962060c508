//! The table of all applications, for people: `docs/results/applications.md`.

use std::fmt::Write;

use super::section;
use crate::applications::{APPLICATIONS, programs};
use crate::program::Expected;

const HEAD: &str = "\
# Applications

Small programs in the shape of those that HaPSet was measured on, and of SCTBench. The first program of each
test is correct; those below it, set off by `-`, are the same with one mistake. Each bug was written down
with its fix before any search had seen it, and not changed after; only `thrift-room` and `thrift-timer` were,
once, because as first written they could not show.

Steps are those of one execution in which all threads take turns (`round-robin`), at the default
arguments and at the large ones; `*`: it showed the bug and ended there.

Written by `UPDATE_COUNTS=1 cargo test -p raddle-corpus`, shown by `raddle-corpus applications`. What the
strategies make of them: [hapset.md](hapset.md).
";

/// The whole table, as Markdown.
///
/// # Panics
/// If a program cannot be run.
#[must_use]
pub fn table() -> String {
    let mut table = HEAD.to_owned();
    let of = |kind| programs().filter(move |program| program.expected == kind).count();
    let _ = writeln!(
        table,
        "\n{} correct programs; bugs: {} assertions, {} deadlocks, {} data races.",
        of(Expected::Pass),
        of(Expected::Panic),
        of(Expected::Deadlock),
        of(Expected::DataRace),
    );
    for application in APPLICATIONS {
        section(&mut table, application.name, application.line, application.tests);
    }
    table
}
