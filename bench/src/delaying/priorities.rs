//! An explorer by priorities of processes: for bugs that are too many delays away from stock explorers.

use raddle::actors::States;
use raddle::explorer::{About, DelayingExplorer, Explorer, Process, ProcessEvent, Runnable};
use raddle_corpus::protocols::PROTOCOLS;

use super::Asked;
use super::runs::{End, Limits, Size, Try, by_states};
use crate::numbers::grouped;
use crate::table::Table;

/// The process of the highest priority moves, as long as it can. One that is delayed goes behind all that have a name here.
///
/// Priorities are names of processes, the highest first. Actors without a name are timers, and are called `timer 1`, `timer 2` and so
/// on as they are created. Those with `~` before their names take turns: one that has sent something to another process goes
/// behind them. What is not among the names comes last.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Priorities {
    names: Vec<String>,
    /// Each with its place among the names, the first to move first.
    order: Vec<(usize, Process)>,
    /// How many timers there are.
    timers: usize,
    /// Given up since the last step. Without this a delay would name one twice of which all others come last.
    given_up: Vec<Process>,
}

impl Priorities {
    /// By names with commas between them.
    pub(crate) fn new(names: &str) -> Self {
        let names = names.split(',').map(|name| name.trim().to_owned()).collect();
        Self { names, order: Vec::new(), timers: 0, given_up: Vec::new() }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other.trim_start_matches('~') == name)
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
        let is_timer = about.parent.is_some() && about.name.is_empty();
        self.timers += usize::from(is_timer);
        let place = if is_timer {
            self.place(&format!("timer {}", self.timers))
        } else {
            self.place(about.name)
        };
        let place = place.unwrap_or(self.names.len());
        let at = self.order.iter().take_while(|(other, _)| *other <= place).count();
        self.order.insert(at, (place, process));
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|(_, other)| *other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        match *event {
            ProcessEvent::Ran { .. } => self.given_up.clear(),
            ProcessEvent::Sent { by, to } if by != to => {
                let at = self.at(by).filter(|at| self.takes_turns(self.order[*at].0));
                let last = self.order.iter().rposition(|(place, _)| self.takes_turns(*place));
                if let (Some(at), Some(last)) = (at, last) {
                    self.order[at..=last].rotate_left(1);
                }
            }
            _ => {}
        }
    }

    fn hears_blocked(&self) -> bool {
        false
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let mut order = self.order.iter().map(|(_, process)| *process);
        let next =
            order.find(|process| runnable.contains(*process) && !self.given_up.contains(process));
        next.unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        self.given_up.push(process);
        let Some(at) = self.at(process) else { return };
        let is_named = |place: usize| place < self.names.len();
        let like_it =
            |(place, _): &(usize, Process)| is_named(*place) == is_named(self.order[at].0);
        let last = self.order.iter().rposition(like_it).unwrap_or(at);
        self.order[at..=last].rotate_left(1);
    }
}

/// Bugs with priorities that show them in fewer states than stock explorers need.
const BUGS: [(&str, &str); 4] = [
    ("paxos-any-value", "proposer 0,proposer 1,acceptor 2,acceptor 0,acceptor 1"),
    ("raft-votes-twice", "timer 1,timer 2,timer 3,server 0,server 2,injector,server 1,client"),
    ("raft-commits-old-terms", "client,server 2,server 0,timer 1,server 1,timer 2"),
    (
        "multi-paxos-slots-by-count",
        "replica 1,timer 2,replica 0,timer 1,replica 2,~injector,~client",
    ),
];

/// Searches by strata of priorities until the bug shows.
pub(crate) fn measure(asked: &Asked, order: Option<&str>, progress: &dyn Fn(&str)) -> Table {
    let header = ["bug", "states", "delays", "steps", "priorities, the highest first"];
    let mut table = Table {
        title: "Small: by priorities of processes, states to the bug".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    // These are the bugs that are furthest away.
    let limits = Limits { states: 2 * asked.limits.states, ..asked.limits };
    for bug in PROTOCOLS.iter().flat_map(|protocol| protocol.test.bugs).filter(|bug| asked.has(bug))
    {
        let of = |(name, order): &(&str, &'static str)| (*name == bug.name).then_some(*order);
        let Some(order) = order.or_else(|| BUGS.iter().find_map(of)) else { continue };
        progress(&format!("priorities: {}", bug.name));
        let arguments = asked.arguments.clone().unwrap_or_else(|| Size::Small.of(bug));
        let explorer = Explorer::new("priorities", Priorities::new(order));
        let states = States::strata(explorer);
        let Try { end, n, depth, departures, .. } = by_states(bug, &arguments, states, limits);
        let states = if end == End::Found { grouped(n) } else { format!("> {}", grouped(n)) };
        let number = |n: Option<u64>| n.map_or("–".to_owned(), grouped);
        table.rows.push(vec![
            bug.name.to_owned(),
            states,
            number(departures.map(u64::from)),
            number(depth),
            order.replace(',', ", "),
        ]);
    }
    table.notes.push(format!(
        "Strata of an explorer in which the process of the highest priority moves as long as it can, and a delay puts it behind \
         all that are named. Timers are numbered like their owners, from 1. Those with ~ take turns: one that has sent something to \
         another process goes behind the others. What is not named comes last. The \
         priorities were written by hand for each bug from the order of events that its documentation names: which node is slow, and who \
         competes. So they show that few delays of a fitting explorer are enough, and not that the bug was found unknown. It is \
         an explorer of 80 lines, in `bench/src/delaying/priorities.rs`. Each search was given up after {} states.",
        grouped(limits.states)
    ));
    table
}

#[cfg(test)]
mod tests {
    use raddle::explorer::ProcessKind;

    use super::*;

    /// An explorer by these priorities, with processes of these names; one without is a timer.
    fn explorer(priorities: &str, names: &[&str]) -> Priorities {
        let mut explorer = Priorities::new(priorities);
        for (number, name) in names.iter().enumerate() {
            let about = About::new(ProcessKind::Actor, name, Some(Process(9)));
            explorer.start(Process(number as u32), &about);
        }
        explorer
    }

    /// The processes in the order in which they are reached by delays, all of them able to move.
    fn order(explorer: &Priorities, of: u32) -> Vec<u32> {
        let (mut explorer, all) = (explorer.clone(), (0..of).map(Process).collect::<Vec<_>>());
        let delay = |_| {
            let next = explorer.next(Runnable::new(&all));
            explorer.delay(next);
            next.0
        };
        (0..of).map(delay).collect()
    }

    #[test]
    fn the_order_is_that_of_the_names_and_who_has_none_comes_last() {
        let stranger_first = ["stranger", "b", "", "a", ""];
        let explorer = explorer("timer 2, a, timer 1, b", &stranger_first);
        assert_eq!(order(&explorer, 5), [4, 3, 2, 1, 0]);
    }

    #[test]
    fn who_is_delayed_comes_behind_all_that_are_named() {
        let mut explorer = explorer("a, b, c", &["a", "b", "c", "stranger"]);
        explorer.delay(Process(0));
        explorer.step(&ProcessEvent::Ran { process: Process(1) });
        assert_eq!(order(&explorer, 4), [1, 2, 0, 3]);
    }

    #[test]
    fn who_takes_turns_goes_behind_the_others_that_do_once_it_has_sent_something() {
        let mut explorer = explorer("a, ~b, ~c", &["a", "b", "c"]);
        for by in [0, 1] {
            explorer.step(&ProcessEvent::Sent { by: Process(by), to: Process(9) });
        }
        assert_eq!(order(&explorer, 3), [0, 2, 1]);
        explorer.step(&ProcessEvent::Sent { by: Process(2), to: Process(2) });
        assert_eq!(order(&explorer, 3), [0, 2, 1], "to itself does not count");
    }
}
