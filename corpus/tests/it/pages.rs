//! What a trace says of the order of its steps, and the pages that are made of it, for every program
//! that fails.

use raddle_engine::happens::History;
use raddle_engine::observer::{Observer, ObserverNeeds, Observers};
use raddle_engine::strategy::{self, Cut, Plan};
use raddle_engine::{Setup, Stop, explore_observed};
use raddle_report::export::{mermaid, perfetto};
use raddle_report::html::{Sources, trace_page};
use raddle_trace::{Event, Failure};

use raddle_corpus::{Ask, Expected, Program, run};

use crate::{all, program};

/// Keeps the happens-before of the last execution.
#[derive(Default)]
struct Watch(History);

impl Observer for Watch {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, _: &Plan) {
        self.0 = History::default();
    }

    fn event(&mut self, event: &strategy::Event<'_>, _: Option<Cut>) {
        self.0.hear(event);
    }
}

/// Whether a step happened before another, or is it, as the trace says: by the order of tasks and by
/// what is written down.
fn before(events: &[Event]) -> Vec<Vec<bool>> {
    let mut before: Vec<Vec<bool>> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let mut row = vec![false; events.len()];
        row[index] = true;
        let own = events[..index].iter().rposition(|earlier| earlier.task == event.task);
        let after = event.after.as_ref().expect("the engine writes it down");
        assert!(after.is_sorted(), "{after:?}");
        for earlier in own.into_iter().chain(after.iter().map(|&step| step as usize)) {
            assert!(earlier < index, "{earlier} is not before {index}");
            for (known, new) in row.iter_mut().zip(&before[earlier]) {
                *known |= new;
            }
        }
        before.push(row);
    }
    before
}

/// Finds the failure of a program, and what the engine knew of the order of its steps.
fn failure(program: &Program, strategy: &str) -> Option<(Failure, History)> {
    let mut strategy = raddle_search::build(strategy, 1).expect("a known strategy").strategy;
    let mut watch = Watch::default();
    let arguments = program.defaults();
    let mut setup = Setup::default();
    setup.limits.executions = 5_000;
    let body = || program.call(&arguments);
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let observers: Observers<'_, '_> = &mut [&mut watch];
    let explored = explore_observed(&mut *strategy, observers, &setup, lap, pulse, &body);
    Some((explored.expect("a search can run here").failure?, watch.0))
}

#[test]
fn a_trace_has_the_happens_before_of_the_engine() {
    let mut n_compared = 0;
    for (program, _) in all().filter(|(program, _)| program.expected != Expected::Pass) {
        let found = ["dfs preemptions(2)", "random"].map(|strategy| failure(program, strategy));
        for (failure, history) in found.into_iter().flatten() {
            let events = &failure.trace.events;
            // A livelock says the same ten thousand times.
            if events.len() > 1_000 {
                continue;
            }
            // Values that were decided are no steps of their own.
            let is_step = |event: &Event| !event.op.starts_with("choose(");
            let steps: Vec<usize> = (0..events.len()).filter(|&at| is_step(&events[at])).collect();
            // A data race is found when the execution is run once more, and ends it.
            let ends_early = program.expected == Expected::DataRace;
            let as_long = steps.len() == history.len() || ends_early && steps.len() < history.len();
            assert!(as_long, "{}: {} of {}", program.name, steps.len(), history.len());
            let said = before(events);
            for (second, &later) in steps.iter().enumerate() {
                for (first, &earlier) in steps.iter().enumerate() {
                    let known = first <= second && history.before(first, second);
                    assert_eq!(
                        said[later][earlier], known,
                        "{}: {earlier} before {later}",
                        program.name
                    );
                }
            }
            n_compared += 1;
        }
    }
    assert!(n_compared > 20, "{n_compared}");
}

#[test]
fn a_message_names_the_step_that_sent_it() {
    for name in ["store-lost-update", "phils-starve", "scheduler-lost-task"] {
        let (failure, _) = failure(program(name), "random").expect("it fails");
        let events = &failure.trace.events;
        let sent: Vec<_> = (0..).zip(events).filter_map(|(at, e)| Some((e.sent_by?, at))).collect();
        assert!(!sent.is_empty(), "{name}");
        let before = before(events);
        for (sender, handled) in sent {
            assert!(sender < handled && before[handled as usize][sender as usize], "{name}");
        }
    }
}

#[test]
fn every_failure_has_a_page_and_exports() {
    for (program, arguments) in all().filter(|(program, _)| program.expected != Expected::Pass) {
        let ask = Ask { executions: Some(5_000), ..Ask::new("random") };
        let report = run(program, &arguments, &ask).expect("a known strategy");
        let Some(failure) = &report.failure else { continue };
        let page = trace_page(&report, &Sources::default());
        let has_steps = !failure.trace.events.is_empty();
        assert!(page.contains(program.name), "{}", program.name);
        assert_eq!(page.contains("id=\"data\""), has_steps, "{}", program.name);
        let timeline: serde_json::Value = serde_json::from_str(&perfetto(failure)).expect("JSON");
        let slices = timeline["traceEvents"].as_array().into_iter().flatten();
        let slices = slices.filter(|event| event["ph"] == "X").count();
        assert_eq!(slices, failure.trace.events.len(), "{}", program.name);
        assert!(mermaid(failure).starts_with("sequenceDiagram\n    participant "));
    }
}
