//! A register with a primary and backups.

use raddle_corpus::protocols::primary_backup::{Bug, Server, Size, model};

use super::{finds, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { servers: 3, clients: 2, operations: 2, failures: 1, pause: 0 };

#[test]
fn the_register_with_backups_is_clean() {
    is_clean("primary-backup", "random", 2_000);
    is_clean("primary-backup", "pct(3)", 500);
    is_clean("primary-backup", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn a_new_primary_goes_on_with_the_writes_of_the_old_one() {
    let goal = model(Bug::None, SMALL).sometimes("the second has three", |nodes, view| {
        let server = |number: usize| view.actor::<Server>(&nodes.servers[number]);
        server(0).is_down() && server(1).register().version() == 3
    });
    reaches_its_goals(&goal);
}

#[test]
fn every_bug_of_the_register_with_backups_is_found() {
    finds("primary-backup-replies-early", "random", 2_000, "not linearizable");
    finds("primary-backup-dirty-read", "pct(3)", 2_000, "not linearizable");
    finds("primary-backup-no-sync", "random", 2_000, "writes come in order and once");
}
