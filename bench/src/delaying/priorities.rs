//! An explorer by priorities of processes, which change when something happens: for bugs that are too many delays away from
//! stock explorers.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use raddle::actors::States;
use raddle::explorer::{About, DelayingExplorer, Explorer, Process, ProcessEvent, Runnable};
use raddle_corpus::program::Program;
use raddle_corpus::protocols::PROTOCOLS;

use super::Asked;
use super::runs::{End, Limits, Size, Try, by_states};
use super::tables::name;
use crate::numbers::grouped;
use crate::table::Table;

/// An order of processes, and what ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phase {
    /// The highest priority first.
    names: Vec<String>,
    until: Option<Until>,
}

/// The first of two processes has sent so many messages to the second one, counted from the beginning of the phase.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Until {
    by: String,
    to: String,
    times: u32,
}

/// The process of the highest priority moves, as long as it can. One that is delayed goes behind all that have a name in this
/// phase, until the phase ends.
///
/// Phases are written with semicolons between them: `server 0, server 2-4 until server 2 > server 0 * 2; client` has
/// server 0 first, then servers 2, 3 and 4, until server 2 has sent two messages to server 0; and then the client.
/// Actors without a name are timers, and are called `timer 1`, `timer 2` and so on as they are created. What is not among
/// the names of a phase comes last, in the order of creation.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    /// The same in all states of one search.
    phases: Arc<[Phase]>,
    phase: usize,
    /// How often what ends the phase has happened.
    times: u32,
    /// All processes by their names, as they are created.
    known: Arc<Vec<(String, Process)>>,
    /// Each with its place among the names, the first to move first.
    order: Vec<(usize, Process)>,
    /// Given up since the last step. Without this a delay would name one twice of which all others come last.
    given_up: Vec<Process>,
}

impl Hash for Priorities {
    /// What is the same in all states of a search, or follows from the number of processes, is left out.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.phase, self.times, &self.order, &self.given_up).hash(state);
    }
}

impl Priorities {
    /// As it is written.
    pub(crate) fn new(phases: &str) -> Self {
        let (known, order, given_up) = (Arc::default(), Vec::new(), Vec::new());
        let phases = phases.split(';').map(Phase::new).collect();
        Self { phases, phase: 0, times: 0, known, order, given_up }
    }

    fn name(&self, process: Process) -> &str {
        let known = self.known.iter().find(|(_, other)| *other == process);
        known.map_or("", |(name, _)| name)
    }

    /// Where a process is in the order of this phase.
    fn place(&self, name: &str) -> usize {
        let names = &self.phases[self.phase].names;
        names.iter().position(|other| other == name).unwrap_or(names.len())
    }

    fn add(&mut self, place: usize, process: Process) {
        let at = self.order.iter().take_while(|(other, _)| *other <= place).count();
        self.order.insert(at, (place, process));
    }
}

impl Phase {
    fn new(text: &str) -> Self {
        let (names, until) = match text.split_once(" until ") {
            Some((names, until)) => (names, Some(Until::new(until))),
            None => (text, None),
        };
        Self { names: names.split(',').flat_map(each).collect(), until }
    }
}

impl Until {
    fn new(text: &str) -> Self {
        let (by, to) = text.split_once('>').expect("`by > to`");
        let (to, times) = to.split_once('*').unwrap_or((to, "1"));
        let times = times.trim().parse().expect("a number of messages");
        Self { by: by.trim().to_owned(), to: to.trim().to_owned(), times }
    }
}

/// The names that are meant by `name` or by `name 2-4`.
fn each(name: &str) -> Vec<String> {
    let name = name.trim();
    let range = name.rsplit_once(' ').and_then(|(stem, numbers)| {
        let (first, last) = numbers.split_once('-')?;
        Some((stem, first.parse::<u32>().ok()?..=last.parse().ok()?))
    });
    match range {
        Some((stem, numbers)) => numbers.map(|number| format!("{stem} {number}")).collect(),
        None => vec![name.to_owned()],
    }
}

impl DelayingExplorer for Priorities {
    fn start(&mut self, process: Process, about: &About<'_>) {
        let is_timer = about.parent.is_some() && about.name.is_empty();
        let name = if is_timer {
            let timers = self.known.iter().filter(|(name, _)| name.starts_with("timer "));
            format!("timer {}", timers.count() + 1)
        } else {
            about.name.to_owned()
        };
        self.add(self.place(&name), process);
        Arc::make_mut(&mut self.known).push((name, process));
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|(_, other)| *other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        match *event {
            ProcessEvent::Ran { .. } => self.given_up.clear(),
            ProcessEvent::Sent { by, to } => {
                let Some(until) = &self.phases[self.phase].until else { return };
                if self.name(by) != until.by || self.name(to) != until.to {
                    return;
                }
                self.times += 1;
                if self.times == until.times && self.phase + 1 < self.phases.len() {
                    (self.phase, self.times) = (self.phase + 1, 0);
                    self.order.clear();
                    let known = Arc::clone(&self.known);
                    known.iter().for_each(|(name, process)| self.add(self.place(name), *process));
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
        let Some(at) = self.order.iter().position(|(_, other)| *other == process) else { return };
        let is_named = |place: usize| place < self.phases[self.phase].names.len();
        let like_it =
            |(place, _): &(usize, Process)| is_named(*place) == is_named(self.order[at].0);
        let last = self.order.iter().rposition(like_it).unwrap_or(at);
        self.order[at..=last].rotate_left(1);
    }
}

/// Bugs that stock explorers do not reach, or in very many states only, with priorities that do.
const BUGS: [(&str, Size, &str); 16] = [
    (
        "paxos-any-value",
        Size::Small,
        "proposer 0, acceptor 0-1 until acceptor 1 > proposer 0; \
         proposer 1 until proposer 1 > acceptor 1; \
         proposer 0 until proposer 0 > acceptor 2; \
         acceptor 0-1, proposer 1 until acceptor 1 > proposer 1 * 2; \
         proposer 0, acceptor 0, acceptor 2",
    ),
    (
        "paxos-forgets-promise",
        Size::Small,
        "proposer 0, acceptor 0-1 until proposer 0 > acceptor 0 * 2; \
         proposer 1, acceptor 1-2 until acceptor 2 > proposer 1; \
         injector until injector > acceptor 1 * 2; \
         acceptor 1, proposer 0, acceptor 0 until acceptor 1 > proposer 0; \
         proposer 1, acceptor 1-2, acceptor 0",
    ),
    (
        "raft-votes-twice",
        Size::Small,
        "server 0-2 until server 2 > timer 3; \
         timer 1 until timer 1 > server 0; \
         timer 2 until timer 2 > server 1; \
         server 0 until server 0 > server 2; \
         server 2 until server 2 > server 0; \
         injector until injector > server 2 * 2; \
         server 2, server 1 until server 2 > server 1; \
         server 0-1",
    ),
    (
        "raft-commits-old-terms",
        Size::Small,
        "server 0-2 until server 2 > timer 3; \
         timer 1 until timer 1 > server 0; \
         client until client > server 0; \
         server 0 until server 0 > server 2; \
         server 1-2 until server 2 > server 0; \
         timer 2 until timer 2 > server 1; \
         server 1-2 until server 2 > server 1; \
         client until client > server 1; \
         server 0 until server 0 > timer 1; \
         server 1 until server 1 > server 1; \
         timer 1 until timer 1 > server 0; \
         server 0, server 2 until server 2 > server 0; \
         server 0, server 2 until server 2 > server 0 * 2; \
         server 0 until server 0 > server 0; \
         server 1 until server 1 > timer 2; \
         timer 2 until timer 2 > server 1; \
         server 1-2",
    ),
    (
        "multi-paxos-slots-by-count",
        Size::Small,
        "replica 0-2 until replica 2 > timer 3; \
         timer 3 until timer 3 > replica 2; \
         timer 1 until timer 1 > replica 0; \
         replica 0 until replica 0 > replica 2; \
         replica 1 until replica 1 > replica 0; \
         injector until injector > replica 1; \
         client until client > replica 0 * 2; \
         replica 0 until replica 0 > replica 2; \
         injector until injector > replica 1; \
         replica 0 until replica 0 > replica 1; \
         replica 1 until replica 1 > replica 0; \
         timer 2 until timer 2 > replica 1; \
         replica 1 until replica 1 > replica 2; \
         replica 2 until replica 2 > replica 1; \
         client until client > replica 1; \
         replica 1-2",
    ),
    (
        "2pc-abort-of-unknown",
        Size::Large,
        "injector until injector > participant 0; \
         client, coordinator until coordinator > participant 7; \
         injector until injector > participant 0; \
         timer until timer > coordinator; \
         coordinator, participant 0",
    ),
    (
        "paxos-any-value",
        Size::Large,
        "proposer 0, acceptor 0-3 until acceptor 3 > proposer 0; \
         proposer 1 until proposer 1 > acceptor 5; \
         proposer 0 until proposer 0 > acceptor 6; \
         acceptor 0-3, proposer 1 until acceptor 3 > proposer 1 * 2; \
         proposer 0, acceptor 0-2, acceptor 6",
    ),
    (
        "paxos-forgets-promise",
        Size::Large,
        "proposer 0, acceptor 0-3 until proposer 0 > acceptor 2 * 2; \
         proposer 1, acceptor 3-6 until acceptor 6 > proposer 1; \
         injector until injector > acceptor 3 * 2; \
         acceptor 3, proposer 0, acceptor 0-2 until acceptor 3 > proposer 0; \
         proposer 1, acceptor 3-6, acceptor 0-2",
    ),
    (
        "primary-backup-dirty-read",
        Size::Large,
        "server 0-5, service until service > client 1; \
         injector until injector > injector * 170; \
         client 0, server 0 until client 0 > server 0; \
         server 0 until server 0 > server 0; \
         client 1, server 0 until client 1 > server 0 * 2; \
         injector until injector > server 0; \
         server 0, service, server 1-5, client 1",
    ),
    (
        "primary-backup-no-sync",
        Size::Large,
        "server 0-5, service until service > client 1; \
         client 0, server 0 until server 0 > server 5; \
         injector until injector > server 0; \
         server 0, service, client 0, server 1-5, client 1",
    ),
    (
        "raft-votes-twice",
        Size::Large,
        "server 0-4 until server 4 > timer 5; \
         timer 1 until timer 1 > server 0; \
         timer 2 until timer 2 > server 1; \
         server 0 until server 0 > server 3; \
         server 2-3 until server 3 > server 0; \
         injector until injector > server 3 * 2; \
         server 3-4, server 1 until server 4 > server 1; \
         server 0-1",
    ),
    (
        "raft-commits-old-terms",
        Size::Large,
        "server 0-4 until server 4 > timer 5; \
         timer 1 until timer 1 > server 0; \
         client until client > server 0; \
         server 0 until server 0 > server 4; \
         server 1-3 until server 3 > server 0; \
         timer 2 until timer 2 > server 1; \
         server 1-3 until server 3 > server 1; \
         client until client > server 1; \
         server 0 until server 0 > timer 1; \
         server 1 until server 1 > server 1; \
         timer 1 until timer 1 > server 0; \
         server 0, server 2-3 until server 3 > server 0; \
         server 0, server 2-3 until server 3 > server 0 * 2; \
         server 0 until server 0 > server 0; \
         server 1 until server 1 > timer 2; \
         timer 2 until timer 2 > server 1; \
         server 1-3",
    ),
    (
        "raft-back-twice",
        Size::Large,
        "server 0-4 until server 4 > timer 5; \
         timer 1 until timer 1 > server 0; \
         client until client > server 0; \
         server 0 until server 0 > server 4; \
         server 1-3 until server 3 > server 0; \
         timer 2 until timer 2 > server 1; \
         server 1 until server 1 > server 0; \
         server 0 until server 0 > timer 1; \
         timer 1 until timer 1 > server 0; \
         server 0, server 2-3 until server 3 > server 0; \
         server 0 until server 0 > server 1; \
         client until client > server 0; \
         server 0 until server 0 > server 1; \
         server 1, server 0",
    ),
    (
        "multi-paxos-silent-compaction",
        Size::Large,
        "replica 0-4 until replica 4 > timer 5; \
         timer 1 until timer 1 > replica 0; \
         timer 2 until timer 2 > replica 1; \
         replica 0, replica 2-3 until replica 3 > replica 0; \
         client until client > replica 0; \
         replica 0 until replica 0 > replica 3; \
         replica 2-3 until replica 3 > replica 0; \
         replica 1 until replica 1 > replica 4; \
         replica 0 until replica 0 > replica 1; \
         replica 4 until replica 4 > replica 1; \
         client until client > replica 1; \
         replica 1, replica 4, replica 0",
    ),
    (
        "multi-paxos-slots-by-count",
        Size::Large,
        "replica 0-4 until replica 4 > timer 5; \
         timer 3 until timer 3 > replica 2; \
         timer 4 until timer 4 > replica 3; \
         timer 1 until timer 1 > replica 0; \
         replica 0 until replica 0 > replica 4; \
         replica 1, replica 4 until replica 4 > replica 0; \
         injector until injector > replica 1; \
         client until client > replica 0 * 2; \
         replica 0 until replica 0 > replica 4; \
         injector until injector > replica 1; \
         replica 0 until replica 0 > replica 1; \
         replica 1 until replica 1 > replica 0; \
         timer 2 until timer 2 > replica 1; \
         replica 1 until replica 1 > replica 4; \
         replica 2-3 until replica 3 > replica 1; \
         client until client > replica 1; \
         replica 1-3",
    ),
    (
        "osr-driver-keeps-cancelled",
        Size::Large,
        "driver 0-63 until driver 63 > power; \
         application until application > driver 0; \
         driver 0 until driver 0 > device 0; \
         power until power > driver 0; \
         driver 0 until driver 0 > device 0; \
         application until application > driver 0; \
         driver 0, device 0, power",
    ),
];

/// The priorities that are known for a bug, if there are any.
pub(crate) fn known(bug: &Program, arguments: &[usize]) -> Option<&'static str> {
    let of = BUGS.iter().find(|(name, of, _)| *name == bug.name && of.of(bug) == arguments);
    of.map(|(_, _, phases)| *phases)
}

/// Searches by strata of priorities until the bug shows. What is far more delays away than any of these bugs is left out: with
/// a hundred processes most of what waits would be.
pub(crate) fn search(program: &Program, arguments: &[usize], phases: &str, limits: Limits) -> Try {
    let explorer = Explorer::new("priorities", Priorities::new(phases));
    let states = TIMES * limits.states;
    let strata = States::strata(explorer).delays(MOST_DELAYS);
    by_states(program, arguments, strata, Limits { states, ..limits })
}

const MOST_DELAYS: u32 = 8;

/// How many times the states of other searches: these bugs are the furthest away.
pub(crate) const TIMES: u64 = 8;

/// Searches by strata of priorities until the bug shows.
pub(crate) fn measure(asked: &Asked, order: Option<&str>, progress: &dyn Fn(&str)) -> Table {
    let header = ["size", "bug", "states", "delays", "steps", "priorities, the highest first"];
    let mut table = Table {
        title: "By priorities of processes, states to the bug".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    let bugs = || PROTOCOLS.iter().flat_map(|protocol| protocol.test.bugs);
    for (size, bug) in
        [Size::Small, Size::Large].into_iter().flat_map(|size| bugs().map(move |bug| (size, bug)))
    {
        let Some(phases) = order.or_else(|| known(bug, &size.of(bug))) else { continue };
        if !asked.has(bug) || order.is_some() && size != asked.size {
            continue;
        }
        progress(&format!("priorities: {size:?}: {}", bug.name));
        let arguments = asked.arguments.clone().unwrap_or_else(|| size.of(bug));
        let Try { end, n, depth, departures, .. } = search(bug, &arguments, phases, asked.limits);
        let states = if end == End::Found { grouped(n) } else { format!("> {}", grouped(n)) };
        let number = |n: Option<u64>| n.map_or("–".to_owned(), grouped);
        table.rows.push(vec![
            name(size).to_owned(),
            bug.name.to_owned(),
            states,
            number(departures.map(u64::from)),
            number(depth),
            phases.to_owned(),
        ]);
    }
    table.notes.push(format!(
        "Strata of an explorer in which the process of the highest priority moves as long as it can, and a delay puts it behind \
         all that are named. What is not named comes last. Priorities change: those before a semicolon end when one process has \
         sent something to another, so many times since they began. Timers are numbered like their owners, from 1. The \
         priorities were written by hand for each bug from the order of events that its documentation names: which node is \
         slow, and who competes. All that is left to delays is values that are chosen: which server fails, who is asked. So they \
         show that few delays of a fitting explorer are enough, and not that the bug was found unknown. It is an explorer of \
         120 lines, in `bench/src/delaying/priorities.rs`. Each search was given up after {} states; what needs more than \
         {MOST_DELAYS} delays was left out.",
        grouped(TIMES * asked.limits.states)
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

    fn sends(explorer: &mut Priorities, by: u32, to: u32) {
        explorer.step(&ProcessEvent::Sent { by: Process(by), to: Process(to) });
    }

    #[test]
    fn the_order_is_that_of_the_names_and_who_has_none_comes_last() {
        let stranger_first = ["stranger", "b 2", "", "a", "", "b 1"];
        let explorer = explorer("timer 2, a, timer 1, b 1-2", &stranger_first);
        assert_eq!(order(&explorer, 6), [4, 3, 2, 5, 1, 0]);
    }

    #[test]
    fn who_is_delayed_comes_behind_all_that_are_named() {
        let mut explorer = explorer("a, b, c", &["a", "b", "c", "stranger"]);
        explorer.delay(Process(0));
        explorer.step(&ProcessEvent::Ran { process: Process(1) });
        assert_eq!(order(&explorer, 4), [1, 2, 0, 3]);
    }

    #[test]
    fn priorities_change_once_so_many_messages_were_sent_and_the_last_ones_stay() {
        let mut explorer = explorer("a until a > b * 2; b until b > a; c", &["a", "b", "c"]);
        for (by, to) in [(0, 1), (1, 0), (0, 2)] {
            sends(&mut explorer, by, to);
            assert_eq!(order(&explorer, 3), [0, 1, 2]);
        }
        sends(&mut explorer, 0, 1);
        assert_eq!(order(&explorer, 3), [1, 0, 2]);
        sends(&mut explorer, 1, 0);
        sends(&mut explorer, 1, 0);
        assert_eq!(order(&explorer, 3), [2, 0, 1]);
    }

    /// States and delays, of those with few enough states for a test.
    const FOUND: [(&str, Size, u64, u32); 12] = [
        ("paxos-any-value", Size::Small, 45, 0),
        ("paxos-forgets-promise", Size::Small, 1_732, 1),
        ("raft-votes-twice", Size::Small, 2_780, 1),
        ("raft-commits-old-terms", Size::Small, 3_259, 1),
        ("multi-paxos-slots-by-count", Size::Small, 751, 2),
        ("paxos-any-value", Size::Large, 91, 0),
        ("paxos-forgets-promise", Size::Large, 19_854, 1),
        ("primary-backup-no-sync", Size::Large, 6_956, 1),
        ("raft-votes-twice", Size::Large, 50_065, 1),
        ("raft-commits-old-terms", Size::Large, 44_216, 1),
        ("raft-back-twice", Size::Large, 64, 0),
        ("multi-paxos-silent-compaction", Size::Large, 41_919, 1),
    ];

    #[test]
    fn each_bug_with_priorities_is_found_with_as_many_delays_as_values_have_to_be_chosen() {
        for (bug, size, states, delays) in FOUND {
            let mut all = PROTOCOLS.iter().flat_map(|protocol| protocol.test.bugs);
            let program =
                all.find(|program| program.name == bug).expect("it is a bug of a protocol");
            let arguments = size.of(program);
            let phases = known(program, &arguments).expect("it has priorities");
            let done = search(program, &arguments, phases, Limits::LARGE);
            let found = (done.end, done.n, done.departures);
            assert_eq!(found, (End::Found, states, Some(delays)), "{size:?} {bug}");
        }
    }
}
