//! Every strategy of the registry: stopped, saved and restored anywhere, it runs what it would have run.

use raddle_engine::observer::{self, Audience, Observer, Paused};
use raddle_engine::strategy::{Checkpoint, Cut, Plan, Resumable, Strategy, Unsupported};
use raddle_trace::{Carried, Counts, Covered, Progress};

use super::{Arguments, PRIORITIES, REGISTRY, Role, Status, build};
use crate::coverage::PairCoverage;
use crate::hapset::Metric;
use crate::rng::Rng;
use crate::toy::{self, Moves, Op, Toy};
use crate::traces::TraceCounter;

/// Compositions in which every name that is here stands at least once, all of its forms.
pub(crate) fn compositions() -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |text: String| all.push(text);
    for entry in REGISTRY.iter().filter(|entry| entry.status == Status::Here) {
        let name = entry.name;
        match (entry.role, entry.arguments) {
            (Role::Sampler | Role::Search, _) | (Role::Expansion, Arguments::None) => {
                add(name.to_owned());
                let settings: &[&str] = match name {
                    "strata" => &[
                        "rtc, exact",
                        "rr, cache(5), refuse",
                        "prr, exact, increment(2)",
                        "rr, then-sample(300)",
                    ],
                    "states" => &["bfs", "dfs"],
                    "strata-sample" => &["rtc, c1(2), c2(2)", "prr(3)"],
                    _ => &[],
                };
                for settings in settings {
                    add(format!("{name}({settings})"));
                }
            }
            (Role::Expansion, Arguments::OneOf(words)) => {
                for word in words {
                    add(format!("{name}({word})"));
                }
            }
            (Role::Expansion, _) => {
                let trained = ["dpor, train(4)", "all, calls(0)", "dpor, widen"];
                for over in ["dpor", "all", "preemptions(1)"].into_iter().chain(trained) {
                    add(format!("{name}({over})"));
                }
            }
            (Role::Frontier, Arguments::Parts(_)) => {
                for priority in PRIORITIES {
                    let brackets = match priority.name {
                        "sum" => "(2, pb, 1, mdpor)",
                        "method" | "var" => "(anything)",
                        _ => "",
                    };
                    add(format!("all {name}({}{brackets})", priority.name));
                }
                add(format!("all {name}(mdpor, pb) preemptions(1)"));
                add(format!("dpor(source) {name}(pb)"));
                add(format!("dpor(classic) {name}(pb)"));
                add(format!("dpor(classic) {name}(rare) mixed"));
                add(format!("dpor(source) {name}(rare) pos"));
            }
            (Role::Frontier | Role::Order, _) => {
                if entry.role == Role::Frontier {
                    add(format!("dpor(source) {name}"));
                    add(format!("dpor(classic) {name}"));
                }
                add(format!("all {name}"));
                add(format!("all breadth-first {name}").replace("first breadth-first", "first"));
            }
            (Role::Bound, _) => {
                add(format!("dfs {name}(1)"));
                add(format!("all random {name}(1)"));
                add(format!("dpor {name}(1)"));
            }
            (Role::Cache, _) => {
                add(format!("dfs {name}"));
                add(format!("dfs {name}(5)"));
                add(format!("dfs preemptions(1) {name}"));
                add(format!("dfs delays(1) rtc {name}(5)"));
                add(format!("all best-first(pb) {name}(5)"));
                add(format!("all random {name}"));
            }
            (Role::Probes, _) => {
                add(format!("dfs {name}(2)"));
                add(format!("dpor {name}(3)"));
            }
            (role, _) => panic!("say here how a {role} is written: {name}"),
        }
    }
    all.retain(|text| build(text, 1).is_ok());
    all
}

/// A strategy whose traces and pairs are counted.
struct Search {
    strategy: Box<dyn Strategy>,
    traces: TraceCounter,
    pairs: PairCoverage,
}

/// Saves the search beside which it stands, before the next execution.
#[derive(Default)]
struct Saver(Option<Result<Checkpoint, Unsupported>>);

impl Observer for Saver {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        self.0 = Some(search.save());
    }
}

impl Search {
    fn new(text: &str, limit: usize) -> Self {
        let strategy = build(text, 7).unwrap().strategy;
        let pairs = PairCoverage::beside(strategy.needs(), Metric::HapSet, 0);
        Self { strategy, traces: TraceCounter::new(limit), pairs }
    }

    /// Does something with the strategy and its observers.
    fn observed<R>(&mut self, act: impl FnOnce(&mut Audience<'_, '_>) -> R) -> R {
        let Self { strategy, traces, pairs } = self;
        act(&mut Audience::new(&mut **strategy, &mut [traces, pairs]))
    }

    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let (mut saver, Self { strategy, traces, pairs }) = (Saver::default(), self);
        Audience::new(&mut **strategy, &mut [traces, &mut saver, pairs]).pause(
            Counts::default(),
            &Carried::default,
            None,
        );
        saver.0.expect("it was called")
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let Self { strategy, traces, pairs } = self;
        observer::restore(&mut **strategy, &mut [traces, pairs], state)
    }
}

/// What a search has run, and what it says at its end.
#[derive(Debug, PartialEq)]
struct Ran {
    executions: Vec<(Moves, Option<Cut>)>,
    covered: Covered,
    progress: Progress,
    coverage: raddle_trace::Coverage,
    repeated: u64,
}

impl Ran {
    fn of(executions: Vec<(Moves, Option<Cut>)>, mut search: Search) -> Self {
        let progress = search.observed(|audience| audience.progress());
        Self {
            executions,
            covered: search.strategy.covered(),
            // Allocations may differ.
            progress: Progress { frontier_bytes: 0, ..progress },
            coverage: search.pairs.coverage(),
            repeated: search.traces.repeated(),
        }
    }
}

/// Runs at most so many executions. After each stretch of a few, the strategy is saved, and another one goes
/// on.
fn run(
    text: &str,
    toy: &Toy,
    most: usize,
    limit: usize,
    mut stretch: impl FnMut() -> usize,
) -> Ran {
    let mut executions = Vec::new();
    let mut search = Search::new(text, limit);
    loop {
        // Another process has another plan.
        let mut plan = Plan { prefix: vec![9; 2], ..Plan::default() };
        for _ in 0..stretch() {
            let more = executions.len() < most;
            let mut next = || search.observed(|audience| toy::execute(audience, &mut plan, toy));
            let Some(execution) = more.then(&mut next).flatten() else {
                return Ran::of(executions, search);
            };
            executions.push((execution.moves, execution.cut));
        }
        let saved = search.save().unwrap_or_else(|why| panic!("{text}: {why}"));
        search = Search::new(text, limit);
        search.restore(&saved).unwrap_or_else(|why| panic!("{text}: {why}"));
    }
}

fn some_toy(rng: &mut Rng) -> Toy {
    let tasks = 2 + rng.below(2) as usize;
    let task = |rng: &mut Rng| {
        let mut ops = Vec::new();
        for _ in 0..=rng.below(3) {
            match rng.below(7) {
                0 => ops.push(Op::Read(rng.below(2))),
                1 | 2 => ops.push(Op::Write(rng.below(2))),
                3 => ops.extend([Op::Lock, Op::Write(1), Op::Unlock]),
                4 => ops.push(Op::Value(2)),
                5 => ops.push(Op::Step),
                _ => ops.extend([Op::Read(0), Op::Write(0)]),
            }
        }
        ops
    };
    Toy::new((0..tasks).map(|_| task(rng)).collect())
}

#[test]
fn whatever_is_stopped_and_goes_on_runs_what_it_would_have_run() {
    let texts = compositions();
    assert!(texts.len() > 40, "{texts:?}");
    let mut rng = Rng::new(11);
    let mut restored = 0;
    for round in 0..if raddle_testing::long() { 400 } else { 8 } {
        let toy = some_toy(&mut rng);
        // So few that the sketch is used, too.
        let limit = if round % 3 == 0 { 5 } else { 1_000 };
        for text in &texts {
            let most = 60;
            let whole = run(text, &toy, most, limit, || usize::MAX);
            let parts = run(text, &toy, most, limit, || rng.below(7) as usize);
            restored += 1;
            assert_eq!(parts, whole, "{text} of {toy:?}");
        }
    }
    assert!(restored > 300, "{restored}");
}

// Two tasks of three dependent steps each.
#[test]
fn a_damaged_state_or_that_of_another_strategy_is_refused() {
    let toy = Toy::new(vec![vec![Op::Write(0); 3]; 2]);
    let mut states: Vec<(String, Checkpoint)> = Vec::new();
    for text in compositions() {
        let mut strategy = build(&text, 7).unwrap().strategy;
        toy::first(&mut *strategy, &toy, 5);
        let state = strategy.save().unwrap_or_else(|why| panic!("{text}: {why}"));
        let refused = |bytes: Vec<u8>| {
            let mut other = build(&text, 7).unwrap().strategy;
            let why = other.restore(&Checkpoint(bytes)).expect_err(&text);
            assert!(why.to_string().contains("damaged or not its own"), "{why}");
        };
        for cut in (0..state.0.len()).step_by(3) {
            refused(state.0[..cut].to_vec());
        }
        for at in (0..state.0.len()).step_by(3) {
            let mut bytes = state.0.clone();
            bytes[at] ^= 1 << (at % 8);
            refused(bytes);
        }
        states.push((text, state));
    }
    for (text, _) in &states {
        for (other, state) in &states {
            let mut strategy = build(text, 7).unwrap().strategy;
            let restored = strategy.restore(state);
            if text != other && restored.is_ok() {
                // Two ways to write one strategy.
                assert_eq!(build(text, 7).unwrap().name, build(other, 7).unwrap().name);
            }
        }
    }
}

/// A state whose checksum is right and whose numbers are not: refused, or taken for another search of the
/// same kind, but never a panic while it is read.
#[test]
fn numbers_that_cannot_be_are_refused() {
    let toy = Toy::new(vec![vec![Op::Write(0), Op::Value(2)], vec![Op::Read(0), Op::Write(0)]]);
    let mut rng = Rng::new(5);
    for text in compositions() {
        let mut search = Search::new(&text, 100);
        search.observed(|audience| toy::first(audience, &toy, 3));
        let Search { strategy, traces, pairs } = &mut search;
        let strategy = strategy.resumable().expect("every strategy can be saved");
        for (nth, part) in [strategy, traces, pairs].into_iter().enumerate() {
            let state = part.save().unwrap_or_else(|why| panic!("{text}: {why}"));
            let body = state.0.len() - 8;
            // What was counted has the same form for every strategy.
            let times = if nth == 0 { 200 } else { 20 };
            for _ in 0..if raddle_testing::long() { 100 * times } else { times } {
                let mut bytes = state.0[..body].to_vec();
                let at = rng.below(body as u32) as usize;
                bytes[at] = rng.below(256) as u8;
                let sum = crate::state::checksum(&bytes);
                bytes.extend_from_slice(&sum.to_le_bytes());
                let mut fresh = Search::new(&text, 100);
                let Search { strategy, traces, pairs } = &mut fresh;
                let strategy = strategy.resumable().expect("every strategy can be saved");
                let parts: [&mut dyn Resumable; 3] = [strategy, traces, pairs];
                let _ = parts.into_iter().nth(nth).map(|part| part.restore(&Checkpoint(bytes)));
            }
        }
    }
}
