//! What is told of an execution step by step is what is recorded of it as a whole: so the failure of a
//! process that died is like any other.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use raddle_corpus::run::{Ask, run};
use raddle_corpus::{Program, everything};
use raddle_engine::{AfterOptions, Setup, Stop, Tape, explore, replay, retrace};
use raddle_trace::host::{Retraced, page};
use raddle_trace::{Failure, ObjectName};

/// The failures of the corpus that are found by chance, soon.
fn failures() -> &'static [(&'static Program, Failure)] {
    static FAILURES: OnceLock<Vec<(&'static Program, Failure)>> = OnceLock::new();
    let find = |program: &'static Program| {
        let ask = Ask { executions: Some(20), ..Ask::new("random") };
        let report = run(program, &program.defaults(), &ask).ok()?;
        Some((program, report.failure?))
    };
    FAILURES.get_or_init(|| everything().filter_map(find).collect())
}

fn setup(failure: &Failure) -> Setup {
    Setup { settings: failure.schedule.settings, ..Setup::default() }
}

/// The options of a failure, as the engine counts them.
fn options(program: &'static Program, failure: &Failure) -> Vec<u32> {
    let body = || program.call(&program.defaults());
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let replayed = replay(&failure.schedule, None, &setup(failure), lap, pulse, &body);
    replayed.expect("it can be run").decisions.iter().map(|taken| taken.option).collect()
}

/// Without names: the object of a join is called by the task only at the end.
fn unnamed(object: &ObjectName) -> ObjectName {
    ObjectName { name: None, ..object.clone() }
}

#[test]
fn retraced_events_are_those_that_are_recorded() {
    let mut compared = 0;
    for &(program, ref failure) in failures() {
        let told = Rc::new(RefCell::new(Retraced::new()));
        let theirs = Rc::clone(&told);
        let hear = Box::new(move |what| theirs.borrow_mut().hear(what));
        let body = || program.call(&program.defaults());
        let options = options(program, failure);
        let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
        let outcome =
            retrace(&options, AfterOptions::Nothing, &setup(failure), hear, lap, pulse, &body);
        let outcome = outcome.expect("it can be run");
        assert!(outcome.is_like(&failure.outcome), "{}: {outcome:?}", program.name);
        let told = told.borrow();
        let (schedule, trace) = (&failure.schedule, &failure.trace);
        assert_eq!(told.schedule.settings, schedule.settings, "{}", program.name);
        assert_eq!(told.schedule.decisions, schedule.decisions, "{}", program.name);
        assert_eq!(told.schedule.tasks, schedule.tasks, "{}", program.name);
        assert_eq!(told.trace.tasks, trace.tasks, "{}", program.name);
        // With what had to come before each step.
        assert_eq!(told.trace.events, trace.events, "{}", program.name);
        let objects = |objects: &[ObjectName]| objects.iter().map(unnamed).collect::<Vec<_>>();
        assert_eq!(objects(&told.trace.objects), objects(&trace.objects), "{}", program.name);
        compared += 1;
    }
    assert!(compared > 50, "only {compared} failures were found");
}

#[test]
fn the_tape_has_the_options_of_the_execution_that_failed() {
    let words: &'static [AtomicU32] =
        Vec::leak((0..1 << 16).map(|_| AtomicU32::new(0)).collect::<Vec<_>>());
    for &(program, ref failure) in failures() {
        let body = || program.call(&program.defaults());
        let mut strategy = raddle_search::build("random", 0).expect("known").strategy;
        let setup = Setup { tape: Tape::new(words), ..setup(failure) };
        let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
        let explored = explore(&mut *strategy, &setup, lap, pulse, &body).expect("it can be run");
        let found = explored.failure.expect("found with the same seed");
        let word = |word: &AtomicU32| word.load(Ordering::Relaxed).to_ne_bytes();
        let read = page::read(&words.iter().flat_map(word).collect::<Vec<_>>());
        assert_eq!(read.expect("a page").options, options(program, &found), "{}", program.name);
    }
}
