//! A partial schedule that is given: executions that are forced along it.

use raddle_engine::strategy::{
    Answer, Cut, Event, Finished, Needs, Plan, Point, Remarks, Strategy,
};
use raddle_trace::{Covered, Note, PartialSchedule};

use super::forcing::{Forcing, Wanted};
use crate::receives::Recording;
use crate::rng::Rng;

/// Executions for one schedule: what it does not say is drawn anew in each.
const EXECUTIONS: u64 = 10;

/// Runs a few executions along a partial schedule; what that leaves open is drawn.
#[derive(Debug)]
pub struct Given {
    schedule: PartialSchedule,
    rng: Rng,
    recording: Recording,
    forcing: Forcing,
    executions: u64,
    /// Of the executions that did not follow it to its end: how many, and how far the last one came.
    released: (u64, usize),
}

impl Given {
    /// Of this schedule.
    #[must_use]
    pub fn new(schedule: PartialSchedule, seed: u64) -> Self {
        Self {
            schedule,
            rng: Rng::new(seed),
            recording: Recording::default(),
            forcing: Forcing::default(),
            executions: 0,
            released: (0, 0),
        }
    }
}

impl Strategy for Given {
    fn needs(&self) -> Needs {
        Needs { steps: true, plans: false, messages: true, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.recording.begin();
        self.forcing = Forcing::new(Wanted::all(&self.schedule));
        self.executions < EXECUTIONS
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        Answer::Take(self.forcing.decide(point, &mut self.rng))
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        let received = self.recording.event(event).map(|(received, _)| received);
        self.forcing.heard(event, received);
        None
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
        let (followed, is_whole) = self.forcing.followed();
        if !is_whole {
            self.released = (self.released.0 + 1, followed);
        }
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.executions, bound: None }
    }

    fn remarks(&self) -> Remarks {
        let (released, followed) = self.released;
        let text = format!(
            "{released} of {} executions did not follow the schedule `{}` to its end: the last one was released \
             after {followed} of {} receives, because the next message was not there to be received",
            self.executions,
            self.schedule.name,
            self.schedule.receives.len(),
        );
        let notes = if released > 0 { vec![Note::Text { text }] } else { Vec::new() };
        Remarks { notes, ..Remarks::default() }
    }
}
