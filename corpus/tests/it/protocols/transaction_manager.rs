//! The transaction manager.

use raddle::actors::View;
use raddle_corpus::protocols::transaction_manager::{Bug, Nodes, Resource, Size, model};

use super::{finds, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size =
    Size { resources: 2, acceptors: 3, leaders: 2, transactions: 1, failures: 1, pause: 0 };

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
    finds("transactions-before-ask", "random", 2_000, "has no use for Outcome");
    finds("transactions-unknown", "random", 2_000, "votes come after the beginning");
    finds("transactions-skips-phase-one", "random", 2_000, "two");
    finds("transactions-late-vote", "random", 2_000, "two");
}
