//! Sequences that reverse a race: what follows the first step and does not depend on it, then the second.

use raddle_engine::dependence::Footprint;
use raddle_engine::happens::History;
use raddle_engine::op::{ObjectId, TaskId};

/// The later op of a race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later {
    /// Its step, if it is one that can be chosen.
    pub(crate) step: Option<Footprint>,
    /// The event, or the one that came instead.
    pub(crate) index: usize,
    /// Whether it ran.
    pub(crate) ran: bool,
    /// If it is the timer's of the event's op.
    pub(crate) timer: Option<TaskId>,
}

/// The events after the one at `first` that do not depend on it: with `last` after them a
/// sequence that reverses the race. `false` if there is no such sequence.
pub(crate) fn find_sequence(
    history: &History,
    first: usize,
    last: Option<&Footprint>,
    then: &mut Vec<usize>,
) -> bool {
    then.clear();
    let after = first + 1..history.len();
    then.extend(
        after.filter(|&index| !history.event(index).immediate && !history.before(first, index)),
    );
    while let Some(last) = last
        && let Some(other) = history.in_the_way(last, first, then)
    {
        if other < first || history.happens_before_op(other) {
            return false;
        }
        // It must come later, too.
        then.retain(|&index| !history.before(other, index));
    }
    true
}

/// The tasks that can begin a sequence: nothing before their steps in it do those depend on. `firsts`
/// is room to work in.
pub(crate) fn find_begins(
    history: &History,
    then: &[usize],
    last: Option<&Footprint>,
    begins: &mut Vec<TaskId>,
    firsts: &mut Vec<u32>,
) {
    begins.clear();
    let mut free_last = last;
    // The first event of each task, by its number there.
    firsts.clear();
    firsts.resize(history.width(), u32::MAX);
    for &index in then {
        let event = history.event(index);
        let task = event.footprint.task;
        if firsts[task.index()] == u32::MAX {
            firsts[task.index()] = event.nth;
            begins.push(task);
        }
        let free = |last: &&Footprint| !event.footprint.dependent(last);
        free_last = free_last.filter(|_| !history.happens_before_op(index)).filter(free);
    }
    begins.retain(|task| {
        let event = history.index_of(*task, firsts[task.index()]);
        let clock = event.map_or(&[][..], |event| history.clock(event));
        let mut known = clock.iter().zip(&*firsts).enumerate();
        known.all(|(lane, (known, first))| lane == task.index() || known < first)
    });
    begins.extend(free_last.map(|last| last.task));
}

/// Whether a step whose doings were learned by running it does the same after the events in `then`,
/// instead of where it was: all that touched its object since the event at `first` is among them.
pub(crate) fn repeats(
    history: &History,
    first: usize,
    index: usize,
    then: &[usize],
    step: &Footprint,
) -> bool {
    let object = step.touched[0].0;
    let touches = |event: &usize| {
        history.event(*event).footprint.touched.iter().any(|(other, _)| *other == object)
    };
    object != ObjectId::NONE
        && (first..index.min(history.len()))
            .filter(touches)
            .all(|event| then.binary_search(&event).is_ok())
}
