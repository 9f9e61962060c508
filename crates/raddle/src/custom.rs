//! What a caller wrote: a strategy in place of one that is named, and an observer beside any.

use std::any::type_name;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_engine::observer::{Ended, Observer, ObserverNeeds, Paused};
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Event, Finished, Plan, Point, Resumable, Strategy, Unsupported,
};
use raddle_trace::{Covered, Progress};

/// A strategy of the caller's, until the search takes it.
#[derive(Clone)]
pub(crate) struct Custom {
    /// What reports call it: its type, without paths.
    pub(crate) name: String,
    /// Whether it never ends by itself.
    pub(crate) samples: bool,
    /// In common to all clones of a job: it is run once.
    strategy: Arc<Mutex<Option<Box<dyn Strategy>>>>,
}

impl Custom {
    pub(crate) fn new<S: Strategy + 'static>(strategy: S) -> Self {
        Self {
            name: without_paths(type_name::<S>()),
            samples: matches!(strategy.covered(), Covered::Sample { .. }),
            strategy: Arc::new(Mutex::new(Some(Box::new(strategy)))),
        }
    }

    /// The strategy, the first time.
    pub(crate) fn take(&self) -> Option<Box<dyn Strategy>> {
        self.strategy.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The name of a type with the last segment of each of its paths.
fn without_paths(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    short
}

/// An observer of the caller's, who has another handle to it.
///
/// The caller may look at it while the search runs, and after one that was given up because it hung.
#[derive(Clone)]
pub(crate) struct Listener(Arc<Mutex<dyn Observer>>);

impl Listener {
    pub(crate) fn new<O: Observer + 'static>(observer: &Arc<Mutex<O>>) -> Self {
        let observer: Arc<Mutex<O>> = Arc::clone(observer);
        Self(observer)
    }

    fn locked(&self) -> MutexGuard<'_, dyn Observer + 'static> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Observer for Listener {
    fn needs(&self) -> ObserverNeeds {
        self.locked().needs()
    }

    fn begin(&mut self, plan: &Plan) {
        self.locked().begin(plan);
    }

    fn decided(&mut self, point: &Point<'_>, answer: Answer) {
        self.locked().decided(point, answer);
    }

    fn event(&mut self, event: &Event<'_>, cut: Option<Cut>) {
        self.locked().event(event, cut);
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.locked().end(execution);
    }

    fn between(&mut self, search: &mut Paused<'_, '_>) {
        self.locked().between(search);
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, ended: &Ended) {
        self.locked().finish(search, ended);
    }

    fn add_to(&self, progress: &mut Progress) {
        self.locked().add_to(progress);
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        let resumable = self.locked().resumable().is_some();
        resumable.then_some(self as &mut dyn Resumable)
    }
}

/// Only called of an observer that is resumable.
impl Resumable for Listener {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        self.locked().resumable().ok_or(Unsupported("be saved"))?.save()
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.locked().resumable().ok_or(Unsupported("be restored"))?.restore(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_named_without_its_paths() {
        for (long, short) in [
            ("outside::sampler::Burst", "Burst"),
            ("raddle_search::tree::TreeSearch<a::b::LastFirst>", "TreeSearch<LastFirst>"),
            ("(a::B, [c::D; 2])", "(B, [D; 2])"),
            ("u32", "u32"),
        ] {
            assert_eq!(without_paths(long), short);
        }
    }
}
