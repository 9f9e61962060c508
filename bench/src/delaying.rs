//! `raddle-bench delaying`: how many executions, or states, each strategy needs for each bug of the protocols of the
//! corpus. The shape is that of table 1 of Desai, Qadeer and Seshia, "Systematic Testing of Asynchronous
//! Reactive Systems" (FSE 2015).

mod columns;
mod custom;
mod density;
mod priorities;
mod runs;
mod tables;

use std::time::Duration;

use clap::ValueEnum;
use raddle_corpus::program::Program;

use self::columns::Column;
use self::runs::{Limits, Size};
use crate::part::Part;
use crate::table::Table;

/// Which part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Executions and states to each bug
    Bugs,
    /// How often samples with so many delays fail
    Failures,
    /// An explorer written for one program
    Custom,
    /// Priorities of processes for bugs that other explorers miss; to try others: `--bug`, `--order`, `--arguments`
    Priorities,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) what: What,
    pub(crate) quick: bool,
    pub(crate) size: Size,
    pub(crate) limits: Limits,
    /// How the names of bugs begin, if not all are asked for.
    pub(crate) bugs: Vec<String>,
    /// The names of columns, if not all are asked for.
    pub(crate) columns: Vec<String>,
    /// Priorities of processes, instead of those that are known for each bug.
    pub(crate) order: Option<String>,
    /// How large programs are that are searched by priorities, if not of the size that is asked for.
    pub(crate) arguments: Option<Vec<usize>>,
}

impl Asked {
    /// With what is not given as it is by default.
    pub(crate) fn new(
        what: What,
        (quick, large): (bool, bool),
        (executions, states): (Option<u64>, Option<u64>),
        (seconds, mebibytes): (Option<f64>, Option<u64>),
        runs: Option<usize>,
    ) -> Self {
        let usual = match (quick, large) {
            (true, _) => Limits::QUICK,
            (false, true) => Limits::LARGE,
            (false, false) => Limits::FULL,
        };
        let limits = Limits {
            executions: executions.unwrap_or(usual.executions),
            states: states.unwrap_or(usual.states),
            cpu: seconds.map_or(usual.cpu, Duration::from_secs_f64),
            bytes: mebibytes.map_or(usual.bytes, |mebibytes| mebibytes << 20),
            runs: runs.unwrap_or(usual.runs),
        };
        let size = if large { Size::Large } else { Size::Small };
        let (bugs, columns) = (Vec::new(), Vec::new());
        Self { what, quick, size, limits, bugs, columns, order: None, arguments: None }
    }

    /// Whether a bug is asked for.
    fn has(&self, bug: &Program) -> bool {
        let begins = |name: &String| bug.name.starts_with(name.as_str());
        self.bugs.is_empty() || self.bugs.iter().any(begins)
    }

    /// Whether a column is asked for.
    fn runs(&self, column: &Column) -> bool {
        self.columns.is_empty() || self.columns.iter().any(|name| name == column.name)
    }
}

/// Measures what was asked for.
pub(crate) fn measure(asked: &Asked, progress: &dyn Fn(&str)) -> Vec<Part> {
    let mut all: Vec<Table> = Vec::new();
    match asked.what {
        What::Bugs => {
            let measured = runs::all(asked, progress);
            all.extend(tables::of(&measured));
            all.push(tables::columns());
        }
        What::Failures => all.push(density::measure(asked, progress)),
        What::Custom => all.push(custom::measure(asked.limits, progress)),
        What::Priorities => all.push(priorities::measure(asked, asked.order.as_deref(), progress)),
    }
    all.into_iter().map(Part::from).collect()
}

/// What a reader must know before the tables.
pub(crate) const PREFACE: &str = "\
A *delaying explorer* is a deterministic scheduler with one more operation, *delay*: it gives up the process that it \
would run next and takes another one. An execution that follows it needs no delay; every other one needs some. So an \
explorer sorts all executions by the number of delays they need, and a search tries those with few first (Desai, \
Qadeer and Seshia, \"Systematic Testing of Asynchronous Reactive Systems\", FSE 2015). This page compares such \
searches with others on protocols that have known bugs.

The programs are the protocols in `corpus/src/protocols`: actors that send each other messages, timers and an \
injector of failures among them. Each bug is a variant of a correct protocol, and is of one of three kinds: a \
message for which the receiver has no use, a panic of a handler, or a violated monitor. Each program has a small \
size and a large one of at least 200 steps. Large sizes were chosen by looking at `random` alone: it must need at \
least 100 executions. What it needs is in the column RS. `delaying-bugs.md` has the small sizes and \
`delaying-bugs-large.md` the large ones. Searches are given up after so many executions or states, so that a slower \
machine has the same tables (where CPU time or memory has stopped one, its cell says so); how many states are visited in a \
second is in `states.md`.

How these programs differ from those of the paper, which are written in P and not published:

- A handler is one step. In P a process can be left between two sends of one handler; here nothing comes between \
  them. With one queue for each actor (`Mailboxes::Queue`, as in P) this loses the executions in which two handlers that \
  each send to the same two actors are handled in one order by the first receiver and in the other order by the \
  second, and those in which a receiver reacts to the first send before the second one is made. Where that \
  matters to a protocol its actors send to one peer after another by messages to themselves, so that these orders exist.
- `rtc` follows the message that was sent last. If one handler sends several, the receivers run in the order of \
  the sends. In P the handler is left at its first send, and the receiver of the latest message runs first: the \
  columns RTC' have that order instead.
- Values that the program chooses are decisions as well: the first value needs no delay, the second needs one, and so on.
- Delays are counted over the processes that can move: one that waits is passed at no cost.
";
