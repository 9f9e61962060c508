//! Messages lost and doubled, actors that crash and come back, timers.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use raddle::Verdict;
use raddle_actors::{Actor, Context, Faults, Mailboxes, System};

use crate::explore_by;

#[derive(Clone, Debug, Hash)]
enum Told {
    Number(u32),
    SetTimer,
    Fired,
}

#[derive(Clone, Hash)]
struct Node {
    heard: Vec<u32>,
    /// What it has written down.
    disk: usize,
}

impl Actor for Node {
    type Message = Told;
    raddle_actors::snapshots!();

    fn handle(&mut self, message: Told, cx: &mut Context<'_, Told>) {
        match message {
            Told::Number(n) => {
                self.heard.push(n);
                self.disk = self.heard.len();
            }
            Told::SetTimer => drop(cx.set_timer(Duration::from_secs(1), Told::Fired)),
            Told::Fired => self.heard.push(100),
        }
    }

    fn restart(&self) -> Option<Self> {
        Some(Self { heard: vec![1000 + self.disk as u32], disk: self.disk })
    }
}

/// What a node has heard in the end, in each way that there is. The same under every search.
fn results(faults: Faults, mailboxes: Mailboxes, messages: &'static [Told]) -> BTreeSet<Vec<u32>> {
    let mut all = None;
    for strategy in ["dfs", "dpor", "dpor(eta)", "dpor(source)"] {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let results = Arc::clone(&seen);
        let report = explore_by(strategy, move || {
            let system = System::builder().faults(faults).mailboxes(mailboxes).build();
            let node = system.spawn(Node { heard: Vec::new(), disk: 0 });
            for message in messages {
                system.send(&node, message.clone());
            }
            system.handle_all();
            let heard = system.inspect(&node, |node: &Node| node.heard.clone());
            results.lock().expect("nobody panics").insert(heard);
        });
        assert_eq!(report.verdict, Verdict::Covered);
        let seen = seen.lock().expect("nobody panics").clone();
        assert_eq!(*all.get_or_insert_with(|| seen.clone()), seen, "{strategy}");
    }
    all.expect("there are strategies")
}

fn set<const N: usize>(results: [&[u32]; N]) -> BTreeSet<Vec<u32>> {
    results.into_iter().map(<[u32]>::to_vec).collect()
}

const TWO: &[Told] = &[Told::Number(1), Told::Number(2)];

#[test]
fn one_message_may_be_lost() {
    let faults = Faults { losses: 1, ..Faults::default() };
    assert_eq!(results(faults, Mailboxes::Pairs, TWO), set([&[1, 2], &[1], &[2]]));
}

#[test]
fn one_message_may_come_twice() {
    let faults = Faults { duplicates: 1, ..Faults::default() };
    let expected = set([&[1, 2], &[1, 1, 2], &[1, 2, 2]]);
    assert_eq!(results(faults, Mailboxes::Pairs, TWO), expected);
    let expected = [
        &[1, 2][..],
        &[2, 1],
        &[1, 1, 2],
        &[1, 2, 1],
        &[2, 1, 1],
        &[2, 2, 1],
        &[2, 1, 2],
        &[1, 2, 2],
    ];
    assert_eq!(results(faults, Mailboxes::Unordered, TWO), set(expected));
}

#[test]
fn an_actor_comes_back_with_what_it_had_written() {
    let faults = Faults { crashes: 1, ..Faults::default() };
    // Before the first message, between the two or after both; what comes while it is down is lost.
    let expected = [&[1, 2][..], &[1000, 1, 2], &[1000, 2], &[1000], &[1001, 2], &[1001], &[1002]];
    assert_eq!(results(faults, Mailboxes::Pairs, TWO), set(expected));
}

/// A crash that was declined while the first messages were handled may happen with the next ones; one
/// that has happened may not.
#[test]
fn a_declined_crash_keeps_its_budget() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let results = Arc::clone(&seen);
    let report = explore_by("dfs", move || {
        let faults = Faults { crashes: 1, ..Faults::default() };
        let system = System::builder().faults(faults).build();
        let node = system.spawn(Node { heard: Vec::new(), disk: 0 });
        for n in [1, 2] {
            system.send(&node, Told::Number(n));
            system.handle_all();
        }
        let heard = system.inspect(&node, |node: &Node| node.heard.clone());
        results.lock().expect("nobody panics").insert(heard);
    });
    assert_eq!(report.verdict, Verdict::Covered);
    let without = [&[1, 2][..]];
    // Before the first message, so that it is lost or not; after it.
    let with_the_first = [&[1000, 2][..], &[1000, 1, 2], &[1001, 2]];
    // After the first message and before the second, so that it is lost or not; after it.
    let with_the_second = [&[1001][..], &[1001, 2], &[1002]];
    let expected = without.into_iter().chain(with_the_first).chain(with_the_second);
    let expected: BTreeSet<_> = expected.map(<[u32]>::to_vec).collect();
    assert_eq!(*seen.lock().expect("nobody panics"), expected);
}

#[test]
fn a_timer_fires_at_any_moment() {
    const MESSAGES: &[Told] = &[Told::SetTimer, Told::Number(1), Told::Number(2)];
    let expected = set([&[100, 1, 2], &[1, 100, 2], &[1, 2, 100]]);
    assert_eq!(results(Faults::default(), Mailboxes::Pairs, MESSAGES), expected);
    let none = Faults { timers: Some(0), ..Faults::default() };
    assert_eq!(results(none, Mailboxes::Pairs, MESSAGES), set([&[1, 2]]));
}
