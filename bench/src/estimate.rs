//! How good the estimates of a search are.
use std::time::Instant;

use raddle_engine::strategy::{Answer, Cut, Finished, Needs, Plan, Point, Step, Strategy, Taken};
use raddle_engine::{Limits, Setup, Stop, TaskId, explore, Ended};
use raddle_trace::{Covered, Progress};

struct Watched {
    inner: Box<dyn Strategy>,
    at: Vec<u64>,
    run: u64,
    seen: Vec<(u64, Progress, [f64; 8])>,
}

impl Strategy for Watched {
    fn needs(&self) -> Needs { self.inner.needs() }
    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.at.contains(&self.run) {
            let p = self.inner.progress();
            let raw = raddle_search::estimate::RAW.get();
            self.seen.push((self.run, p, raw));
        }
        self.inner.begin(plan)
    }
    fn decide(&mut self, point: &Point<'_>) -> Answer { self.inner.decide(point) }
    fn spawn(&mut self, parent: TaskId, child: TaskId) { self.inner.spawn(parent, child); }
    fn value(&mut self, task: TaskId, taken: Taken, during: bool) { self.inner.value(task, taken, during); }
    fn step(&mut self, step: &Step<'_>) -> Option<Cut> { self.inner.step(step) }
    fn end(&mut self, execution: &Finished<'_>) { self.run += 1; self.inner.end(execution); }
    fn covered(&self) -> Covered { self.inner.covered() }
    fn progress(&self) -> Progress { self.inner.progress() }
}

fn run(strategy: &mut dyn Strategy, body: &dyn Fn(), cap: u64, steps: Option<u64>) -> Option<u64> {
    let usual = Limits::default();
    let limits = Limits { executions: cap, steps: steps.unwrap_or(usual.steps), ..usual };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let explored = explore(strategy, &setup, &mut |_| Stop::No, &mut |_| {}, body).ok()?;
    (explored.ended == Ended::Covered).then_some(explored.counts.executions)
}

pub(crate) fn dump(cap: u64) {
    
    let parts = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
    for program in raddle_corpus::REGISTRY {
        let mut sets = vec![program.defaults()];
        if program.parameters.len() == 1 {
            let p = &program.parameters[0];
            for n in p.least..=p.most.min(p.least + 12) { if n != p.default { sets.push(vec![n]); } }
        } else if program.parameters.len() == 2 {
            let (p, q) = (&program.parameters[0], &program.parameters[1]);
            for n in p.least..=p.most.min(p.least + 5) { for m in q.least..=q.most.min(q.least + 5) { let v = vec![n, m]; if v != program.defaults() { sets.push(v); } } }
        }
        for arguments in sets {
            let began = Instant::now();
            let body = || program.call(&arguments);
            let full = run(&mut *raddle_search::build("dfs", 0).unwrap().strategy, &body, cap, program.steps);
            for (name, seeds) in [("dfs", 1), ("dfs round-robin", 1), ("dfs random", 3), ("dfs preemptions(2)", 1), ("dfs cache", 1), ("all breadth-first", 1), ("all random", 3), ("all random random", 3), ("dpor", 1), ("dpor(source)", 1), ("dpor(classic)", 1)] {
                if full.is_none() { continue; }
                for seed in 0..seeds {
                    let mut strategy = raddle_search::build(name, seed).unwrap().strategy;
                    let Some(n) = run(&mut *strategy, &body, cap, program.steps) else { continue };
                    if n < 20 { continue; }
                    let at: Vec<u64> = parts.iter().map(|p| ((n as f64 * p).ceil() as u64).max(1)).collect();
                    let mut w = Watched { inner: raddle_search::build(name, seed).unwrap().strategy, at, run: 0, seen: vec![] };
                    run(&mut w, &body, cap, program.steps);
                    for (run, p, raw) in &w.seen {
                        let share = p.covered.unwrap_or(-1.0);
                        println!("{}\t{:?}\t{name}\t{seed}\t{n}\t{}\t{run}\t{share}\t{}", program.name, arguments, full.map_or("-".into(), |n| n.to_string()), raw.map(|x| x.to_string()).join("\t"));
                    }
                }
            }
            if began.elapsed().as_secs() > 20 { break; }
        }
    }
}
