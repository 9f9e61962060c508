//! Searches in units against the same searches in one piece: cut at any moment into any number of units, run in any order by
//! fresh engines, some twice, they run the same executions and claim the same.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use raddle_engine::observer::Paused;
use raddle_engine::{Lap, Pulse, Setup, Stop};
use raddle_search::rng::Rng;
use raddle_search::units::{self, Heard};
use raddle_search::{Environment, Memoryless, build_unit, unit_method};
use raddle_testing::{Sample, figures};
use raddle_trace::fold::{Fold, Folded};
use raddle_trace::unit::{Completed, Method, Quota, Unit};
use raddle_trace::{Covered, Settings};

use crate::random::{Program, execute, program, shrink_while};
use crate::{exhaustive, is_out_of_reach, search_to_its_end};

/// Wants what is left after a number of executions, in pieces.
struct Here {
    after: u64,
    pieces: u32,
    ended: AtomicU64,
}

impl units::Host for Here {
    fn lap(&self, lap: Lap) -> Stop {
        self.ended.store(lap.executions, Ordering::Relaxed);
        Stop::No
    }

    fn wanted(&self) -> u32 {
        // Asked before the lap: so many have ended.
        if self.ended.load(Ordering::Relaxed) >= self.after { self.pieces } else { 0 }
    }

    fn attach(&self, _: &'static Pulse) {}

    fn between(&self, _: &mut Paused<'_, '_>) {}
}

/// Runs a unit as a worker would that knows nothing else.
fn run(unit: &Unit, quota: Quota, here: &Here, settings: Settings, body: &dyn Fn()) -> Completed {
    // What a worker gets and gives has been text.
    let text = serde_json::to_string(unit).expect("a unit can be written");
    let unit: Unit = serde_json::from_str(&text).expect("as it was written");
    let environment = Environment { seed: unit.seed, settings, ..Environment::default() };
    let search = build_unit(&unit.line, unit.method, 3_000, environment).expect("a composition");
    let setup = Setup { keep_going: true, settings, ..Setup::default() };
    let heard = Heard { traces: Some(usize::MAX), ..Heard::default() };
    let completed =
        units::run(search, &unit, quota, &setup, &heard, here, body).expect("a unit can be run");
    let text = serde_json::to_string(&completed).expect("a record can be written");
    serde_json::from_str(&text).expect("as it was written")
}

/// What a search came to that was cut at random.
struct InUnits {
    folded: Folded,
    units: u64,
    results: BTreeSet<String>,
}

/// Runs a whole search in units; none if it has more than so many executions.
fn in_units(
    line: &str,
    most: u64,
    settings: Settings,
    rng: &mut Rng,
    program: &dyn Fn() -> String,
) -> Option<InUnits> {
    let environment = Environment { seed: 7, settings, ..Environment::default() };
    let (method, _) = unit_method(line, environment).expect("a composition");
    let results = Mutex::new(BTreeSet::new());
    let body = || {
        let result = program();
        results.lock().unwrap_or_else(PoisonError::into_inner).insert(result);
    };
    let mut open = vec![Unit::root(0, line, method, 7)];
    let mut fold = Fold::new(&open);
    let mut done: Vec<Completed> = Vec::new();
    let mut units = 0;
    while !open.is_empty() {
        let unit = open.swap_remove(rng.below(open.len() as u32) as usize);
        let quota = |rng: &mut Rng| Quota {
            executions: 1 + u64::from(rng.below(40)),
            time_ms: 0,
            pieces: 1 + rng.below(5),
            spread: rng.below(3) == 0,
        };
        let here = |rng: &mut Rng| Here {
            after: 1 + u64::from(rng.below(30)),
            pieces: 1 + rng.below(6),
            ended: AtomicU64::new(0),
        };
        units += 1;
        let record = run(&unit, quota(rng), &here(rng), settings, &body);
        if rng.below(8) == 0 {
            // Its worker was given up, and comes back late with another cut.
            let late = run(&unit, quota(rng), &here(rng), settings, &body);
            done.push(late);
        }
        assert!(fold.complete(&record, unit.method), "its first result counts");
        open.extend(record.leftovers.iter().cloned());
        done.push(record);
        if rng.below(4) == 0 {
            let again = &done[rng.below(done.len() as u32) as usize];
            let before = fold.clone();
            assert!(!fold.complete(again, unit.method), "a second result counts for nothing");
            assert_eq!(fold, before);
        }
        if fold.sum.counts.executions > most {
            return None;
        }
    }
    assert!(fold.sum.over);
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    Some(InUnits { folded: fold.sum, units, results })
}

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
