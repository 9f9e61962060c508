//! Messages between actors in a trace: who handles what, and which step sent it.

use std::collections::BTreeMap;

use raddle_trace::Trace;

/// What the engine calls the object that a delivery writes to.
const ACTOR: &str = "Actor";
/// What stands between sender and receiver in the name of a link.
const ARROW: &str = " → ";

/// Whether an object is the actor to which a message is delivered.
pub(crate) fn is_actor(trace: &Trace, object: u32) -> bool {
    trace.objects.get(object as usize).is_some_and(|object| object.kind == ACTOR)
}

/// The lanes of a trace by actor instead of by task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Messages {
    /// Actors and the other tasks that do something, in order of first appearance.
    pub(crate) names: Vec<String>,
    /// The lane of each step.
    pub(crate) lanes: Vec<u32>,
    /// For each step that handles a message: the lane it came from, and the step that sent it.
    pub(crate) from: Vec<Option<(u32, Option<u32>)>>,
}

impl Messages {
    /// None if no step handles a message.
    pub(crate) fn of(trace: &Trace) -> Option<Self> {
        let actor =
            |event: &raddle_trace::Event| event.object.filter(|&object| is_actor(trace, object));
        if !trace.events.iter().any(|event| actor(event).is_some()) {
            return None;
        }
        // A link is called after its ends, or after its receiver alone.
        let ends = |task: u32| {
            let label = trace.task_label(task);
            match label.split_once(ARROW) {
                Some((from, to)) => (Some(from.to_owned()), to.to_owned()),
                None => (None, label),
            }
        };
        let mut called: BTreeMap<u32, String> = BTreeMap::new();
        for event in &trace.events {
            if let Some(object) = actor(event) {
                called.entry(object).or_insert_with(|| ends(event.task).1);
            }
        }
        let mut messages = Self { names: Vec::new(), lanes: Vec::new(), from: Vec::new() };
        for event in &trace.events {
            let Some(object) = actor(event) else {
                let lane = messages.lane(ends(event.task).1);
                messages.lanes.push(lane);
                messages.from.push(None);
                continue;
            };
            let sent_by = event.sent_by.filter(|&step| (step as usize) < messages.lanes.len());
            let from = match (sent_by, ends(event.task).0) {
                (Some(step), _) => messages.lanes[step as usize],
                (None, Some(name)) => messages.lane(name),
                (None, None) => messages.lane("test".to_owned()),
            };
            let lane = messages.lane(called[&object].clone());
            messages.lanes.push(lane);
            messages.from.push(Some((from, sent_by)));
        }
        Some(messages)
    }

    fn lane(&mut self, name: String) -> u32 {
        let known = self.names.iter().position(|other| *other == name);
        let lane = known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        lane as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{lost_update, two_tills};

    #[test]
    fn lanes_are_actors_and_messages_have_senders() {
        let messages = Messages::of(&two_tills().failure.expect("failed").trace).expect("actors");
        assert_eq!(messages.names, ["test", "left", "right", "stock", "main"]);
        assert_eq!(messages.lanes, [1, 2, 3, 3, 1, 2, 4]);
        let from = |step: usize| messages.from[step];
        assert_eq!(from(0), Some((0, None)));
        assert_eq!(from(2), Some((1, Some(0))));
        assert_eq!(from(4), Some((3, Some(2))));
        assert_eq!(from(6), None);
    }

    #[test]
    fn threads_send_no_messages() {
        assert_eq!(Messages::of(&lost_update().failure.expect("failed").trace), None);
    }
}
