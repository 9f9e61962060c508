//! A register with a primary and backups.

use raddle::actors::System;
use raddle_corpus::protocols::linearizable::History;
use raddle_corpus::protocols::primary_backup::{Bug, Server, Size, agree, build, model};

use super::{finds, has_clean_states, is_clean, on_threads, reaches_its_goals};

const SMALL: Size = Size { servers: 3, clients: 2, operations: 2, failures: 1 };

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
    finds("primary-backup-replies-early", "random", 1_000, "not linearizable");
    finds("primary-backup-dirty-read", "pct(3)", 2_000, "not linearizable");
    finds("primary-backup-no-sync", "random", 500, "writes come in order and once");
}

#[test]
fn the_register_with_backups_is_linearizable_on_threads() {
    on_threads(|system: &System| {
        let size = Size { servers: 5, clients: 4, operations: 20, failures: 4 };
        let history = system.spawn(History::default());
        let nodes = build(system, Bug::None, size, Some(&history));
        system.handle_all();
        let returned = system.inspect(&history, |history: &History| history.returned());
        assert_eq!(returned, Some(size.clients * size.operations));
        let server = |address| system.inspect(address, |one: &Server| one.clone());
        assert!(agree(&nodes.servers.iter().map(server).collect::<Vec<_>>()));
    });
}
