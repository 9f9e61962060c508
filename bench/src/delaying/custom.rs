//! An explorer written for one program, beside the stock ones.

use raddle_corpus::protocols::chain;

use super::columns::{Column, Group, How, Unit};
use super::runs::{Limits, Size, cell};
use super::tables::shown;
use crate::numbers::grouped;
use crate::table::Table;

const BUGS: [&str; 3] = ["chain-stale-link", "chain-gap-by-place", "chain-deaf-during-repair"];

const STRATEGIES: [(&str, &str, bool); 8] = [
    ("strata(ordered)", "the custom explorer, all within 0, 1, 2, … delays", false),
    ("strata-sample(ordered)", "the custom explorer, delays at random places", true),
    ("strata(rr)", "", false),
    ("strata(rtc)", "", false),
    ("strata-sample(rr)", "", true),
    ("strata-sample(rtc)", "", true),
    ("random", "", true),
    ("pct(3)", "", true),
];

/// The bugs that need two failures of neighbours after the initialisation.
pub(crate) fn measure(limits: Limits, progress: &dyn Fn(&str)) -> Table {
    let mut header = vec!["strategy".to_owned()];
    for size in ["small", "large"] {
        header.extend(BUGS.map(|bug| format!("{bug}, {size}")));
    }
    header.push("what it is".to_owned());
    let mut table = Table {
        title: "An explorer for one program: executions to the bug".to_owned(),
        header,
        ..Table::default()
    };
    for (strategy, line, draws) in STRATEGIES {
        progress(&format!("custom: {strategy}"));
        let (how, unit) = (How::Strategy(strategy), Unit::Executions);
        let column = Column { name: "", group: Group::Others, how, unit, draws, line };
        let mut row = vec![format!("`{strategy}`")];
        for size in [Size::Small, Size::Large] {
            for name in BUGS {
                let bug = chain::PROTOCOL.test.bugs.iter().find(|bug| bug.name == name);
                let bug = bug.expect("it is a bug of the chain");
                let cell = cell(bug, &size.of(bug), &column, limits);
                let delays = cell.middle().departures.filter(|_| cell.found().is_some());
                let delays =
                    delays.map_or(String::new(), |n| format!(" ({} delays)", grouped(n.into())));
                row.push(shown(&cell) + &delays);
            }
        }
        row.push(line.to_owned());
        table.rows.push(row);
    }
    table.notes.push(
        "These bugs of chain replication need two failures after the chain is set up, of servers that are \
         neighbours or close. The explorer `ordered` keeps processes in the order in which they were created: the \
         servers first and the injector of failures last. When the master has heard of all clients the program calls \
         `change_order`, which puts the injector and the master first. `corpus/examples/ordering.rs` is such an \
         explorer written by hand."
            .to_owned(),
    );
    table
}
