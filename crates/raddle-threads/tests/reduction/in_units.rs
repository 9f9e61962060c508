//! A whole search run in units: cut at any moment into any number, run in any order by fresh engines, some twice. The tests of
//! actors mount this file, too.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use raddle_engine::observer::Paused;
use raddle_engine::{Lap, Pulse, Setup, Stop};
use raddle_search::rng::Rng;
use raddle_search::units::{self, Heard};
use raddle_search::{Environment, build_unit, unit_method};
use raddle_trace::Settings;
use raddle_trace::fold::{Fold, Folded};
use raddle_trace::unit::{Completed, Quota, Unit};

/// Wants what is left after a number of executions, in pieces.
pub(crate) struct Here {
    pub(crate) after: u64,
    pub(crate) pieces: u32,
    pub(crate) ended: AtomicU64,
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
pub(crate) fn run(
    unit: &Unit,
    quota: Quota,
    here: &Here,
    settings: Settings,
    body: &dyn Fn(),
) -> Completed {
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
pub(crate) struct InUnits {
    pub(crate) folded: Folded,
    pub(crate) units: u64,
    pub(crate) results: BTreeSet<String>,
}

/// Runs a whole search in units; none if it has more than so many executions.
pub(crate) fn in_units(
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
        open.extend(fold.opened());
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
