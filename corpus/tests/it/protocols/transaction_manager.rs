//! The transaction manager.

use raddle::actors::{System, View};
use raddle_corpus::protocols::transaction_manager::{
    Bug, Nodes, Resource, Size, agree, build, model,
};

use super::{finds, has_clean_states, is_clean, on_threads, reaches_its_goals};

const SMALL: Size = Size { resources: 2, acceptors: 3, leaders: 2, transactions: 1, failures: 1 };

#[test]
fn the_transaction_manager_is_clean() {
    is_clean("transactions", "random", 2_000);
    is_clean("transactions", "pct(3)", 500);
    is_clean("transactions", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn a_transaction_is_committed_or_aborted() {
    let ends = |commit| {
        move |nodes: &Nodes, view: &View<'_>| {
            let outcome = |one| view.actor::<Resource>(one).outcomes().get(&0);
            nodes.resources.iter().all(|one| outcome(one) == Some(&commit))
        }
    };
    let goals = model(Bug::None, SMALL)
        .sometimes("committed", ends(true))
        .sometimes("aborted", ends(false));
    reaches_its_goals(&goals);
}

#[test]
fn every_bug_of_the_transaction_manager_is_found() {
    finds("transactions-before-ask", "random", 50, "has no use for Outcome");
    finds("transactions-unknown", "random", 200, "votes come after the beginning");
    finds("transactions-skips-phase-one", "random", 50, "two");
    finds("transactions-late-vote", "random", 500, "two");
}

#[test]
fn the_transaction_manager_runs_on_threads() {
    on_threads(|system: &System| {
        let size = Size { resources: 4, acceptors: 5, leaders: 3, transactions: 20, failures: 2 };
        let nodes = build(system, Bug::None, size);
        system.handle_all();
        let resource = |address| system.inspect(address, |one: &Resource| one.clone());
        assert!(agree(&nodes.resources.iter().map(resource).collect::<Vec<_>>()));
    });
}
