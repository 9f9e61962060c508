//! Turns: which members of a portfolio may run, and how much is left to run for all of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use raddle_engine::{Ended, Lap, Stop};
use raddle_trace::Covered;
use raddle_trace::unit::Pace;

use crate::conclusion::is_covered;
use crate::search::SearchResult;
use crate::supervisor::Control;

/// For how many executions the other members go on, together, once a member with a reduction or a cache has
/// covered all that it sees. It does not see what tasks share outside raddle's types, and may have left out an
/// execution that fails because of it; samplers leave nothing out.
pub(crate) const AFTER_REDUCTION: u64 = 500;

/// Who may run, and how much is left to run.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) state: Mutex<TurnState>,
    moved: Condvar,
    /// No member goes on.
    over: AtomicBool,
    /// Executions that no member has taken yet.
    pub(super) left: AtomicU64,
    /// An object was refused to a member, because another one had it.
    pub(super) clashed: AtomicBool,
}

#[derive(Debug)]
pub(super) struct TurnState {
    /// Who may run.
    pub(super) runs: Vec<bool>,
    /// The members that may run next, none that runs or has left: how far each has got, and which it is. The first
    /// of them has the next turn.
    pub(super) waits: BTreeSet<(u64, usize)>,
    /// Who ended it for all.
    pub(super) ended_by: Option<usize>,
    /// How many executions were left to the others when that one had ended, if they went on.
    pub(super) left_after: Option<u64>,
}

impl Turns {
    /// The first members run, the others wait, in whichever order they arrive.
    pub(super) fn new(members: usize, at_once: usize, executions: u64) -> Self {
        let runs = (0..members).map(|member| member < at_once).collect();
        let waits = (at_once..members).map(|member| (0, member)).collect();
        let state = TurnState { runs, waits, ended_by: None, left_after: None };
        Self {
            state: Mutex::new(state),
            moved: Condvar::new(),
            over: AtomicBool::new(false),
            left: AtomicU64::new(executions),
            clashed: AtomicBool::new(false),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is this member's turn, or all is over.
    pub(super) fn wait(&self, member: usize, state: MutexGuard<'_, TurnState>) {
        let waits = |state: &mut TurnState| !state.runs[member] && !self.is_over();
        drop(self.moved.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner));
    }

    /// The member has had its turn and has [got so far](Pace::reached): the next turn is that of the one that has got
    /// the least far, which may be the same member.
    pub(super) fn hand_on(&self, member: usize, reached: u64) {
        let mut state = self.state();
        if state.waits.first().is_some_and(|next| *next < (reached, member)) {
            state.waits.insert((reached, member));
            state.runs[member] = false;
            self.next_turn(&mut state);
        }
        self.wait(member, state);
    }

    fn next_turn(&self, state: &mut TurnState) {
        if let Some((_, next)) = state.waits.pop_first() {
            state.runs[next] = true;
            self.moved.notify_all();
        }
    }

    /// The member will not run again; with `ends`, none will.
    pub(super) fn leave(&self, member: usize, ends: bool) {
        let mut state = self.state();
        if ends {
            state.ended_by.get_or_insert(member);
            self.over.store(true, Ordering::Relaxed);
        }
        state.waits.retain(|(_, other)| *other != member);
        if std::mem::take(&mut state.runs[member]) {
            self.next_turn(&mut state);
        }
        self.moved.notify_all();
    }

    /// The member will not run again, and the others only for so many executions.
    pub(super) fn wind_up(&self, member: usize, executions: u64) {
        let mut state = self.state();
        if state.ended_by.is_none() {
            let before = self.left.fetch_min(executions, Ordering::Relaxed);
            (state.ended_by, state.left_after) = (Some(member), Some(before.min(executions)));
        }
        drop(state);
        self.leave(member, false);
    }

    /// No member goes on.
    pub(super) fn end(&self) {
        let _state = self.state();
        self.over.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes an execution out of what is left.
    fn take(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// The most executions of one turn.
const LONGEST_TURN: u64 = 256;
/// Turns are longer than one execution once a member has run twice as many, and so never longer than this part of
/// what it has run.
const PART: u64 = 128;

/// How many executions a member with so many behind it has in a turn. To hand on takes about as long as a short
/// execution; and whatever another member would have found meanwhile is found so much later.
pub(super) fn turn(executions: u64, pace: Pace) -> u64 {
    (executions / PART).clamp(1, LONGEST_TURN).min(pace.most(executions))
}

/// A member's place among the turns. Leaves when it is dropped, and ends all if it had not left before:
/// then its search could not go on.
pub(super) struct MemberTurns {
    pub(super) turns: Arc<Turns>,
    member: usize,
    pace: Pace,
    /// Executions of the searches that this member has ended.
    before: u64,
    /// The executions of its present search when it last asked whether to go on.
    asked_after: Option<u64>,
    /// Executions, of all its searches, after which its turn is over.
    until: u64,
    pub(super) taken: u64,
    pub(super) has_left: bool,
}

impl MemberTurns {
    pub(super) fn new(turns: Arc<Turns>, member: usize, pace: Pace) -> Self {
        Self {
            turns,
            member,
            pace,
            before: 0,
            asked_after: None,
            until: 0,
            taken: 0,
            has_left: false,
        }
    }

    /// Answers the engine.
    pub(super) fn should_stop(&mut self, control: &Control, lap: Lap) -> Stop {
        // A search that counts fewer than before is the next one of this member.
        if let Some(ended) = self.asked_after.filter(|asked| lap.executions < *asked) {
            self.before += ended;
        }
        // Only the first question after an execution comes between two of them.
        let between = self.asked_after != Some(lap.executions);
        if between {
            let executions = self.before + lap.executions;
            if self.asked_after.is_none() {
                self.turns.wait(self.member, self.turns.state());
            } else if executions >= self.until {
                self.turns.hand_on(self.member, self.pace.reached(executions));
            }
            if executions >= self.until {
                self.until = executions + turn(executions, self.pace);
            }
            self.asked_after = Some(lap.executions);
        }
        if self.turns.is_over() {
            return Stop::Search;
        }
        let stop = control.should_stop(lap);
        if between && stop == Stop::No {
            if !self.turns.take() {
                return Stop::Search;
            }
            self.taken += 1;
        }
        stop
    }

    /// The search is over. What it took and did not run is for the others.
    pub(super) fn leave(&mut self, found: &SearchResult) {
        let SearchResult { explored, covered, .. } = found;
        let unused = self.taken.saturating_sub(explored.counts.executions);
        self.turns.left.fetch_add(unused, Ordering::Relaxed);
        let is_all = matches!(
            covered,
            Covered::Everything
                | Covered::Equivalence
                | Covered::Cached { preemptions: None, .. }
                | Covered::Strata { delays: None, .. }
                | Covered::States { delays: None, depth: None, .. }
        );
        let covers = is_all && is_covered(&explored.ended, &explored.counts, covered);
        let ends = explored.failure.is_some() || matches!(explored.ended, Ended::Diverged(_));
        self.has_left = true;
        if covers && !ends && covered.rests_on_equivalence() {
            self.turns.wind_up(self.member, AFTER_REDUCTION);
        } else {
            self.turns.leave(self.member, ends || covers);
        }
    }
}

impl Drop for MemberTurns {
    fn drop(&mut self) {
        if !self.has_left {
            self.turns.leave(self.member, true);
        }
    }
}
