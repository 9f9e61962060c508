//! The page of several searches: verdicts, what they mean, and how the searches went.
//!
//! Searches of one test are shown together, so that strategies stand side by side.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_trace::{Report, Run, Sample, Tried, Verdict};

use crate::columns::clean;
use crate::html::plot::{Across, Series, plot};
use crate::html::trace::{counted, headline};
use crate::html::{Sources, badge, escape, number, page};
use crate::progress::rounded;
use crate::table::{TableOptions, table};
use crate::text::{elapsed, replay_command};

const STYLE: &str = include_str!("run.css");
const SCRIPT: &str = include_str!("run.js");
/// Rows of the table of steps; the whole is on the page of the failure.
const STEPS: usize = 24;

/// The page of a run: one file, which loads nothing.
///
/// `sources` has the files in which failures are shown; see [`Sources::wanted`].
///
/// ```
/// use raddle_report::html::{Sources, run_page};
/// use raddle_trace::Run;
///
/// let run = Run { title: Some("queue".into()), ..Run::default() };
/// assert!(run_page(&run, &Sources::default()).contains("<h1>queue</h1>"));
/// ```
#[must_use]
pub fn run_page(run: &Run, sources: &Sources) -> String {
    let title = run.title.as_deref().map_or_else(|| "A run of raddle".to_owned(), clean);
    let tests = by_test(run);
    let mut body = head(run, &title, tests.len());
    body.push_str("<main>\n");
    body.push_str(&summary(&tests));
    for (index, (name, searches)) in tests.iter().enumerate() {
        body.push_str(&test(index, name, searches, sources));
    }
    body.push_str("</main>\n");
    page(&title, "run", &body, STYLE, SCRIPT)
}

fn name(report: &Report) -> String {
    report.test.as_deref().map_or_else(|| "a test".to_owned(), clean)
}

/// The searches of each test, tests in order of their first search.
fn by_test(run: &Run) -> Vec<(String, Vec<&Tried>)> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut tests: Vec<(String, Vec<&Tried>)> = Vec::new();
    for tried in &run.tried {
        let name = name(&tried.report);
        let place = *places.entry(name.clone()).or_insert(tests.len());
        match tests.get_mut(place) {
            Some((_, searches)) => searches.push(tried),
            None => tests.push((name, vec![tried])),
        }
    }
    tests
}

/// Of a test that is to fail, and does.
const AS_EXPECTED: &str = "<span class=\"badge expected\">as expected</span>";

/// What came of a search, in a word or two.
fn badge_of(tried: &Tried) -> String {
    if tried.expected { AS_EXPECTED.to_owned() } else { badge(tried.report.verdict) }
}

fn head(run: &Run, title: &str, n_tests: usize) -> String {
    let verdicts = [Verdict::Failed, Verdict::Inconclusive, Verdict::Passed, Verdict::Covered];
    let of = |verdict| {
        let is_it = |tried: &&Tried| tried.report.verdict == verdict && !tried.expected;
        run.tried.iter().filter(is_it).count()
    };
    let expected = run.tried.iter().filter(|tried| tried.expected).count();
    let tallies = std::iter::once((expected, AS_EXPECTED.to_owned()))
        .chain(verdicts.map(|verdict| (of(verdict), badge(verdict))))
        .filter(|(n, _)| *n > 0);
    let badges = tallies.map(|(n, badge)| format!("<span class=\"tally\">{n} {badge}</span>"));
    let executions: u64 = run.tried.iter().map(|tried| tried.report.counts.executions).sum();
    format!(
        "<header class=\"top\"><h1>{}</h1>{}<span class=\"quiet\">{}, {}, {} in {}</span>\
         <input id=\"filter\" type=\"search\" placeholder=\"Filter ( / )\" aria-label=\"Filter tests\" \
         autocomplete=\"off\" spellcheck=\"false\"></header>\n",
        escape(title),
        badges.collect::<String>(),
        counted(n_tests as u64, "test"),
        searches(run.tried.len()),
        counted(executions, "execution"),
        escape(&elapsed(run.elapsed_ms)),
    )
}

fn searches(n: usize) -> String {
    if n == 1 { "1 search".to_owned() } else { format!("{} searches", number(n as u64)) }
}

/// One line for each search.
fn summary(tests: &[(String, Vec<&Tried>)]) -> String {
    let mut out = "<table class=\"summary\"><thead><tr><th scope=\"col\">test</th>\
                   <th scope=\"col\">verdict</th><th scope=\"col\">strategy</th>\
                   <th scope=\"col\" class=\"n\">executions</th>\
                   <th scope=\"col\" class=\"n\">distinct traces</th>\
                   <th scope=\"col\" class=\"n\">in all, about</th>\
                   <th scope=\"col\" class=\"n\">time</th>\
                   <th scope=\"col\">what that means</th></tr></thead>\n"
        .to_owned();
    for (index, (name, searches)) in tests.iter().enumerate() {
        let _ = write!(out, "<tbody data-test=\"{index}\">");
        for (nth, tried) in searches.iter().enumerate() {
            let report = &tried.report;
            let first = if nth == 0 {
                let rows = searches.len();
                let name = escape(name);
                format!(
                    "<th scope=\"rowgroup\" rowspan=\"{rows}\"><a href=\"#t{index}\">{name}</a></th>"
                )
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "<tr>{first}<td>{}</td><td class=\"mono\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td>{}</td></tr>",
                badge_of(tried),
                escape(&clean(&report.strategy)),
                number(report.counts.executions),
                traces(report).map_or_else(|| "–".to_owned(), |(distinct, _)| number(distinct)),
                in_all(tried).map_or_else(|| "–".to_owned(), |text| escape(&text)),
                escape(&elapsed(report.elapsed_ms)),
                escape(&meaning(report)),
            );
        }
        out.push_str("</tbody>\n");
    }
    out.push_str(
        "</table>\n<p class=\"nothing\" id=\"nothing\" hidden>No test passes the filter.</p>\n",
    );
    out
}

fn meaning(report: &Report) -> String {
    match &report.failure {
        Some(failure) => headline(failure),
        None => report.guarantee.to_string(),
    }
}

fn traces(report: &Report) -> Option<(u64, bool)> {
    report.guarantee.traces.map(|traces| (traces.distinct, traces.exact))
}

/// How many executions there are, as far as the search knows.
fn in_all(tried: &Tried) -> Option<String> {
    if tried.report.verdict == Verdict::Covered {
        return Some(number(tried.report.counts.executions));
    }
    let last = tried.samples.last().map(|sample| sample.progress);
    let estimate = tried.report.progress.or(last)?.estimate?;
    estimate.search.is_narrow().then(|| rounded(estimate.search.about))
}

fn test(index: usize, name: &str, searches: &[&Tried], sources: &Sources) -> String {
    let mut out = format!(
        "<section class=\"test\" id=\"t{index}\" data-test=\"{index}\" aria-labelledby=\"h{index}\">\
         <h2 id=\"h{index}\">{}</h2>\n",
        escape(name)
    );
    let plots = plots(searches);
    if !plots.is_empty() {
        let _ = writeln!(out, "<div class=\"plots\">{plots}</div>");
    }
    // What searches without a failure mean is in the table above.
    let needed = |tried: &&&Tried| plots.is_empty() || tried.report.failure.is_some();
    for tried in searches.iter().filter(needed) {
        out.push_str(&search(tried, searches.len() > 1, sources));
    }
    out.push_str("</section>\n");
    out
}

/// What one search came to, in words; of a failure its steps.
fn search(tried: &Tried, several: bool, sources: &Sources) -> String {
    let report = &tried.report;
    let strategy = escape(&clean(&report.strategy));
    let mut out = String::new();
    let Some(failure) = &report.failure else {
        let lead = if several { format!("<code>{strategy}</code> ") } else { String::new() };
        let guarantee = escape(&report.guarantee.to_string());
        let _ = writeln!(out, "<p class=\"meaning\">{} {lead}{guarantee}</p>", badge_of(tried));
        return out;
    };
    let open = if several { "" } else { " open" };
    let link = tried.page.as_deref().filter(|page| is_relative(page));
    let link = link.map(|page| format!(" <a href=\"{}\">walk through it</a>", escape(page)));
    let _ = write!(
        out,
        "<details class=\"failure\"{open}><summary>{} <code>{strategy}</code> {}</summary>\
         <p>in execution {}{}</p>",
        badge_of(tried),
        escape(&headline(failure)),
        number(failure.execution),
        link.unwrap_or_default(),
    );
    if let raddle_trace::Outcome::Panicked { panics, .. } = &failure.outcome
        && let Some(site) = panics.first().and_then(|panic| panic.site.as_ref())
    {
        out.push_str(&excerpt(site, sources));
    }
    let options = TableOptions { width: 132, max_rows: STEPS, ..TableOptions::default() };
    let steps = table(&failure.trace, &failure.outcome, &options);
    let command = replay_command(report, failure, None);
    let _ = writeln!(
        out,
        "<pre class=\"steps\" tabindex=\"0\" aria-label=\"Steps\">{}</pre>\
         <pre class=\"command\" tabindex=\"0\" aria-label=\"Command that replays it\">{}</pre>{}</details>",
        escape(&steps),
        escape(&command),
        others(report),
    );
    out
}

/// Failures after which the search went on.
fn others(report: &Report) -> String {
    if report.others.is_empty() {
        return String::new();
    }
    let mut out = "<p>The search went on, and found these too:</p><ul>".to_owned();
    for other in &report.others {
        let _ = write!(
            out,
            "<li>{}, in execution {}<pre class=\"command\" tabindex=\"0\" \
             aria-label=\"Command that replays it\">{}</pre></li>",
            escape(&headline(other)),
            number(other.execution),
            escape(&replay_command(report, other, None)),
        );
    }
    out + "</ul>"
}

/// A link from the run to a page beside it, and nowhere else.
fn is_relative(page: &str) -> bool {
    !page.contains(':') && !page.starts_with('/') && !page.starts_with('\\')
}

fn excerpt(site: &raddle_trace::Site, sources: &Sources) -> String {
    let lines = sources.around(site);
    if lines.is_empty() {
        return String::new();
    }
    let mut out = "<pre class=\"excerpt\" tabindex=\"0\" aria-label=\"Source\">".to_owned();
    for (at, line) in lines {
        let class = if at == site.line { " class=\"here\"" } else { "" };
        let _ = write!(out, "<span{class}><i>{at:>5}</i> {}</span>", escape(line));
    }
    out.push_str("</pre>");
    out
}

/// A number, and the band around it.
type Measured = (f64, Option<(f64, f64)>);

/// What changed over time, for all searches of a test together.
#[expect(clippy::cast_precision_loss, reason = "a plot shows few digits")]
fn plots(searches: &[&Tried]) -> String {
    let series = |across: Across, of: &dyn Fn(&Sample) -> Option<Measured>| {
        let one = |tried: &&Tried| {
            let found = tried.report.failure.is_some();
            let mut series =
                Series { name: clean(&tried.report.strategy), found, ..Series::default() };
            for sample in &tried.samples {
                let Some((number, band)) = of(sample) else { continue };
                let at = match across {
                    Across::Time => sample.progress.elapsed_ms,
                    Across::Executions => sample.progress.executions,
                };
                series.points.push((at as f64, number));
                series.band.extend(band);
            }
            series
        };
        let all: Vec<Series> = searches.iter().map(one).collect();
        all.into_iter().filter(|series| series.points.len() > 1).collect::<Vec<_>>()
    };
    let distinct = |sample: &Sample| Some((sample.progress.traces?.distinct as f64, None));
    let estimate = series(Across::Time, &|sample| {
        let search = sample.progress.estimate?.search;
        Some((search.about, Some((search.low, search.high))))
    });
    let covered = series(Across::Time, &|sample| {
        let estimate = sample.progress.estimate;
        let part = estimate.map(|estimate| estimate.covered / estimate.total.about);
        Some((sample.progress.covered.or(part)? * 100.0, None))
    });
    let traces = series(Across::Time, &distinct);
    let by_executions = series(Across::Executions, &distinct);
    let pairs = series(Across::Time, &|sample| Some((sample.pairs? as f64, None)));
    let executions =
        series(Across::Time, &|sample| Some((sample.progress.executions as f64, None)));
    [
        plot("Distinct traces by executions", "traces", Across::Executions, &by_executions),
        plot("Distinct traces", "traces", Across::Time, &traces),
        plot("Executions", "executions", Across::Time, &executions),
        plot("Executions in all, estimated", "executions", Across::Time, &estimate),
        plot("Covered", "% of the space", Across::Time, &covered),
        plot("Pairs of places in order", "pairs", Across::Time, &pairs),
    ]
    .concat()
}
