//! Both rules against trees whose size is known, and bands against random trees.

#![expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "small numbers")]

use proptest::prelude::{Strategy as _, prop, prop_assert, prop_assert_eq, proptest};
use raddle_engine::op::TaskId;
use raddle_engine::strategy::{
    Answer, Divisible, Estimating, Finished, Options, Plan, Point, Resumable, Strategy, Taken,
};
use raddle_trace::{Band, Estimate, Gaps, Outcome};

use super::MAX_ESTIMATE;
use crate::bound::Bound;
use crate::expansion::all::DepthFirst;
use crate::expansion::reduced::{Dpor, Reduction};
use crate::order::{AnyTask, NonPreemptive};
use crate::probe::Probes;
use crate::toy::{self, Nothing, Op, Toy};
use crate::tree::{Frontier, TreeExpansion, TreeSearch};

/// The number of options after these; none if the execution ends there. One option is no decision.
type Shape<'a> = &'a dyn Fn(&[u32]) -> u32;

/// Runs the next execution of a tree without tasks.
fn walk(strategy: &mut dyn Strategy, plan: &mut Plan, shape: Shape<'_>) -> bool {
    if !strategy.begin(plan) {
        return false;
    }
    let (mut path, mut decisions) = (Vec::new(), Vec::new());
    loop {
        let of = shape(&path);
        if of == 0 {
            break;
        }
        let mut option = 0;
        if of > 1 {
            let index = decisions.len();
            option = plan.prefix.get(index).copied().unwrap_or_else(|| {
                let options = Options::Value { task: TaskId(1), of, during: false };
                let (running, last, pending) = (None, TaskId(1), &Nothing);
                let index = index as u32;
                let point = Point { index, options, running, last, objects: 0, pending };
                match strategy.decide(&point) {
                    Answer::Take(option) => option,
                    Answer::Cut(_) => panic!("nothing is cut here"),
                }
            });
            decisions.push(Taken { option, of });
        }
        path.push(option);
    }
    strategy.end(&Finished {
        outcome: &Outcome::Completed,
        decisions: &decisions,
        steps: 0,
        tasks: 1,
        stuck: &[],
        cut: None,
        yielded: false,
        gaps: Gaps::default(),
    });
    plan.prefix.clear();
    plan.prefix.extend(decisions.iter().map(|taken| taken.option));
    true
}

/// The estimates after each execution.
fn estimates(strategy: &mut dyn Strategy, shape: Shape<'_>) -> Vec<Estimate> {
    let mut plan = Plan::default();
    let mut all = Vec::new();
    while walk(strategy, &mut plan, shape) {
        all.push(strategy.progress().estimate.expect("something was run"));
    }
    all
}

/// Random trees of up to twelve points in a row, some of which end early: from a few executions to
/// some ten thousand.
fn random_shape(seed: u64) -> impl Fn(&[u32]) -> u32 {
    move |path| {
        let fold = |sum: u64, option: &u32| {
            (sum ^ u64::from(*option + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        };
        let drawn = crate::rng::Rng::new(path.iter().fold(seed, fold)).next();
        match (path.len(), drawn % 10) {
            (12.., _) | (2.., 0) => 0,
            (_, n) => 1 + n as u32 % 3,
        }
    }
}

fn searches(seed: u64) -> Vec<(&'static str, Box<dyn Strategy>)> {
    vec![
        ("dfs", Box::new(DepthFirst::default())),
        (
            "all breadth-first",
            Box::new(TreeSearch::new(TreeExpansion::All, Frontier::BreadthFirst)),
        ),
        ("all random", Box::new(TreeSearch::new(TreeExpansion::All, Frontier::Random { seed }))),
    ]
}

fn totals(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|estimate| estimate.total.about).collect()
}

// A point of two options: below the first two leaves, below the second three. The first execution
// knows 2 points of 2 options: 4. So does the second. The third finds 3 below the second option, and
// (2 + 3) / 2 x 2 = 5. Weighted: 1/(1/4), 2/(1/2), 3/(1/2 + 1/6), 4/(1/2 + 2/6), 5/1.
#[test]
fn both_rules_come_out_as_by_hand() {
    let shape = |path: &[u32]| match path {
        [] | [0] => 2,
        [1] => 3,
        _ => 0,
    };
    let found = estimates(&mut DepthFirst::default(), &shape);
    assert_eq!(totals(&found), [4.0, 4.0, 5.0, 5.0, 5.0]);
    let weighted: Vec<_> = found.iter().map(|estimate| estimate.weighted.unwrap()).collect();
    let expected = [4.0, 4.0, 4.5, 4.8, 5.0];
    assert!(weighted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{weighted:?}");
    // Breadth first the second option comes second: 2 and 3 below, 5 from then on.
    let found = estimates(&mut TreeSearch::new(TreeExpansion::All, Frontier::BreadthFirst), &shape);
    assert_eq!(totals(&found), [4.0, 5.0, 5.0, 5.0, 5.0]);
}

// 2^10. Eta: where the tree is balanced the estimate is right and stable.
#[test]
fn a_balanced_tree_is_known_from_its_first_execution() {
    let shape = |path: &[u32]| if path.len() < 10 { 2 } else { 0 };
    for (name, mut search) in searches(1) {
        let found = estimates(&mut *search, &shape);
        assert_eq!(found.len(), 1024, "{name}");
        for estimate in found {
            assert!((estimate.total.about - 1024.0).abs() < 1e-6, "{name}: {estimate:?}");
            assert!((estimate.weighted.unwrap() - 1024.0).abs() < 1e-6, "{name}: {estimate:?}");
        }
    }
}

#[test]
fn at_the_end_the_estimate_is_the_number_and_the_band_is_closed() {
    for seed in 0..10 {
        for (name, mut search) in searches(seed) {
            let found = estimates(&mut *search, &random_shape(seed));
            let n = found.len() as f64;
            let last = found.last().unwrap();
            assert_eq!(last.total, Band::exact(n), "{name}, seed {seed}");
            assert_eq!(last.covered.to_bits(), n.to_bits());
        }
    }
}

#[test]
fn what_is_known_to_be_there_is_in_every_band() {
    for seed in 0..8 {
        for (_, mut search) in searches(seed) {
            let mut plan = Plan::default();
            let mut run = 0.0;
            while walk(&mut *search, &mut plan, &random_shape(seed)) {
                run += 1.0;
                let progress = search.progress();
                let total = progress.estimate.unwrap().total;
                assert!(total.low >= run + progress.pending as f64);
                assert!(total.low <= total.about && total.about <= total.high);
            }
        }
    }
}

// 3,000 points of two options are more than any number has room for.
#[test]
fn a_space_without_end_is_a_number_all_the_same() {
    let shape = |path: &[u32]| if path.len() < 3_000 { 2 } else { 0 };
    for (name, mut search) in searches(1) {
        let mut plan = Plan::default();
        for _ in 0..50 {
            assert!(walk(&mut *search, &mut plan, &shape));
        }
        let estimate = search.progress().estimate.unwrap();
        assert_eq!(estimate.total.high.to_bits(), MAX_ESTIMATE.to_bits(), "{name}");
        assert!(estimate.total.low.is_finite() && estimate.total.about.is_finite());
        assert_eq!(estimate.weighted.unwrap().to_bits(), MAX_ESTIMATE.to_bits());
        assert!(search.progress().covered.unwrap() < 1e-9);
    }
}

// Four tasks of one step each, none of which meet: 4! = 24 executions, of which dpor runs one and
// covers the others.
#[test]
fn a_reduction_estimates_the_space_it_stands_for() {
    let toy = Toy::independent(&[1, 1, 1, 1]);
    let mut search = Dpor::new(Reduction::Optimal);
    assert_eq!(toy::all(&mut search, &toy).len(), 1);
    let progress = search.progress();
    let estimate = progress.estimate.unwrap();
    assert_eq!(estimate.total.about.to_bits(), 24.0_f64.to_bits());
    assert_eq!(estimate.covered.to_bits(), 24.0_f64.to_bits());
    assert_eq!(estimate.search, Band::exact(1.0));
    assert_eq!(progress.covered, Some(1.0));
}

#[test]
fn a_reduction_covers_more_and_more_until_all_is_covered() {
    let toy = Toy::new(vec![vec![Op::Write(0), Op::Write(1)]; 3]);
    for reduction in [Reduction::Classic, Reduction::Source, Reduction::Optimal] {
        let mut search = Dpor::new(reduction);
        let mut plan = Plan::default();
        let mut run = 0.0;
        while toy::execute(&mut search, &mut plan, &toy).is_some() {
            run += 1.0;
            let Estimate { total, covered, search: band, .. } = search.progress().estimate.unwrap();
            assert!(covered <= total.about && total.low <= total.about);
            assert!(band.low >= run + search.progress().pending as f64);
        }
        let estimate = search.progress().estimate.unwrap();
        assert_eq!(estimate.search, Band::exact(run));
        assert_eq!(estimate.covered.to_bits(), estimate.total.about.to_bits());
    }
}

// Two tasks of three steps that do not meet: 20 interleavings, of which a cache leaves most out. What it
// cut has no size, so its siblings stand for it: here that is less than there is.
#[test]
fn a_cache_tells_what_it_runs_from_what_there_is() {
    let toy = Toy::independent(&[3, 3]);
    let mut search = DepthFirst::default().cached(100);
    let run = toy::all(&mut search, &toy).len() as f64;
    assert_eq!(run.to_bits(), 10.0_f64.to_bits());
    let estimate = search.progress().estimate.unwrap();
    assert_eq!(estimate.search, Band::exact(run));
    assert_eq!(estimate.total.about.to_bits(), 12.0_f64.to_bits());
}

// With one preemption: 2 + 2 x 5 executions of two tasks of six steps.
#[test]
fn within_a_bound_the_space_is_what_is_within_it() {
    let toy = Toy::independent(&[6, 6]);
    let mut search = DepthFirst::within(NonPreemptive, Bound::Preemptions(1)).unwrap();
    assert_eq!(toy::all(&mut search, &toy).len(), 12);
    assert_eq!(search.progress().estimate.unwrap().total, Band::exact(12.0));
    let mut search =
        TreeSearch::within(Frontier::Random { seed: 1 }, NonPreemptive, Bound::Preemptions(1))
            .unwrap();
    assert_eq!(toy::all(&mut search, &toy).len(), 12);
    assert_eq!(search.progress().estimate.unwrap().total, Band::exact(12.0));
}

// If every option of a path led to as much as the first, the first execution would stand for 3^20 others.
#[test]
fn within_a_bound_an_option_is_taken_for_what_it_can_afford() {
    let toy = Toy::independent(&[8, 8, 8]);
    for cached in [false, true] {
        let new = || {
            let search = DepthFirst::within(NonPreemptive, Bound::Preemptions(2)).unwrap();
            if cached { search.cached(10_000) } else { search }
        };
        let all = toy::all(&mut new(), &toy).len() as f64;
        let (mut search, mut plan, mut run) = (new(), Plan::default(), 0.0);
        while toy::execute(&mut search, &mut plan, &toy).is_some() {
            run += 1.0;
            let about = search.progress().estimate.unwrap().search.about;
            // From the first execution on, and closer when a tenth was run.
            let off = (about / all).max(all / about);
            let allowed = if run < all / 10.0 { 100.0 } else { 10.0 };
            assert!(off <= allowed, "{about} of {all} after {run}, cached: {cached}");
        }
    }
}

// Along an explorer too: what each option costs there is the number of tasks that it passes over.
#[test]
fn within_delays_an_option_is_taken_for_what_it_can_afford() {
    let toy = Toy::independent(&[8, 8, 8]);
    for line in ["dfs delays(2) rr", "dfs delays(2) rtc", "dfs delays(2) rtc cache"] {
        let new = || crate::build(line, 1).expect("a composition").strategy;
        let all = toy::all(&mut *new(), &toy).len() as f64;
        let (mut search, mut plan, mut run) = (new(), Plan::default(), 0.0);
        while toy::execute(&mut *search, &mut plan, &toy).is_some() {
            run += 1.0;
            let estimate = search.progress().estimate.unwrap();
            let about = estimate.search.about;
            let off = (about / all).max(all / about);
            let allowed = if run < all / 10.0 { 100.0 } else { 10.0 };
            assert!(off <= allowed, "{line}: {about} of {all} after {run}");
        }
        assert_eq!(search.progress().estimate.unwrap().search, Band::exact(all));
    }
}

#[test]
fn parts_are_estimated_as_parts() {
    let toy = Toy::independent(&[3, 3]);
    let mut search = DepthFirst::default();
    let mut run = toy::first(&mut search, &toy, 3).len();
    for work in search.split(2).unwrap() {
        let mut part = DepthFirst::default();
        part.restore(&work.state).unwrap();
        let n = toy::all(&mut part, &toy).len();
        assert_eq!(part.progress().estimate.unwrap().total, Band::exact(n as f64));
        run += n;
    }
    let n = 3 + toy::all(&mut search, &toy).len();
    assert_eq!(search.progress().estimate.unwrap().total, Band::exact(n as f64));
    assert_eq!(run + n - 3, 20);
}

// 24 executions; each probe has a weight of 4 x 3 x 2.
#[test]
fn probes_of_a_balanced_tree_all_say_the_same() {
    let shape = |path: &[u32]| [4, 3, 2, 0][path.len()];
    let mut search = Probes::new(DepthFirst::default(), 2, Bound::None, 1);
    let found = estimates(&mut search, &shape);
    // After every two of the 24 executions of the search a probe, the last before it is found to end.
    assert_eq!(found.len(), 24 + 12);
    let probed = found.last().unwrap().probed.unwrap();
    assert_eq!(probed.probes, 12);
    assert_eq!(probed.total.about.to_bits(), 24.0_f64.to_bits());
}

// Knuth's estimate is unbiased: the mean over as many probes as there are executions, on trees of more
// than 500. The deviation of one probe is a few times the truth, so that of a mean about a tenth of
// it, and the average over the trees is nearer.
#[test]
fn probes_are_right_on_average() {
    let (mut sum, mut tried) = (0.0, 0.0);
    for seed in 0..40 {
        let shape = random_shape(seed);
        let truth = size(&shape, &mut Vec::new());
        if !(500..5_000).contains(&truth) {
            continue;
        }
        let mut search = Probes::new(DepthFirst::default(), 1, Bound::None, seed);
        let mut plan = Plan::default();
        while walk(&mut search, &mut plan, &shape) {}
        sum += search.probed().unwrap().total.about / truth as f64;
        tried += 1.0;
    }
    let mean = sum / tried;
    assert!(tried >= 5.0 && (mean - 1.0).abs() < 0.1, "{mean} of {tried} trees");
}

/// The executions of a tree, by recursion.
fn size(shape: Shape<'_>, path: &mut Vec<u32>) -> usize {
    let of = shape(path);
    let below = |option| {
        path.push(option);
        let size = size(shape, path);
        path.pop();
        size
    };
    if of == 0 { 1 } else { (0..of).map(below).sum() }
}

/// How many of the checkpoints have the truth in the band.
fn held(search: &mut dyn Strategy, shape: Shape<'_>, n: usize) -> (u32, u32) {
    let part = |part: f64| ((n as f64 * part).ceil() as usize).max(1);
    let at = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9].map(part);
    let mut plan = Plan::default();
    let (mut inside, mut run) = (0, 0);
    while run < at[at.len() - 1] && walk(search, &mut plan, shape) {
        run += 1;
        for _ in at.iter().filter(|at| **at == run) {
            let total = search.progress().estimate.unwrap().total;
            inside += u32::from(total.holds(n as f64));
        }
    }
    (inside, at.len() as u32)
}

// The bands were calibrated on programs of the corpus, not on these.
#[test]
fn bands_hold_on_random_trees_at_85_of_100_checkpoints() {
    for kind in 0..3 {
        let (mut inside, mut all) = (0, 0);
        for seed in 0..120 {
            let shape = random_shape(seed);
            let n = size(&shape, &mut Vec::new());
            if (50..5_000).contains(&n) {
                let (_, mut search) = searches(seed).remove(kind);
                let (a, b) = held(&mut *search, &shape, n);
                (inside, all) = (inside + a, all + b);
            }
        }
        let (name, _) = searches(0).remove(kind);
        let part = f64::from(inside) / f64::from(all);
        assert!(all > 500 && part >= 0.85, "{name}: {inside} of {all}");
    }
}

fn programs() -> impl proptest::prelude::Strategy<Value = Toy> {
    let ops = prop::collection::vec(0_u32..5, 0..4);
    let op = |n: u32| match n {
        0 | 1 => Op::Step,
        2 => Op::Write(0),
        3 => Op::Yield,
        _ => Op::Value(2),
    };
    prop::collection::vec(ops, 1..4).prop_map(move |tasks| {
        Toy::new(tasks.into_iter().map(|ops| ops.into_iter().map(op).collect()).collect())
    })
}

proptest! {
    #![proptest_config(toy::fixed_seed())]

    #[test]
    fn a_restored_search_estimates_as_the_saved_one(toy in programs(), half in 0_usize..40, seed: u64) {
        let make = |n: usize| -> Box<dyn Strategy> {
            match n {
                0 => Box::new(DepthFirst::default()),
                1 => Box::new(DepthFirst::new(AnyTask::new(seed))),
                2 => Box::new(TreeSearch::new(TreeExpansion::All, Frontier::BreadthFirst)),
                3 => Box::new(TreeSearch::new(TreeExpansion::All, Frontier::Random { seed })),
                _ => Box::new(Probes::new(DepthFirst::default(), 3, Bound::None, seed)),
            }
        };
        for n in 0..5 {
            let mut search = make(n);
            let (mut plan, mut fresh) = (Plan::default(), Plan::default());
            for _ in 0..half {
                toy::execute(&mut *search, &mut plan, &toy);
            }
            let mut other = make(n);
            other.restore(&search.save().unwrap()).unwrap();
            for _ in 0..5 {
                let rest = toy::execute(&mut *other, &mut fresh, &toy);
                prop_assert_eq!(rest, toy::execute(&mut *search, &mut plan, &toy));
            }
            let (a, b) = (search.progress(), other.progress());
            prop_assert_eq!(a.pending, b.pending);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(1.0);
            match (a.estimate, b.estimate) {
                (Some(a), Some(b)) => {
                    prop_assert!(near(a.total.about, b.total.about) && near(a.total.high, b.total.high));
                    prop_assert!(near(a.covered, b.covered));
                    prop_assert_eq!(a.probed.map(|p| p.probes), b.probed.map(|p| p.probes));
                }
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
