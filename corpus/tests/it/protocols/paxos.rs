//! Single-decree Paxos.

use raddle::actors::System;
use raddle_corpus::protocols::paxos::{Bug, Proposer, Size, agree, build, model};

use super::{finds, has_clean_states, is_clean, on_threads};

const SMALL: Size = Size { proposers: 2, acceptors: 3, rounds: 2, crashes: 1 };

#[test]
fn paxos_is_clean() {
    is_clean("paxos", "random", 2_000);
    is_clean("paxos", "pct(3)", 500);
    is_clean("paxos", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn every_bug_of_paxos_is_found() {
    finds("paxos-stale-promise", "random", 50, "has no use for Promise");
    finds("paxos-any-value", "random", 5_000, "two values are chosen");
    finds("paxos-forgets-promise", "random", 5_000, "two values are chosen");
}

#[test]
fn paxos_runs_on_threads() {
    on_threads(|system: &System| {
        let size = Size { proposers: 5, acceptors: 5, rounds: 10, crashes: 10 };
        let nodes = build(system, Bug::None, size);
        system.handle_all();
        let proposer = |address| system.inspect(address, |one: &Proposer| one.clone());
        assert!(agree(&nodes.proposers.iter().map(proposer).collect::<Vec<_>>()));
    });
}
