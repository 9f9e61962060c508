//! Raft.

use raddle_corpus::protocols::raft::{Bug, Server, Size, model};

use super::{follow, has_clean_states, is_clean, reaches_its_goals};

const SMALL: Size = Size { servers: 3, elections: 2, commands: 2, crashes: 1, pause: 0 };

#[test]
fn raft_is_clean() {
    is_clean("raft", "random", 2_000);
    is_clean("raft", "pct(3)", 500);
    is_clean("raft", "dpor", 500);
    assert_eq!(has_clean_states(&model(Bug::None, SMALL), 20_000), None);
}

#[test]
fn entries_are_committed() {
    let goal = model(Bug::None, SMALL).sometimes("one has committed one", |nodes, view| {
        nodes.servers.iter().any(|one| !view.actor::<Server>(one).committed().is_empty())
    });
    reaches_its_goals(&goal);
}

// Servers 0 and 1 are candidates in term 1, and server 2 votes for both.
#[test]
fn a_vote_that_is_forgotten_is_given_again() {
    let script = "
        server 0: Servers
        server 1: Servers
        server 2: Servers
        Timer 1: Start
        Timer 1: Tick = 1
        Timer 2: Start
        Timer 2: Tick = 1
        server 0: Timeout
        server 1: Timeout
        server 0: Send
        server 0: Send
        server 2: RequestVote
        server 0: Vote
        injector: Strike(0) = 0
        injector: Strike(1) = 0
        injector: Strike(2) = 1
        server 2: Crash
        injector: Repair
        server 2: Restart
        server 1: Send
        server 1: RequestVote
        server 1: Send
        server 2: RequestVote
        server 1: Vote
    ";
    let what = follow(&model(Bug::VotesTwice, SMALL), script);
    assert!(what.contains("term 1 has two leaders"), "{what}");
}

// Server 1 has the entry of server 0, leads in term 2, and sends twice to server 2, which has none.
#[test]
fn a_leader_that_is_refused_twice_goes_back_too_far() {
    let rest = "
        client: Next = 0
        server 0: Send
        server 0: Command
        server 0: Send
        server 1: Append
        server 1: Append
        Timer 2: Start
        Timer 2: Tick = 1
        server 1: Timeout
        server 1: Send
        server 1: Send
        server 2: RequestVote
        server 2: RequestVote
        server 1: Vote
        server 1: Send
        server 1: Send
        client: Next = 1
        server 1: Command
        server 1: Send
        server 1: Send
        server 2: Append
        server 2: Append
        server 1: Appended
        server 1: Appended
    ";
    let script = FIRST_TERM.to_owned() + rest;
    let what = follow(&model(Bug::BackTwice, SMALL), &script);
    assert!(what.contains("a log begins at 1"), "{what}");
}

/// All know all, and server 0 is elected in term 1 by server 1.
const FIRST_TERM: &str = "
    server 0: Servers
    server 1: Servers
    server 2: Servers
    Timer 1: Start
    Timer 1: Tick = 1
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
        Timer 3: Tick = 1
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
        Timer 1: Tick = 1
        Timer 1: Tick = 1
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
        Timer 3: Tick = 1
        Timer 3: Tick = 1
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
