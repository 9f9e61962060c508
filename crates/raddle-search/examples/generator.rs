//! What it takes to plan schedules for a long execution: must-happen-before of 10,000 receives, and the first 100
//! schedules, each made after the one before it was followed.
//!
//! `cargo run --release -p raddle-search --example generator`

use std::time::Instant;

use raddle_search::receives::{
    Causality, Criterion, MailboxOrder, MustHappen, Received, Run, rehearse,
};

/// Clients that write to servers, which answer the writes of each client in turn: `receives` in all.
fn execution(receives: u64, servers: u64, order: MailboxOrder) -> Run {
    let mut run = Run::default();
    let mut add = |identity: u64, sender: u64, receiver: u64, sent_in: u64| {
        run.received.push(Received {
            identity,
            message: identity,
            sender,
            receiver,
            sent_in,
            nth: 0,
            sent_after: 0,
            settled: 0,
            answered_by: 0,
            system: 0,
            order,
            counted: true,
            passes: false,
            became: false,
            created: Vec::new(),
            values: Vec::new(),
        });
    };
    let clients = 100;
    for round in 0..receives / 2 {
        let (client, server) = (1_000 + round % clients, 1 + round % servers);
        // The client hears of the last answer, or of the test, and writes; the server answers.
        let before = if round < clients { 0 } else { 2 * (round - clients) + 2 };
        add(2 * round + 1, client, server, before);
        add(2 * round + 2, server, client, 2 * round + 1);
    }
    run
}

#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures, and says so")]
fn main() {
    for order in [MailboxOrder::Pairs, MailboxOrder::Queue] {
        for servers in [1, 10] {
            let run = execution(10_000, servers, order);
            let began = Instant::now();
            let must = MustHappen::new(&run, Causality::Possible);
            let relation = began.elapsed();
            let began = Instant::now();
            let schedules = rehearse(&run, Criterion::Pr, 100);
            println!(
                "{order:?}, {servers} servers: must-happen-before of {} receives in {relation:?}, {} KiB; {} schedules \
                 in {:?}, with it",
                run.received.len(),
                must.bytes() >> 10,
                schedules.len(),
                began.elapsed(),
            );
        }
    }
}
