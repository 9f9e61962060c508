//! The columns of the tables: which strategies are compared.

use std::fmt;

/// What is counted until the bug shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Executions,
    States,
}

/// How a column is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A strategy of raddle, as it is written.
    Strategy(&'static str),
    /// Stratified sampling along this explorer.
    Sampling(&'static str),
    /// Depth first with a cache, within 0 preemptions, then within 1, and so on, until the bug shows.
    PreemptionBounds,
    /// Over the states of the actors, by strata of delays of this explorer.
    Strata(&'static str),
    /// Over the states of the actors, by strata of delays of the priorities that are written for the bug.
    Priorities,
    /// Over the states of the actors, those nearest to the first one first.
    BreadthFirst,
    /// What a user gets who asks for nothing.
    Default,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strategy(strategy) => write!(f, "`{strategy}`"),
            Self::Sampling(explorer) => write!(f, "`strata-sample({explorer})`"),
            Self::PreemptionBounds => f.write_str("`dfs preemptions(k) cache`, k = 0, 1, 2, …"),
            Self::Strata(explorer) => write!(f, "`States::strata` of `{explorer}`"),
            Self::Priorities => f.write_str("`States::strata` of an explorer in the benchmark"),
            Self::BreadthFirst => f.write_str("`States::breadth_first()`"),
            Self::Default => f.write_str("nothing"),
        }
    }
}

/// The group that a column belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Draws executions.
    Samplers,
    /// Goes on until nothing is left.
    Exhaustive,
    /// What raddle has besides.
    Others,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) how: How,
    pub(crate) unit: Unit,
    /// Whether another seed is another search.
    pub(crate) draws: bool,
    pub(crate) line: &'static str,
}

impl Column {
    /// Whether it was written for one bug.
    pub(crate) fn is_written_for_it(&self) -> bool {
        self.how == How::Priorities
    }

    /// Whether it is a search by delays of an explorer.
    pub(crate) fn delays(&self) -> bool {
        self.name.starts_with("SS ") || self.name.starts_with("SES ")
    }
}

const fn sampler(name: &'static str, strategy: &'static str, line: &'static str) -> Column {
    let (group, how) = (Group::Samplers, How::Strategy(strategy));
    Column { name, group, how, unit: Unit::Executions, draws: true, line }
}

const fn sampling(name: &'static str, explorer: &'static str, line: &'static str) -> Column {
    Column { how: How::Sampling(explorer), ..sampler(name, "", line) }
}

const fn strata(name: &'static str, explorer: &'static str, line: &'static str) -> Column {
    let (group, how) = (Group::Exhaustive, How::Strata(explorer));
    Column { name, group, how, unit: Unit::States, draws: false, line }
}

const fn other(name: &'static str, how: How, draws: bool, line: &'static str) -> Column {
    Column { name, group: Group::Others, how, unit: Unit::Executions, draws, line }
}

/// All of them.
pub(crate) const COLUMNS: [Column; 17] = [
    sampler("RS", "random", "every step drawn from all that could be next"),
    sampler(
        "IRS",
        "irs",
        "random within a depth that is raised after each round; round i has 3^i executions",
    ),
    sampler("PCT", "pct(3)", "random priorities, with two changes at random steps"),
    sampling("SS RR", "rr", "delays at random places of the execution of `rr`, few delays first"),
    sampling("SS RTC", "rtc", "the same of `rtc`"),
    sampling(
        "SS RTC'",
        "rtc-latest",
        "the same of `rtc` as in the paper: of several messages of one handler the last one first",
    ),
    sampling("SS PRR", "prr", "the same of `prr`"),
    Column {
        name: "PB",
        group: Group::Exhaustive,
        how: How::PreemptionBounds,
        unit: Unit::Executions,
        draws: false,
        line: "all executions within 0 preemptions, then within 1, and so on, with a cache of prefixes that are equivalent",
    },
    strata(
        "SES RR",
        "rr",
        "all states within 0 delays of round-robin, then within 1, and so on: a process runs until it waits",
    ),
    strata(
        "SES RTC",
        "rtc",
        "the same of run-to-completion: the receiver of the last message runs next",
    ),
    strata(
        "SES RTC'",
        "rtc-latest",
        "the same, of several messages of one handler the last one first",
    ),
    Column {
        draws: true,
        ..strata(
            "SES PRR",
            "prr",
            "the same of round-robin with new processes at random places of the queue",
        )
    },
    Column {
        how: How::Priorities,
        ..strata(
            "SES P",
            "",
            "the same of priorities of processes that were written for this bug, where stock explorers find it late or not at all",
        )
    },
    Column {
        unit: Unit::States,
        ..other(
            "states",
            How::BreadthFirst,
            false,
            "all states, those nearest to the first one first",
        )
    },
    other(
        "dpor",
        How::Strategy("dpor"),
        false,
        "one execution of each class of equivalent ones, depth first",
    ),
    other("pos", How::Strategy("pos"), true, "partial-order sampling"),
    other("default", How::Default, true, "what a test runs that names no strategy"),
];
