//! Searches over the states of a model: each state once, and every step from each.
//!
//! Breadth-first finds a shortest way to a violation; depth-first holds the states of one path and the
//! fingerprints of all. What has been seen is a table of fingerprints, each with that of the state from
//! which it was first reached, so that a violation's way can be found again: 32 bytes or less for each
//! state.
//!
//! `Misses:` a state whose fingerprint is that of another one; the guarantee has the chance of that.
//! Executions that do not end are covered by their states, but not asked what they never do.

mod report;
mod seen;
mod space;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_trace::{Covered, Guarantee};

pub use self::report::{Delivery, Judged, Refused, Searched, Stopped, Violation, Visited};
use self::seen::Seen;
pub use self::space::{Enabled, Next, Space};
use self::space::{attempt, text};
use crate::follow::{Lead, follow};
use crate::model::{Model, PropertyKind, UNJUDGED};
use crate::snapshot::{Exact, Move, Snapshot};
use crate::stepper::Stepper;
use crate::view::View;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States {
    order: Order,
    most: u64,
    bytes: usize,
    depth: Option<u32>,
}

impl States {
    /// Those that can be reached in fewer steps first.
    #[must_use]
    pub fn breadth_first() -> Self {
        Self { order: Order::BreadthFirst, most: u64::MAX, bytes: 4 << 30, depth: None }
    }

    /// As deep as possible first.
    #[must_use]
    pub fn depth_first() -> Self {
        Self { order: Order::DepthFirst, ..Self::breadth_first() }
    }

    /// At most so many different states; without this, as many as there are.
    #[must_use]
    pub fn states(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// At most about so many bytes for what has been seen and what is yet to be gone on from; without
    /// this 4 GiB. What actors themselves have on the heap is not counted.
    #[must_use]
    pub fn bytes(mut self, most: usize) -> Self {
        self.bytes = most;
        self
    }

    /// Only states that can be reached in so many steps. Breadth-first only: the first way to a state
    /// must be a shortest one.
    #[must_use]
    pub fn depth(mut self, most: u32) -> Self {
        self.depth = Some(most);
        self
    }
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.order {
            Order::BreadthFirst => "states bfs",
            Order::DepthFirst => "states dfs",
        })?;
        self.depth.map_or(Ok(()), |depth| write!(f, " depth({depth})"))
    }
}

/// What went wrong in a state, or in a step from it.
struct Wrong {
    state: u64,
    step: Option<(Move, Vec<u32>)>,
    what: String,
    property: Option<usize>,
}

/// A search while it runs.
struct Run<'a, S> {
    model: &'a Model<S>,
    limits: States,
    space: Space<S>,
    seen: Seen,
    reached: Vec<bool>,
    transitions: u64,
    made: u64,
    finals: u64,
    depth: u32,
    cut: bool,
    /// Bytes of the states that are yet to be gone on from.
    waiting_bytes: usize,
    waiting: u64,
}

/// Why a run does not go on.
enum Halt {
    Wrong(Wrong),
    Stopped(Stopped),
    Refused(Refused),
    /// Fingerprints have to say more.
    Again(Exact),
}

impl<S: Send + Sync + 'static> Run<'_, S> {
    /// A new state.
    fn visit(&mut self, state: &Snapshot, depth: u32) -> Result<(), Halt> {
        self.depth = self.depth.max(depth);
        let wrong = |what, property| {
            let state = state.fingerprint();
            Halt::Wrong(Wrong { state, step: None, what, property })
        };
        let view = View::from(state);
        for (index, property) in self.model.properties.iter().enumerate() {
            let skip = property.kind == PropertyKind::Final || self.reached[index];
            if skip {
                continue;
            }
            let holds = catch_unwind(AssertUnwindSafe(|| property.holds(&self.space.own, &view)))
                .map_err(|panic| wrong(text(&*panic), Some(index)))?;
            match property.kind {
                PropertyKind::Goal => self.reached[index] = holds,
                _ if !holds => return Err(wrong(property.violated(), Some(index))),
                _ => {}
            }
        }
        Ok(())
    }

    /// A state in which nothing is left to be handled.
    fn end(&mut self, state: &Snapshot) -> Result<(), Halt> {
        self.finals += 1;
        let wrong = |what, property| {
            let state = state.fingerprint();
            Halt::Wrong(Wrong { state, step: None, what, property })
        };
        for (index, property) in self.model.properties.iter().enumerate() {
            if property.kind != PropertyKind::Final {
                continue;
            }
            let view = View::from(state);
            let holds = catch_unwind(AssertUnwindSafe(|| property.holds(&self.space.own, &view)))
                .map_err(|panic| wrong(text(&*panic), Some(index)))?;
            if !holds {
                return Err(wrong(property.violated(), Some(index)));
            }
        }
        match state.hot() {
            Some(name) => Err(wrong(format!("the test is over, and {name} is still hot"), None)),
            None => Ok(()),
        }
    }

    /// Takes a step. The state, if it is new; and whether there are other values to try, which are
    /// then in `values`.
    fn step(
        &mut self,
        state: &Snapshot,
        way: Move,
        values: &mut Vec<u32>,
        depth: u32,
    ) -> Result<(Option<Snapshot>, bool), Halt> {
        let stepper = &mut self.space.stepper;
        stepper.plan(values);
        self.transitions += 1;
        let next = attempt(stepper, state, way).map_err(|what| {
            let step = Some((way, values.clone()));
            Halt::Wrong(Wrong { state: state.fingerprint(), step, what, property: None })
        })?;
        if let Some(why) = stepper.refused.take() {
            return Err(Halt::Refused(Refused(why)));
        }
        if stepper.outdated() {
            return Err(Halt::Again(stepper.needed));
        }
        let more = following(values, stepper.asked());
        self.made += 1;
        if !self.seen.insert(next.fingerprint(), state.fingerprint()) {
            return Ok((None, more));
        }
        self.visit(&next, depth)?;
        if self.seen.len as u64 >= self.limits.most {
            return Err(Halt::Stopped(Stopped::States));
        }
        if self.seen.bytes_soon() + self.waiting_bytes > self.limits.bytes {
            return Err(Halt::Stopped(Stopped::Bytes));
        }
        Ok((Some(next), more))
    }

    fn lap(&self, go_on: &mut dyn FnMut(Visited) -> bool) -> Result<(), Halt> {
        let visited = Visited {
            unique: self.seen.len as u64,
            transitions: self.transitions,
            waiting: self.waiting,
            bytes: self.seen.bytes() + self.waiting_bytes,
        };
        if go_on(visited) { Ok(()) } else { Err(Halt::Stopped(Stopped::Caller)) }
    }

    fn breadth_first(&mut self, go_on: &mut dyn FnMut(Visited) -> bool) -> Result<(), Halt> {
        let mut queue = VecDeque::from([(self.space.first(), 0)]);
        let (mut moves, mut values) = (Vec::new(), Vec::new());
        let mut laps = 0u32;
        while let Some((state, depth)) = queue.pop_front() {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(state.bytes());
            self.waiting = queue.len() as u64;
            laps = laps.wrapping_add(1);
            if laps.is_multiple_of(1024) {
                self.lap(go_on)?;
            }
            self.space.stepper.moves(&state, &mut moves);
            if moves.is_empty() {
                self.end(&state)?;
            } else if self.limits.depth.is_some_and(|most| depth >= most) {
                self.cut = true;
                continue;
            }
            for &way in &moves {
                values.clear();
                loop {
                    let (next, more) = self.step(&state, way, &mut values, depth + 1)?;
                    if let Some(next) = next {
                        self.waiting_bytes += next.bytes();
                        queue.push_back((next, depth + 1));
                    }
                    if !more {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn depth_first(&mut self, go_on: &mut dyn FnMut(Visited) -> bool) -> Result<(), Halt> {
        /// A state on the path, and what is yet to be tried from it.
        struct Node {
            state: Snapshot,
            moves: Vec<Move>,
            values: Vec<u32>,
        }
        let mut laps = 0u32;
        let mut path: Vec<Node> = Vec::new();
        let mut spare: Vec<Vec<Move>> = Vec::new();
        let mut next = Some(self.space.first());
        loop {
            if let Some(state) = next.take() {
                let mut moves = spare.pop().unwrap_or_default();
                self.space.stepper.moves(&state, &mut moves);
                if moves.is_empty() {
                    self.end(&state)?;
                }
                self.waiting_bytes += state.bytes();
                path.push(Node { state, moves, values: Vec::new() });
                laps = laps.wrapping_add(1);
                self.waiting = path.len() as u64;
                if laps.is_multiple_of(1024) {
                    self.lap(go_on)?;
                }
            }
            let depth = path.len() as u32;
            let Some(node) = path.last_mut() else { return Ok(()) };
            let Some(&way) = node.moves.last() else {
                let node = path.pop().expect("it is there");
                self.waiting_bytes = self.waiting_bytes.saturating_sub(node.state.bytes());
                spare.push(node.moves);
                continue;
            };
            let (found, more) = self.step(&node.state, way, &mut node.values, depth)?;
            if !more {
                node.moves.pop();
                node.values.clear();
            }
            next = found;
        }
    }

    /// The steps to a state, found again from their fingerprints.
    fn way(&mut self, to: u64) -> (Vec<(Snapshot, Move, Vec<u32>)>, Snapshot) {
        let mut state = self.space.first();
        let mut steps = Vec::new();
        let (mut moves, mut values) = (Vec::new(), Vec::new());
        for key in self.seen.way(to) {
            let stepper = &mut self.space.stepper;
            stepper.moves(&state, &mut moves);
            let found = 'found: {
                for &way in &moves {
                    values.clear();
                    loop {
                        stepper.plan(&values);
                        let taken = values.clone();
                        let next = attempt(stepper, &state, way);
                        let more = following(&mut values, stepper.asked());
                        match next {
                            Ok(next) if Seen::key(next.fingerprint()) == key => {
                                let of = stepper.asked().len();
                                let mut taken = taken;
                                taken.resize(of, 0);
                                break 'found Some((next, way, taken));
                            }
                            _ => {}
                        }
                        if !more {
                            break;
                        }
                    }
                }
                None
            };
            let (next, way, taken) = found.expect(
                "raddle: a step led to another state when it was taken again: handlers use \
                 something besides their state, their message and their context",
            );
            steps.push((std::mem::replace(&mut state, next), way, taken));
        }
        (steps, state)
    }

    fn violation(&mut self, wrong: &Wrong) -> Violation {
        let (mut way, last) = self.way(wrong.state);
        if let Some((step, values)) = &wrong.step {
            way.push((last, *step, values.clone()));
        }
        let tell = |(state, way, values): &(Snapshot, Move, Vec<u32>)| {
            Delivery::from(state.describe(*way, values))
        };
        let steps = way.iter().map(tell).collect();
        let leads = way.iter().map(|(state, way, values)| Lead::new(state, *way, values)).collect();
        let failure = follow(leads, &|| self.model.run());
        Violation { what: wrong.what.clone(), steps, failure }
    }
}

/// The values after these, which were asked for with so many options each. `false` if there are none.
fn following(values: &mut Vec<u32>, of: &[u32]) -> bool {
    if of.is_empty() {
        return false;
    }
    values.resize(of.len(), 0);
    while let Some(last) = values.pop() {
        if last + 1 < of[values.len()] {
            values.push(last + 1);
            return true;
        }
    }
    false
}

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
        let (world, own) = self.world().map_err(Refused)?;
        let (mut stepper, first) = Stepper::new(world, exact);
        match stepper.refused.take() {
            Some(why) => Err(Refused(why)),
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
        if states.depth.is_some() && states.order == Order::DepthFirst {
            let why = "a depth-first search with a limit on the depth would miss states within it";
            return Err(Refused(why.to_owned()));
        }
        let mut exact = Exact::default();
        loop {
            let space = self.space_of(exact)?;
            if !self.is_judged() {
                return Err(Refused(UNJUDGED.to_owned()));
            }
            exact = space.stepper.needed;
            if space.stepper.outdated() {
                continue;
            }
            match self.search_of(states, space, go_on) {
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
        go_on: &mut dyn FnMut(Visited) -> bool,
    ) -> Result<Searched, Halt> {
        let mut run = Run {
            model: self,
            limits: *states,
            seen: Seen::new(),
            reached: vec![false; self.properties.len()],
            transitions: 0,
            made: 1,
            finals: 0,
            depth: 0,
            cut: false,
            waiting_bytes: 0,
            waiting: 0,
            space,
        };
        let first = run.space.first();
        run.seen.insert(first.fingerprint(), first.fingerprint());
        let ended = run.visit(&first, 0).and_then(|()| match states.order {
            Order::BreadthFirst => run.breadth_first(go_on),
            Order::DepthFirst => run.depth_first(go_on),
        });
        let (stopped, wrong) = match ended {
            Ok(()) => (Stopped::Covered, None),
            Err(Halt::Stopped(stopped)) => (stopped, None),
            Err(Halt::Wrong(wrong)) => (Stopped::Violated, Some(wrong)),
            Err(other) => return Err(other),
        };
        let violation = wrong.as_ref().map(|wrong| run.violation(wrong));
        let unique = run.seen.len as u64;
        let covered = match stopped {
            Stopped::Covered => {
                let (parts, depth) = (run.space.stepper.parts(), states.depth.filter(|_| run.cut));
                Covered::States { unique, parts, depth }
            }
            _ => Covered::SomeStates { unique },
        };
        let broken = wrong.and_then(|wrong| wrong.property);
        let judged = |(index, property): (usize, &crate::model::Property<S>)| Judged {
            name: property.name.to_string(),
            kind: property.kind,
            holds: match property.kind {
                PropertyKind::Goal => run.reached[index],
                _ => broken != Some(index),
            },
        };
        Ok(Searched {
            strategy: states.to_string(),
            unique,
            states: run.made,
            transitions: run.transitions,
            depth: run.depth,
            finals: run.finals,
            properties: self.properties.iter().enumerate().map(judged).collect(),
            violation,
            stopped,
            guarantee: Guarantee { covered, traces: None, rejected: 0, assumptions: Vec::new() },
        })
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
