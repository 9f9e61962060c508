//! The points of the current path, and how a node keeps its own in a few bytes.
//!
//! To compare executions, a search must know of every point on the path which tasks could move there, which
//! was running, and how many events came before. From one point to the next little of that changes, so a
//! node keeps the changes, two bytes for most points, and they are decoded where a prefix is repeated: only
//! the current path has them at hand. A node's first point is encoded as a change of the point of its own
//! decision, which is its parent's.
//!
//! # Why: Best first forgets what nothing will pass
//! Of a point a node keeps how it differs from the one before (`tree/path_points.rs`), of an option twelve bytes if it
//! waits or was started (`siblings.rs`), of what steps did each once (`footprints.rs`). Points after the last at which
//! something is left go, because no execution passes there again and so no race can ask for anything.

use raddle_engine::op::TaskId;
use raddle_engine::strategy::Taken;

use super::nodes::{Link, Nodes};

/// No option: no task was running.
pub(super) const NO_OPTION: u32 = u32::MAX;

/// A decision of the current path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathPoint {
    /// Whose point it is. None: that of the execution which is run.
    pub(super) owner: u32,
    /// Its number among the points of its owner.
    pub(super) place: u32,
    /// Events before it.
    pub(super) event: u32,
    /// The option of the running task, or [`NO_OPTION`].
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

impl PathPoint {
    pub(super) fn preempts(&self, option: u32) -> bool {
        self.running != NO_OPTION && option != self.running
    }

    /// Preemptions up to an option, which is one perhaps.
    pub(super) fn preemptions_with(&self, option: u32) -> u32 {
        self.preemptions + u32::from(self.preempts(option))
    }
}

/// The state in which a point is met.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointState {
    pub(super) owner: u32,
    pub(super) event: u32,
    pub(super) running: u32,
    pub(super) preemptions: u32,
    pub(super) value: bool,
}

/// What differs from the point before.
#[derive(Clone, Copy, Debug)]
struct Change {
    value: bool,
    tasks: TaskChange,
    events: u32,
    running: u32,
    first: u32,
}

/// Which tasks can move, compared with the point before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskChange {
    /// The same.
    Same,
    /// All but this one.
    Without(u32),
    /// This one too, at this place.
    With(u32, TaskId),
    /// They are listed.
    Listed,
}

/// The points of the current path. They share lists of tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct PathPoints {
    points: Vec<PathPoint>,
    tasks: Vec<TaskId>,
}

impl PathPoints {
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn points(&self) -> &[PathPoint] {
        &self.points
    }

    pub(super) fn point_mut(&mut self, at: usize) -> &mut PathPoint {
        &mut self.points[at]
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.points.truncate(length);
        // Lists are added in the order of the points, and a point that shares one shares that of the point before it: so the
        // last point has the last list that is needed.
        let used = self.points.last().map_or(0, |point| point.tasks.0 + point.tasks.1);
        self.tasks.truncate(used as usize);
    }

    pub(super) fn bytes(&self) -> usize {
        self.points.capacity() * size_of::<PathPoint>()
            + self.tasks.capacity() * size_of::<TaskId>()
    }

    /// Who could move at a point that is no value's, by option.
    pub(super) fn tasks(&self, point: &PathPoint) -> &[TaskId] {
        &self.tasks[point.tasks.0 as usize..][..point.tasks.1 as usize]
    }

    /// The option of a task at a point.
    pub(super) fn option_of(&self, point: &PathPoint, task: TaskId) -> Option<u32> {
        self.tasks(point).iter().position(|other| *other == task).map(|option| option as u32)
    }

    /// A point is met where these could move; of a value's it does not matter.
    pub(super) fn push(&mut self, state: PointState, tasks: impl Iterator<Item = TaskId> + Clone) {
        let last = self.points.last().map_or((0, 0), |point| point.tasks);
        let before = &self.tasks[last.0 as usize..][..last.1 as usize];
        // Most points have the tasks of the point before. A value has none of its own: it says nothing of who could move.
        let tasks = if state.value || before.iter().copied().eq(tasks.clone()) {
            last
        } else {
            let from = self.tasks.len() as u32;
            self.tasks.extend(tasks);
            (from, self.tasks.len() as u32 - from)
        };
        self.add(state, tasks, 0);
    }

    fn add(&mut self, state: PointState, tasks: (u32, u32), first: u32) {
        let PointState { owner, event, running, preemptions, value } = state;
        let place = match self.points.last() {
            // Places are counted from each owner's first point.
            Some(last) if last.owner == owner => last.place + 1,
            _ => 0,
        };
        let (sleep, redundant, branches) = ((0, 0), false, false);
        self.points.push(PathPoint {
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
            // The path has these points from the execution before.
            if until <= self.len() {
                continue;
            }
            let mut bytes = nodes.node(link.node).points();
            for (at, taken) in path.iter().enumerate().take(until).skip(link.from as usize) {
                let change = Change::read(&mut bytes, firsts)?;
                // The path may end within a node. Each point is written as a change of the one before, so the bytes of those that are
                // there must be read over, and only then is it known where the next one begins.
                let skips = at < self.len();
                self.read(link.node, change, &mut bytes, *taken, path, skips)?;
            }
            // There the path leaves this node, for the next one of the chain or for the candidate's own option.
            self.points[until - 1].branches = true;
        }
        Some(())
    }

    /// Reads all points of a node that has no parent; none if they cannot be.
    #[cfg(test)]
    fn decode(mut bytes: &[u8], path: &[Taken], firsts: bool) -> Option<Self> {
        let mut points = Self::default();
        for taken in path {
            let change = Change::read(&mut bytes, firsts)?;
            points.read(super::nodes::NONE, change, &mut bytes, *taken, path, false)?;
        }
        bytes.is_empty().then_some(points)
    }

    /// Adds a point, unless it is there: by how it differs from the last one. If the tasks are listed they
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
            if change.tasks == TaskChange::Listed {
                for _ in 0..taken.of {
                    read(bytes)?;
                }
            }
            return Some(());
        }
        let last = self.points.last().copied();
        let (from, n) = last.map_or((0, 0), |last| last.tasks);
        let all = from as usize..(from + n) as usize;
        let new = self.tasks.len();
        match change.tasks {
            TaskChange::Same => {}
            TaskChange::Without(place) => {
                self.tasks.extend_from_within(all);
                // Only bytes from outside can say this: what was written here fits.
                if place >= n {
                    return None;
                }
                // In the copy: the list of the point before is shared with others.
                self.tasks.remove(new + place as usize);
            }
            TaskChange::With(place, task) => {
                self.tasks.extend_from_within(all);
                if place > n {
                    return None;
                }
                self.tasks.insert(new + place as usize, task);
            }
            TaskChange::Listed => {
                for _ in 0..taken.of {
                    self.tasks.push(TaskId(read(bytes)?));
                }
            }
        }
        let tasks = match change.tasks {
            TaskChange::Same => (from, n),
            _ => (new as u32, (self.tasks.len() - new) as u32),
        };
        // Preemptions are not written: they follow from the options that were taken and from who was running.
        let before = self.points.len().checked_sub(1).map_or(0, |at| path[at].option);
        let state = PointState {
            owner,
            event: last.map_or(0, |last| last.event).checked_add(change.events)?,
            running: change.running,
            preemptions: last.map_or(0, |last| last.preemptions_with(before)),
            value: change.value,
        };
        // A point has one option for each task that could move.
        let listed = state.value || tasks.1 == taken.of;
        if !listed || state.running != NO_OPTION && state.running >= taken.of {
            return None;
        }
        self.add(state, tasks, change.first);
        Some(())
    }

    /// Whose the points from `from` on are is known now.
    pub(super) fn settle(&mut self, from: usize, owner: u32) {
        self.points[from..].iter_mut().for_each(|point| point.owner = owner);
    }

    /// Writes the points from `from` to `until`. `firsts`: with what was done there.
    pub(super) fn write(&self, from: usize, until: usize, firsts: bool, bytes: &mut Vec<u8>) {
        for at in from..until {
            let point = &self.points[at];
            let last = at.checked_sub(1).map(|last| &self.points[last]);
            let before = last.map_or(&[][..], |last| self.tasks(last));
            // The same list, which need not be compared.
            let shared = last.is_some_and(|last| last.tasks == point.tasks);
            let tasks = if shared {
                TaskChange::Same
            } else {
                TaskChange::between(before, self.tasks(point))
            };
            // Joins and steps without a choice lie between two points: mostly fewer than three.
            let events = point.event - last.map_or(0, |last| last.event);
            let PathPoint { value, running, first, .. } = *point;
            Change { value, tasks, events, running, first }.write(bytes, firsts);
            if tasks == TaskChange::Listed {
                self.tasks(point).iter().for_each(|task| write(bytes, task.0));
            }
        }
    }
}

impl TaskChange {
    fn between(before: &[TaskId], after: &[TaskId]) -> Self {
        if before == after {
            return Self::Same;
        }
        // From one step to the next mostly one task was enabled or disabled. Tasks are in the order of their creation, so the
        // lists differ in one place then.
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
            TaskChange::Same => 0,
            TaskChange::Without(_) => 1,
            TaskChange::With(..) => 2,
            TaskChange::Listed => 3,
        };
        let events = self.events.min(MOST_EVENTS);
        // From 1; 0 is none.
        let running = self.running.wrapping_add(1);
        // The largest number that fits says that the rest follows.
        let short = running.min(MOST_RUNNING);
        bytes.push(u8::from(self.value) | tasks << 1 | (events as u8) << 3 | (short as u8) << 5);
        match self.tasks {
            TaskChange::Without(place) => write(bytes, place),
            TaskChange::With(place, task) => {
                write(bytes, place);
                write(bytes, task.0);
            }
            TaskChange::Same | TaskChange::Listed => {}
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
            0 => TaskChange::Same,
            1 => TaskChange::Without(read(bytes)?),
            2 => TaskChange::With(read(bytes)?, TaskId(read(bytes)?)),
            _ => TaskChange::Listed,
        };
        let mut events = u32::from(head >> 3 & 3);
        if events == MOST_EVENTS {
            events = read(bytes)?.checked_add(MOST_EVENTS)?;
        }
        let mut running = u32::from(head >> 5);
        if running == MOST_RUNNING {
            running = read(bytes)?.checked_add(MOST_RUNNING)?;
        }
        // In the order in which `write` puts them.
        let first = if firsts { read(bytes)? } else { 0 };
        let (value, running) = (head & 1 == 1, running.wrapping_sub(1));
        Some(Self { value, tasks, events, running, first })
    }
}

/// How many bytes the first points take, at which these decisions were.
pub(super) fn length(points: &[u8], path: &[Taken], firsts: bool) -> usize {
    let mut left = points;
    if !points.is_empty() {
        for taken in path {
            let change = Change::read(&mut left, firsts).expect("a node has its points");
            // As many as the point had options, which the decision says.
            if change.tasks == TaskChange::Listed {
                for _ in 0..taken.of {
                    read(&mut left).expect("a node has its points");
                }
            }
        }
    }
    points.len() - left.len()
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
    // Five bytes have 35 bits: what does not fit into 32 is refused by the conversion, and a sixth byte by the end of the loop.
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
    use super::super::nodes::NONE;
    use super::*;

    fn path(points: &[(u32, u32, bool, &[u32])]) -> PathPoints {
        let mut path = PathPoints::default();
        for &(event, running, value, tasks) in points {
            let state = PointState { owner: NONE, event, running, preemptions: 0, value };
            path.push(state, tasks.iter().map(|task| TaskId(*task)));
        }
        path
    }

    // The same tasks, one less, one more, all others; few events and many; a running task, a late one, none.
    #[test]
    fn points_are_read_back() {
        let points: &[(u32, u32, bool, &[u32])] = &[
            (0, NO_OPTION, false, &[0, 1, 2]),
            (1, 0, false, &[0, 1, 2]),
            (1, NO_OPTION, true, &[]),
            (3, 1, false, &[0, 2]),
            (6, 1, false, &[0, 2, 300]),
            (400, NO_OPTION, false, &[5, 6, 7, 8, 9, 10, 11, 12]),
            (401, 7, false, &[5, 6, 7, 8, 9, 10, 11, 12]),
        ];
        let mut path_points = path(points);
        for at in 0..path_points.len() {
            path_points.point_mut(at).first = at as u32 * 100;
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
            path_points.write(0, path_points.len(), firsts, &mut bytes);
            let again = PathPoints::decode(&bytes, &path, firsts).expect("it was just written");
            for (at, (point, other)) in path_points.points().iter().zip(again.points()).enumerate()
            {
                assert_eq!((point.event, point.running), (other.event, other.running));
                assert_eq!((point.value, point.place), (other.value, other.place));
                assert_eq!(path_points.tasks(point), again.tasks(other));
                assert_eq!(other.first, if firsts { at as u32 * 100 } else { 0 });
            }
            // In the fourth the running task is not the one that went on.
            let preemptions: Vec<_> =
                again.points().iter().map(|point| point.preemptions).collect();
            assert_eq!(preemptions, [0, 0, 0, 0, 1, 2, 2]);
            for cut in 0..bytes.len() {
                assert!(PathPoints::decode(&bytes[..cut], &path, firsts).is_none(), "cut at {cut}");
            }
        }
    }
}
