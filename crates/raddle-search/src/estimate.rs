//! How many executions there are, estimated while a search runs.
//!
//! Two rules, both online and for every systematic search:
//! - *recursive*, Eta's (Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113, section 4; the same rule is in
//!   Kilby, Slaney, Thiébaux, Walsh, AAAI 2006): a leaf is 1; a point is the mean of its children that
//!   were visited, times the number of its children;
//! - *weighted* (Knuth 1975, as used by Kilby et al. on the path of a search): the executions that were
//!   run, by the chance that a descent with equal chances meets one of them. `probe.rs` has Knuth's own
//!   form, with random descents.
//!
//! Where we differ from Eta: a point that is left is folded into its parent at once and forgotten, and
//! the points of the current path are added up when the estimate is asked for. That is the same number, in constant
//! time for each decision and in memory that does not grow with the number of executions.
//!
//! Under a reduction Eta's rule runs over *all* children of a point, so it estimates the space that the
//! reduction stands for; a child that is left is *covered* with all that is estimated below it. A child
//! that was cut (its executions are covered elsewhere) has no size of its own: its siblings stand for it.
//!
//! Besides the size each point carries a relative variance: what its children that were not visited may
//! differ from those that were, in units of the variance among siblings (of the logarithm of their sizes)
//! that the search has seen so far. `band.rs` makes a band of it.
//!
//! Misses: a search that goes depth first knows the first part of its tree best, and what is not like
//! that part it cannot know. The estimate errs either way.
//! Overreports: likewise.
//!
//! # Why: Estimates are folded
//! Eta walks up each new branch. Depth first, a point that is left is folded into the one above at once and the path is
//! added up when the estimate is asked for: the same number, and no cost for the executions between two questions. Only
//! breadth-first and random, which hold their tree, walk up (`tree/sizes.rs`).
//!
//! # Why: What a reduction will run is estimated by weights
//! Eta takes covered by total for the progress of a reduction. On the corpus, executions by the weighted share was off
//! by less, so that is what the time left comes from; covered and total are told as Eta does.

mod band;

use raddle_trace::Estimate;
use raddle_trace::progress::MAX_ESTIMATE;
use serde::{Deserialize, Serialize};

pub(crate) use self::band::Kind;

/// What is known of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Size {
    /// Executions of the space; none if all of it was cut.
    space: Option<f64>,
    /// The variance of its logarithm, in units of that among siblings.
    doubt: f64,
    /// Executions that were run, or will have been.
    run: f64,
}

impl Size {
    /// One execution.
    pub(crate) const LEAF: Self = Self { space: Some(1.0), doubt: 0.0, run: 1.0 };
    /// One execution that was cut: what could follow is covered elsewhere.
    pub(crate) const CUT: Self = Self { space: None, doubt: 0.0, run: 1.0 };
}

/// Whether these can be sizes that were read.
fn are_sizes(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.is_finite() && *number >= 0.0)
}

/// The children of one point that have a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// The sum of their sizes.
    space: f64,
    /// The sum of the squares of what their sizes may be off.
    doubt: f64,
    /// The sums of the logarithms of their sizes, and of the squares of these.
    logs: f64,
    squares: f64,
    /// How many there are.
    n: u32,
}

impl Sizes {
    #[inline]
    fn add(&mut self, child: Size) {
        let Some(size) = child.space else { return };
        self.n += 1;
        self.space = (self.space + size).min(MAX_ESTIMATE);
        if child.doubt > 0.0 {
            self.doubt = (self.doubt + size * child.doubt * size).min(MAX_ESTIMATE);
        }
        if size > 1.0 {
            let log = size.ln();
            self.logs += log;
            self.squares += log * log;
        }
    }

    /// Takes back what was added.
    fn remove(&mut self, child: Size) {
        let Some(size) = child.space else { return };
        // Of a saved state it may not be there.
        self.n = self.n.saturating_sub(1);
        self.space = (self.space - size).max(0.0);
        self.doubt = (self.doubt - size * child.doubt * size).max(0.0);
        if size > 1.0 {
            let log = size.ln();
            self.logs -= log;
            self.squares -= log * log;
        }
    }

    /// Whether its numbers are such that they may have been saved of a point with `of` children. What was added
    /// and taken back may leave sums of logarithms a little below 0.
    pub(crate) fn can_be(&self, of: u32) -> bool {
        let (sizes, logs) = ([self.space, self.doubt], [self.logs, self.squares]);
        self.n <= of && are_sizes(&sizes) && logs.iter().all(|log| log.is_finite())
    }

    /// The size of the point if it has `of` children, and its doubt.
    fn estimate(&self, of: u32) -> (Option<f64>, f64) {
        if self.n == 0 {
            return (None, 0.0);
        }
        let (seen, of) = (f64::from(self.n), f64::from(of.max(self.n)));
        let unseen = of - seen;
        let mut doubt = self.doubt / self.space / self.space;
        if unseen > 0.0 {
            doubt += (unseen / of).powi(2) * (1.0 / seen + 1.0 / unseen);
        }
        (Some((self.space / seen * of).min(MAX_ESTIMATE)), doubt)
    }
}

/// One point of the current path: what is known of the children that were left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Level {
    sizes: Sizes,
    /// Children that were left, those without a size among them.
    left: u32,
    /// Where it is on the path. Not part of what is saved, where the levels are in order.
    #[serde(skip)]
    index: u32,
    /// The size of the first of them, which costs nothing under a bound; 0 if it has none.
    first: f64,
    /// The executions run in them.
    run: f64,
}

impl Level {
    /// A child is left: all that the search will run of it has been run.
    #[inline]
    fn add(&mut self, child: Size) {
        if self.left == 0 {
            self.first = child.space.unwrap_or(0.0);
        }
        self.left += 1;
        self.run += child.run;
        self.sizes.add(child);
    }

    /// Executions of the space that the children which were left cover.
    fn covered(&self) -> f64 {
        let Sizes { space, n, .. } = self.sizes;
        if n == 0 { 0.0 } else { space / f64::from(n) * f64::from(self.left) }
    }
}

/// How much the sizes of siblings differ, over all points so far. Large ones weigh more.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spread {
    sum: f64,
    weight: f64,
}

impl Spread {
    /// What a point adds. Where all children are leaves there is nothing to learn.
    fn of(sizes: &Sizes) -> Self {
        let n = f64::from(sizes.n);
        if sizes.n < 2 || sizes.space <= n {
            return Self::default();
        }
        let deviation = (sizes.squares - sizes.logs * sizes.logs / n).max(0.0);
        let weight = sizes.space.ln();
        Self { sum: weight * deviation, weight: weight * (n - 1.0) }
    }

    fn add(&mut self, sizes: &Sizes) {
        let other = Self::of(sizes);
        self.sum += other.sum;
        self.weight += other.weight;
    }

    fn remove(&mut self, sizes: &Sizes) {
        let other = Self::of(sizes);
        self.sum = (self.sum - other.sum).max(0.0);
        self.weight = (self.weight - other.weight).max(0.0);
    }

    /// The variance of the logarithm of a size.
    fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}

/// What follows options that cost something of a bound.
///
/// At a point where every option but the first costs one, the others lead to less than the first: to what can be done
/// with one less. Below the same path that is a polynomial of the points that follow, whose degree is what is left to
/// spend. So an option that was not visited is taken for one with as much left that was, at the nearest point below, times
/// the power of the points that follow each. Where none was, for all choices of so many of the points that follow.
///
/// Misses and overreports: how many options points have is taken to be the same along a path.
struct Bounded {
    /// Points of the path.
    length: usize,
    /// By what is left to spend: where an option with so much was visited, and its size.
    known: Vec<Option<(usize, f64)>>,
    /// Whether there was anything to estimate by it.
    used: bool,
}

impl Bounded {
    /// The size of a point of which `level` is known, and its doubt.
    fn estimate(&mut self, index: usize, level: &Level, of: u32, spare: u32) -> (Option<f64>, f64) {
        self.used = true;
        let first = level.first;
        if first <= 0.0 || level.sizes.n == 0 {
            return level.sizes.estimate(of);
        }
        let others = f64::from(level.sizes.n) - 1.0;
        let visited = (level.sizes.space - first).max(0.0);
        // What was cut has no size of its own, and is as large as its siblings.
        let unseen = f64::from(of.saturating_sub(level.sizes.n));
        let after = |at: usize| f64::from((self.length - at) as u32);
        let slot = spare as usize;
        if self.known.len() <= slot {
            self.known.resize(slot + 1, None);
        }
        let each = if others > 0.0 {
            let mean = visited / others;
            self.known[slot] = Some((index, mean));
            mean
        } else if let Some((at, size)) = self.known[slot] {
            size * (after(index) / after(at)).powf(f64::from(spare))
        } else {
            (1..=spare).map(|nth| after(index) / f64::from(nth)).product::<f64>().max(1.0)
        };
        let rest = unseen * each;
        let total = (level.sizes.space + rest).min(MAX_ESTIMATE);
        let mut doubt = level.sizes.doubt / total / total;
        if unseen > 0.0 {
            doubt += (rest / total).powi(2) * (1.0 / others.max(1.0) + 1.0 / unseen);
        }
        (Some(total), doubt)
    }
}

/// The points of the current path, and the variance among siblings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "AllLevels", into = "AllLevels")]
pub(crate) struct Levels {
    /// Points of the path.
    length: usize,
    /// Those of which a child was left, ascending: on a long path they are few.
    known: Vec<Level>,
    spread: Spread,
}

/// The same with every point of the path, as it is saved.
#[derive(Serialize, Deserialize)]
struct AllLevels {
    levels: Vec<Level>,
    spread: Spread,
}

impl From<Levels> for AllLevels {
    fn from(Levels { length, known, spread }: Levels) -> Self {
        let mut levels = vec![Level::default(); length];
        for level in known {
            levels[level.index as usize] = level;
        }
        Self { levels, spread }
    }
}

impl From<AllLevels> for Levels {
    fn from(AllLevels { levels, spread }: AllLevels) -> Self {
        let length = levels.len();
        let known = levels.into_iter().zip(0..).filter(|(level, _)| *level != Level::default());
        let known = known.map(|(level, index)| Level { index, ..level }).collect();
        Self { length, known, spread }
    }
}

/// What can be read from the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Executions of the space, by the recursive rule.
    pub(crate) total: f64,
    /// Those covered.
    pub(crate) covered: f64,
    /// Executions that it has run.
    pub(crate) done: f64,
    /// The part of the space that is covered if all children of a point are alike.
    pub(crate) share: f64,
    /// The relative variance of the total, in units of that among siblings.
    pub(crate) doubt: f64,
    /// The variance among siblings.
    pub(crate) variance: f64,
    /// Alternatives that are known and have not been run.
    pub(crate) pending: f64,
    /// Whether a bound makes siblings differ.
    pub(crate) bounded: bool,
}

/// The children of a point.
#[derive(Clone, Copy, Debug)]
pub struct Children {
    /// In the space.
    pub of: u32,
    /// That the search knows it will visit, and has not.
    pub pending: u32,
    /// If all but the first cost one of a bound: how much is left to spend in each of them.
    pub dearer: Option<u32>,
}

impl Levels {
    /// A path of so many points, of which nothing is known.
    pub(crate) fn new(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    /// Whether its numbers can be, if they were read from a saved state.
    pub(crate) fn is_valid(&self) -> bool {
        let mut reals = self.known.iter().flat_map(|level| {
            let Sizes { space, doubt, logs, squares, .. } = level.sizes;
            [space, doubt, logs, squares, level.run]
        });
        reals.all(f64::is_finite) && self.spread.sum.is_finite() && self.spread.weight.is_finite()
    }

    #[inline]
    pub(crate) fn push(&mut self) {
        self.length += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn bytes(&self) -> usize {
        self.known.capacity() * size_of::<Level>()
    }

    /// Drops all points from `length` on; what follows them has not been run.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        while self.known.pop_if(|level| level.index as usize >= length).is_some() {}
    }

    /// The last point goes on to another child.
    #[inline]
    pub(crate) fn add(&mut self, child: Size) {
        let last = self.length.checked_sub(1).expect("a path has a point");
        if self.known.last().is_none_or(|level| (level.index as usize) < last) {
            self.known.push(Level { index: last as u32, ..Level::default() });
        }
        self.known.last_mut().expect("it is known").add(child);
    }

    /// The last point is left, and is said to have `of` children.
    #[inline]
    pub(crate) fn pop(&mut self, of: u32) -> Size {
        self.length = self.length.checked_sub(1).expect("a path has a point");
        let known = self.known.pop_if(|level| level.index as usize == self.length);
        let level = known.unwrap_or_default();
        self.spread.add(&level.sizes);
        let (space, doubt) = level.sizes.estimate(of);
        Size { space, doubt, run: level.run }
    }

    /// Adds up the first `length` points of the path. `now`: what its last execution is, if it has been
    /// run. `children` of a point; none if only those count that were visited.
    pub(crate) fn read(
        &self,
        length: usize,
        now: Option<Size>,
        children: impl Fn(usize) -> Option<Children>,
    ) -> Option<Reading> {
        let known = self.known.partition_point(|level| (level.index as usize) < length);
        let mut known = self.known[..known].iter().rev().peekable();
        let (mut child, mut share) = (now, f64::from(now.is_some()));
        let mut done = now.map_or(0.0, |now| now.run);
        let mut covered = now.and_then(|now| now.space).unwrap_or(0.0);
        let (mut spread, mut pending) = (self.spread, 0.0);
        let mut bounded = Bounded { length, known: Vec::new(), used: false };
        for index in (0..length).rev() {
            let level = known.next_if(|level| level.index as usize == index);
            let mut level = level.copied().unwrap_or_default();
            let visited = Children { of: level.left + 1, pending: 0, dearer: None };
            let children = children(index).unwrap_or(visited);
            let of = children.of.max(visited.of);
            covered += level.covered();
            done += level.run;
            pending += f64::from(children.pending);
            share = (share + f64::from(level.left)) / f64::from(of);
            spread.add(&level.sizes);
            if let Some(child) = child {
                level.add(child);
            }
            let (space, doubt) = match children.dearer {
                Some(budget) => bounded.estimate(index, &level, of, budget),
                None => level.sizes.estimate(of),
            };
            child = (level.left > 0).then_some(Size { space, doubt, run: level.run });
        }
        let Size { space, doubt, .. } = child?;
        let total = space?.max(covered);
        let variance = spread.variance();
        let bounded = bounded.used;
        Some(Reading { total, covered, done, share, doubt, variance, pending, bounded })
    }
}

impl Reading {
    /// Of a tree, where what was run is what is covered. Nothing is known yet of how sure it is.
    fn of_tree(total: f64, done: f64, pending: f64) -> Self {
        let (covered, bounded) = (done, false);
        Self { total, covered, done, share: 0.0, doubt: 0.0, variance: 0.0, pending, bounded }
    }

    /// As it is told. Of a search that leaves executions out, those it will run are estimated by the
    /// weighted rule: of the rules that were tried it was off by the least.
    pub(crate) fn estimate(&self, kind: Kind) -> Estimate {
        // Within a bound most options of a path lead to little, and a descent with equal chances meets them as often
        // as those that lead to much: the weighted rule is off by orders. By what is covered it is not.
        let weighted = if self.bounded && self.covered > 0.0 {
            (self.done * (self.total / self.covered)).min(MAX_ESTIMATE)
        } else {
            (self.done / self.share).min(MAX_ESTIMATE)
        };
        let total = kind.band_of_total(self);
        let (search, weighted) = if kind.leaves_out() {
            (kind.band_of_search(self, weighted), None)
        } else {
            (total, Some(weighted))
        };
        Estimate { total, covered: self.covered, search, weighted, probed: None }
    }
}

/// The estimates of a search that holds its tree: Eta's own bookkeeping, bottom-up along each new branch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Growth {
    /// What the whole comes to.
    root: Option<Size>,
    /// The chance that a random descent meets an execution that was run.
    share: f64,
    /// Executions that were run.
    done: f64,
    spread: Spread,
}

/// What happened to a point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Nothing,
    /// A child was visited for the first time.
    New(Size),
    /// The size of a child is another one now.
    Other(Size, Size),
}

impl Growth {
    /// Changes a point, and says what that is to the one above. It had and has so many children; once
    /// `is_over`, all of it was run.
    pub(crate) fn change(
        &mut self,
        sizes: &mut Sizes,
        change: Change,
        (was_of, of): (u32, u32),
        is_over: bool,
    ) -> Change {
        let size = |sizes: &Sizes, of| match sizes.estimate(of) {
            (Some(space), doubt) => Some(Size { space: Some(space), doubt, run: 0.0 }),
            (None, _) => None,
        };
        let before = size(sizes, was_of);
        self.spread.remove(sizes);
        match change {
            Change::Nothing => {}
            Change::New(new) => sizes.add(new),
            Change::Other(old, new) => {
                sizes.remove(old);
                sizes.add(new);
            }
        }
        if is_over {
            // A whole number, whatever was added and taken back.
            sizes.space = sizes.space.round();
            sizes.doubt = 0.0;
        }
        self.spread.add(sizes);
        match (before, size(sizes, of)) {
            (None, Some(new)) => Change::New(new),
            (Some(old), Some(new)) => Change::Other(old, new),
            (_, None) => Change::Nothing,
        }
    }

    /// The change has come to the top.
    pub(crate) fn arrive(&mut self, change: Change) {
        if let Change::New(size) | Change::Other(_, size) = change {
            self.root = Some(size);
        }
    }

    /// An execution was run, which a random descent meets with this chance.
    pub(crate) fn ended(&mut self, share: f64) {
        self.done += 1.0;
        self.share += share;
    }

    /// Whether its numbers are such that it may have been saved.
    pub(crate) fn can_be(&self) -> bool {
        let root = self.root.unwrap_or(Size::LEAF);
        let Spread { sum, weight } = self.spread;
        let sizes = [root.space.unwrap_or(1.0), root.doubt, root.run];
        are_sizes(&sizes) && are_sizes(&[self.share, self.done, sum, weight])
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate has few digits")]
    pub(crate) fn read(&self, pending: usize) -> Option<Reading> {
        let Size { space, doubt, .. } = self.root?;
        let (done, share, variance) = (self.done, self.share, self.spread.variance());
        let (total, pending) = (space?.max(done), pending as f64);
        Some(Reading { share, doubt, variance, ..Reading::of_tree(total, done, pending) })
    }
}

/// The weighted rule alone, for a search that goes in any order and keeps no points: whatever the order, what a
/// random descent would meet adds up to 1.
///
/// Misses: far from the end it is as good as what was run is like the rest. Executions with few preemptions
/// have fewer tasks left towards their end than others, so fewer options and larger chances: where those
/// come first the space looks smaller than it is.
/// Overreports: nothing beyond that.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetShare {
    /// The chance that a random descent comes to the path's first decision, to the second, and so on.
    chances: Vec<f64>,
    /// The chance that it meets one of the executions that were run.
    share: f64,
}

impl MetShare {
    /// The next execution has its first `shared` decisions in common with the last.
    pub(crate) fn begin(&mut self, shared: usize) {
        self.chances.truncate(shared);
    }

    /// It was run, and had so many options at each point.
    pub(crate) fn ended(&mut self, options: impl Iterator<Item = u32>) {
        let mut chance = self.chances.last().copied().unwrap_or(1.0);
        for of in options.skip(self.chances.len()) {
            chance /= f64::from(of);
            self.chances.push(chance);
        }
        self.share = (self.share + chance).min(1.0);
    }

    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    /// Of a search that goes on from here.
    pub(crate) fn restored(share: f64) -> Self {
        Self { chances: Vec::new(), share: share.min(1.0) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chances.capacity() * size_of::<f64>()
    }

    /// After `done` executions, of which more are known.
    #[expect(clippy::cast_precision_loss, reason = "an estimate has few digits")]
    pub(crate) fn read(&self, done: u64, pending: u64) -> Option<Reading> {
        let (done, pending) = (done as f64, pending as f64);
        if done == 0.0 || self.share == 0.0 {
            return None;
        }
        // At the end nothing is in doubt.
        let share = if pending == 0.0 { 1.0 } else { self.share };
        let (total, doubt, variance) = ((done / share).min(MAX_ESTIMATE), 0.0, 0.0);
        Some(Reading { share, doubt, variance, ..Reading::of_tree(total, done, pending) })
    }
}

#[cfg(test)]
mod tests;
