//! A bound on preemptions together with a reduction, against every execution within the bound.

use raddle_search::order::NonPreemptive;
use raddle_search::{Bound, DepthFirst, Memoryless};
use raddle_testing::{Sample, figures};
use raddle_trace::Covered;

use crate::random::{Program, Skips, check_skips, counting, execute, program, shrink_while};
use crate::{is_out_of_reach, search, search_to_its_end};

/// Statements that the bounded reduction does not see through.
const UNSEEN: [&str; 8] =
    ["Timeout", "IsFinished", "Yield", "TryReceive", "TryPut", "TryGet", "TryHand", "spurious"];

/// Statements that may wait, or are about a channel.
const WAITING: [&str; 18] = [
    "Section",
    "Read(",
    "Write(",
    "Gated",
    "Send",
    "Receive",
    "Wait",
    "Park",
    "Put",
    "Get",
    "Hand",
    "Meet",
    "Once",
    "Notify",
    "TryRead",
    "TryWrite",
    "DropSender",
    "Join",
];

/// The bounds that are compared.
const BOUNDS: std::ops::RangeInclusive<u32> = 0..=3;

/// What a comparison of one program came to.
#[derive(Debug, Default)]
struct Same {
    /// For each bound: traces within it, and executions of the reduction, those that were cut too.
    bounds: Vec<(u64, u64)>,
    /// Whether something was met that the reduction does not see through, so that it claimed nothing.
    unclaimed: bool,
    /// Whether a search took ten times the executions that a program may have.
    unfinished: bool,
}

/// `None` if the program has too many executions.
fn compare(program: &Program, most: u64) -> Option<Result<Same, String>> {
    let run = || execute(program);
    let settings = program.settings();
    if is_out_of_reach(most, settings, &run).is_some() {
        return None;
    }
    let mut same = Same::default();
    for k in BOUNDS {
        let within = DepthFirst::within(NonPreemptive, Bound::Preemptions(k));
        let all = search(within.expect("its order has none"), most, settings, &run)?;
        let Some((saw, covered)) =
            search_to_its_end(Memoryless::within(k), 10 * most, settings, &run)
        else {
            same.unfinished = true;
            return Some(Ok(same));
        };
        match covered {
            Covered::Reduced { .. } => {
                let text = format!("{program:?}");
                if !UNSEEN.iter().any(|word| text.contains(word)) {
                    return Some(Err(format!("{k}: it claims only {covered}")));
                }
                same.unclaimed = true;
                continue;
            }
            covered if covered == Covered::BoundedEquivalence(k) => {}
            covered => return Some(Err(format!("{k}: it claims {covered}"))),
        }
        let (lost, of) = (all.traces.difference(&saw.traces).count(), all.traces.len());
        if lost > 0 {
            return Some(Err(format!("{k}: lost {lost} of {of} traces")));
        }
        let unseen: Vec<_> = all.results.difference(&saw.results).collect();
        if !unseen.is_empty() {
            return Some(Err(format!("{k}: never saw {unseen:?}")));
        }
        same.bounds.push((of as u64, saw.executions + saw.blocked));
    }
    Some(Ok(same))
}

/// The program of a seed: every eighth is about reference counts.
fn drawn(seed: u64) -> Program {
    if seed.is_multiple_of(8) { counting(seed) } else { program(seed) }
}

/// More than 1,000 executions of 191 programs, beside the 300 that are compared.
const TOO_LARGE: Skips = Skips { exactly: 191, percent: (15, 60) };

/// Every trace within k preemptions, for k from 0 to 3, of some hundred programs; `cargo xtask nightly bounded` compares 12,000.
#[test]
fn a_bounded_reduction_loses_no_trace_within_its_bound() {
    let sample = Sample::new((300, 1_000), (12_000, 5_000));
    let (mut compared, mut skipped, mut waiting) = (0, 0, 0);
    let (mut unclaimed, mut unfinished) = (0, 0);
    let (mut traces, mut executions) = ([0; 4], [0; 4]);
    let mut seed = 1_000_000 + sample.from;
    while compared < sample.programs {
        let program = drawn(seed);
        match compare(&program, sample.most) {
            None => skipped += 1,
            Some(Ok(same)) if same.unclaimed => unclaimed += 1,
            Some(Ok(same)) if same.unfinished => unfinished += 1,
            Some(Ok(same)) => {
                compared += 1;
                let text = format!("{program:?}");
                waiting += u64::from(WAITING.iter().any(|word| text.contains(word)));
                for (k, (of, ran)) in same.bounds.into_iter().enumerate() {
                    traces[k] += of;
                    executions[k] += ran;
                }
            }
            Some(Err(how)) => {
                let differs = |program: &Program| {
                    compare(program, sample.most).is_some_and(|compared| compared.is_err())
                };
                let small = shrink_while(program, differs);
                let why = compare(&small, sample.most).and_then(Result::err).unwrap_or_default();
                panic!("seed {seed}: {how}\nshrunk, {why}:\n{small:?}");
            }
        }
        seed += 1;
    }
    figures(
        "bounded",
        &[
            ("compared", compared),
            ("skipped", skipped),
            ("waiting", waiting),
            ("unclaimed", unclaimed),
            ("unfinished", unfinished),
            ("traces-0", traces[0]),
            ("executions-0", executions[0]),
            ("traces-1", traces[1]),
            ("executions-1", executions[1]),
            ("traces-2", traces[2]),
            ("executions-2", executions[2]),
            ("traces-3", traces[3]),
            ("executions-3", executions[3]),
        ],
    );
    // One in some hundred programs: what is dropped is too little where locks are tried inside of locks.
    assert!(100 * unfinished <= compared, "{unfinished} take too long beside {compared}");
    assert!(2 * waiting >= compared, "{waiting} of {compared} have something that waits");
    check_skips(sample, compared, skipped, TOO_LARGE);
}

/// Programs of which something was lost: an attempt to receive that, where it comes earlier, finds nothing and depends
/// on senders that go; of the last one it still is.
const LOST: [u64; 6] = [1_000_626, 1_005_523, 1_010_065, 1_015_165, 1_020_341, 1_015_827];

#[test]
fn of_programs_of_which_a_bounded_reduction_loses_something_it_claims_less() {
    for seed in LOST {
        let program = drawn(seed);
        let run = || execute(&program);
        let search = search_to_its_end(Memoryless::within(1), 100_000, program.settings(), &run);
        let (_, covered) = search.expect("it ends");
        let Covered::Reduced { gaps, .. } = covered else { panic!("seed {seed}: {covered}") };
        assert!(gaps.attempts, "seed {seed}");
    }
}
