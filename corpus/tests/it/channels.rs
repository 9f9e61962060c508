//! Threads that talk over channels: the orders in which messages are received are counted, and a search that goes by
//! them finds the rare one.

use raddle::{Config, Receives, Report, Verdict, explore};
use raddle_corpus::channels::{
    CHANNEL_FLUSH, CHANNEL_FLUSH_FIXED, channel_flush, channel_flush_fixed,
};
use raddle_corpus::{Ask, run};
use raddle_trace::Covered;

use crate::check;

const SEEDS: u64 = 10;

fn sample(strategy: &str, executions: u64, seed: u64) -> Ask {
    Ask { executions: Some(executions), seed, ..Ask::new(strategy) }
}

#[test]
fn a_flush_that_seldom_overtakes_a_write_is_forced_in_a_few_executions() {
    let (mut by_bita, mut by_random) = (0, 0);
    for seed in 1..=SEEDS {
        let report = check(&CHANNEL_FLUSH, CHANNEL_FLUSH.large, &sample("bita", 100, seed));
        let failure = report.failure.expect("it is found");
        // The writes and the flush are three receives of one channel: the second execution has them the other way
        // round, unless the first was the rare one.
        assert!(failure.execution <= 3, "seed {seed}: execution {}", failure.execution);
        by_bita += failure.execution;
        let report = run(&CHANNEL_FLUSH, CHANNEL_FLUSH.large, &sample("random", 1_000, seed));
        let report = report.expect("a known strategy");
        by_random += report.failure.map_or(1_000, |failure| failure.execution);
    }
    assert!(by_random > 20 * by_bita, "{by_random} executions at random, {by_bita} by orders");
}

fn explored(strategy: &str, arguments: [usize; 2], test: fn(&[usize])) -> Report {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    config.receives = Receives::Count;
    config.executions = Some(5_000);
    explore(config, move || test(&arguments)).expect("a search can run here")
}

#[test]
fn receives_from_channels_are_counted_with_every_strategy() {
    // The writer receives two writes and a flush. Of three receives there are three pairs, and the threads are joined
    // first, so that of one pair alone, that of the two writes, both orders can be: 3 pairs and 3 + 1 goals. The
    // relay receives once, and has no pairs.
    for strategy in ["dpor", "bita", "bita(pr)"] {
        let report = explored(strategy, [2, 1], channel_flush_fixed);
        assert!(report.verdict.is_pass(), "{strategy}: {report:?}");
        let seen = report.receives.as_ref().expect("asked for");
        let pr = seen.count.pr;
        assert_eq!((pr.pairs, pr.covered, pr.goals), (3, 1, 4), "{strategy}");
        assert_eq!(seen.open.0 + seen.open.1, 2, "{strategy}: {:?}", seen.uncovered);
        for pair in &seen.uncovered {
            let pair = pair.to_string();
            assert!(pair.starts_with("writer: Told 1 of channels.rs:"), "{pair}");
        }
        if strategy != "dpor" {
            let Covered::Receives { ended, infeasible, .. } = report.guarantee.covered else {
                panic!("{report:?}")
            };
            assert!(ended && infeasible == 0, "{strategy}: {report:?}");
        }
    }
}

#[test]
fn the_fixed_version_is_clean_by_all_orders_of_its_receives() {
    for (arguments, executions) in
        [(CHANNEL_FLUSH_FIXED.defaults(), 300), (CHANNEL_FLUSH_FIXED.large.to_vec(), 100)]
    {
        for strategy in ["bita", "random", "dpor"] {
            let report = check(&CHANNEL_FLUSH_FIXED, &arguments, &sample(strategy, executions, 1));
            assert_ne!(report.verdict, Verdict::Failed, "{strategy}");
        }
    }
    let report = explored("dpor", [1, 0], channel_flush);
    assert_eq!(report.verdict, Verdict::Failed);
}
