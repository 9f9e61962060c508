//! Breadth-first and random against plain recursion and against depth first: exact equality of sets.

use proptest::prelude::{Just, Strategy as _, prop_assert_eq, prop_oneof, proptest};
use raddle_engine::strategy::Plan;

use super::*;
use crate::expansion::all::DepthFirst;
use crate::order::{AnyTask, TakeTurns};
use crate::state::FOREIGN;
use crate::toy::{self, Moves, Op, Toy};

/// Breadth-first and random, by seed.
const BOTH: [fn(u64) -> Frontier; 2] =
    [|_| Frontier::BreadthFirst, |seed| Frontier::Random { seed }];

fn all(frontier: Frontier) -> TreeSearch {
    TreeSearch::new(TreeExpansion::All, frontier)
}

/// Locks, yields and values beside plain steps.
fn mixed() -> Toy {
    Toy::new(vec![
        vec![Op::Lock, Op::Value(3), Op::Unlock],
        vec![Op::Yield, Op::Lock, Op::Unlock],
        vec![Op::Step, Op::Value(2), Op::Yield],
    ])
}

#[track_caller]
fn sorted(mut executions: Vec<Moves>) -> Vec<Moves> {
    executions.sort();
    let before = executions.len();
    executions.dedup();
    assert_eq!(executions.len(), before, "an execution was run twice");
    executions
}

fn bounded(frontier: Frontier, k: u32) -> TreeSearch {
    TreeSearch::within(frontier, NonPreemptive, Bound::Preemptions(k)).unwrap()
}

// C(6, 3), C(10, 5), and the multinomials 6! / 2!^3 and 8! / 2!^4.
#[test]
fn every_frontier_runs_every_execution_once() {
    for (steps, count) in
        [(&[3, 3][..], 20), (&[5, 5], 252), (&[2, 2, 2], 90), (&[2, 2, 2, 2], 2_520), (&[4], 1)]
    {
        let toy = Toy::independent(steps);
        let expected = toy::interleavings(&toy, u32::MAX);
        assert_eq!(expected.len(), count);
        for frontier in BOTH {
            let mut search = all(frontier(1));
            assert_eq!(sorted(toy::all(&mut search, &toy)), expected, "{steps:?}");
            assert_eq!(search.covered(), Covered::Everything);
            assert_eq!((search.nodes(), search.pending()), (1, 0), "only the root is left");
        }
    }
}

#[test]
fn whatever_the_default_order_the_set_is_the_same() {
    let expected = toy::interleavings(&mixed(), u32::MAX);
    for frontier in BOTH {
        let mut turns = TreeSearch::within(frontier(1), TakeTurns, Bound::None).unwrap();
        assert_eq!(sorted(toy::all(&mut turns, &mixed())), expected);
        let mut any = TreeSearch::within(frontier(1), AnyTask::new(5), Bound::None).unwrap();
        assert_eq!(sorted(toy::all(&mut any, &mixed())), expected);
    }
    let mut any = DepthFirst::new(AnyTask::new(5));
    assert_eq!(sorted(toy::all(&mut any, &mixed())), expected);
}

#[test]
fn a_bound_gives_exactly_the_executions_within_it() {
    for toy in [Toy::independent(&[3, 3]), Toy::independent(&[2, 2, 2]), mixed()] {
        for (k, frontier) in (0..6).flat_map(|k| BOTH.map(|frontier| (k, frontier))) {
            let mut search = bounded(frontier(3), k);
            let executions = sorted(toy::all(&mut search, &toy));
            assert_eq!(executions, toy::interleavings(&toy, k), "{k} preemptions");
            assert_eq!(search.covered(), Covered::Preemptions(k));
        }
    }
}

// Three tasks of two steps: the first points have 3, 3, 3 or 2 options. Breadth first takes the two
// other options of the first point before any of the second.
#[test]
fn breadth_first_takes_the_shallowest_candidate() {
    let toy = Toy::independent(&[2, 2, 2]);
    let mut search = all(Frontier::BreadthFirst);
    let mut plan = Plan::default();
    let mut planned = Vec::new();
    for _ in 0..90 {
        toy::execute(&mut search, &mut plan, &toy).unwrap();
        planned.push(search.current.planned);
    }
    assert_eq!(planned[..4], [0, 1, 1, 2]);
    assert!(planned.is_sorted(), "{planned:?}");
    assert!(toy::execute(&mut search, &mut plan, &toy).is_none());
}

#[test]
fn a_seed_has_another_order_of_executions_but_the_same_gives_the_same() {
    let toy = Toy::independent(&[3, 3]);
    let run = |seed| toy::all(&mut all(Frontier::Random { seed }), &toy);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn an_execution_that_never_ended_is_run_again() {
    let toy = Toy::independent(&[3, 3]);
    for frontier in BOTH {
        let mut search = all(frontier(1));
        let mut plan = Plan::default();
        let mut executions = Vec::new();
        while search.begin(&mut plan) {
            toy::execute_unended(&mut search, &plan, &toy);
            executions.push(toy::execute(&mut search, &mut plan, &toy).unwrap().moves);
        }
        assert_eq!(sorted(executions), toy::interleavings(&toy, u32::MAX));
    }
}

#[test]
fn a_limit_on_steps_ends_executions_and_not_the_search() {
    let toy = Toy { max_steps: 4, ..Toy::independent(&[3, 3]) };
    let expected = sorted(toy::all(&mut DepthFirst::default(), &toy));
    for frontier in BOTH {
        assert_eq!(sorted(toy::all(&mut all(frontier(1)), &toy)), expected);
    }
}

#[test]
fn an_order_that_preempts_cannot_be_bounded() {
    let refused =
        TreeSearch::within(Frontier::BreadthFirst, TakeTurns, Bound::Preemptions(1)).unwrap_err();
    assert!(refused.to_string().starts_with("`in-turns` itself leaves tasks"));
}

#[test]
fn a_frontier_notices_another_program() {
    let mut search = all(Frontier::BreadthFirst);
    let mut plan = Plan::default();
    toy::execute(&mut search, &mut plan, &Toy::independent(&[2, 2])).unwrap();
    while toy::execute(&mut search, &mut plan, &Toy::independent(&[2, 2, 2])).is_some() {}
    assert!(matches!(search.covered(), Covered::Part { .. }));
}

#[test]
fn a_state_of_another_search_is_refused() {
    let state = all(Frontier::Random { seed: 1 }).save().unwrap();
    assert_eq!(all(Frontier::BreadthFirst).restore(&state), Err(FOREIGN));
    assert_eq!(bounded(Frontier::Random { seed: 1 }, 1).restore(&state), Err(FOREIGN));
    assert_eq!(DepthFirst::default().restore(&state), Err(FOREIGN));
    assert_eq!(all(Frontier::Random { seed: 1 }).restore(&state), Ok(()));
}

fn programs() -> impl proptest::prelude::Strategy<Value = Toy> {
    let op = prop_oneof![
        4 => Just(Op::Step),
        1 => Just(Op::Yield),
        1 => (2..4_u32).prop_map(Op::Value),
    ];
    let locked = Just(vec![Op::Lock, Op::Unlock]);
    let part = prop_oneof![3 => op.prop_map(|op| vec![op]), 1 => locked];
    let task = proptest::collection::vec(part, 0..3).prop_map(|parts| parts.concat());
    proptest::collection::vec(task, 1..4).prop_map(Toy::new)
}

proptest! {
    #![proptest_config(toy::fixed_seed())]

    #[test]
    fn saved_half_way_nothing_is_lost_or_repeated(
        toy in programs(), half in 0_usize..60, seed: u64, k in 0_u32..4
    ) {
        for frontier in BOTH {
            let bound = if k == 3 { Bound::None } else { Bound::Preemptions(k) };
            let limit = if k == 3 { u32::MAX } else { k };
            let make = || TreeSearch::within(frontier(seed), NonPreemptive, bound).unwrap();
            let mut search = make();
            let mut executions = toy::first(&mut search, &toy, half);
            let mut other = make();
            other.restore(&search.save().unwrap()).unwrap();
            let (rest, same) = (toy::all(&mut other, &toy), toy::all(&mut search, &toy));
            prop_assert_eq!(&rest, &same);
            prop_assert_eq!(other.covered(), search.covered());
            executions.extend(rest);
            prop_assert_eq!(sorted(executions), toy::interleavings(&toy, limit));
        }
    }

    #[test]
    fn parts_and_what_stays_are_what_there_was(
        toy in programs(), half in 0_usize..30, n in 1_usize..5, seed: u64
    ) {
        for frontier in BOTH {
            let mut search = all(frontier(seed));
            let mut executions = toy::first(&mut search, &toy, half);
            let mut parts = search.split(n).unwrap();
            let mut kept = parts.len();
            if let Some(first) = parts.pop() {
                let mut part = all(frontier(0));
                part.restore(&first.state).unwrap();
                executions.extend(toy::first(&mut part, &toy, 2));
                parts.extend(part.split(2).unwrap());
                executions.extend(toy::all(&mut part, &toy));
                kept += 1;
            }
            for work in &parts {
                let mut part = all(frontier(0));
                part.restore(&work.state).unwrap();
                let mut plan = Plan::default();
                while let Some(execution) = toy::execute(&mut part, &mut plan, &toy) {
                    assert!(execution.decisions.starts_with(&work.prefix));
                    executions.push(execution.moves);
                }
                assert!(matches!(part.covered(), Covered::Part { .. }));
            }
            executions.extend(toy::all(&mut search, &toy));
            prop_assert_eq!(sorted(executions), toy::interleavings(&toy, u32::MAX));
            let is_whole = search.covered() == Covered::Everything;
            prop_assert_eq!(is_whole, kept == 0);
        }
    }
}
