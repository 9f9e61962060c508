//! The points of an execution: as a row of stops while it is the current one, and as few bytes of its
//! node.
//!
//! Whoever compares executions must know of every point on the way who could move there, who was running,
//! and how many events came before. Between a point and the next little of that changes, so a node keeps
//! the changes, two bytes for most points, and the stops are made again where a prefix is repeated: only
//! the current path has them. A node's first point is told by the one of its own decision, which is its
//! parent's.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::Taken;

use super::nodes::{Link, NONE, Nodes};

/// No option: nobody was running.
pub(super) const NOBODY: u32 = u32::MAX;

/// A decision of the current path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    /// Whose point it is. None: that of the execution which is run.
    pub(super) owner: u32,
    /// Its number among the points of its owner.
    pub(super) place: u32,
    /// Events before it.
    pub(super) event: u32,
    /// The option of the running task, or [`NOBODY`].
    pub(super) running: u32,
    /// Preemptions before it.
    pub(super) preemptions: u32,
    /// What its owner did there, among the footprints; 0 if that is not kept here.
    pub(super) first: u32,
    /// Who could move: from here on, so many. Of a value's, those of the point before.
    tasks: (u32, u32),
    /// What sleeps there: from here on, so many.
    pub(super) sleep: (u32, u32),
    pub(super) value: bool,
    /// Something on the way slept: all that follows repeats another execution.
    pub(super) redundant: bool,
    /// The path takes another option there than the owner did.
    pub(super) branches: bool,
}

impl Stop {
    pub(super) fn preempts(&self, option: u32) -> bool {
        self.running != NOBODY && option != self.running
    }

    /// Preemptions up to an option, which is one perhaps.
    pub(super) fn preemptions_with(&self, option: u32) -> u32 {
        self.preemptions + u32::from(self.preempts(option))
    }
}

/// What there is to say of a point that is met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) owner: u32,
    pub(super) event: u32,
    pub(super) running: u32,
    pub(super) preemptions: u32,
    pub(super) value: bool,
}

/// What a point has that the one before has not.
#[derive(Clone, Copy, Debug)]
struct Change {
    value: bool,
    tasks: Other,
    events: u32,
    running: u32,
    first: u32,
}

/// Who else can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    Nobody,
    /// All but this one.
    Without(u32),
    /// This one too, at this place.
    With(u32, TaskId),
    /// They are listed.
    Listed,
}

/// The current path. Stops share lists of tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Road {
    stops: Vec<Stop>,
    tasks: Vec<TaskId>,
}

impl Road {
    pub(super) fn len(&self) -> usize {
        self.stops.len()
    }

    pub(super) fn stops(&self) -> &[Stop] {
        &self.stops
    }

    pub(super) fn stop_mut(&mut self, at: usize) -> &mut Stop {
        &mut self.stops[at]
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.stops.truncate(length);
        let used = self.stops.last().map_or(0, |stop| stop.tasks.0 + stop.tasks.1);
        self.tasks.truncate(used as usize);
    }

    pub(super) fn bytes(&self) -> usize {
        self.stops.capacity() * size_of::<Stop>() + self.tasks.capacity() * size_of::<TaskId>()
    }

    /// Who could move at a stop that is no value's, by option.
    pub(super) fn tasks(&self, stop: &Stop) -> &[TaskId] {
        &self.tasks[stop.tasks.0 as usize..][..stop.tasks.1 as usize]
    }

    /// The option of a task at a stop.
    pub(super) fn option_of(&self, stop: &Stop, task: TaskId) -> Option<u32> {
        self.tasks(stop).iter().position(|other| *other == task).map(|option| option as u32)
    }

    /// A point is met where these could move; of a value's it does not matter.
    pub(super) fn push(&mut self, passed: Passed, tasks: impl Iterator<Item = TaskId> + Clone) {
        let last = self.stops.last().map_or((0, 0), |stop| stop.tasks);
        let before = &self.tasks[last.0 as usize..][..last.1 as usize];
        let tasks = if passed.value || before.iter().copied().eq(tasks.clone()) {
            last
        } else {
            let from = self.tasks.len() as u32;
            self.tasks.extend(tasks);
            (from, self.tasks.len() as u32 - from)
        };
        self.add(passed, tasks, 0);
    }

    fn add(&mut self, passed: Passed, tasks: (u32, u32), first: u32) {
        let Passed { owner, event, running, preemptions, value } = passed;
        let place = match self.stops.last() {
            Some(last) if last.owner == owner => last.place + 1,
            _ => 0,
        };
        let (sleep, redundant, branches) = ((0, 0), false, false);
        self.stops.push(Stop {
            owner,
            place,
            event,
            running,
            preemptions,
            first,
            tasks,
            sleep,
            value,
            redundant,
            branches,
        });
    }

    /// Goes on along `chain` to the end of `path`, which has the decisions. `firsts`: whether nodes have
    /// what they did.
    pub(super) fn follow(&mut self, chain: &[Link], nodes: &Nodes, path: &[Taken], firsts: bool) {
        self.try_follow(chain, nodes, path, firsts).expect("nodes have their points");
    }

    /// The same with nodes that were read; none if they do not fit together.
    pub(super) fn try_follow(
        &mut self,
        chain: &[Link],
        nodes: &Nodes,
        path: &[Taken],
        firsts: bool,
    ) -> Option<()> {
        for (index, link) in chain.iter().enumerate() {
            let until = chain.get(index + 1).map_or(path.len(), |next| next.from as usize);
            if until <= self.len() {
                continue;
            }
            let mut bytes = nodes.node(link.node).stops();
            for (at, taken) in path.iter().enumerate().take(until).skip(link.from as usize) {
                let change = Change::read(&mut bytes, firsts)?;
                let skips = at < self.len();
                self.read(link.node, change, &mut bytes, *taken, path, skips)?;
            }
            self.stops[until - 1].branches = true;
        }
        Some(())
    }

    /// Reads all points of a node that has no parent; none if they cannot be.
    pub(super) fn decode(mut bytes: &[u8], path: &[Taken], firsts: bool) -> Option<Self> {
        let mut road = Self::default();
        for taken in path {
            let change = Change::read(&mut bytes, firsts)?;
            road.read(NONE, change, &mut bytes, *taken, path, false)?;
        }
        bytes.is_empty().then_some(road)
    }

    /// Adds a stop, unless it is there: by how it differs from the last one. If the tasks are listed they
    /// follow.
    fn read(
        &mut self,
        owner: u32,
        change: Change,
        bytes: &mut &[u8],
        taken: Taken,
        path: &[Taken],
        skips: bool,
    ) -> Option<()> {
        if skips {
            if change.tasks == Other::Listed {
                for _ in 0..taken.of {
                    read(bytes)?;
                }
            }
            return Some(());
        }
        let last = self.stops.last().copied();
        let (from, n) = last.map_or((0, 0), |last| last.tasks);
        let all = from as usize..(from + n) as usize;
        let new = self.tasks.len();
        match change.tasks {
            Other::Nobody => {}
            Other::Without(place) => {
                self.tasks.extend_from_within(all);
                if place >= n {
                    return None;
                }
                self.tasks.remove(new + place as usize);
            }
            Other::With(place, task) => {
                self.tasks.extend_from_within(all);
                if place > n {
                    return None;
                }
                self.tasks.insert(new + place as usize, task);
            }
            Other::Listed => {
                for _ in 0..taken.of {
                    self.tasks.push(TaskId(read(bytes)?));
                }
            }
        }
        let tasks = match change.tasks {
            Other::Nobody => (from, n),
            _ => (new as u32, (self.tasks.len() - new) as u32),
        };
        let before = self.stops.len().checked_sub(1).map_or(0, |at| path[at].option);
        let passed = Passed {
            owner,
            event: last.map_or(0, |last| last.event).checked_add(change.events)?,
            running: change.running,
            preemptions: last.map_or(0, |last| last.preemptions_with(before)),
            value: change.value,
        };
        let listed = passed.value || tasks.1 == taken.of;
        if !listed || passed.running != NOBODY && passed.running >= taken.of {
            return None;
        }
        self.add(passed, tasks, change.first);
        Some(())
    }

    /// Whose the points from `from` on are is known now.
    pub(super) fn settle(&mut self, from: usize, owner: u32) {
        self.stops[from..].iter_mut().for_each(|stop| stop.owner = owner);
    }

    /// Writes the points from `from` to `until`. `firsts`: with what was done there.
    pub(super) fn write(&self, from: usize, until: usize, firsts: bool, bytes: &mut Vec<u8>) {
        for at in from..until {
            let stop = &self.stops[at];
            let last = at.checked_sub(1).map(|last| &self.stops[last]);
            let before = last.map_or(&[][..], |last| self.tasks(last));
            let shared = last.is_some_and(|last| last.tasks == stop.tasks);
            let tasks =
                if shared { Other::Nobody } else { Other::between(before, self.tasks(stop)) };
            let events = stop.event - last.map_or(0, |last| last.event);
            let Stop { value, running, first, .. } = *stop;
            Change { value, tasks, events, running, first }.write(bytes, firsts);
            if tasks == Other::Listed {
                self.tasks(stop).iter().for_each(|task| write(bytes, task.0));
            }
        }
    }
}

impl Other {
    fn between(before: &[TaskId], after: &[TaskId]) -> Self {
        if before == after {
            return Self::Nobody;
        }
        let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
        let place = same as u32;
        if before.len() == after.len() + 1 && before[same + 1..] == after[same..] {
            Self::Without(place)
        } else if before.len() + 1 == after.len() && before[same..] == after[same + 1..] {
            Self::With(place, after[same])
        } else {
            Self::Listed
        }
    }
}

/// As many events that the head byte of a point can say, and options of the running task.
const MOST_EVENTS: u32 = 3;
const MOST_RUNNING: u32 = 7;

impl Change {
    fn write(&self, bytes: &mut Vec<u8>, firsts: bool) {
        let tasks = match self.tasks {
            Other::Nobody => 0,
            Other::Without(_) => 1,
            Other::With(..) => 2,
            Other::Listed => 3,
        };
        let events = self.events.min(MOST_EVENTS);
        // From 1; nobody is 0.
        let running = self.running.wrapping_add(1);
        let short = running.min(MOST_RUNNING);
        bytes.push(u8::from(self.value) | tasks << 1 | (events as u8) << 3 | (short as u8) << 5);
        match self.tasks {
            Other::Without(place) => write(bytes, place),
            Other::With(place, task) => {
                write(bytes, place);
                write(bytes, task.0);
            }
            Other::Nobody | Other::Listed => {}
        }
        if events == MOST_EVENTS {
            write(bytes, self.events - MOST_EVENTS);
        }
        if short == MOST_RUNNING {
            write(bytes, running - MOST_RUNNING);
        }
        if firsts {
            write(bytes, self.first);
        }
    }

    fn read(bytes: &mut &[u8], firsts: bool) -> Option<Self> {
        let (&head, rest) = bytes.split_first()?;
        *bytes = rest;
        let tasks = match head >> 1 & 3 {
            0 => Other::Nobody,
            1 => Other::Without(read(bytes)?),
            2 => Other::With(read(bytes)?, TaskId(read(bytes)?)),
            _ => Other::Listed,
        };
        let mut events = u32::from(head >> 3 & 3);
        if events == MOST_EVENTS {
            events = read(bytes)?.checked_add(MOST_EVENTS)?;
        }
        let mut running = u32::from(head >> 5);
        if running == MOST_RUNNING {
            running = read(bytes)?.checked_add(MOST_RUNNING)?;
        }
        let first = if firsts { read(bytes)? } else { 0 };
        let (value, running) = (head & 1 == 1, running.wrapping_sub(1));
        Some(Self { value, tasks, events, running, first })
    }
}

/// How many bytes the first points take, at which these decisions were.
pub(super) fn length(stops: &[u8], path: &[Taken], firsts: bool) -> usize {
    let mut left = stops;
    if !stops.is_empty() {
        for taken in path {
            let change = Change::read(&mut left, firsts).expect("a node has its points");
            if change.tasks == Other::Listed {
                for _ in 0..taken.of {
                    read(&mut left).expect("a node has its points");
                }
            }
        }
    }
    stops.len() - left.len()
}

/// Seven bits to a byte, lowest first.
fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn road(points: &[(u32, u32, bool, &[u32])]) -> Road {
        let mut road = Road::default();
        for &(event, running, value, tasks) in points {
            let passed = Passed { owner: NONE, event, running, preemptions: 0, value };
            road.push(passed, tasks.iter().map(|task| TaskId(*task)));
        }
        road
    }

    // Nobody else, one less, one more, all others; few events and many; a running task, a late one, none.
    #[test]
    fn points_are_read_back() {
        let points: &[(u32, u32, bool, &[u32])] = &[
            (0, NOBODY, false, &[0, 1, 2]),
            (1, 0, false, &[0, 1, 2]),
            (1, NOBODY, true, &[]),
            (3, 1, false, &[0, 2]),
            (6, 1, false, &[0, 2, 300]),
            (400, NOBODY, false, &[5, 6, 7, 8, 9, 10, 11, 12]),
            (401, 7, false, &[5, 6, 7, 8, 9, 10, 11, 12]),
        ];
        let mut road = road(points);
        for at in 0..road.len() {
            road.stop_mut(at).first = at as u32 * 100;
        }
        let path: Vec<_> = points
            .iter()
            .map(|(.., value, tasks)| Taken {
                option: 0,
                of: if *value { 2 } else { tasks.len() as u32 },
            })
            .collect();
        for firsts in [false, true] {
            let mut bytes = Vec::new();
            road.write(0, road.len(), firsts, &mut bytes);
            let again = Road::decode(&bytes, &path, firsts).expect("it was just written");
            for (at, (stop, other)) in road.stops().iter().zip(again.stops()).enumerate() {
                assert_eq!((stop.event, stop.running), (other.event, other.running));
                assert_eq!((stop.value, stop.place), (other.value, other.place));
                assert_eq!(road.tasks(stop), again.tasks(other));
                assert_eq!(other.first, if firsts { at as u32 * 100 } else { 0 });
            }
            // In the fourth the running task is not the one that went on.
            let preemptions: Vec<_> = again.stops().iter().map(|stop| stop.preemptions).collect();
            assert_eq!(preemptions, [0, 0, 0, 0, 1, 2, 2]);
            for cut in 0..bytes.len() {
                assert!(Road::decode(&bytes[..cut], &path, firsts).is_none(), "cut at {cut}");
            }
        }
    }
}
