//! What it takes to plan schedules of a long execution: must-happen-before of 10,000 receives, and the first 100
//! schedules, each made after the one before it was followed.

use std::time::Duration;

use peer::cpu_time;
use raddle_search::receives::{
    Causality, Criterion, MailboxOrder, MustHappen, Received, Run, rehearse,
};

use crate::table::{Comparison, Table};

const RECEIVES: u64 = 10_000;
const SCHEDULES: usize = 100;
const TIMES: u32 = 3;

/// Clients that write to servers, which answer the writes of each client in turn: so many receives in all.
fn execution(receives: u64, servers: u64, order: MailboxOrder) -> Run {
    let mut run = Run::default();
    let mut add = |identity: u64, sender: u64, receiver: u64, sent_in: u64| {
        run.received.push(Received {
            identity,
            message: identity,
            sender,
            receiver,
            by: receiver,
            sent_in,
            order,
            counted: true,
            ..Received::default()
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

pub(crate) fn table(progress: &dyn Fn(&str)) -> Table {
    let header = ["mailboxes", "servers", "schedules", "CPU time", "must-happen-before"];
    let mut table = Table {
        title: "Planning for a long execution".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    for (name, order) in [("pairs", MailboxOrder::Pairs), ("queue", MailboxOrder::Queue)] {
        for servers in [1, 10] {
            progress(&format!("{RECEIVES} receives ({name}, {servers} servers)"));
            let run = execution(RECEIVES, servers, order);
            let bytes = MustHappen::new(&run, Causality::Possible).bytes();
            let mut least = Duration::MAX;
            let mut made = 0;
            for _ in 0..TIMES {
                let begin = cpu_time();
                made = rehearse(&run, Criterion::Pr, SCHEDULES).len();
                least = least.min(cpu_time().saturating_sub(begin));
            }
            table.comparisons.push(Comparison {
                table: "bita-planning",
                row: format!("{name}, {servers} servers"),
                column: "seconds".to_owned(),
                ours: Some(least.as_secs_f64()),
                peer: None,
                ratio: None,
            });
            table.rows.push(vec![
                name.to_owned(),
                servers.to_string(),
                made.to_string(),
                format!("{:.2} s", least.as_secs_f64()),
                format!("{} KiB", bytes >> 10),
            ]);
        }
    }
    table.notes.push(format!(
        "An execution of {RECEIVES} receives, made by hand: 100 clients that write to servers, which answer. The CPU time is that of \
         must-happen-before and of the first {SCHEDULES} schedules by PR together, each made when the execution of the one before it \
         was learned; the least of {TIMES} runs. The size is that of the relation, the largest part of what is kept."
    ));
    table
}
