//! Receives on channels as events that a schedule orders, on random programs: against exhaustive search.

use std::collections::BTreeMap;
use std::sync::Arc;

use raddle_engine::observer::{Observer, ObserverNeeds, Observers};
use raddle_engine::strategy::{Cut, Event, Finished, Plan, Strategy};
use raddle_engine::{Ended, Limits, Setup, Stop, explore_observed};
use raddle_search::bita::{Bita, Schedules};
use raddle_search::receives::{
    Causality, Criterion, MustHappen, ReceiveCoverage, Received, Recording, Run,
};
use raddle_testing::Sample;
use raddle_threads::sync::mpsc::{self, Receiver, Sender};
use raddle_threads::thread::{self, JoinHandle};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Do {
    Send(usize),
    /// Receives from a channel; if the number is even, the next is sent into the other channel.
    Receive(usize, usize),
    /// Waits for the end of a thread.
    Join(usize),
}

/// The first thread starts the others, each after so many of its own ops. Each channel has one thread that receives.
#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Do>>,
    start_after: Vec<usize>,
    channels: usize,
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = raddle_trace::hash::mix(self.0);
        (self.0 >> 16) as usize % end
    }
}

impl Program {
    fn random(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let (n_threads, channels) = (3 + draw.below(2), 1 + draw.below(3));
        let receivers: Vec<usize> = (0..channels).map(|_| draw.below(n_threads)).collect();
        let mut threads = vec![Vec::new(); n_threads];
        for _ in 0..4 + draw.below(4) {
            let (thread, channel) = (draw.below(n_threads), draw.below(channels));
            threads[thread].push(Do::Send(channel));
        }
        for _ in 0..3 + draw.below(3) {
            let (channel, next) = (draw.below(channels), draw.below(channels));
            let thread: &mut Vec<Do> = &mut threads[receivers[channel]];
            let at = draw.below(thread.len() + 1);
            thread.insert(at, Do::Receive(channel, next));
        }
        if draw.below(3) == 0 {
            threads[0].insert(0, Do::Join(1 + draw.below(n_threads - 1)));
            let at = draw.below(threads[0].len());
            threads[0].swap(0, at);
        }
        let start_after = (1..n_threads).map(|_| draw.below(2)).collect();
        Self { threads, start_after, channels }
    }

    fn run(self: &Arc<Self>) {
        let (senders, receivers): (Vec<Sender<u32>>, Vec<Receiver<u32>>) =
            (0..self.channels).map(|_| mpsc::channel()).unzip();
        let mut receivers: Vec<Option<Receiver<u32>>> = receivers.into_iter().map(Some).collect();
        let mut own = |thread: usize| -> Ends {
            let takes = |op: &Do, at: usize| matches!(op, Do::Receive(from, _) if *from == at);
            let of = |at: usize| self.threads[thread].iter().any(|op| takes(op, at));
            let receivers =
                (0..self.channels).map(|at| receivers[at].take_if(|_| of(at))).collect();
            let needs = |op: &Do, at: usize| match *op {
                Do::Send(to) | Do::Receive(_, to) => to == at,
                Do::Join(_) => false,
            };
            let of = |at: usize| self.threads[thread].iter().any(|op| needs(op, at));
            let senders = senders.iter().enumerate();
            let senders = senders.map(|(at, sender)| of(at).then(|| sender.clone())).collect();
            Ends { senders, receivers }
        };
        let mut ends: Vec<Option<Ends>> =
            (0..self.threads.len()).map(|thread| Some(own(thread))).collect();
        drop((senders, receivers));
        let mine = ends[0].take().expect("made above");
        let mut handles: Vec<Option<JoinHandle<()>>> = Vec::new();
        handles.resize_with(self.threads.len(), || None);
        let start =
            |after: usize, ends: &mut [Option<Ends>], handles: &mut [Option<JoinHandle<()>>]| {
                for thread in 1..self.threads.len() {
                    if self.start_after[thread - 1] <= after
                        && let Some(ends) = ends[thread].take()
                    {
                        let program = Arc::clone(self);
                        let work = move || {
                            program.threads[thread].iter().for_each(|op| ends.act(*op));
                            ends.drain();
                        };
                        handles[thread] = Some(thread::spawn(work));
                    }
                }
            };
        for (nth, op) in self.threads[0].iter().enumerate() {
            start(nth, &mut ends, &mut handles);
            match *op {
                Do::Join(thread) => {
                    start(usize::MAX, &mut ends, &mut handles);
                    let _ = handles[thread].take().map(JoinHandle::join);
                }
                op => mine.act(op),
            }
        }
        start(usize::MAX, &mut ends, &mut handles);
        // An execution ends with its first thread, whatever the others have still to do.
        mine.drain();
        for handle in handles.into_iter().flatten() {
            let _ = handle.join();
        }
    }
}

/// The ends of channels that a thread has.
struct Ends {
    senders: Vec<Option<Sender<u32>>>,
    receivers: Vec<Option<Receiver<u32>>>,
}

impl Ends {
    fn send(&self, channel: usize, number: u32) {
        let _ = self.senders[channel].as_ref().map(|sender| sender.send(number));
    }

    /// Sends no more, and receives what is left: a message that is never received has no place in an order of receives.
    fn drain(self) {
        drop(self.senders);
        self.receivers.into_iter().flatten().for_each(|receiver| receiver.iter().for_each(drop));
    }

    fn act(&self, op: Do) {
        match op {
            Do::Send(channel) => self.send(channel, channel as u32 * 10),
            Do::Receive(channel, next) => {
                let Some(receiver) = &self.receivers[channel] else { return };
                if let Ok(number) = receiver.recv()
                    && number % 2 == 0
                {
                    self.send(next, number + 1);
                }
            }
            Do::Join(_) => {}
        }
    }
}

/// Keeps the receives of every execution.
#[derive(Default)]
struct Kept {
    recording: Recording,
    runs: Vec<Run>,
}

impl Observer for Kept {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, messages: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.recording.begin();
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        self.recording.event(event);
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.runs.push(self.recording.run().clone());
    }
}

fn search(
    strategy: &mut dyn Strategy,
    observers: Observers<'_, '_>,
    most: u64,
    body: &dyn Fn(),
) -> Ended {
    let limits = Limits { executions: most, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    explore_observed(strategy, observers, &setup, &mut |_| Stop::No, &mut |_| {}, body)
        .expect("a search can run here")
        .ended
}

/// Two messages that one execution says must be in an order in which another does not have them.
fn contradiction(run: &Run, other: &Run) -> Option<(Received, Received)> {
    let must = MustHappen::new(run, Causality::Certain);
    let places: BTreeMap<u64, usize> =
        other.received.iter().enumerate().map(|(at, received)| (received.identity, at)).collect();
    for later in 0..run.received.len() {
        for earlier in (0..later).filter(|&earlier| must.is_before(earlier, later)) {
            let place = |at: usize| places.get(&run.received[at].identity);
            if let (Some(one), Some(two)) = (place(earlier), place(later))
                && one > two
            {
                return Some((run.received[earlier].clone(), run.received[later].clone()));
            }
        }
    }
    None
}

/// Two thousand programs if there is time, else 150.
#[test]
fn schedules_of_channels_meet_new_goals_and_can_be_followed() {
    let sample = Sample::new((150, 2_000), (2_000, 5_000));
    let (mut total, mut goals, mut programs) = (Schedules::default(), [0, 0], 0);
    for seed in sample.from..sample.from + sample.programs {
        let program = Arc::new(Program::random(0xc4a_0000 + seed));
        let body = || program.run();
        let (mut kept, mut all) = (Kept::default(), ReceiveCoverage::default());
        let mut dpor = raddle_search::build("dpor", 0).expect("a strategy").strategy;
        if search(&mut *dpor, &mut [&mut kept, &mut all], sample.most, &body) == Ended::Executions {
            continue;
        }
        for run in kept.runs.iter().step_by(kept.runs.len().div_ceil(10)) {
            for other in &kept.runs {
                if let Some(pair) = contradiction(run, other) {
                    panic!("seed {seed}: {pair:#?} of {program:#?}");
                }
            }
        }
        let mut shown = ReceiveCoverage::default();
        let mut bita = Bita::new(&Criterion::ALL, seed);
        let ended = search(&mut bita, &mut [&mut shown], sample.most, &body);
        assert!(matches!(ended, Ended::Covered | Ended::Trouble(_)), "{ended:?} {program:?}");
        let Schedules { generated, infeasible, fruitless, missed, failed } = bita.schedules();
        total.generated += generated;
        total.infeasible += infeasible;
        total.fruitless += fruitless;
        total.missed += missed;
        total.failed += failed;
        goals[0] += shown.count().pr.goals;
        goals[1] += all.count().pr.goals;
        programs += 1;
        assert!(shown.count().pr.goals <= all.count().pr.goals, "seed {seed}: {program:?}");
    }
    // Of 100 schedules at most two cannot be followed. These programs have what must-happen-before does not know of: a
    // receive that finds its channel disconnected follows what the other threads did before they let go of their ends.
    // Nine of ten orders that exhaustive search shows are shown; a guard against a generator that gives goals up.
    assert!(programs > sample.programs / 2 && total.generated > 100, "{programs} {total:?}");
    assert!(total.infeasible * 50 <= total.generated, "{total:?}");
    assert!(total.missed * 50 <= total.generated, "{total:?}");
    assert!(goals[0] * 100 >= goals[1] * 90, "{goals:?}");
}
