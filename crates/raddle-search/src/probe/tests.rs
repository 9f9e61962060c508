//! Probes do not disturb: the search runs what it runs without them, in the same order.

use raddle_trace::Gaps;

use super::*;
use crate::expansion::all::DepthFirst;
use crate::expansion::reduced::{Dpor, Reduction};
use crate::toy::{self, Moves, Op, Toy};
use crate::tree::{Frontier, TreeExpansion, TreeSearch};

fn program() -> Toy {
    Toy::new(vec![
        vec![Op::Lock, Op::Value(2), Op::Unlock],
        vec![Op::Write(0), Op::Lock, Op::Unlock],
        vec![Op::Write(0)],
    ])
}

/// The executions of the search, without the probes.
fn without_probes<S: Strategy>(mut search: Probes<S>) -> (Vec<Moves>, Covered, u64) {
    let mut plan = Plan { prefix: vec![77; 3], ..Plan::default() };
    let mut executions = Vec::new();
    loop {
        let before = search.count();
        let Some(execution) = toy::execute(&mut search, &mut plan, &program()) else { break };
        if search.count() == before {
            executions.push(execution.moves);
        }
    }
    (executions, search.covered(), search.count())
}

#[test]
fn the_search_runs_what_it_runs_without_probes() {
    let bound = Bound::Preemptions(2);
    let bounded = || DepthFirst::within(NonPreemptive, bound).unwrap();
    for every in [1, 2, 7] {
        let mut alone = DepthFirst::default();
        let executions = toy::all(&mut alone, &program());
        let probes = executions.len() as u64 / u64::from(every);
        let beside = without_probes(Probes::new(DepthFirst::default(), every, Bound::None, 1));
        assert_eq!(beside, (executions, alone.covered(), probes));

        let mut alone = bounded();
        let executions = toy::all(&mut alone, &program());
        let beside = without_probes(Probes::new(bounded(), every, bound, 1));
        assert_eq!((beside.0, beside.1), (executions, alone.covered()));

        let mut alone = Dpor::new(Reduction::Optimal);
        let executions = toy::all(&mut alone, &program());
        let dpor = Dpor::new(Reduction::Optimal);
        let beside = without_probes(Probes::new(dpor, every, Bound::None, 1));
        assert_eq!((beside.0, beside.1), (executions, alone.covered()));

        let mut alone = TreeSearch::new(TreeExpansion::All, Frontier::Random { seed: 5 });
        let executions = toy::all(&mut alone, &program());
        let tree = TreeSearch::new(TreeExpansion::All, Frontier::Random { seed: 5 });
        let beside = without_probes(Probes::new(tree, every, Bound::None, 1));
        assert_eq!((beside.0, beside.1), (executions, alone.covered()));
    }
}

#[test]
fn a_probe_stays_within_the_bound() {
    let toy = Toy::independent(&[3, 3]);
    let within = toy::interleavings(&toy, 1);
    let bound = Bound::Preemptions(1);
    let search = DepthFirst::within(NonPreemptive, bound).unwrap();
    let mut search = Probes::new(search, 1, bound, 3);
    let executions = toy::all(&mut search, &toy);
    assert_eq!(executions.len(), 2 * within.len());
    assert!(executions.iter().all(|moves| within.contains(moves)));
}

#[test]
fn a_probe_that_never_ended_is_given_up() {
    let toy = Toy::independent(&[3, 3]);
    let mut search = Probes::new(DepthFirst::default(), 4, Bound::None, 3);
    let mut plan = Plan::default();
    let mut executions = Vec::new();
    while search.begin(&mut plan) {
        if search.probing {
            toy::execute_unended(&mut search, &plan, &toy);
            continue;
        }
        let (execution, outcome) = toy::execute_unended(&mut search, &plan, &toy);
        let decisions = &execution.decisions;
        search.end(&Finished {
            outcome: &outcome,
            decisions,
            steps: 6,
            tasks: 2,
            stuck: &[],
            cut: None,
            yielded: false,
            gaps: Gaps::default(),
        });
        plan.prefix = decisions.iter().map(|taken| taken.option).collect();
        executions.push(execution.moves);
    }
    assert_eq!(executions, toy::all(&mut DepthFirst::default(), &toy));
    assert_eq!(search.count(), 0);
}

#[test]
fn parts_of_a_probed_search_are_probed_too() {
    let toy = Toy::independent(&[3, 3]);
    let make = || Probes::new(DepthFirst::default(), 2, Bound::None, 3);
    let mut search = make();
    toy::first(&mut search, &toy, 2);
    let works = search.split(2).unwrap();
    assert_eq!(works.len(), 2);
    for work in works {
        let mut part = make();
        part.restore(&work.state).unwrap();
        assert!(!toy::all(&mut part, &toy).is_empty());
        assert!(part.count() > 0);
    }
}
