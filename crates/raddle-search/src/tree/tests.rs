//! Best first against plain recursion and against depth first: exact equality of sets.

use proptest::prelude::{Just, Strategy as _, prop_assert_eq, prop_oneof, proptest};

use super::priority::{
    Candidate, ClosurePriority, Cost, Departures, Dpor, Method, ModifiedDpor, NewPair, Patterns,
    Preemptions, Priority, Rand, Reversal, Sees, SleepSets, Sum, Var,
};
use super::*;
use crate::expansion::all::DepthFirst;
use crate::order::{AnyTask, TakeTurns};
use crate::toy::{self, Moves, Op as ToyOp, Toy};

pub(super) type Parts = Vec<Box<dyn Priority>>;

/// Everything, the cheapest first.
pub(super) fn best(parts: Parts) -> TreeSearch {
    TreeSearch::new(TreeExpansion::All, Frontier::BestFirst(parts))
}

/// Every priority alone, and some together.
pub(super) fn all_priorities(seed: u64) -> Vec<Parts> {
    let odd = ClosurePriority::new("odd", |candidate: &Candidate| Cost(candidate.point % 3));
    let all = Sees {
        ops: true,
        races: true,
        sleep: true,
        contexts: 2,
        labels: true,
        windows: true,
        steps: true,
    };
    let fancy = ClosurePriority::new("fancy", |candidate: &Candidate| {
        let reads = candidate.op.is_some_and(|op| op.access == raddle_engine::op::Access::Read);
        Cost(u32::from(reads) + u32::from(candidate.asleep) + candidate.reversal as u32)
    });
    let sum = Sum::new(vec![(2, Box::new(Preemptions)), (3, Box::new(ModifiedDpor))]);
    vec![
        vec![],
        vec![Box::new(Preemptions)],
        vec![Box::new(Departures)],
        vec![Box::new(Rand::new(seed))],
        vec![Box::new(Dpor)],
        vec![Box::new(ModifiedDpor)],
        vec![Box::new(SleepSets)],
        vec![Box::new(NewPair::default())],
        vec![Box::new(NewPair::default()), Box::new(ModifiedDpor), Box::new(Preemptions)],
        vec![Box::new(SleepSets), Box::new(ModifiedDpor)],
        vec![Box::new(ModifiedDpor), Box::new(Preemptions)],
        vec![Box::new(Dpor), Box::new(SleepSets), Box::new(Departures), Box::new(Rand::new(seed))],
        vec![Box::new(odd)],
        vec![Box::new(fancy.seeing(all)), Box::new(Preemptions)],
        vec![Box::new(sum)],
        vec![Box::new(Patterns), Box::new(Preemptions)],
        vec![Box::new(Method::new(vec!["toy".to_owned()])), Box::new(SleepSets)],
        vec![Box::new(Var::new(vec!["toy".to_owned()]))],
    ]
}

/// Locks, yields, values, reads and writes beside plain steps.
pub(super) fn mixed() -> Toy {
    Toy::new(vec![
        vec![ToyOp::Lock, ToyOp::Value(3), ToyOp::Unlock],
        vec![ToyOp::Yield, ToyOp::Lock, ToyOp::Unlock],
        vec![ToyOp::Value(2), ToyOp::Write(0)],
    ])
}

#[track_caller]
pub(super) fn sorted(mut executions: Vec<Moves>) -> Vec<Moves> {
    executions.sort();
    let before = executions.len();
    executions.dedup();
    assert_eq!(executions.len(), before, "an execution was run twice");
    executions
}

#[track_caller]
fn assert_empty<O: Order>(search: &TreeSearch<O>) {
    assert_eq!((search.nodes(), search.pending()), (1, 0), "only the root is left");
    assert_eq!(search.store.candidates.entries(), 0);
}

// C(6, 3), the multinomials 6! / 2!^3 and 8! / 2!^4, and one task alone.
#[test]
fn every_priority_runs_every_execution_once() {
    for (steps, count) in [(&[3, 3][..], 20), (&[2, 2, 2], 90), (&[2, 2, 2, 2], 2_520), (&[4], 1)] {
        let toy = Toy::independent(steps);
        let expected = toy::interleavings(&toy, u32::MAX);
        assert_eq!(expected.len(), count);
        for parts in all_priorities(1) {
            let mut search = best(parts);
            assert_eq!(sorted(toy::all(&mut search, &toy)), expected, "{}", search.name());
            assert_eq!(search.covered(), Covered::Everything);
            assert_empty(&search);
        }
    }
}

#[test]
fn a_bound_gives_exactly_the_executions_within_it() {
    for toy in [Toy::independent(&[3, 3]), Toy::independent(&[2, 2, 2]), mixed()] {
        for k in 0..6 {
            let expected = toy::interleavings(&toy, k);
            for parts in all_priorities(u64::from(k)) {
                let bound = Bound::Preemptions(k);
                let mut search =
                    TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, bound).unwrap();
                let executions = sorted(toy::all(&mut search, &toy));
                assert_eq!(executions, expected, "{k} preemptions, {}", search.name());
                assert_eq!(search.covered(), Covered::Preemptions(k));
                assert_empty(&search);
            }
        }
    }
}

#[test]
fn whatever_the_default_order_the_set_is_the_same() {
    let expected = toy::interleavings(&mixed(), u32::MAX);
    for parts in all_priorities(2) {
        let mut turns =
            TreeSearch::within(Frontier::BestFirst(parts), TakeTurns, Bound::None).unwrap();
        assert_eq!(sorted(toy::all(&mut turns, &mixed())), expected);
        assert_empty(&turns);
    }
    for parts in all_priorities(2) {
        let mut any =
            TreeSearch::within(Frontier::BestFirst(parts), AnyTask::new(5), Bound::None).unwrap();
        assert_eq!(sorted(toy::all(&mut any, &mixed())), expected);
        assert_empty(&any);
    }
}

#[test]
fn without_priorities_it_goes_depth_first() {
    for toy in [mixed(), Toy::independent(&[3, 2, 2])] {
        let depth_first = toy::all(&mut DepthFirst::default(), &toy);
        assert_eq!(toy::all(&mut best(Vec::new()), &toy), depth_first);
    }
}

/// How often an execution leaves a task that could go on.
fn preemptions(toy: &Toy, moves: &Moves) -> u32 {
    (0..9)
        .find(|&k| toy::interleavings(toy, k).binary_search(moves).is_ok())
        .expect("it is one of all")
}

#[test]
fn pb_raises_the_bound_step_by_step_and_says_how_far_it_is() {
    let toy = Toy::independent(&[2, 3]);
    let mut search = best(vec![Box::new(Preemptions)]);
    let mut plan = Plan::default();
    let mut seen = Vec::new();
    let mut costs = Vec::new();
    loop {
        // What is said to be covered is: all within the bound have been run.
        match search.covered() {
            Covered::Preemptions(k) => {
                let within = toy::interleavings(&toy, k);
                assert!(within.iter().all(|moves| seen.contains(moves)), "{k}");
            }
            Covered::Part { executions, preemptions: None } => {
                assert_eq!(executions, seen.len() as u64);
                assert!(seen.len() < toy::interleavings(&toy, 0).len(), "0 is not reached yet");
            }
            covered => assert_eq!((covered, seen.len()), (Covered::Everything, 10), "C(5, 2)"),
        }
        let Some(execution) = toy::execute(&mut search, &mut plan, &toy) else { break };
        costs.push(preemptions(&toy, &execution.moves));
        seen.push(execution.moves);
    }
    assert!(costs.is_sorted(), "{costs:?}");
    // Two without; with one: after 1 of 2, 1 of 3 or 2 of 3 steps; and so on up to 3.
    assert_eq!([0, 1, 2, 3].map(|k| costs.iter().filter(|cost| **cost == k).count()), [2, 3, 4, 1]);
}

#[test]
fn another_bound_says_what_it_covers_before_its_end() {
    let toy = Toy::independent(&[3, 3]);
    let parts: Parts = vec![Box::new(Preemptions)];
    let mut search =
        TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, Bound::Preemptions(3))
            .unwrap();
    toy::first(&mut search, &toy, toy::interleavings(&toy, 1).len());
    assert_eq!(search.covered(), Covered::Preemptions(1));
}

#[test]
fn an_execution_that_never_ended_is_run_again() {
    for toy in [Toy::independent(&[3, 3]), mixed()] {
        for parts in all_priorities(3) {
            let mut search = best(parts);
            let mut plan = Plan::default();
            let mut executions = Vec::new();
            while search.begin(&mut plan) {
                toy::execute_unended(&mut search, &plan, &toy);
                executions.push(toy::execute(&mut search, &mut plan, &toy).unwrap().moves);
            }
            assert_eq!(sorted(executions), toy::interleavings(&toy, u32::MAX));
            assert_empty(&search);
        }
    }
}

#[test]
fn a_limit_on_steps_ends_executions_and_not_the_search() {
    let toy = Toy { max_steps: 4, ..Toy::independent(&[3, 3]) };
    let expected = sorted(toy::all(&mut DepthFirst::default(), &toy));
    for parts in all_priorities(1) {
        assert_eq!(sorted(toy::all(&mut best(parts), &toy)), expected);
    }
}

#[test]
fn best_first_notices_another_program() {
    for parts in all_priorities(1) {
        let mut search = best(parts);
        let mut plan = Plan::default();
        toy::execute(&mut search, &mut plan, &Toy::independent(&[2, 2])).unwrap();
        toy::execute(&mut search, &mut plan, &Toy::independent(&[2, 2, 2])).unwrap();
        assert!(matches!(search.covered(), Covered::Part { .. }));
    }
}

#[test]
fn an_order_that_preempts_cannot_be_bounded() {
    let refused =
        TreeSearch::within(Frontier::BestFirst(Vec::new()), TakeTurns, Bound::Preemptions(1))
            .unwrap_err();
    assert!(refused.to_string().starts_with("`in-turns` itself leaves tasks"));
}

#[test]
fn unsupported_divisions_of_the_tree_are_refused() {
    let mut search = best(vec![Box::new(Preemptions)]);
    let mut reduced = TreeSearch::new(TreeExpansion::Source, Frontier::BestFirst(Vec::new()));
    let state = search.save().unwrap();
    assert_eq!(reduced.restore(&state).unwrap_err(), crate::state::FOREIGN);
    let refused = reduced.split(2).unwrap_err().to_string();
    assert!(refused.starts_with("this strategy cannot be split with a reduction"), "{refused}");
}

// Two tasks write one object and take a step of their own. The second execution under `dpor` writes in the
// other order, at the first of three points; depth first changes the last of them.
#[test]
fn races_are_reversed_first() {
    let task = || vec![ToyOp::Write(0), ToyOp::Step];
    let toy = Toy::new(vec![task(), task()]);
    let writers = |search: &mut dyn Strategy| -> Vec<_> {
        toy::first(search, &toy, 2).iter().map(|moves| moves[0].0).collect()
    };
    for parts in [vec![Box::new(Dpor) as Box<dyn Priority>], vec![Box::new(ModifiedDpor)]] {
        assert_eq!(writers(&mut best(parts)), [0, 1]);
    }
    assert_eq!(writers(&mut DepthFirst::default()), [0, 0]);
}

// One task looks at an object, takes a step and changes the object; the other one writes it. Of the five points of
// the first execution the second and the third are inside: the last of them is next, then the other one, and
// then what needs no preemption.
#[test]
fn windows_are_broken_into_first() {
    let toy = Toy::new(vec![
        vec![ToyOp::Read(0), ToyOp::Step, ToyOp::Write(0), ToyOp::Step, ToyOp::Step],
        vec![ToyOp::Write(0)],
    ]);
    let second_moves_at = |parts: Parts| -> Vec<_> {
        let executions = toy::first(&mut best(parts), &toy, 4);
        executions.iter().map(|moves| moves.iter().position(|at| at.0 == 1)).collect()
    };
    let inside = second_moves_at(vec![Box::new(Patterns), Box::new(Preemptions)]);
    assert_eq!(inside, [Some(5), Some(2), Some(1), Some(0)]);
    assert_eq!(second_moves_at(vec![]), [5, 4, 3, 2].map(Some));
}

/// GAMBIT's own `dpor`, or `mdpor`: by races alone.
#[derive(Debug)]
struct ByRaces {
    modified: bool,
}

impl Priority for ByRaces {
    fn name(&self) -> String {
        "by-races".to_owned()
    }

    fn sees(&self) -> Sees {
        Sees { races: true, ..Sees::default() }
    }

    fn cost(&mut self, candidate: &Candidate) -> Cost {
        self.improved(candidate.reversal).expect("it says so of each")
    }

    fn improved(&self, reversal: Reversal) -> Option<Cost> {
        Some(Cost(match reversal {
            Reversal::Race => 0,
            Reversal::Conservative => u32::from(self.modified),
            Reversal::None => 2,
        }))
    }
}

/// Who wrote an object, in that order.
fn writes(toy: &Toy, moves: &Moves, object: u32) -> Vec<u32> {
    let mut at = vec![0; toy.tasks.len()];
    let mut writers = Vec::new();
    for (task, _) in moves {
        let op = toy.tasks[*task as usize][at[*task as usize]];
        at[*task as usize] += 1;
        if op == ToyOp::Write(object) {
            writers.push(*task);
        }
    }
    writers
}

// The shape of GAMBIT's ScatterGather. Within one preemption: the third task is to write before the second,
// and the last two are to take turns, which is where the preemption goes. To reverse the race of the
// first two writes would take another one; to let the third task go when the first is done takes none, but
// nothing races there.
#[test]
fn a_switch_that_is_no_preemption_is_not_put_off() {
    let busy = || [1, 2, 3, 4].map(ToyOp::Write).to_vec();
    let toy = Toy::new(vec![
        vec![ToyOp::Step],
        vec![ToyOp::Step, ToyOp::Write(0)],
        vec![ToyOp::Write(0)],
        busy(),
        busy(),
    ]);
    let is_bad = |moves: &Moves| {
        writes(&toy, moves, 0) == [2, 1]
            && writes(&toy, moves, 1) == [3, 4]
            && writes(&toy, moves, 4) == [4, 3]
    };
    let until_bad = |part: Box<dyn Priority>| {
        let bound = Bound::Preemptions(1);
        let mut search =
            TreeSearch::within(Frontier::BestFirst(vec![part]), NonPreemptive, bound).unwrap();
        let mut plan = Plan::default();
        let mut executions = std::iter::from_fn(|| toy::execute(&mut search, &mut plan, &toy));
        1 + executions
            .position(|execution| is_bad(&execution.moves))
            .expect("it is within the bound")
    };
    let dpor = (until_bad(Box::new(ByRaces { modified: false })), until_bad(Box::new(Dpor)));
    let mdpor =
        (until_bad(Box::new(ByRaces { modified: true })), until_bad(Box::new(ModifiedDpor)));
    // By races alone, and with the switch before what nothing speaks for.
    assert_eq!((dpor, mdpor), ((62, 32), (62, 32)));
}

// Three independent tasks of one step: all six executions are equivalent, and all are run.
#[test]
fn what_sleeps_is_run_all_the_same() {
    let toy = Toy::independent(&[1, 1, 1]);
    let mut search = best(vec![Box::new(SleepSets)]);
    assert_eq!(sorted(toy::all(&mut search, &toy)).len(), 6);
}

// Three tasks write one object. The first execution, 0 1 2, has the races (0, 1) and (1, 2); that 2 also
// races with 0 is seen where 2 follows 0. Then the candidate that begins with 2 moves up, and its old entry
// is skipped: of 3! executions none is run twice.
#[test]
fn a_candidate_that_moves_up_is_run_once() {
    let toy = Toy::new(vec![vec![ToyOp::Write(0)]; 3]);
    let mut search = best(vec![Box::new(Dpor)]);
    let mut plan = Plan::default();
    let (mut executions, mut stale) = (Vec::new(), 0);
    while let Some(execution) = toy::execute(&mut search, &mut plan, &toy) {
        executions.push(execution.moves);
        stale = stale.max(search.store.candidates.entries() as u64 - search.pending());
    }
    assert_eq!(sorted(executions).len(), 6);
    assert_eq!(stale, 1, "one moved up");
    assert_empty(&search);
}

// One execution of each order of the steps that depend on each other: of two writers and a step 2!.
#[test]
fn a_reduction_runs_one_of_each_class() {
    let writer = || vec![ToyOp::Step, ToyOp::Write(0)];
    let toy = Toy::new(vec![writer(), writer(), vec![ToyOp::Step]]);
    for expansion in [TreeExpansion::Source, TreeExpansion::Classic] {
        let frontier = Frontier::BestFirst(vec![Box::new(Rand::new(3))]);
        let mut search = TreeSearch::new(expansion, frontier);
        assert_eq!(toy::all(&mut search, &toy).len(), 2, "{expansion:?}");
        assert_eq!(search.covered(), Covered::Equivalence);
        assert_empty(&search);
    }
}

#[test]
fn a_node_keeps_no_more_than_it_says() {
    assert_eq!(size_of::<Pending>(), 16);
    assert!(size_of::<Option<nodes::Node>>() <= 56);
}

// Two steps each of two tasks: C(4, 2) = 6 executions. Where one task is done there is no choice any more, so
// the first, which lets a task run to its end, has two points and the chance 1/4: 4 are estimated, and 3 are
// known. At the end all is known, in whatever order it was run.
#[test]
fn how_much_there_is_is_estimated_in_any_order() {
    let toy = Toy::independent(&[2, 2]);
    for parts in all_priorities(5) {
        let mut search = best(parts);
        assert_eq!(search.progress().estimate, None);
        let mut plan = Plan::default();
        toy::execute(&mut search, &mut plan, &toy);
        let progress = search.progress();
        assert_eq!(progress.estimate.and_then(|estimate| estimate.weighted), Some(4.0));
        assert_eq!((progress.covered, progress.pending), (Some(0.25), 2));
        while toy::execute(&mut search, &mut plan, &toy).is_some() {
            let estimate = search.progress().estimate.expect("something was run");
            let least = search.executions + search.pending();
            let least = f64::from(u32::try_from(least).expect("there are 6"));
            assert!(estimate.total.low >= least && estimate.total.about >= estimate.total.low);
        }
        let progress = search.progress();
        let total = progress.estimate.expect("all was run").total;
        assert_eq!(
            (total.low, total.about, total.high, progress.covered),
            (6.0, 6.0, 6.0, Some(1.0))
        );
    }
    let parts: Parts = vec![Box::new(Preemptions)];
    let mut bounded =
        TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, Bound::Preemptions(1))
            .unwrap();
    toy::execute(&mut bounded, &mut Plan::default(), &toy);
    assert_eq!(bounded.progress().estimate, None, "what is within a bound is not known");
}

/// Toys whose steps depend on each other.
pub(super) fn programs() -> impl proptest::prelude::Strategy<Value = Toy> {
    let op = prop_oneof![
        2 => Just(ToyOp::Step),
        3 => (0..2_u32).prop_map(ToyOp::Write),
        3 => (0..2_u32).prop_map(ToyOp::Read),
        1 => Just(ToyOp::Yield),
        1 => (2..4_u32).prop_map(ToyOp::Value),
    ];
    let locked = Just(vec![ToyOp::Lock, ToyOp::Unlock]);
    let part = prop_oneof![4 => op.prop_map(|op| vec![op]), 1 => locked];
    let task = proptest::collection::vec(part, 0..3).prop_map(|parts| parts.concat());
    proptest::collection::vec(task, 1..4).prop_map(Toy::new)
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, ..toy::fixed_seed() })]

    #[test]
    fn best_first_loses_and_repeats_no_execution(toy in programs(), seed: u64, k in 0_u32..4) {
        let (bound, limit) =
            if k == 3 { (Bound::None, u32::MAX) } else { (Bound::Preemptions(k), k) };
        let expected = toy::interleavings(&toy, limit);
        for parts in all_priorities(seed) {
            let mut search = TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, bound).unwrap();
            prop_assert_eq!(&sorted(toy::all(&mut search, &toy)), &expected);
            assert_empty(&search);
        }
    }
}
