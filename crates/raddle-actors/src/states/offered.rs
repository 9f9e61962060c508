//! A model whose states a strategy searches: see [`raddle_engine::states`].
//!
//! States stay on the thread that made them, and a strategy may be moved between threads. So the search runs on a thread
//! of its own, which waits after every few thousand states until it is told to go on.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use raddle_engine::states::{
    AskedStates, CannotSearch, FoundStates, FoundViolation, StateOrder, StateProgress, StateSearch,
    StateSpace,
};

use super::report::{Refused, Searched, Stopped, Visited};
use super::{Order, States};
use crate::model::Model;

/// A model, as it is offered to a strategy.
pub(crate) struct Offered<S>(pub(crate) Model<S>);

impl States {
    /// As a strategy asks for it.
    fn asked(asked: &AskedStates) -> Result<Self, String> {
        let states = match &asked.order {
            StateOrder::BreadthFirst => Self::breadth_first(),
            StateOrder::DepthFirst => Self { order: Order::DepthFirst, ..Self::breadth_first() },
            StateOrder::Strata { explorer, exact, increment, delays } => {
                let states = Self::strata(explorer.clone()).increment(*increment);
                let states = if *exact { states.exact() } else { states };
                delays.map_or(states.clone(), |delays| states.delays(delays))
            }
            other => return Err(format!("there is no such search over states: {other:?}")),
        };
        let states = states.threads(asked.threads);
        Ok(asked.depth.map_or(states.clone(), |depth| states.depth(depth)))
    }
}

impl<S: Send + Sync + 'static> StateSpace for Offered<S> {
    fn search(&self, asked: &AskedStates) -> Result<Box<dyn StateSearch>, String> {
        let states = States::asked(asked)?;
        let model = self.0.clone();
        let (says, told) = sync_channel(0);
        let (go_on, goes_on) = sync_channel(0);
        let run = move || {
            let mut told_of = |visited| {
                // The other end is gone if nothing more is wanted.
                says.send(Said::Visited(visited)).is_ok() && goes_on.recv().is_ok()
            };
            let result = model.search_while(&states, &mut told_of);
            if let Ok(searched) = &result {
                model.reach(searched);
            }
            let _ = says.send(Said::Over(result.map(Box::new)));
        };
        let thread = std::thread::Builder::new().name("raddle states".to_owned()).spawn(run);
        let thread = thread.map_err(|error| format!("no thread could be started: {error}"))?;
        let (told, go_on) = (Some(told), Some(go_on));
        Ok(Box::new(Running { told, go_on, thread: Some(thread), last: None }))
    }
}

/// What the searching thread says.
enum Said {
    Visited(Visited),
    Over(Result<Box<Searched>, Refused>),
}

/// A search on its thread.
struct Running {
    /// Both are gone once it is to end.
    told: Option<Receiver<Said>>,
    go_on: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// How far it was when it stopped to be told to go on.
    last: Option<Visited>,
}

impl StateSearch for Running {
    fn advance(&mut self) -> Result<Option<FoundStates>, CannotSearch> {
        let cannot = |why: &str| Err(CannotSearch { why: why.to_owned(), mistaken: false });
        let (Some(told), Some(go_on)) = (&self.told, &self.go_on) else {
            return cannot("it has ended");
        };
        if self.last.is_some() {
            let _ = go_on.send(());
        }
        match told.recv() {
            Ok(Said::Visited(visited)) => {
                self.last = Some(visited);
                Ok(None)
            }
            Ok(Said::Over(Ok(searched))) => Ok(Some(found(&searched))),
            Ok(Said::Over(Err(Refused { why, mistaken }))) => Err(CannotSearch { why, mistaken }),
            Err(_) => cannot("the thread that searched them has panicked"),
        }
    }

    fn progress(&self) -> StateProgress {
        self.last.map_or(StateProgress::default(), |visited| StateProgress {
            unique: visited.unique,
            waiting: visited.waiting,
            bytes: visited.bytes as u64,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        (self.told, self.go_on) = (None, None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn found(searched: &Searched) -> FoundStates {
    let violation = searched.violation.as_ref().map(|violation| {
        let decisions = violation.failure.as_ref().map(|_| violation.options.clone());
        FoundViolation { what: violation.what.clone(), decisions }
    });
    let Searched { unique, transitions, finals, depth, .. } = searched;
    let summary = format!(
        "states were searched by `{}`: {unique} different ones, {finals} of them final; {transitions} steps, \
         depth {depth}",
        searched.strategy
    );
    FoundStates {
        covered: searched.guarantee.covered,
        ended: matches!(searched.stopped, Stopped::Covered | Stopped::Violated | Stopped::Delays),
        violation,
        summary,
    }
}
