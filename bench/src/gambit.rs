//! GAMBIT's experiments, run on the bugs of `corpus/src/libraries`.
//!
//! Follows Coons, Burckhardt and Musuvathi, "GAMBIT: Effective Unit Testing for Concurrency Libraries"
//! (2010): table 2, figure 5 and section 5.3. Their 23 bugs are in code that is not public; ours
//! are of the same kinds, in libraries of the same shapes.
//!
//! Where it differs: the budget of a search is executions, not an hour, so that a table is the same
//! on any machine and on any day. Beside them is CPU time, because the machine is shared.

mod choice;
mod correct;
mod cost;
mod curve;
mod large;
mod memory;
mod methods;
mod portfolios;
mod runs;
mod shown;
mod table2;

use std::time::Duration;

use crate::part::Part;

use runs::{Effort, Size};

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Executions and time to each bug, and what portfolio they suggest
    Table2,
    /// Lists of strategies as one portfolio, with small and with large arguments
    Portfolios,
    /// Bugs found over executions
    Curve,
    /// The correct versions: what is covered of them
    Correct,
    /// The memory of the execution tree over executions
    Memory,
    /// The priority by methods, with both names and with one
    Methods,
    /// What an execution costs best first and depth first
    Cost,
    /// Table 2, the curves, and the correct versions; the others have pages of their own
    All,
}

/// How much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) what: What,
    pub(crate) quick: bool,
    /// With the large arguments instead of the small ones.
    pub(crate) large: bool,
    /// Executions for each bug and strategy.
    pub(crate) budget: Option<u64>,
    /// Runs of whatever draws.
    pub(crate) seeds: Option<u64>,
}

impl Asked {
    fn effort(self) -> Effort {
        let (budget, seeds, cap) = match (self.quick, self.large) {
            (true, _) => (300, 2, 1),
            (false, false) => (20_000, 10, 20),
            (false, true) => (5_000, 1, 20),
        };
        Effort {
            size: if self.large { Size::Large } else { Size::Small },
            budget: self.budget.unwrap_or(budget).max(1),
            seeds: self.seeds.unwrap_or(seeds).max(1),
            cap: Duration::from_secs(cap),
        }
    }
}

/// Measures what was asked for. `progress` hears what is measured next.
pub(crate) fn measure(asked: Asked, progress: &dyn Fn(&str)) -> Vec<Part> {
    let of_all = [What::Table2, What::Curve, What::Correct];
    let wants = |part| asked.what == part || asked.what == What::All && of_all.contains(&part);
    let mut parts = Vec::new();
    if wants(What::Table2) || wants(What::Curve) {
        let all = runs::run_all(asked.effort(), progress);
        if wants(What::Table2) {
            if asked.large {
                parts.extend(large::tables(&all).into_iter().map(Part::from));
            } else {
                parts.push(shown::claims(&all).into());
            }
            parts.extend(table2::tables(&all).into_iter().map(Part::from));
            if !asked.large {
                parts.push(shown::longer(&all, progress).into());
                parts.extend(choice::tables(&all).into_iter().map(Part::from));
            }
        }
        if wants(What::Curve) {
            parts.push(curve::curve(&all));
        }
    }
    if wants(What::Portfolios) {
        parts.push(portfolios::table(asked.effort(), progress).into());
    }
    if wants(What::Correct) && !asked.large {
        parts.push(correct::table(asked.effort(), progress).into());
    }
    if wants(What::Memory) {
        progress("memory of the execution tree");
        let (table, plot) = memory::measure(asked.quick, progress);
        parts.push(Part { table, plots: vec![("memory".to_owned(), plot)] });
    }
    if wants(What::Methods) {
        progress("priority by methods");
        parts.push(methods::measure(asked.quick).into());
    }
    if wants(What::Cost) {
        progress("cost of an execution");
        parts.push(cost::measure(asked.quick, progress).into());
    }
    parts
}
