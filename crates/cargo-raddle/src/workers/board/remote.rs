//! A search whose units other machines run: here is only folded what they have recorded, and decided what is next.

use std::path::PathBuf;

use raddle_trace::unit::{Completed, ToJudge, Unit, UnitPlan};
use raddle_trace::{Note, Progress};

use super::{Board, StopReason};
use crate::settings::Workers;

/// Such a search. Nothing of it must outlive this process: the records do.
pub(crate) struct Remote {
    board: Board,
}

impl Remote {
    /// `file` is for what needs not be kept.
    pub(crate) fn new(file: PathBuf, plan: &UnitPlan) -> Self {
        let board = Board::new(Workers::default(), 1, file, String::new(), None);
        board.join(plan);
        Self { board }
    }

    /// The units that its searches begin with, by the number of the search: more than before, if one follows from what was
    /// folded.
    pub(crate) fn roots(&self) -> Vec<Unit> {
        let state = self.board.state();
        let root = |lane: &super::Lane| {
            let planned = &lane.planned;
            Unit::root(lane.search, &planned.line, planned.method, planned.seed)
        };
        state.lanes.iter().map(root).collect()
    }

    /// Folds what came of a unit. Returns the units that it opens.
    pub(crate) fn fold(&self, record: &Completed) -> Vec<Unit> {
        let mut state = self.board.state();
        let found = state.lanes.iter_mut().find(|lane| lane.search == record.result.search);
        let Some(lane) = found else {
            let search = record.result.search;
            state.end(StopReason::Error(format!(
                "a record is of search {search}, which was not begun"
            )));
            return Vec::new();
        };
        let method = lane.planned.method;
        lane.fold.complete(record, method);
        let opened = lane.fold.opened();
        if let Err(why) = self.board.advance(&mut state) {
            state.end(StopReason::Error(why));
        }
        // As workers of one machine end: what a replaced search has run does not count, and one that follows a reduction may run
        // a few whatever the others have run.
        if (0..state.lanes.len()).all(|at| state.lanes[at].is_over() || state.lane_left(at) == 0) {
            state.end(StopReason::Executions);
        }
        opened
    }

    /// A unit cannot be run, so nothing can be said of the whole.
    pub(crate) fn give_up(&self, why: &str) {
        let why = format!("a part of the search could not be run by any worker: {why}");
        self.board.state().end(StopReason::Error(why));
    }

    /// Whether nothing more is to be run: all was, an answer was found, or a limit is reached.
    pub(crate) fn is_over(&self) -> bool {
        let mut state = self.board.state();
        self.board.look(&mut state);
        state.stop.is_some()
    }

    /// Whether the limit of time, or Ctrl-C, ended it.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.board.stopped() == Some(StopReason::Interrupted)
    }

    /// How far it is.
    pub(crate) fn progress(&self) -> Progress {
        self.board.progress()
    }

    /// The failures that were folded, a line each.
    pub(crate) fn failures(&self) -> Vec<String> {
        let state = self.board.state();
        let sums = state.lanes.iter().map(|lane| &lane.fold.sum);
        let all = sums.flat_map(|sum| sum.failure.iter().chain(&sum.deaths));
        all.map(|failure| failure.outcome.summary(&failure.trace.tasks)).collect()
    }

    /// What all units came to; `workers` have run them. `left` says what is to be done if some are left.
    pub(crate) fn end(mut self, workers: usize, left: &str) -> Result<ToJudge, String> {
        self.board.workers = workers;
        let mut judged = self.board.end(workers)?;
        let before = judged.notes.len();
        judged.notes.retain(|note| !matches!(note, Note::Kept { .. }));
        if judged.notes.len() < before {
            judged.notes.push(Note::Text { text: left.to_owned() });
        }
        Ok(judged)
    }
}

#[cfg(test)]
mod tests {
    use raddle_trace::unit::{Method, Pace, PlannedSearch, UnitEnd, UnitResult, Upwards, VERSION};
    use raddle_trace::{Counts, Covered, Gaps};

    use super::*;

    fn planned(member: u32, line: &str, method: Method) -> PlannedSearch {
        let (line, pace) = (line.to_owned(), Pace::default());
        PlannedSearch { member, follows: false, line, method, why: None, seed: 0, pace }
    }

    /// The record of a unit that ran so many executions; `left`: something is left of it.
    fn record(unit: &Unit, executions: u64, claim: Covered, left: bool) -> Completed {
        let mut counts = Counts::default();
        counts.executions = executions;
        let result = UnitResult {
            version: VERSION,
            unit: unit.id,
            generation: 0,
            search: unit.search,
            end: UnitEnd::Done,
            counts,
            claim,
            assumptions: Vec::new(),
            failure: None,
            deaths: Vec::new(),
            notes: Vec::new(),
            traces: None,
            coverage: None,
            receives: None,
            estimate: None,
            upwards: Upwards::default(),
            busy_us: 0,
        };
        let more = Unit { id: unit.id.leftover(0), ..unit.clone() };
        Completed { result, leftovers: left.then_some(more).into_iter().collect() }
    }

    #[test]
    fn executions_of_a_search_that_was_begun_anew_count_towards_no_limit() {
        let file = std::env::temp_dir().join(format!("raddle-remote-{}", std::process::id()));
        let plan = UnitPlan {
            version: VERSION,
            searches: vec![
                planned(0, "dpor", Method::Memoryless),
                planned(1, "pos", Method::Blocks),
            ],
            executions: 100_000,
            time_ms: None,
            listed: true,
            after_reduction: 100,
            run: "a test".to_owned(),
        };
        let remote = Remote::new(file.clone(), &plan);
        let [memoryless, samples] = &remote.roots()[..] else { panic!("two searches") };
        // It met a timeout, which only a reduction with a record sees through.
        let gaps = Gaps { timeouts: true, ..Gaps::default() };
        remote.fold(&record(
            memoryless,
            1_000,
            Covered::Reduced { gaps, executions: 1_000 },
            false,
        ));
        let roots = remote.roots();
        let [_, _, anew] = &roots[..] else { panic!("it is begun anew: {roots:?}") };
        assert_eq!(anew.line, "dpor(source)");
        // That one covers what it sees with 50, so the limit is 150, and 100 samples are left.
        remote.fold(&record(anew, 50, Covered::Equivalence, false));
        let part = Covered::Part { executions: 0, preemptions: None };
        remote.fold(&record(samples, 99, part, true));
        assert!(!remote.is_over(), "50 + 99 of 150");
        let rest = Unit { id: samples.id.leftover(0), ..samples.clone() };
        remote.fold(&record(&rest, 1, part, true));
        assert!(remote.is_over(), "50 + 100 of 150");
        for n in 0..4 {
            let _ = std::fs::remove_file(remote.board.file(n));
        }
    }
}
