//! Programs outside an execution, on threads of the operating system: as std's would be.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use raddle::{Config, Note, Verdict};
use raddle_corpus::{Expected, REGISTRY, ours};

/// Runs `program` and waits for it, but not for ever: a lock that is lost outside hangs.
#[track_caller]
pub(crate) fn ends_well(name: &str, program: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        program();
        let _ = done.send(());
    });
    let ended = ended.recv_timeout(Duration::from_mins(5));
    assert_eq!(ended, Ok(()), "{name} panicked (Disconnected) or hangs (Timeout)");
}

#[test]
fn every_program_without_a_bug_ends_well_on_real_threads() {
    for program in REGISTRY.iter().filter(|program| program.expected == Expected::Pass) {
        ends_well(program.name, || program.call(&program.defaults()));
    }
}

// With a mutex whose model lets go before its value does, 5 of 5 runs failed.
#[test]
fn a_lock_outside_an_execution_excludes() {
    ends_well("hammer", || ours::hammer(4, 20_000));
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
