//! The page of several searches: verdicts, what they mean, and how the searches went.
//!
//! Searches of one test are shown together, so that strategies stand side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use raddle_trace::{About, Report, Run, Sample, Tried, Verdict};

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
/// A search with fewer samples than this has no curve: where it began and where it ended is in the table.
const CURVE: usize = 5;

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
    body.push_str(&about(run));
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

/// How much a search needs to be looked at: what failed is first.
fn rank(tried: &Tried) -> u32 {
    match tried.report.verdict {
        _ if tried.expected => 3,
        Verdict::Failed => 0,
        Verdict::Passed => 2,
        Verdict::Covered => 4,
        _ => 1,
    }
}

/// The searches of each test, tests with failures first, else in order of their first search.
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
    // Those that need no look keep their order.
    let most = |searches: &[&Tried]| searches.iter().map(|tried| rank(tried).min(2)).min();
    tests.sort_by_key(|(_, searches)| most(searches));
    tests
}

/// What the run was run with.
fn about(run: &Run) -> String {
    let mut facts = Vec::new();
    let seeds: BTreeSet<u64> = run.tried.iter().map(|tried| tried.report.seed).collect();
    match seeds.len() {
        0 => {}
        1 => facts.extend(seeds.first().map(|seed| ("seed", seed.to_string()))),
        _ => facts.push(("seeds", "differ, and are with each test".to_owned())),
    }
    let About { settings, compiler, revision } = &run.about;
    if !settings.is_empty() {
        let said: Vec<_> =
            settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        facts.push(("settings", clean(&said.join(", "))));
    }
    facts.extend(compiler.as_ref().map(|compiler| ("compiler", clean(compiler))));
    facts.extend(revision.as_ref().map(|revision| ("revision", clean(revision))));
    if facts.is_empty() {
        return String::new();
    }
    let fact = |(name, text): &(&str, String)| {
        format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(text))
    };
    format!("<dl class=\"about\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
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

const COLUMNS: [&str; 8] = [
    "test",
    "verdict",
    "strategy",
    "executions",
    "distinct traces",
    "in all, about",
    "time",
    "what that means",
];
/// Those of them that are numbers.
const NUMBERS: [&str; 4] = ["executions", "distinct traces", "in all, about", "time"];

/// One line for each search.
fn summary(tests: &[(String, Vec<&Tried>)]) -> String {
    let mut out = "<table class=\"summary\" id=\"summary\"><thead><tr>".to_owned();
    for column in COLUMNS {
        let class = if NUMBERS.contains(&column) { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{column}</th>");
    }
    out.push_str("</tr></thead>\n");
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
            let distinct = traces(report).map(|(distinct, _)| distinct);
            let all = in_all(tried);
            let cells = [
                (rank(tried).to_string(), badge_of(tried)),
                (String::new(), format!("<code>{}</code>", escape(&clean(&report.strategy)))),
                (report.counts.executions.to_string(), number(report.counts.executions)),
                (
                    distinct.map(|distinct| distinct.to_string()).unwrap_or_default(),
                    distinct.map_or_else(|| "–".to_owned(), number),
                ),
                (
                    all.as_ref().map(|(about, _)| about.to_string()).unwrap_or_default(),
                    all.map_or_else(|| "–".to_owned(), |(_, text)| escape(&text)),
                ),
                (report.elapsed_ms.to_string(), escape(&elapsed(report.elapsed_ms))),
                (String::new(), escape(&meaning(report))),
            ];
            let _ = write!(out, "<tr>{first}");
            for (column, (key, text)) in COLUMNS[1..].iter().zip(cells) {
                let class = if NUMBERS.contains(column) { " class=\"n\"" } else { "" };
                // What a column is sorted by, where that is not its text.
                let sorted = NUMBERS.contains(column) || *column == "verdict";
                let key = if sorted { format!(" data-key=\"{key}\"") } else { String::new() };
                let _ = write!(out, "<td{class} data-column=\"{column}\"{key}>{text}</td>");
            }
            out.push_str("</tr>\n");
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
#[expect(clippy::cast_precision_loss, reason = "it is sorted by")]
fn in_all(tried: &Tried) -> Option<(f64, String)> {
    if tried.report.verdict == Verdict::Covered {
        let executions = tried.report.counts.executions;
        return Some((executions as f64, number(executions)));
    }
    let last = tried.samples.last().map(|sample| sample.progress);
    let estimate = tried.report.progress.or(last)?.estimate?;
    let about = estimate.search.about;
    estimate.search.is_narrow().then(|| (about, rounded(about)))
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
        let seed = format!("<span class=\"quiet\">seed {}</span>", report.seed);
        let badge = badge_of(tried);
        let _ = writeln!(out, "<p class=\"meaning\">{badge} {lead}{guarantee} {seed}</p>");
        return out;
    };
    let open = if several { "" } else { " open" };
    let link = tried.page.as_deref().filter(|page| is_relative(page));
    let link = link.map(|page| format!(": <a href=\"{}\">walk through it</a>", escape(page)));
    let _ = write!(
        out,
        "<details class=\"failure\"{open}><summary>{} <code>{strategy}</code> {}</summary>\
         <p>in execution {}, seed {}{}</p>",
        badge_of(tried),
        escape(&headline(failure)),
        number(failure.execution),
        report.seed,
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
        let address = sources.address(site).filter(|_| at == site.line);
        let number = format!("{at:>5}");
        let number = match address {
            Some(address) => format!("<a href=\"{}\">{number}</a>", escape(&address)),
            None => number,
        };
        let class = if at == site.line { " class=\"here\"" } else { "" };
        let _ = write!(out, "<span{class}><i>{number}</i> {}</span>", escape(line));
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
        let mut all: Vec<Series> = searches.iter().map(one).collect();
        // Beside a curve even two points say something: how soon another search was through.
        if all.iter().all(|series| series.points.len() < CURVE) {
            all.clear();
        }
        all.retain(|series| series.points.len() > 1);
        all
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
