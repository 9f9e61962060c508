//! From what searches found to a report: the verdict, the guarantee, counts and notes.

use raddle_engine::Ended;
use raddle_search::ReceiveCoverage;
use raddle_trace::{
    Assumption, Counts, Coverage, Covered, Failure, Guarantee, Member, Note, Outcome, PairCount,
    PairSet, Probed, Progress, ReceivesSeen, Report, Verdict,
};

use crate::config::{AUTO, Config};
use crate::plan::{self, Plan};
use crate::search::SearchResult;

/// What a search, a portfolio or a replay has shown. The one place where this is decided.
///
/// A failure is real whichever way it was reached. An execution that did not repeat itself, or a search
/// that saw no end of the test, says nothing; the sentence says why. Else it is as `otherwise` says.
pub(crate) fn verdict(
    failed: bool,
    diverged: bool,
    counts: &Counts,
    otherwise: Verdict,
) -> (Verdict, Option<String>) {
    if failed {
        return (Verdict::Failed, None);
    }
    if diverged {
        return (Verdict::Inconclusive, None);
    }
    match nothing_seen(counts) {
        Some(why) => (Verdict::Inconclusive, Some(why)),
        None => (otherwise, None),
    }
}

/// Whether a search has run all that it set out to.
pub(crate) fn is_covered(ended: &Ended, counts: &Counts, covered: &Covered) -> bool {
    *ended == Ended::Covered && counts.rejected == 0 && covered.is_all_of_a_search()
}

/// The same of what was found.
pub(crate) fn has_covered(found: &SearchResult) -> bool {
    is_covered(&found.explored.ended, &found.explored.counts, &found.covered)
}

/// Whether a search without a failure is no pass: an execution did not repeat itself, or what was wrong with a state did
/// not show in an execution.
fn says_nothing(ended: &Ended, covered: &Covered) -> bool {
    match ended {
        Ended::Diverged(_) => true,
        Ended::Trouble(_) => matches!(covered, Covered::SomeStates { unique: 0, .. }),
        _ => false,
    }
}

/// Why a search without a failure has nothing to say of the test.
fn nothing_seen(counts: &Counts) -> Option<String> {
    if counts.executions == 0 {
        return Some("no execution was run: the budget of executions or time is too small".into());
    }
    (counts.rejected == counts.executions).then(|| {
        "every execution was cut off by a limit, so no end of the test was seen; raise \
         RADDLE_STEPS, RADDLE_TASKS or RADDLE_EXECUTION_TIME, or make the test smaller"
            .to_owned()
    })
}

/// A sentence of a report.
pub(crate) fn note(text: impl Into<String>) -> Note {
    Note::Text { text: text.into() }
}

/// Whether a note is among these. How long an execution waits differs from search to search; where does not.
fn is_told(notes: &[Note], note: &Note) -> bool {
    let is_wait = |note: &Note| matches!(note, Note::WaitsOutside { .. });
    notes.contains(note) || is_wait(note) && notes.iter().any(is_wait)
}

/// What searches of one member found one after another, as if it were one search.
///
/// The answer is the last one's: it went on where the one before had nothing more to say. But if that had covered
/// what it set out to and the last one did not get to an end, it is the one before's.
pub(crate) fn in_sequence(mut all: Vec<SearchResult>) -> SearchResult {
    // One that came too late to run anything has nothing to say.
    if all.len() > 1 && all.last().is_some_and(|last| last.explored.counts.executions == 0) {
        all.pop();
    }
    let mut last = all.pop().expect("a search was run");
    let says_more = last.explored.failure.is_some()
        || says_nothing(&last.explored.ended, &last.covered)
        || has_covered(&last);
    for before in all.into_iter().rev() {
        last = if !says_more && has_covered(&before) {
            with_more(before, last)
        } else {
            after(before, last)
        };
    }
    last
}

/// A search that covered what it set out to, and one after it that added nothing to that.
fn with_more(mut first: SearchResult, second: SearchResult) -> SearchResult {
    let (name, counts) = (second.name, second.explored.counts);
    first.explored.notes.push(note(format!(
        "`{name}` then ran {} executions without the reduction, in case tasks share something outside \
         raddle's types",
        counts.executions
    )));
    let before = first.explored.counts.executions;
    first.coverage = then(first.coverage, before, second.coverage);
    first.receives = merged(first.receives, second.receives.as_ref(), before);
    first.explored.counts.add(&counts);
    merge(&mut first.explored.assumptions, second.explored.assumptions);
    first.name = format!("{}, then {name}", first.name);
    first
}

/// A search, and one after it that has the answer.
fn after(first: SearchResult, mut second: SearchResult) -> SearchResult {
    let SearchResult { name, explored, coverage, receives, progress, .. } = first;
    let before = explored.counts.executions;
    if second.progress.estimate.is_none() && progress.estimate.is_some() {
        second.progress = progress;
    }
    second.coverage = then(coverage, before, second.coverage);
    second.receives = merged(receives, second.receives.as_ref(), before);
    let mut counts = explored.counts;
    counts.add(&second.explored.counts);
    let last = &mut second.explored;
    last.counts = counts;
    merge(&mut last.assumptions, explored.assumptions);
    let mut notes = explored.notes;
    last.notes.retain(|told| !is_told(&notes, told));
    notes.append(&mut last.notes);
    last.notes = notes;
    let failures = last.failure.iter_mut().chain(&mut last.deaths);
    failures.for_each(|failure| failure.execution += before);
    second.name = format!("{name}, then {}", second.name);
    second
}

fn merge(assumptions: &mut Vec<Assumption>, more: Vec<Assumption>) {
    assumptions.extend(more);
    assumptions.sort_unstable();
    assumptions.dedup();
}

/// What two searches have learned, one after the other.
fn then(before: Option<Coverage>, executions: u64, after: Option<Coverage>) -> Option<Coverage> {
    let (Some(before), Some(after)) = (&before, &after) else { return after.or(before) };
    let (first, second) = (before.count, after.count);
    let last = if second.last > 0 { second.last + executions } else { first.last };
    let count = PairCount { added: first.added + second.added, last, ..second };
    let later = after.series.iter().map(|(at, pairs)| (at + executions, *pairs));
    let series = before.series.iter().copied().chain(later).collect();
    Some(Coverage { count, series, pairs: after.pairs.clone(), new: PairSet::default() })
}

/// What two searches have shown of orders of receives; the second after so many executions, or beside the first.
fn merged(
    before: Option<ReceivesSeen>,
    more: Option<&ReceivesSeen>,
    executions: u64,
) -> Option<ReceivesSeen> {
    match (before, more) {
        (Some(before), Some(more)) => Some(ReceiveCoverage::merged(&before, more, executions)),
        (before, more) => before.or_else(|| more.cloned()),
    }
}

/// The report of a portfolio whose members found this. `known` was learned before.
pub(crate) fn conclude(
    config: &Config,
    known: Option<&PairSet>,
    plan: &Plan,
    found: Vec<SearchResult>,
    failed_by: Option<usize>,
    mut notes: Vec<Note>,
) -> Report {
    let mut counts = Counts::default();
    let mut coverage: Option<Coverage> = None;
    let mut receives: Option<ReceivesSeen> = None;
    for one in &found {
        receives = merged(receives, one.receives.as_ref(), 0);
        counts.add(&one.explored.counts);
        coverage = beside(coverage, one.coverage.as_ref());
        tell(&mut notes, one, plan.listed);
    }
    if let (Some(coverage), Some(known)) = (&mut coverage, known) {
        // Of searches in sequence the second begins with what the first has learned: that is not new.
        coverage.new = coverage.pairs.difference(known);
    }
    let members: Vec<Member> = found
        .iter()
        .zip(&plan.members)
        .map(|(found, member)| summary(found, member.seed))
        .collect();
    let strongest =
        (0..members.len()).max_by_key(|&nth| (strength(&members[nth]), members.len() - nth));
    let strongest = strongest.expect("a portfolio has members");
    let diverged = found.iter().any(|one| says_nothing(&one.explored.ended, &one.covered));
    let (verdict, why) =
        verdict(failed_by.is_some(), diverged, &counts, members[strongest].verdict);
    let seen_nothing = why.is_some();
    notes.extend(why.map(note));
    let guarantee = members[strongest].guarantee.clone();
    // Of a search that raddle chose, its members matter to a reader only where they say different things.
    let by_raddle = plan::is_auto(config);
    let is_plain = seen_nothing || guarantee.covered == Covered::Everything;
    let ran: Vec<Member> =
        members.iter().filter(|member| member.counts.executions > 0).cloned().collect();
    let credits = plan.listed && !(by_raddle && (is_plain || ran.len() == 1));
    notes.extend(credit(&members, failed_by, strongest).filter(|_| credits));
    let members = match ran.len() {
        _ if !plan.listed => Vec::new(),
        0 | 1 if by_raddle => Vec::new(),
        _ if by_raddle => ran,
        _ => members,
    };
    let strategy = strategy(config, &found);
    let progress = estimate(&found, plan.listed, verdict);
    let failed = failed_by.and_then(|by| found.into_iter().nth(by)).map(|by| by.explored);
    let (failure, others) =
        failed.map_or((None, Vec::new()), |explored| (explored.failure, explored.deaths));
    let mut report = Report::new(strategy, verdict, guarantee, counts);
    report.seed = config.seed_or_default();
    report.test.clone_from(&config.test);
    // Another member may have seen the same order of locks and no deadlock. A deadlock shows its cycle itself.
    let is_deadlock = matches!(&failure, Some(Failure { outcome: Outcome::Deadlock { .. }, .. }));
    notes.retain(|note| !(is_deadlock && matches!(note, Note::LockOrder { .. })));
    (report.failure, report.others, report.notes) = (failure, others, notes);
    (report.progress, report.coverage, report.receives) = (progress, coverage, receives);
    report.members = members;
    report
}

/// The name of all that was run; of a choice that was raddle's, without what did not come to run.
fn strategy(config: &Config, found: &[SearchResult]) -> String {
    let auto = plan::is_auto(config);
    let none_ran = found.iter().all(|found| found.explored.counts.executions == 0);
    let shown = |found: &&SearchResult| !auto || none_ran || found.explored.counts.executions > 0;
    let names: Vec<_> = found.iter().filter(shown).map(|found| found.name.as_str()).collect();
    let names = names.join(" | ");
    if auto { format!("{AUTO} ({names})") } else { names }
}

/// How far a search was that did not finish, by the first member that can tell.
fn estimate(found: &[SearchResult], listed: bool, verdict: Verdict) -> Option<Progress> {
    let unfinished = |ended: &Ended| {
        matches!(ended, Ended::Executions | Ended::Memory | Ended::Stopped | Ended::Trouble(_))
    };
    let shown = match found {
        [only] if !listed => verdict != Verdict::Failed && unfinished(&only.explored.ended),
        _ => verdict == Verdict::Passed,
    };
    let estimated = |found: &&SearchResult| found.progress.estimate.is_some();
    found.iter().find(estimated).map(|found| found.progress).filter(|_| shown)
}

/// Which member found the failure, or has the guarantee.
fn credit(members: &[Member], failed_by: Option<usize>, strongest: usize) -> Option<Note> {
    if let Some(by) = failed_by {
        return Some(note(format!("`{}` found it", members[by].strategy)));
    }
    let name = &members[strongest].strategy;
    (members.len() > 1).then(|| note(format!("the guarantee is that of `{name}` alone")))
}

/// What a member found, alone.
fn summary(found: &SearchResult, seed: u64) -> Member {
    let SearchResult { name, explored, covered, traces, .. } = found;
    let all = is_covered(&explored.ended, &explored.counts, covered);
    let diverged = says_nothing(&explored.ended, covered);
    let otherwise = if all { Verdict::Covered } else { Verdict::Passed };
    let (verdict, _) = verdict(explored.failure.is_some(), diverged, &explored.counts, otherwise);
    let mut assumptions = explored.assumptions.clone();
    if covered.rests_on_equivalence() {
        assumptions.push(Assumption::SharedThroughRaddle);
        assumptions.sort_unstable();
    }
    let mut guarantee = Guarantee::new(*covered);
    (guarantee.traces, guarantee.rejected) = (*traces, explored.counts.rejected);
    guarantee.assumptions = assumptions;
    Member::new(name.clone(), seed, verdict, guarantee, explored.counts)
}

/// What members have learned beside each other. The series is that of the first.
fn beside(before: Option<Coverage>, more: Option<&Coverage>) -> Option<Coverage> {
    let (Some(mut coverage), Some(more)) = (before.clone(), more) else {
        return before.or_else(|| more.cloned());
    };
    coverage.add_beside(more);
    Some(coverage)
}

/// What there is to say of a member besides, once.
fn tell(notes: &mut Vec<Note>, found: &SearchResult, listed: bool) {
    let mut more = found.explored.notes.clone();
    if let Some(Probed { probes, .. }) = found.progress.estimate.and_then(|about| about.probed) {
        more.push(note(format!(
            "{probes} of the executions were random probes, run for the estimate alone"
        )));
    }
    let name = if listed { format!("`{}`", found.name) } else { "the search".to_owned() };
    if let Ended::Trouble(why) = &found.explored.ended {
        more.push(note(format!("{name} stopped before its end: {why}")));
    }
    if found.explored.ended == Ended::Memory {
        let what_to_do = if listed {
            "set RADDLE_MEMORY, of which each member has an equal share"
        } else {
            "set RADDLE_MEMORY, or bound the search with RADDLE_PREEMPTIONS"
        };
        more.push(note(format!(
            "{name} stopped because it knows of more alternatives than it may keep; {what_to_do}"
        )));
    }
    more.retain(|note| !is_told(notes, note));
    notes.append(&mut more);
}

/// How much a member's guarantee is worth: that of a search that ended by what it covered, else what was
/// drawn before what is only the beginning of a search, the more the better.
fn strength(member: &Member) -> (u32, u64) {
    match &member.guarantee.covered {
        _ if member.counts.executions == 0 => (0, 0),
        Covered::Everything => (8, 0),
        Covered::Equivalence => (7, 0),
        Covered::Cached { preemptions: None, .. }
        | Covered::Strata { delays: None, .. }
        | Covered::States { delays: None, depth: None, .. } => (6, 0),
        Covered::Depth(k) => (5, u64::from(*k)),
        Covered::BoundedEquivalence(k)
        | Covered::Cached { preemptions: Some(k), .. }
        | Covered::Strata { delays: Some(k), .. }
        | Covered::States { delays: Some(k), .. } => (5, 2 * u64::from(*k)),
        Covered::States { .. } => (5, 0),
        Covered::Preemptions(k) | Covered::Delays(k) => (5, 2 * u64::from(*k) + 1),
        Covered::Reduced { executions, .. } => (4, *executions),
        Covered::Sample { executions, .. } => (3, *executions),
        Covered::Part { executions, .. } => (2, *executions),
        _ => (1, 0),
    }
}

#[cfg(test)]
mod tests {
    use raddle_trace::StateKey;

    use super::*;

    #[test]
    fn a_violation_that_no_execution_shows_is_no_pass() {
        let trouble = Ended::Trouble("found, and not seen again".to_owned());
        assert!(says_nothing(&trouble, &Covered::SomeStates { unique: 0, keys: StateKey::State }));
        assert!(!says_nothing(&trouble, &Covered::SomeStates { unique: 5, keys: StateKey::State }));
        assert!(!says_nothing(
            &Ended::Covered,
            &Covered::SomeStates { unique: 0, keys: StateKey::State }
        ));
    }

    #[test]
    fn failures_come_before_doubts_and_doubts_before_passes() {
        let counts = |executions, rejected| {
            let mut counts = Counts::default();
            (counts.executions, counts.rejected) = (executions, rejected);
            counts
        };
        let of = |failed, diverged, counts: Counts| {
            let (verdict, why) = verdict(failed, diverged, &counts, Verdict::Covered);
            (verdict, why.is_some())
        };
        assert_eq!(of(true, true, counts(0, 0)), (Verdict::Failed, false));
        assert_eq!(of(false, true, counts(2, 0)), (Verdict::Inconclusive, false));
        assert_eq!(of(false, false, counts(0, 0)), (Verdict::Inconclusive, true));
        assert_eq!(of(false, false, counts(2, 2)), (Verdict::Inconclusive, true));
        assert_eq!(of(false, false, counts(2, 1)), (Verdict::Covered, false));
    }
}
