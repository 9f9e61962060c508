//! Two-phase commit.

use raddle_corpus::protocols::two_phase_commit::{Bug, Participant, Size, model};

use super::{finds, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { participants: 2, transactions: 2, crashes: 1, pause: 0 };

#[test]
fn two_phase_commit_is_clean() {
    is_clean("2pc", "random", 2_000);
    is_clean("2pc", "pct(3)", 500);
    is_clean("2pc", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn transactions_are_committed_by_all() {
    let goal = model(Bug::None, SMALL).sometimes("all have committed one", |nodes, view| {
        let committed = |one| view.actor::<Participant>(one).committed();
        nodes.participants.iter().all(|one| committed(one) > 0)
    });
    reaches_its_goals(&goal);
}

#[test]
fn the_states_of_one_transaction_of_two_participants_are_clean() {
    let one = Size { transactions: 1, crashes: 0, ..SMALL };
    assert_eq!(has_clean_states(&model(Bug::None, one), 20_000), Some(1_877));
}

#[test]
fn a_decision_about_what_it_was_not_asked_is_found() {
    finds("2pc-abort-of-unknown", "random", 2_000, "has no use for Decision");
}

#[test]
fn a_vote_that_is_late_is_found() {
    finds("2pc-late-vote", "random", 2_000, "a vote comes while it is counted");
}

#[test]
fn votes_for_another_transaction_are_found() {
    finds("2pc-old-votes", "random", 2_000, "is committed");
}

#[test]
fn a_decision_that_is_not_on_the_disk_is_found() {
    finds("2pc-tells-before-it-logs", "random", 2_000, "is committed and aborted");
}
