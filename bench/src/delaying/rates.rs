//! States per second, and bytes per state.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^52"
)]

use std::time::Duration;

use peer::cpu_time;
use raddle::actors::{States, Visited};
use raddle::explorer::Explorer;
use raddle_corpus::program::{Program, Visit};
use raddle_corpus::protocols::PROTOCOLS;

use raddle_search::explorers::QueueOfProcesses;

use crate::numbers::grouped;
use crate::table::Table;

/// What one search over states came to.
struct Rate {
    states: u64,
    cpu: Duration,
    /// Of what had been seen and of what was to be gone on from, when the search was last asked.
    bytes: usize,
    waiting: u64,
}

fn visit(program: &Program, arguments: &[usize], states: States, most: u64) -> Option<Rate> {
    let begin = cpu_time();
    let mut last = None;
    let mut go_on = |visited: Visited| {
        last = Some(visited);
        true
    };
    let searched = program.visit(arguments, Visit::new(states.states(most), &mut go_on))?.ok()?;
    let cpu = cpu_time().saturating_sub(begin);
    let last = last?;
    Some(Rate { states: searched.unique, cpu, bytes: last.bytes, waiting: last.waiting })
}

/// The correct protocols, so many states of each.
pub(crate) fn measure(quick: bool, progress: &dyn Fn(&str)) -> Table {
    let most = if quick { 5_000 } else { 100_000 };
    let header = [
        "protocol",
        "search",
        "states",
        "states per CPU second",
        "bytes per state",
        "waiting at the end",
    ];
    let mut table = Table {
        title: "States per second".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        ..Table::default()
    };
    for protocol in PROTOCOLS {
        let program = &protocol.test.correct;
        progress(&format!("rates: {}", program.name));
        let rr = Explorer::new("rr", QueueOfProcesses::default());
        for (name, states) in [
            ("breadth first", States::breadth_first()),
            ("strata of rr", States::strata(rr.clone())),
            ("strata of rr, exact", States::strata(rr).exact()),
        ] {
            let Some(rate) = visit(program, &program.defaults(), states, most) else { continue };
            let per_second = rate.states as f64 / rate.cpu.as_secs_f64().max(1e-9);
            table.rows.push(vec![
                program.name.to_owned(),
                name.to_owned(),
                grouped(rate.states),
                grouped(per_second as u64),
                format!("{:.0}", rate.bytes as f64 / rate.states.max(1) as f64),
                grouped(rate.waiting),
            ]);
        }
    }
    table.notes.push(format!(
        "The correct protocols at their small sizes, up to {} states each. `bytes per state`: of the table of what \
         was seen together with the states that wait to be gone on from, which are most of it where many wait.",
        grouped(most)
    ));
    table
}
