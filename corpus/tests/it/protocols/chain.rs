//! Chain replication.

use raddle::actors::System;
use raddle_corpus::protocols::chain::{Bug, Client, Server, Size, agree, build, model};

use super::{finds, has_clean_states, is_clean, on_threads, reaches_its_goals};

const SMALL: Size = Size { servers: 4, clients: 1, operations: 2, failures: 2 };

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
    let one = Size { servers: 3, clients: 1, operations: 1, failures: 1 };
    assert_eq!(has_clean_states(&model(Bug::None, one), 20_000), Some(718));
}

#[test]
fn messages_that_the_chain_does_not_expect_are_found() {
    finds("chain-repeated-reply", "random", 50, "has no use for Reply");
    finds("chain-stale-link", "random", 50, "has no use for Linked");
    finds("chain-early-clients", "random", 50, "has no use for Update");
}

#[test]
fn panics_of_the_chain_are_found() {
    finds("chain-resends-all", "pct(3)", 500, "updates come in order and once");
    finds("chain-place-by-number", "random", 50, "removal index");
    finds("chain-acks-one-by-one", "pct(3)", 100, "updates are acknowledged one by one");
}

#[test]
fn wrong_histories_of_the_chain_are_found() {
    finds("chain-loses-in-flight", "random", 50, "\"all agree\" does not hold");
    finds("chain-repeats-update", "random", 50, "is applied twice");
    finds("chain-dirty-reply", "random", 200, "was returned before");
    finds("chain-deaf-during-repair", "random", 50, "\"all agree\" does not hold");
}

#[test]
fn chain_replication_runs_on_threads() {
    on_threads(|system: &System| {
        let size = Size { servers: 6, clients: 4, operations: 50, failures: 5 };
        let nodes = build(system, Bug::None, size);
        system.handle_all();
        let server = |address| system.inspect(address, |one: &Server| one.clone());
        let servers: Vec<_> = nodes.servers.iter().map(server).collect();
        let client = |address| system.inspect(address, |one: &Client| one.clone());
        let clients: Vec<_> = nodes.clients.iter().map(client).collect();
        assert!(agree(&servers, &clients));
    });
}
