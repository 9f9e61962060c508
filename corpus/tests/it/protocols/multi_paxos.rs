//! Multi-Paxos.

use raddle_corpus::protocols::multi_paxos::{Bug, Replica, Size, model};

use super::{finds, follow, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { replicas: 3, elections: 1, commands: 3, crashes: 1, pause: 0 };

#[test]
fn multi_paxos_is_clean() {
    is_clean("multi-paxos", "random", 2_000);
    is_clean("multi-paxos", "pct(3)", 500);
    is_clean("multi-paxos", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn replicas_apply_what_is_chosen() {
    let goal = model(Bug::None, SMALL).sometimes("all have applied one", |nodes, view| {
        let slots = |one| view.actor::<Replica>(one).applied().slots;
        nodes.replicas.iter().all(|one| slots(one) > 0)
    });
    reaches_its_goals(&goal);
}

#[test]
fn a_refusal_that_comes_late_is_found() {
    finds("multi-paxos-second-refusal", "random", 2_000, "has no use for Refused");
}

/// Replica 0 leads with the promises of all, and the time of replica 2 is over.
const TWO_BALLOTS: &str = "
    replica 0: Replicas
    replica 1: Replicas
    replica 2: Replicas
    Timer 1: Start
    Timer 1: Tick = 1
    replica 0: Timeout
    replica 0: Send
    replica 0: Send
    replica 1: Prepare
    replica 2: Prepare
    replica 0: Promise
    replica 0: Promise
    Timer 3: Start
    Timer 3: Tick = 1
    replica 2: Timeout
";

// Replica 0 compacts slot 1 and is asked by replica 2 as if nothing had been.
#[test]
fn a_slot_that_is_compacted_is_used_again() {
    let rest = "
        client: Next = 0
        replica 0: Command
        replica 0: Send
        replica 1: Accept
        replica 0: Send
        replica 0: Accepted
        replica 2: Send
        replica 0: Send
        replica 0: Prepare
        replica 2: Accept
        replica 2: Send
        replica 2: Promise
        client: Next = 2
        replica 2: Command
        replica 2: Send
        replica 0: Send
        replica 0: Refused
        replica 0: Accept
    ";
    let script = TWO_BALLOTS.to_owned() + rest;
    let what = follow(&model(Bug::SilentCompaction, SMALL), &script);
    assert!(what.contains("two values are chosen in slot 1"), "{what}");
}

// Replica 1 is down for slot 1 and votes for slot 2, of which replica 2 learns by its promise.
#[test]
fn a_slot_after_a_gap_is_used_again() {
    let rest = "
        client: Next = 0
        replica 0: Command
        injector: Strike(0) = 0
        injector: Strike(1) = 1
        replica 1: Crash
        replica 0: Send
        replica 1: Accept
        injector: Repair
        replica 1: Restart
        client: Next = 0
        replica 0: Send
        replica 0: Command
        replica 0: Send
        replica 1: Accept
        replica 2: Send
        replica 2: Accept
        replica 2: Send
        replica 1: Prepare
        replica 2: Promise
        client: Next = 2
        replica 2: Send
        replica 2: Command
        replica 2: Send
        replica 2: Send
        replica 2: Send
        replica 1: Accept
        replica 1: Accept
    ";
    let script = TWO_BALLOTS.to_owned() + rest;
    let what = follow(&model(Bug::SlotsByCount, SMALL), &script);
    assert!(what.contains("two values are chosen in slot 2"), "{what}");
}
