//! Reports and failures as JSON, and the schedule out of whichever of them a user has.
//!
//! What is read is checked, so that rendering it can neither run out of bounds nor of stack: a
//! file may come from another machine, another version, or an editor.

use std::error::Error;
use std::fmt;

use raddle_trace::schedule::TaskName;
use raddle_trace::{
    Failure, OrderSet, PairSet, PartialSchedule, Report, Schedule, Trace, receives, report,
};
use serde_json::Value;

/// The longest text that is read: 256 MiB, more than the trace of any execution worth reading.
pub const MAX_BYTES: usize = 256 << 20;

/// More than any program nests. The name of a task is built by recursion over its parents.
const MAX_NESTING: u32 = 1_000;

/// Why JSON could not be read. The message says what is wrong and what to do.
#[derive(Debug)]
pub struct ReportError {
    kind: Kind,
    /// What the parser says, with line and column if it knows them.
    detail: Option<String>,
}

#[derive(Debug)]
enum Kind {
    TooLong(usize),
    Syntax,
    Shape(&'static str),
    Version { of: &'static str, found: u64, read: u32 },
    Unknown,
    NoFailure,
    Inconsistent(String),
}

impl ReportError {
    fn new(kind: Kind) -> Self {
        Self { kind, detail: None }
    }

    /// Whether the text was written by a raddle of another format version.
    #[must_use]
    pub fn is_version_mismatch(&self) -> bool {
        matches!(self.kind, Kind::Version { .. })
    }

    /// Whether the text is a report of a search that found no failure, so that there is nothing to
    /// replay.
    #[must_use]
    pub fn is_without_failure(&self) -> bool {
        matches!(self.kind, Kind::NoFailure)
    }
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::TooLong(n_bytes) => {
                write!(
                    f,
                    "the text has {n_bytes} bytes and at most {MAX_BYTES} are read; \
                     check that it is a file written by raddle"
                )?;
            }
            Kind::Syntax => {
                f.write_str("not complete JSON; check that all of the file was written or copied")?;
            }
            Kind::Shape(what) => {
                write!(
                    f,
                    "not {what} of this version of raddle; run the search again to get a new one"
                )?;
            }
            Kind::Version { of, found, read } => {
                write!(
                    f,
                    "the {of} has format version {found} and this build reads version {read}; use \
                     the raddle that wrote it, or run the search again"
                )?;
            }
            Kind::Unknown => f.write_str(
                "neither a schedule, a failure nor a report; give a file that raddle wrote, or \
                 the token (`rd1…`) that a failure prints",
            )?,
            Kind::NoFailure => f.write_str(
                "the report has no failure, so there is nothing to replay; give the report of a \
                 search that failed",
            )?,
            Kind::Inconsistent(what) => {
                write!(f, "{what}; the file was changed or damaged: run the search again")?;
            }
        }
        match &self.detail {
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
        }
    }
}

impl Error for ReportError {}

/// A report as JSON on one line.
#[must_use]
pub fn to_json(report: &Report) -> String {
    written(serde_json::to_string(report))
}

/// A report as indented JSON.
#[must_use]
pub fn to_json_pretty(report: &Report) -> String {
    written(serde_json::to_string_pretty(report))
}

/// A failure as indented JSON: what is saved to be replayed or looked at later.
#[must_use]
pub fn failure_to_json(failure: &Failure) -> String {
    written(serde_json::to_string_pretty(failure))
}

/// Pairs of statements as indented JSON: what a search leaves for the next one.
#[must_use]
pub fn pairs_to_json(pairs: &PairSet) -> String {
    written(serde_json::to_string_pretty(pairs))
}

/// Reads what [`pairs_to_json`] wrote.
///
/// ```
/// let pairs = raddle_trace::PairSet::default();
/// let text = raddle_report::pairs_to_json(&pairs);
/// assert_eq!(raddle_report::pairs_from_json(&text)?, pairs);
/// assert!(raddle_report::pairs_from_json("{}").is_err());
/// # Ok::<(), raddle_report::ReportError>(())
/// ```
///
/// # Errors
/// If the text is too long, not JSON, not such pairs, or of another version.
pub fn pairs_from_json(text: &str) -> Result<PairSet, ReportError> {
    let error = |error: serde_json::Error| ReportError {
        kind: Kind::Shape("a set of pairs"),
        detail: Some(error.to_string()),
    };
    serde_json::from_value(parse(text)?).map_err(error)
}

/// Orders of receives as JSON: what a search leaves for the next one.
#[must_use]
pub fn orders_to_json(orders: &OrderSet) -> String {
    written(serde_json::to_string(orders))
}

/// Reads what [`orders_to_json`] wrote.
///
/// ```
/// let orders = raddle_trace::OrderSet::default();
/// let text = raddle_report::orders_to_json(&orders);
/// assert_eq!(raddle_report::orders_from_json(&text)?, orders);
/// assert!(raddle_report::orders_from_json("{}").is_err());
/// # Ok::<(), raddle_report::ReportError>(())
/// ```
///
/// # Errors
/// If the text is too long, not JSON, not such orders, or of another version.
pub fn orders_from_json(text: &str) -> Result<OrderSet, ReportError> {
    let error = |detail: String| ReportError {
        kind: Kind::Shape("orders of receives"),
        detail: Some(detail),
    };
    let orders: OrderSet =
        serde_json::from_value(parse(text)?).map_err(|why| error(why.to_string()))?;
    if orders.version == receives::VERSION {
        return Ok(orders);
    }
    Err(error(format!(
        "they are of version {}; this is for version {}",
        orders.version,
        receives::VERSION
    )))
}

/// A partial schedule as indented JSON: what a person reads and changes.
#[must_use]
pub fn partial_schedule_to_json(schedule: &PartialSchedule) -> String {
    written(serde_json::to_string_pretty(schedule))
}

/// Reads what [`partial_schedule_to_json`] wrote, or a person.
///
/// ```
/// let text = r#"{"version": 1, "name": "flush first", "receives": [{"message": "2a"}]}"#;
/// assert_eq!(raddle_report::partial_schedule_from_json(text)?.name, "flush first");
/// # Ok::<(), raddle_report::ReportError>(())
/// ```
///
/// # Errors
/// If the text is too long, not JSON, not such a schedule, or of another version.
pub fn partial_schedule_from_json(text: &str) -> Result<PartialSchedule, ReportError> {
    let error = |detail: String| ReportError {
        kind: Kind::Shape("a partial schedule"),
        detail: Some(detail),
    };
    let schedule: PartialSchedule =
        serde_json::from_value(parse(text)?).map_err(|why| error(why.to_string()))?;
    schedule.check().map_err(error)?;
    Ok(schedule)
}

/// Reads what [`to_json`] or [`to_json_pretty`] wrote.
///
/// ```
/// let error = raddle_report::from_json("{\"version\": 99}").expect_err("too new");
/// assert!(error.is_version_mismatch());
/// assert_eq!(
///     error.to_string(),
///     "the report has format version 99 and this build reads version 1; use the raddle that \
///      wrote it, or run the search again"
/// );
/// ```
///
/// # Errors
/// If the text is too long, not JSON, not a report, of another version, or contradicts itself.
pub fn from_json(text: &str) -> Result<Report, ReportError> {
    report_from_value(parse(text)?)
}

/// Reads what [`failure_to_json`] wrote.
///
/// # Errors
/// As for [`from_json`]; a failure has the version of its schedule.
pub fn failure_from_json(text: &str) -> Result<Failure, ReportError> {
    failure_from_value(parse(text)?)
}

/// The schedule in a schedule, a failure or a report, and the trace if there is one.
///
/// ```
/// use raddle_trace::Schedule;
///
/// let text = r#"{"version": 1, "tasks": [{"parent": 0, "nth": 0, "kind": "Thread"}],
///                "decisions": []}"#;
/// let (schedule, trace) = raddle_report::schedule_from_json(text)?;
/// assert_eq!(schedule, Schedule::default());
/// assert_eq!(trace, None);
/// # Ok::<(), raddle_report::ReportError>(())
/// ```
///
/// # Errors
/// As for [`from_json`], and if the text is a report without a failure.
pub fn schedule_from_json(text: &str) -> Result<(Schedule, Option<Trace>), ReportError> {
    let value = parse(text)?;
    let failure = if value.get("verdict").is_some() {
        report_from_value(value)?.failure.ok_or_else(|| ReportError::new(Kind::NoFailure))?
    } else if value.get("schedule").is_some() {
        failure_from_value(value)?
    } else if value.get("decisions").is_some() {
        return Ok((schedule_from_value(value)?, None));
    } else {
        return Err(ReportError::new(Kind::Unknown));
    };
    Ok((failure.schedule, Some(failure.trace)))
}

fn written(text: serde_json::Result<String>) -> String {
    text.expect("no map in a report has keys other than field names")
}

fn parse(text: &str) -> Result<Value, ReportError> {
    if text.len() > MAX_BYTES {
        return Err(ReportError::new(Kind::TooLong(text.len())));
    }
    serde_json::from_str(text)
        .map_err(|error| ReportError { kind: Kind::Syntax, detail: Some(error.to_string()) })
}

fn shaped<T>(value: serde_json::Result<T>, what: &'static str) -> Result<T, ReportError> {
    value.map_err(|error| ReportError { kind: Kind::Shape(what), detail: Some(error.to_string()) })
}

/// First of all, so that another version is not reported as a wrong shape.
fn check_version(value: &Value, of: &'static str, read: u32) -> Result<(), ReportError> {
    match value.get("version").and_then(Value::as_u64) {
        Some(found) if found != u64::from(read) => {
            Err(ReportError::new(Kind::Version { of, found, read }))
        }
        _ => Ok(()),
    }
}

fn report_from_value(value: Value) -> Result<Report, ReportError> {
    check_version(&value, "report", report::VERSION)?;
    if let Some(failure) = value.get("failure") {
        check_failure_version(failure)?;
    }
    let report: Report = shaped(serde_json::from_value(value), "a report")?;
    if let Some(failure) = &report.failure {
        check_failure(failure)?;
    }
    Ok(report)
}

fn failure_from_value(value: Value) -> Result<Failure, ReportError> {
    check_failure_version(&value)?;
    let failure: Failure = shaped(serde_json::from_value(value), "a failure")?;
    check_failure(&failure)?;
    Ok(failure)
}

fn schedule_from_value(value: Value) -> Result<Schedule, ReportError> {
    check_version(&value, "schedule", raddle_trace::schedule::VERSION)?;
    let schedule: Schedule = shaped(serde_json::from_value(value), "a schedule")?;
    check_schedule(&schedule)?;
    Ok(schedule)
}

fn check_failure_version(failure: &Value) -> Result<(), ReportError> {
    match failure.get("schedule") {
        Some(schedule) => check_version(schedule, "schedule", raddle_trace::schedule::VERSION),
        None => Ok(()),
    }
}

fn inconsistent(what: impl Into<String>) -> ReportError {
    ReportError::new(Kind::Inconsistent(what.into()))
}

fn check_failure(failure: &Failure) -> Result<(), ReportError> {
    check_schedule(&failure.schedule)?;
    let trace = &failure.trace;
    check_tasks(&trace.tasks, "trace")?;
    for (index, event) in trace.events.iter().enumerate() {
        if event.task as usize >= trace.tasks.len() {
            return Err(inconsistent(format!("step {index} of the trace is of an unknown task")));
        }
        if event.object.is_some_and(|object| object as usize >= trace.objects.len()) {
            return Err(inconsistent(format!("step {index} of the trace is on an unknown object")));
        }
    }
    if trace.panics.iter().any(|raised| raised.panic.task as usize >= trace.tasks.len()) {
        return Err(inconsistent("a panic of the trace is of an unknown task"));
    }
    Ok(())
}

fn check_schedule(schedule: &Schedule) -> Result<(), ReportError> {
    schedule.validate().map_err(inconsistent)?;
    check_tasks(&schedule.tasks, "schedule")
}

fn check_tasks(tasks: &[TaskName], of: &str) -> Result<(), ReportError> {
    let mut depths: Vec<u32> = vec![0];
    for (index, task) in tasks.iter().enumerate().skip(1) {
        let Some(depth) = depths.get(task.parent as usize) else {
            return Err(inconsistent(format!("task {index} of the {of} comes before its parent")));
        };
        if *depth >= MAX_NESTING {
            return Err(inconsistent(format!("tasks of the {of} nest too deep")));
        }
        depths.push(depth + 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use raddle_trace::{Covered, Verdict};

    use super::*;
    use crate::samples::{data_race, lock_cycle, lock_order, lost_update, passed};

    fn failure() -> Failure {
        lock_order().failure.expect("a failed report")
    }

    /// A change to a sample as JSON.
    fn changed(text: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut value: Value = serde_json::from_str(text).expect("JSON");
        change(&mut value);
        value.to_string()
    }

    fn wrong<T: fmt::Debug>(result: Result<T, ReportError>) -> String {
        result.expect_err("refused").to_string()
    }

    #[test]
    fn a_json_report_is_read_as_written() {
        let mut warned = passed(Verdict::Covered, Covered::Everything);
        warned.notes.push(lock_cycle());
        let race = data_race(raddle_trace::Missing::Everything);
        assert!(to_json(&race).contains(r#""outcome":{"kind":"data-race","cell":"#));
        for report in [lost_update(), lock_order(), race, warned] {
            assert_eq!(from_json(&to_json(&report)).expect("read"), report);
            assert_eq!(from_json(&to_json_pretty(&report)).expect("read"), report);
        }
        assert_eq!(failure_from_json(&failure_to_json(&failure())).expect("read"), failure());
        assert!(!to_json(&lost_update()).contains('\n'));
    }

    #[test]
    fn a_schedule_is_found_in_whatever_holds_one() {
        let Failure { schedule, trace, .. } = failure();
        let alone = serde_json::to_string(&schedule).expect("JSON");
        assert_eq!(schedule_from_json(&alone).expect("read"), (schedule.clone(), None));
        for text in [failure_to_json(&failure()), to_json(&lock_order())] {
            let found = schedule_from_json(&text).expect("read");
            assert_eq!(found, (schedule.clone(), Some(trace.clone())));
        }
    }

    #[test]
    fn a_cut_off_text_is_refused_wherever_it_is_cut() {
        for text in [to_json(&lock_order()), failure_to_json(&failure())] {
            assert!(text.is_ascii());
            for end in 0..text.len() {
                let cut = &text[..end];
                assert!(from_json(cut).is_err() && failure_from_json(cut).is_err());
                assert!(schedule_from_json(cut).is_err());
            }
        }
    }

    /// Makes everything that can be looked at.
    fn drawn(report: &Report) {
        let _ = crate::html::trace_page(report, &crate::html::Sources::default());
        if let Some(failure) = &report.failure {
            let _ = crate::export::perfetto(failure);
            let _ = crate::export::mermaid(failure);
            let _ = crate::export::dot(&raddle_trace::DecisionTree::from(failure));
        }
    }

    #[test]
    fn a_changed_byte_is_read_or_refused() {
        let text = to_json(&lock_order());
        for at in 0..text.len() {
            for byte in [b'0', b'9', b'"', b'x'] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = byte;
                let changed = String::from_utf8(bytes).expect("ASCII");
                if let Ok(report) = from_json(&changed) {
                    let _ = crate::render(&report, &crate::TextOptions::default());
                    if at % 7 == 0 {
                        drawn(&report);
                    }
                }
            }
        }
    }

    #[test]
    fn mistakes_in_a_json_report_are_said() {
        let report = to_json(&lock_order());
        let newer = changed(&report, |value| value["failure"]["schedule"]["version"] = 2.into());
        for result in [from_json(&newer).map(drop), schedule_from_json(&newer).map(drop)] {
            assert!(result.is_err_and(|error| error.is_version_mismatch()));
        }
        insta::assert_snapshot!(wrong(from_json(&newer)), @"the schedule has format version 2 and this build reads version 1; use the raddle that wrote it, or run the search again");
        let without = to_json(&passed(Verdict::Covered, Covered::Everything));
        let error = schedule_from_json(&without).expect_err("refused");
        assert!(error.is_without_failure());
        insta::assert_snapshot!(error, @"the report has no failure, so there is nothing to replay; give the report of a search that failed");
        insta::assert_snapshot!(wrong(from_json("{\"version\": 1")), @"not complete JSON; check that all of the file was written or copied (EOF while parsing an object at line 1 column 13)");
        insta::assert_snapshot!(wrong(from_json("{\"version\": 1}")), @"not a report of this version of raddle; run the search again to get a new one (missing field `strategy`)");
        insta::assert_snapshot!(wrong(from_json("[]")), @"not a report of this version of raddle; run the search again to get a new one (invalid length 0, expected struct Report with 15 elements)");
        insta::assert_snapshot!(wrong(schedule_from_json("[1, 2]")), @"neither a schedule, a failure nor a report; give a file that raddle wrote, or the token (`rd1…`) that a failure prints");
        let later = changed(&report, |value| {
            value["failure"]["trace"]["tasks"][1]["parent"] = 2.into();
        });
        insta::assert_snapshot!(wrong(from_json(&later)), @"task 1 of the trace comes before its parent; the file was changed or damaged: run the search again");
        let unknown = changed(&report, |value| {
            value["failure"]["trace"]["events"][1]["object"] = 7.into();
        });
        insta::assert_snapshot!(wrong(from_json(&unknown)), @"step 1 of the trace is on an unknown object; the file was changed or damaged: run the search again");
        let unknown = changed(&report, |value| {
            value["failure"]["trace"]["events"][0]["task"] = 7.into();
        });
        insta::assert_snapshot!(wrong(from_json(&unknown)), @"step 0 of the trace is of an unknown task; the file was changed or damaged: run the search again");
    }

    #[test]
    fn tasks_that_nest_without_end_are_refused() {
        let text = changed(&to_json(&lock_order()), |value| {
            let task =
                |parent: u32| serde_json::json!({"parent": parent, "nth": 0, "kind": "Thread"});
            let tasks = [task(0)].into_iter().chain((0..100_000).map(task)).collect();
            value["failure"]["trace"]["tasks"] = tasks;
        });
        insta::assert_snapshot!(wrong(from_json(&text)), @"tasks of the trace nest too deep; the file was changed or damaged: run the search again");
    }

    #[test]
    fn brackets_that_nest_without_end_are_refused() {
        assert!(schedule_from_json(&"[".repeat(1_000_000)).is_err());
    }
}
