//! Known numbers of traces of actor programs, as equalities.

use raddle_actors::{Actor, Address, Context, Faults, Mailboxes, System};
use raddle_search::Reduction;

use crate::{exhaustive, reduced};

/// Notes what it is told, in order; on some messages tells others.
#[derive(Clone, Default)]
struct Node {
    heard: Vec<u32>,
    then: Vec<(u32, Address<u32>, u32)>,
}

impl Actor for Node {
    type Message = u32;

    fn handle(&mut self, message: u32, cx: &mut Context<'_, u32>) {
        self.heard.push(message);
        for (on, to, what) in &self.then {
            if *on == message {
                cx.send(to, *what);
            }
        }
    }
}

fn system(mailboxes: Mailboxes) -> System {
    System::builder().mailboxes(mailboxes).build()
}

const KINDS: [Mailboxes; 3] = [Mailboxes::Pairs, Mailboxes::Queue, Mailboxes::Unordered];

#[track_caller]
fn traces(expected: u64, program: &dyn Fn() -> String) {
    let all = exhaustive(1_000_000, program).expect("it ends");
    assert_eq!(all.traces.len() as u64, expected);
    let optimal = reduced(Reduction::Optimal, 1_000_000, program).expect("it ends");
    assert_eq!(optimal.traces, all.traces);
    assert_eq!((optimal.executions, optimal.blocked, optimal.repeated), (expected, 0, 0));
    for reduction in [Reduction::Source, Reduction::Classic] {
        let saw = reduced(reduction, 1_000_000, program).expect("it ends");
        assert_eq!(saw.traces, all.traces, "{reduction:?}");
    }
}

/// N senders are told to send one message each to one receiver.
fn senders(mailboxes: Mailboxes, n: u32) -> String {
    let system = system(mailboxes);
    let receiver = system.spawn(Node::default());
    for sender in 1..=n {
        let then = vec![(0, receiver.clone(), sender)];
        let sender = system.spawn(Node { then, ..Node::default() });
        system.send(&sender, 0);
    }
    system.handle_all();
    system.inspect(&receiver, |node: &Node| format!("{:?}", node.heard))
}

#[test]
fn the_order_of_n_senders_is_decided_once() {
    // At the sends or at the receives, not at both: N!.
    for kind in KINDS {
        for (n, expected) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
            traces(expected, &|| senders(kind, n));
        }
    }
}

/// p sends a to q and then b to r; r on b sends c to q.
fn three(mailboxes: Mailboxes) -> String {
    let system = system(mailboxes);
    let q = system.spawn(Node::default());
    let r = system.spawn(Node { then: vec![(2, q.clone(), 3)], ..Node::default() });
    let then = vec![(0, q.clone(), 1), (0, r, 2)];
    let p = system.spawn(Node { then, ..Node::default() });
    system.send(&p, 0);
    system.handle_all();
    system.inspect(&q, |node: &Node| format!("{:?}", node.heard))
}

#[test]
fn three_processes_tell_the_mailboxes_apart() {
    traces(2, &|| three(Mailboxes::Unordered));
    traces(2, &|| three(Mailboxes::Pairs));
    traces(1, &|| three(Mailboxes::Queue));
}

/// Participants vote freely, and the coordinator waits for all votes.
fn two_phase_commit(n: u32) -> String {
    struct Participant(Address<u32>);
    impl Actor for Participant {
        type Message = ();
        fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
            let vote = cx.choose(2);
            cx.send(&self.0, vote);
        }
    }
    let system = System::new();
    let coordinator = system.spawn(Node::default());
    for _ in 0..n {
        let participant = system.spawn(Participant(coordinator.clone()));
        system.send(&participant, ());
    }
    system.handle_all();
    system.inspect(&coordinator, |node: &Node| format!("{:?}", node.heard))
}

#[test]
fn votes_are_values_and_their_order_is_an_order() {
    // 2^N * N!.
    traces(2, &|| two_phase_commit(1));
    traces(8, &|| two_phase_commit(2));
    traces(48, &|| two_phase_commit(3));
}

#[test]
fn messages_of_one_sender_stay_in_order() {
    let program = |mailboxes| {
        let system = system(mailboxes);
        let receiver = system.spawn(Node::default());
        (1..=3).for_each(|message| system.send(&receiver, message));
        system.handle_all();
        system.inspect(&receiver, |node: &Node| format!("{:?}", node.heard))
    };
    traces(1, &|| program(Mailboxes::Pairs));
    traces(1, &|| program(Mailboxes::Queue));
    traces(6, &|| program(Mailboxes::Unordered));
}

/// Each of N actors is told something once, with these faults.
fn strangers(n: u32, faults: Faults) -> String {
    strangers_with(Mailboxes::Pairs, n, faults)
}

fn strangers_with(mailboxes: Mailboxes, n: u32, faults: Faults) -> String {
    let system = System::builder().mailboxes(mailboxes).faults(faults).build();
    let nodes: Vec<_> = (0..n).map(|_| system.spawn(Forgetful::default())).collect();
    for node in &nodes {
        system.send(node, 1);
    }
    system.handle_all();
    let heard = |node| system.inspect(node, |node: &Forgetful| node.0.heard.len());
    format!("{:?}", nodes.iter().map(heard).collect::<Vec<_>>())
}

/// Knows nothing after a crash.
#[derive(Clone, Default)]
struct Forgetful(Node);

impl std::hash::Hash for Forgetful {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.heard.hash(state);
    }
}

impl Actor for Forgetful {
    type Message = u32;
    raddle_actors::snapshots!();

    fn handle(&mut self, message: u32, cx: &mut Context<'_, u32>) {
        self.0.handle(message, cx);
    }

    fn restart(&self) -> Option<Self> {
        Some(Self::default())
    }
}

#[test]
fn a_fault_depends_on_its_victim_alone() {
    let none = Faults::default();
    // All messages come, or one of them is lost; one is handled twice.
    for n in [1, 3, 6] {
        traces(1 + u64::from(n), &|| strangers(n, Faults { losses: 1, ..none }));
        traces(1 + u64::from(n), &|| strangers(n, Faults { duplicates: 1, ..none }));
    }
    // Two of three are lost, one, or none.
    traces(3 + 3 + 1, &|| strangers(3, Faults { losses: 2, ..none }));
}

#[test]
fn a_loss_and_a_duplicate_depend_on_their_victims_alone() {
    // Without a duplicate, nothing or one of n messages is lost: n + 1. With a duplicate of one of n, there are n that may be lost:
    // the others, and the second copy; n (n + 1).
    let once = Faults { losses: 1, duplicates: 1, ..Faults::default() };
    for n in [1, 2, 3] {
        traces(u64::from((n + 1) * (n + 1)), &|| strangers(n, once));
    }
}

#[test]
fn faults_that_may_happen_several_times_depend_on_their_victims_alone_in_all_mailboxes() {
    // At most two of three messages are lost, 1 + 3 + 3; each of them is handled so many times more, twice in all: 1 + 3 + 6.
    // What is lost of a message that was handled is its last copy.
    let twice = Faults { losses: 2, duplicates: 2, ..Faults::default() };
    for kind in KINDS {
        traces((1 + 3 + 3) * (1 + 3 + 6), &|| strangers_with(kind, 3, twice));
    }
}

/// The traces of N strangers are so many. The optimal reduction begins so many executions to see them, and runs so many of these
/// to the end that repeat others.
#[track_caller]
fn crashes(traces: u32, begun: (u64, u64), kind: Mailboxes, n: u32, faults: Faults) {
    let program = || strangers_with(kind, n, faults);
    let all = exhaustive(1_000_000, &program).expect("it ends");
    assert_eq!(all.traces.len() as u32, traces);
    for reduction in [Reduction::Optimal, Reduction::Source, Reduction::Classic] {
        let saw = reduced(reduction, 1_000_000, &program).expect("it ends");
        assert_eq!(saw.traces, all.traces, "{reduction:?}");
        if reduction == Reduction::Optimal {
            assert_eq!((saw.executions, saw.repeated), begun, "{kind:?} {n} {faults:?}");
        }
    }
}

#[test]
fn a_crash_depends_on_its_victim_alone() {
    // No crash; or one actor crashes after its message, or before it and then the message is dropped or comes
    // after the restart. A crash is tried with every victim wherever it is moved to, and which victim one that sleeps would have
    // is not known: 2^(n - 1) (3 n + 2) executions are begun.
    let once = Faults { crashes: 1, ..Faults::default() };
    for (n, executions) in [(1, 5), (2, 16), (3, 44), (4, 112), (5, 272)] {
        assert_eq!(executions, (1 << (n - 1)) * (3 * u64::from(n) + 2));
        crashes(1 + 3 * n, (executions, 0), Mailboxes::Pairs, n, once);
    }
}

#[test]
fn a_crash_and_a_fault_of_messages_depend_on_their_victims_alone() {
    for kind in KINDS {
        // No crash, or three ways of one; beside each no loss, or one of n.
        let loss = Faults { crashes: 1, losses: 1, ..Faults::default() };
        // No crash, and one of n is handled twice or none; a crash of one, with three orders unless its own message is
        // handled twice, else six: a message, its copy, the crash and the restart have 4! / (2! 2!).
        let duplicate = Faults { crashes: 1, duplicates: 1, ..Faults::default() };
        let begun = match kind {
            Mailboxes::Queue => [((10, 2), (14, 2)), ((60, 37), (94, 49))],
            Mailboxes::Unordered => [((9, 0), (13, 1)), ((38, 0), (66, 14))],
            _ => [((9, 0), (13, 0)), ((38, 0), (60, 0))],
        };
        for (n, (with_loss, with_duplicate)) in (1..).zip(begun) {
            crashes((1 + 3 * n) * (1 + n), with_loss, kind, n, loss);
            crashes(1 + n + 3 * n * n + 6 * n, with_duplicate, kind, n, duplicate);
        }
    }
}

#[test]
fn two_crashes_of_different_actors_are_in_no_order() {
    // Neither happens; one of the two, in three ways; both to one actor, the second while it is down, with four places for the
    // message, or after the restart, with five, and either may be the first; both to different actors, each in three ways.
    let twice = Faults { crashes: 2, ..Faults::default() };
    for (n, begun) in [(1, (44, 15)), (2, (286, 117))] {
        let traces = 1 + 2 * 3 * n + 2 * (4 + 5) * n + 3 * 3 * n * (n - 1);
        crashes(traces, begun, Mailboxes::Pairs, n, twice);
    }
}

#[test]
fn the_loss_of_one_of_twenty_messages_takes_twenty_one_executions() {
    let program = || strangers(20, Faults { losses: 1, ..Faults::default() });
    let saw = reduced(Reduction::Optimal, 1_000, &program).expect("it ends");
    assert_eq!((saw.executions, saw.traces.len()), (21, 21));
}

/// One actor chooses; each of N others tells an actor of its own something.
fn chooser_and_senders(n: u32) -> String {
    struct Chooser(u32);
    impl Actor for Chooser {
        type Message = ();
        fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
            self.0 = cx.choose(2);
        }
    }
    let system = system(Mailboxes::Queue);
    let chooser = system.spawn(Chooser(0));
    system.send(&chooser, ());
    for _ in 0..n {
        let receiver = system.spawn(Node::default());
        let sender = system.spawn(Node { then: vec![(0, receiver, 1)], ..Node::default() });
        system.send(&sender, 0);
    }
    system.handle_all();
    system.inspect(&chooser, |chooser: &Chooser| chooser.0.to_string())
}

#[test]
fn who_chooses_depends_on_nobody_who_sends_elsewhere() {
    for n in 0..=3 {
        traces(2, &|| chooser_and_senders(n));
    }
}

#[test]
fn no_two_of_thirty_actors_share_a_mailbox() {
    let program = || {
        let system = system(Mailboxes::Queue);
        for _ in 0..15 {
            let receiver = system.spawn(Node::default());
            let sender = system.spawn(Node { then: vec![(0, receiver, 1)], ..Node::default() });
            system.send(&sender, 0);
        }
        system.handle_all();
        String::new()
    };
    let saw = reduced(Reduction::Optimal, 1_000, &program).expect("it ends");
    assert_eq!((saw.executions, saw.traces.len()), (1, 1));
}
