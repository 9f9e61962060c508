//! Single-decree Paxos.

use raddle_corpus::protocols::paxos::{Bug, Proposer, Size, model};

use super::{finds, follow, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { proposers: 2, acceptors: 3, rounds: 2, crashes: 1, pause: 0 };

#[test]
fn paxos_is_clean() {
    is_clean("paxos", "random", 2_000);
    is_clean("paxos", "pct(3)", 500);
    is_clean("paxos", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn values_are_chosen_and_learned() {
    let goal = model(Bug::None, SMALL).sometimes("one learns a value", |nodes, view| {
        nodes.proposers.iter().any(|one| view.actor::<Proposer>(one).chosen().is_some())
    });
    reaches_its_goals(&goal);
}

#[test]
fn a_promise_of_an_earlier_round_is_found() {
    finds("paxos-stale-promise", "random", 2_000, "has no use for Promise");
}

/// Proposer 0 has the promises of acceptors 0 and 1, and so has proposer 1 after it.
const BOTH_ARE_PROMISED: &str = "
    proposer 0: Propose
    proposer 0: Send
    proposer 0: Send
    proposer 0: Send
    acceptor 0: Prepare
    acceptor 1: Prepare
    proposer 0: Promise
    proposer 0: Promise
    proposer 1: Propose
    proposer 1: Send
    proposer 1: Send
    acceptor 0: Prepare
    acceptor 1: Prepare
";

// Acceptor 2 alone accepts the value of proposer 0, which then takes it over in place of the chosen one.
#[test]
fn a_value_that_is_not_the_newest_is_chosen_as_well() {
    let rest = "
        proposer 0: Send
        proposer 0: Send
        proposer 0: Send
        acceptor 2: Prepare
        acceptor 2: Accept
        proposer 1: Send
        proposer 1: Promise
        proposer 1: Promise
        proposer 1: Send
        proposer 1: Send
        acceptor 0: Accept
        acceptor 0: Accept
        acceptor 1: Accept
        acceptor 1: Accept
        proposer 0: Promise
        proposer 0: Accepted
        proposer 0: Refused
        proposer 0: Refused
        proposer 0: Send
        proposer 0: Send
        proposer 0: Send
        acceptor 0: Prepare
        acceptor 2: Prepare
        acceptor 2: Prepare
        proposer 0: Promise
        proposer 0: Promise
        proposer 0: Send
        proposer 0: Send
        proposer 0: Send
        acceptor 0: Accept
        acceptor 2: Accept
    ";
    let script = BOTH_ARE_PROMISED.to_owned() + rest;
    let what = follow(&model(Bug::AnyValue, SMALL), &script);
    assert!(what.contains("two values are chosen"), "{what}");
}

// Acceptor 1 accepts the lower ballot after it has promised the higher one.
#[test]
fn a_promise_that_is_forgotten_is_broken() {
    let rest = "
        injector: Strike(0) = 0
        injector: Strike(1) = 1
        acceptor 1: Crash
        injector: Repair
        acceptor 1: Restart
        proposer 0: Send
        proposer 0: Send
        proposer 0: Send
        acceptor 1: Accept
        acceptor 2: Prepare
        acceptor 2: Accept
        proposer 1: Send
        proposer 1: Promise
        proposer 1: Promise
        proposer 1: Send
        proposer 1: Send
        acceptor 0: Accept
        acceptor 0: Accept
        acceptor 1: Accept
    ";
    let script = BOTH_ARE_PROMISED.to_owned() + rest;
    let what = follow(&model(Bug::ForgetsPromise, SMALL), &script);
    assert!(what.contains("two values are chosen"), "{what}");
}
