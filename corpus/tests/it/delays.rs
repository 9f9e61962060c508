//! The fewest delays of `rr` that show known bugs: found with so many, not found with one less. Beside them the fewest
//! preemptions, which for most are as many. And explorers of a user's own: what they hear, and what comes of wrong ones.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use raddle::actors::{Actor, Address, Context, Model};
use raddle::explorer::{About, DelayingExplorer, Process, ProcessEvent, Runnable};
use raddle::{Config, Covered, Error, Verdict, explore_by};
use raddle_corpus::Ask;
use raddle_corpus::run::is_as_expected;

use crate::{check, program};

/// Which bug, of which size, with how many preemptions and how many delays.
const KNOWN: [(&str, &[usize], u32, u32); 7] = [
    ("abba", &[], 1, 1),
    ("two-stage", &[1], 1, 1),
    ("bluetooth", &[], 1, 1),
    ("wrong-lock", &[1], 1, 1),
    // All pass the value round, in another order, before it is looked at: two are made to wait.
    ("token-ring", &[], 0, 2),
    ("reorder", &[2], 1, 2),
    ("reorder", &[3], 1, 3),
];

/// Every search that is bounded by delays, with what it claims where it finds nothing.
fn searches(delays: u32) -> [String; 4] {
    [
        format!("dfs delays({delays}) rr"),
        format!("dfs delays({delays}) rr cache"),
        format!("all best-first(delays) delays({delays}) rr"),
        format!("strata(rr, exact) delays({delays})"),
    ]
}

#[test]
fn known_bugs_show_with_as_few_delays_as_is_known() {
    for (name, arguments, preemptions, delays) in KNOWN {
        let program = program(name);
        for delays_allowed in 0..=delays {
            for text in searches(delays_allowed) {
                let report = check(program, arguments, &Ask::new(&text));
                let what = format!("{name}{arguments:?} under {text}");
                if delays_allowed == delays {
                    assert!(is_as_expected(program, &report), "{what}");
                    continue;
                }
                assert_eq!(report.verdict, Verdict::Covered, "{what}");
                let covered = report.guarantee.covered;
                let (Covered::Delays(claims) | Covered::Strata { delays: Some(claims), .. }) =
                    covered
                else {
                    panic!("{what}: {covered:?}")
                };
                assert_eq!(claims, delays_allowed, "{what}");
            }
        }
        for k in 0..=preemptions {
            let report = check(program, arguments, &Ask::new(&format!("dfs preemptions({k})")));
            assert_eq!(report.failure.is_some(), k == preemptions, "{name} with {k} preemptions");
        }
    }
}

/// The search without a bound goes through strata one by one: the failing execution is one of the stratum in which
/// the bug first shows, so that no search bounded below it finds it.
#[test]
fn strata_find_known_bugs_without_a_bound() {
    for (name, arguments, ..) in KNOWN {
        for text in ["strata(rr)", "strata(rr, exact)", "strata(rtc)", "strata(prr)"] {
            let report = check(program(name), arguments, &Ask::new(text));
            assert!(is_as_expected(program(name), &report), "{name}{arguments:?} under {text}");
        }
    }
}

/// Processes in the order of creation. It notes what it hears of actors, and may be wrong.
#[derive(Clone, Debug, Default)]
struct InOrder {
    order: Vec<Process>,
    heard: Arc<Mutex<Vec<String>>>,
    is_stubborn: bool,
    panics: bool,
}

impl Hash for InOrder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.order.hash(state);
    }
}

impl DelayingExplorer for InOrder {
    fn start(&mut self, process: Process, _: &About<'_>) {
        self.order.push(process);
    }

    fn finish(&mut self, process: Process) {
        self.order.retain(|&other| other != process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        if let ProcessEvent::Created { .. } | ProcessEvent::Sent { .. } = event {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(format!("{event:?}"));
        }
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        assert!(!self.panics, "a mistake in it");
        let next = self.order.iter().copied().find(|&process| runnable.contains(process));
        next.unwrap_or(runnable.first())
    }

    fn delay(&mut self, process: Process) {
        if !self.is_stubborn {
            self.finish(process);
            self.order.push(process);
        }
    }
}

/// Spawns another one and sends to it, as long as there are some left.
#[derive(Clone, Debug, Hash)]
struct Parent;

impl Actor for Parent {
    type Message = u32;
    raddle::actors::snapshots!();

    fn handle(&mut self, left: u32, cx: &mut Context<'_, u32>) {
        if let Some(less) = left.checked_sub(1) {
            let child: Address<u32> = cx.spawn(Self);
            cx.send(&child, less);
        }
    }
}

/// The test sends to two actors, of which the first spawns one more.
fn family() -> Model<()> {
    let model = Model::new(|system| {
        let parents = [system.spawn(Parent), system.spawn(Parent)];
        system.send(&parents[0], 1);
        system.send(&parents[1], 0);
    });
    model.panics_only()
}

fn limited() -> Config {
    let mut config = Config::default();
    config.executions = Some(100);
    config
}

#[test]
fn explorers_hear_of_the_sends_of_the_test_and_of_who_created_an_actor() {
    let expected = [
        "Created { by: Process(0), process: Process(1) }",
        "Created { by: Process(0), process: Process(2) }",
        "Sent { by: Process(0), to: Process(1) }",
        "Sent { by: Process(0), to: Process(2) }",
        "Created { by: Process(1), process: Process(3) }",
        "Sent { by: Process(1), to: Process(3) }",
    ];
    // By executions: the first one follows the explorer.
    let explorer = InOrder::default();
    let heard = Arc::clone(&explorer.heard);
    let mut config = limited();
    "dfs delays(0) custom".clone_into(&mut config.strategy);
    let model = family();
    explore_by(explorer, config, move || model.run()).expect("it runs");
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(heard[..expected.len()], expected);
    // By states: so does the stratum without delays.
    let explorer = InOrder::default();
    let heard = Arc::clone(&explorer.heard);
    let explorer = raddle::explorer::Explorer::new("in-order", explorer);
    family().search(&raddle::actors::States::strata(explorer).delays(0)).expect("it runs");
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(heard[..expected.len()], expected);
}

#[test]
fn a_wrong_explorer_is_an_error_that_names_it_and_no_pass() {
    for (is_stubborn, panics, why) in [
        (true, false, "the search cannot go on: the explorer `custom` does not reach process"),
        (false, true, "the search cannot go on: the explorer `custom` panicked"),
    ] {
        for strategy in ["strata(custom)", "dfs delays(1) custom", "strata-sample(custom)"] {
            let explorer = || InOrder { is_stubborn, panics, ..InOrder::default() };
            let mut config = limited();
            strategy.clone_into(&mut config.strategy);
            let threads = explore_by(explorer(), config.clone(), || program("inc").call(&[2]));
            let model = family();
            let actors = explore_by(explorer(), config.clone(), move || model.run());
            config.isolation = raddle::Isolation::Process;
            let isolated = explore_by(explorer(), config, || program("inc").call(&[2]));
            for result in [threads, actors, isolated] {
                let Err(Error::Explorer { .. }) = &result else { panic!("{strategy}: {result:?}") };
                let told = result.map(|_| ()).expect_err("it is one").to_string();
                assert!(told.starts_with(why), "{strategy}: {told}");
            }
        }
    }
}
