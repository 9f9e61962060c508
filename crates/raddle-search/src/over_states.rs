//! Searches over states as strategies: `states(bfs)`, `states(dfs)`, and `strata(…)` of a model.
//!
//! The first execution is an ordinary one. If the test runs a model in it whose states can be copied, and nothing is
//! decided besides, the states are searched between that execution and the next: by the frontend, which knows them. A
//! violation is then run as an ordinary execution, with its schedule, trace and token. If there is no such model, the
//! search goes by executions instead, as its fallback does, and says why.
//!
//! What was saved goes on in the same way: the states are offered again in an execution that does not count.

use std::fmt;
use std::sync::Arc;

use raddle_engine::states::{
    AskedStates, CannotSearch, FoundStates, SavedStates, StateSearch, StateSpace,
};
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Divisible, Estimating, Event, Finished, Needs, Plan, Point, Remarks,
    Resumable, SearchPart, Stateful, Strategy, Unsupported,
};
use raddle_trace::{Covered, Note, Progress};
use serde::{Deserialize, Serialize};

use crate::state;

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// Before or in the first execution, with the model that it has run.
    Asking(Option<Offer>),
    /// It was restored: before or in the execution that offers the states again. Without what was saved, the states are
    /// searched from the first on.
    Resuming(Option<Box<SavedStates>>, Option<Offer>),
    /// The states can be searched, and will be before the next execution: from the first on, or from what was saved.
    Ready(Arc<dyn StateSpace>, Option<Box<SavedStates>>),
    /// `resumed`: it goes on with what was saved.
    Searching { search: Box<dyn StateSearch>, resumed: bool },
    /// Whether the violation was run, if there is one.
    Found(Box<FoundStates>, bool),
    /// By executions, because of this; empty if that need not be said.
    Fallback(String),
    /// It could not go on, because of this; `mistaken`: because what it was given is wrong.
    Trouble { why: String, mistaken: bool },
}

/// A model that the first execution has run.
#[derive(Debug)]
struct Offer {
    space: Arc<dyn StateSpace>,
    /// Whether it was the only one, and nothing was decided before it.
    alone: bool,
    /// How many decisions there were when it ended.
    until: Option<usize>,
}

impl Offer {
    /// What can be searched, unless something else was decided in the execution, which had so many decisions.
    fn alone(self, decisions: usize) -> Option<Arc<dyn StateSpace>> {
        (self.alone && self.until == Some(decisions)).then_some(self.space)
    }
}

/// How far it was when it was saved.
#[derive(Serialize, Deserialize)]
enum SavedStage {
    /// Before the first execution.
    Asking,
    /// After it; none of the states is known.
    Offered,
    Searching(Box<SavedStates>),
    Found(Box<FoundStates>, bool),
    /// By executions, because of this; and the state of that search.
    Fallback(String, Vec<u8>),
}

/// A search over states, or over executions where there are no states.
pub struct OverStates {
    asked: AskedStates,
    fallback: Box<dyn Strategy>,
    fallback_name: String,
    /// Its own name, by which what it saves is known.
    name: String,
    /// Whether states are what was asked for, and not only the better way.
    insists: bool,
    stage: Stage,
}

impl fmt::Debug for OverStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, stage, .. } = self;
        f.debug_struct("OverStates").field("asked", asked).field("stage", stage).finish()
    }
}

impl OverStates {
    /// Searches states as it is asked, or executions as `fallback` does, which has this name. A test without a model
    /// has no states, which is said in the report.
    #[must_use]
    pub fn new(asked: AskedStates, fallback: Box<dyn Strategy>, fallback_name: String) -> Self {
        let name = format!("states {asked:?} {fallback_name}");
        Self { asked, fallback, fallback_name, name, insists: true, stage: Stage::Asking(None) }
    }

    /// The same, but of a test without a model nothing is said.
    #[must_use]
    pub fn where_there_are(
        asked: AskedStates,
        fallback: Box<dyn Strategy>,
        fallback_name: String,
    ) -> Self {
        Self { insists: false, ..Self::new(asked, fallback, fallback_name) }
    }

    /// The same, with at most about so many bytes for states.
    #[must_use]
    pub fn within(mut self, bytes: Option<u64>) -> Self {
        self.asked.bytes = bytes;
        self
    }

    fn sealed(&self, stage: &SavedStage) -> Checkpoint {
        state::write(&self.name, stage)
    }

    /// Whether executions are those of the fallback.
    fn falls_back(&self) -> bool {
        matches!(self.stage, Stage::Asking(_) | Stage::Ready(..) | Stage::Fallback(_))
    }
}

impl Stateful for OverStates {
    fn offered(&mut self, space: Arc<dyn StateSpace>, decisions: usize) {
        if let Stage::Asking(offer) | Stage::Resuming(_, offer) = &mut self.stage {
            let alone = offer.is_none() && decisions == 0;
            *offer = Some(Offer { space, alone, until: None });
        }
    }

    fn over(&mut self, decisions: usize) {
        if let Stage::Asking(Some(offer)) | Stage::Resuming(_, Some(offer)) = &mut self.stage {
            offer.until = Some(decisions);
        }
    }

    fn work(&mut self) -> bool {
        let stage = match &mut self.stage {
            Stage::Ready(space, saved) => {
                let resumed = saved.is_some();
                match space.search(&self.asked, saved.take().map(|saved| *saved)) {
                    Ok(search) => Stage::Searching { search, resumed },
                    Err(why) => Stage::Fallback(why),
                }
            }
            Stage::Searching { search, resumed } => match search.advance() {
                Ok(None) => return true,
                Ok(Some(found)) => Stage::Found(Box::new(found), false),
                // By executions the same explorer would be asked.
                Err(CannotSearch { why, mistaken: true }) => Stage::Trouble { why, mistaken: true },
                // What was done before is not to be lost.
                Err(CannotSearch { why, .. }) if *resumed => {
                    Stage::Trouble { why, mistaken: false }
                }
                Err(CannotSearch { why, .. }) => Stage::Fallback(why),
            },
            _ => return false,
        };
        self.stage = stage;
        matches!(self.stage, Stage::Searching { .. })
    }

    fn expect_saving(&mut self) {
        self.asked.saved = true;
    }

    fn executions_are_apart(&mut self) {
        if let Stage::Asking(_) = self.stage {
            let why = "each execution runs in a process of its own, and states would be searched in this one; leave out \
                       `isolation` to search them";
            let why = if self.insists { why } else { "" };
            self.stage = Stage::Fallback(why.to_owned());
        }
    }

    fn wants_offer(&self) -> bool {
        matches!(self.stage, Stage::Resuming(..))
    }

    fn offered_again(&mut self, decisions: usize) {
        if let Stage::Resuming(saved, offer) = &mut self.stage {
            self.stage = match offer.take().and_then(|offer| offer.alone(decisions)) {
                Some(space) => Stage::Ready(space, saved.take()),
                None => Stage::Trouble { why: state::STRAYED.to_owned(), mistaken: false },
            };
        }
    }
}

impl Strategy for OverStates {
    fn needs(&self) -> Needs {
        self.fallback.needs()
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        let found = match &mut self.stage {
            Stage::Found(found, was_run) => (found, was_run),
            Stage::Trouble { .. } => return false,
            _ => return self.fallback.begin(plan),
        };
        let (FoundStates { violation: Some(violation), .. }, was_run) = (&**found.0, found.1)
        else {
            return false;
        };
        let what = &violation.what;
        match &violation.decisions {
            Some(decisions) if !*was_run => {
                plan.prefix.clone_from(decisions);
                *was_run = true;
                return true;
            }
            Some(_) => {
                let why = format!(
                    "the search over states found that {what}, and the execution that repeats it does not \
                     fail: the test does something besides running its model"
                );
                self.stage = Stage::Trouble { why, mistaken: false };
            }
            None => {
                let why = format!(
                    "the search over states found that {what}, and no execution repeats it: handlers use \
                     something besides their state, their message and their context"
                );
                self.stage = Stage::Trouble { why, mistaken: false };
            }
        }
        false
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if self.falls_back() { self.fallback.decide(point) } else { Answer::Take(0) }
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if self.falls_back() { self.fallback.step(event) } else { None }
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if self.falls_back() {
            self.fallback.end(execution);
        }
        if let Stage::Asking(offer) = &mut self.stage {
            self.stage = match offer.take().map(|offer| offer.alone(execution.decisions.len())) {
                Some(Some(space)) => Stage::Ready(space, None),
                Some(None) => Stage::Fallback(
                    "the test decides something besides what its model does, or runs several models"
                        .to_owned(),
                ),
                None if self.insists => {
                    Stage::Fallback("the test runs no raddle_actors::Model".to_owned())
                }
                None => Stage::Fallback(String::new()),
            };
        }
    }

    fn covered(&self) -> Covered {
        match &self.stage {
            Stage::Found(found, _) => found.covered,
            Stage::Searching { search, .. } => {
                Covered::SomeStates { unique: search.progress().unique, keys: self.asked.keys() }
            }
            Stage::Ready(..) | Stage::Resuming(..) | Stage::Trouble { .. } => {
                Covered::SomeStates { unique: 0, keys: self.asked.keys() }
            }
            Stage::Asking(_) | Stage::Fallback(_) => self.fallback.covered(),
        }
    }

    fn remarks(&self) -> Remarks {
        let note = |text: String| vec![Note::Text { text }];
        match &self.stage {
            Stage::Fallback(why) => {
                let mut remarks = self.fallback.remarks();
                if !why.is_empty() {
                    remarks.notes.extend(note(format!(
                        "states were not searched, but executions, by `{}`: {why}",
                        self.fallback_name
                    )));
                }
                remarks
            }
            Stage::Found(found, _) if !found.ended && found.violation.is_none() => {
                let unfinished = Some(format!("{}; a limit was reached", found.summary));
                Remarks { unfinished, ..Remarks::default() }
            }
            Stage::Found(found, _) => {
                Remarks { notes: note(found.summary.clone()), ..Remarks::default() }
            }
            Stage::Trouble { why, mistaken } => {
                let unfinished = Some(why.clone());
                Remarks { notes: Vec::new(), unfinished, mistaken: *mistaken }
            }
            Stage::Asking(_) | Stage::Resuming(..) | Stage::Ready(..) | Stage::Searching { .. } => {
                self.fallback.remarks()
            }
        }
    }

    fn stateful(&mut self) -> Option<&mut dyn Stateful> {
        Some(self)
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

impl Divisible for OverStates {
    fn split(&mut self, n: usize) -> Result<Vec<SearchPart>, Unsupported> {
        let Stage::Fallback(why) = &self.stage else {
            return Err(Unsupported("be split while it goes from state to state"));
        };
        let why = why.clone();
        let parts = self.fallback.split(n)?;
        let sealed = |work: SearchPart| {
            let state = self.sealed(&SavedStage::Fallback(why.clone(), work.state.0));
            SearchPart { state, ..work }
        };
        Ok(parts.into_iter().map(sealed).collect())
    }

    // Where it goes from state to state it is one part, so it is not run in units.
    fn parts(&self) -> usize {
        1
    }

    fn claim(&self) -> Covered {
        self.covered()
    }
}

impl Estimating for OverStates {
    fn progress(&self) -> Progress {
        match &self.stage {
            Stage::Searching { search, .. } => {
                let progress = search.progress();
                let (pending, frontier_bytes) = (progress.waiting, progress.bytes);
                Progress { pending, frontier_bytes, ..Progress::default() }
            }
            Stage::Asking(_) | Stage::Fallback(_) => self.fallback.progress(),
            Stage::Resuming(..) | Stage::Ready(..) | Stage::Found(..) | Stage::Trouble { .. } => {
                Progress::default()
            }
        }
    }
}

impl Resumable for OverStates {
    /// A search over states that was not [told](Stateful::expect_saving) before it began keeps no ways: then the states are
    /// searched anew.
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let saved = |saved: &Option<Box<SavedStates>>| {
            saved.clone().map_or(SavedStage::Offered, SavedStage::Searching)
        };
        let stage = match &mut self.stage {
            Stage::Asking(_) => SavedStage::Asking,
            Stage::Resuming(states, _) | Stage::Ready(_, states) => saved(states),
            Stage::Searching { search, .. } => saved(&search.save().map(Box::new)),
            Stage::Found(found, was_run) => SavedStage::Found(found.clone(), *was_run),
            Stage::Fallback(why) => SavedStage::Fallback(why.clone(), self.fallback.save()?.0),
            Stage::Trouble { .. } => {
                return Err(Unsupported("be saved: it could not go on"));
            }
        };
        Ok(self.sealed(&stage))
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        self.stage = match state::read(&self.name, state)? {
            SavedStage::Asking => Stage::Asking(None),
            SavedStage::Offered => Stage::Resuming(None, None),
            SavedStage::Searching(saved) => Stage::Resuming(Some(saved), None),
            SavedStage::Found(found, was_run) => Stage::Found(found, was_run),
            SavedStage::Fallback(why, state) => {
                self.fallback.restore(&Checkpoint(state))?;
                Stage::Fallback(why)
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::states::{FoundViolation, StateOrder, StateProgress};
    use raddle_trace::{Gaps, Outcome};

    use super::*;
    use crate::expansion::all::DepthFirst;

    /// Finds at once what it is made with.
    struct Fake(Option<FoundViolation>);

    impl StateSpace for Fake {
        fn search(
            &self,
            _: &AskedStates,
            _: Option<SavedStates>,
        ) -> Result<Box<dyn StateSearch>, String> {
            Ok(Box::new(Self(self.0.clone())))
        }
    }

    impl StateSearch for Fake {
        fn advance(&mut self) -> Result<Option<FoundStates>, CannotSearch> {
            let (unique, parts, dropped) = (7, 2, 0);
            let (depth, delays, keys) = (None, None, asked().keys());
            let covered = Covered::States { unique, parts, depth, dropped, delays, keys };
            let summary = "7 states".to_owned();
            Ok(Some(FoundStates { covered, ended: true, violation: self.0.clone(), summary }))
        }

        fn progress(&self) -> StateProgress {
            StateProgress::default()
        }

        fn save(&mut self) -> Option<SavedStates> {
            None
        }
    }

    fn finished<'a>() -> Finished<'a> {
        Finished {
            outcome: &Outcome::Completed,
            decisions: &[],
            steps: 1,
            tasks: 1,
            stuck: &[],
            cut: None,
            yielded: false,
            gaps: Gaps::default(),
        }
    }

    fn asked() -> AskedStates {
        let order = StateOrder::BreadthFirst;
        AskedStates { order, depth: None, threads: 1, bytes: None, saved: false }
    }

    /// After the first execution, which has run a model that finds this, and after the search over its states.
    fn after(violation: Option<&FoundViolation>, several: bool) -> OverStates {
        let asked = asked();
        let fallback = Box::new(DepthFirst::default());
        let mut search = OverStates::new(asked, fallback, "dfs".to_owned());
        assert!(search.begin(&mut Plan::default()));
        for _ in 0..=u8::from(several) {
            search.offered(Arc::new(Fake(violation.cloned())), 0);
            search.over(0);
        }
        search.end(&finished());
        while search.work() {}
        search
    }

    fn wrong(decisions: Option<Vec<u32>>) -> FoundViolation {
        FoundViolation { what: "it is wrong".to_owned(), decisions }
    }

    #[test]
    fn what_was_covered_is_what_the_search_over_states_says() {
        let mut search = after(None, false);
        assert!(!search.begin(&mut Plan::default()));
        assert!(matches!(search.covered(), Covered::States { unique: 7, .. }));
        assert_eq!(search.remarks().unfinished, None);
    }

    #[test]
    fn a_violation_is_run_once_and_one_that_does_not_show_is_no_pass() {
        let mut search = after(Some(&wrong(Some(vec![1, 0]))), false);
        let mut plan = Plan::default();
        assert!(search.begin(&mut plan));
        assert_eq!(plan.prefix, [1, 0]);
        // The execution passes: then it is not what was found.
        search.end(&finished());
        assert!(!search.begin(&mut plan));
        assert!(search.remarks().unfinished.is_some_and(|why| why.contains("it is wrong")));
        assert!(matches!(search.covered(), Covered::SomeStates { unique: 0, .. }));
        let mut search = after(Some(&wrong(None)), false);
        assert!(!search.begin(&mut plan));
        assert!(matches!(search.covered(), Covered::SomeStates { unique: 0, .. }));
    }

    #[test]
    fn states_of_one_of_several_models_are_not_those_of_the_test() {
        let search = after(None, true);
        assert!(search.remarks().notes.iter().any(|note| {
            matches!(note, Note::Text { text } if text.contains("several models"))
        }));
        assert!(!matches!(search.covered(), Covered::States { .. }));
    }
}
