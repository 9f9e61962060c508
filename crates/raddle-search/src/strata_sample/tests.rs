//! Samples of strata: how often a rare execution comes out, and what is promised of it.

use raddle_engine::explorer::Explorer;

use super::*;
use crate::explorers::QueueOfProcesses;
use crate::explorers::brute_force::executions;
use crate::toy::{self, Op, Toy};

fn sampler(seed: u64, c1: u32, c2: u32) -> StrataSample {
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    StrataSample::new(Tracker::new(explorer), seed, c1, c2)
}

/// All executions until samples with more than so many delays begin, each with its delays.
fn stratum(sampler: &mut StrataSample, toy: &Toy, delays: u32) -> Vec<(u32, toy::Moves)> {
    let (mut plan, mut all) = (Plan::default(), Vec::new());
    loop {
        let execution = toy::execute(sampler, &mut plan, toy).expect("a sampler does not end");
        if sampler.state.delays > delays {
            return all;
        }
        all.push((sampler.state.placed, execution.moves));
    }
}

#[test]
fn every_execution_of_a_stratum_is_drawn() {
    let toy = Toy::new(vec![
        vec![Op::Write(0), Op::Value(3)],
        vec![Op::Lock, Op::Write(0), Op::Unlock],
        vec![Op::Lock, Op::Unlock],
    ]);
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    let mut sampler = sampler(1, 1_000, 1);
    let drawn: std::collections::BTreeSet<_> =
        stratum(&mut sampler, &toy, 2).into_iter().map(|(_, moves)| moves).collect();
    let expected = executions(&toy, &explorer, 2).into_keys().collect();
    assert_eq!(drawn, expected);
}

/// Two tasks of `a` and `b` steps under `rr`: one execution lets task 0 stop after its first step, task 1 after its
/// second, and needs two delays. The first run has `a` places, those with one delay at most `a + b`, so the chance is at
/// least `1 / L^2`. Below that by more than `5.2` deviations in 100,000 samples is a chance of less than 1e-6.
#[test]
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn the_one_execution_with_two_delays_is_drawn_as_often_as_promised() {
    let (steps, n) = ([4, 5], 100_000_u32);
    let toy = Toy::independent(&steps);
    let mut sampler = sampler(5, n, 1);
    let wanted: toy::Moves =
        [0, 1, 1, 0, 0, 0, 1, 1, 1].into_iter().map(|task| (task, 0)).collect();
    let explorer = Explorer::new("rr", QueueOfProcesses::default());
    assert_eq!(executions(&toy, &explorer, 2)[&wanted], 2);
    let all = stratum(&mut sampler, &toy, 2);
    let found = all.iter().filter(|(placed, moves)| *placed == 2 && *moves == wanted).count();
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
