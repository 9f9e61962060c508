//! Raft.

use raddle::actors::System;
use raddle_corpus::protocols::raft::{Bug, Server, Size, agree, build, model};

use super::{finds, follow, has_clean_states, is_clean, on_threads};

const SMALL: Size = Size { servers: 3, elections: 2, commands: 2, crashes: 1 };

#[test]
fn raft_is_clean() {
    is_clean("raft", "random", 2_000);
    is_clean("raft", "pct(3)", 500);
    is_clean("raft", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn two_votes_of_one_server_in_one_term_are_found() {
    finds("raft-votes-twice", "random", 5_000, "has two leaders");
}

#[test]
fn a_leader_that_goes_back_too_far_is_found() {
    finds("raft-back-twice", "random", 5_000, "a log begins at 1");
}

/// All know all, and server 0 is elected in term 1 by server 1.
const FIRST_TERM: &str = "
    server 0: Servers
    server 1: Servers
    server 2: Servers
    Timer 1: Start
    Timer 1: Tick
    server 0: Timeout
    server 0: Send
    server 0: Send
    server 1: RequestVote
    server 0: Vote
";

// Figure 8 of the paper, with three servers: server 0 leads in terms 1 and 3, server 2 in 2 and 4.
#[test]
fn what_is_committed_of_an_earlier_term_is_replaced() {
    let rest = "
        client: Next = 0
        server 0: Send
        server 0: Command
        server 2: RequestVote
        Timer 3: Start
        Timer 3: Tick
        server 2: Timeout
        server 2: Send
        server 2: Send
        server 1: Append
        server 1: RequestVote
        server 2: Vote
        client: Next = 2
        server 2: Send
        server 2: Command
        server 0: Send
        server 0: Vote
        server 0: RequestVote
        server 0: Appended
        server 0: Append
        server 0: Send
        Timer 1: Start
        Timer 1: Start
        Timer 1: Tick
        Timer 1: Tick
        server 0: Timeout
        server 0: Send
        server 0: Send
        server 1: Append
        server 1: RequestVote
        server 0: Appended
        server 0: Vote
        server 0: Send
        server 1: Append
        server 0: Send
        server 0: Appended
        server 1: Append
        server 0: Appended
        server 2: Send
        server 2: Vote
        server 2: Appended
        server 2: RequestVote
        server 2: Append
        server 2: Send
        Timer 3: Start
        Timer 3: Start
        Timer 3: Tick
        Timer 3: Tick
        server 2: Timeout
        server 2: Send
        server 2: Send
        server 1: RequestVote
        server 2: Vote
        server 2: Send
        server 2: Send
        server 1: Append
        server 2: Appended
        server 1: Append
        server 2: Appended
    ";
    let script = FIRST_TERM.to_owned() + rest;
    let what = follow(&model(Bug::CommitsOldTerms, SMALL), &script);
    assert!(what.contains("two entries are committed"), "{what}");
}

#[test]
fn raft_runs_on_threads() {
    on_threads(|system: &System| {
        let size = Size { servers: 5, elections: 20, commands: 50, crashes: 10 };
        let nodes = build(system, Bug::None, size);
        system.handle_all();
        let server = |address| system.inspect(address, |one: &Server| one.clone());
        assert!(agree(&nodes.servers.iter().map(server).collect::<Vec<_>>()));
    });
}
