//! Several searches of one test: what is reported of them, and what is refused.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use raddle::{
    Config, Covered, Error, Note, Progress, ProgressListener, Report, Timeouts, Verdict, explore,
    replay,
};

use crate::programs::{kept_update, large, lock_order, lost_update};

fn with(strategy: &str, change: impl FnOnce(&mut Config), program: fn()) -> Report {
    let mut config = Config::default();
    strategy.clone_into(&mut config.strategy);
    change(&mut config);
    explore(config, program).expect("a search can run here")
}

/// The executions of each member.
fn executions(report: &Report) -> Vec<u64> {
    report.members.iter().map(|member| member.counts.executions).collect()
}

fn verdicts(report: &Report) -> Vec<Verdict> {
    report.members.iter().map(|member| member.verdict).collect()
}

fn said(report: &Report, what: &str) -> bool {
    report.notes.iter().any(|note| matches!(note, Note::Text { text } if text.contains(what)))
}

/// `dfs` finds it in its second execution, and `dfs preemptions(0)` never: it has one execution, in
/// which the body runs until it waits.
#[test]
fn the_first_failure_ends_all_and_replays() {
    let report = with("dfs preemptions(0) | dfs", |_| {}, lost_update);
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.strategy, "dfs preemptions(0) | dfs");
    assert_eq!(executions(&report), [1, 2]);
    assert_eq!(report.counts.executions, 3);
    assert_eq!(verdicts(&report), [Verdict::Covered, Verdict::Failed]);
    assert!(said(&report, "`dfs` found it"));
    let failure = report.failure.expect("a failure");
    assert_eq!(failure.execution, 2, "of its own");
    let again = replay(failure.schedule.to_string().as_str(), lost_update).expect("a token");
    let again = again.failure.expect("the same");
    assert_eq!((again.outcome, again.trace), (failure.outcome, failure.trace));
}

#[test]
fn every_failure_of_members_that_run_at_once_replays() {
    for program in [lost_update, lock_order] {
        let report = with("random | pos | dpor", |config| config.members = Some(3), program);
        let failure = report.failure.expect("a failure");
        let again = replay(failure.schedule.to_string().as_str(), program).expect("a token");
        assert_eq!(again.failure.expect("the same").outcome.kind(), failure.outcome.kind());
    }
}

/// In turns of one execution: `pos`, `dfs`, `pos`, `dfs`, `pos`; then `dfs` has nothing left.
#[test]
fn a_member_that_has_covered_everything_ends_all() {
    let report = with("pos | dfs", |_| {}, kept_update);
    assert_eq!((report.verdict, executions(&report)), (Verdict::Covered, vec![3, 2]));
    assert_eq!(report.guarantee.covered, Covered::Everything);
    assert!(!said(&report, "went on"));
}

/// The same with `dpor`, after which `pos` goes on for 500.
#[test]
fn after_a_reduction_that_has_covered_everything_the_others_go_on() {
    let report = with("pos | dpor", |_| {}, kept_update);
    assert_eq!(report.verdict, Verdict::Covered);
    assert_eq!(report.guarantee.covered, Covered::Equivalence);
    assert_eq!(report.guarantee, report.members[1].guarantee);
    assert_eq!(executions(&report), [503, 2]);
    assert!(said(&report, "the other members went on for 500 of up to 500 executions"));
    assert_eq!(verdicts(&report), [Verdict::Passed, Verdict::Covered]);
    assert!(said(&report, "the guarantee is that of `dpor` alone"));
}

#[test]
fn at_once_a_correct_program_is_covered_too() {
    let report = with("dfs | dpor | pos", |config| config.members = Some(3), kept_update);
    assert_eq!(report.verdict, Verdict::Covered);
    let full = [Covered::Everything, Covered::Equivalence];
    assert!(full.contains(&report.guarantee.covered), "{}", report.guarantee);
}

#[test]
fn after_a_reduction_the_others_go_on_within_the_budget() {
    let budget = |config: &mut Config| config.executions = Some(50);
    let report = with("pos | dpor", budget, kept_update);
    assert_eq!((report.verdict, executions(&report)), (Verdict::Covered, vec![48, 2]));
    assert!(said(&report, "went on for 45 of up to 500"));
}

#[test]
fn a_bound_that_is_covered_ends_its_member_alone() {
    let budget = |config: &mut Config| config.executions = Some(50);
    let report = with("dfs preemptions(0) | pos", budget, kept_update);
    assert_eq!(report.verdict, Verdict::Covered);
    assert_eq!(report.guarantee.covered, Covered::Preemptions(0));
    assert_eq!(report.counts.executions, 50, "of both together");
    assert_eq!(verdicts(&report), [Verdict::Covered, Verdict::Passed]);
}

#[test]
fn in_turns_the_same_is_done_every_time() {
    let run = || {
        let budget = |config: &mut Config| config.executions = Some(500);
        with("all best-first(rand) | pos | dfs preemptions(1) | random", budget, large)
    };
    let (one, two) = (run(), run());
    assert_eq!((one.members, one.counts), (two.members, two.counts));
    assert_eq!(one.counts.executions, 500);
}

/// As many as a sampler has by itself: it would never end.
#[test]
fn without_a_budget_samplers_have_the_usual_one() {
    let report = with("pos | pct(3)", |_| {}, kept_update);
    assert_eq!(report.counts.executions, 10_000);
    assert_eq!(
        report.guarantee.covered.to_string(),
        report.members[0].guarantee.covered.to_string()
    );
}

#[test]
fn auto_has_the_same_members_if_time_is_given() {
    // More where the machine is so busy that some member does not come to run in time.
    let report = [400, 4_000, 40_000].into_iter().find_map(|ms| {
        let time = |config: &mut Config| config.time = Some(Duration::from_millis(ms));
        let report = with("auto", time, large);
        assert_eq!(
            report.strategy,
            with("auto", |config| config.executions = Some(9), large).strategy
        );
        assert!(report.elapsed_ms >= ms);
        executions(&report).iter().all(|executions| *executions > 0).then_some(report)
    });
    assert_eq!(report.expect("every member has run").verdict, Verdict::Passed);
}

/// The reduction cannot be had with these timeouts.
#[test]
fn a_member_that_the_settings_refuse_is_left_out() {
    let idle = |config: &mut Config| config.timeouts = Timeouts::Idle;
    let report = with("dpor(eta) | dfs", idle, kept_update);
    assert_eq!((report.verdict, executions(&report)), (Verdict::Covered, vec![2]));
    assert!(said(&report, "`dpor(eta)` is left out: "), "{:?}", report.notes);
    let mut config = Config::default();
    config.strategy = "dpor(eta) | dpor preemptions(1)".to_owned();
    config.timeouts = Timeouts::Idle;
    let refused = explore(config, kept_update).expect_err("nothing is left");
    assert!(refused.to_string().contains("`dpor preemptions(1)` is left out"), "{refused}");
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let refused = |strategy: &str, preemptions| {
        let mut config = Config::default();
        config.strategy = strategy.to_owned();
        config.preemptions = preemptions;
        explore(config, kept_update).expect_err("refused").to_string()
    };
    insta::assert_snapshot!(refused("dfs | ", None), @"the strategy `dfs |` cannot be used: there is a `|` with no strategy beside it; leave it out");
    insta::assert_snapshot!(refused("dfs | auto", None), @"the strategy `dfs | auto` cannot be used: `auto` is a choice of strategies and cannot be a member; name the strategies");
    insta::assert_snapshot!(refused("pos | dfs | all depth-first", None), @"the strategy `pos | dfs | all depth-first` cannot be used: `dfs` is there twice and would do the same both times; leave one out");
    insta::assert_snapshot!(refused("portfolio preemptions(2)", None), @"the strategy `portfolio preemptions(2)` cannot be used: `portfolio` stands for whole strategies and takes no parts; write it alone, or a list of your own, as in `dfs preemptions(2) | pos`");
    insta::assert_snapshot!(refused("portfolio", Some(2)), @"the strategy `portfolio` cannot be used: `preemptions` bounds one search, and these are several; write the bound where it belongs, as in `dfs preemptions(2) | pos`");
    insta::assert_snapshot!(refused("pos | dsf", None), @"the strategy `dsf` cannot be used: `dsf` is not a known strategy; did you mean `dfs`?");
}

#[test]
fn a_hang_of_one_member_is_reported_and_ends_the_others() {
    for at_once in [1, 2] {
        let calls = AtomicU32::new(0);
        let mut config = Config::default();
        config.strategy = "random | pos".to_owned();
        config.members = Some(at_once);
        config.watchdog = Some(Duration::from_secs(3));
        let hung = explore(config, move || {
            kept_update();
            if calls.fetch_add(1, SeqCst) == 20 {
                let (_keep, receive) = std::sync::mpsc::channel::<()>();
                let _ = receive.recv();
            }
        });
        assert!(matches!(hung, Err(Error::Hung(_))), "{hung:?}");
    }
}

#[test]
fn an_observer_hears_of_all_members_together() {
    // More where the machine is so busy that `dfs` does not come to run in time.
    let (report, heard) = [400, 4_000, 40_000]
        .into_iter()
        .find_map(|ms| {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let theirs = Arc::clone(&heard);
            let change = |config: &mut Config| {
                config.time = Some(Duration::from_millis(ms));
                let hear = move |progress: &Progress| theirs.lock().unwrap().push(*progress);
                config.observer = Some(ProgressListener::new(Duration::from_millis(20), hear));
            };
            let report = with("random | dfs | pos", change, large);
            let heard = std::mem::take(&mut *heard.lock().unwrap());
            let told = heard.last().is_some_and(|last: &Progress| last.estimate.is_some());
            told.then_some((report, heard))
        })
        .expect("it was told");
    assert!(heard.is_sorted_by_key(|progress| progress.executions));
    let last = heard[heard.len() - 1];
    assert!(last.executions <= report.counts.executions && last.rate.is_some());
    assert!(last.estimate.is_some(), "of dfs");
    let progress = report.progress.expect("it did not finish");
    assert_eq!(progress.executions, report.members[1].counts.executions);
}

#[test]
fn an_execution_that_takes_too_long_is_rejected_in_every_member() {
    fn endless() {
        let n = raddle::sync::atomic::AtomicU32::new(0);
        while raddle::choose(2) == 0 || n.load(raddle::sync::atomic::Ordering::SeqCst) == 0 {
            n.fetch_add(0, raddle::sync::atomic::Ordering::SeqCst);
        }
    }
    let change = |config: &mut Config| {
        config.executions = Some(2);
        config.steps = Some(u64::MAX);
        config.execution_time = Some(Duration::from_millis(20));
    };
    let report = with("random | pos", change, endless);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert_eq!((report.counts.executions, report.counts.rejected), (2, 2));
}
