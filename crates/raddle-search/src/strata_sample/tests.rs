use raddle_engine::explorer::Explorer;

use super::*;
use crate::explorers::QueueOfProcesses;
use crate::explorers::brute_force::executions;
use crate::toy::{self, Op, Toy};

fn sampler(seed: u64, c1: u32, c2: u32) -> StrataSample {
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    StrataSample::new(Tracker::new(explorer), seed, c1, c2)
}

#[test]
fn every_execution_of_a_stratum_is_drawn() {
    let toy = Toy::new(vec![
        vec![Op::Write(0), Op::Value(3)],
        vec![Op::Lock, Op::Write(0), Op::Unlock],
        vec![Op::Lock, Op::Unlock],
    ]);
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    let drawn = toy::first(&mut sampler(1, 1_000, 1), &toy, 1 + 1_000 + 2 * 1_000);
    let drawn: std::collections::BTreeSet<_> = drawn.into_iter().collect();
    let expected = executions(&toy, &explorer, 2).into_keys().collect();
    assert_eq!(drawn, expected);
}

/// Two tasks of `a` and `b` steps under `rr`: one execution lets task 0 stop after its first step, task 1 after its
/// second, and needs two delays. The first run has `a` places, those with one delay at most `a + b`, so the chance is at
/// least `1 / L^2`. Below that by more than `5.2` deviations in 100,000 samples is a chance of less than 1e-6.
#[test]
fn the_one_execution_with_two_delays_is_drawn_as_often_as_promised() {
    let (steps, n) = ([4, 5], 100_000_u32);
    let toy = Toy::independent(&steps);
    let mut sampler = sampler(5, n, 1);
    let wanted: toy::Moves =
        [0, 1, 1, 0, 0, 0, 1, 1, 1].into_iter().map(|task| (task, 0)).collect();
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    assert_eq!(executions(&toy, &explorer, 2)[&wanted], 2);
    // The execution without a delay, n with one, and two for each sample with two.
    let all = toy::first(&mut sampler, &toy, 1 + n as usize + 2 * n as usize);
    let drawn = all[1 + n as usize..].iter().skip(1).step_by(2);
    let found = drawn.filter(|moves| **moves == wanted).count();
    // The next execution is of the next stratum, so that this one is done.
    assert!(sampler.begin(&mut Plan::default()));
    let Covered::Sample { bound: Some(bound), .. } = sampler.covered() else { panic!() };
    let SampleBound::Strata { delays: 2, steps: longest, samples } = bound else {
        panic!("{bound:?}")
    };
    assert_eq!(samples, u64::from(n));
    let chance = 1.0 / (longest as f64).powi(2);
    let mean = f64::from(n) * chance;
    let least = mean - 5.2 * (mean * (1.0 - chance)).sqrt();
    assert!(found as f64 >= least, "{found} of {n}, wanted {least}: {longest} places");
}

#[test]
fn samples_grow_by_stratum_and_all_executions_count() {
    let toy = Toy::independent(&[3, 3]);
    let mut sampler = sampler(2, 2, 3);
    // 1 without a delay, 2 * 3 with one, 2 * 9 with two of two executions each.
    toy::first(&mut sampler, &toy, 1 + 6 + 36);
    assert!(sampler.begin(&mut Plan::default()));
    assert_eq!(sampler.state.delays, 3);
    let Covered::Sample { executions: 43, bound: Some(SampleBound::Strata { samples: 18, .. }) } =
        sampler.covered()
    else {
        panic!("{:?}", sampler.covered())
    };
}
