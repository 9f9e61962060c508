//! The table of all libraries, for people: `docs/results/libraries.md`.

use std::fmt::Write;

use super::section;
use crate::libraries::{LIBRARIES, programs};
use crate::program::Expected;

const HEAD: &str = "\
# Unit tests of libraries

Libraries of the shapes that GAMBIT was measured on, and their bugs. The first program of each test is
correct; those below it, set off by `-`, are the same test of the same library with one mistake. Each
bug was written down with its correct version before any search had seen it.

Steps are those of one execution in which all threads take turns (`round-robin`), at the default
arguments and at the large ones; `*`: it showed the bug and ended there.

Written by `UPDATE_COUNTS=1 cargo test -p raddle-corpus`, shown by `raddle-corpus libraries`.
";

const TAIL: &str = "
## Bugs that could not show

Two bugs were changed after they were written down, because no execution of their tests could show them:

- `unbounded-queue-wake`: to close the queue woke everybody under the lock, and made up for the
  notification that was lost. Seen by reading, before any search; now to close it notifies without the
  lock too.
- `ms-queue-tail`: the test sent before it received, so the head never reached a tail that lags behind.
  Five samplers with 10,000 executions each found nothing. The same flaw now has a test whose threads
  receive first.

What searches make of all of them is in `gambit.md`.
";

/// The whole table, as Markdown.
///
/// # Panics
/// If a program cannot be run.
#[must_use]
pub fn table() -> String {
    let mut table = HEAD.to_owned();
    let bugs = |kind| programs().filter(move |program| program.expected == kind).count();
    let n_tests: usize = LIBRARIES.iter().map(|library| library.tests.len()).sum();
    let _ = writeln!(
        table,
        "\n{} libraries, {n_tests} tests; bugs: {} assertions, {} deadlocks, {} livelocks, {} data races.",
        LIBRARIES.len(),
        bugs(Expected::Panic),
        bugs(Expected::Deadlock),
        bugs(Expected::Livelock),
        bugs(Expected::DataRace),
    );
    for library in LIBRARIES {
        section(&mut table, library.name, library.line, library.tests);
    }
    table + TAIL
}
