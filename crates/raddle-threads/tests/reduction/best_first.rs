//! Breadth-first, random and best-first against depth first: the same schedules; with a reduction, the same
//! traces.

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::store::{Store, StoreError, Ticket};
use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Needs, Plan, Point, Resumable, Strategy,
};
use raddle_engine::{Ended, Limits, Setup};
use raddle_search::DepthFirst;
use raddle_search::bound::Bound;
use raddle_search::order::{AnyTask, ByRaces, Mixed, NonPreemptive, Order as _, StockOrder};
use raddle_search::tree::priority::{
    Departures, Dpor, Method, ModifiedDpor, NewPair, Patterns, Preemptions, Priority, Rand, Rare,
    SleepSets, Var,
};
use raddle_search::tree::{CompactTree, Frontier, TreeExpansion, TreeSearch};
use raddle_trace::{Covered, Settings};

use crate::{OutOfReach, Saw, Schedules, is_out_of_reach, observed, search};

/// Names that some calls of the random programs have and others have not.
fn by_method() -> Method {
    Method::new(["section", "start", "nobody"].map(str::to_owned).to_vec())
}

/// Types that some objects of the random programs have.
fn by_object() -> Var {
    Var::new(["Mutex", "AtomicUsize", "nobody"].map(str::to_owned).to_vec())
}

/// Every frontier but depth-first: every priority alone, and some together.
fn frontiers(seed: u64) -> Vec<Frontier> {
    let parts: [Vec<Box<dyn Priority>>; 10] = [
        vec![Box::new(Preemptions)],
        vec![Box::new(Departures)],
        vec![Box::new(Rand::new(seed))],
        vec![Box::new(Dpor)],
        vec![Box::new(ModifiedDpor), Box::new(Preemptions)],
        vec![Box::new(SleepSets), Box::new(ModifiedDpor)],
        vec![Box::new(Patterns), Box::new(Preemptions)],
        vec![Box::new(by_method()), Box::new(by_object()), Box::new(Preemptions)],
        vec![Box::new(NewPair::default()), Box::new(Preemptions)],
        vec![Box::<Rare>::default()],
    ];
    let others = [Frontier::BreadthFirst, Frontier::Random { seed }];
    others.into_iter().chain(parts.map(Frontier::BestFirst)).collect()
}

/// The orders in which a reduction is compared.
pub(crate) fn reductions(seed: u64) -> Vec<(TreeExpansion, Frontier)> {
    use Frontier::{BestFirst, BreadthFirst, Random};
    use TreeExpansion::{Classic, Source};
    let mut all = Vec::new();
    for expansion in [Source, Classic] {
        all.push((expansion, BestFirst(vec![])));
        all.push((expansion, BreadthFirst));
        all.push((expansion, BestFirst(vec![Box::new(ModifiedDpor), Box::new(Preemptions)])));
        all.push((expansion, Random { seed }));
        all.push((expansion, BestFirst(vec![Box::new(Rand::new(seed))])));
    }
    all.push((Source, BestFirst(vec![Box::new(Preemptions), Box::new(Rand::new(!seed))])));
    all.push((Source, BestFirst(vec![Box::new(Patterns), Box::new(by_method())])));
    all.push((Classic, BestFirst(vec![Box::new(by_object())])));
    all.push((Source, BestFirst(vec![Box::new(NewPair::default())])));
    all.push((Classic, BestFirst(vec![Box::<Rare>::default()])));
    all.push((Source, BestFirst(vec![Box::<Rare>::default(), Box::new(ModifiedDpor)])));
    all
}

/// The orders in which executions go on under a reduction.
fn going_on(at: u64, seed: u64) -> StockOrder {
    match at % 4 {
        0 => StockOrder::Mixed(Mixed::new(seed)),
        1 => StockOrder::ByRaces(ByRaces::new(seed)),
        2 => StockOrder::AnyTask(AnyTask::new(seed)),
        _ => StockOrder::NonPreemptive,
    }
}

/// A search that is saved after 1, 2, 4, … executions, if `often`, and goes on as another one that was restored.
struct Resumed<F> {
    inner: TreeSearch<StockOrder>,
    make: F,
    often: bool,
    executions: u64,
}

impl<F: Fn() -> TreeSearch<StockOrder> + Send> Strategy for Resumed<F> {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.often && self.executions.is_power_of_two() {
            let state = self.inner.save().expect("it can be saved");
            self.inner = (self.make)();
            self.inner.restore(&state).expect("it is its own state");
        }
        self.inner.begin(plan)
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        self.inner.decide(point)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.inner.step(event)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.inner.end(execution);
    }

    fn covered(&self) -> Covered {
        self.inner.covered()
    }
}

/// A store in memory.
#[derive(Debug, Default)]
struct Shelf(BTreeMap<u64, Vec<u8>>);

impl Store for Shelf {
    fn put(&mut self, bytes: &[u8]) -> Result<Ticket, StoreError> {
        let at = self.0.last_key_value().map_or(0, |(at, _)| at + 1);
        self.0.insert(at, bytes.to_vec());
        Ok(Ticket { at, len: bytes.len() as u64 })
    }

    fn get(&self, ticket: Ticket) -> Result<Vec<u8>, StoreError> {
        Ok(self.0[&ticket.at].clone())
    }

    fn free(&mut self, ticket: Ticket) {
        self.0.remove(&ticket.at);
    }
}

/// The schedules of a whole search, none of them twice. None if there are more than `most`.
pub(crate) fn schedules(
    mut strategy: impl Strategy,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<BTreeSet<Vec<u32>>> {
    let mut schedules = Schedules::default();
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, settings, ..Setup::default() };
    let body = || drop(program());
    let explored = observed(&mut strategy, &mut [&mut schedules], &setup, &body);
    if explored.ended == Ended::Executions {
        return None;
    }
    assert_eq!(explored.ended, Ended::Covered);
    let count = schedules.0.len();
    let seen: BTreeSet<_> = schedules.0.into_iter().collect();
    assert_eq!(seen.len(), count, "a schedule was run twice");
    Some(seen)
}

/// What differs between depth first and another frontier, if anything does: all, and within a bound. Else
/// how many schedules were compared.
pub(crate) fn compare_all(
    seed: u64,
    most: u64,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Option<Result<u64, String>> {
    if is_out_of_reach(most, settings, program) == Some(OutOfReach::TooLarge) {
        return None;
    }
    let bounds = [Bound::None, Bound::Preemptions(seed as u32 % 3)];
    let mut compared = 0;
    for bound in bounds {
        let depth_first = DepthFirst::within(NonPreemptive, bound).expect("it does not preempt");
        let expected = schedules(depth_first, most, settings, program)?;
        compared += expected.len() as u64;
        for (at, frontier) in frontiers(seed).into_iter().enumerate() {
            let mut best =
                TreeSearch::within(frontier, NonPreemptive, bound).expect("it does not preempt");
            if (at as u64 + seed).is_multiple_of(2) {
                // It may hold next to nothing.
                best.keep_within(seed % 1_000, Box::new(Shelf::default()));
            }
            let name = best.name().to_owned();
            let ours = schedules(best, expected.len() as u64 + 10, settings, program);
            if ours.as_ref() != Some(&expected) {
                let n = ours.map(|ours| ours.len());
                return Some(Err(format!("{name}: {n:?} of {} schedules", expected.len())));
            }
        }
        let compact = CompactTree::new(bound);
        let ours = schedules(compact, expected.len() as u64 + 10, settings, program);
        if ours.as_ref() != Some(&expected) {
            let n = ours.map(|ours| ours.len());
            return Some(Err(format!("compact: {n:?} of {} schedules", expected.len())));
        }
    }
    Some(Ok(compared))
}

/// The same for traces, with a reduction: in all orders, or in two of them if there is little time. `most`: executions of each;
/// if none is given, twice those of `all`, and to run more is a difference.
pub(crate) fn compare_reduced(
    all: &Saw,
    most: Option<u64>,
    settings: Settings,
    program: &dyn Fn() -> String,
) -> Result<(), String> {
    let seed = all.executions;
    let long = raddle_testing::long();
    let orders = || {
        let mut orders = reductions(seed);
        if !long {
            let from = seed as usize % orders.len();
            orders.rotate_left(from);
            orders.truncate(2);
        }
        orders
    };
    for at in 0..orders().len() {
        let make = || {
            let (expansion, frontier) = orders().swap_remove(at);
            TreeSearch::along(expansion, frontier, going_on(at as u64 + seed / 2, seed))
        };
        let order = going_on(at as u64 + seed / 2, seed).name();
        let name = format!("{:?} {} {order}", orders()[at].0, make().name());
        // Half of them are saved on the way.
        let often = (at as u64 + seed).is_multiple_of(2);
        let best = Resumed { inner: make(), make, often, executions: 0 };
        let saw = search(best, most.unwrap_or(all.executions * 2 + 10), settings, program);
        let Some(saw) = saw else {
            if most.is_some() {
                continue;
            }
            return Err(format!("{name} ran more than all"));
        };
        let lost = all.traces.difference(&saw.traces).count();
        let extra = saw.traces.difference(&all.traces).count();
        if lost + extra > 0 {
            let of = all.traces.len();
            return Err(format!("{name} lost {lost} of {of}, {extra} extra"));
        }
        if all.results != saw.results {
            return Err(format!("{name}: {:?} instead of {:?}", saw.results, all.results));
        }
    }
    Ok(())
}
