//! Protocols: the version that is right comes out clean, every bug is real and is found, and the same code
//! runs on threads.

mod chain;
mod multi_paxos;
mod osr_driver;
mod paxos;
mod primary_backup;
mod raft;
mod transaction_manager;
mod two_phase_commit;

use raddle::Verdict;
use raddle::actors::{Delivery, Mailboxes, Manager, Model, States, System};
use raddle_corpus::protocols::{CRASH, MONITOR, PROTOCOLS, UNHANDLED, programs};
use raddle_corpus::{Ask, Expected, run};
use raddle_trace::Outcome;

use crate::{check, long, program};

fn sample(strategy: &str, executions: u64) -> Ask {
    Ask { executions: Some(executions), seed: 1, ..Ask::new(strategy) }
}

/// So many executions of the defaults show nothing.
#[track_caller]
fn is_clean(name: &str, strategy: &str, executions: u64) {
    let program = program(name);
    let report = run(program, &program.defaults(), &sample(strategy, executions)).expect("it runs");
    assert_eq!(report.failure, None, "{name} under {strategy}");
    assert_eq!(report.counts.rejected, 0, "{name} under {strategy}");
    assert!(matches!(report.verdict, Verdict::Passed | Verdict::Covered), "{name}: {report:?}");
}

/// Executions of a model reach all its goals, so that to be clean means something.
#[track_caller]
fn reaches_its_goals<S: Send + Sync + 'static>(model: &Model<S>) {
    let mut config = raddle::Config::default();
    config.strategy = "random".into();
    config.executions = Some(300);
    config.seed = Some(1);
    let body = model.clone();
    let report = raddle::explore(config, move || body.run()).expect("it runs");
    assert_eq!(report.failure, None);
    model.judge();
}

/// So many states, those nearest to the first one first, show nothing. How many there are, if that is all.
#[track_caller]
fn has_clean_states<S: Send + Sync + 'static>(model: &Model<S>, most: u64) -> Option<u64> {
    let searched = model.search(&States::breadth_first().states(most)).expect("it can be copied");
    assert!(searched.violation.is_none(), "{searched}");
    (searched.unique < most).then_some(searched.unique)
}

/// The strategy finds the bug in so many executions of the defaults, and the failure says this.
#[track_caller]
fn finds(name: &str, strategy: &str, executions: u64, says: &str) {
    let program = program(name);
    let report = check(program, &program.defaults(), &sample(strategy, executions));
    let Some(failure) = report.failure else {
        panic!("{name} is not found by {strategy} in {executions} executions")
    };
    let Outcome::Panicked { panics, .. } = &failure.outcome else { panic!("{failure:?}") };
    let message = &panics[0].message;
    assert!(message.contains(says), "{name} under {strategy}: {message}");
}

/// Takes these steps, one on each line: whose, what is handled, and after `=` the values that are chosen.
/// What the last one says when it fails.
#[track_caller]
fn follow<S: Send + Sync + 'static>(model: &Model<S>, script: &str) -> String {
    let mut space = model.space().expect("it can be copied");
    let mut state = space.first();
    let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let (step, values) = line.split_once(" = ").unwrap_or((line, ""));
        let (actor, what) = step.split_once(": ").expect("an actor and a message");
        let values: Vec<u32> =
            values.split_whitespace().map(|value| value.parse().expect("a number")).collect();
        let all: Vec<_> = (space.enabled(&state).into_iter())
            .map(|link| (link, space.delivery(&state, link, &values)))
            .collect();
        let is_this =
            |delivery: &Delivery| delivery.link == actor && delivery.what.starts_with(what);
        let Some((link, _)) = all.iter().find(|(_, delivery)| is_this(delivery)) else {
            let others: Vec<_> = all.iter().map(|(_, step)| step.to_string()).collect();
            panic!("`{line}` is none of\n  {}", others.join("\n  "))
        };
        match space.step(&state, *link, &values) {
            Ok(next) => state = next.snapshot,
            Err(why) if lines.peek().is_none() => return why.to_string(),
            Err(why) => panic!("`{line}` fails: {why}"),
        }
    }
    panic!("nothing fails")
}

// As in production, and by turns. `raddle-corpus threads` does this for as long as it is told to.
#[test]
fn every_protocol_runs_on_threads_with_a_history_that_is_right() {
    let rounds = if long() { 100 } else { 1 };
    let managers = [
        Manager::Concurrent { threads: 2 },
        Manager::Concurrent { threads: 4 },
        Manager::Deterministic,
    ];
    for protocol in PROTOCOLS {
        for manager in managers.into_iter().cycle().take(3 * rounds) {
            let system = System::builder().manager(manager).mailboxes(Mailboxes::Queue).build();
            (protocol.produce)(&system);
            system.shutdown();
        }
    }
}

#[test]
fn a_protocol_has_a_bug_if_and_only_if_it_says_of_which_kind() {
    for program in programs() {
        let is_of_a_kind = [UNHANDLED, CRASH, MONITOR].contains(&program.pattern);
        let is_correct = program.expected == Expected::Pass;
        assert_eq!(is_of_a_kind, !is_correct, "{}", program.name);
        assert_eq!(program.pattern.is_empty(), is_correct, "{}", program.name);
        assert_eq!(program.large.len(), program.parameters.len(), "{}", program.name);
    }
}

// One execution each, by turns and at random. It may show a bug of the kind that is known, and no other.
#[test]
fn every_protocol_runs_at_both_sizes_and_large_ones_have_200_steps() {
    for program in programs() {
        for (arguments, least) in [(&*program.defaults(), 1), (program.large, 200)] {
            for strategy in ["round-robin", "random"] {
                let report = run(program, arguments, &sample(strategy, 1)).expect("it runs");
                let name = program.name;
                match &report.failure {
                    Some(failure) => {
                        let met = program.expected.is_met_by(Some(&failure.outcome));
                        assert!(met, "{name}{arguments:?}: {:?}", failure.outcome);
                    }
                    None => assert!(
                        report.counts.steps >= least,
                        "{name}{arguments:?} under {strategy}: {} steps",
                        report.counts.steps
                    ),
                }
            }
        }
    }
}

#[test]
fn protocols_that_are_right_are_clean_when_they_are_large() {
    for program in programs().filter(|program| program.expected == Expected::Pass) {
        for strategy in ["random", "pct(3)"] {
            let report = run(program, program.large, &sample(strategy, 20)).expect("it runs");
            assert_eq!(report.failure, None, "{} under {strategy}", program.name);
        }
    }
}

// The median of five seeds. Of one bug if tests are not to be long.
#[test]
fn random_needs_a_hundred_executions_for_a_bug_of_a_large_program() {
    let bugs = programs().filter(|program| program.expected != Expected::Pass);
    for program in bugs.take(if long() { usize::MAX } else { 1 }) {
        let needed = |seed| {
            let ask = Ask { seed, ..sample("random", 101) };
            let report = run(program, program.large, &ask).expect("it runs");
            report.failure.map_or(101, |failure| failure.execution)
        };
        let mut needed: Vec<_> = (1..=5).map(needed).collect();
        needed.sort_unstable();
        assert!(needed[2] >= 100, "{}{:?}: {needed:?}", program.name, program.large);
    }
}
