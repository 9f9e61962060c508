//! Chain replication.

use raddle_corpus::protocols::chain::{Bug, Server, Size, model};

use super::{finds, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { servers: 4, clients: 1, operations: 2, failures: 2, pause: 0 };

#[test]
fn chain_replication_is_clean() {
    is_clean("chain", "random", 2_000);
    is_clean("chain", "pct(3)", 500);
    is_clean("chain", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn updates_reach_all_servers_that_have_not_failed() {
    let goal = model(Bug::None, SMALL).sometimes("two are down, two have both", |nodes, view| {
        let server = |one| view.actor::<Server>(one);
        let (down, up): (Vec<_>, Vec<_>) =
            nodes.servers.iter().map(server).partition(|one| one.is_down());
        down.len() == 2 && up.iter().all(|one| one.version() == 2)
    });
    reaches_its_goals(&goal);
}

#[test]
fn the_states_of_one_operation_and_one_failure_in_a_chain_of_three_are_clean() {
    let one = Size { servers: 3, clients: 1, operations: 1, failures: 1, pause: 0 };
    assert_eq!(has_clean_states(&model(Bug::None, one), 20_000), Some(926));
}

#[test]
fn messages_that_the_chain_does_not_expect_are_found() {
    finds("chain-repeated-reply", "random", 2_000, "has no use for Reply");
    finds("chain-stale-link", "random", 2_000, "has no use for Linked");
    finds("chain-early-clients", "random", 2_000, "has no use for Update");
}

#[test]
fn panics_of_the_chain_are_found() {
    finds("chain-resends-all", "pct(3)", 2_000, "updates come in order and once");
    finds("chain-gap-by-place", "random", 2_000, "a gap is where it was");
    finds("chain-acks-one-by-one", "pct(3)", 2_000, "updates are acknowledged one by one");
}

#[test]
fn wrong_histories_of_the_chain_are_found() {
    finds("chain-loses-in-flight", "random", 2_000, "\"all agree\" does not hold");
    finds("chain-repeats-update", "random", 2_000, "is applied twice");
    finds("chain-dirty-reply", "random", 2_000, "was returned before");
    finds("chain-deaf-during-repair", "random", 2_000, "\"all agree\" does not hold");
}
