//! Samplers that count first, on tasks that spawn tasks.

use std::collections::BTreeMap;
use std::sync::Mutex as StdMutex;

use raddle_engine::strategy::Strategy;
use raddle_engine::{Limits, Setup, Stop, explore};
use raddle_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_threads::thread;
use raddle_trace::{Covered, SampleBound};

/// main: m, spawn, m, m · first: a, spawn, a · second: b, b, b.
///
/// As a tree of steps, each after that in which its task was spawned: first has 5 below its first
/// step, itself included, main 2 · 1 after the spawn, second 3 · 2 · 1. So 7! / (2 · 1 · 5 · 1 · 3 ·
/// 2 · 1) = 84 interleavings after the first step of main, which is alone.
fn nested(order: &StdMutex<Vec<char>>) {
    let own = [const { AtomicUsize::new(0) }; 3];
    let step = |who: usize| {
        own[who].store(1, SeqCst);
        order.lock().expect("not poisoned").push(['m', 'a', 'b'][who]);
    };
    order.lock().expect("not poisoned").clear();
    thread::scope(|scope| {
        step(0);
        scope.spawn(|| {
            step(1);
            scope.spawn(|| (0..3).for_each(|_| step(2)));
            step(1);
        });
        step(0);
        step(0);
    });
}

fn drawn(strategy: &mut dyn Strategy, executions: u64) -> BTreeMap<String, u64> {
    let order = StdMutex::new(Vec::new());
    let counts = StdMutex::new(BTreeMap::new());
    let body = || {
        nested(&order);
        let order: String = order.lock().expect("not poisoned").iter().collect();
        *counts.lock().expect("not poisoned").entry(order).or_insert(0) += 1;
    };
    let setup = Setup { limits: Limits { executions, ..Limits::default() }, ..Setup::default() };
    explore(strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &body).expect("it can run here");
    counts.into_inner().expect("not poisoned")
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn a_task_weighs_as_much_as_all_that_it_has_yet_to_spawn() {
    let mut dfs = raddle_search::build("dfs", 1).expect("known").strategy;
    assert_eq!(drawn(&mut *dfs, u64::MAX).len(), 84);
    let mut urw = raddle_search::build("urw", 1).expect("known").strategy;
    drawn(&mut *urw, 3);
    // Chi-square with 83 degrees of freedom: five deviations of 12.9 above the mean.
    let counts = drawn(&mut *urw, 16_800);
    let square = |&count: &u64| (count as f64 - 200.0).powi(2) / 200.0;
    let sum: f64 = counts.values().map(square).sum();
    assert!(counts.len() == 84 && sum < 83.0 + 5.0 * 12.9, "{sum}: {counts:?}");
    let bound = Some(SampleBound::Uniform { interleavings: 84, counting: 3 });
    assert_eq!(urw.covered(), Covered::Sample { executions: 16_803, bound });
}
