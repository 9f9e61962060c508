//! Bita's experiments, run on the systems of `corpus/src/actors/systems`.
//!
//! Follows Tasharofi, Pradel, Lin and Johnson, "Bita: Coverage-Guided, Automatic Testing of Actor Programs"
//! (ASE 2013): tables II and III, figures 5 and 6. Their twelve bugs are in Scala programs; ours are of the same
//! kinds, in programs of the same shapes.
//!
//! Where it differs: besides their two baselines, which are on threads and in real time, there are the other
//! strategies of this engine, which run thousands of executions a second. What those and `bita` are compared by are
//! executions, which are the same on any machine.

mod bugs;
mod coverage;
mod criteria;
mod feasible;
mod orders;
mod planning;
mod runs;
mod statistics;
mod threads;

use std::time::Duration;

use crate::part::Part;
use crate::table::Table;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Table II: schedules and time to each bug, beside the baselines
    Bugs,
    /// Figure 5: the criteria against each other
    Criteria,
    /// Table III and figure 6: coverage of the versions that are right
    Coverage,
    /// How many generated schedules could be followed
    Feasible,
    /// What it takes to plan schedules of a long execution
    Planning,
    /// All of these
    All,
}

/// How much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) what: What,
    pub(crate) quick: bool,
    /// Executions for each bug and strategy.
    pub(crate) budget: Option<u64>,
    pub(crate) repetitions: Option<u64>,
    /// For each bug and repetition with random delays.
    pub(crate) time_limit: Option<Duration>,
    /// For each bug and repetition on threads without delays.
    pub(crate) plain_limit: Option<Duration>,
}

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) budget: u64,
    pub(crate) repetitions: u64,
    /// CPU time after which a search is given up before its budget.
    pub(crate) cap: Duration,
    pub(crate) time_limit: Duration,
    pub(crate) plain_limit: Duration,
    /// Schedules after which coverage is not measured any further.
    pub(crate) schedules: u64,
}

impl Asked {
    fn effort(self) -> Effort {
        let millis = Duration::from_millis;
        let (budget, repetitions, cap, time_limit, plain_limit, schedules) = if self.quick {
            (300, 2, millis(200), millis(500), millis(20), 30)
        } else {
            (20_000, 10, millis(4_000), millis(60_000), millis(2_000), 300)
        };
        Effort {
            budget: self.budget.unwrap_or(budget).max(1),
            repetitions: self.repetitions.unwrap_or(repetitions).max(1),
            cap,
            time_limit: self.time_limit.unwrap_or(time_limit),
            plain_limit: self.plain_limit.unwrap_or(plain_limit),
            schedules,
        }
    }
}

/// What a reader of the page must know before its tables.
pub(crate) fn about() -> String {
    let default = raddle::explore(raddle::Config::default(), || {});
    let members = default.map(|report| report.members).unwrap_or_default();
    let members: Vec<_> = members.iter().map(|member| format!("`{}`", member.strategy)).collect();
    let load = crate::machine::load();
    format!(
        "{ABOUT}\n\nThe default of this version is a portfolio of {}.{}",
        members.join(", "),
        load.map_or(String::new(), |load| format!(
            " When the page was written the machine had a load of {load:.1}: where that is more than its cores, times are too long, and \
             executions in real time too few."
        ))
    )
}

const ABOUT: &str = "\
Actors handle one message after another; what differs between two executions is in which order each of them receives its messages. \
Bita (Tasharofi, Pradel, Lin and Johnson, ASE 2013) runs a program once, looks at which receives of an actor could have come in the \
other order, and makes schedules that swap them, so that a coverage criterion grows: *PR*, pairs of receives of one actor in both \
orders; *PCR*, directly after each other; *PBR*, where one of the two changes the actor's behaviour and none between them does. The \
strategy `bita` does that: PR first, then PBR where behaviours change, then PCR; and then, which the paper does not have, orders of three \
consecutive receives (`all` where a table names the criteria that were tried).\n\n\
The programs are ten small systems of actors with seventeen bugs, one bug at a time and the others fixed, written for this project in \
the shapes of those of the paper. `cargo run -p raddle-corpus -- list` names them. Each has a small size, at which an execution at random \
shows the bug soon, and a large one, at which it takes a hundred executions or more: there a message takes a longer way (the \
numbers in brackets are the arguments). Beside `bita` are other strategies of the same engine (`random`; `pos`, which gives priorities \
to operations; `dpor`, which is exhaustive; what raddle does by default) and the two baselines of the paper, which run the same \
programs on threads in real time: with random delays of each message that keep the order of each two actors, and as they are.";

/// What the strategy is asked for by.
const BITA: &str = "bita";

/// Measures what was asked for. `progress` hears what is measured next.
pub(crate) fn measure(asked: Asked, progress: &dyn Fn(&str)) -> Vec<Part> {
    let effort = asked.effort();
    if let Err(error) = raddle_search::build(BITA, 1) {
        let table = Table {
            title: "Not measured".to_owned(),
            failures: vec![format!("the strategy `{BITA}` cannot be built: {error}")],
            notes: vec![format!("This version has no strategy `{BITA}`: {error}")],
            ..Table::default()
        };
        return vec![table.into()];
    }
    let wants = |part| asked.what == What::All || asked.what == part;
    let mut parts = Vec::new();
    if wants(What::Bugs) || wants(What::Criteria) {
        let all = runs::run_all(effort, wants(What::Bugs), progress);
        if wants(What::Bugs) {
            parts.extend(bugs::tables(&all).into_iter().map(Part::from));
        }
        if wants(What::Criteria) {
            parts.push(criteria::figure(&all));
        }
    }
    if wants(What::Coverage) {
        parts.extend(coverage::tables(effort, progress));
    }
    if wants(What::Feasible) {
        parts.push(feasible::table(effort, progress).into());
    }
    if wants(What::Planning) {
        parts.push(planning::table(progress).into());
    }
    parts
}
