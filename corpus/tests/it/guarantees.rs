//! Every sentence of a guarantee is checked, and every check notices a part that is broken.
//!
//! What was covered: the executions of a strategy are compared with all there are. First the real
//! strategies, which must stand the comparison, then broken ones, which must not. What was assumed:
//! programs with a bug that only shows where the assumption does not hold pass, and the guarantee
//! names the assumption.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use raddle::actors::{Actor, Context, Mailboxes, Model, States, System};
use raddle::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::{Config, Covered, Data, Note, Report, Timeouts, Verdict, thread};
use raddle_corpus::run::{Ask, replay, run};
use raddle_engine::Ended;
use raddle_engine::explorer::Explorer;
use raddle_engine::strategy::{Answer, Cut, Event, Finished, Needs, Plan, Point, Strategy, Taken};
use raddle_trace::{Assumption, Decision, Gaps, Outcome, SampleBound};

use crate::brute::{
    Options, Searched, every_execution, search, traces_within_preemptions, within_delays,
};
use crate::program;

// ---- what was covered ---------------------------------------------------------------------------

/// Small programs without a bug, in which points have two and more options.
const SMALL: [(&str, &[usize]); 4] =
    [("inc", &[2]), ("inc", &[3]), ("readers", &[2]), ("senders", &[3])];

fn build(text: &str) -> Box<dyn Strategy> {
    raddle_search::build(text, 1).expect("a known strategy").strategy
}

/// Compares what a strategy says with what it did and with all there is.
fn examine(searched: &Searched, body: &dyn Fn()) -> Result<(), String> {
    let holds = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    let all = every_execution(body);
    let run: BTreeSet<_> = searched.executions.iter().cloned().collect();
    let n = searched.executions.len() as u64;
    let ended = searched.ended == Ended::Covered;
    // Each once, none that needs more, and all that need no more.
    let all_within = |needed: &dyn Fn(&Options) -> Option<u32>, k: u32| {
        holds(ended, "everything within a bound, and there is more to run")?;
        holds(run.len() as u64 == n, "an execution was run twice")?;
        let within = |one: &&Options| needed(one).is_some_and(|needed| needed <= k);
        holds(run.iter().all(|one| within(&one)), "an execution is out of the bound")?;
        holds(run.iter().eq(all.keys().filter(within)), "an execution is missing")
    };
    holds(run.iter().all(|one| all.contains_key(one)), "an execution that cannot be")?;
    holds(searched.counts.executions == n + searched.cut, "executions are miscounted")?;
    match searched.covered {
        Covered::Everything => {
            holds(ended, "everything, and there is more to run")?;
            holds(run.len() as u64 == n, "an execution was run twice")?;
            holds(run.iter().eq(all.keys()), "an execution is missing")
        }
        Covered::Preemptions(k) => all_within(&|one| Some(all[one].preemptions), k),
        Covered::Depth(k) => all_within(&|one| Some(all[one].depth), k),
        Covered::BoundedEquivalence(k) => {
            holds(ended, "every trace within a bound, and there is more to run")?;
            holds(run.len() as u64 == n, "an execution was run twice")?;
            // On its way it may show traces that need more.
            let within = traces_within_preemptions(body, k);
            holds(within.is_subset(&searched.traces), "a trace is missing")
        }
        Covered::Delays(k) => {
            let (delays, _) = within_delays(body, u32::MAX);
            if ended {
                return all_within(&|one| delays.get(one).copied(), k);
            }
            // Strata are gone through one by one: some of the next may have been run.
            let within = |one: &&Options| delays.get(*one).is_some_and(|delays| *delays <= k);
            let all_run = all.keys().filter(within).all(|one| run.contains(one));
            holds(all_run, "an execution is missing")
        }
        Covered::Strata { delays, stored, .. } => {
            holds(ended || delays.is_some(), "every trace, and there is more to run")?;
            holds(stored > 0, "nothing was compared")?;
            let (_, within) = within_delays(body, delays.unwrap_or(u32::MAX));
            // Before its end it may have run some of the next stratum.
            let more = if ended { searched.traces.difference(&within).count() } else { 0 };
            holds(more == 0, "a trace is out of the bound")?;
            holds(within.is_subset(&searched.traces), "a trace is missing")
        }
        Covered::SomeStrata { executions, delays } => {
            holds(executions == n + searched.cut, "executions are miscounted")?;
            let (within, _) = within_delays(body, delays);
            holds(
                run.iter().all(|one| within.contains_key(one)),
                "an execution is out of the bound",
            )
        }
        Covered::Part { executions, preemptions } => {
            holds(!ended, "a part, and there is nothing left")?;
            holds(executions == n, "executions are miscounted")?;
            holds(run.len() as u64 == n, "an execution was run twice")?;
            let bound = preemptions.unwrap_or(u32::MAX);
            let within = |one: &Options| all[one].preemptions <= bound;
            holds(run.iter().all(within), "an execution is out of the bound")
        }
        Covered::Sample { executions, .. } => holds(executions == n, "executions are miscounted"),
        ref other => Err(format!("nothing is known of {other:?}")),
    }
}

#[track_caller]
fn examined(
    strategy: &mut dyn Strategy,
    executions: u64,
    (name, arguments): (&str, &[usize]),
) -> Result<(), String> {
    let program = program(name);
    let body = || program.call(arguments);
    examine(&search(strategy, executions, &body), &body)
}

#[test]
fn every_strategy_does_what_it_says() {
    for small in SMALL {
        for (strategy, executions) in [
            ("dfs", u64::MAX),
            ("dfs in-turns", u64::MAX),
            ("dfs preemptions(0)", u64::MAX),
            ("dfs preemptions(1)", u64::MAX),
            ("dfs preemptions(2)", u64::MAX),
            ("dfs preemptions(9)", u64::MAX),
            ("dpor preemptions(0)", u64::MAX),
            ("dpor preemptions(1)", u64::MAX),
            ("dpor preemptions(9)", u64::MAX),
            ("dfs random", u64::MAX),
            ("all breadth-first", u64::MAX),
            ("all breadth-first in-turns", u64::MAX),
            ("all breadth-first preemptions(1)", u64::MAX),
            ("all random", u64::MAX),
            ("all random random", u64::MAX),
            ("all random preemptions(2)", u64::MAX),
            ("dfs depth(0)", u64::MAX),
            ("dfs depth(2)", u64::MAX),
            ("dfs depth(9)", u64::MAX),
            ("dfs delays(0) rr", u64::MAX),
            ("dfs delays(1) rr", u64::MAX),
            ("dfs delays(3) rr", u64::MAX),
            ("all best-first(delays) delays(2) rr", u64::MAX),
            ("dfs delays(2) rr cache", u64::MAX),
            ("strata(rr)", u64::MAX),
            ("strata(rr) delays(1)", u64::MAX),
            ("strata(rr, exact)", u64::MAX),
            ("strata(rr, exact) delays(2)", u64::MAX),
            ("strata(rr, increment(2))", 4),
            ("strata(rr, exact)", 4),
            ("dfs", 3),
            ("dfs preemptions(1)", 2),
            ("all breadth-first", 3),
            ("all random preemptions(1)", 2),
            ("random", 50),
            ("pct(3)", 50),
            ("pos", 50),
            ("urw", 50),
            ("surw", 50),
            ("round-robin", u64::MAX),
        ] {
            let found = examined(&mut *build(strategy), executions, small);
            assert_eq!(found, Ok(()), "{small:?} under {strategy}");
        }
    }
}

/// A strategy with something wrong in it.
struct Broken {
    strategy: Box<dyn Strategy>,
    /// Pretends to have run this execution, counted from 1, and all that follows from it.
    skips: Option<u64>,
    /// Has one execution more than there are.
    repeats: bool,
    /// Says that it is done after so many.
    ends: u64,
    /// What it says it covered.
    says: fn(Covered) -> Covered,
    begun: u64,
    repeating: bool,
}

impl Broken {
    fn new(strategy: &str) -> Self {
        let strategy = build(strategy);
        let says = |covered| covered;
        let (skips, repeats, ends) = (None, false, u64::MAX);
        Self { strategy, skips, repeats, ends, says, begun: 0, repeating: false }
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broken").finish_non_exhaustive()
    }
}

impl Strategy for Broken {
    fn needs(&self) -> Needs {
        self.strategy.needs()
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        if self.repeating { None } else { self.strategy.step(event) }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        self.begun += 1;
        if self.begun > self.ends {
            return false;
        }
        let mut more = self.strategy.begin(plan);
        if more && self.skips == Some(self.begun) {
            let taken = |&option: &u32| Taken { option, of: option + 1 };
            let decisions: Vec<_> = plan.prefix.iter().map(taken).collect();
            self.strategy.end(&Finished {
                outcome: &Outcome::Completed,
                decisions: &decisions,
                steps: 1,
                tasks: 1,
                stuck: &[],
                cut: None,
                yielded: false,
                gaps: Gaps::default(),
            });
            more = self.strategy.begin(plan);
        }
        if !more && self.repeats && !self.repeating {
            self.repeating = true;
            plan.prefix.clear();
            return true;
        }
        more
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        if self.repeating { Answer::Take(0) } else { self.strategy.decide(point) }
    }

    fn end(&mut self, execution: &Finished<'_>) {
        if !self.repeating {
            self.strategy.end(execution);
        }
    }

    fn covered(&self) -> Covered {
        (self.says)(self.strategy.covered())
    }
}

#[track_caller]
fn notices(what: &str, broken: impl Fn() -> Broken, executions: u64) {
    for small in SMALL {
        let found = examined(&mut broken(), executions, small);
        assert_eq!(found, Err(what.to_owned()), "{small:?}");
    }
}

#[test]
fn a_broken_part_that_is_none_goes_unnoticed() {
    assert_eq!(examined(&mut Broken::new("dfs"), u64::MAX, SMALL[0]), Ok(()));
}

#[test]
fn an_option_that_is_skipped_is_noticed() {
    for nth in 2..=4 {
        let broken = || Broken { skips: Some(nth), ..Broken::new("dfs") };
        notices("an execution is missing", broken, u64::MAX);
        let bounded = || Broken { skips: Some(nth), ..Broken::new("dfs preemptions(2)") };
        notices("an execution is missing", bounded, u64::MAX);
    }
}

#[test]
fn an_execution_that_is_run_twice_is_noticed() {
    let broken = || Broken { repeats: true, ..Broken::new("dfs") };
    notices("an execution was run twice", broken, u64::MAX);
}

#[test]
fn a_bound_that_lets_one_more_through_is_noticed() {
    let says = |_| Covered::Preemptions(0);
    let broken = || Broken { says, ..Broken::new("dfs preemptions(1)") };
    notices("an execution is out of the bound", broken, u64::MAX);
}

#[test]
fn a_bound_that_lets_one_less_through_is_noticed() {
    let says = |_| Covered::Preemptions(1);
    let broken = || Broken { says, ..Broken::new("dfs preemptions(0)") };
    notices("an execution is missing", broken, u64::MAX);
}

#[test]
fn a_bounded_reduction_that_lost_a_trace_is_noticed() {
    let missing = Err("a trace is missing".to_owned());
    let more = |_| Covered::BoundedEquivalence(3);
    for small in [("inc", &[2][..]), ("inc", &[3])] {
        let broken = || Broken { says: more, ..Broken::new("dpor preemptions(0)") };
        assert_eq!(examined(&mut broken(), u64::MAX, small), missing, "{small:?}");
        // The last unit is never run.
        let all = |text: &str| {
            let program = program(small.0);
            search(&mut *build(text), u64::MAX, &|| program.call(small.1)).counts.executions
        };
        let ends = all("dpor preemptions(3)") - 1;
        let broken = || Broken { ends, ..Broken::new("dpor preemptions(3)") };
        let says = |_| Covered::BoundedEquivalence(3);
        assert_eq!(
            examined(&mut Broken { says, ..broken() }, u64::MAX, small),
            missing,
            "{small:?}"
        );
    }
    let broken = || Broken { says: more, ..Broken::new("dpor preemptions(3)") };
    notices("every trace within a bound, and there is more to run", broken, 1);
}

#[test]
fn a_bounded_search_that_claims_everything_is_noticed() {
    let says = |_| Covered::Everything;
    let broken = || Broken { says, ..Broken::new("dfs preemptions(0)") };
    notices("an execution is missing", broken, u64::MAX);
}

#[test]
fn a_number_of_delays_that_is_another_is_noticed() {
    let less = |_| Covered::Delays(0);
    let broken = || Broken { says: less, ..Broken::new("dfs delays(1) rr") };
    notices("an execution is out of the bound", broken, u64::MAX);
    let more = |_| Covered::Delays(2);
    let broken = || Broken { says: more, ..Broken::new("dfs delays(1) rr") };
    notices("an execution is missing", broken, u64::MAX);
    // Delays of another explorer are no delays of this one.
    let broken = || Broken { says: more, ..Broken::new("dfs delays(2) ordered") };
    let found = SMALL.map(|small| examined(&mut broken(), u64::MAX, small));
    assert!(found.iter().any(Result::is_err), "{found:?}");
    let broken = || Broken { says: more, ..Broken::new("dfs delays(2) rr") };
    notices("an execution is missing", broken, 2);
}

#[test]
fn a_depth_that_is_another_is_noticed() {
    let less = |_| Covered::Depth(0);
    let broken = || Broken { says: less, ..Broken::new("dfs depth(1)") };
    notices("an execution is out of the bound", broken, u64::MAX);
    let more = |_| Covered::Depth(2);
    let broken = || Broken { says: more, ..Broken::new("dfs depth(1)") };
    notices("an execution is missing", broken, u64::MAX);
}

/// Strata up to so many delays, or all of them.
fn strata(delays: Option<u32>) -> Covered {
    Covered::Strata { delays, compared: 1, stored: 1, dropped: 0, uncompared: false }
}

#[test]
fn strata_that_are_others_are_noticed() {
    let less = |_| strata(Some(0));
    let broken = || Broken { says: less, ..Broken::new("strata(rr, exact) delays(1)") };
    notices("a trace is out of the bound", broken, u64::MAX);
    let more = |_| strata(Some(1));
    let broken = || Broken { says: more, ..Broken::new("strata(rr, exact) delays(0)") };
    notices("a trace is missing", broken, u64::MAX);
    let all = |_| strata(None);
    let broken = || Broken { says: all, ..Broken::new("strata(rr) delays(0)") };
    notices("a trace is missing", broken, u64::MAX);
    let broken = || Broken { says: all, ..Broken::new("strata(rr)") };
    notices("every trace, and there is more to run", broken, 1);
}

/// Where the cache has hidden nothing strata are claimed, so that some programs have none of these.
#[test]
fn wrong_strata_in_a_guarantee_are_noticed() {
    let less = |covered| match covered {
        Covered::SomeStrata { executions, .. } => Covered::SomeStrata { executions, delays: 0 },
        other => other,
    };
    let miscounted = |covered| match covered {
        Covered::SomeStrata { executions, delays } => {
            Covered::SomeStrata { executions: executions + 1, delays }
        }
        other => other,
    };
    let mut noticed = 0;
    for small in SMALL {
        for text in ["strata(rr) delays(2)", "strata(rr, increment(3)) delays(3)"] {
            let program = program(small.0);
            let body = || program.call(small.1);
            let covered = search(&mut *build(text), u64::MAX, &body).covered;
            let broken = |says: fn(Covered) -> Covered| Broken { says, ..Broken::new(text) };
            let too_few = examined(&mut broken(less), u64::MAX, small);
            let too_many = examined(&mut broken(miscounted), u64::MAX, small);
            if matches!(covered, Covered::SomeStrata { .. }) {
                assert_eq!(too_few, Err("an execution is out of the bound".to_owned()));
                assert_eq!(too_many, Err("executions are miscounted".to_owned()));
                noticed += 1;
            } else {
                assert_eq!((too_few, too_many), (Ok(()), Ok(())), "{small:?} under {text}");
            }
        }
    }
    assert!(noticed >= 2, "{noticed}");
}

/// What it has heard.
#[derive(Clone, Hash)]
struct Listener(Vec<u8>);

impl Actor for Listener {
    type Message = u8;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: u8, _: &mut Context<'_, u8>) {
        self.0.push(message);
    }
}

/// Two listeners and five messages, in any order.
fn listeners() -> Model<()> {
    let model = Model::new(|system| {
        let listeners = [system.spawn(Listener(Vec::new())), system.spawn(Listener(Vec::new()))];
        for message in 0..5 {
            system.send(&listeners[usize::from(message % 2)], message);
        }
    });
    model.mailboxes(Mailboxes::Unordered).panics_only()
}

/// How many states can be reached within so many steps, and with so many delays of `rr`; with `pairs`, how many pairs of
/// such a state and of the order in which `rr` has the processes then: the test, which waits, and the two listeners.
fn states_within(depth: u32, delays: u32, pairs: bool) -> u64 {
    // What is left for each, the oldest first, who is next, and what was spent.
    type Place = ([Vec<u8>; 2], Vec<usize>, u32);
    let (model, mut seen) = (listeners(), BTreeSet::new());
    let mut space = model.space().expect("all can be copied");
    let first: Place = ([vec![0, 2, 4], vec![1, 3]], vec![9, 0, 1], 0);
    let mut all = vec![(space.first(), first, 0)];
    while let Some((state, (left, queue, spent), steps)) = all.pop() {
        seen.insert((state.fingerprint(), if pairs { queue.clone() } else { Vec::new() }));
        if steps == depth {
            continue;
        }
        let able = queue.iter().copied().filter(|&who| who < 2 && !left[who].is_empty());
        for (rank, who) in able.enumerate() {
            for nth in 0..left[who].len() {
                let price = spent + rank as u32 + nth as u32;
                if price > delays {
                    continue;
                }
                let (mut left, mut queue) = (left.clone(), queue.clone());
                let message = left[who].remove(nth);
                // Processes before it were given up, or are blocked.
                let place = queue.iter().position(|&other| other == who).expect("it is there");
                queue.rotate_left(place);
                let links = space.enabled(&state);
                let is_it =
                    |link: &&_| space.delivery(&state, **link, &[]).what == message.to_string();
                let link = *links.iter().find(is_it).expect("it waits");
                let next = space.step(&state, link, &[]).expect("it goes on").snapshot;
                all.push((next, (left, queue, price), steps + 1));
            }
        }
    }
    seen.len() as u64
}

/// Whether what is said of states holds. Exact searches count pairs of a state and of the explorer's.
fn examine_states(covered: Covered, pairs: bool) -> Result<(), String> {
    let Covered::States { unique, depth, delays, .. } = covered else {
        return Err(format!("nothing is known of {covered:?}"));
    };
    let expected = states_within(depth.unwrap_or(u32::MAX), delays.unwrap_or(u32::MAX), pairs);
    if unique == expected { Ok(()) } else { Err(format!("{unique} states, not {expected}")) }
}

#[test]
fn states_are_as_many_as_are_said_and_others_are_noticed() {
    let rr = || Explorer::new("rr", raddle_search::explorers::QueueOfProcesses::default());
    let exact = |delays| States::strata(rr()).exact().delays(delays);
    let searches = [
        States::breadth_first(),
        States::depth_first(),
        States::breadth_first().depth(2),
        States::breadth_first().depth(9),
        States::strata(rr()),
        exact(0),
        exact(1),
        exact(3),
        exact(40),
    ];
    let mut changed = 0;
    for states in searches {
        let report = listeners().search(&states).expect("all can be copied");
        let (covered, pairs) = (report.guarantee.covered, states.to_string().contains("exact"));
        assert_eq!(examine_states(covered, pairs), Ok(()), "{states}");
        let Covered::States { unique, parts, depth, dropped, delays, keys } = covered else {
            panic!("{states}: {covered:?}")
        };
        let broken = [
            Covered::States { unique: unique + 1, parts, depth, dropped, delays, keys },
            Covered::States { unique, parts, depth: Some(1), dropped, delays, keys },
            Covered::States { unique, parts, depth: None, dropped, delays: Some(2), keys },
            Covered::SomeStates { unique, keys },
        ];
        for covered in broken {
            assert!(examine_states(covered, pairs).is_err(), "{states}: {covered:?}");
            changed += 1;
        }
    }
    assert_eq!(changed, 36);
}

#[test]
fn a_sampler_that_claims_everything_is_noticed() {
    let says = |_| Covered::Everything;
    let endless = || Broken { says, ..Broken::new("random") };
    notices("everything, and there is more to run", endless, 500);
    // Repetitions give it away however many it draws.
    let ends = || Broken { says, ends: 500, ..Broken::new("random") };
    notices("an execution was run twice", ends, u64::MAX);
    let too_few = || Broken { says, ends: 1, ..Broken::new("random") };
    notices("an execution is missing", too_few, u64::MAX);
}

#[test]
fn a_search_that_claims_to_have_ended_is_noticed() {
    let everything = |_| Covered::Everything;
    let broken = || Broken { says: everything, ..Broken::new("dfs") };
    notices("everything, and there is more to run", broken, 2);
    let bounded = |_| Covered::Preemptions(9);
    let broken = || Broken { says: bounded, ..Broken::new("dfs preemptions(9)") };
    notices("everything within a bound, and there is more to run", broken, 2);
}

#[test]
fn wrong_part_counts_in_a_guarantee_are_noticed() {
    let more = |covered| match covered {
        Covered::Part { executions, preemptions } => {
            Covered::Part { executions: executions + 1, preemptions }
        }
        other => other,
    };
    let broken = || Broken { says: more, ..Broken::new("dfs") };
    notices("executions are miscounted", broken, 3);
    let bounded = |covered| match covered {
        Covered::Part { executions, .. } => Covered::Part { executions, preemptions: Some(0) },
        other => other,
    };
    let broken = || Broken { says: bounded, ..Broken::new("dfs") };
    notices("an execution is out of the bound", broken, 5);
}

#[test]
fn a_sample_that_is_said_to_be_larger_is_noticed() {
    let more = |covered| match covered {
        Covered::Sample { executions, bound } => {
            Covered::Sample { executions: executions + 1, bound }
        }
        other => other,
    };
    notices("executions are miscounted", || Broken { says: more, ..Broken::new("random") }, 20);
}

/// Whether lost updates, which have depth 2, show as often as the bound says.
fn keeps_its_bound(mut strategy: impl Strategy) -> bool {
    let lost = AtomicU64::new(0);
    let body = || {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| x.store(x.load(SeqCst) + 1, SeqCst));
            }
        });
        lost.fetch_add(u64::from(x.load(SeqCst) == 1), Ordering::Relaxed);
    };
    let n = 4_000;
    let covered = search(&mut strategy, n, &body).covered;
    let Covered::Sample { bound: Some(SampleBound::Pct { depth: 2, tasks, steps, .. }), .. } =
        covered
    else {
        panic!("{covered:?}")
    };
    lost.load(Ordering::Relaxed) * tasks * steps >= n
}

// The bound is 1 / (3 tasks · 3 decisions) here, 444 of 4,000. The real chance is 1 in 3 or so,
// with a deviation of 30.
#[test]
fn a_sampler_that_does_not_keep_its_bound_is_noticed() {
    assert!(keeps_its_bound(raddle_search::Pct::new(1, 2)));
    // Without change points whole tasks run one after the other.
    let says = |covered| match covered {
        Covered::Sample { executions, bound: Some(SampleBound::Pct { tasks, steps, .. }) } => {
            let bound = Some(SampleBound::Pct { depth: 2, tasks, steps, executions });
            Covered::Sample { executions, bound }
        }
        other => other,
    };
    assert!(!keeps_its_bound(Broken { says, ..Broken::new("pct(1)") }));
}

#[test]
fn a_recording_that_is_changed_is_noticed() {
    let program = program("lost-update");
    let report = run(program, &[2], &Ask::new("dfs")).expect("a known strategy");
    let schedule = report.failure.expect("it has a bug").schedule;
    for index in 0..schedule.decisions.len() {
        let mut changed = schedule.clone();
        let Decision::Run(task) = changed.decisions[index] else { panic!("only tasks move here") };
        changed.decisions[index] = Decision::Run(3 - task);
        let report = replay(program, &[2], &changed.to_string()).expect("a schedule");
        assert_eq!(report.guarantee.covered, Covered::Replay);
        let told = report.notes.iter().any(|note| match note {
            Note::Diverged(_) => true,
            Note::Text { text } => text.contains("not by the recorded steps"),
            _ => false,
        });
        assert!(told, "decision {index}: {:?}", report.notes);
    }
}

// The bug is in the second half of the executions that the limit cuts off.
#[test]
fn what_a_limit_cuts_off_is_not_covered() {
    let mut config = Config::default();
    config.strategy = "dfs".into();
    config.steps = Some(3);
    let program = program("lost-update");
    let report = raddle::explore(config, move || program.call(&[2])).expect("runs");
    assert_eq!(report.guarantee.rejected, report.counts.executions);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    let sentence = report.guarantee.to_string();
    assert!(sentence.contains("except those cut off by a limit"), "{sentence}");
}

#[test]
fn one_execution_that_a_limit_cuts_off_is_enough_not_to_cover() {
    // Three steps with the join; two more if the other thread moves first.
    let body = || {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| x.store(1, SeqCst));
            if x.load(SeqCst) == 1 {
                x.store(2, SeqCst);
                x.store(3, SeqCst);
            }
        });
    };
    let explore = |steps| {
        let mut config = Config::default();
        config.strategy = "dfs".into();
        config.steps = Some(steps);
        raddle::explore(config, body).expect("runs")
    };
    let (short, long) = (explore(4), explore(10));
    assert_eq!((short.verdict, short.guarantee.rejected), (Verdict::Passed, 1));
    assert_eq!((long.verdict, long.guarantee.rejected), (Verdict::Covered, 0));
    let sentence = short.guarantee.to_string();
    assert!(sentence.contains("except 1 that was cut off by a limit"), "{sentence}");
}

// ---- what was assumed ---------------------------------------------------------------------------

/// Runs every execution, with settings.
fn dfs(settings: impl Fn(&mut Config), body: impl Fn() + Send + Sync + 'static) -> Report {
    let mut config = Config::default();
    config.strategy = "dfs".into();
    settings(&mut config);
    raddle::explore(config, body).expect("a known strategy")
}

/// The program passes, because of an assumption that the guarantee names.
#[track_caller]
fn passes_assuming(report: &Report, assumption: Assumption) {
    assert_eq!(report.verdict, Verdict::Covered, "{:?}", report.failure);
    assert!(report.guarantee.assumptions.contains(&assumption), "{}", report.guarantee);
    let sentence = report.guarantee.to_string();
    assert!(sentence.contains(&assumption.to_string()), "{sentence}");
}

#[track_caller]
fn fails_without(report: &Report, assumption: Assumption) {
    assert_eq!(report.verdict, Verdict::Failed);
    assert!(!report.guarantee.assumptions.contains(&assumption), "{}", report.guarantee);
}

#[test]
fn nothing_is_assumed_that_the_program_does_not_need() {
    let report = dfs(|_| (), || raddle_corpus::counts::increments::inc(2));
    assert_eq!(report.guarantee.assumptions, [Assumption::SequentialConsistency]);
    assert_eq!(
        report.guarantee.to_string(),
        "every execution; assuming sequentially consistent memory"
    );
}

#[test]
fn a_bug_of_weak_memory_is_assumed_away_aloud() {
    let report = dfs(
        |_| (),
        || {
            let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let seen = thread::scope(|scope| {
                let one = scope.spawn(|| {
                    x.store(1, Relaxed);
                    y.load(Relaxed)
                });
                y.store(1, Relaxed);
                (x.load(Relaxed), one.join().expect("no panic"))
            });
            assert_ne!(seen, (0, 0), "allowed by the orderings");
        },
    );
    passes_assuming(&report, Assumption::SequentialConsistency);
}

#[test]
fn a_timeout_that_fires_early_is_assumed_away_aloud() {
    let body = || {
        let (set, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *set.lock().expect("no panic") = true;
                changed.notify_one();
            });
            let set = set.lock().expect("no panic");
            let wait = changed.wait_timeout_while(set, Duration::from_secs(9), |set| !*set);
            assert!(!wait.expect("no panic").1.timed_out(), "nine seconds are not enough");
        });
    };
    let idle = dfs(|config| config.timeouts = Timeouts::Idle, body);
    passes_assuming(&idle, Assumption::Timeouts(Timeouts::Idle.into()));
    fails_without(&dfs(|_| (), body), Assumption::Timeouts(Timeouts::Idle.into()));
    let never = dfs(|config| config.timeouts = Timeouts::Never, body);
    passes_assuming(&never, Assumption::Timeouts(Timeouts::Never.into()));
}

#[test]
fn an_unfair_scheduler_is_assumed_away_aloud() {
    let report = dfs(
        |_| (),
        || {
            let ready = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| ready.store(1, SeqCst));
                let mut rounds = 0;
                while ready.load(SeqCst) == 0 {
                    thread::yield_now();
                    rounds += 1;
                }
                assert!(rounds < 5, "the other has not moved for long");
            });
        },
    );
    passes_assuming(&report, Assumption::FairYields);
}

#[test]
fn rounds_beyond_the_setting_are_assumed_away_aloud() {
    let with = |rounds: u32| {
        let settings = move |config: &mut Config| config.rounds = Some(rounds);
        dfs(settings, || raddle_corpus::counts::spinning::impatient(3))
    };
    passes_assuming(&with(2), Assumption::Rounds(2));
    fails_without(&with(3), Assumption::Rounds(3));
    assert_eq!(
        with(2).guarantee.to_string(),
        "every execution; assuming sequentially consistent memory, no task makes more than 2 \
         successive identical rounds while nothing it reads changes"
    );
}

#[test]
fn a_spurious_wakeup_is_assumed_away_aloud() {
    let body = || {
        let (set, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *set.lock().expect("no panic") = true;
                changed.notify_one();
            });
            let mut set = set.lock().expect("no panic");
            if !*set {
                set = changed.wait(set).expect("no panic");
            }
            assert!(*set, "woken for no reason");
        });
    };
    passes_assuming(&dfs(|_| (), body), Assumption::NothingSpurious);
    let spurious = dfs(|config| config.spurious = true, body);
    fails_without(&spurious, Assumption::NothingSpurious);
}

/// Of every interleaving 345 are executions, of 173 traces: `raddle-threads` compares them.
#[test]
fn reductions_cover_waits_that_time_out_and_wake_for_no_reason() {
    let body = || {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let wait = || {
            let waited =
                changed.wait_timeout(lock.lock().expect("no panic"), Duration::from_secs(1));
            drop(waited.expect("no panic"));
        };
        thread::scope(|scope| {
            scope.spawn(wait);
            wait();
            let guard = lock.lock().expect("no panic");
            changed.notify_one();
            drop(guard);
        });
    };
    let spurious = |strategy: &str| {
        dfs(|config| (config.strategy, config.spurious) = (strategy.into(), true), body)
    };
    assert_eq!(spurious("dfs").counts.executions, 345);
    for strategy in [
        "dpor",
        "dpor(source)",
        "dpor(classic)",
        "dpor(source) best-first(pb)",
        "dpor(classic) breadth-first",
        "dpor(source) random",
    ] {
        let report = spurious(strategy);
        let covered = (report.verdict, &report.guarantee.covered);
        assert_eq!(covered, (Verdict::Covered, &Covered::Equivalence), "{strategy}");
        let counts = &report.counts;
        assert_eq!(counts.executions - counts.blocked, 173, "{strategy}");
    }
}

/// Keeps what it is sent.
#[derive(Default)]
struct Keeps(Vec<u32>);

impl Actor for Keeps {
    type Message = u32;

    fn handle(&mut self, message: u32, _: &mut Context<'_, u32>) {
        self.0.push(message);
    }
}

/// To send to an actor is no step of a thread, so that "the other had its messages handled first" is not always tried: under these
/// reductions the program whose thread is joined afterwards has 2 traces with mailboxes in pairs, and exhaustive search shows 3.
#[test]
fn a_thread_that_sends_beside_another_that_has_messages_handled_is_no_whole_coverage() {
    let program = |joins_before: bool, mailboxes: Mailboxes| {
        move || {
            let system = System::builder().mailboxes(mailboxes).build();
            let actor = system.spawn(Keeps::default());
            system.send(&actor, 1);
            let (theirs, to) = (system.clone(), actor.clone());
            let thread = thread::spawn(move || {
                AtomicUsize::new(0).fetch_add(1, SeqCst);
                theirs.send(&to, 2);
            });
            if joins_before {
                thread.join().expect("no panic");
                system.handle_all();
            } else {
                system.handle_all();
                thread.join().expect("no panic");
                system.handle_all();
            }
        }
    };
    let assumed = Assumption::SendsWithoutSteps;
    for mailboxes in [Mailboxes::Pairs, Mailboxes::Queue, Mailboxes::Unordered] {
        for strategy in ["dpor", "dpor(source)", "dpor(classic)"] {
            let of = |joins_before| {
                let report = dfs(
                    |config| config.strategy = strategy.into(),
                    program(joins_before, mailboxes),
                );
                let says = report.guarantee.assumptions.contains(&assumed);
                (report.guarantee.covered, says)
            };
            assert_eq!(of(true), (Covered::Equivalence, false), "{strategy}, joined before");
            let (covered, says) = of(false);
            let Covered::Reduced { gaps, .. } = covered else { panic!("{strategy}: {covered:?}") };
            assert_eq!(gaps, Gaps { unordered: true, ..Gaps::default() }, "{strategy}");
            assert!(says, "{strategy}");
        }
        let all = |joins_before| dfs(|_| (), program(joins_before, mailboxes)).guarantee;
        assert!(!all(true).assumptions.contains(&assumed));
        let beside = all(false);
        assert_eq!(beside.covered, Covered::Everything);
        assert!(beside.assumptions.contains(&assumed), "{beside}");
    }
}

#[test]
fn a_switch_during_a_panic_is_assumed_away_aloud() {
    /// Raises a number twice when it is dropped.
    struct Twice(Arc<AtomicUsize>);
    impl Drop for Twice {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            self.0.fetch_add(1, SeqCst);
        }
    }
    let report = dfs(
        |_| (),
        || {
            let x = Arc::new(AtomicUsize::new(0));
            let twice = Twice(Arc::clone(&x));
            let child = thread::spawn(move || {
                let _twice = twice;
                panic!("as expected");
            });
            assert_ne!(x.load(SeqCst), 1, "between two steps of a destructor");
            assert!(child.join().is_err());
        },
    );
    passes_assuming(&report, Assumption::UndividedUnwinding);
}

#[test]
fn data_that_is_not_drawn_is_assumed_away_aloud() {
    let body = || assert_ne!(raddle::rng().below(8), 5, "one value of eight");
    let seeded = |seed: u64| {
        dfs(
            move |config| {
                config.data = Data::Seeded;
                config.seed = Some(seed);
            },
            body,
        )
    };
    let lucky = (0..8).map(seeded).find(|report| report.failure.is_none());
    passes_assuming(&lucky.expect("not all of 8 seeds draw a 5"), Assumption::SeededData);
    fails_without(&dfs(|_| (), body), Assumption::SeededData);
}
