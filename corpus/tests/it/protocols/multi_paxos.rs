//! Multi-Paxos.

use raddle::actors::System;
use raddle_corpus::protocols::multi_paxos::{Bug, Replica, Size, agree, build, model};

use super::{finds, has_clean_states, is_clean, on_threads};

const SMALL: Size = Size { replicas: 3, elections: 1, commands: 3, crashes: 1 };

#[test]
fn multi_paxos_is_clean() {
    is_clean("multi-paxos", "random", 2_000);
    is_clean("multi-paxos", "pct(3)", 500);
    is_clean("multi-paxos", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn every_bug_of_multi_paxos_is_found() {
    finds("multi-paxos-second-refusal", "random", 5_000, "has no use for Refused");
    finds("multi-paxos-silent-compaction", "random", 5_000, "two values are chosen");
    finds("multi-paxos-slots-by-count", "random", 5_000, "two values are chosen");
}

#[test]
fn multi_paxos_runs_on_threads() {
    on_threads(|system: &System| {
        let size = Size { replicas: 5, elections: 10, commands: 50, crashes: 10 };
        let nodes = build(system, Bug::None, size);
        system.handle_all();
        let replica = |address| system.inspect(address, |one: &Replica| one.clone());
        assert!(agree(&nodes.replicas.iter().map(replica).collect::<Vec<_>>()));
    });
}
