//! Every option of every point, within a bound.
//!
//! With [`Bound::Preemptions`] and the non-preemptive order the depth-first search of it is CHESS (Musuvathi
//! and Qadeer, PLDI 2007). It differs from CHESS in two ways: the bound is one number and not raised step by
//! step, and every op is a point, not only the operations on locks and the like.
//!
//! A part of the search that is given away is (decisions that lead to it, what they cost). Parts are taken
//! from the shallowest point first, so at most one point is partly given away: above it there is nothing
//! left to give, below it nothing has been given.
//!
//! With a cache (`cache.rs`) what was run after an equivalent prefix is not run again.
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the engine counts;
//! what the cache misses. Nothing else, if the program does the same under the same decisions.
//! Overreports: nothing.

use std::fmt;

use raddle_engine::strategy::{
    Checkpoint, Cut, Event, Finished, Needs, Options, Point, SearchPart, Taken, Unsupported,
};
use raddle_trace::Covered;
use serde::{Deserialize, Serialize};

use super::ranked::Ranked;
use crate::bound::Bound;
use crate::cache::{Alike, Cache, CachePoint, SavedCache, Used};
use crate::estimate::{Children, Kind};
use crate::order::{NonPreemptive, Order};
use crate::path::{Advance, Decision, Expansion, Path, PathSearch, Standing};
use crate::state::{FOREIGN, RUNNING};

/// The systematic search: every execution within a bound, depth first, the one along the default order first.
pub type DepthFirst<O = NonPreemptive> = PathSearch<All<O>>;

/// An order and a bound that do not fit: the default options would cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostlyOrder {
    order: String,
}

impl CostlyOrder {
    pub(crate) fn of(order: &dyn Order) -> Self {
        Self { order: order.name() }
    }
}

impl fmt::Display for CostlyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` itself leaves tasks that could go on, so preemptions cannot be bounded along \
             it; use `non-preemptive`",
            self.order
        )
    }
}

impl std::error::Error for CostlyOrder {}

/// Opens every option within a bound.
#[derive(Clone, Debug)]
pub struct All<O = NonPreemptive> {
    order: O,
    bound: Bound,
    /// What the options taken on the path cost. Never more than the bound's limit.
    spent: u32,
    /// What of that is not in the points: of a part that was given away as a prefix.
    before: u32,
    /// The point at which options were given away, if there is one; and the first rank that was.
    given: Option<(usize, u32)>,
    cache: Option<Box<Cache>>,
    /// With a cache, one for each point; else none.
    marks: Vec<CachePoint>,
}

/// What is saved besides the points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedAll {
    order: u64,
    before: u32,
    given: Option<(u64, u32)>,
    used: Used,
    /// None of a part, which begins with an empty cache.
    cache: Option<(Vec<CachePoint>, SavedCache)>,
}

impl Default for DepthFirst {
    /// Everything, non-preemptive executions first.
    fn default() -> Self {
        Self::new(NonPreemptive)
    }
}

impl<O: Order> DepthFirst<O> {
    /// Searches without a bound.
    #[must_use]
    pub fn new(order: O) -> Self {
        Self::with(All {
            order,
            bound: Bound::None,
            spent: 0,
            before: 0,
            given: None,
            cache: None,
            marks: Vec::new(),
        })
    }

    /// Searches within a bound.
    ///
    /// # Errors
    /// If the default options of `order` are not free under `bound`.
    pub fn within(order: O, bound: Bound) -> Result<Self, CostlyOrder> {
        if !bound.allows(&order) {
            return Err(CostlyOrder::of(&order));
        }
        let mut search = Self::new(order);
        search.expansion.bound = bound;
        Ok(search)
    }

    /// Remembers up to so many prefixes and runs nothing twice that follows equivalent ones. To be
    /// called before the first execution.
    #[must_use]
    pub fn cached(mut self, prefixes: usize) -> Self {
        self.expansion.cache = Some(Box::new(Cache::new(prefixes)));
        self
    }
}

impl<O: Order> DepthFirst<O> {
    /// The state of a part that has every execution within the bound which begins with these decisions, for which
    /// `spent` was paid.
    #[must_use]
    pub(crate) fn below(&self, prefix: &[Taken], spent: u32) -> Checkpoint {
        let points: Vec<Ranked> = prefix.iter().map(|&taken| Ranked::fixed(taken)).collect();
        let (order, used) = (self.expansion.order.state(), Used::default());
        self.save_part(
            &points,
            points.len(),
            SavedAll { order, before: spent, given: None, used, cache: None },
        )
    }
}

impl<O: Order> All<O> {
    /// How many ranks of a point are this search's own, if `spent` went before it.
    #[inline]
    fn width(&self, index: usize, point: Ranked, spent: u32) -> u32 {
        let width = point.within(self.bound.limit() - spent);
        match self.given {
            Some((at, given)) if at == index => width.min(given),
            _ => width,
        }
    }

    fn used(&self) -> Used {
        self.cache.as_ref().map_or(Used::default(), |cache| cache.used)
    }

    /// Takes all prefixes out of the cache: something after them was not run.
    fn withdraw_all(&mut self) {
        if let Some(cache) = &mut self.cache {
            self.marks.iter_mut().for_each(|mark| cache.withdraw(mark));
        }
    }
}

impl<O: Order> Expansion for All<O> {
    type Point = Ranked;
    type Saved = SavedAll;

    fn is_divisible(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        let cache = self.cache.as_ref().map_or(0, |cache| cache.limit());
        format!("all {:?} {} cache {cache}", self.bound, self.order.name())
    }

    fn needs(&self) -> Needs {
        Needs { steps: self.cache.is_some(), ..Needs::default() }
    }

    fn begin(&mut self, _: &[Ranked], anew: bool) {
        self.order.begin();
        if let Some(cache) = &mut self.cache {
            // The last decision of the plan is the first that is another one than before.
            let last = self.marks.last().filter(|_| !anew);
            cache.begin(last.map_or(0, |mark| mark.steps));
        }
    }

    #[inline]
    fn arrive(&mut self, point: &Point<'_>) -> Result<Ranked, Cut> {
        if let Some(cache) = &mut self.cache {
            let alike = if self.bound == Bound::None { Alike::Unbounded } else { Alike::Bounded };
            let spare = self.bound.limit() - self.spent;
            self.marks.push(cache.meet(point, alike, spare).ok_or(Cut::Redundant)?);
        }
        let default = match point.options {
            Options::Schedule(_) => self.order.next(point),
            Options::Value { .. } => 0,
        };
        Ok(Ranked::new(point.arity(), default, self.bound.price(point, default)))
    }

    fn heard(&mut self, event: &Event<'_>, _: &[Ranked]) -> Option<Cut> {
        self.cache.as_mut()?.heard(event);
        None
    }

    fn end(&mut self, path: &mut Path<Ranked>, execution: &Finished<'_>) {
        let limited = execution.outcome.is_cut_off();
        if limited && execution.cut.is_none() {
            self.withdraw_all();
        }
        let met = execution.decisions.len();
        let met = if limited { met.max(path.planned()) } else { met };
        // A limit may end an execution at a point that was asked about.
        while path.points().len() > met
            && let Some(point) = path.pop()
        {
            self.leave(point, false);
        }
    }

    #[inline]
    fn advance(&mut self, index: usize, point: &mut Ranked) -> Advance {
        let spent = self.spent - point.cost();
        let width = self.width(index, *point, spent);
        if point.rank() + 1 < width {
            point.set_rank(point.rank() + 1);
            self.spent = spent + point.cost();
            return Advance::Taken;
        }
        Advance::Done { of: width }
    }

    #[inline]
    fn leave(&mut self, point: Ranked, run: bool) {
        self.spent -= point.cost();
        if let (Some(mut mark), Some(cache)) = (self.marks.pop(), &mut self.cache)
            && !run
        {
            cache.withdraw(&mut mark);
        }
    }

    fn children(&self, path: &[Ranked]) -> Vec<Children> {
        let mut spent = self.before;
        let children = |(index, point): (usize, &Ranked)| {
            let of = self.width(index, *point, spent);
            let spare = self.bound.limit().saturating_sub(spent);
            spent += point.cost();
            let dearer = (of > 1 && !point.is_free()).then(|| spare.saturating_sub(1));
            Children { of, pending: of - point.rank() - 1, dearer }
        };
        path.iter().enumerate().map(children).collect()
    }

    fn estimate_kind(&self) -> Option<Kind> {
        Some(if self.used().cut > 0 { Kind::Cached } else { Kind::DepthFirst })
    }

    fn covered(&self, standing: Standing) -> Covered {
        let preemptions = self.bound.preemptions();
        if !standing.ended || !standing.whole {
            return Covered::Part { executions: standing.executions, preemptions };
        }
        match self.used() {
            Used { cut: 0, .. } => self.bound.covered(),
            Used { compared, stored, dropped, .. } => {
                Covered::Cached { preemptions, compared, stored, dropped }
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

    /// Gives away the last option of the shallowest point that has one.
    fn split(search: &mut PathSearch<Self>, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        let mut parts = Vec::new();
        let known = search.known().len();
        let cost = |points: &[Ranked]| points.iter().map(|point| point.cost()).sum::<u32>();
        let before = search.expansion.before;
        let mut spent = before + cost(&search.known()[..search.path.floor.min(known)]);
        while parts.len() < n && search.path.floor < known {
            let floor = search.path.floor;
            let mut point = search.known()[floor];
            let last = search.expansion.width(floor, point, spent) - 1;
            if last == point.rank() {
                spent += point.cost();
                search.path.floor += 1;
                continue;
            }
            search.expansion.given = Some((floor, last));
            search.whole = false;
            point.set_rank(last);
            let mut points = search.known()[..floor].to_vec();
            points.push(point);
            let order = search.expansion.order.state();
            let used = Used::default();
            let saved = SavedAll { order, before, given: None, used, cache: None };
            let state = search.save_part(&points, points.len(), saved);
            let taken = |point: &Ranked| Taken { option: point.option(), of: point.of() };
            let spent = before + cost(&points);
            parts.push(SearchPart { prefix: points.iter().map(taken).collect(), state, spent });
        }
        Ok(parts)
    }

    fn save(&self, path: &[Ranked]) -> Result<SavedAll, Unsupported> {
        if self.marks.len() > path.len() {
            // The cache has prefixes of an execution that has not ended: what follows them was not run.
            return Err(RUNNING);
        }
        let cache = self.cache.as_ref().map(|cache| (self.marks.clone(), cache.save()));
        let given = self.given.map(|(at, rank)| (at as u64, rank));
        let (order, before) = (self.order.state(), self.before);
        Ok(SavedAll { order, before, given, used: self.used(), cache })
    }

    fn restore(&mut self, saved: SavedAll, path: &[Ranked]) -> Result<(), Unsupported> {
        let given = match saved.given {
            Some((at, rank)) if rank > 0 => Some((usize::try_from(at).map_err(|_| FOREIGN)?, rank)),
            Some(_) => return Err(FOREIGN),
            None => None,
        };
        let mut spent = saved.before;
        if spent > self.bound.limit() {
            return Err(FOREIGN);
        }
        for (index, point) in path.iter().enumerate() {
            spent = spent.checked_add(point.cost()).ok_or(FOREIGN)?;
            let given = given.is_some_and(|(at, rank)| at == index && point.rank() >= rank);
            let priced = !point.is_free() && self.bound == Bound::None;
            if spent > self.bound.limit() || given || priced {
                return Err(FOREIGN);
            }
        }
        if let Some(own) = &self.cache {
            let mut cache = Cache::new(own.limit());
            let mut marks = Vec::new();
            if let Some((saved_marks, saved)) = saved.cache {
                cache.restore(saved)?;
                marks = saved_marks;
            } else {
                marks.resize_with(path.len(), CachePoint::default);
            }
            if marks.len() != path.len() {
                return Err(FOREIGN);
            }
            cache.used = saved.used;
            (self.cache, self.marks) = (Some(Box::new(cache)), marks);
        } else if saved.cache.is_some() {
            return Err(FOREIGN);
        }
        (self.spent, self.before, self.given) = (spent, saved.before, given);
        self.order.set_state(saved.order);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
