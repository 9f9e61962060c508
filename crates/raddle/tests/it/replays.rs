//! What `replay` reports.

use raddle::{Config, Failure, Note, Verdict, explore, replay, replay_with};

use crate::programs::{kept_update, lock_order, lost_update};

fn failure_of(program: fn()) -> Failure {
    let report = explore(Config::default(), program).expect("a search can run here");
    report.failure.expect("the program is wrong")
}

#[test]
fn a_failure_replays_from_all_that_it_is_kept_in() {
    for program in [lost_update, lock_order] {
        let failure = failure_of(program);
        let token = failure.schedule.to_string();
        let reports = [
            replay(&token, program),
            replay(token.as_str(), program),
            replay(failure.schedule.clone(), program),
            replay(&failure, program),
        ];
        for report in reports {
            let report = report.expect("it can be replayed");
            assert_eq!(report.verdict, Verdict::Failed);
            assert_eq!(report.strategy, "replay");
            let again = report.failure.expect("it fails again");
            assert_eq!(again.outcome, failure.outcome);
            assert_eq!(again.trace, failure.trace);
        }
    }
}

#[test]
fn a_changed_program_is_noticed() {
    let token = failure_of(lost_update).schedule.to_string();
    let report = replay(&token, lock_order).expect("it can be run");
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(matches!(report.notes.as_slice(), [Note::Diverged(_)]), "{:?}", report.notes);
    let report = replay(&token, kept_update).expect("it can be run");
    assert_eq!(report.verdict, Verdict::Inconclusive);
}

#[test]
fn a_configuration_can_ask_for_a_replay() {
    let failure = failure_of(lost_update);
    let mut config = Config::default();
    config.replay = Some(failure.schedule.to_string());
    let report = explore(config, lost_update).expect("it can be replayed");
    assert_eq!((report.verdict, report.counts.executions), (Verdict::Failed, 1));
}

#[test]
fn an_execution_that_passes_is_replayed_too() {
    let empty = raddle::Schedule::default();
    let report = replay_with(Config::default(), empty, || {}).expect("it can be replayed");
    assert_eq!(report.verdict, Verdict::Passed);
}
