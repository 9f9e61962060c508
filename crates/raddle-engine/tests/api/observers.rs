//! What listens to a search and decides nothing.

use raddle_engine::observer::ObserverNeeds;
use raddle_engine::rt::{Spawn, choose, spawn};
use raddle_engine::strategy::{Cut, Event, Finished};
use raddle_engine::{Explored, Observer, Setup, Stop, explore_observed};

use crate::primitive::Semaphore;
use crate::{Every, explored};

#[derive(Debug, Default, PartialEq)]
struct Heard {
    events: bool,
    steps: u64,
    values: u64,
    spawned: u64,
    ends: u64,
}

impl Observer for Heard {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: self.events, ..ObserverNeeds::default() }
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        match event {
            Event::Step(_) => self.steps += 1,
            Event::Value { .. } => self.values += 1,
            Event::Spawn { .. } => self.spawned += 1,
            Event::Unasked { .. } | Event::Passed { .. } | Event::Actor(_) => {}
        }
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.ends += 1;
    }
}

/// A step of the body and one of another task, in 2 orders, and after them one of three values: 6 executions.
fn body() {
    let semaphore = std::sync::Arc::new(Semaphore::new(2));
    let theirs = std::sync::Arc::clone(&semaphore);
    let other = spawn(Spawn::default(), move || theirs.take());
    semaphore.take();
    other.join().expect("no panic");
    let _ = choose(3);
}

fn watched(observer: &mut Heard) -> Explored {
    let (setup, strategy) = (Setup::default(), &mut Every::default());
    explore_observed(strategy, &mut [observer], &setup, &mut |_| Stop::No, &mut |_| {}, &body)
        .expect("a search can run here")
}

#[test]
fn observers_hear_of_every_execution_and_change_none() {
    let alone = explored(&Setup::default(), &body);
    let mut all = Heard { events: true, ..Heard::default() };
    let watched_all = watched(&mut all);
    assert_eq!((&watched_all.counts, &watched_all.ended), (&alone.counts, &alone.ended));
    assert_eq!(watched_all.counts.executions, 6);
    let steps = watched_all.counts.steps;
    assert_eq!(all, Heard { events: true, steps, values: 6, spawned: 6, ends: 6 });
    // One that needs no events is told of the ends alone.
    let mut ends = Heard::default();
    assert_eq!(watched(&mut ends).counts, alone.counts);
    assert_eq!(ends, Heard { ends: 6, ..Heard::default() });
}
