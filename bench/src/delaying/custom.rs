//! An explorer written for one program, beside the stock ones.

use raddle::explorer::{About, DelayingExplorer, Explorer, Process, ProcessEvent, Runnable};
use raddle_corpus::protocols::chain;

use super::columns::{Column, Group, How, Unit};
use super::runs::{Limits, Size, cell};
use super::tables::shown;
use crate::numbers::grouped;
use crate::table::Table;

const BUGS: [&str; 3] = ["chain-stale-link", "chain-gap-by-place", "chain-deaf-during-repair"];

const ROWS: [(How, &str, bool); 10] = [
    (How::Strata("custom"), "failures at once, all states within 0, 1, 2, … delays", false),
    (How::Sampling("custom"), "failures at once, delays at random places", true),
    (How::Strata("ordered"), "the stock explorer whose order the program changes", false),
    (How::Sampling("ordered"), "", true),
    (How::Strata("rr"), "", false),
    (How::Strata("rtc"), "", false),
    (How::Sampling("rr"), "", true),
    (How::Sampling("rtc"), "", true),
    (How::Strategy("random"), "", true),
    (How::Strategy("pct(3)"), "", true),
];

/// Explores chain replication by what is known of it: failures matter once the chain is set up, and most while the master
/// mends it.
///
/// Until the program calls `change_order` the injector of failures comes last. From then on a server that it strikes
/// comes first, so that it is down at once; then the master, which hears of it and begins to mend the chain; then the
/// injector, so that the next failure comes before the servers answer the master; then all others.
#[derive(Clone, Debug, Default, Hash)]
struct FailuresAtOnce {
    order: Vec<Process>,
    master: Option<Process>,
    injector: Option<Process>,
    is_set_up: bool,
}

impl FailuresAtOnce {
    fn first(&mut self, process: Option<Process>) {
        if let Some(at) = self.order.iter().position(|&other| Some(other) == process) {
            self.order[..=at].rotate_right(1);
        }
    }

    fn last(&mut self, process: Option<Process>) {
        if let Some(at) = self.order.iter().position(|&other| Some(other) == process) {
            self.order[at..].rotate_left(1);
        }
    }
}

impl DelayingExplorer for FailuresAtOnce {
    fn start(&mut self, process: Process, about: &About<'_>) {
        self.order.push(process);
        match about.name {
            "master" => self.master = Some(process),
            "injector" => self.injector = Some(process),
            _ => {}
        }
        self.last(self.injector);
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|&other| other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        match *event {
            ProcessEvent::Ordered { .. } => {
                self.is_set_up = true;
                self.first(self.injector);
                self.first(self.master);
            }
            ProcessEvent::Sent { by, to }
                if self.is_set_up && Some(by) == self.injector && by != to =>
            {
                self.first(Some(to));
            }
            _ => {}
        }
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let next = self.order.iter().copied().find(|&process| runnable.contains(process));
        next.unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        self.last(Some(process));
    }
}

/// The explorer of this file.
pub(crate) fn explorer() -> Explorer {
    Explorer::new("custom", FailuresAtOnce::default())
}

/// The bugs that need two failures of neighbours after the initialisation.
pub(crate) fn measure(limits: Limits, progress: &dyn Fn(&str)) -> Table {
    let mut header = vec!["search".to_owned(), "counted".to_owned()];
    for size in ["small", "large"] {
        header.extend(BUGS.map(|bug| format!("{bug}, {size}")));
    }
    header.push("what it is".to_owned());
    let mut table = Table {
        title: "An explorer for one program: states or executions to the bug".to_owned(),
        header,
        ..Table::default()
    };
    for (how, line, draws) in ROWS {
        progress(&format!("custom: {how}"));
        let (unit, counted) = match how {
            How::Strata(_) => (Unit::States, "states"),
            _ => (Unit::Executions, "executions"),
        };
        let column = Column { name: "", group: Group::Others, how, unit, draws, line };
        let mut row = vec![how.to_string(), counted.to_owned()];
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
         neighbours or close. `ordered` keeps processes in the order in which they were created: the servers first and \
         the injector of failures last. When the master has heard of all clients the program calls `change_order`, which \
         puts the injector and the master first. `custom` is an explorer of 60 lines for this program alone, in \
         `bench/src/delaying/custom.rs`: after `change_order` a server that is struck comes first, then the master, \
         which hears of it, then the injector, then all others. So each failure comes while the master mends the one \
         before. `corpus/examples/ordering.rs` shows how a test is run with an explorer of its own."
            .to_owned(),
    );
    table.notes.push(
        "Sampling by delays is worse than `random` where a bug is a matter of values and not of order. The injector \
         asks of one server after another whether it fails, and *no* is the first answer. So each failure takes one delay \
         at one certain point, and a sample with n delays puts them at n places drawn from all of the execution: it \
         strikes twice, at the right servers, once in about as many samples as there are pairs of places. `random` \
         answers *yes* at every second question."
            .to_owned(),
    );
    table
}
