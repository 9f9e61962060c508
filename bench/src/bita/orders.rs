//! Which orders of receives executions have shown: the measure of coverage, for searches and for threads alike.
//!
//! A pair of receives of one actor is covered when both of its orders were seen. A search tells of its receives by the
//! engine ([`Listener`]), a system on threads by the hook into its deliveries ([`Log`]).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use peer::cpu_time;
use raddle_actors::{Deliveries, RandomDelays, Transit};
use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::receive::Content;
use raddle_engine::strategy::{Cut, Event, Finished, Plan};

/// Which pairs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// One before the other.
    Pr,
    /// One directly before the other.
    Pcr,
    /// One changes the behaviour, and none between them does.
    Pbr,
}

impl Criterion {
    pub(crate) const ALL: [Self; 3] = [Self::Pr, Self::Pcr, Self::Pbr];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pr => "PR",
            Self::Pcr => "PCR",
            Self::Pbr => "PBR",
        }
    }

    /// The strategy that goes by it alone.
    pub(crate) fn strategy(self) -> &'static str {
        match self {
            Self::Pr => "bita(pr)",
            Self::Pcr => "bita(pcr)",
            Self::Pbr => "bita(pbr)",
        }
    }
}

/// A receive of an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    actor: u64,
    message: u64,
    became: bool,
}

/// The orders that were seen, by one criterion.
#[derive(Debug)]
pub(crate) struct Seen {
    criterion: Criterion,
    orders: HashSet<(u64, u64)>,
    /// Pairs of which both orders were seen.
    pub(crate) covered: usize,
}

impl Seen {
    pub(crate) fn new(criterion: Criterion) -> Self {
        Self { criterion, orders: HashSet::new(), covered: 0 }
    }

    /// Adds an execution.
    pub(crate) fn add(&mut self, receives: &[Receive]) {
        let mut actors: HashMap<u64, Vec<Receive>> = HashMap::new();
        for receive in receives {
            actors.entry(receive.actor).or_default().push(*receive);
        }
        for of_one in actors.values() {
            self.add_actor(of_one);
        }
    }

    fn add_actor(&mut self, receives: &[Receive]) {
        for (at, first) in receives.iter().enumerate() {
            for second in &receives[at + 1..] {
                let wanted = self.criterion != Criterion::Pbr || first.became || second.became;
                if wanted {
                    self.see(first.message, second.message);
                }
                let ends = match self.criterion {
                    Criterion::Pr => false,
                    Criterion::Pcr => true,
                    Criterion::Pbr => second.became,
                };
                if ends {
                    break;
                }
            }
        }
    }

    fn see(&mut self, first: u64, second: u64) {
        if self.orders.insert((first, second)) && self.orders.contains(&(second, first)) {
            self.covered += 1;
        }
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) executions: u64,
    pub(crate) time: Duration,
    pub(crate) covered: usize,
}

/// Measures a search.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) seen: Seen,
    pub(crate) curve: Vec<Point>,
    /// Of each execution: whether it showed an order that none before it had.
    pub(crate) fruitful: Vec<bool>,
    /// Whether anything was received.
    pub(crate) has_received: bool,
    begun: Duration,
    receives: Vec<Receive>,
}

impl Listener {
    pub(crate) fn new(criterion: Criterion) -> Self {
        Self {
            seen: Seen::new(criterion),
            curve: Vec::new(),
            fruitful: Vec::new(),
            has_received: false,
            begun: cpu_time(),
            receives: Vec::new(),
        }
    }
}

impl Observer for Listener {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, messages: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.receives.clear();
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        let Event::Step(step) = event else { return };
        let Some(effects) = step.effects() else { return };
        let receive = effects.receive;
        self.has_received = true;
        if matches!(receive.content, Content::Message | Content::Timer) {
            let (actor, message, became) = (receive.receiver, receive.message, effects.became);
            self.receives.push(Receive { actor, message, became });
        }
    }

    fn end(&mut self, _: &Finished<'_>) {
        let before = self.seen.orders.len();
        self.seen.add(&self.receives);
        self.fruitful.push(self.seen.orders.len() > before);
        self.curve.push(Point {
            executions: self.curve.len() as u64 + 1,
            time: cpu_time().saturating_sub(self.begun),
            covered: self.seen.covered,
        });
    }
}

/// Hears of the receives of a system on threads, and delays messages at random.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    delays: Arc<RandomDelays>,
    receives: Arc<Mutex<Vec<Receive>>>,
}

impl Log {
    pub(crate) fn new(most: Duration, seed: u64) -> Self {
        Self { delays: Arc::new(RandomDelays::new(most, seed)), receives: Arc::default() }
    }

    pub(crate) fn take(&self) -> Vec<Receive> {
        let mut receives = self.receives.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::take(&mut receives)
    }
}

impl Deliveries for Log {
    fn delay(&self, transit: &Transit) -> Duration {
        self.delays.delay(transit)
    }

    fn handled(&self, transit: &Transit, became: bool) {
        let (actor, message) = (transit.receiver, transit.message);
        let mut receives = self.receives.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        receives.push(Receive { actor, message, became });
    }
}

/// Adds an execution on threads to a curve.
pub(crate) fn add_point(
    seen: &mut Seen,
    curve: &mut Vec<Point>,
    begun: Instant,
    receives: &[Receive],
) {
    seen.add(receives);
    let (executions, time) = (curve.len() as u64 + 1, begun.elapsed());
    curve.push(Point { executions, time, covered: seen.covered });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(criterion: Criterion, executions: &[&[u64]]) -> usize {
        let mut seen = Seen::new(criterion);
        for execution in executions {
            // What is above 100 changes the behaviour.
            let receive = |&message| Receive { actor: 0, message, became: message > 100 };
            seen.add(&execution.iter().map(receive).collect::<Vec<_>>());
        }
        seen.covered
    }

    // The paper's example: three receives have six orders.
    #[test]
    fn two_schedules_cover_three_receives_by_pairs_and_not_by_consecutive_ones() {
        let two: [&[u64]; 2] = [&[1, 2, 3], &[3, 2, 1]];
        assert_eq!((covered(Criterion::Pr, &two), covered(Criterion::Pcr, &two)), (3, 2));
        let four: [&[u64]; 4] = [&[1, 2, 3], &[3, 2, 1], &[2, 1, 3], &[3, 1, 2]];
        assert_eq!(covered(Criterion::Pcr, &four), 3);
    }

    #[test]
    fn a_change_of_behaviour_hides_what_is_behind_it() {
        assert_eq!(covered(Criterion::Pbr, &[&[1, 101, 102], &[101, 1, 102]]), 1);
        assert_eq!(covered(Criterion::Pbr, &[&[1, 101, 102], &[102, 101, 1]]), 2);
        assert_eq!(covered(Criterion::Pbr, &[&[1, 2], &[2, 1]]), 0);
    }

    #[test]
    fn receives_of_two_actors_are_no_pair() {
        let mut seen = Seen::new(Criterion::Pr);
        let receive = |actor, message| Receive { actor, message, became: false };
        seen.add(&[receive(1, 1), receive(2, 2)]);
        seen.add(&[receive(2, 2), receive(1, 1)]);
        assert_eq!(seen.covered, 0);
    }
}
