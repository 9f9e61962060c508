//! Whether an optimal reduction needs wakeup trees: `dpor` beside a prototype without them.

mod memoryless;
mod programs;

use std::collections::BTreeSet;

use raddle_engine::{Ended, Limits, Setup, Stop, Strategy, explore};
use raddle_search::depth_first::DepthFirst;
use raddle_search::dpor::{Dpor, Reduction};
use raddle_search::traces::Traces;
use raddle_trace::{Assumption, Covered};

use self::memoryless::Memoryless;

#[derive(Debug)]
struct Saw {
    traces: BTreeSet<u64>,
    executions: u64,
    blocked: u64,
    repeated: u64,
}

fn search<S: Strategy>(strategy: S, most: u64, body: &dyn Fn()) -> Option<(Saw, S)> {
    let mut traces = Traces::new(strategy, usize::MAX);
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let explored = explore(&mut traces, &setup, &mut |_| Stop::No, &mut |_| {}, body)
        .expect("no search runs around this one");
    let held_back = explored.assumptions.contains(&Assumption::FairYields);
    let promises = !matches!(traces.covered(), Covered::Part { .. });
    if explored.ended != Ended::Covered || held_back || !promises {
        return None;
    }
    let saw = Saw {
        traces: traces.seen().clone(),
        executions: explored.counts.executions,
        blocked: explored.counts.blocked,
        repeated: traces.repeated(),
    };
    Some((saw, traces.into_inner()))
}

/// Drops statements as long as the program still differs.
fn shrink(mut program: programs::Program, differs: &dyn Fn(&programs::Program) -> bool) -> programs::Program {
    'again: loop {
        for task in 0..program.len() {
            for at in 0..program[task].len() {
                let mut smaller = program.clone();
                smaller[task].remove(at);
                if differs(&smaller) {
                    program = smaller;
                    continue 'again;
                }
                for inner in 0..program[task][at].body().map_or(0, |body| body.len()) {
                    let mut smaller = program.clone();
                    smaller[task][at].body().expect("it has one").remove(inner);
                    if differs(&smaller) {
                        program = smaller;
                        continue 'again;
                    }
                }
            }
        }
        return program;
    }
}

pub(crate) fn debug(from: u64, to: u64, most: u64) {
    let (mut compared, mut lost, mut repeated, mut blocked, mut more) = (0, 0, 0, 0, 0);
    let (mut dpor_repeated, mut dpor_blocked, mut impossible) = (0, 0, 0);
    let mut shown = 0;
    for seed in from..to {
        let (program, families) = programs::program(seed);
        let Some((all, _)) = search(DepthFirst::default(), most, &|| programs::execute(&program)) else { continue };
        compared += 1;
        let bad = |program: &programs::Program| {
            let body = || programs::execute(program);
            let Some((all, _)) = search(DepthFirst::default(), most, &body) else { return None };
            match search(Memoryless::new(), 2 * all.executions + 100, &body) {
                None => Some("more"),
                Some((saw, _)) if saw.traces != all.traces => Some("lost"),
                Some((saw, _)) if saw.repeated > 0 => Some("repeated"),
                Some((_, pop)) if pop.effort.impossible > 0 => Some("impossible"),
                Some((saw, _)) if saw.blocked > 0 => Some("blocked"),
                Some(_) => None,
            }
        };
        let body = || programs::execute(&program);
        if let Some((saw, _)) = search(Dpor::new(Reduction::Optimal), 2 * all.executions + 100, &body) {
            dpor_repeated += u32::from(saw.repeated > 0);
            dpor_blocked += u32::from(saw.blocked > 0);
            assert_eq!(saw.traces, all.traces);
        }
        let what = bad(&program);
        match what {
            Some("more") => more += 1,
            Some("lost") => lost += 1,
            Some("repeated") => repeated += 1,
            Some("impossible") => impossible += 1,
            Some(_) => blocked += 1,
            None => {}
        }
        let kinds = std::env::args().nth(5).unwrap_or("lost,more,repeated".into());
        if what.is_some_and(|what| kinds.contains(what)) && shown < 4 {
            shown += 1;
            let small = shrink(program.clone(), &|smaller| bad(smaller) == what);
            let body = || programs::execute(&small);
            let all = search(DepthFirst::default(), most, &body).unwrap().0;
            let saw = search(Memoryless::new(), 2 * all.executions + 100, &body);
            println!("seed {seed} {:?} {what:?} all {} {:?}", families.map(|f| programs::FAMILIES[f].0), all.traces.len(), saw.map(|(saw, pop)| (saw.traces.len(), saw.executions, saw.blocked, saw.repeated, pop.effort)));
            for task in &small {
                println!("   {task:?}");
            }
        }
    }
    println!("compared {compared} lost {lost} more {more} repeated {repeated} impossible {impossible} blocked {blocked}; dpor repeated {dpor_repeated} blocked {dpor_blocked}");
}

#[derive(Debug)]
struct Show<S>(S);
impl<S: Strategy> Strategy for Show<S> {
    fn needs(&self) -> raddle_engine::strategy::Needs { raddle_engine::strategy::Needs { steps: true, ..self.0.needs() } }
    fn begin(&mut self, plan: &mut raddle_engine::strategy::Plan) -> bool { println!("--"); self.0.begin(plan) }
    fn decide(&mut self, point: &raddle_engine::strategy::Point<'_>) -> raddle_engine::strategy::Answer { let a = self.0.decide(point); println!("   {:?} {a:?}", point.options); a }
    fn spawn(&mut self, parent: raddle_engine::TaskId, child: raddle_engine::TaskId) { self.0.spawn(parent, child) }
    fn value(&mut self, task: raddle_engine::TaskId, taken: raddle_engine::strategy::Taken, during: bool) { println!("  value {task:?} {taken:?} {during}"); self.0.value(task, taken, during) }
    fn step(&mut self, step: &raddle_engine::strategy::Step<'_>) -> Option<raddle_engine::strategy::Cut> { let c = self.0.step(step); println!("  {:?} {:?} imm {} timer {:?} {c:?}", step.task, step.footprint, step.immediate, step.timer.map(|t| t.task)); c }
    fn end(&mut self, e: &raddle_engine::strategy::Finished<'_>) { println!("  stuck {:?}", e.stuck.iter().map(|s| (s.task, s.footprint)).collect::<Vec<_>>()); self.0.end(e) }
    fn covered(&self) -> Covered { self.0.covered() }
}
pub(crate) fn show(which: &str) {
    use programs::Statement::*;
    let program = vec![
        vec![ParkTimeout], vec![UnparkMain], vec![ParkTimeout],
    ];
    let body = || programs::execute(&program);
    let saw = match which {
        "all" => search(Show(DepthFirst::default()), 1000, &body).map(|s| s.0),
        "dpor" => search(Show(Dpor::new(Reduction::Optimal)), 1000, &body).map(|s| s.0),
        _ => search(Show(Memoryless::new()), 1000, &body).map(|s| s.0),
    };
    println!("{saw:?}");
}
