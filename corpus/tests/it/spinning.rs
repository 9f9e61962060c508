//! Programs that spin: covered by the reductions, and compared with every interleaving within the same rounds.

use std::path::Path;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::{Config, Covered, Verdict, thread};
use raddle_corpus::counts::spinning;
use raddle_corpus::tables::spinning::table;
use raddle_corpus::{Ask, Program};
use raddle_trace::Assumption;

use crate::{check, long, program};

/// A program, its arguments, the rounds; and whether all interleavings can be run, and in long tests only.
type Known = (&'static Program, &'static [usize], u32, Brute);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brute {
    Always,
    Long,
    /// There are too many.
    Never,
}

const LOCKS: [Known; 15] = [
    (&spinning::PETERSON, &[], 1, Brute::Always),
    (&spinning::PETERSON, &[], 2, Brute::Long),
    (&spinning::DEKKER, &[], 1, Brute::Long),
    (&spinning::DEKKER, &[], 2, Brute::Never),
    (&spinning::BAKERY, &[], 1, Brute::Long),
    (&spinning::BAKERY, &[], 2, Brute::Never),
    (&spinning::TICKET_LOCK, &[2, 1], 1, Brute::Always),
    (&spinning::TICKET_LOCK, &[2, 1], 2, Brute::Always),
    (&spinning::TICKET_LOCK, &[2, 2], 2, Brute::Never),
    (&spinning::SPIN_LOCK, &[2, 1], 1, Brute::Always),
    (&spinning::SPIN_LOCK, &[2, 2], 2, Brute::Never),
    (&spinning::MCS_LOCK, &[2], 1, Brute::Always),
    (&spinning::MCS_LOCK, &[2], 2, Brute::Long),
    (&spinning::SEQLOCK_READER, &[], 1, Brute::Always),
    (&spinning::SEQLOCK_READER, &[], 2, Brute::Always),
];

fn ask(strategy: &str, rounds: u32) -> Ask {
    Ask { traces: true, rounds: Some(rounds), ..Ask::new(strategy) }
}

/// What is wrong with what is known, if anything is.
fn compare(&(program, arguments, rounds, brute): &Known) -> Result<(), String> {
    let traces = program.known_traces(arguments, Some(rounds)).expect("it is known");
    let what = format!("{}{arguments:?} with {rounds}", program.name);
    let same =
        |holds: bool, how: String| if holds { Ok(()) } else { Err(format!("{what}: {how}")) };
    for strategy in ["dpor", "dpor(source)", "dpor(classic)"] {
        let report = check(program, arguments, &ask(strategy, rounds));
        let sentence = report.guarantee.to_string();
        same(report.verdict == Verdict::Covered, format!("{strategy}: {sentence}"))?;
        let assumed = report.guarantee.assumptions.contains(&Assumption::Rounds(rounds));
        same(assumed, format!("{strategy}: {sentence}"))?;
        let seen = report.guarantee.traces.as_ref().expect("asked for").distinct;
        let ran = report.counts.executions;
        same(seen == traces, format!("{strategy}: {seen} traces in {ran} executions"))?;
    }
    if brute == Brute::Never || brute == Brute::Long && !long() {
        return Ok(());
    }
    let report = check(program, arguments, &ask("dfs", rounds));
    let seen = report.guarantee.traces.as_ref().expect("asked for").distinct;
    let ran = report.counts.executions;
    same(report.guarantee.covered == Covered::Everything, report.guarantee.to_string())?;
    same(seen == traces, format!("dfs: {seen} traces in {ran} executions"))
}

#[test]
fn dpor_covers_locks_that_spin_and_sees_what_all_interleavings_show() {
    let wrong: Vec<String> = LOCKS.iter().filter_map(|known| compare(known).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_programs_that_spin_is_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/spinning.md");
    let now = table();
    if std::env::var_os("UPDATE_COUNTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).expect("the table can be written");
        return;
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(now == before, "docs/results/spinning.md: run the tests with UPDATE_COUNTS=1");
}

// One load in each of r rounds; the store comes before the first, between two, or after the last: then the next
// waits for it.
#[test]
fn a_flag_has_as_many_traces_as_there_are_places_for_its_store() {
    for rounds in 1..6 {
        let report = check(program("spin-without-yield"), &[], &ask("dpor", rounds));
        assert_eq!(report.verdict, Verdict::Covered, "{}", report.guarantee);
        assert_eq!(report.counts.executions, u64::from(rounds) + 1);
    }
    // A load more: the last look of a round is the yield.
    for rounds in 1..6 {
        let report = check(program("missed-window-fixed"), &[], &ask("dpor", rounds));
        assert_eq!(report.verdict, Verdict::Covered, "{}", report.guarantee);
        assert_eq!(report.counts.executions, u64::from(rounds) + 2);
    }
}

#[test]
fn what_follows_n_rounds_is_found_with_n_rounds_and_out_of_reach_with_fewer() {
    for name in ["spin-then-park", "impatient"] {
        let program = program(name);
        for (n, rounds) in [(2, 1), (2, 2), (3, 2), (3, 3), (5, 4), (5, 5), (5, 9)] {
            for strategy in ["dpor", "dfs"] {
                let report = check(program, &[n], &Ask { traces: false, ..ask(strategy, rounds) });
                let what =
                    format!("{name}({n}) with {rounds} under {strategy}: {}", report.guarantee);
                let found = report.verdict == Verdict::Failed;
                assert_eq!(found, rounds as usize >= n, "{what}");
                if !found {
                    assert_eq!(report.verdict, Verdict::Covered, "{what}");
                    let assumed = Assumption::Rounds(rounds);
                    assert!(report.guarantee.assumptions.contains(&assumed), "{what}");
                    assert!(report.guarantee.to_string().contains("identical round"), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_marked_loop_needs_no_setting() {
    for strategy in ["dpor", "dfs", "dfs preemptions(2)", "dpor(source) best-first(pb)"] {
        let report = check(program("await-flag"), &[], &Ask::new(strategy));
        assert_eq!(report.verdict, Verdict::Covered, "{strategy}: {}", report.guarantee);
        assert_eq!(report.counts.executions, 2, "{strategy}");
        let rounds = |assumption: &Assumption| matches!(assumption, Assumption::Rounds(_));
        assert!(!report.guarantee.assumptions.iter().any(rounds), "{}", report.guarantee);
    }
}

#[test]
fn a_loop_that_never_ends_is_a_livelock_at_its_place() {
    for name in ["missed-window", "after-you"] {
        let report = check(program(name), &[], &Ask::new("dpor"));
        let failure = report.failure.expect("a livelock");
        assert_eq!(failure.outcome.kind(), "livelock");
        let last = failure.trace.events.last().expect("it spins");
        assert!(last.site.file.ends_with("bugs/spinning.rs"), "{:?}", last.site);
        assert!(failure.outcome.summary(&failure.trace.tasks).contains("livelock"));
    }
}

#[test]
fn an_endless_loop_of_loads_alone_is_a_livelock_at_the_line_of_the_load() {
    for strategy in ["dpor", "dpor(source)", "dfs", "random", "auto"] {
        let mut config = Config::default();
        config.strategy = strategy.to_owned();
        let looks_at = line!() + 4;
        let report = raddle::explore(config, || {
            let up = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&up);
            let looks = thread::spawn(move || while !seen.load(SeqCst) {});
            up.store(false, SeqCst);
            looks.join().expect("it does not panic");
        });
        let failure = report.expect("it can be run").failure.expect("it never ends");
        assert_eq!(failure.outcome.kind(), "livelock", "{strategy}");
        let last = failure.trace.events.last().expect("it spins");
        assert_eq!((last.site.file.as_str(), last.site.line), (file!(), looks_at), "{strategy}");
    }
}
