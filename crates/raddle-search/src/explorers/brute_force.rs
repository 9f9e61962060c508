//! Every execution of a toy program with what it costs in delays, by plain recursion over copies of the explorer.

use std::collections::BTreeMap;

use raddle_engine::explorer::{About, Explorer, Process, ProcessEvent, ProcessKind, Runnable};

use crate::toy::{Moves, State, Toy};

/// A place in the recursion.
#[derive(Clone)]
struct Walk<'a> {
    state: State<'a>,
    explorer: Explorer,
    runnable: Vec<bool>,
    finished: Vec<bool>,
    spent: u32,
    moves: Moves,
}

/// Task `n` of a toy is process `n + 1`: process 0 is the test, which is finished.
fn process(task: usize) -> Process {
    Process(task as u32 + 1)
}

impl Walk<'_> {
    /// Tells what has changed since the last step.
    fn sync(&mut self, enabled: &[usize]) {
        for task in 0..self.finished.len() {
            if !self.finished[task] && self.state.is_finished(task) {
                self.finished[task] = true;
                self.explorer.finish(process(task));
            }
        }
        for task in 0..self.finished.len() {
            let now = enabled.contains(&task);
            let before = std::mem::replace(&mut self.runnable[task], now);
            if before != now && !self.finished[task] {
                let process = process(task);
                self.explorer.step(&if now {
                    ProcessEvent::Woken { process }
                } else {
                    ProcessEvent::Blocked { process }
                });
            }
        }
    }

    fn go(mut self, most: u32, found: &mut BTreeMap<Moves, u32>) {
        let enabled = self.state.enabled();
        if enabled.is_empty() {
            let cost = found.entry(self.moves).or_insert(self.spent);
            assert_eq!(*cost, self.spent, "an execution has one price");
            return;
        }
        self.sync(&enabled);
        let processes: Vec<_> = enabled.iter().map(|&task| process(task)).collect();
        let runnable = Runnable::new(&processes);
        for (delays, _) in enabled.iter().enumerate() {
            let spent = self.spent + delays as u32;
            if spent > most {
                break;
            }
            let next = self.explorer.next(runnable);
            let task = next.0 as usize - 1;
            let mut walk = self.clone();
            let of = walk.state.step(task);
            walk.explorer.step(&ProcessEvent::Ran { process: next });
            for value in (0..of).take_while(|value| spent + value <= most) {
                let mut walk = walk.clone();
                walk.spent = spent + value;
                walk.moves.push((task as u32, value));
                walk.go(most, found);
            }
            self.explorer.delay(next);
        }
    }
}

/// Every execution with at most so many delays, with what it costs.
pub(crate) fn executions(toy: &Toy, fresh: &Explorer, most: u32) -> BTreeMap<Moves, u32> {
    let n = toy.tasks.len();
    let mut explorer = fresh.clone();
    let thread = |parent| About::new(ProcessKind::Thread, "", parent);
    explorer.start(Process(0), &thread(None));
    for task in 0..n {
        let by = Process(0);
        explorer.start(process(task), &thread(Some(by)));
        explorer.step(&ProcessEvent::Created { by, process: process(task) });
    }
    explorer.finish(Process(0));
    let walk = Walk {
        state: State::new(toy),
        explorer,
        runnable: vec![true; n],
        finished: vec![false; n],
        spent: 0,
        moves: Moves::new(),
    };
    let mut found = BTreeMap::new();
    walk.go(most, &mut found);
    found
}
