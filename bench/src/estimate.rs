//! How good the estimates of searches are: their error, and how often their bands hold.
//!
//! Each search is run twice: once to know how many executions it has, then once more to read its
//! estimate at checkpoints, which are parts of that number. Programs are those of the corpus, with
//! arguments for which `dfs` ends within a limit.
//!
//! Bands have constants that were found on half of the programs ([`CALIBRATION`]); what counts is how
//! often they hold on the other half.
//!
//! Errs: the halves share shapes (`inc` and `lost-update` have the same tree), and many programs have a
//! balanced tree, of which every estimate is right. So the table also says how often bands hold where
//! the estimate is off.

use std::collections::BTreeMap;

use raddle_corpus::{Program, REGISTRY};
use raddle_engine::observer::{Observer, Paused};
use raddle_engine::{Ended, Limits, Setup, Stop, Strategy, explore_observed};
use raddle_trace::{Band, Covered, Estimate};

use crate::numbers::{grouped, median, shown};
use crate::table::{Comparison, Table};

/// The programs on which bands are calibrated: every other one by name, of the 32 that had between 20
/// and 40,000 executions when the halves were made. All others are for the test.
pub(crate) const CALIBRATION: [&str; 16] = [
    "ainc",
    "bluetooth",
    "bounded-buffer-fixed",
    "deadlock-held-in-drop",
    "double-checked",
    "floating-read",
    "inc",
    "indexer",
    "lastwrite",
    "loads",
    "lost-update-fixed",
    "philosophers",
    "readers",
    "reorder",
    "steps",
    "wcas",
];

/// The searches, and how many seeds each is run with.
const SEARCHES: [(&str, u64); 16] = [
    ("dfs", 1),
    ("dfs in-turns", 1),
    ("dfs random", 3),
    ("dfs preemptions(2)", 1),
    ("all breadth-first", 1),
    ("all breadth-first random", 3),
    ("all random", 3),
    ("all random random", 3),
    ("all best-first(pb)", 1),
    ("all best-first(mdpor, pb)", 1),
    ("all best-first(rand)", 3),
    ("dfs cache", 1),
    ("dpor", 1),
    ("dpor(source)", 1),
    ("dpor(classic)", 1),
    ("dfs probes(5)", 3),
];

/// Parts of a search at which its estimate is read.
const CHECKPOINTS: [f64; 9] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];

/// Searches of fewer executions say nothing.
const FEWEST: u64 = 50;

/// Reads the estimate of a search at checkpoints.
#[derive(Default)]
struct Reader {
    /// After so many executions of the search itself, without the probes; ascending.
    at: Vec<u64>,
    read: Vec<Estimate>,
}

impl Observer for Reader {
    fn between(&mut self, search: &mut Paused<'_, '_>) {
        let executions = search.counts().executions;
        while self.at.get(self.read.len()).is_some_and(|at| *at <= executions) {
            let estimate = search.progress().estimate.expect("something was run");
            let probes = estimate.probed.map_or(0, |probed| probed.probes);
            if self.at[self.read.len()] > executions - probes {
                return;
            }
            self.read.push(estimate);
        }
    }
}

/// What one search said of itself.
#[derive(Clone, Debug)]
struct Series {
    program: String,
    /// Whether it is one of [`CALIBRATION`].
    calibrates: bool,
    search: &'static str,
    /// Executions of the space, and of the search.
    space: u64,
    run: u64,
    /// At the checkpoints.
    read: Vec<Estimate>,
    last: Estimate,
}

/// What came of a search.
struct Ran {
    executions: u64,
    /// Whether it ended within the limit.
    ended: bool,
    /// Its estimates, as far as it came.
    read: Vec<Estimate>,
}

/// Runs a search and reads its estimate after so many executions.
fn run(
    program: &Program,
    arguments: &[usize],
    strategy: &mut dyn Strategy,
    at: Vec<u64>,
    most: u64,
) -> Ran {
    let usual = Limits::default();
    let limits = Limits { executions: most, steps: program.steps.unwrap_or(usual.steps), ..usual };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let mut reader = Reader { at, ..Reader::default() };
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let body = || program.call(arguments);
    let explored = explore_observed(strategy, &mut [&mut reader], &setup, lap, pulse, &body)
        .expect("no search runs around this one");
    let ended = explored.ended == Ended::Covered;
    Ran { executions: explored.counts.executions, ended, read: reader.read }
}

fn built(search: &str, seed: u64) -> Box<dyn Strategy> {
    raddle_search::build(search, seed).expect("a known search").strategy
}

/// The executions of a search; none if it does not end within the limit.
fn executions(program: &Program, arguments: &[usize], search: &str, most: u64) -> Option<u64> {
    let ran = run(program, arguments, &mut *built(search, 0), Vec::new(), most);
    ran.ended.then_some(ran.executions)
}

/// What a search of `space` executions says at its checkpoints; none if it is too short.
fn series(
    program: &Program,
    arguments: &[usize],
    (search, seed): (&'static str, u64),
    (space, most): (u64, u64),
) -> Option<Series> {
    let mut first = built(search, seed);
    let ran = run(program, arguments, &mut *first, Vec::new(), 2 * most);
    if !ran.ended {
        return None;
    }
    let last = first.progress().estimate?;
    let probes = last.probed.map_or(0, |probed| probed.probes);
    let own = ran.executions - probes;
    // Within a bound the space is what is within it.
    let bounded = matches!(first.covered(), Covered::Preemptions(_));
    let space = if bounded { own } else { space };
    #[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "small numbers")]
    let checkpoint = |part: f64| ((own as f64 * part).ceil() as u64).max(1);
    let at = CHECKPOINTS.map(checkpoint).to_vec();
    let Ran { ended, read, .. } = run(program, arguments, &mut *built(search, seed), at, 2 * most);
    (ended && own >= FEWEST).then(|| Series {
        program: format!("{}{}", program.name, bracketed(arguments)),
        calibrates: CALIBRATION.contains(&program.name),
        search,
        space,
        run: own,
        read,
        last,
    })
}

fn bracketed(arguments: &[usize]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let numbers: Vec<_> = arguments.iter().map(ToString::to_string).collect();
    format!("({})", numbers.join(","))
}

/// The arguments of a program that are tried: from the least on, a few more.
fn arguments(program: &Program) -> Vec<Vec<usize>> {
    match program.parameters {
        [] => vec![Vec::new()],
        [one] => (one.least..=one.most.min(one.least + 12)).map(|n| vec![n]).collect(),
        [one, two, ..] => {
            let seconds = two.least..=two.most.min(two.least + 5);
            let firsts = one.least..=one.most.min(one.least + 5);
            firsts.flat_map(|n| seconds.clone().map(move |m| vec![n, m])).collect()
        }
    }
}

/// All searches of all programs that have at most so many executions. `only`: of these halves.
fn measure_all(most: u64, only: &[bool], progress: &impl Fn(&str)) -> Vec<Series> {
    let mut all = Vec::new();
    for program in REGISTRY.iter().filter(|p| only.contains(&CALIBRATION.contains(&p.name))) {
        progress(&format!("estimating {}", program.name));
        for arguments in arguments(program) {
            let Some(space) = executions(program, &arguments, "dfs", most) else { continue };
            if space < FEWEST {
                continue;
            }
            for (search, seeds) in SEARCHES {
                for seed in 0..seeds {
                    all.extend(series(program, &arguments, (search, seed), (space, most)));
                }
            }
        }
    }
    all
}

/// Which number is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Executions of the space, by the recursive rule.
    Space,
    /// Executions that a reduction or a cache will run.
    Search,
    /// Executions of the space, by probes.
    Probes,
}

/// An estimate and the truth.
#[derive(Clone, Copy, Debug)]
struct Compared {
    band: Band,
    truth: f64,
}

impl Compared {
    /// By which factor the estimate is off.
    fn off(self) -> f64 {
        (self.band.about / self.truth).max(self.truth / self.band.about)
    }

    fn is_off(self) -> bool {
        self.off() > 1.01
    }

    fn holds(self) -> bool {
        // What is written as an exact number may have been added up from fractions.
        let Band { low, high, .. } = self.band;
        low * (1.0 - 1e-9) <= self.truth && self.truth <= high * (1.0 + 1e-9)
    }

    /// How many times as wide the band would have to be below and above, on the scale of logarithms.
    fn stretch(self) -> (f64, f64) {
        let Band { about, low, high } = self.band;
        let error = (self.truth / about).ln();
        let by = |error: f64, width: f64| if error < 1e-9 { 0.0 } else { error / width.max(1e-9) };
        (by(-error, (about / low).ln()), by(error, (high / about).ln()))
    }
}

impl Series {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn compared(&self, what: What) -> Vec<Compared> {
        let of = |estimate: &Estimate| match what {
            What::Space => Some(Compared { band: estimate.total, truth: self.space as f64 }),
            What::Search => Some(Compared { band: estimate.search, truth: self.run as f64 }),
            What::Probes => {
                let probed = estimate.probed?;
                Some(Compared { band: probed.total, truth: self.space as f64 })
            }
        };
        self.read.iter().filter_map(of).collect()
    }

    fn worst(&self, what: What) -> f64 {
        self.compared(what).into_iter().map(Compared::off).fold(1.0, f64::max)
    }

    fn numbers(&self) -> &'static [What] {
        match self.search {
            search if search.starts_with("dpor") || search.contains("cache") => {
                &[What::Space, What::Search]
            }
            search if search.contains("probes") => &[What::Probes],
            _ => &[What::Space],
        }
    }
}

/// Measures all of it.
pub(crate) fn measure(quick: bool, progress: impl Fn(&str)) -> Vec<Table> {
    let most = if quick { 1_000 } else { 40_000 };
    let all = measure_all(most, &[true, false], &progress);
    vec![errors(&all), reductions(&all), bands(&all), far(quick, &progress)]
}

/// Searches of spaces that do not end, and how many seeds each is run with.
const FAR: [(&str, u64); 6] = [
    ("dfs", 1),
    ("dfs random", 3),
    ("all breadth-first", 1),
    ("all random", 3),
    ("all random random", 3),
    ("dfs probes(5)", 3),
];

/// What is said of spaces of which next to nothing was run.
fn far(quick: bool, progress: &impl Fn(&str)) -> Table {
    let runs: &[u64] = if quick { &[100] } else { &[100, 1_000, 10_000] };
    let columns = [
        "search",
        "executions",
        "calibration",
        "held",
        "stretch below",
        "above",
        "test",
        "held",
        "median ÷ truth",
        "lowest",
        "highest",
        "width",
    ];
    let mut table = Table {
        title: "Far from the end: spaces of more than 100,000 executions".to_owned(),
        header: header(&columns),
        notes: vec![
            "Programs whose number of executions is known by arithmetic, with arguments for which it \
             is that large: the estimate after so many executions, by the truth, and whether the band \
             holds it. stretch, calibration, test and width as above."
                .to_owned(),
            "Many of these programs have balanced trees, on the calibration half most of them."
                .to_owned(),
        ],
        ..Table::default()
    };
    let mut found: BTreeMap<(usize, u64), [Vec<Named>; 2]> = BTreeMap::new();
    for program in REGISTRY {
        let Some(count) = program.interleavings else { continue };
        progress(&format!("estimating {} from afar", program.name));
        for arguments in arguments(program) {
            let Some(space) = count(&arguments).filter(|space| *space > 100_000) else { continue };
            for (row, (search, seeds)) in FAR.into_iter().enumerate() {
                for seed in 0..seeds {
                    let mut strategy = built(search, seed);
                    let most = runs[runs.len() - 1];
                    let most = most + most / 5 + 2;
                    let ran = run(program, &arguments, &mut *strategy, runs.to_vec(), most);
                    for (&run, read) in runs.iter().zip(&ran.read) {
                        let band = match read.probed {
                            Some(probed) => probed.total,
                            None => read.total,
                        };
                        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                        let compared = Compared { band, truth: space as f64 };
                        let halves = found.entry((row, run)).or_default();
                        let test = usize::from(!CALIBRATION.contains(&program.name));
                        halves[test].push((program.name, compared));
                    }
                }
            }
        }
    }
    for ((row, run), halves) in found {
        let (search, _) = FAR[row];
        let [calibration, test] = halves.map(|compared| Afar::new(&compared));
        let row_name = format!("{search} after {run}");
        table.comparisons.push(comparison("far", &row_name, "test", Some(test.part())));
        table.rows.push(vec![
            search.to_owned(),
            grouped(run),
            calibration.n.to_string(),
            percent(Some(calibration.part())),
            shown(Some(calibration.stretch.0), 2),
            shown(Some(calibration.stretch.1), 2),
            test.n.to_string(),
            percent(Some(test.part())),
            magnitude(median(test.ratios.clone())),
            magnitude(test.ratios[0]),
            magnitude(test.ratios[test.n - 1]),
            magnitude(test.width),
        ]);
    }
    table
}

/// An estimate of a program.
type Named = (&'static str, Compared);

/// What is said of one half from afar.
struct Afar {
    n: usize,
    inside: usize,
    /// Estimates by the truth, ascending.
    ratios: Vec<f64>,
    width: f64,
    stretch: (f64, f64),
}

impl Afar {
    fn new(compared: &[Named]) -> Self {
        let all = || compared.iter().map(|(_, compared)| compared);
        let mut ratios: Vec<f64> = all().map(|one| one.band.about / one.truth).collect();
        ratios.sort_by(f64::total_cmp);
        let of = |side: fn((f64, f64)) -> f64| {
            let one =
                |(program, compared): &Named| (side(compared.stretch()), (*program).to_owned());
            high(compared.iter().map(one).collect())
        };
        Self {
            n: compared.len(),
            inside: all().filter(|one| one.holds()).count(),
            ratios,
            width: median(all().map(|one| one.band.high / one.band.low).collect()),
            stretch: (of(|(below, _)| below), of(|(_, above)| above)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn part(&self) -> f64 {
        self.inside as f64 / self.n as f64
    }
}

fn percent(part: Option<f64>) -> String {
    part.map_or("—".to_owned(), |part| format!("{:.0} %", part * 100.0))
}

/// Two decimals, or a power of ten.
fn magnitude(ratio: f64) -> String {
    if (0.01..1_000.0).contains(&ratio) { format!("{ratio:.2}") } else { format!("{ratio:.0e}") }
}

/// The series of each program with its largest arguments, by search.
fn largest(all: &[Series]) -> BTreeMap<&str, Vec<&Series>> {
    let mut found: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for series in all {
        let name = series.program.split('(').next().unwrap_or_default();
        found.entry(name).or_default().push(series);
    }
    for series in found.values_mut() {
        let most = series.iter().map(|series| series.space).max().unwrap_or(0);
        let full = |series: &&&Series| series.space == most && series.search == "dfs";
        let program = series.iter().find(full).map(|series| series.program.clone());
        series.retain(|series| Some(&series.program) == program.as_ref());
    }
    found
}

fn factor(value: f64) -> String {
    format!("{value:.2}")
}

/// The worst of the seeds of a search.
fn worst(series: &[&Series], search: &str, what: What) -> Option<f64> {
    let of = series.iter().filter(|series| series.search == search);
    of.map(|series| series.worst(what)).reduce(f64::max)
}

fn header(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|column| (*column).to_owned()).collect()
}

fn errors(all: &[Series]) -> Table {
    let searches = ["dfs", "dfs random", "all breadth-first", "all random", "all random random"];
    let mut columns = vec!["program", "executions"];
    columns.extend(searches);
    columns.extend(["probes", "half"]);
    let mut table = Table {
        title: "By which factor the estimate of the space is off, at worst".to_owned(),
        header: header(&columns),
        notes: vec![
            "Each program with the largest arguments that are tried and have at most so many \
             executions. The worst of nine checkpoints, at 1, 2, 5, 10, 20, 30, 50, 70 and 90 % of \
             the search, and of three seeds where there is something to draw. 1.00: right. The \
             recursive rule; probes: those of `dfs probes(5)`. At the end of each of these searches \
             the estimate is the number itself."
                .to_owned(),
            "half: calibration, if the bands were fitted to the program; else test.".to_owned(),
        ],
        ..Table::default()
    };
    for series in largest(all).values() {
        let Some(first) = series.first() else { continue };
        let mut row = vec![first.program.clone(), grouped(first.space)];
        for search in searches {
            let off = worst(series, search, What::Space);
            row.push(off.map_or("—".to_owned(), factor));
            table.comparisons.push(comparison("error", &first.program, search, off));
        }
        let off = worst(series, "dfs probes(5)", What::Probes);
        row.push(off.map_or("—".to_owned(), factor));
        row.push(if first.calibrates { "calibration" } else { "test" }.to_owned());
        table.rows.push(row);
    }
    table
}

fn comparison(table: &'static str, row: &str, column: &str, ours: Option<f64>) -> Comparison {
    let (row, column) = (row.to_owned(), column.to_owned());
    Comparison { table, row, column, ours, peer: None, ratio: None }
}

fn reductions(all: &[Series]) -> Table {
    let columns = [
        "program",
        "executions",
        "dpor runs",
        "worst, runs",
        "final, space",
        "source runs",
        "worst, runs",
        "final, space",
        "classic runs",
        "worst, runs",
        "final, space",
        "half",
    ];
    let mut table = Table {
        title: "Under a reduction".to_owned(),
        header: header(&columns),
        notes: vec![
            "worst, runs: by which factor the executions that the search will run are off at the \
             worst checkpoint. final, space: the estimate of all executions when the reduction has \
             ended, by their true number (Eta's Table 3 has 0.30 to 1.00)."
                .to_owned(),
            format!("—: fewer than {FEWEST} executions under that reduction."),
        ],
        ..Table::default()
    };
    for series in largest(all).values() {
        let Some(first) = series.first() else { continue };
        let mut row = vec![first.program.clone(), grouped(first.space)];
        let mut any = false;
        for search in ["dpor", "dpor(source)", "dpor(classic)"] {
            let found = series.iter().find(|series| series.search == search);
            any |= found.is_some();
            row.push(found.map_or("—".to_owned(), |series| grouped(series.run)));
            let off = found.map(|series| series.worst(What::Search));
            row.push(off.map_or("—".to_owned(), factor));
            table.comparisons.push(comparison("runs", &first.program, search, off));
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let last = found.map(|series| series.last.total.about / series.space as f64);
            row.push(last.map_or("—".to_owned(), factor));
        }
        row.push(if first.calibrates { "calibration" } else { "test" }.to_owned());
        if any {
            table.rows.push(row);
        }
    }
    table
}

/// How often bands hold.
#[derive(Clone, Debug, Default)]
struct Held {
    inside: u64,
    all: u64,
    /// The same where the estimate is off.
    inside_off: u64,
    all_off: u64,
    widths: Vec<f64>,
    /// Stretches, with the program.
    below: Vec<(f64, String)>,
    above: Vec<(f64, String)>,
}

impl Held {
    fn add(&mut self, program: &str, compared: &[Compared]) {
        for &one in compared {
            self.all += 1;
            self.inside += u64::from(one.holds());
            self.all_off += u64::from(one.is_off());
            self.inside_off += u64::from(one.is_off() && one.holds());
            self.widths.push(one.band.high / one.band.low);
            let (below, above) = one.stretch();
            self.below.push((below, program.to_owned()));
            self.above.push((above, program.to_owned()));
        }
    }

    fn part(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        (self.all > 0).then(|| self.inside as f64 / self.all as f64)
    }

    fn part_off(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        (self.all_off > 0).then(|| self.inside_off as f64 / self.all_off as f64)
    }
}

/// The number below which 97 % are, every program having the same weight.
fn high(mut values: Vec<(f64, String)>) -> f64 {
    let mut checkpoints: BTreeMap<String, f64> = BTreeMap::new();
    for (_, program) in &values {
        *checkpoints.entry(program.clone()).or_default() += 1.0;
    }
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let all: f64 = checkpoints.values().map(|_| 1.0).sum();
    let mut sum = 0.0;
    for (value, program) in values {
        sum += 1.0 / checkpoints[&program];
        if sum >= 0.97 * all {
            return value;
        }
    }
    0.0
}

/// Searches whose bands have the same constants.
fn kind(search: &str, what: What) -> &'static str {
    match (search, what) {
        (search, _) if search.contains("probes") => "probes",
        (search, What::Search) if search.starts_with("dpor") => "dpor, all three: its runs",
        (search, _) if search.starts_with("dpor") => "dpor, all three: the space",
        (search, What::Search) if search.contains("cache") => "dfs cache: its runs",
        (search, _) if search.contains("cache") => "dfs cache: the space",
        (search, _) if search.starts_with("dfs") => "dfs, in any order or bound",
        (search, _) if search.contains("breadth") => "all breadth-first",
        (search, _) if search.contains("best-first") => "all best-first",
        _ => "all random",
    }
}

/// By kind: on the calibration half, and on the other.
fn held(all: &[Series]) -> BTreeMap<&'static str, [Held; 2]> {
    let mut found: BTreeMap<&'static str, [Held; 2]> = BTreeMap::new();
    for series in all {
        for &what in series.numbers() {
            let held = found.entry(kind(series.search, what)).or_default();
            let program = series.program.split('(').next().unwrap_or_default();
            held[usize::from(!series.calibrates)].add(program, &series.compared(what));
        }
    }
    found
}

fn bands(all: &[Series]) -> Table {
    let columns = [
        "searches",
        "calibration",
        "held",
        "test",
        "held",
        "of those off",
        "held",
        "width",
        "stretch below",
        "above",
    ];
    let mut table = Table {
        title: "How often the bands of 90 % hold".to_owned(),
        header: header(&columns),
        notes: vec![
            "Checkpoints of all programs and arguments on the calibration half and on the test half, \
             and how many of them have the truth inside. of those off: where the estimate is wrong by \
             more than 1 %. width: the median of high by low on the test half."
                .to_owned(),
            "stretch: how many times as wide the band would have to be below and above to leave out 3 % \
             on each side of the calibration half, every program having the same weight."
                .to_owned(),
            "The halves are not independent: programs of both share shapes, as inc and lost-update \
             do, or indexer and hammer."
                .to_owned(),
        ],
        ..Table::default()
    };
    for (kind, [calibration, test]) in held(all) {
        table.comparisons.push(comparison("band", kind, "test", test.part()));
        table.rows.push(vec![
            kind.to_owned(),
            grouped(calibration.all),
            percent(calibration.part()),
            grouped(test.all),
            percent(test.part()),
            grouped(test.all_off),
            percent(test.part_off()),
            shown(Some(median(test.widths)), 1),
            shown(Some(high(calibration.below)), 2),
            shown(Some(high(calibration.above)), 2),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    // The half that the bands were not fitted to, with programs of up to 300 executions.
    #[test]
    fn bands_hold_at_85_of_100_checkpoints_of_programs_they_were_not_fitted_to() {
        let all = measure_all(300, &[false], &|_| {});
        assert!(all.len() > 100, "{} searches", all.len());
        for (kind, [calibration, test]) in held(&all) {
            assert_eq!(calibration.all, 0);
            let (inside, all) = (test.inside, test.all);
            assert!(all > 0 && test.part() >= Some(0.85), "{kind}: {inside} of {all}");
        }
    }

    #[test]
    fn the_calibration_half_is_a_half_of_the_corpus() {
        for name in CALIBRATION {
            assert!(REGISTRY.iter().any(|program| program.name == name), "{name}");
        }
        assert!(CALIBRATION.is_sorted());
    }

    #[test]
    fn a_stretch_is_what_a_band_lacks() {
        let band = Band { about: 10.0, low: 5.0, high: 20.0 };
        let (below, above) = Compared { band, truth: 40.0 }.stretch();
        assert!(below.abs() < 1e-9 && (above - 2.0).abs() < 1e-9);
        assert!(!Compared { band, truth: 40.0 }.holds());
        assert!(Compared { band, truth: 20.0 }.holds());
        assert!((Compared { band, truth: 5.0 }.off() - 2.0).abs() < 1e-9);
    }
}
