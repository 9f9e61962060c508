//! The depth-first search against plain recursion: exact equality of sets.

use std::collections::BTreeSet;

use proptest::prelude::{prop, prop_assert_eq, proptest};
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Checkpoint, Divisible as _, Estimating as _, Plan, Resumable as _, Strategy,
};

use super::*;
use crate::order::TakeTurns;
use crate::random::Random;
use crate::state::Writer;
use crate::toy::{self, Moves, Nothing, Op, Toy};

fn preemptions(k: u32) -> DepthFirst {
    DepthFirst::within(NonPreemptive, Bound::Preemptions(k)).unwrap()
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

// Two tasks of a and b steps: C(a+b, a). Three: the multinomial (a+b+c)! / (a! b! c!).
#[test]
fn independent_steps_give_as_many_executions_as_interleavings() {
    for (steps, count) in [
        (&[1, 1][..], 2),
        (&[3, 3], 20),
        (&[5, 5], 252),
        (&[2, 5], 21),
        (&[7, 7], 3_432),
        (&[2, 2, 2], 90),
        (&[1, 2, 3], 60),
        (&[2, 2, 2, 2], 2_520),
        (&[4], 1),
        (&[], 1),
    ] {
        let toy = Toy::independent(steps);
        let mut search = DepthFirst::default();
        let executions = sorted(toy::all(&mut search, &toy));
        assert_eq!(executions.len(), count, "{steps:?}");
        assert_eq!(executions, toy::interleavings(&toy, u32::MAX), "{steps:?}");
        assert_eq!(search.covered(), Covered::Everything);
    }
}

#[test]
fn locks_yields_and_values_are_covered_too() {
    let expected = toy::interleavings(&mixed(), u32::MAX);
    assert_eq!(sorted(toy::all(&mut DepthFirst::default(), &mixed())), expected);
    assert_eq!(sorted(toy::all(&mut DepthFirst::new(TakeTurns), &mixed())), expected);
}

#[test]
fn ids_in_another_order_than_creation_lose_nothing() {
    let toy = Toy { ids: vec![5, 2, 9], ..mixed() };
    let expected = toy::interleavings(&toy, u32::MAX);
    assert_eq!(sorted(toy::all(&mut DepthFirst::default(), &toy)), expected);
}

#[test]
fn the_first_execution_follows_the_order() {
    let toy = Toy::independent(&[2, 2, 2]);
    let tasks = |search: &mut dyn Strategy| -> Vec<u32> {
        toy::first(search, &toy, 1)[0].iter().map(|&(task, _)| task).collect()
    };
    assert_eq!(tasks(&mut DepthFirst::default()), [0, 0, 1, 1, 2, 2]);
    assert_eq!(tasks(&mut DepthFirst::new(TakeTurns)), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_bound_gives_exactly_the_executions_within_it() {
    for toy in [Toy::independent(&[3, 3]), Toy::independent(&[2, 2, 2]), mixed()] {
        for k in 0..7 {
            let mut search = preemptions(k);
            let executions = sorted(toy::all(&mut search, &toy));
            assert_eq!(executions, toy::interleavings(&toy, k), "{k} preemptions");
            assert_eq!(search.covered(), Covered::Preemptions(k));
        }
    }
}

// Two tasks of n steps: 2 executions without a preemption. With one, 2 (n - 1) more: who is
// first, and after which of its n - 1 first steps it is left.
#[test]
fn bounded_counts_come_out_as_arithmetic_says() {
    let toy = Toy::independent(&[6, 6]);
    assert_eq!(toy::all(&mut preemptions(0), &toy).len(), 2);
    assert_eq!(toy::all(&mut preemptions(1), &toy).len(), 2 + 2 * 5);
}

#[test]
fn an_order_that_preempts_cannot_be_bounded() {
    let refused = DepthFirst::within(TakeTurns, Bound::Preemptions(2)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`in-turns` itself leaves tasks that could go on, so preemptions cannot be bounded \
         along it; use `non-preemptive`"
    );
}

#[test]
fn nothing_is_claimed_before_the_end() {
    let toy = Toy::independent(&[3, 3]);
    let mut search = preemptions(2);
    toy::first(&mut search, &toy, 4);
    assert_eq!(search.covered(), Covered::Part { executions: 4, preemptions: Some(2) });
}

#[test]
fn an_ended_search_stays_ended() {
    let toy = Toy::independent(&[1, 1]);
    let mut search = DepthFirst::default();
    assert_eq!(toy::all(&mut search, &toy).len(), 2);
    assert!(toy::all(&mut search, &toy).is_empty());
    let mut other = DepthFirst::default();
    other.restore(&search.save().unwrap()).unwrap();
    assert!(toy::all(&mut other, &toy).is_empty());
    assert_eq!(other.covered(), Covered::Everything);
}

#[test]
fn only_the_last_entry_of_the_plan_is_written() {
    let toy = Toy::independent(&[4, 4]);
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    for _ in 0..3 {
        toy::execute(&mut search, &mut plan, &toy).unwrap();
    }
    plan.prefix[0] = 77;
    assert!(search.begin(&mut plan));
    assert!(plan.prefix.len() > 1);
    assert_eq!(plan.prefix[0], 77);
}

// Each execution is first begun, led to one point beyond its plan, and given up.
#[test]
fn an_execution_that_never_ended_is_run_again() {
    let toy = Toy::independent(&[3, 3]);
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    let mut executions = Vec::new();
    while search.begin(&mut plan) {
        let before = search.save();
        search.decide(&Point {
            index: plan.prefix.len() as u32,
            options: Options::Value { task: TaskId::ROOT, of: 5, during: false },
            running: None,
            last: TaskId::ROOT,
            objects: 0,
            pending: &Nothing,
        });
        assert_eq!(search.save(), before);
        plan.prefix.clear();
        executions.push(toy::execute(&mut search, &mut plan, &toy).unwrap().moves);
    }
    assert_eq!(sorted(executions), toy::interleavings(&toy, u32::MAX));
}

#[test]
fn a_search_can_be_set_back() {
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    let mut next = |search: &mut DepthFirst, n| -> Vec<_> {
        (0..n).map(|_| toy::execute(search, &mut plan, &mixed()).unwrap().moves).collect()
    };
    next(&mut search, 100);
    let state = search.save().unwrap();
    let expected = next(&mut search, 200);
    search.restore(&state).unwrap();
    assert_eq!(next(&mut search, 200), expected);
}

// Each execution is cut after 3 of 6 steps, so there is one for each way to take 3.
#[test]
fn an_execution_cut_by_a_limit_is_one_like_any_other() {
    let toy = Toy { max_steps: 3, ..Toy::independent(&[3, 3]) };
    assert_eq!(sorted(toy::all(&mut DepthFirst::default(), &toy)).len(), 8);
}

// Some execution is cut before its plan is done: those that begin with that plan are lost, and
// no other. With independent steps the first decisions are the first moves.
#[test]
fn a_limit_within_the_plan_costs_what_follows_the_plan() {
    let whole = Toy::independent(&[3, 3]);
    let cut = Toy { max_steps: 1, ..whole.clone() };
    for unlucky in 2..=20 {
        let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
        let mut executions = Vec::new();
        for _ in 1..unlucky {
            executions.push(toy::execute(&mut search, &mut plan, &whole).unwrap().moves);
        }
        let mut twin = search.clone();
        let lost = toy::execute(&mut twin, &mut plan.clone(), &whole).unwrap().moves;
        toy::execute(&mut search, &mut plan, &cut).unwrap();
        let planned = search.path.planned();
        while let Some(execution) = toy::execute(&mut search, &mut plan, &whole) {
            executions.push(execution.moves);
        }
        let mut expected = toy::interleavings(&whole, u32::MAX);
        expected.retain(|moves| moves[..planned] != lost[..planned]);
        assert_eq!(sorted(executions), expected, "execution {unlucky} was cut");
    }
}

#[test]
fn a_program_that_leaves_the_plan_ends_without_a_claim() {
    let toy = Toy::independent(&[3, 3]);
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    toy::execute(&mut search, &mut plan, &toy).unwrap();
    let shorter = Toy::independent(&[1, 1]);
    let mut executions = 1;
    while toy::execute(&mut search, &mut plan, &shorter).is_some() {
        executions += 1;
    }
    assert_eq!(search.covered(), Covered::Part { executions, preemptions: None });
}

#[test]
fn a_search_restored_at_any_time_goes_on_as_if_nothing_had_happened() {
    for every in [1, 2, 3, 7] {
        let uninterrupted = toy::all(&mut preemptions(2), &mixed());
        let mut search = preemptions(2);
        let mut executions = Vec::new();
        loop {
            let next = toy::first(&mut search, &mixed(), every);
            if next.is_empty() {
                break;
            }
            executions.extend(next);
            let mut other = preemptions(2);
            other.restore(&search.save().unwrap()).unwrap();
            assert_eq!(other.progress().covered, search.progress().covered);
            assert_eq!(other.progress().pending, search.progress().pending);
            search = other;
        }
        assert_eq!(executions, uninterrupted, "restored after every {every}");
        assert_eq!(search.covered(), Covered::Preemptions(2));
    }
}

#[test]
fn a_state_of_another_search_is_refused() {
    let mut search = preemptions(2);
    toy::first(&mut search, &mixed(), 5);
    let state = search.save().unwrap();
    preemptions(1).restore(&state).unwrap_err();
    DepthFirst::default().restore(&state).unwrap_err();
    DepthFirst::new(TakeTurns).restore(&state).unwrap_err();
    DepthFirst::default().restore(&Random::new(1).save().unwrap()).unwrap_err();
    search.restore(&Checkpoint::default()).unwrap_err();
    assert_eq!(search.save().unwrap(), state);
}

/// Runs a search and everything it gives away: `n` parts after every `every` executions.
fn in_parts(whole: &DepthFirst, toy: &Toy, every: usize, n: usize) -> (Vec<Moves>, usize) {
    let fresh = whole.clone();
    let (mut searches, mut executions, mut parts) = (vec![whole.clone()], Vec::new(), 0);
    while let Some(mut search) = searches.pop() {
        let mut plan = Plan::default();
        for number in 1.. {
            let Some(execution) = toy::execute(&mut search, &mut plan, toy) else { break };
            executions.push(execution.moves);
            if number % every > 0 {
                continue;
            }
            let given = search.split(n).unwrap();
            assert!(given.len() <= n);
            parts += given.len();
            for work in given {
                let mut part = fresh.clone();
                part.restore(&work.state).unwrap();
                let mut plan = Plan::default();
                assert!(part.clone().begin(&mut plan));
                let options: Vec<_> = work.prefix.iter().map(|taken| taken.option).collect();
                assert_eq!(plan.prefix, options);
                searches.push(part);
            }
        }
    }
    (executions, parts)
}

#[test]
fn the_parts_of_a_search_are_the_search() {
    for toy in [Toy::independent(&[3, 3]), Toy::independent(&[2, 2, 2]), mixed()] {
        for (search, k) in [
            (DepthFirst::default(), u32::MAX),
            (preemptions(0), 0),
            (preemptions(1), 1),
            (preemptions(3), 3),
        ] {
            let expected = toy::interleavings(&toy, k);
            for (every, n) in [(1, 1), (1, 2), (1, 100), (3, 1), (5, 4), (50, 3)] {
                let (executions, parts) = in_parts(&search, &toy, every, n);
                assert_eq!(sorted(executions), expected, "{n} parts every {every}, bound {k}");
                assert!(parts > 0 || every >= expected.len());
            }
        }
    }
}

// Given away before the next execution begins and while one runs: nothing may get lost.
#[test]
fn a_search_may_be_split_while_an_execution_runs() {
    let toy = mixed();
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    let mut executions = Vec::new();
    let mut given = Vec::new();
    loop {
        search.begin(&mut plan);
        given.extend(search.split(1).unwrap());
        plan.prefix.clear();
        let Some(execution) = toy::execute(&mut search, &mut plan, &toy) else { break };
        executions.push(execution.moves);
    }
    assert!(given.len() > 3);
    for work in given {
        let mut part = DepthFirst::default();
        part.restore(&work.state).unwrap();
        executions.extend(toy::all(&mut part, &toy));
    }
    assert_eq!(sorted(executions), toy::interleavings(&toy, u32::MAX));
}

#[test]
fn parts_come_from_the_shallowest_point() {
    let toy = Toy::independent(&[3, 3, 3]);
    let mut search = DepthFirst::default();
    toy::first(&mut search, &toy, 1);
    let parts = search.split(3).unwrap();
    let prefixes: Vec<Vec<_>> = parts
        .iter()
        .map(|work| work.prefix.iter().map(|taken| (taken.option, taken.of)).collect())
        .collect();
    assert_eq!(prefixes, [vec![(2, 3)], vec![(1, 3)], vec![(0, 3), (2, 3)]]);
}

// Of 6 executions each half has 3: those that begin with task 0, and with task 1.
#[test]
fn neither_a_part_nor_what_is_left_claims_the_whole() {
    let toy = Toy::independent(&[2, 2]);
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    assert_eq!(search.split(2).unwrap(), []);
    toy::execute(&mut search, &mut plan, &toy).unwrap();
    let parts = search.split(1).unwrap();
    let mut part = DepthFirst::default();
    part.restore(&parts[0].state).unwrap();
    assert_eq!(part.progress().covered, Some(0.0));
    for search in [&mut search, &mut part] {
        while toy::execute(search, &mut plan, &toy).is_some() {}
        assert_eq!(search.covered(), Covered::Part { executions: 3, preemptions: None });
        assert_eq!(search.progress().covered, Some(1.0));
    }
}

#[test]
fn progress_rises_to_one_and_pending_falls_to_nothing() {
    for (mut search, toy) in
        [(DepthFirst::default(), Toy::independent(&[3, 3])), (preemptions(2), mixed())]
    {
        let mut plan = Plan::default();
        let mut before = search.progress();
        assert_eq!((before.covered, before.pending), (Some(0.0), 1));
        while toy::execute(&mut search, &mut plan, &toy).is_some() {
            let now = search.progress();
            assert!(now.covered > before.covered, "{before:?} then {now:?}");
            before = now;
        }
        let covered = before.covered.unwrap();
        assert!((covered - 1.0).abs() < 1e-9, "{covered}");
        assert_eq!(before.pending, 0);
        assert_eq!(search.progress().covered, Some(1.0));
    }
}

// One decision of four options: a quarter after each.
#[test]
fn the_estimate_splits_uniformly() {
    let toy = Toy::new(vec![vec![Op::Value(4)]]);
    let (mut search, mut plan) = (DepthFirst::default(), Plan::default());
    for share in [0.25, 0.5, 0.75, 1.0] {
        toy::execute(&mut search, &mut plan, &toy).unwrap();
        assert_eq!(search.progress().covered, Some(share));
    }
}

// ---- with a cache ------------------------------------------------------------------------------

type Traces = BTreeSet<(Vec<Moves>, Vec<u32>)>;

fn cached(k: u32, prefixes: usize) -> DepthFirst {
    let bound = if k == u32::MAX { Bound::None } else { Bound::Preemptions(k) };
    DepthFirst::within(NonPreemptive, bound).unwrap().cached(prefixes)
}

/// The traces of all executions of at most so many preemptions.
fn traces(toy: &Toy, k: u32) -> Traces {
    toy::interleavings(toy, k).iter().map(|moves| toy.trace(moves)).collect()
}

/// Runs a search to its end. What was cut is no trace of it.
fn run(search: &mut DepthFirst, toy: &Toy, found: &mut Traces) -> u64 {
    let mut plan = Plan::default();
    let mut executions = 0;
    while let Some(execution) = toy::execute(search, &mut plan, toy) {
        executions += 1;
        if execution.cut.is_none() {
            found.insert(toy.trace(&execution.moves));
        }
    }
    executions
}

/// Programs in which steps commute, with locks and values.
fn commuting() -> [Toy; 4] {
    let section = [Op::Lock, Op::Step, Op::Unlock];
    [
        Toy::independent(&[2, 2, 2]),
        Toy::new(vec![section.to_vec(), section.to_vec(), vec![Op::Step, Op::Step]]),
        Toy::new(vec![[Op::Value(3)].to_vec(), section.to_vec(), vec![Op::Value(2), Op::Step]]),
        mixed(),
    ]
}

#[test]
fn a_cache_keeps_every_trace_whatever_its_size() {
    for toy in commuting() {
        for k in [0, 1, 2, 3, u32::MAX] {
            let expected = traces(&toy, k);
            let all = toy::interleavings(&toy, k).len() as u64;
            for prefixes in [1, 2, 5, 1000] {
                let (mut search, mut found) = (cached(k, prefixes), Traces::new());
                let executions = run(&mut search, &toy, &mut found);
                assert_eq!(found, expected, "{k} preemptions, {prefixes} prefixes");
                assert!(executions <= all);
                assert_eq!(search.progress().covered, Some(1.0));
            }
        }
    }
}

// Two tasks of n independent steps have (n + 1)^2 prefixes. Of these n^2 have two options, and each
// is explored once: one execution for each option but the first, and the very first.
#[test]
fn a_cache_runs_each_option_of_each_prefix_once() {
    for n in 1..6 {
        let (mut search, mut found) = (cached(u32::MAX, 1000), Traces::new());
        let executions = run(&mut search, &Toy::independent(&[n, n]), &mut found);
        assert_eq!((executions, found.len()), (1 + (n * n) as u64, 1));
    }
}

#[test]
fn a_cache_says_what_it_was_used_for() {
    let toy = Toy::independent(&[3, 3]);
    let covered = |mut search: DepthFirst| {
        run(&mut search, &toy, &mut Traces::new());
        search.covered()
    };
    // 9 prefixes have two options. All but the first 2 * 3 - 1 on the borders are met from two
    // sides: 4 once more.
    let (preemptions, compared, stored, dropped) = (None, 13, 9, 0);
    let expected = Covered::Cached { preemptions, compared, stored, dropped };
    assert_eq!(covered(cached(u32::MAX, 9)), expected);
    let Covered::Cached { stored, dropped, .. } = covered(cached(u32::MAX, 3)) else {
        panic!("the latest three are enough to meet one again");
    };
    assert_eq!(stored - dropped, 3);
    assert_eq!(covered(cached(u32::MAX, 1)), Covered::Everything);
    assert_eq!(covered(cached(0, 1000)), Covered::Preemptions(0));
}

// The cache is saved with it. That the executions are the same is in `registry/saving.rs`.
#[test]
fn a_cached_search_restored_at_any_time_loses_nothing() {
    for toy in commuting() {
        for (k, every) in [(u32::MAX, 1), (u32::MAX, 3), (1, 1), (2, 5)] {
            let (mut search, mut found) = (cached(k, 1000), Traces::new());
            loop {
                let mut plan = Plan::default();
                let next = |_| toy::execute(&mut search, &mut plan, &toy);
                let executions: Vec<_> = (0..every).map_while(next).collect();
                if executions.is_empty() {
                    break;
                }
                let whole = executions.iter().filter(|execution| execution.cut.is_none());
                found.extend(whole.map(|execution| toy.trace(&execution.moves)));
                let mut other = cached(k, 1000);
                other.restore(&search.save().unwrap()).unwrap();
                assert_eq!(other.expansion.used(), search.expansion.used());
                search = other;
            }
            assert_eq!(found, traces(&toy, k), "restored after every {every}");
        }
    }
}

// What the cache has of an execution that has not ended would be taken for covered.
#[test]
fn a_cached_search_is_not_saved_while_an_execution_runs() {
    let (mut search, mut plan) = (cached(u32::MAX, 1000), Plan::default());
    toy::execute(&mut search, &mut plan, &mixed());
    assert!(search.begin(&mut plan));
    search.save().unwrap();
    toy::execute_unended(&mut search, &plan, &mixed());
    search.save().unwrap_err();
}

#[test]
fn a_state_of_another_cache_is_refused() {
    let mut search = cached(2, 1000);
    toy::first(&mut search, &mixed(), 5);
    let state = search.save().unwrap();
    cached(2, 999).restore(&state).unwrap_err();
    cached(1, 1000).restore(&state).unwrap_err();
    preemptions(2).restore(&state).unwrap_err();
    cached(2, 1000).restore(&state).unwrap();
    search.restore(&preemptions(2).save().unwrap()).unwrap_err();
}

// The search that gave parts away goes on to rely on prefixes of which the parts are due.
#[test]
fn the_parts_of_a_cached_search_keep_every_trace() {
    for toy in commuting() {
        for k in [0, 1, 2, u32::MAX] {
            for (every, n) in [(1, 1), (1, 100), (3, 2), (7, 1)] {
                let (mut searches, mut found) = (vec![cached(k, 1000)], Traces::new());
                while let Some(mut search) = searches.pop() {
                    let mut plan = Plan::default();
                    for number in 1.. {
                        let Some(run) = toy::execute(&mut search, &mut plan, &toy) else { break };
                        if run.cut.is_none() {
                            found.insert(toy.trace(&run.moves));
                        }
                        if number % every == 0 {
                            for work in search.split(n).unwrap() {
                                let mut part = cached(k, 1000);
                                part.restore(&work.state).unwrap();
                                searches.push(part);
                            }
                        }
                    }
                }
                assert_eq!(found, traces(&toy, k), "{n} parts every {every}, bound {k}");
            }
        }
    }
}

// Each execution is first begun, led to the end of its plan and beyond, and given up. It must not
// meet itself when it is run again.
#[test]
fn a_cached_execution_that_never_ended_is_run_again() {
    for toy in commuting() {
        let (mut search, mut found) = (cached(u32::MAX, 1000), Traces::new());
        let mut plan = Plan::default();
        loop {
            let mut given_up = search.clone();
            let mut same = plan.clone();
            if !given_up.begin(&mut same) {
                break;
            }
            // All that happens but the end of it.
            toy::execute_unended(&mut given_up, &same, &toy);
            let execution = toy::execute(&mut given_up, &mut Plan::default(), &toy).unwrap();
            if execution.cut.is_none() {
                found.insert(toy.trace(&execution.moves));
            }
            search = given_up;
            plan = Plan::default();
            plan.prefix.extend(execution.decisions.iter().map(|taken| taken.option));
        }
        assert_eq!(found, traces(&toy, u32::MAX));
    }
}

// With the cache as without: one for each way to take 3 of 6 steps.
#[test]
fn executions_that_a_limit_cut_off_are_not_taken_for_each_other() {
    let toy = Toy { max_steps: 3, ..Toy::independent(&[3, 3]) };
    assert_eq!(sorted(toy::all(&mut cached(u32::MAX, 1000), &toy)).len(), 8);
}

// One execution is cut off by a limit. What it did not come to is run elsewhere if it can be: what
// begins with its decisions is lost at most.
#[test]
fn nothing_is_taken_to_be_done_that_a_limit_cut_off() {
    for whole in commuting() {
        let expected = traces(&whole, u32::MAX);
        for unlucky in 1..30 {
            let (mut search, mut plan) = (cached(u32::MAX, 1000), Plan::default());
            let (mut found, mut lost) = (Traces::new(), Moves::new());
            for number in 1.. {
                let short = Toy { max_steps: 2, ..whole.clone() };
                let toy = if number == unlucky { &short } else { &whole };
                let Some(execution) = toy::execute(&mut search, &mut plan, toy) else { break };
                if number == unlucky {
                    lost = execution.moves;
                } else if execution.cut.is_none() {
                    found.insert(whole.trace(&execution.moves));
                }
            }
            let missing = expected.difference(&found).count();
            let elsewhere = toy::interleavings(&whole, u32::MAX)
                .into_iter()
                .filter(|moves| lost.is_empty() || !moves.starts_with(&lost));
            let elsewhere: Traces = elsewhere.map(|moves| whole.trace(&moves)).collect();
            assert!(elsewhere.is_subset(&found), "execution {unlucky}: {missing} are missing");
        }
    }
}

// 3,432 executions of at most 13 decisions: the stack has grown to 16 frames of 16 bytes, and of 56 for
// the estimate.
#[test]
fn memory_does_not_grow_with_the_number_of_executions() {
    let mut search = DepthFirst::default();
    assert_eq!(toy::all(&mut search, &Toy::independent(&[7, 7])).len(), 3_432);
    assert_eq!(search.progress().frontier_bytes, 16 * (16 + 64));
}

proptest! {
    #![proptest_config(toy::fixed_seed())]

    #[test]
    fn no_state_makes_it_panic(numbers in prop::collection::vec(0_u64..5, 0..40), seal: bool) {
        let mut search = DepthFirst::default();
        let mut writer = Writer::new(&search.expansion.name());
        for number in numbers {
            writer.number(number);
        }
        let mut state = writer.finish();
        if !seal {
            state.0.pop();
        }
        if search.restore(&state).is_ok() {
            search.progress();
            search.split(3).unwrap();
            search.begin(&mut Plan::default());
        }
    }

    #[test]
    fn random_programs_are_covered_in_parts(
        tasks in prop::collection::vec(prop::collection::vec(0_u8..3, 0..3), 0..4),
        every in 1_usize..20,
        n in 1_usize..4,
        k in 0_u32..4,
    ) {
        let op = |kind: u8| [Op::Step, Op::Yield, Op::Value(2)][usize::from(kind)];
        let toy = Toy::new(
            tasks.into_iter().map(|ops| ops.into_iter().map(op).collect()).collect(),
        );
        let (executions, _) = in_parts(&preemptions(k), &toy, every, n);
        let count = executions.len();
        let executions: BTreeSet<_> = executions.into_iter().collect();
        prop_assert_eq!(executions.len(), count);
        let expected: BTreeSet<_> = toy::interleavings(&toy, k).into_iter().collect();
        prop_assert_eq!(executions, expected);
    }
}
