//! The paper's examples, on executions made by hand.

use super::recording::MailboxOrder;
use super::*;

/// A receive: sender, message, receiver, and the other receive in which it was sent.
pub(crate) struct Made {
    pub(crate) run: Run,
}

impl Made {
    pub(crate) fn new() -> Self {
        Self { run: Run::default() }
    }

    /// `id` names both the message and the receive.
    pub(crate) fn receive(
        &mut self,
        id: u64,
        sender: u64,
        receiver: u64,
        sent_in: u64,
    ) -> &mut Self {
        let nth = self.run.received.iter().filter(|other| other.sent_in == sent_in).count() as u32;
        self.run.received.push(Received {
            identity: id,
            message: id,
            sender,
            receiver,
            by: receiver,
            sent_in,
            nth,
            order: MailboxOrder::Pairs,
            counted: true,
            ..Received::default()
        });
        self
    }
}

/// Actors of the listing.
const TEST: u64 = 0;
const ACTION: u64 = 101;
const WRITER: u64 = 102;
const TERMINATOR: u64 = 103;
const ACTION_2: u64 = 104;

/// The execution of Figure 2: execute, write, action done, flush, flushed.
fn figure() -> Run {
    let [ex, w, ad, fl, fd] = [1, 2, 3, 4, 5];
    let mut made = Made::new();
    made.receive(ex, TEST, ACTION, 0)
        .receive(w, ACTION, WRITER, ex)
        .receive(ad, ACTION, TERMINATOR, ex)
        .receive(fl, TERMINATOR, WRITER, ad)
        .receive(fd, WRITER, TERMINATOR, fl);
    made.run.clone()
}

fn pairs(run: &Run, must: &MustHappen) -> Vec<(u64, u64)> {
    let id = |place: usize| run.received[place].identity;
    let mut pairs = Vec::new();
    for later in 0..run.received.len() {
        pairs.extend((0..later).filter(|&e| must.is_before(e, later)).map(|e| (id(e), id(later))));
    }
    pairs
}

#[test]
fn the_constraints_of_the_figure_are_those_of_the_paper() {
    let run = figure();
    let must = MustHappen::new(&run, Causality::Possible);
    // Causality has (ex, w), (ex, ad), (ad, fl), (fl, fd) and (w, fd); the rest is their closure.
    let [ex, w, ad, fl, fd] = [1, 2, 3, 4, 5];
    let direct = [(ex, w), (ex, ad), (ad, fl), (fl, fd), (w, fd)];
    let closure = [(ex, fl), (ex, fd), (ad, fd)];
    let mut wanted: Vec<_> = direct.into_iter().chain(closure).collect();
    wanted.sort_unstable();
    let mut found = pairs(&run, &must);
    found.sort_unstable();
    assert_eq!(found, wanted);
    // `w` only may have been a cause of `fd`.
    let certain = pairs(&run, &MustHappen::new(&run, Causality::Certain));
    assert!(!certain.contains(&(w, fd)) && certain.contains(&(fl, fd)), "{certain:?}");
}

#[test]
fn two_writes_of_one_action_keep_their_order() {
    let [ex, w1, w2] = [1, 2, 3];
    let mut made = Made::new();
    made.receive(ex, TEST, ACTION, 0)
        .receive(w1, ACTION, WRITER, ex)
        .receive(w2, ACTION, WRITER, ex);
    for causality in [Causality::Possible, Causality::Certain] {
        assert!(MustHappen::new(&made.run, causality).is_before(1, 2));
    }
    made.run.received[2].order = MailboxOrder::Unordered;
    made.run.received[1].order = MailboxOrder::Unordered;
    assert!(!MustHappen::new(&made.run, Causality::Possible).is_before(1, 2));
}

/// An actor that receives w1, w2 and fl from three senders, in this order.
fn writer(order: [u64; 3]) -> Run {
    let mut made = Made::new();
    for id in order {
        made.receive(id, 200 + id, WRITER, 0);
    }
    made.run.clone()
}

const W1: u64 = 1;
const W2: u64 = 2;
const FL: u64 = 3;

#[test]
fn the_writer_has_six_goals_and_the_schedules_of_the_paper_cover_them() {
    let pr = [[W1, W2, FL], [FL, W2, W1]];
    let mut orders = Orders::default();
    for order in &pr {
        _ = orders.learn(&writer(*order));
    }
    let counts = orders.counts();
    assert_eq!((counts.goals[0], counts.covered[0], counts.pairs[0]), (6, 3, 3));
    let pcr = [[W1, W2, FL], [FL, W2, W1], [W1, FL, W2], [FL, W1, W2]];
    let mut orders = Orders::default();
    let at = Criterion::Pcr.index();
    let new = pcr.map(|order| orders.learn(&writer(order))[at]);
    assert_eq!(new.iter().sum::<u64>(), 6);
    assert_eq!((orders.counts().goals[at], orders.counts().covered[at]), (6, 3));
}

/// The executions of a whole search, if what a schedule leaves open comes after it; the first among them.
fn rounds(first: &Run, criterion: Criterion) -> Vec<Vec<u64>> {
    let ids = |places: &Vec<u32>| -> Vec<u64> {
        places.iter().map(|&place| first.received[place as usize].identity).collect()
    };
    let itself: Vec<u32> = (0..first.received.len() as u32).collect();
    let schedules = rehearse(first, criterion, 100);
    std::iter::once(&itself).chain(&schedules).map(ids).collect()
}

#[test]
fn two_schedules_cover_pr_and_four_cover_pcr() {
    let first = writer([W1, W2, FL]);
    assert_eq!(rounds(&first, Criterion::Pr), [[W1, W2, FL], [FL, W2, W1]]);
    let pcr = rounds(&first, Criterion::Pcr);
    assert_eq!(pcr.len(), 4, "{pcr:?}");
}

#[test]
fn a_flush_that_changes_the_behaviour_needs_two_schedules() {
    let mut first = writer([W1, W2, FL]);
    first.received[2].became = true;
    let schedules = rounds(&first, Criterion::Pbr);
    assert_eq!(schedules.len(), 2, "{schedules:?}");
}

#[test]
fn the_example_with_two_actions_swaps_three_pairs_in_one_schedule() {
    // s = ex1 w1 ex2 w2 ad1 ad2 fl fd
    let [ex1, w1, ex2, w2, ad1, ad2, fl, fd] = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut made = Made::new();
    made.receive(ex1, TEST, ACTION, 0)
        .receive(w1, ACTION, WRITER, ex1)
        .receive(ex2, TEST, ACTION_2, 0)
        .receive(w2, ACTION_2, WRITER, ex2)
        .receive(ad1, ACTION, TERMINATOR, ex1)
        .receive(ad2, ACTION_2, TERMINATOR, ex2)
        .receive(fl, TERMINATOR, WRITER, ad2)
        .receive(fd, WRITER, TERMINATOR, fl);
    let run = made.run;
    let mut orders = Orders::default();
    orders.learn(&run);
    let mut generator = Generator::new(&run, &orders);
    generator.know(&senders(&run).collect());
    let planned = generator.plan(&run, &orders, Criterion::Pr, &|_| false).expect("a schedule");
    let ids: Vec<u64> =
        planned.places.iter().map(|&place| run.received[place as usize].identity).collect();
    assert_eq!(planned.goal, [w2, w1, 0]);
    // The paper has ex1 ex2 w2 ad1 ad2 fl w1, which shows two new orders; this one shows three.
    assert_eq!(ids, [ex1, ex2, ad1, ad2, fl, w2, w1]);
}

#[test]
fn what_others_have_shown_is_added() {
    let (mut one, mut other) = (Orders::default(), Orders::default());
    one.learn(&writer([W1, W2, FL]));
    other.learn(&writer([FL, W2, W1]));
    let mut both = Orders::default();
    both.learn(&writer([W1, W2, FL]));
    both.learn(&writer([FL, W2, W1]));
    one.merge(&other);
    assert_eq!(one.counts(), both.counts());
}
