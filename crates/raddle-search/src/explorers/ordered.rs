//! `ordered`: an order of processes that the program changes at run time.
//!
//! The case study of Desai, Qadeer and Seshia, FSE 2015: until a protocol is initialised its servers should move
//! before what makes them fail; from then on the failures first. The program calls
//! [`change_order`](raddle_engine::explorer::change_order) with names: the named processes move to the front, in
//! this order, and those of the same name in the order of creation. Processes that are created later and have
//! one of the names of the last call take their place among them. The others keep the order of creation. A
//! process that is delayed comes last.

use std::sync::Arc;

use raddle_engine::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};

/// The processes in an order that the program changes.
#[derive(Clone, Debug, Default, Hash)]
pub struct Ordered {
    /// Each with its name, the first to move first.
    order: Vec<(Process, Arc<str>)>,
    /// What the program asked for last.
    names: Arc<[String]>,
}

impl Ordered {
    /// A name's place in what the program asked for; behind all if it has none.
    fn place(&self, name: &str) -> usize {
        self.names.iter().position(|other| other == name).unwrap_or(self.names.len())
    }
}

impl DelayingExplorer for Ordered {
    fn start(&mut self, process: Process, about: &About<'_>) {
        let place = self.place(about.name);
        let named = place < self.names.len();
        let before = |(_, name): &&(Process, Arc<str>)| !named || self.place(name) <= place;
        let at = self.order.iter().take_while(before).count();
        self.order.insert(at, (process, Arc::from(about.name)));
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|(other, _)| *other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        if let ProcessEvent::Ordered { names } = event {
            self.names = Arc::clone(names);
            let mut order = std::mem::take(&mut self.order);
            // Stable: those that are not named keep their order.
            order.sort_by_key(|(process, name)| {
                let place = self.place(name);
                (place, if place < self.names.len() { process.0 } else { 0 })
            });
            self.order = order;
        }
    }

    fn hears_blocked(&self) -> bool {
        false
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

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        let order = self.order.iter().map(|(process, _)| *process);
        ranks.extend(order.filter(|&process| runnable.contains(process)));
        true
    }
}
