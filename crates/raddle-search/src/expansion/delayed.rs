//! Every option of every point within a number of delays, along an explorer.
//!
//! Delay bounding: Emmi, Qadeer and Rakamarić, POPL 2011, with the explorers of Desai, Qadeer and Seshia, FSE 2015.
//! The options of a point are tried by what they cost, the free one first; values ascending, the k-th for
//! k delays. What an option costs depends on the explorer's state, so each point keeps the prices of its options.
//!
//! With a cache (`cache.rs`) what follows the same prefix, up to equivalence, *and* the same state of the explorer
//! is run once: the same options then cost the same from there on. For that the state includes which process each
//! number stands for and which of the messages that wait for an actor are older; equivalent prefixes may differ in both.
//!
//! Misses: what needs more delays; what follows an execution that a limit cut off, which the engine counts; what
//! the cache misses.
//! Overreports: nothing.

use raddle_engine::strategy::{Cut, Event, Finished, Needs, Options, Point, Unsupported};
use raddle_trace::Covered;
use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::cache::{Alike, Cache, CachePoint, SavedCache, Used};
use crate::estimate::{Children, Kind};
use crate::explorers::Tracker;
use crate::path::{Advance, Decision, Expansion, Path, PathSearch, Standing};
use crate::state::{FOREIGN, RUNNING};

/// Every execution within a number of delays, depth first, the one without a delay first.
pub type DelayBounded = PathSearch<Delayed>;

/// A point with what its options cost, the cheapest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Priced {
    /// (price, option), ascending.
    options: Vec<(u32, u32)>,
    rank: u32,
}

impl Priced {
    fn cost(&self) -> u32 {
        self.options[self.rank as usize].0
    }

    /// How many options are within what is left to spend: at least one.
    fn within(&self, spare: u32) -> u32 {
        self.options.partition_point(|(price, _)| *price <= spare) as u32
    }
}

impl Decision for Priced {
    fn of(&self) -> u32 {
        self.options.len() as u32
    }

    fn option(&self) -> u32 {
        self.options[self.rank as usize].1
    }

    fn is_valid(&self) -> bool {
        let mut options: Vec<_> = self.options.iter().map(|(_, option)| *option).collect();
        options.sort_unstable();
        let all = options.iter().copied().eq(0..options.len() as u32);
        let first = self.options.first().is_some_and(|(price, _)| *price == 0);
        all && first && self.options.is_sorted() && (self.rank as usize) < options.len()
    }
}

/// Opens every option within a number of delays.
#[derive(Clone, Debug)]
pub struct Delayed {
    tracker: Tracker,
    bound: Bound,
    /// What the options taken on the path cost. Never more than the bound's limit.
    spent: u32,
    cache: Option<Box<Cache>>,
    /// With a cache, one for each point; else none.
    marks: Vec<CachePoint>,
    /// Prefixes without a usable fingerprint were met.
    uncompared: bool,
}

/// What is saved besides the points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedDelayed {
    used: Used,
    uncompared: bool,
    cache: Option<(Vec<CachePoint>, SavedCache)>,
}

impl DelayBounded {
    /// Searches within at most so many delays, if a number is given, along an explorer.
    #[must_use]
    pub fn along(tracker: Tracker, delays: Option<u32>) -> Self {
        let bound = delays.map_or(Bound::None, Bound::Delays);
        Self::with(Delayed {
            tracker,
            bound,
            spent: 0,
            cache: None,
            marks: Vec::new(),
            uncompared: false,
        })
    }

    /// Remembers up to so many prefixes and runs nothing twice that follows equivalent ones in the same state of
    /// the explorer. To be called before the first execution.
    #[must_use]
    pub fn cached(mut self, prefixes: usize) -> Self {
        self.expansion.cache = Some(Box::new(Cache::new(prefixes)));
        self.expansion.tracker.with_hashes();
        self
    }
}

impl Delayed {
    fn used(&self) -> Used {
        self.cache.as_ref().map_or(Used::default(), |cache| cache.used)
    }
}

impl Expansion for Delayed {
    type Point = Priced;
    type Saved = SavedDelayed;

    fn name(&self) -> String {
        let cache = self.cache.as_ref().map_or(0, |cache| cache.limit());
        format!("all {:?} {} cache {cache}", self.bound, self.tracker.name())
    }

    fn needs(&self) -> Needs {
        Tracker::needs()
    }

    fn begin(&mut self, _: &[Priced], anew: bool) {
        self.tracker.begin();
        if let Some(cache) = &mut self.cache {
            // The last decision of the plan is the first that is another one than before.
            let last = self.marks.last().filter(|_| !anew);
            cache.begin(last.map_or(0, |mark| mark.steps));
        }
    }

    fn arrive(&mut self, point: &Point<'_>) -> Result<Priced, Cut> {
        let options = match point.options {
            Options::Value { of, .. } => (0..of).map(|value| (value, value)).collect(),
            Options::Schedule(_) => {
                self.tracker.rank(point).ok_or(Cut::OutOfBound)?;
                let offers = self.tracker.offers().iter();
                offers.map(|offer| (offer.price, offer.option)).collect()
            }
        };
        if let Some(cache) = &mut self.cache {
            let salt = self.tracker.state_at(point);
            let spare = self.bound.limit() - self.spent;
            self.uncompared |= point.pending.strayed();
            let mark = cache.meet_salted(point, Alike::Unbounded, spare, salt);
            self.marks.push(mark.ok_or(Cut::Redundant)?);
        }
        Ok(Priced { options, rank: 0 })
    }

    fn heard(&mut self, event: &Event<'_>, _: &[Priced]) -> Option<Cut> {
        self.tracker.heard(event);
        let cache = self.cache.as_mut()?;
        cache.heard(event);
        None
    }

    fn end(&mut self, path: &mut Path<Priced>, execution: &Finished<'_>) {
        let limited = execution.outcome.is_cut_off();
        if limited
            && execution.cut.is_none()
            && let Some(cache) = &mut self.cache
        {
            // Something after these prefixes was not run.
            self.marks.iter_mut().for_each(|mark| cache.withdraw(mark));
        }
        let met = execution.decisions.len();
        let met = if limited { met.max(path.planned()) } else { met };
        while path.points().len() > met
            && let Some(point) = path.pop()
        {
            self.leave(point, false);
        }
    }

    fn advance(&mut self, _: usize, point: &mut Priced) -> Advance {
        let spent = self.spent - point.cost();
        let width = point.within(self.bound.limit() - spent);
        if point.rank + 1 < width {
            point.rank += 1;
            self.spent = spent + point.cost();
            return Advance::Taken;
        }
        Advance::Done { of: width }
    }

    fn leave(&mut self, point: Priced, run: bool) {
        self.spent -= point.cost();
        if let (Some(mut mark), Some(cache)) = (self.marks.pop(), &mut self.cache)
            && !run
        {
            cache.withdraw(&mut mark);
        }
    }

    fn children(&self, path: &[Priced]) -> Vec<Children> {
        let mut spent = 0;
        let children = |point: &Priced| {
            let spare = self.bound.limit() - spent;
            let of = point.within(spare);
            spent += point.cost();
            // The next option, or the last one. Those after it cost as much or more.
            let (price, _) = point.options[(point.rank + 1).min(of - 1) as usize];
            let dearer = (price > 0 && self.bound != Bound::None).then(|| spare - price);
            Children { of, pending: of - point.rank - 1, dearer }
        };
        path.iter().map(children).collect()
    }

    fn estimate_kind(&self) -> Option<Kind> {
        Some(if self.used().cut > 0 { Kind::Cached } else { Kind::DepthFirst })
    }

    fn covered(&self, standing: Standing) -> Covered {
        if !standing.ended || !standing.whole {
            return Covered::Part { executions: standing.executions, preemptions: None };
        }
        let delays = match self.bound {
            Bound::Delays(k) => Some(k),
            Bound::None | Bound::Preemptions(_) | Bound::Depth(_) => None,
        };
        match self.used() {
            Used { cut: 0, .. } => self.bound.covered(),
            Used { compared, stored, dropped, .. } => {
                let uncompared = self.uncompared;
                Covered::Strata { delays, compared, stored, dropped, uncompared }
            }
        }
    }

    fn bytes(&self) -> usize {
        let cache = self.cache.as_ref().map_or(0, |cache| cache.bytes() as usize);
        self.marks.capacity() * size_of::<CachePoint>() + cache
    }

    fn can_begin_again(&self) -> bool {
        true
    }

    fn trouble(&self) -> Option<&str> {
        self.tracker.trouble()
    }

    fn save(&self, path: &[Priced]) -> Result<SavedDelayed, Unsupported> {
        if self.marks.len() > path.len() {
            // The cache has prefixes of an execution that has not ended: what follows them was not run.
            return Err(RUNNING);
        }
        let cache = self.cache.as_ref().map(|cache| (self.marks.clone(), cache.save()));
        Ok(SavedDelayed { used: self.used(), uncompared: self.uncompared, cache })
    }

    fn restore(&mut self, saved: SavedDelayed, path: &[Priced]) -> Result<(), Unsupported> {
        let mut spent = 0_u32;
        for point in path {
            spent = spent.checked_add(point.cost()).ok_or(FOREIGN)?;
            if spent > self.bound.limit() {
                return Err(FOREIGN);
            }
        }
        match (&self.cache, saved.cache) {
            (Some(own), Some((marks, prefixes))) if marks.len() == path.len() => {
                let mut cache = Cache::new(own.limit());
                cache.restore(prefixes)?;
                cache.used = saved.used;
                (self.cache, self.marks) = (Some(Box::new(cache)), marks);
            }
            (None, None) => {}
            _ => return Err(FOREIGN),
        }
        (self.spent, self.uncompared) = (spent, saved.uncompared);
        Ok(())
    }
}
