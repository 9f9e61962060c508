//! The depth-first store: the path of the last execution, and the search over it.
//!
//! Stateless search as in `VeriSoft` (Godefroid, POPL 1997). What is left to do is a stack with one point for
//! each decision on the current path, so memory does not grow with the number of executions. The next
//! execution takes another option at the last point that has one left and forgets what came after. Which
//! options a point has left is the expansion's business ([`Expansion`]); the store owns the plan, the stages of the
//! search, the estimate (`estimate.rs`), the saved form and, for parts of a search, the first point that
//! may change.
//!
//! Every other frontier needs a tree: `tree.rs`.

mod expansion;

use std::borrow::Cow;
use std::fmt;

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Plan, Point, Remarks,
    Resumable, SearchPart, Strategy, Taken, Unsupported,
};
use raddle_trace::unit::{Sibling, Upwards};
use raddle_trace::{Covered, Estimate, Progress};
use serde::{Deserialize, Serialize};

use self::expansion::Saved;
pub use self::expansion::{Advance, Decision, Expansion, Standing};
use crate::estimate::{Children, Kind, Levels, Size};
use crate::state::{self, FOREIGN, RUNNING, STRAYED};

/// The points of the last execution, and what is known of what was left at each.
#[derive(Clone, Debug)]
pub struct Path<P> {
    points: Vec<P>,
    levels: Levels,
    /// The length of the plan of the current execution.
    planned: usize,
    /// The first point that may change: those before it lead to the part of the search that this is.
    /// At most `planned` while an execution runs, at most the number of points between two.
    pub(crate) floor: usize,
}

impl<P> Path<P> {
    /// Its points.
    #[must_use]
    pub fn points(&self) -> &[P] {
        &self.points
    }

    /// Its points, to be opened.
    pub fn points_mut(&mut self) -> &mut [P] {
        &mut self.points
    }

    /// How many of them the current execution repeated.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.planned
    }

    fn push(&mut self, point: P) {
        self.points.push(point);
        self.levels.push();
    }

    /// Takes off the last point: what follows it has not been run.
    pub fn pop(&mut self) -> Option<P> {
        let point = self.points.pop();
        self.levels.truncate(self.points.len());
        point
    }
}

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The first `planned` points are to be run, or are being run.
    Planned,
    /// The path was run to its end.
    Ended,
    /// It was the last one.
    Last,
}

/// Searches depth first what an expansion opens.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a search, independent of each other"
)]
pub struct PathSearch<E: Expansion> {
    pub(crate) expansion: E,
    pub(crate) path: Path<E::Point>,
    stage: Stage,
    /// Whether this is neither a part of a search nor gave parts away.
    pub(crate) whole: bool,
    /// Whether an execution left its plan.
    diverged: bool,
    /// Whether the engine's plan is that of another search.
    stale: bool,
    /// An execution was begun and has not ended.
    running: bool,
    executions: u64,
    /// What the last execution was to the estimate; once all is done, what all of it was.
    leaf: Size,
}

impl<E: Expansion> fmt::Debug for PathSearch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathSearch")
            .field("expansion", &self.expansion)
            .field("stage", &self.stage)
            .field("points", &self.path.points.len())
            .field("executions", &self.executions)
            .finish_non_exhaustive()
    }
}

/// A search as it is saved.
#[derive(Serialize, Deserialize)]
#[serde(bound = "P: Decision, X: Serialize + serde::de::DeserializeOwned")]
struct SavedSearch<'a, P: Clone, X> {
    stage: Stage,
    floor: u64,
    whole: bool,
    diverged: bool,
    executions: u64,
    leaf: Size,
    levels: Levels,
    points: Cow<'a, [P]>,
    expansion: X,
}

impl<E: Expansion> PathSearch<E> {
    /// A search that has run nothing.
    pub(crate) fn with(expansion: E) -> Self {
        let path = Path { points: Vec::new(), levels: Levels::default(), planned: 0, floor: 0 };
        Self {
            expansion,
            path,
            stage: Stage::Planned,
            whole: true,
            diverged: false,
            stale: true,
            running: false,
            executions: 0,
            leaf: Size::LEAF,
        }
    }

    /// The points that are known to be of the path: all between two executions.
    pub(crate) fn known(&self) -> &[E::Point] {
        match self.stage {
            Stage::Planned => &self.path.points[..self.path.planned],
            Stage::Ended | Stage::Last => &self.path.points,
        }
    }

    /// Whether the path was run to its end.
    pub(crate) fn has_run(&self) -> bool {
        self.stage != Stage::Planned
    }

    /// Takes the next option at the last point that has one left; `false` if there is none.
    fn backtrack(&mut self) -> bool {
        let mut left = self.leaf;
        while self.path.points.len() > self.path.floor {
            let index = self.path.points.len() - 1;
            self.path.levels.add(left);
            match self.expansion.advance(index, &mut self.path.points[index]) {
                Advance::Taken => return true,
                Advance::Done { of } => {
                    left = self.path.levels.pop(of);
                    let point = self.path.points.pop().expect("it has just been advanced");
                    self.expansion.leave(point, true);
                }
            }
        }
        self.leaf = left;
        false
    }

    /// Drops all points from `length` on: what follows them has not been run.
    fn truncate(&mut self, length: usize) {
        while self.path.points.len() > length {
            let point = self.path.pop().expect("longer than a length");
            self.expansion.leave(point, false);
        }
    }

    /// The plan still holds the last execution's decisions: only the last point has another option.
    fn write_plan(&mut self, plan: &mut Plan) {
        let points = &self.path.points;
        let kept = points.len();
        if self.stale || plan.prefix.len() < kept {
            plan.prefix.clear();
            plan.prefix.extend(points.iter().map(Decision::option));
            self.stale = false;
        } else {
            plan.prefix.truncate(kept);
            if let (Some(entry), Some(point)) = (plan.prefix.last_mut(), points.last()) {
                *entry = point.option();
            }
        }
        self.path.planned = kept;
    }

    /// The options of each point that may change; none of those before.
    fn children(&self) -> Vec<Option<Children>> {
        let children = self.expansion.children(self.known()).into_iter().enumerate();
        children.map(|(index, children)| (index >= self.path.floor).then_some(children)).collect()
    }

    fn estimate(&self, kind: Kind, children: &[Option<Children>]) -> Option<Estimate> {
        let now = (self.stage != Stage::Planned).then_some(self.leaf);
        let known = self.known().len();
        let reading = self.path.levels.read(known, now, |index| children[index])?;
        Some(reading.estimate(kind))
    }

    /// The part that is done if each option of a point leads to an equal share of what the point leads to.
    /// It errs either way, but never falls (unless parts are given away) and ends at 1.
    fn uniform_share(&self, children: &[Option<Children>]) -> f64 {
        let (mut covered, mut share) = (0.0, 1.0);
        for children in children.iter().flatten() {
            share /= f64::from(children.of);
            covered += share * f64::from(children.of - children.pending - 1);
        }
        if self.stage == Stage::Planned { covered } else { covered + share }
    }

    pub(crate) fn standing(&self) -> Standing {
        let whole = self.whole && !self.diverged;
        Standing { ended: self.stage == Stage::Last, whole, executions: self.executions }
    }

    /// The state of a part that begins with these points, of which those from `floor` on may change, and has run nothing.
    pub(crate) fn save_part(
        &self,
        points: &[E::Point],
        floor: usize,
        expansion: Saved<E>,
    ) -> Checkpoint {
        self.write(&SavedSearch {
            stage: Stage::Planned,
            floor: floor as u64,
            whole: false,
            diverged: false,
            executions: 0,
            leaf: Size::LEAF,
            levels: Levels::new(points.len()),
            points: Cow::Borrowed(points),
            expansion,
        })
    }

    fn write(&self, saved: &SavedSearch<'_, E::Point, Saved<E>>) -> Checkpoint {
        state::write(&self.expansion.name(), saved)
    }
}

impl<E: Expansion> Strategy for PathSearch<E> {
    fn needs(&self) -> Needs {
        self.expansion.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        if self.expansion.has_strayed() || self.expansion.trouble().is_some() {
            return false;
        }
        match self.stage {
            // The first execution of a search or a part, or one that never ended: as planned.
            Stage::Planned if self.executions == 0 || self.expansion.can_begin_again() => {
                self.truncate(self.path.planned);
                self.stale = true;
            }
            Stage::Planned | Stage::Ended => {
                let more = self.backtrack();
                self.stage = if more { Stage::Planned } else { Stage::Last };
            }
            Stage::Last => {}
        }
        if self.stage == Stage::Last {
            return false;
        }
        self.expansion.begin(&self.path.points, self.stale);
        self.write_plan(plan);
        self.running = true;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        debug_assert_eq!(
            self.path.points.len(),
            point.index as usize,
            "engine bug: a point is missing"
        );
        match self.expansion.arrive(point) {
            Ok(met) => {
                let option = met.option();
                self.path.push(met);
                Answer::Take(option)
            }
            Err(cut) => Answer::Cut(cut),
        }
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        self.expansion.heard(event, &self.path.points)
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        (self.stage, self.running) = (Stage::Ended, false);
        self.leaf = if execution.cut.is_some() { Size::CUT } else { Size::LEAF };
        // A limit on time may cut the plan itself: what is known of it still holds.
        let short = execution.decisions.len() < self.path.planned;
        self.diverged |= short && !execution.outcome.is_cut_off();
        self.expansion.end(&mut self.path, execution);
        self.path.floor = self.path.floor.min(self.path.points.len());
    }

    fn covered(&self) -> Covered {
        self.expansion.covered(self.standing())
    }

    fn remarks(&self) -> Remarks {
        let trouble = self.expansion.trouble().map(str::to_owned);
        let mistaken = trouble.is_some();
        let unfinished =
            trouble.or_else(|| self.expansion.has_strayed().then(|| STRAYED.to_owned()));
        Remarks { unfinished, mistaken, ..Remarks::default() }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        if self.expansion.is_divisible() { Some(self) } else { None }
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl<E: Expansion> Divisible for PathSearch<E> {
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        E::split(self, n)
    }

    fn prefix(&self) -> Vec<Taken> {
        let taken = |point: &E::Point| Taken { option: point.option(), of: point.of() };
        self.known().iter().take(self.path.floor).map(taken).collect()
    }

    fn upwards(&mut self) -> Upwards {
        E::upwards(self)
    }

    fn begin_with(&mut self, sibling: &Sibling) -> Result<(), Unsupported> {
        let part = self.stage == Stage::Planned && self.path.floor == self.path.points.len();
        let last = self.path.points.last_mut().filter(|_| part).ok_or(FOREIGN)?;
        self.expansion.begin_with(last, sibling)
    }

    fn parts(&self) -> usize {
        if self.stage == Stage::Last {
            return 0;
        }
        let pending = |children: &Children| children.pending as usize;
        let pending: usize = self.children().iter().flatten().map(pending).sum();
        pending + usize::from(self.stage == Stage::Planned)
    }

    fn claim(&self) -> Covered {
        let Standing { executions, .. } = self.standing();
        self.expansion.covered(Standing { ended: true, whole: !self.diverged, executions })
    }
}

impl<E: Expansion> Estimating for PathSearch<E> {
    fn progress(&self) -> Progress {
        let points = self.path.points.capacity() * size_of::<E::Point>();
        let bytes = points + self.path.levels.bytes() + self.expansion.bytes();
        let children = self.children();
        let kind = self.expansion.estimate_kind();
        let estimate = kind.and_then(|kind| self.estimate(kind, &children));
        let covered = match kind {
            _ if self.stage == Stage::Last => Some(1.0),
            None => None,
            Some(kind) if kind.leaves_out() => {
                estimate.map(|estimate| estimate.covered / estimate.total.about)
            }
            Some(_) => Some(self.uniform_share(&children)),
        };
        let known = children.iter().flatten();
        let pending: u64 = known.map(|children| u64::from(children.pending)).sum();
        let running = u64::from(self.stage == Stage::Planned);
        Progress {
            covered,
            estimate,
            pending: if self.stage == Stage::Last { 0 } else { pending + running },
            frontier_bytes: bytes as u64,
            pairs: self.expansion.pairs(),
            ..Progress::default()
        }
    }
}

impl<E: Expansion> Resumable for PathSearch<E> {
    /// The events of the path are not in it: the next execution has them again.
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        if self.running && !self.expansion.can_begin_again() {
            return Err(RUNNING);
        }
        let points = self.known();
        let mut levels = self.path.levels.clone();
        levels.truncate(points.len());
        Ok(self.write(&SavedSearch {
            stage: self.stage,
            floor: self.path.floor as u64,
            whole: self.whole,
            diverged: self.diverged,
            executions: self.executions,
            leaf: self.leaf,
            levels,
            expansion: self.expansion.save(points)?,
            points: Cow::Borrowed(points),
        }))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let saved =
            state::read::<SavedSearch<'_, E::Point, Saved<E>>>(&self.expansion.name(), state)?;
        let length = saved.points.len();
        let floor = usize::try_from(saved.floor).map_err(|_| FOREIGN)?;
        if saved.levels.len() != length || floor > length {
            return Err(FOREIGN);
        }
        if !saved.points.iter().all(Decision::is_valid) || !saved.levels.is_valid() {
            return Err(FOREIGN);
        }
        self.expansion.restore(saved.expansion, &saved.points)?;
        let points = saved.points.into_owned();
        self.path = Path { points, levels: saved.levels, planned: length, floor };
        self.stage = saved.stage;
        (self.whole, self.diverged) = (saved.whole, saved.diverged);
        (self.executions, self.leaf) = (saved.executions, saved.leaf);
        (self.stale, self.running) = (true, false);
        Ok(())
    }
}
