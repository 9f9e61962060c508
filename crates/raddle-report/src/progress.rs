//! How far a search is, as one line.
//!
//! Estimates are shown with two digits: they have no more. Where the band of one is wider than three orders of
//! magnitude nothing is shown of it.

use std::fmt::Write as _;

use raddle_trace::progress::MAX_ESTIMATE;
use raddle_trace::{Band, Estimate, Progress, ReceiveCount, TraceCount};

use crate::columns::{clean, count, fit, width as columns};

/// One line about a search that runs.
///
/// ```
/// use raddle_report::progress_line;
/// use raddle_trace::{Band, Estimate, Progress};
///
/// let total = Band { about: 12_345.0, low: 4_000.0, high: 30_000.0 };
/// let estimate = Estimate { total, covered: 864.0, search: total, weighted: None, probed: None };
/// let progress = Progress { estimate: Some(estimate), pending: 85, ..Progress::default() };
/// assert_eq!(
///     progress_line(&progress.timed(864, 13_500)),
///     "864 executions, 64/s: at least 4,000 executions in all, probably about 12,000, 7 % covered, \
///      ~3 min left; 85 alternatives pending"
/// );
/// ```
#[must_use]
pub fn progress_line(progress: &Progress) -> String {
    let mut line = executions(progress.executions);
    if let Some(rate) = progress.rate {
        let _ = write!(line, ", {}/s", rounded(rate));
    }
    if let Some(TraceCount { distinct, exact, .. }) = progress.traces {
        let about = if exact { "" } else { "about " };
        let _ = write!(line, ", {about}{} distinct", grouped(distinct));
    }
    if let Some(ReceiveCount { pr, .. }) = progress.receives {
        let _ = write!(line, ", both orders of {pr} pairs of receives");
    }
    if let Some(estimate) = estimated(progress) {
        let _ = write!(line, ": {estimate}");
    }
    if let Some(bound) = progress.bound {
        let _ = write!(line, "; {} done", within(bound));
    }
    if progress.pending > 0 {
        let _ = write!(line, "; {} pending", alternatives(progress.pending));
    }
    // Less is not worth a word.
    if progress.frontier_bytes >= 1 << 20 {
        let _ = write!(line, " in {} MiB", grouped(progress.frontier_bytes >> 20));
    }
    line
}

/// The same in at most `width` columns, after the name of the test: for a line that is drawn again and
/// again. What there is no room for is left out: how fast it is and how long it takes come last.
///
/// ```
/// use raddle_report::progress_row;
/// use raddle_trace::Progress;
///
/// let progress = Progress { limit_ms: Some(60_000), ..Progress::default() }.timed(12_345, 20_000);
/// assert_eq!(progress_row("queue", &progress, 60), "queue: 12,345 executions · 620/s · ~40 s left");
/// assert_eq!(progress_row("queue", &progress, 30), "queue: 620/s · ~40 s left");
/// ```
#[must_use]
pub fn progress_row(name: &str, progress: &Progress, width: usize) -> String {
    let name = clean(name);
    let fields = fields(progress);
    let line = |name: &str, fields: &[&Field], long: bool| {
        let texts = fields.iter().map(|field| if long { &field.long } else { &field.short });
        let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
        if texts.is_empty() { name.to_owned() } else { format!("{name}: {}", texts.join(" · ")) }
    };
    let mut kept: Vec<&Field> = fields.iter().collect();
    for long in [true, false] {
        let whole = line(&name, &kept, long);
        if columns(&whole) <= width {
            return whole;
        }
    }
    loop {
        let rest = columns(&line("", &kept, false));
        let spare = width.saturating_sub(rest);
        let last = kept.iter().map(|field| field.rank).max();
        // A name is known by its first letters; with fewer it is not.
        if spare >= columns(&name).min(NAME) || last.is_none_or(|rank| rank == 0) {
            return fit(&line(&fit(&name, spare.max(1)), &kept, false), width);
        }
        kept.retain(|field| Some(field.rank) != last);
    }
}

/// A name in a row has at least so many columns, if it is as long.
const NAME: usize = 12;

/// A part of a row, in more words and in fewer; the higher its rank the sooner it is left out.
struct Field {
    long: String,
    short: String,
    rank: u8,
}

fn fields(progress: &Progress) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut add = |rank, long: String, short: String| fields.push(Field { long, short, rank });
    let n = grouped(progress.executions);
    let search = progress.estimate.map(|known| known.search).filter(Band::is_narrow);
    let of = search.as_ref().map_or_else(String::new, |search| {
        let least = if is_exact(search) { "" } else { "at least " };
        format!(" of {least}{}", rounded(if is_exact(search) { search.about } else { search.low }))
    });
    add(2, executions(progress.executions), format!("{n}{of}"));
    if let Some(rate) = progress.rate {
        let text = format!("{}/s", rounded(rate));
        add(1, text.clone(), text);
    }
    if let Some(TraceCount { distinct, exact, .. }) = progress.traces {
        let about = if exact { "" } else { "~" };
        let text = format!("{about}{} traces", grouped(distinct));
        add(3, format!("{about}{} distinct traces", grouped(distinct)), text);
    }
    if let Some(ReceiveCount { pr, .. }) = progress.receives {
        add(3, format!("{pr} pairs of receives"), format!("{pr} receives"));
    }
    if let Some(search) = search {
        add(2, probably(&search, " in all"), String::new());
    }
    if let Some(part) = progress.estimate.as_ref().and_then(part) {
        add(5, format!("{part} covered"), part);
    }
    if let Some(bound) = progress.bound {
        add(4, format!("{} done", within(bound)), format!("bound {bound}"));
    }
    if progress.pending > 0 {
        add(6, format!("{} pending", grouped(progress.pending)), String::new());
    }
    if progress.frontier_bytes >= 1 << 20 {
        let text = format!("{} MiB", grouped(progress.frontier_bytes >> 20));
        add(6, text, String::new());
    }
    if let Some(ms) = progress.over_in_ms() {
        let text = format!("{} left", time(ms));
        add(0, text.clone(), text);
    }
    fields
}

/// What a search is estimated to come to, if it can tell: how many executions there are, how many of
/// them are covered, and how long the rest takes. None where all it knows is a band of more than three orders of
/// magnitude.
#[must_use]
pub fn estimated(progress: &Progress) -> Option<String> {
    let estimate = progress.estimate?;
    let (search, total) = (&estimate.search, &estimate.total);
    if !search.is_narrow() {
        return None;
    }
    let runs_all = search == total;
    let mut text = probably(search, if runs_all { " in all" } else { " to run in all" });
    if !runs_all && total.is_narrow() {
        let _ = write!(text, ", for about {} that there are", rounded(total.about));
    }
    if let Some(part) = part(&estimate) {
        let _ = write!(text, ", {part} covered");
    }
    if let Some(ms) = progress.left_ms {
        let _ = write!(text, ", {} left", time(ms));
    }
    if let Some(probed) = estimate.probed.filter(|probed| probed.total.is_narrow()) {
        let probes = count(probed.probes, "probe");
        let _ = write!(text, "; by {probes} about {}", rounded(probed.total.about));
    }
    Some(text)
}

/// The part of the space that is covered, where its size is known well enough.
fn part(estimate: &Estimate) -> Option<String> {
    let known = estimate.total.is_narrow();
    known.then(|| percent(estimate.covered / estimate.total.about))
}

/// The lower end of a band and the estimate in it; of a number that is known, that number.
fn probably(band: &Band, what: &str) -> String {
    if is_exact(band) {
        return format!("{}{what}", some_executions(band.about));
    }
    let least = some_executions(band.low);
    format!("at least {least}{what}, probably about {}", rounded(band.about))
}

/// Whether there is nothing between its ends to tell.
fn is_exact(band: &Band) -> bool {
    rounded(band.low) == rounded(band.high)
}

/// The executions within a bound.
fn within(bound: u32) -> String {
    match bound {
        0 => "all without a preemption".to_owned(),
        1 => "all with up to 1 preemption".to_owned(),
        _ => format!("all with up to {bound} preemptions"),
    }
}

fn executions(n: u64) -> String {
    format!("{} execution{}", grouped(n), if n == 1 { "" } else { "s" })
}

fn alternatives(n: u64) -> String {
    format!("{} alternative{}", grouped(n), if n == 1 { "" } else { "s" })
}

fn some_executions(n: f64) -> String {
    let text = rounded(n);
    let s = if text == "1" { "" } else { "s" };
    format!("{text} execution{s}")
}

/// With commas between groups of three digits.
fn grouped(n: u64) -> String {
    if n < 1_000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1_000), n % 1_000) }
}

/// Two digits, and a power of ten where there would be too many zeros. Numbers below 100 are whole.
#[expect(clippy::cast_sign_loss, reason = "numbers of things")]
pub(crate) fn rounded(number: f64) -> String {
    if !number.is_finite() || number >= MAX_ESTIMATE {
        return "10^300 or more".to_owned();
    }
    if number < 99.5 {
        return grouped(number.max(0.0).round() as u64);
    }
    let power = number.log10().floor();
    let mut digits = (number / 10_f64.powf(power - 1.0)).round();
    let mut power = power as i32;
    if digits >= 99.5 {
        (digits, power) = (10.0, power + 1);
    }
    if power >= 12 {
        let leading = digits / 10.0;
        return if digits % 10.0 == 0.0 && leading < 1.5 {
            format!("10^{power}")
        } else {
            format!("{leading} × 10^{power}")
        };
    }
    grouped(digits as u64 * 10_u64.pow(power as u32 - 1))
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        p if !p.is_finite() => "nothing".to_owned(),
        p if p >= 100.0 => "100 %".to_owned(),
        // Not all is covered before all is.
        p if p >= 99.5 => "99 %".to_owned(),
        p if p >= 0.95 => format!("{p:.0} %"),
        p if p >= 0.095 => format!("{p:.1} %"),
        _ => "less than 0.1 %".to_owned(),
    }
}

/// A time to wait, in the unit in which it is a small number.
fn time(ms: f64) -> String {
    const YEAR: f64 = 365.25 * 24.0 * 3_600.0;
    let seconds = ms / 1e3;
    match seconds {
        s if s < 1.0 => "less than 1 s".to_owned(),
        s if s < 99.5 => format!("~{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("~{:.0} min", s / 60.0),
        s if s < 48.0 * 3_600.0 => format!("~{:.0} h", s / 3_600.0),
        s if s < 2.0 * YEAR => format!("~{:.0} days", s / 24.0 / 3_600.0),
        s => format!("~{} years", rounded(s / YEAR)),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use raddle_trace::Probed;

    use super::*;

    fn band(about: f64, low: f64, high: f64) -> Band {
        Band { about, low, high }
    }

    fn estimate(total: Band, covered: f64) -> Estimate {
        Estimate { total, covered, search: total, weighted: None, probed: None }
    }

    fn with(estimate: Estimate) -> Progress {
        Progress { estimate: Some(estimate), ..Progress::default() }
    }

    #[test]
    fn a_search_that_knows_nothing_says_how_much_it_ran() {
        assert_snapshot!(progress_line(&Progress::default().timed(1, 0)), @"1 execution");
        assert_snapshot!(progress_line(&Progress::default().timed(12_345, 2_000)), @"12,345 executions, 6,200/s");
    }

    #[test]
    fn all_there_is_to_say_is_one_line() {
        let mut estimate = estimate(band(12_345.0, 4_000.0, 30_000.0), 864.0);
        estimate.probed = Some(Probed { total: band(10_100.0, 7_000.0, 15_000.0), probes: 43 });
        let traces = Some(TraceCount { distinct: 1_020, exact: true, error: 0.0, unseen: None });
        let progress = Progress { traces, pending: 85, frontier_bytes: 3 << 20, ..with(estimate) };
        let line = progress_line(&progress.timed(907, 14_000));
        assert_snapshot!(line, @"907 executions, 65/s, 1,020 distinct: at least 4,000 executions in all, probably about 12,000, 7 % covered, ~3 min left; by 43 probes about 10,000; 85 alternatives pending in 3 MiB");
        assert!(!line.contains('\n'));
    }

    #[test]
    fn a_reduction_tells_its_own_executions_from_those_it_stands_for() {
        let mut estimate = estimate(band(30_000.0, 9_000.0, 120_000.0), 6_000.0);
        estimate.search = band(900.0, 500.0, 1_400.0);
        let line = progress_line(&with(estimate).timed(100, 1_000));
        assert_snapshot!(line, @"100 executions, 100/s: at least 500 executions to run in all, probably about 900, for about 30,000 that there are, 20 % covered, ~8 s left");
    }

    #[test]
    fn nothing_is_said_of_more_than_three_orders() {
        let wide = estimate(band(1.2e17, 3.4e15, 1e300), 50.0);
        assert_snapshot!(progress_line(&with(wide).timed(50, 1_000)), @"50 executions, 50/s");
        assert_eq!(estimated(&with(wide)), None);
        // Of a reduction the space may be known less well than what it will run.
        let mut reduced = wide;
        reduced.search = band(900.0, 500.0, 1_400.0);
        let line = progress_line(&with(reduced).timed(100, 1_000));
        assert_snapshot!(line, @"100 executions, 100/s: at least 500 executions to run in all, probably about 900, ~8 s left");
    }

    #[test]
    fn spaces_without_end_fit_in_a_line() {
        let huge = estimate(band(1.2e17, 3.4e15, 2e18), 50.0);
        assert_snapshot!(progress_line(&with(huge).timed(50, 1_000)), @"50 executions, 50/s: at least 3.4 × 10^15 executions in all, probably about 1.2 × 10^17, less than 0.1 % covered, ~76,000,000 years left");
        let last = estimate(Band::exact(MAX_ESTIMATE), 1.0);
        assert_snapshot!(progress_line(&with(last)), @"0 executions: 10^300 or more executions in all, less than 0.1 % covered");
    }

    #[test]
    fn a_row_fits_whatever_the_width() {
        let mut estimate = estimate(band(12_345.0, 4_000.0, 30_000.0), 864.0);
        estimate.search = band(1.2e17, 3.4e16, 2e19);
        let traces = Some(TraceCount { distinct: 1_020, exact: true, error: 0.0, unseen: None });
        let limit_ms = Some(60_000);
        let progress = Progress { traces, limit_ms, bound: Some(2), pending: 85, ..with(estimate) };
        let progress = progress.timed(907, 14_000);
        let name = "orders::a_queue_with_a_long_name";
        let rows = [240, 140, 100, 80, 60, 40, 20, 8].map(|width| {
            let row = progress_row(name, &progress, width);
            assert!(columns(&row) <= width, "{width}: {row}");
            row
        });
        assert_snapshot!(rows.join("\n"), @"
        orders::a_queue_with_a_long_name: 907 executions · 65/s · 1,020 distinct traces · at least 3.4 × 10^16 executions in all, probably about 1.2 × 10^17 · 7 % covered · all with up to 2 preemptions done · 85 pending · ~46 s left
        orders::a_queue_with_a_long_name: 907 of at least 3.4 × 10^16 · 65/s · 1,020 traces · 7 % · bound 2 · ~46 s left
        orders::a_queue_wit…: 907 of at least 3.4 × 10^16 · 65/s · 1,020 traces · 7 % · bound 2 · ~46 s left
        orders::a_queue…: 907 of at least 3.4 × 10^16 · 65/s · 1,020 traces · ~46 s left
        orders::a_queue_with_a_long_name: 65/s · ~46 s left
        orders::a_queue_with…: 65/s · ~46 s left
        orders:…: ~46 s left
        …: ~46…
        ");
        // A short name leaves room.
        assert_snapshot!(progress_row("q", &progress, 90), @"q: 907 of at least 3.4 × 10^16 · 65/s · 1,020 traces · 7 % · bound 2 · ~46 s left");
        assert_snapshot!(progress_row("q", &Progress::default(), 80), @"q: 0 executions");
    }

    #[test]
    fn numbers_have_two_digits() {
        for (number, text) in [
            (0.0, "0"),
            (1.4, "1"),
            (99.4, "99"),
            (99.6, "100"),
            (104.0, "100"),
            (995.0, "1,000"),
            (12_345.0, "12,000"),
            (999_999.0, "1,000,000"),
            (8.9e11, "890,000,000,000"),
            (1e12, "10^12"),
            (9.99e14, "10^15"),
            (2.5e200, "2.5 × 10^200"),
        ] {
            assert_eq!(rounded(number), text);
        }
    }

    #[test]
    fn nothing_is_all_covered_before_it_is() {
        for (part, text) in [
            (1.0, "100 %"),
            (0.9999, "99 %"),
            (0.07, "7 %"),
            (0.004, "0.4 %"),
            (0.0, "less than 0.1 %"),
        ] {
            assert_eq!(percent(part), text);
        }
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        for (seconds, text) in [
            (0.2, "less than 1 s"),
            (40.0, "~40 s"),
            (100.0, "~2 min"),
            (3.0 * 3_600.0, "~3 h"),
            (5.0 * 86_400.0, "~5 days"),
            (3.2e16, "~1,000,000,000 years"),
        ] {
            assert_eq!(time(seconds * 1e3), text);
        }
    }
}
