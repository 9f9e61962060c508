//! Small protocols whose traces are known: votes, senders, tags, and three who tell mailboxes apart.

use raddle::actors::{Actor, Address, Context, Mailboxes, System};

use crate::counts::arithmetic::factorial;
use crate::program::{Group, Program, mailboxes, parameter};

/// `two-phase-commit`.
///
/// Traces: 2^n · n!, the votes and the order in which they come. Interleavings: (2n)!. The request and
/// the vote of one participant are in order, so there are (2n)! / 2^n orders, and 2^n votes.
pub const TWO_PHASE_COMMIT: Program =
    Program::new("two-phase-commit", Group::Actors, "n participants vote as they like")
        .one(two_phase_commit, &[parameter("n", 2, 1, 8)])
        .interleavings(|n| factorial(2 * n[0]))
        .traces(|n| factorial(n[0])?.checked_mul(1 << n[0]));

/// `actor-senders`.
///
/// Traces: n!, the order at the receiver. Interleavings: (2n)! / 2^n, as each is told to send before it
/// has sent.
pub const ACTOR_SENDERS: Program =
    Program::new("actor-senders", Group::Actors, "n actors send one message each to one receiver")
        .one(actor_senders, &[parameter("n", 3, 1, 8)])
        .interleavings(|n| Some(factorial(2 * n[0])? >> n[0]))
        .traces(|n| factorial(n[0]));

/// `tagged`.
///
/// Traces: 1. A handler cannot leave a message in the mailbox, so what is received by its tag has an
/// actor of its own for each tag. (An actor that puts aside what it does not want yet has n! traces.)
/// Interleavings as of `actor-senders`.
pub const TAGGED: Program =
    Program::new("tagged", Group::Actors, "n actors send one message each, received by its tag")
        .one(tagged, &[parameter("n", 3, 1, 8)])
        .interleavings(|n| Some(factorial(2 * n[0])? >> n[0]))
        .traces(|_| Some(1));

/// `three-actors`.
///
/// p sends a to q and then b to r; r on b sends c to q. Traces: the orders of a and c at q. 2 if only
/// the order of each pair is kept (0) or none is (2); 1 with one queue for each actor (1), where a is
/// in it before r has b. Interleavings: b and c are in order; a is before, between or after them, 3;
/// not after if there is one queue, 2.
pub const THREE_ACTORS: Program = Program::new(
    "three-actors",
    Group::Actors,
    "two ways from p to q; mailboxes: 0 pairs, 1 queue, 2 unordered",
)
.one(three_actors, &[parameter("mailboxes", 0, 0, 2)])
.interleavings(|kind| Some(if kind[0] == 1 { 2 } else { 3 }))
.traces(|kind| Some(if kind[0] == 1 { 1 } else { 2 }));

/// Notes what it is told.
#[derive(Clone, Debug, Default, Hash)]
struct Receiver {
    heard: Vec<u32>,
}

impl Actor for Receiver {
    type Message = u32;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: u32, _: &mut Context<'_, u32>) {
        self.heard.push(message);
    }
}

/// Sends something to each of these when it is told to.
#[derive(Clone, Debug, Hash)]
struct Sender {
    to: Vec<(Address<u32>, u32)>,
}

impl Actor for Sender {
    type Message = u32;
    raddle::actors::snapshots!();

    fn handle(&mut self, _: u32, cx: &mut Context<'_, u32>) {
        for (to, message) in &self.to {
            cx.send(to, *message);
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Participant {
    coordinator: Address<bool>,
}

impl Actor for Participant {
    type Message = ();
    raddle::actors::snapshots!();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let vote = cx.choose(2) == 1;
        cx.send(&self.coordinator, vote);
    }
}

#[derive(Clone, Debug, Hash)]
struct Coordinator {
    participants: usize,
    votes: Vec<bool>,
    decision: Option<bool>,
}

impl Actor for Coordinator {
    type Message = bool;
    raddle::actors::snapshots!();

    fn handle(&mut self, vote: bool, _: &mut Context<'_, bool>) {
        assert_eq!(self.decision, None, "a vote after the decision");
        self.votes.push(vote);
        if self.votes.len() == self.participants {
            self.decision = Some(self.votes.iter().all(|vote| *vote));
        }
    }
}

/// The coordinator decides when it has all votes.
pub fn two_phase_commit(n: usize) {
    let system = System::builder().mailboxes(mailboxes(Mailboxes::Pairs)).build();
    let coordinator = Coordinator { participants: n, votes: Vec::new(), decision: None };
    let coordinator = system.spawn(coordinator);
    for _ in 0..n {
        let participant = system.spawn(Participant { coordinator: coordinator.clone() });
        system.send(&participant, ());
    }
    system.handle_all();
    let decision = system.inspect(&coordinator, |coordinator: &Coordinator| coordinator.decision);
    assert!(decision.is_some());
}

fn heard(system: &System, receiver: &Address<u32>) -> Vec<u32> {
    system.inspect(receiver, |receiver: &Receiver| receiver.heard.clone())
}

/// One receiver for all.
pub fn actor_senders(n: usize) {
    let system = System::builder().mailboxes(mailboxes(Mailboxes::Pairs)).build();
    let receiver = system.spawn(Receiver::default());
    for nth in 0..n as u32 {
        let sender = system.spawn(Sender { to: vec![(receiver.clone(), nth)] });
        system.send(&sender, 0);
    }
    system.handle_all();
    let mut all = heard(&system, &receiver);
    all.sort_unstable();
    assert!(all.into_iter().eq(0..n as u32));
}

/// A receiver for each tag.
pub fn tagged(n: usize) {
    let system = System::builder().mailboxes(mailboxes(Mailboxes::Pairs)).build();
    let ports: Vec<_> = (0..n).map(|_| system.spawn(Receiver::default())).collect();
    for (tag, port) in ports.iter().enumerate() {
        let sender = system.spawn(Sender { to: vec![(port.clone(), tag as u32)] });
        system.send(&sender, 0);
    }
    system.handle_all();
    for (tag, port) in ports.iter().enumerate() {
        assert_eq!(heard(&system, port), [tag as u32]);
    }
}

/// Mailboxes are told apart by what q may hear.
pub fn three_actors(mailboxes: usize) {
    let (mailboxes, orders): (_, &[[u32; 2]]) = match mailboxes {
        0 => (Mailboxes::Pairs, &[[1, 3], [3, 1]]),
        1 => (Mailboxes::Queue, &[[1, 3]]),
        _ => (Mailboxes::Unordered, &[[1, 3], [3, 1]]),
    };
    let system = System::builder().mailboxes(mailboxes).build();
    let q = system.spawn_named("q", Receiver::default());
    let r = system.spawn_named("r", Sender { to: vec![(q.clone(), 3)] });
    let p = system.spawn_named("p", Sender { to: vec![(q.clone(), 1), (r, 2)] });
    system.send(&p, 0);
    system.handle_all();
    let heard = heard(&system, &q);
    assert!(orders.iter().any(|order| heard == order), "{heard:?}");
}
