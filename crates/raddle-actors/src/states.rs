//! Searches over the states of a model: each state once, and every step from each.
//!
//! Breadth-first finds a shortest way to a violation, on any number of threads; depth-first holds the
//! states of one path. What has been seen is a table of fingerprints, at most 16 bytes for each state.
//! Where a state was reached from is not kept: when a way is wanted, the search is run again with the ways
//! of the states that are yet to be gone on from.
//!
//! `Misses:` a state whose fingerprint is that of another one; the guarantee has the chance of that.
//! Executions that do not end are covered by their states, but not asked what they never do.

mod explorers;
mod frontier;
mod offered;
mod plain;
mod processes;
mod report;
mod saved;
mod seen;
mod space;
mod strata;
mod team;
#[cfg(test)]
mod tests;
mod walker;
mod way;

use std::fmt;

use raddle_engine::explorer::Explorer;
use raddle_engine::states::SavedStates;
use raddle_trace::{Covered, Guarantee, StateKey};

use self::frontier::Entry;
pub(crate) use self::offered::Offered;
use self::processes::Processes;
pub use self::report::{Delivery, Judged, Refused, Searched, Stopped, Violation, Visited};
use self::saved::{Listener, Telling};
use self::seen::Seen;
pub use self::seen::WhenFull;
pub use self::space::{Enabled, Next, Space};
use self::strata::{Strata, Stratified};
use self::team::{First, GoOn, Shared, Walk};
use self::walker::{Halt, Tally, Walker, Wrong};
use self::way::{Way, following};
use crate::follow::{Lead, follow};
use crate::model::{Model, PropertyKind, UNJUDGED};
use crate::snapshot::Exact;
use crate::stepper::Stepper;

/// In which order states are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// Those that can be reached in fewer steps first: the first violation is a shortest one.
    BreadthFirst,
    /// As deep as possible first: holds the states of one path only.
    DepthFirst,
}

/// A search over states, and its limits.
///
/// ```
/// use raddle_actors::States;
///
/// let states = States::breadth_first().states(1_000_000).bytes(1 << 30).depth(20);
/// ```
#[derive(Clone, Debug)]
pub struct States {
    order: Order,
    /// If it is a stratified one: then the order is that of its explorer.
    strata: Option<Stratified>,
    most: u64,
    bytes: usize,
    depth: Option<u32>,
    threads: usize,
    cache_bytes: usize,
    when_full: WhenFull,
    /// Whether it will be saved: then the ways to what is yet to be gone on from are kept.
    saved: bool,
    /// How many states a thread goes on from before it tells how far it is.
    lap: u32,
}

impl States {
    /// Those that can be reached in fewer steps first.
    #[must_use]
    pub fn breadth_first() -> Self {
        Self {
            order: Order::BreadthFirst,
            strata: None,
            most: u64::MAX,
            bytes: 4 << 30,
            depth: None,
            threads: 1,
            cache_bytes: usize::MAX,
            when_full: WhenFull::Stop,
            saved: false,
            lap: 1024,
        }
    }

    /// As deep as possible first.
    #[must_use]
    pub fn depth_first() -> Self {
        Self { order: Order::DepthFirst, ..Self::breadth_first() }
    }

    /// Those that need fewer delays of an explorer first: stratified exhaustive search (Desai, Qadeer and Seshia, FSE
    /// 2015).
    ///
    /// What has been seen is states of the program alone, so it says nothing of a stratum before its end;
    /// [`exact`](Self::exact) does.
    ///
    /// ```
    /// use raddle_actors::States;
    /// use raddle_engine::explorer::{About, DelayingExplorer, Explorer, Process, Runnable};
    ///
    /// /// The first that can move, in the order of creation; one that is delayed comes last.
    /// #[derive(Clone, Debug, Default, Hash)]
    /// struct InOrder(Vec<Process>);
    ///
    /// impl DelayingExplorer for InOrder {
    ///     fn start(&mut self, process: Process, _: &About<'_>) {
    ///         self.0.push(process);
    ///     }
    ///     fn finish(&mut self, process: Process) {
    ///         self.0.retain(|&other| other != process);
    ///     }
    ///     fn next(&self, runnable: Runnable<'_>) -> Process {
    ///         *self.0.iter().find(|&&process| runnable.contains(process)).unwrap()
    ///     }
    ///     fn delay(&mut self, process: Process) {
    ///         self.finish(process);
    ///         self.0.push(process);
    ///     }
    /// }
    ///
    /// let states = States::strata(Explorer::new("in-order", InOrder::default())).exact().delays(3);
    /// assert_eq!(states.to_string(), "strata(in-order, exact) delays(3)");
    /// ```
    #[must_use]
    pub fn strata(explorer: Explorer) -> Self {
        let strata = Stratified { explorer, exact: false, increment: 1, delays: None };
        Self { strata: Some(strata), ..Self::breadth_first() }
    }

    /// Of a stratified search: what has been seen is pairs of a program's and an explorer's state, and each finished
    /// stratum is a guarantee.
    #[must_use]
    pub fn exact(mut self) -> Self {
        if let Some(strata) = &mut self.strata {
            strata.exact = true;
        }
        self
    }

    /// Of a stratified search: how many strata are gone through at once, from 1 to 200.
    #[must_use]
    pub fn increment(mut self, strata: u32) -> Self {
        if let Some(asked) = &mut self.strata {
            asked.increment = strata.clamp(1, 200);
        }
        self
    }

    /// Of a stratified search: at most so many delays.
    #[must_use]
    pub fn delays(mut self, most: u32) -> Self {
        if let Some(asked) = &mut self.strata {
            asked.delays = Some(most);
        }
        self
    }

    /// At most so many different states; without this, as many as there are.
    #[must_use]
    pub fn states(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// At most about so many bytes for what has been seen and what is yet to be gone on from; without
    /// this 4 GiB. What actors themselves have on the heap is not counted; but on Linux the search also ends when the process
    /// has grown by more than this, and by more than 256 MiB.
    #[must_use]
    pub fn bytes(mut self, most: usize) -> Self {
        self.bytes = most;
        self
    }

    /// Only states that can be reached in so many steps. Not depth-first: there the first way to a state need not be
    /// a shortest one. A stratified search then tells states apart by their depth as well.
    #[must_use]
    pub fn depth(mut self, most: u32) -> Self {
        self.depth = Some(most);
        self
    }

    /// On so many threads. Not depth-first. The same states are visited with any number of threads; of a stratified
    /// search that is not [exact](Self::exact), at its end.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// At most so many bytes for what has been seen, and what happens when that is not enough.
    ///
    /// ```
    /// use raddle_actors::{States, WhenFull};
    ///
    /// let states = States::breadth_first().cache(64 << 20, WhenFull::Replace);
    /// ```
    #[must_use]
    pub fn cache(mut self, bytes: usize, when_full: WhenFull) -> Self {
        (self.cache_bytes, self.when_full) = (bytes, when_full);
        self
    }
}

impl States {
    /// Whether a state counts once it is gone on from, and not as soon as it is among what has been seen.
    fn marks_ahead(&self) -> bool {
        self.strata.as_ref().is_some_and(|strata| !strata.exact)
    }
}

impl States {
    /// Whether it may end without all states, so that what it visits depends on its order. That is the same again only on
    /// one thread.
    fn may_leave_out(&self) -> bool {
        let delays = self.strata.as_ref().and_then(|strata| strata.delays);
        delays.is_some() || self.cache_bytes != usize::MAX
    }
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.strata, self.order) {
            (Some(strata), _) => strata.fmt(f)?,
            (None, Order::BreadthFirst) => f.write_str("states(bfs)")?,
            (None, Order::DepthFirst) => f.write_str("states(dfs)")?,
        }
        self.depth.map_or(Ok(()), |depth| write!(f, " depth({depth})"))
    }
}

/// What came of going from state to state.
struct Walked {
    tally: Tally,
    unique: u64,
    dropped: u64,
    seen_bytes: usize,
    halt: Option<Halt>,
    /// Of an exact stratified search: all that needs at most so many delays was visited.
    finished: Option<u32>,
    /// Nothing was left out because it needs too many delays.
    whole: bool,
    /// Of a stratified search: the most delays of the strata that were begun.
    begun: Option<u32>,
}

const NOT_THE_SAME: &str =
    "handlers use something besides their state, their message and their context";

impl<S: Send + Sync + 'static> Model<S> {
    /// Its states, to walk in.
    ///
    /// # Errors
    /// If its actors, messages or monitors cannot be copied.
    pub fn space(&self) -> Result<Space<S>, Refused> {
        // A walk cannot begin anew by itself, so its states leave out nothing.
        self.space_of(Exact { clock: true, timers: true })
    }

    fn space_of(&self, exact: Exact) -> Result<Space<S>, Refused> {
        let (world, own) = self.world().map_err(Refused::new)?;
        let (mut stepper, first) = Stepper::new(world, exact);
        match stepper.refused.take() {
            Some(why) => Err(Refused::new(why)),
            None => Ok(Space { stepper, first, own, moves: Vec::new() }),
        }
    }

    /// Visits every state of the model once, until a property does not hold.
    ///
    /// # Errors
    /// If its actors, messages or monitors cannot be copied, if it has no properties, or inside an
    /// execution.
    pub fn search(&self, states: &States) -> Result<Searched, Refused> {
        self.search_while(states, &mut |_| true)
    }

    /// Visits states until `go_on` says no, which is asked every thousand states.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn search_while(
        &self,
        states: &States,
        go_on: &mut dyn FnMut(Visited) -> bool,
    ) -> Result<Searched, Refused> {
        self.search_from(states, None, &mut Telling(go_on))
    }

    /// Visits states from the first on, or goes on with a search that was saved.
    fn search_from(
        &self,
        states: &States,
        mut from: Option<SavedStates>,
        listener: &mut dyn Listener,
    ) -> Result<Searched, Refused> {
        if states.depth.is_some() && states.strata.is_none() && states.order == Order::DepthFirst {
            let why = "a depth-first search with a limit on the depth would miss states within it";
            return Err(Refused::new(why));
        }
        team::check_threads(states)?;
        let mut exact = from.as_ref().map_or(Exact::default(), saved::exact_of);
        loop {
            let space = self.space_of(exact)?;
            if !self.is_judged() {
                return Err(Refused::new(UNJUDGED));
            }
            exact = space.stepper.needed;
            if space.stepper.outdated() {
                continue;
            }
            match self.search_of(states, space, from.take(), listener) {
                Ok(searched) => return Ok(searched),
                Err(Halt::Again(needed)) => exact = needed,
                Err(Halt::Refused(why)) => return Err(why),
                Err(_) => unreachable!("they are part of what was found"),
            }
        }
    }

    fn search_of(
        &self,
        states: &States,
        space: Space<S>,
        from: Option<SavedStates>,
        go_on: GoOn<'_>,
    ) -> Result<Searched, Halt> {
        let exact = space.stepper.exact;
        let Walked { tally, unique, dropped, seen_bytes, mut halt, finished, whole, mut begun } =
            self.walk(states, space, states.saved, from, go_on)?;
        if let Some(Halt::Wrong(wrong)) = &halt
            && wrong.way.is_none()
        {
            (halt, begun) = self.again_with_ways(states, exact, wrong)?;
        }
        let (stopped, wrong) = match halt {
            None if whole => (Stopped::Covered, None),
            None => (Stopped::Delays, None),
            Some(Halt::Stopped(stopped)) => (stopped, None),
            Some(Halt::Wrong(wrong)) => (Stopped::Violated, Some(wrong)),
            Some(other) => return Err(other),
        };
        let violation =
            wrong.as_ref().map(|wrong| self.violation(exact, wrong, begun)).transpose()?;
        let (parts, depth) = (tally.parts, states.depth.filter(|_| tally.cut));
        let keys = states
            .strata
            .as_ref()
            .map_or(StateKey::State, |strata| StateKey::new(strata.exact, states.depth.is_some()));
        let covered = match (stopped, finished) {
            (Stopped::Covered, _) => {
                Covered::States { unique, parts, depth, dropped, delays: None, keys }
            }
            (_, Some(_)) => {
                Covered::States { unique, parts, depth, dropped, delays: finished, keys }
            }
            (_, None) => Covered::SomeStates { unique, keys },
        };
        let broken = wrong.and_then(|wrong| wrong.property);
        let judged = |(index, property): (usize, &crate::model::Property<S>)| Judged {
            name: property.name.to_string(),
            kind: property.kind,
            holds: match property.kind {
                PropertyKind::Goal => tally.reached[index],
                _ => broken != Some(index),
            },
        };
        Ok(Searched {
            strategy: states.to_string(),
            unique,
            keys,
            states: tally.made + 1,
            transitions: tally.transitions,
            depth: tally.depth,
            finals: tally.finals,
            properties: self.properties.iter().enumerate().map(judged).collect(),
            violation,
            seen_bytes,
            stopped,
            guarantee: Guarantee::new(covered),
        })
    }

    /// Goes from state to state.
    fn walk(
        &self,
        states: &States,
        space: Space<S>,
        ways: bool,
        mut from: Option<SavedStates>,
        go_on: GoOn<'_>,
    ) -> Result<Walked, Halt> {
        let strata = states.strata.as_ref().map(|asked| {
            let processes = Processes::new(&space.first, space.stepper.mailboxes());
            Strata::new(asked, processes, from.as_ref())
        });
        let is_priced = |asked: &Stratified| !asked.exact || asked.increment > 1;
        let priced = states.strata.as_ref().is_some_and(is_priced);
        let mut seen = Seen::new(states.cache_bytes, states.when_full, priced);
        if let Some(from) = &mut from {
            let parts = std::mem::take(&mut from.seen);
            seen = seen.restored(parts, from.dropped).ok_or_else(saved::strayed)?;
        }
        let counted = from.as_ref().map_or(1, |saved| saved.counted);
        let shared = Shared::new(self, states, space.stepper.exact, seen, counted);
        let mut walker = shared.walker(space);
        if let Some(saved) = &from {
            let tally = Tally::restored(&saved.done, self.properties.len());
            walker.tally = tally.ok_or_else(saved::strayed)?;
            walker.tally.gone_on = if states.marks_ahead() { shared.seen.free() } else { 0 };
        }
        let from = from.as_ref();
        let (tally, halt) = match &strata {
            Some(strata) => {
                let ways = ways || states.threads > 1 && states.may_leave_out();
                Self::walk_strata(strata, walker, ways, from, go_on)
            }
            None => Self::walk_plainly(states.order, walker, ways, from, go_on),
        };
        let (dropped, seen_bytes) = (shared.seen.dropped(), shared.seen.bytes());
        let seen = shared.seen.len() + dropped;
        let unique = if states.marks_ahead() { tally.gone_on } else { seen };
        let finished =
            strata.as_ref().filter(|strata| strata.is_exact()).and_then(Strata::finished);
        let whole = !strata.as_ref().is_some_and(Strata::is_cut);
        let begun = strata.as_ref().map(Strata::begun);
        Ok(Walked { tally, unique, dropped, seen_bytes, halt, finished, whole, begun })
    }

    fn walk_plainly(
        order: Order,
        mut walker: Walker<'_, S>,
        ways: bool,
        from: Option<&SavedStates>,
        go_on: GoOn<'_>,
    ) -> (Tally, Option<Halt>) {
        let first = walker.space.first();
        if from.is_none() {
            let met = walker.meet(first.fingerprint(), 0);
            if let Err(halt) = met.and_then(|_| walker.visit(&first, 0, || Some(Way::default()))) {
                return (walker.finish(), Some(halt));
            }
        }
        match order {
            Order::DepthFirst => {
                let ended = plain::depth_first(&mut walker, from, go_on);
                (walker.finish(), ended.err())
            }
            Order::BreadthFirst => {
                let way = ways.then(Way::default);
                let first = Entry { state: first, depth: 0, way, extra: () };
                Self::walk_from(&plain::BreadthFirst, walker, first, from, go_on)
            }
        }
    }

    fn walk_strata(
        strata: &Strata,
        mut walker: Walker<'_, S>,
        ways: bool,
        from: Option<&SavedStates>,
        go_on: GoOn<'_>,
    ) -> (Tally, Option<Halt>) {
        let first = walker.space.first();
        let entry = strata.first(first, ways).and_then(|entry| {
            if from.is_none() {
                let key = strata.key_of(&entry, walker.shared.limits.depth.is_some());
                walker.meet(key, strata.first_price())?;
                if strata.is_exact() {
                    walker.visit(&entry.state, 0, || Some(Way::default()))?;
                }
            }
            Ok(entry)
        });
        match entry {
            Err(halt) => (walker.finish(), Some(halt)),
            Ok(entry) => Self::walk_from(strata, walker, entry, from, go_on),
        }
    }

    /// Goes on from the first state, or from where a search was saved.
    fn walk_from<W: Walk>(
        walk: &W,
        mut walker: Walker<'_, S>,
        first: Entry<W::Extra>,
        from: Option<&SavedStates>,
        go_on: GoOn<'_>,
    ) -> (Tally, Option<Halt>) {
        let mut begin = First { now: Vec::new(), later: Vec::new() };
        match from {
            None => begin.now.push(first),
            Some(saved) => match saved::restore(walk, &mut walker, first, saved) {
                Err(halt) => return (walker.finish(), Some(halt)),
                Ok(entries) => {
                    for (entry, saved) in entries {
                        if saved.later { &mut begin.later } else { &mut begin.now }.push(entry);
                    }
                }
            },
        }
        team::run(walk, walker, begin, go_on)
    }

    /// Finds a violation with the way to it by searching again, on one thread and with ways. On several threads it may have been
    /// another one. Besides it the most delays of the strata that were begun.
    fn again_with_ways(
        &self,
        states: &States,
        exact: Exact,
        found: &Wrong,
    ) -> Result<(Option<Halt>, Option<u32>), Halt> {
        let unlimited = States { most: u64::MAX, bytes: usize::MAX, threads: 1, ..states.clone() };
        let space = self.space_of(exact).map_err(Halt::Refused)?;
        let go_on: GoOn<'_> = &mut Telling(&mut |_| true);
        let Walked { halt, begun, .. } = self.walk(&unlimited, space, true, None, go_on)?;
        match halt {
            Some(Halt::Wrong(_)) => Ok((halt, begun)),
            _ => panic!(
                "raddle: {}; the search was run again for the way there, and did not find it: \
                 {NOT_THE_SAME}",
                found.what
            ),
        }
    }

    /// What is wrong, as the steps that lead there and as an execution.
    fn violation(
        &self,
        exact: Exact,
        wrong: &Wrong,
        delays: Option<u32>,
    ) -> Result<Violation, Halt> {
        let Space { mut stepper, first: mut state, .. } =
            self.space_of(exact).map_err(Halt::Refused)?;
        let way = wrong.way.as_deref().unwrap_or_default();
        let (mut steps, mut leads) = (Vec::new(), Vec::new());
        for (nth, step) in way.iter().chain(&wrong.step).enumerate() {
            let mut values = step.values.to_vec();
            stepper.plan(&values);
            let next = space::attempt(&mut stepper, &state, step.way);
            // Those that were not planned were 0.
            values.resize(values.len().max(stepper.asked().len()), 0);
            steps.push(Delivery::from(state.describe(step.way, &values)));
            leads.push(Lead::new(&state, step.way, &values));
            match next {
                Ok(next) => state = next,
                Err(what) => assert!(nth == way.len(), "raddle: {what}: {NOT_THE_SAME}"),
            }
        }
        let (failure, options) = follow(leads, &|| self.run());
        Ok(Violation { what: wrong.what.clone(), steps, delays, failure, options })
    }

    /// Searches, and panics with what was found unless it is a pass.
    ///
    /// # Panics
    /// If a property does not hold, or a goal was not reached, or the model cannot be searched.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "it panics if something is wrong")]
    pub fn check_states(&self, states: &States) -> Searched {
        match self.search(states) {
            Ok(searched) if searched.is_pass() => searched,
            Ok(searched) => panic!("{searched}"),
            Err(why) => panic!("raddle: could not search states: {why}"),
        }
    }
}
