//! An explorer for one program: chain replication whose servers are set up before any of them fails.
//!
//! The bugs of `chain` that need two failures close to each other are many delays away from round-robin, under
//! which the injector of failures has its turn when the servers have nothing left to do. This explorer lets it wait
//! until the chain is set up, and then move before all others. The program says when that is:
//! `corpus/src/protocols/chain.rs` calls `change_order` when the master has heard of all clients.
//!
//! `cargo run --release -p raddle-corpus --example ordering` prints how many executions each search
//! needs.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use raddle::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};
use raddle::{Config, Report, explore, explore_by};
use raddle_corpus::protocols::chain::{Bug, Size, model};

/// Failures after everything else until the program is set up, and before everything else from then on.
#[derive(Clone, Debug, Default, Hash)]
struct SetUpFirst {
    /// Each with whether it makes others fail, the first to move first.
    order: Vec<(Process, bool)>,
}

impl DelayingExplorer for SetUpFirst {
    fn start(&mut self, process: Process, about: &About<'_>) {
        let fails_others = about.name == "injector";
        let rest = self.order.iter().filter(|(_, fails_others)| !fails_others).count();
        self.order
            .insert(if fails_others { self.order.len() } else { rest }, (process, fails_others));
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|(other, _)| *other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        if matches!(event, ProcessEvent::Ordered { .. }) {
            self.order.sort_by_key(|(_, fails_others)| !fails_others);
        }
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        let mut order = self.order.iter().map(|(process, _)| *process);
        order.find(|&process| runnable.contains(process)).unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        if let Some(at) = self.order.iter().position(|(other, _)| *other == process) {
            self.order[at..].rotate_left(1);
        }
    }
}

fn say(bug: Bug, strategy: &str, report: &Report) {
    let found = report.failure.as_ref().map_or("not found in", |_| "found after");
    println!("{bug:?}: {strategy}: {found} {} executions", report.counts.executions);
}

fn main() -> Result<(), raddle::Error> {
    let size = Size { servers: 4, clients: 1, operations: 2, failures: 2, pause: 0 };
    for bug in [Bug::StaleLink, Bug::GapByPlace, Bug::DeafDuringRepair] {
        let model = model(bug, size);
        let mut config = Config::default();
        config.executions = Some(10_000);
        for strategy in ["strata(rr)", "strata(rtc)", "random"] {
            let (mut config, model) = (config.clone(), model.clone());
            strategy.clone_into(&mut config.strategy);
            say(bug, strategy, &explore(config, move || model.run())?);
        }
        let report = explore_by(SetUpFirst::default(), config, move || model.run())?;
        say(bug, "strata with the explorer of this file", &report);
    }
    Ok(())
}
