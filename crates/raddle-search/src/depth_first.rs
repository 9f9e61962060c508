//! The systematic search: all options of every point, depth first, within a bound.
//!
//! Stateless search as in `VeriSoft` (Godefroid, POPL 1997); with [`Bound::Preemptions`] and the
//! non-preemptive order it is CHESS (Musuvathi and Qadeer, PLDI 2007). What is left to do is a
//! stack with one frame for each decision on the current path, so memory does not grow with the
//! number of executions. The next execution changes the last decision that has an option left and
//! forgets what came after.
//!
//! It differs from CHESS in two ways: the bound is one number and not raised step by step, and
//! every op is a point, not only the operations on locks and the like.
//!
//! A part of the tree that is given away is (decisions that lead to it, what they cost). Parts are
//! taken from the shallowest frame first, so at most one frame is partly given away: above it
//! there is nothing left to give, below it nothing has been given.
//!
//! With a cache (`cache.rs`) what was run after an equivalent prefix is not run again.
//!
//! Misses: what is out of the bound; what follows an execution that a limit cut off, which the
//! engine counts; what the cache misses. Nothing else, if the program does the same under the same
//! decisions.
//! Overreports: nothing.

use std::fmt;

use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Options, Plan, Point,
    Resumable, Strategy, Taken, Unsupported, Work,
};
use raddle_trace::{Covered, Estimate, Progress};

use crate::bound::{Bound, Price};
use crate::cache::{Alike, Cache, Mark, Used};
use crate::estimate::{Children, Kind, Levels, Size};
use crate::order::{NonPreemptive, Order};
use crate::state::{FOREIGN, RUNNING, Reader, Writer};

const NAME: &str = "depth-first";
const NAME_WITH_CACHE: &str = "depth-first with cache";

/// One decision of the current path.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The number of options.
    of: u32,
    /// The default option.
    default: u32,
    /// Which option is taken, in the order of trying: the default one, then the others ascending.
    rank: u32,
    price: Price,
}

const _: () = assert!(size_of::<Frame>() <= 16, "frames are what a deep search holds");

impl Frame {
    #[inline]
    fn option(self) -> u32 {
        match self.rank {
            0 => self.default,
            rank if rank <= self.default => rank - 1,
            rank => rank,
        }
    }

    #[inline]
    fn cost(self) -> u32 {
        self.price.cost(self.rank)
    }
}

/// What the path on the stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Its first `planned` frames are to be run, or are being run.
    Planned,
    /// It was run to its end.
    Ended,
    /// It was the last one.
    Last,
}

/// An order and a bound that do not fit: the default options would cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostlyOrder {
    order: &'static str,
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

/// Runs every execution within a bound, the one along the default order first.
#[derive(Clone, Debug)]
pub struct DepthFirst<O = NonPreemptive> {
    order: O,
    bound: Bound,
    frames: Vec<Frame>,
    path: Path,
    /// The length of the plan of the current execution.
    planned: usize,
    /// What the options taken on the stack cost. Invariant: never more than the bound's limit.
    spent: u32,
    /// The first frame that may change. Invariant: at most `planned` while an execution runs, at
    /// most the number of frames between two.
    floor: usize,
    /// The first rank of the frame at `floor` that was given away.
    given: u32,
    /// Whether this is neither a part of a search nor has given parts away.
    whole: bool,
    /// Whether an execution left its plan.
    diverged: bool,
    /// Whether the engine's plan is that of another search.
    stale: bool,
    executions: u64,
    cache: Option<Box<Cache>>,
    /// With a cache, one for each frame; else none.
    marks: Vec<Mark>,
    /// One for each frame: what was run of the options before.
    levels: Levels,
    /// What the last execution was; once all is done, what all of it was.
    leaf: Size,
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
        Self {
            order,
            bound: Bound::None,
            frames: Vec::new(),
            path: Path::Planned,
            planned: 0,
            spent: 0,
            floor: 0,
            given: u32::MAX,
            whole: true,
            diverged: false,
            stale: true,
            executions: 0,
            cache: None,
            marks: Vec::new(),
            levels: Levels::default(),
            leaf: Size::LEAF,
        }
    }

    /// Searches within a bound.
    ///
    /// # Errors
    /// If the default options of `order` are not free under `bound`.
    pub fn within(order: O, bound: Bound) -> Result<Self, CostlyOrder> {
        if bound.allows(&order) {
            Ok(Self { bound, ..Self::new(order) })
        } else {
            Err(CostlyOrder::of(&order))
        }
    }

    /// Remembers up to so many prefixes and runs nothing twice that follows equivalent ones. To be
    /// called before the first execution.
    #[must_use]
    pub fn cached(self, prefixes: usize) -> Self {
        Self { cache: Some(Box::new(Cache::new(prefixes))), ..self }
    }

    /// How many ranks of the frame at `index` are this search's own, if `spent` went before it.
    #[inline]
    fn width(&self, index: usize, spent: u32) -> u32 {
        let frame = self.frames[index];
        let width = frame.price.within(self.bound.limit() - spent, frame.of);
        if index == self.floor { width.min(self.given) } else { width }
    }

    /// Goes to the next path; false if there is none.
    fn advance(&mut self) -> bool {
        let mut left = self.leaf;
        while self.frames.len() > self.floor {
            let index = self.frames.len() - 1;
            let spent = self.spent - self.frames[index].cost();
            let width = self.width(index, spent);
            self.levels.add(left);
            if self.frames[index].rank + 1 < width {
                self.frames[index].rank += 1;
                self.spent = spent + self.frames[index].cost();
                return true;
            }
            self.spent = spent;
            left = self.levels.pop(width);
            self.frames.pop();
            self.marks.pop();
        }
        self.leaf = left;
        false
    }

    fn write_plan(&mut self, plan: &mut Plan) {
        let kept = self.frames.len();
        if self.stale || plan.prefix.len() < kept {
            plan.prefix.clear();
            plan.prefix.extend(self.frames.iter().map(|frame| frame.option()));
            self.stale = false;
        } else {
            plan.prefix.truncate(kept);
            if let (Some(entry), Some(frame)) = (plan.prefix.last_mut(), self.frames.last()) {
                *entry = frame.option();
            }
        }
        self.planned = kept;
    }

    /// Drops all frames from `length` on. What follows them has not been run.
    fn truncate(&mut self, length: usize) {
        self.withdraw(length);
        self.marks.truncate(length);
        self.levels.truncate(length);
        while self.frames.len() > length {
            self.spent -= self.frames.pop().expect("longer than a length").cost();
        }
    }

    /// Takes all prefixes from `length` on out of the cache.
    fn withdraw(&mut self, length: usize) {
        if let Some(cache) = &mut self.cache {
            self.marks.iter_mut().skip(length).for_each(|mark| cache.withdraw(mark));
        }
    }

    /// The frames that are known to be of the path: all between two executions.
    fn known(&self) -> &[Frame] {
        match self.path {
            Path::Planned => &self.frames[..self.planned],
            Path::Ended | Path::Last => &self.frames,
        }
    }

    /// Under which a search of this kind is saved.
    fn name(&self) -> &'static str {
        if self.cache.is_some() { NAME_WITH_CACHE } else { NAME }
    }

    /// What the whole comes to; of a part, what the part comes to.
    fn estimate(&self) -> Option<Estimate> {
        let known = self.known();
        let mut spent = Vec::with_capacity(known.len());
        known.iter().fold(0, |sum, frame| {
            spent.push(sum);
            sum + frame.cost()
        });
        let children = |index: usize| {
            let of = (index >= self.floor).then(|| self.width(index, spent[index]))?;
            Some(Children { of, pending: of - known[index].rank - 1 })
        };
        let now = (self.path != Path::Planned).then_some(self.leaf);
        let reading = self.levels.read(known.len(), now, children)?;
        let kind = if self.used().cut > 0 { Kind::Cached } else { Kind::DepthFirst };
        Some(reading.estimate(kind))
    }

    fn used(&self) -> Used {
        self.cache.as_ref().map_or(Used::default(), |cache| cache.used)
    }

    fn write(&self, state: &State<'_>) -> Checkpoint {
        let mut writer = Writer::new(self.name());
        writer.text(self.order.name());
        writer.number(self.order.state());
        match self.bound {
            Bound::None => writer.number(0),
            Bound::Preemptions(k) => {
                writer.number(1);
                writer.number(k.into());
            }
        }
        if let Some(cache) = &self.cache {
            let Used { compared, stored, dropped, cut } = state.used;
            for number in [cache.limit() as u64, compared, stored, dropped, cut] {
                writer.number(number);
            }
        }
        writer.number(state.path as u64);
        writer.number(u64::from(state.whole));
        writer.number(u64::from(state.diverged));
        writer.number(state.executions);
        writer.number(state.floor as u64);
        writer.number(state.given.into());
        writer.number(state.frames.len() as u64);
        for frame in state.frames {
            writer.number(frame.of.into());
            writer.number(frame.default.into());
            writer.number(frame.rank.into());
            writer.number(frame.price as u64);
        }
        state.leaf.save(&mut writer);
        state.levels.save(state.frames.len(), &mut writer);
        if let Some(cache) = &self.cache {
            writer.flag(state.marks.is_some());
            if let Some(marks) = state.marks {
                for mark in marks {
                    mark.save(&mut writer);
                }
                cache.save(&mut writer);
            }
        }
        writer.finish()
    }

    fn read_frame(&self, reader: &mut Reader<'_>) -> Result<Frame, Unsupported> {
        let (of, default, rank) = (reader.small()?, reader.small()?, reader.small()?);
        let price = match (reader.number()?, self.bound) {
            (0, _) => Price::Free,
            (1, Bound::Preemptions(_)) => Price::One,
            _ => return Err(FOREIGN),
        };
        if default < of && rank < of {
            Ok(Frame { of, default, rank, price })
        } else {
            Err(FOREIGN)
        }
    }
}

/// What is saved besides the order and the bound.
struct State<'a> {
    path: Path,
    whole: bool,
    diverged: bool,
    executions: u64,
    floor: usize,
    given: u32,
    used: Used,
    frames: &'a [Frame],
    leaf: Size,
    levels: &'a Levels,
    /// Of the frames, if the cache is saved with them.
    marks: Option<&'a [Mark]>,
}

impl<O: Order> Strategy for DepthFirst<O> {
    fn needs(&self) -> Needs {
        Needs { steps: self.cache.is_some(), ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        match self.path {
            // The first execution of a search or a part, or one that never ended: as planned.
            Path::Planned => {
                self.truncate(self.planned);
                self.stale = true;
            }
            Path::Ended => {
                let more = self.advance();
                self.path = if more { Path::Planned } else { Path::Last };
            }
            Path::Last => {}
        }
        if self.path == Path::Last {
            return false;
        }
        if let Some(cache) = &mut self.cache {
            // The last decision of the plan is the first that is another one than before.
            let last = self.marks.last().filter(|_| !self.stale);
            cache.begin(last.map_or(0, |mark| mark.steps));
        }
        self.write_plan(plan);
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        debug_assert_eq!(self.frames.len(), point.index as usize, "engine bug: a point is missing");
        if let Some(cache) = &mut self.cache {
            let alike = if self.bound == Bound::None { Alike::Unbounded } else { Alike::Bounded };
            match cache.meet(point, alike, self.bound.limit() - self.spent) {
                Some(mark) => self.marks.push(mark),
                None => return Answer::Cut(Cut::Redundant),
            }
        }
        let of = point.arity();
        let default = match point.options {
            Options::Schedule(_) => self.order.next(point),
            Options::Value { .. } => 0,
        };
        assert!(default < of, "an order takes one of the options");
        let price = self.bound.price(point, default);
        self.frames.push(Frame { of, default, rank: 0, price });
        self.levels.push();
        Answer::Take(default)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if let Some(cache) = &mut self.cache {
            match event {
                Event::Spawn { parent, child } => cache.spawn(*parent, *child),
                Event::Value { task, taken, .. } => cache.value(*task, *taken),
                Event::Step(step) => cache.step(step),
            }
        }
        None
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.executions += 1;
        self.path = Path::Ended;
        self.leaf = if execution.cut.is_some() { Size::CUT } else { Size::LEAF };
        if execution.outcome.is_cut_off() && execution.cut.is_none() {
            self.withdraw(0);
        }
        let mut met = execution.decisions.len();
        if met < self.planned {
            if execution.outcome.is_cut_off() {
                // A limit on time may cut the plan itself: what is known of it still holds.
                met = self.planned;
            } else {
                self.diverged = true;
            }
        }
        self.truncate(met);
        self.floor = self.floor.min(self.frames.len());
    }

    fn covered(&self) -> Covered {
        let preemptions = self.bound.preemptions();
        if self.path != Path::Last || !self.whole || self.diverged {
            return Covered::Part { executions: self.executions, preemptions };
        }
        match self.used() {
            Used { cut: 0, .. } => self.bound.covered(),
            Used { compared, stored, dropped, .. } => {
                Covered::Cached { preemptions, compared, stored, dropped }
            }
        }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl<O: Order> Resumable for DepthFirst<O> {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let frames = self.known();
        if self.marks.len() > frames.len() {
            // The cache has prefixes of an execution that has not ended: what follows them was not run.
            return Err(RUNNING);
        }
        Ok(self.write(&State {
            path: self.path,
            whole: self.whole,
            diverged: self.diverged,
            executions: self.executions,
            floor: self.floor,
            given: self.given,
            used: self.used(),
            frames,
            leaf: self.leaf,
            levels: &self.levels,
            marks: self.marks.get(..frames.len()),
        }))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, self.name())?;
        reader.expect_text(self.order.name())?;
        let order = reader.number()?;
        let bound = match reader.number()? {
            0 => Bound::None,
            1 => Bound::Preemptions(reader.small()?),
            _ => return Err(FOREIGN),
        };
        let mut used = Used::default();
        if let Some(cache) = &self.cache {
            if reader.number()? != cache.limit() as u64 {
                return Err(FOREIGN);
            }
            let Used { compared, stored, dropped, cut } = &mut used;
            for number in [compared, stored, dropped, cut] {
                *number = reader.number()?;
            }
        }
        let path = match reader.number()? {
            0 => Path::Planned,
            1 => Path::Ended,
            2 => Path::Last,
            _ => return Err(FOREIGN),
        };
        let (whole, diverged) = (reader.flag()?, reader.flag()?);
        let executions = reader.number()?;
        let floor = usize::try_from(reader.number()?).map_err(|_| FOREIGN)?;
        let given = reader.small()?;
        let length = reader.length()?;
        let frames: Vec<_> =
            (0..length).map(|_| self.read_frame(&mut reader)).collect::<Result<_, _>>()?;
        let leaf = Size::restore(&mut reader)?;
        let levels = Levels::restore(&mut reader)?;
        let mut marks = Vec::new();
        let mut cache = None;
        if let Some(own) = &self.cache {
            let mut new = Cache::new(own.limit());
            if reader.flag()? {
                for _ in 0..length {
                    marks.push(Mark::restore(&mut reader)?);
                }
                new.restore(&mut reader)?;
            }
            marks.resize_with(length, Mark::default);
            new.used = used;
            cache = Some(Box::new(new));
        }
        reader.finish()?;
        if levels.len() != length {
            return Err(FOREIGN);
        }
        if bound != self.bound || floor > length || given == 0 {
            return Err(FOREIGN);
        }
        let mut spent = 0_u32;
        for (index, frame) in frames.iter().enumerate() {
            spent += frame.cost();
            if spent > bound.limit() || (index == floor && frame.rank >= given) {
                return Err(FOREIGN);
            }
        }
        (self.cache, self.marks) = (cache, marks);
        self.order.set_state(order);
        self.frames = frames;
        self.levels = levels;
        self.leaf = leaf;
        self.path = path;
        self.planned = length;
        self.spent = spent;
        self.floor = floor;
        self.given = given;
        self.whole = whole;
        self.diverged = diverged;
        self.stale = true;
        self.executions = executions;
        Ok(())
    }
}

impl<O: Order> Divisible for DepthFirst<O> {
    fn split(&mut self, n: usize) -> Result<Vec<Work>, Unsupported> {
        let mut parts = Vec::new();
        let known = self.known().len();
        let mut spent = self.frames[..self.floor.min(known)].iter().map(|f| f.cost()).sum();
        while parts.len() < n && self.floor < known {
            let mut frame = self.frames[self.floor];
            let last = self.width(self.floor, spent) - 1;
            if last == frame.rank {
                spent += frame.cost();
                self.floor += 1;
                self.given = u32::MAX;
                continue;
            }
            self.given = last;
            self.whole = false;
            frame.rank = last;
            let mut frames = self.frames[..self.floor].to_vec();
            frames.push(frame);
            let state = State {
                path: Path::Planned,
                whole: false,
                diverged: false,
                executions: 0,
                floor: frames.len(),
                given: u32::MAX,
                used: Used::default(),
                frames: &frames,
                leaf: Size::LEAF,
                levels: &Levels::new(frames.len()),
                marks: None,
            };
            let taken = |frame: &Frame| Taken { option: frame.option(), of: frame.of };
            let prefix = frames.iter().map(taken).collect();
            parts.push(Work { prefix, state: self.write(&state) });
        }
        Ok(parts)
    }
}

impl<O: Order> Estimating for DepthFirst<O> {
    /// The fraction is the uniform-split estimate: each option of a point is taken to lead to an
    /// equal share of what the point leads to. It errs either way, but never falls (unless parts
    /// are given away) and ends at 1. Of a part it is the fraction of the part.
    fn progress(&self) -> Progress {
        let frames = self.frames.capacity() * size_of::<Frame>();
        let marks = self.marks.capacity() * size_of::<Mark>();
        let cache = self.cache.as_ref().map_or(0, |cache| cache.bytes());
        let frontier_bytes = (frames + marks + self.levels.bytes()) as u64 + cache;
        let estimate = self.estimate();
        if self.path == Path::Last {
            let covered = Some(1.0);
            return Progress { covered, estimate, frontier_bytes, ..Progress::default() };
        }
        let known = self.known();
        let (mut covered, mut share, mut pending, mut spent) = (0.0, 1.0, 0, 0);
        for (index, frame) in known.iter().enumerate() {
            if index >= self.floor {
                let width = self.width(index, spent);
                share /= f64::from(width);
                covered += share * f64::from(frame.rank);
                pending += u64::from(width - frame.rank - 1);
            }
            spent += frame.cost();
        }
        match self.path {
            Path::Planned => pending += 1,
            Path::Ended | Path::Last => covered += share,
        }
        let covered = Some(covered);
        Progress { covered, estimate, pending, frontier_bytes, ..Progress::default() }
    }
}

#[cfg(test)]
mod tests;
