//! An explorer by priorities of processes, to try on a bug.

use raddle::actors::States;
use raddle::explorer::{About, DelayingExplorer, Explorer, Process, ProcessEvent, Runnable};
use raddle_corpus::protocols::PROTOCOLS;

use super::Asked;
use super::runs::{End, Size, Try, by_states};
use crate::numbers::grouped;
use crate::table::Table;

/// The process of the highest priority moves, as long as it can. One that is delayed has the lowest from then on.
///
/// Priorities are names of processes, the highest first; one with `~` before it takes turns with the others that have
/// `~`: when another process sends something to it, it goes behind them. What has no name comes with the empty name, and what is
/// not named last.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Priorities {
    names: Vec<String>,
    /// Each with its place among the names, the first to move first.
    order: Vec<(usize, Process)>,
}

impl Priorities {
    /// By names with commas between them.
    pub(crate) fn new(names: &str) -> Self {
        let names = names.split(',').map(|name| name.trim().to_owned()).collect();
        Self { names, order: Vec::new() }
    }

    fn takes_turns(&self, place: usize) -> bool {
        self.names.get(place).is_some_and(|name| name.starts_with('~'))
    }

    fn at(&self, process: Process) -> Option<usize> {
        self.order.iter().position(|(_, other)| *other == process)
    }
}

impl DelayingExplorer for Priorities {
    fn start(&mut self, process: Process, about: &About<'_>) {
        let is_it = |name: &String| name.trim_start_matches('~') == about.name;
        let place = self.names.iter().position(is_it).unwrap_or(self.names.len());
        let at = self.order.iter().take_while(|(other, _)| *other <= place).count();
        self.order.insert(at, (place, process));
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|(_, other)| *other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        let &ProcessEvent::Sent { by, to } = event else { return };
        let Some(at) = self.at(to).filter(|at| by != to && self.takes_turns(self.order[*at].0))
        else {
            return;
        };
        let last = self.order.iter().rposition(|(place, _)| self.takes_turns(*place));
        let last = last.unwrap_or(at);
        self.order[at..=last].rotate_left(1);
    }

    fn hears_blocked(&self) -> bool {
        false
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let mut order = self.order.iter().map(|(_, process)| *process);
        order.find(|&process| runnable.contains(process)).unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        if let Some(at) = self.at(process) {
            self.order[at..].rotate_left(1);
        }
    }
}

/// Bugs with priorities that show them in fewer states than stock explorers need.
const BUGS: [(&str, &str); 1] =
    [("raft-votes-twice", ",server 0,server 2,injector,server 1,client")];

/// Searches by strata of priorities until the bug shows.
pub(crate) fn measure(asked: &Asked, order: Option<&str>, progress: &dyn Fn(&str)) -> Table {
    let header = ["bug", "states", "delays", "steps", "priorities, the highest first"];
    let mut table = Table {
        title: "Small: by priorities of processes, states to the bug".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    for bug in PROTOCOLS.iter().flat_map(|protocol| protocol.test.bugs).filter(|bug| asked.has(bug))
    {
        let of = |(name, order): &(&str, &'static str)| (*name == bug.name).then_some(*order);
        let Some(order) = order.or_else(|| BUGS.iter().find_map(of)) else { continue };
        progress(&format!("priorities: {}", bug.name));
        let explorer = Explorer::new("priorities", Priorities::new(order));
        let states = States::strata(explorer);
        let Try { end, n, depth, departures, .. } =
            by_states(bug, &Size::Small.of(bug), states, asked.limits);
        let states = if end == End::Found { grouped(n) } else { format!("> {}", grouped(n)) };
        let number = |n: Option<u64>| n.map_or("–".to_owned(), grouped);
        let shown: Vec<_> = order
            .split(',')
            .map(|name| match name.trim() {
                "" => "timers",
                name => name,
            })
            .collect();
        table.rows.push(vec![
            bug.name.to_owned(),
            states,
            number(departures.map(u64::from)),
            number(depth),
            shown.join(", "),
        ]);
    }
    table.notes.push(
        "Strata of an explorer in which the process of the highest priority moves as long as it can, and a delay gives it the \
         lowest. Those with ~ take turns: one that is sent something goes behind the others. What is not named comes last. The \
         priorities are of a person who knows the protocol and the kind of mistake: which node is slow, and who competes. It is \
         an explorer of 60 lines, in `bench/src/delaying/priorities.rs`."
            .to_owned(),
    );
    table
}
