//! Executions in processes of their own, by the library alone.
#![cfg(unix)]

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Config, Isolation, Outcome, thread};

fn isolated() -> Config {
    let mut config = Config::default();
    config.isolation = Isolation::Process;
    // However busy the machine is: processes are slow there, and what is made small is bounded in steps.
    config.minimise = Some(std::time::Duration::from_secs(600));
    config
}

/// Ends the process if the other thread was first.
fn aborts() {
    let n = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| n.store(1, SeqCst));
        scope.spawn(|| n.load(SeqCst));
        if n.load(SeqCst) == 1 {
            std::process::abort();
        }
    });
}

#[test]
fn a_death_is_found_made_small_and_explained() {
    let mut config = isolated();
    config.strategy = "random".into();
    config.executions = Some(50);
    let report = raddle::explore(config.clone(), aborts).expect("a search");
    let failure = report.failure.expect("an abort");
    assert!(matches!(failure.outcome, Outcome::Died { .. }), "{:?}", failure.outcome);
    assert_eq!(report.counts.executions, 50, "the search went on");
    let small =
        raddle::minimise(&config, &failure, aborts).expect("a search").expect("it dies again");
    let minimised = small.minimised.expect("says how");
    // The store before the load of the body.
    assert_eq!((minimised.to.preemptions, minimised.least), (1, true));
    let why = raddle::explain(&config, &small, aborts).expect("a search").expect("it dies again");
    assert_eq!(why.pivots.len(), 1, "the store and the load: {why:?}");
    let again = raddle::replay_with(config, &small, aborts).expect("a replay");
    assert_eq!(again.failure.map(|failure| failure.outcome), Some(small.outcome));
}

#[test]
fn members_of_a_portfolio_have_processes_too() {
    let mut config = isolated();
    config.strategy = "dpor | random | pct(2)".into();
    config.executions = Some(60);
    config.members = Some(3);
    let report = raddle::explore(config, aborts).expect("a search");
    assert!(matches!(report.failure.map(|failure| failure.outcome), Some(Outcome::Died { .. })));
}

#[test]
fn a_search_in_processes_goes_on_from_a_checkpoint() {
    let search = |executions: Option<u64>, file: Option<&str>| {
        let mut config = isolated();
        config.strategy = "dpor".into();
        config.executions = executions;
        config.checkpoint = file.map(str::to_owned);
        raddle::explore(config, || {
            let n = AtomicU32::new(0);
            thread::scope(|scope| {
                for k in 1..4 {
                    let n = &n;
                    scope.spawn(move || n.store(k, SeqCst));
                }
            });
        })
        .expect("a search")
    };
    let file = std::env::temp_dir().join(format!("raddle-isolation-{}", std::process::id()));
    let file = file.to_string_lossy();
    assert_eq!(search(Some(4), Some(&*file)).counts.executions, 4);
    // Three stores have 3! orders.
    let (parts, whole) = (search(None, Some(&*file)), search(None, None));
    assert_eq!((parts.counts, parts.verdict), (whole.counts, whole.verdict));
    assert_eq!(whole.counts.executions, 6);
}
