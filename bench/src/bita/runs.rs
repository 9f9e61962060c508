//! Every bug under `bita`, its criteria and every baseline, at both sizes.

use std::time::Duration;

use peer::cpu_time;
use raddle::Config;
use raddle_corpus::actors::systems::programs;
use raddle_corpus::program::{Expected, Program};
use raddle_engine::observer::Observers;
use raddle_engine::{Ended, Explored, Lap, Limits, Setup, Stop, explore_observed};
use raddle_trace::Covered;

use super::orders::Criterion;
use super::{BITA, Effort, threads};

/// Which arguments the programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    Large,
}

impl Size {
    pub(crate) const ALL: [Self; 2] = [Self::Small, Self::Large];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    pub(crate) fn arguments(self, program: &Program) -> Vec<usize> {
        match self {
            Self::Small => program.defaults(),
            Self::Large => program.large.to_vec(),
        }
    }
}

/// How a bug is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A strategy of the engine, as it is asked for.
    Strategy(&'static str),
    /// What raddle does if no strategy is asked for.
    Default,
    /// On threads, with delays of at most so many milliseconds.
    Delays(u64),
    /// On threads, as it is.
    Threads,
}

/// All ways, with the strategies that go by one criterion last.
pub(crate) const WAYS: [How; 12] = [
    How::Strategy(BITA),
    How::Strategy("random"),
    How::Strategy("pos"),
    How::Strategy("dpor"),
    How::Default,
    How::Delays(100),
    How::Delays(200),
    How::Delays(300),
    How::Threads,
    How::Strategy("bita(pr)"),
    How::Strategy("bita(pcr)"),
    How::Strategy("bita(pbr)"),
];

/// The first of [`WAYS`] that is no column of the tables.
pub(crate) const COLUMNS: usize = 9;

impl How {
    /// The head of its column.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Strategy(strategy) => strategy.to_owned(),
            Self::Default => "default".to_owned(),
            Self::Delays(most) => format!("delays ≤ {most} ms"),
            Self::Threads => "threads".to_owned(),
        }
    }

    fn is_in_real_time(self) -> bool {
        matches!(self, Self::Delays(_) | Self::Threads)
    }

    /// Whether another seed is another run.
    fn draws(self) -> bool {
        self != Self::Strategy("dpor")
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    pub(crate) found: bool,
    /// Up to and with the one that showed it.
    pub(crate) executions: u64,
    /// CPU time of a search; in real time, the time that has passed.
    pub(crate) time: Duration,
}

/// A bug at a size, with its runs: for each of [`WAYS`], for each repetition.
#[derive(Debug)]
pub(crate) struct Bug {
    pub(crate) program: &'static Program,
    pub(crate) size: Size,
    pub(crate) tries: Vec<Vec<Try>>,
}

impl Bug {
    pub(crate) fn of(&self, how: How) -> &[Try] {
        let nth = WAYS.iter().position(|way| *way == how);
        nth.map_or(&[], |nth| &self.tries[nth])
    }

    /// The criterion that shows it in each repetition, as far as the strategies for one criterion alone tell: the first of
    /// PR, PBR and PCR that does.
    pub(crate) fn criteria(&self) -> Vec<Option<Criterion>> {
        let found = |criterion: Criterion, nth: usize| {
            let tries = self.of(How::Strategy(criterion.strategy()));
            tries.get(nth).is_some_and(|one| one.found)
        };
        let order = [Criterion::Pr, Criterion::Pbr, Criterion::Pcr];
        let first = |nth| order.into_iter().find(|criterion| found(*criterion, nth));
        (0..self.of(How::Strategy(BITA)).len()).map(first).collect()
    }
}

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) effort: Effort,
    pub(crate) bugs: Vec<Bug>,
    /// CPU time of all of it.
    pub(crate) cpu: Duration,
}

/// Runs everything; only what `bita` does if the baselines are not asked for.
pub(crate) fn run_all(effort: Effort, baselines: bool, progress: &dyn Fn(&str)) -> Runs {
    let begin = cpu_time();
    let mut bugs = Vec::new();
    for size in Size::ALL {
        for program in programs().filter(|program| program.expected != Expected::Pass) {
            progress(&format!("{} ({})", program.name, size.name()));
            let arguments = size.arguments(program);
            let tries = WAYS.map(|how| {
                let is_bita = matches!(how, How::Strategy(name) if name.starts_with(BITA));
                if how.is_in_real_time() || !baselines && !is_bita {
                    return Vec::new();
                }
                let n = if how.draws() { effort.repetitions } else { 1 };
                (1..=n).map(|seed| search(program, &arguments, how, seed, effort)).collect()
            });
            bugs.push(Bug { program, size, tries: tries.into() });
        }
    }
    if baselines {
        in_real_time(&mut bugs, effort, progress);
    }
    Runs { effort, bugs, cpu: cpu_time().saturating_sub(begin) }
}

/// Those with delays many at a time, those without one after another.
fn in_real_time(bugs: &mut [Bug], effort: Effort, progress: &dyn Fn(&str)) {
    for (nth, how) in WAYS.into_iter().enumerate() {
        if !how.is_in_real_time() {
            continue;
        }
        progress(&how.name());
        let asked: Vec<_> = bugs
            .iter()
            .flat_map(|bug| (1..=effort.repetitions).map(|seed| (bug.program, bug.size, seed)))
            .collect();
        let run = |&(program, size, seed): &(&'static Program, Size, u64)| {
            let arguments = size.arguments(program);
            match how {
                How::Delays(most) => {
                    let most = Duration::from_millis(most);
                    threads::delayed(program, &arguments, most, seed, effort.time_limit)
                }
                _ => threads::plain(program, &arguments, effort.plain_limit),
            }
        };
        let tries = threads::silently(|| match how {
            How::Delays(_) => threads::all(&asked, run),
            _ => asked.iter().map(run).collect(),
        });
        let n = usize::try_from(effort.repetitions).unwrap_or(usize::MAX);
        for (bug, tries) in bugs.iter_mut().zip(tries.chunks(n)) {
            bug.tries[nth] = tries.to_vec();
        }
    }
}

fn search(
    program: &'static Program,
    arguments: &[usize],
    how: How,
    seed: u64,
    effort: Effort,
) -> Try {
    let begin = cpu_time();
    let (found, executions) = match how {
        How::Strategy(strategy) => {
            let body = || program.call(arguments);
            match explored(strategy, seed, (effort.budget, effort.cap), &mut [], &body) {
                Ok(explored) => {
                    let outcome = explored.failure.as_ref().map(|failure| &failure.outcome);
                    (program.expected.is_met_by(outcome), explored.counts.executions)
                }
                Err(_) => (false, 0),
            }
        }
        _ => by_default(program, arguments.to_vec(), seed, effort),
    };
    Try { found, executions, time: cpu_time().saturating_sub(begin) }
}

/// Runs a strategy of the engine within a budget of executions and CPU time.
///
/// # Errors
/// If the strategy is not one, or a repeated prefix did something else.
pub(crate) fn explored(
    strategy: &str,
    seed: u64,
    (budget, cap): (u64, Duration),
    observers: Observers<'_, '_>,
    body: &dyn Fn(),
) -> Result<Explored, String> {
    search_with(strategy, seed, (budget, cap), observers, body).map(|(explored, _)| explored)
}

/// Like [`explored`], with what the strategy says that it has covered.
///
/// # Errors
/// As for `explored`.
pub(crate) fn search_with(
    strategy: &str,
    seed: u64,
    (budget, cap): (u64, Duration),
    observers: Observers<'_, '_>,
    body: &dyn Fn(),
) -> Result<(Explored, Covered), String> {
    let mut built = raddle_search::build(strategy, seed).map_err(|error| error.to_string())?;
    let limits = Limits { executions: budget, ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let begin = cpu_time();
    let mut lap = |lap: Lap| {
        let looks = lap.executions.is_multiple_of(16) && lap.steps == 0;
        let over = looks && cpu_time().saturating_sub(begin) > cap;
        if over { Stop::Search } else { Stop::No }
    };
    let explored =
        explore_observed(&mut *built.strategy, observers, &setup, &mut lap, &mut |_| {}, body)
            .map_err(|error| error.to_string())?;
    match &explored.ended {
        Ended::Diverged(_) | Ended::Trouble(_) => Err(format!("{strategy}: {:?}", explored.ended)),
        _ => Ok((explored, built.strategy.covered())),
    }
}

/// As a user runs it who asks for nothing.
fn by_default(
    program: &'static Program,
    arguments: Vec<usize>,
    seed: u64,
    effort: Effort,
) -> (bool, u64) {
    let mut config = Config::default();
    config.executions = Some(effort.budget);
    config.time = Some(effort.cap);
    config.seed = Some(seed);
    let Ok(report) = raddle::explore(config, move || program.call(&arguments)) else {
        return (false, 0);
    };
    let failure = report.failure.as_ref();
    let found = program.expected.is_met_by(failure.map(|failure| &failure.outcome));
    // `Failure::execution` counts only those of the member that found it.
    (found, report.counts.executions)
}
