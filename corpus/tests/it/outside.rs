//! Programs outside an execution, on threads of the operating system: as std's would be.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use raddle::{Config, Note, Verdict};
use raddle_corpus::{Expected, REGISTRY, ours};

#[test]
fn every_program_without_a_bug_ends_well_on_real_threads() {
    for program in REGISTRY.iter().filter(|program| program.expected == Expected::Pass) {
        program.call(&program.defaults());
    }
}

// A model that lets go before the value does lets another thread in too early, in one of some
// thousand sections: with 4 threads of 20,000 this was never missed.
#[test]
fn a_lock_outside_an_execution_excludes() {
    ours::hammer(4, 20_000);
}

#[test]
fn state_that_leaks_is_noticed_when_only_what_is_pending_differs() {
    let executions = Arc::new(AtomicUsize::new(0));
    let mut config = Config::default();
    config.strategy = "dfs".into();
    let report = raddle::explore(config, move || ours::leak(&executions)).expect("runs");
    assert_eq!(report.verdict, Verdict::Inconclusive);
    let [Note::Diverged(divergence)] = &report.notes[..] else { panic!("{:?}", report.notes) };
    assert!(divergence.found.contains("ours.rs"), "{divergence}");
}
