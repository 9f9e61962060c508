//! A model whose states a strategy searches: see [`raddle_engine::states`].
//!
//! States stay on the thread that made them, and a strategy may be moved between threads. So the search runs on a thread
//! of its own, which waits after every few thousand states until it is told to go on.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use raddle_engine::states::{
    AskedStates, CannotSearch, FoundStates, FoundViolation, SavedStates, StateOrder, StateProgress,
    StateSearch, StateSpace,
};
use raddle_trace::StateKey;

use super::report::{Refused, Searched, Stopped, Visited};
use super::saved::{Listener, Wish};
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
        let mut states = Self { saved: asked.saved, ..states.threads(asked.threads) };
        if let Some(bytes) = asked.bytes {
            states.bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        states.depth = asked.depth;
        Ok(states)
    }
}

impl<S: Send + Sync + 'static> StateSpace for Offered<S> {
    fn search(
        &self,
        asked: &AskedStates,
        from: Option<SavedStates>,
    ) -> Result<Box<dyn StateSearch>, String> {
        let states = States::asked(asked)?;
        let model = self.0.clone();
        let (says, told) = sync_channel(0);
        let (wishes, heard) = sync_channel(0);
        let run = move || {
            let mut speaker = Speaker { says, heard };
            let result = model.search_from(&states, from, &mut speaker);
            if let Ok(searched) = &result {
                model.reach(searched);
            }
            let _ = speaker.says.send(Said::Over(result.map(Box::new)));
        };
        let thread = std::thread::Builder::new().name("raddle states".to_owned()).spawn(run);
        let thread = thread.map_err(|error| format!("no thread could be started: {error}"))?;
        let (told, wishes) = (Some(told), Some(wishes));
        Ok(Box::new(Running { told, wishes, thread: Some(thread), last: None, over: None }))
    }
}

/// What the searching thread says.
enum Said {
    Visited(Visited),
    Saved(Option<Box<SavedStates>>),
    Over(Result<Box<Searched>, Refused>),
}

/// The searching thread's end.
struct Speaker {
    says: SyncSender<Said>,
    heard: Receiver<Wish>,
}

impl Speaker {
    /// The other end is gone if nothing more is wanted.
    fn say(&self, said: Said) -> Wish {
        let wish = self.says.send(said).ok().and_then(|()| self.heard.recv().ok());
        wish.unwrap_or(Wish::Stop)
    }
}

impl Listener for Speaker {
    fn visited(&mut self, visited: Visited) -> Wish {
        self.say(Said::Visited(visited))
    }

    fn saved(&mut self, saved: Option<Box<SavedStates>>) -> Wish {
        self.say(Said::Saved(saved))
    }
}

/// A search on its thread.
struct Running {
    /// Both are gone once it is to end.
    told: Option<Receiver<Said>>,
    wishes: Option<SyncSender<Wish>>,
    thread: Option<JoinHandle<()>>,
    /// How far it was when it stopped to be told to go on.
    last: Option<Visited>,
    /// How it ended, if that was heard before it was asked for.
    over: Option<Result<Box<Searched>, Refused>>,
}

impl Running {
    /// What the searching thread says next, after a wish if it waits for one. `None`: it has panicked, or was ended.
    fn hear(&mut self, wish: Wish) -> Option<Said> {
        let (told, wishes) = (self.told.as_ref()?, self.wishes.as_ref()?);
        if self.last.is_some() {
            let _ = wishes.send(wish);
        }
        told.recv().ok()
    }
}

impl StateSearch for Running {
    fn advance(&mut self) -> Result<Option<FoundStates>, CannotSearch> {
        let said = match self.over.take() {
            Some(result) => Some(Said::Over(result)),
            None => self.hear(Wish::GoOn),
        };
        match said {
            Some(Said::Visited(visited)) => {
                self.last = Some(visited);
                Ok(None)
            }
            Some(Said::Over(Ok(searched))) => Ok(Some(found(&searched))),
            Some(Said::Over(Err(Refused { why, mistaken }))) => Err(CannotSearch { why, mistaken }),
            Some(Said::Saved(_)) | None => {
                let why = "the thread that searched them has panicked".to_owned();
                Err(CannotSearch { why, mistaken: false })
            }
        }
    }

    fn progress(&self) -> StateProgress {
        self.last.map_or(StateProgress::default(), |visited| StateProgress {
            unique: visited.unique,
            waiting: visited.waiting,
            bytes: visited.bytes as u64,
        })
    }

    fn save(&mut self) -> Option<SavedStates> {
        if self.over.is_some() {
            return None;
        }
        loop {
            match self.hear(Wish::Save)? {
                // It had not waited for a wish yet.
                Said::Visited(visited) => self.last = Some(visited),
                Said::Saved(saved) => return saved.map(|saved| *saved),
                Said::Over(result) => {
                    self.over = Some(result);
                    return None;
                }
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        (self.told, self.wishes) = (None, None);
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
    let &Searched { unique, transitions, finals, depth, keys, .. } = searched;
    let different = match keys {
        StateKey::State => format!("{unique} different ones, {finals} of them final"),
        keys => format!("{unique} different {}, {finals} final", keys.noun(unique)),
    };
    let stopped = searched.stopped.limit().map(|limit| format!("; stopped by {limit}"));
    let summary = format!(
        "states were searched by `{}`: {different}; {transitions} steps, depth {depth}{}",
        searched.strategy,
        stopped.unwrap_or_default()
    );
    FoundStates {
        covered: searched.guarantee.covered,
        ended: matches!(searched.stopped, Stopped::Covered | Stopped::Violated | Stopped::Delays),
        violation,
        summary,
    }
}
