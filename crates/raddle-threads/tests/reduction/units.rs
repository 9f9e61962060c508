//! Searches in units against the same searches in one piece: cut at any moment into any number of units, run in any order by
//! fresh engines, some twice, they run the same executions and claim the same.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

use raddle_search::Memoryless;
use raddle_search::rng::Rng;
use raddle_testing::{Sample, figures};
use raddle_trace::Covered;
use raddle_trace::fold::Fold;
use raddle_trace::unit::{Method, Quota, Unit};

use crate::in_units::{Here, InUnits, in_units, run};
use crate::random::{Program, execute, program, shrink_while};
use crate::{exhaustive, is_out_of_reach, search_to_its_end};

/// Compares a search in units with the same in one piece; the number of units.
fn compare(program: &Program, seed: u64, most: u64) -> Option<Result<(u64, bool), String>> {
    let run = || execute(program);
    let settings = program.settings();
    if is_out_of_reach(most, settings, &run).is_some() {
        return None;
    }
    let all = exhaustive(most, settings, &run)?;
    let mut rng = Rng::new(seed);
    let mut units = 0;
    let lines = [
        "dfs",
        "dfs preemptions(1)",
        "all breadth-first",
        "all best-first(pb) preemptions(2)",
        "all random",
    ];
    for line in lines {
        let built = raddle_search::build(line, 7).expect("a composition").strategy;
        let (whole, covered) = search_to_its_end(built, 2 * most, settings, &run)?;
        let Some(split) = in_units(line, 4 * most, settings, &mut rng, &run) else {
            return Some(Err(format!("{line}: it does not end in units")));
        };
        let InUnits { folded, units: n, .. } = split;
        units += n;
        let traces = folded.traces.clone().unwrap_or_default().seen;
        let claims = folded.covered();
        if (&whole.traces, whole.executions, covered) != (&traces, folded.counts.executions, claims)
        {
            return Some(Err(format!(
                "{line}: {} traces, {} executions, {covered}; in units {}, {}, {claims}",
                whole.traces.len(),
                whole.executions,
                traces.len(),
                folded.counts.executions,
            )));
        }
    }
    let mut claimed = false;
    for bound in [None, Some(1)] {
        let (line, search) = match bound {
            None => ("dpor".to_owned(), Memoryless::new()),
            Some(k) => (format!("dpor preemptions({k})"), Memoryless::within(k)),
        };
        let (whole, covered) = search_to_its_end(search, 10 * most, settings, &run)?;
        let Some(split) = in_units(&line, 20 * most, settings, &mut rng, &run) else {
            return Some(Err(format!("{line}: it does not end in units")));
        };
        let InUnits { folded, units: n, results } = split;
        units += n;
        let traces = folded.traces.clone().unwrap_or_default().seen;
        let (own, theirs) = (folded.counts, (whole.executions, whole.blocked));
        let claims = folded.covered();
        if covered == Covered::Equivalence || covered == Covered::BoundedEquivalence(1) {
            if (&whole.traces, theirs, covered) != (&traces, (own.executions, own.blocked), claims)
            {
                return Some(Err(format!(
                    "{line}: {} traces, {theirs:?}, {covered}; in units {}, {own:?}, {claims}",
                    whole.traces.len(),
                    traces.len(),
                )));
            }
        } else if matches!(claims, Covered::Equivalence | Covered::BoundedEquivalence(_)) {
            return Some(Err(format!("{line}: {covered} in one piece, {claims} in units")));
        }
        if claims == Covered::Equivalence {
            claimed = true;
            // All results of the whole, but for those of executions that did not come to their end.
            if traces != all.traces || !results.is_subset(&all.results) {
                let lost = all.traces.difference(&traces).count();
                return Some(Err(format!("{line} lost {lost} of {} traces", all.traces.len())));
            }
        }
    }
    Some(Ok((units, claimed)))
}

/// Executions by source sets: in one piece, how many more in units, and units.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    whole: u64,
    again: u64,
    blocked: u64,
    units: u64,
}

/// Source sets in units: what is wanted above a unit is requested, so they run what the whole runs. A trace is run again only where
/// an option did not sleep in another, because what it does was not known yet.
fn compare_source(program: &Program, seed: u64, most: u64) -> Option<Result<Counted, String>> {
    let (line, settings) = ("dpor(source)", program.settings());
    let run = || execute(program);
    let built = raddle_search::build(line, 7).expect("a composition").strategy;
    let (whole, covered) = search_to_its_end(built, most, settings, &run)?;
    let mut rng = Rng::new(seed);
    let Some(split) = in_units(line, 10 * most, settings, &mut rng, &run) else {
        return Some(Err(format!("{line}: it does not end in units")));
    };
    let InUnits { folded, units, .. } = split;
    let traces = folded.traces.clone().unwrap_or_default().seen;
    let claims = folded.covered();
    if whole.traces != traces || covered.with_executions(0) != claims.with_executions(0) {
        let (own, theirs) = (traces.len(), whole.traces.len());
        return Some(Err(format!("{theirs} traces, {covered}; in units {own}, {claims}")));
    }
    Some(Ok(Counted {
        whole: whole.executions,
        again: folded.counts.executions.saturating_sub(whole.executions),
        blocked: folded.counts.blocked.saturating_sub(whole.blocked),
        units,
    }))
}

#[test]
fn source_sets_in_units_lose_nothing() {
    let sample = Sample::new((300, 300), (12_000, 2_000));
    let (mut compared, mut skipped, mut sum) = (0, 0, Counted::default());
    let mut seed = 1_910_000 + sample.from;
    while compared < sample.programs {
        let drawn = program(seed);
        match compare_source(&drawn, seed, sample.most) {
            None => skipped += 1,
            Some(Ok(counted)) => {
                compared += 1;
                sum.whole += counted.whole;
                sum.again += counted.again;
                sum.blocked += counted.blocked;
                sum.units += counted.units;
            }
            Some(Err(how)) => {
                let differs = |program: &Program| {
                    matches!(compare_source(program, seed, sample.most), Some(Err(_)))
                };
                let small = shrink_while(drawn, differs);
                panic!("seed {seed}: {how}\n{small:?}");
            }
        }
        seed += 1;
    }
    let found = [
        ("compared", compared),
        ("skipped", skipped),
        ("units", sum.units),
        ("executions", sum.whole),
        ("run again", sum.again),
        ("blocked by splitting", sum.blocked),
    ];
    figures("source-units", &found);
}

#[test]
fn units_run_what_the_whole_runs_however_it_is_cut() {
    let sample = Sample::new((150, 400), (12_000, 2_000));
    let (mut compared, mut skipped, mut units, mut claimed) = (0, 0, 0, 0);
    let mut seed = 910_000 + sample.from;
    while compared < sample.programs {
        let drawn = program(seed);
        match compare(&drawn, seed, sample.most) {
            None => skipped += 1,
            Some(Ok((n, claims))) => {
                compared += 1;
                units += n;
                claimed += u64::from(claims);
            }
            Some(Err(how)) => {
                let differs =
                    |program: &Program| matches!(compare(program, seed, sample.most), Some(Err(_)));
                let small = shrink_while(drawn, differs);
                panic!("seed {seed}: {how}\n{small:?}\n{:?}", compare(&small, seed, sample.most));
            }
        }
        seed += 1;
    }
    assert!(claimed * 3 > compared, "the reduction claimed {claimed} of {compared} programs");
    let found =
        [("compared", compared), ("skipped", skipped), ("units", units), ("claimed", claimed)];
    figures("units", &found);
}

/// Samples in blocks: the same ones, whichever worker draws them.
#[test]
fn samples_are_the_same_however_their_blocks_are_cut() {
    let drawn = program(3);
    let run = || execute(&drawn);
    let settings = drawn.settings();
    for line in ["random", "pos", "pct(2)", "urw"] {
        let mut all: Vec<(BTreeSet<u64>, u64, u64, Covered)> = Vec::new();
        for seed in 0..4 {
            let mut rng = Rng::new(seed);
            let InUnits { folded, .. } =
                in_units(line, u64::MAX, settings, &mut rng, &run).expect("it ends");
            let traces = folded.traces.clone().unwrap_or_default();
            all.push((traces.seen, traces.repeated, folded.counts.executions, folded.covered()));
        }
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{line}: {all:?}");
        assert_eq!(all[0].2, 3_000);
        assert_eq!(all[0].1 + all[0].0.len() as u64, 3_000);
    }
}

/// What a limit on the number of executions leaves of a search is not claimed.
#[test]
fn open_units_are_not_claimed() {
    let drawn = program(1);
    let settings = drawn.settings();
    let body = || drop(execute(&drawn));
    let unit = Unit::root(0, "dfs", Method::DepthFirst, 1);
    let quota = Quota { executions: 1, time_ms: 0, pieces: 3, spread: false };
    let here = Here { after: u64::MAX, pieces: 0, ended: AtomicU64::new(0) };
    let record = run(&unit, quota, &here, settings, &body);
    assert!(!record.leftovers.is_empty() && record.leftovers.len() <= 3);
    let mut fold = Fold::new(std::slice::from_ref(&unit));
    assert!(fold.complete(&record, unit.method));
    assert_eq!(fold.sum.covered(), Covered::Part { executions: 1, preemptions: None });
}
