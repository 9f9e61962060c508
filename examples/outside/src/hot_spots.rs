//! An observer: at which lines tasks wait for each other.

use std::collections::BTreeMap;

use raddle::extend::{Cut, Event, Observer, ObserverNeeds};

/// By file and line: in how many steps a task was waiting there.
#[derive(Debug, Default)]
pub struct HotSpots(pub BTreeMap<(&'static str, u32), u64>);

impl Observer for HotSpots {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        if let Event::Step(step) = event {
            for waiting in step.stuck() {
                *self.0.entry((waiting.site.file(), waiting.site.line())).or_default() += 1;
            }
        }
    }
}
