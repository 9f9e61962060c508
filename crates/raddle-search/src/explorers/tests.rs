//! Searches along explorers: on random small programs they run what plain recursion over copies of the explorer
//! finds, no more and no less.

use std::collections::BTreeSet;

use raddle_engine::explorer::Explorer;
use raddle_engine::strategy::{Plan, Strategy};
use raddle_trace::Covered;

use super::brute_force::executions;
use super::{Ordered, QueueOfProcesses, RandomRoundRobin, RunToCompletion};
use crate::registry::build;
use crate::rng::Rng;
use crate::toy::{self, Moves, Op, Toy};

/// The stock explorers, as they are written and as they are.
fn stock() -> Vec<(&'static str, Explorer)> {
    vec![
        ("rr", Explorer::new("rr", QueueOfProcesses::default())),
        ("rtc", Explorer::new("rtc", RunToCompletion::default())),
        ("rtc-latest", Explorer::new("rtc-latest", RunToCompletion::latest_first())),
        ("prr(5)", Explorer::new("prr(5)", RandomRoundRobin::new(5))),
        ("ordered", Explorer::new("ordered", Ordered::default())),
    ]
}

/// A few steps of two or three tasks: at most some thousand interleavings.
fn some_toy(rng: &mut Rng) -> Toy {
    let tasks = 2 + rng.below(2) as usize;
    let task = |rng: &mut Rng| {
        let mut ops = Vec::new();
        for _ in 0..=rng.below(if tasks == 2 { 3 } else { 2 }) {
            match rng.below(6) {
                0 => ops.push(Op::Read(rng.below(2))),
                1 | 2 => ops.push(Op::Write(rng.below(2))),
                3 => ops.extend([Op::Lock, Op::Unlock]),
                4 => ops.push(Op::Value(2)),
                _ => ops.push(Op::Step),
            }
        }
        ops
    };
    Toy::new((0..tasks).map(|_| task(rng)).collect())
}

/// What executions that are equivalent have in common.
fn traces<'a>(toy: &Toy, all: impl IntoIterator<Item = &'a Moves>) -> BTreeSet<Vec<Moves>> {
    all.into_iter().map(|moves| toy.partial_order(moves)).collect()
}

/// The whole executions of a search that is not cut, and whether it was.
fn uncut(strategy: &mut dyn Strategy, toy: &Toy, most: usize) -> Vec<Moves> {
    let mut plan = Plan::default();
    let mut all = Vec::new();
    while all.len() < most {
        let Some(execution) = toy::execute(strategy, &mut plan, toy) else { break };
        if execution.cut.is_none() {
            all.push(execution.moves);
        }
    }
    all
}

#[test]
fn delay_bounded_searches_run_what_recursion_finds() {
    let mut rng = Rng::new(3);
    for _ in 0..if raddle_testing::long() { 2_000 } else { 60 } {
        let toy = some_toy(&mut rng);
        for (name, explorer) in stock() {
            for k in 0..3 {
                let expected: Vec<_> = executions(&toy, &explorer, k).into_keys().collect();
                for search in ["dfs", "all best-first(delays)", "all breadth-first"] {
                    let text = format!("{search} delays({k}) {name}");
                    let mut strategy = build(&text, 1).unwrap().strategy;
                    let mut found = toy::all(&mut *strategy, &toy);
                    found.sort();
                    assert_eq!(found, expected, "{text} of {toy:?}");
                    assert_eq!(strategy.covered(), Covered::Delays(k), "{text}");
                }
            }
        }
    }
}

#[test]
fn exact_strata_show_the_traces_that_recursion_finds() {
    let mut rng = Rng::new(7);
    for round in 0..if raddle_testing::long() { 4_000 } else { 120 } {
        let toy = some_toy(&mut rng);
        for (name, explorer) in stock() {
            for k in 0..4 {
                let expected = traces(&toy, executions(&toy, &explorer, k).keys());
                let texts = [
                    format!("strata({name}, exact) delays({k})"),
                    format!("strata({name}, exact, increment(2)) delays({k})"),
                    format!("strata({name}, exact, cache(4), refuse) delays({k})"),
                    format!("dfs delays({k}) {name} cache(5)"),
                ];
                let text = &texts[round % texts.len()];
                let mut strategy = build(text, 1).unwrap().strategy;
                let found = uncut(&mut *strategy, &toy, usize::MAX);
                assert_eq!(traces(&toy, &found), expected, "{text} of {toy:?}");
                let covered = strategy.covered();
                let claims = match covered {
                    Covered::Delays(delays) => delays == k,
                    Covered::Strata { delays, .. } => delays == Some(k),
                    _ => false,
                };
                assert!(claims, "{text}: {covered:?}");
            }
        }
    }
}

/// What is claimed of a number of delays before the end, too.
#[test]
fn exact_strata_claim_no_more_than_they_ran() {
    let mut rng = Rng::new(9);
    let mut claims = 0;
    for _ in 0..if raddle_testing::long() { 1_000 } else { 40 } {
        let toy = some_toy(&mut rng);
        for (name, explorer) in stock() {
            let mut strategy =
                build(&format!("strata({name}, exact, increment(2))"), 1).unwrap().strategy;
            let mut plan = Plan::default();
            let mut found = Vec::new();
            while let Some(execution) = toy::execute(&mut *strategy, &mut plan, &toy) {
                if execution.cut.is_none() {
                    found.push(execution.moves);
                }
                if found.len() > 60 {
                    break;
                }
                let (Covered::Delays(k) | Covered::Strata { delays: Some(k), .. }) =
                    strategy.covered()
                else {
                    continue;
                };
                claims += 1;
                let within = executions(&toy, &explorer, k);
                let missing = traces(&toy, within.keys());
                let shown = traces(&toy, &found);
                assert!(missing.is_subset(&shown), "{name}, {k} delays of {toy:?}");
            }
        }
    }
    assert!(claims > 500, "{claims}");
}

#[test]
fn strata_end_with_every_trace() {
    let mut rng = Rng::new(11);
    for _ in 0..if raddle_testing::long() { 3_000 } else { 100 } {
        let toy = some_toy(&mut rng);
        let expected = traces(&toy, &toy::interleavings(&toy, u32::MAX));
        for (name, _) in stock() {
            for settings in ["", ", cache(3)", ", cache(3), refuse", ", increment(3)", ", exact"] {
                let text = format!("strata({name}{settings})");
                let mut strategy = build(&text, 1).unwrap().strategy;
                let found = uncut(&mut *strategy, &toy, usize::MAX);
                assert_eq!(traces(&toy, &found), expected, "{text} of {toy:?}");
                let covered = strategy.covered();
                assert!(
                    matches!(covered, Covered::Everything | Covered::Strata { delays: None, .. }),
                    "{text}: {covered:?}"
                );
            }
        }
    }
}

#[test]
fn preemptions_best_first_with_a_cache_show_every_trace_within_the_bound() {
    let mut rng = Rng::new(13);
    for _ in 0..if raddle_testing::long() { 3_000 } else { 100 } {
        let toy = some_toy(&mut rng);
        for k in 0..3 {
            let expected = traces(&toy, &toy::interleavings(&toy, k));
            for frontier in ["best-first(pb)", "best-first(rand)", "breadth-first", "random"] {
                let text = format!("all {frontier} preemptions({k}) cache");
                let mut strategy = build(&text, 1).unwrap().strategy;
                let found = uncut(&mut *strategy, &toy, usize::MAX);
                assert_eq!(traces(&toy, &found), expected, "{text} of {toy:?}");
            }
        }
    }
}

/// A prefix that is first met at a higher cost hides a cheaper one: that is why only `exact` claims strata.
#[test]
fn the_cache_of_program_states_hides_executions_of_a_stratum() {
    let mut rng = Rng::new(17);
    let mut hidden = 0;
    for _ in 0..100 {
        let toy = some_toy(&mut rng);
        for (name, explorer) in stock() {
            for k in 1..4 {
                let expected = traces(&toy, executions(&toy, &explorer, k).keys());
                let text = format!("strata({name}, increment(3)) delays({k})");
                let mut strategy = build(&text, 1).unwrap().strategy;
                let found = traces(&toy, &uncut(&mut *strategy, &toy, usize::MAX));
                hidden += usize::from(found != expected);
                let claims = matches!(strategy.covered(), Covered::Delays(_));
                assert!(!claims || found == expected, "{text} of {toy:?}");
                assert!(claims || matches!(strategy.covered(), Covered::SomeStrata { .. }));
            }
        }
    }
    assert!(hidden > 0, "then `strata` could claim strata, too");
}

/// The executions of a program under `rr` with at most so many delays.
fn round_robin(toy: &Toy, delays: u32) -> Vec<Moves> {
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    executions(toy, &explorer, delays).into_keys().collect()
}

// One trace without a delay, the one in which the writer is delayed, and those in which of six readers so many
// are delayed behind it.
#[test]
fn readers_by_delays() {
    let mut tasks = vec![vec![Op::Write(0)]];
    tasks.extend(std::iter::repeat_n(vec![Op::Step, Op::Read(0)], 6));
    let toy = Toy::new(tasks);
    for (k, expected) in [1, 2, 8, 23].into_iter().enumerate() {
        assert_eq!(traces(&toy, &round_robin(&toy, k as u32)).len(), expected);
    }
    for (k, expected) in [1, 2, 8, 23, 43, 58, 64].into_iter().enumerate() {
        let mut strategy = build(&format!("strata(rr, exact) delays({k})"), 1).unwrap().strategy;
        let found = uncut(&mut *strategy, &toy, usize::MAX);
        assert_eq!(traces(&toy, &found).len(), expected, "{k} delays");
    }
}
