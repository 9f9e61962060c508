//! A search that is watched while it runs: how far it was when, and what it thought of the rest.

use std::collections::HashSet;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use peer::cpu_time;
use raddle_engine::observer::{Observer, Observers, Paused};
use raddle_engine::strategy::{Finished, Strategy};
use raddle_engine::{Ended, Limits, Setup, Stop, explore_observed};
use raddle_trace::Estimate;

use super::at_random::AtRandom;
use super::reduced::ETA_AT_RANDOM;
use super::tests::Test;

/// When to look.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// At the end alone.
    Last,
    /// After 1, 2, 3, … and then after each so many percent more executions.
    Growing(u64),
    /// After each so many executions.
    Every(u64),
    /// As [`Growing`](Self::Growing) by 2 % as long as that is oftener, then after each so many executions.
    FromTheFirst(u64),
}

/// What was seen at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) executions: u64,
    /// Of CPU time.
    pub(crate) seconds: f64,
    /// Executions that differ.
    pub(crate) distinct: u64,
    pub(crate) estimate: Option<Estimate>,
    /// Memory of this process, in KiB.
    pub(crate) resident: u64,
}

/// What came of a search.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Whether it ended by itself, or had seen as much as was asked for.
    pub(crate) is_whole: bool,
    /// The last one is that of the end.
    pub(crate) samples: Vec<Sample>,
}

impl Run {
    pub(crate) fn last(&self) -> Sample {
        *self.samples.last().expect("the end is looked at")
    }
}

/// How to run a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) strategy: &'static str,
    pub(crate) seed: u64,
    /// CPU time after which it is given up.
    pub(crate) cap: Duration,
    pub(crate) look: Look,
    /// Whether executions are compared with all before, and the search ends with so many that differ.
    pub(crate) until_distinct: Option<u64>,
}

impl How {
    pub(crate) fn new(strategy: &'static str, cap: Duration) -> Self {
        Self { strategy, seed: 1, cap, look: Look::Last, until_distinct: None }
    }
}

/// Does not hash again what is a hash.
#[derive(Clone, Copy, Debug, Default)]
struct Plain;

impl BuildHasher for Plain {
    type Hasher = PlainHasher;

    fn build_hasher(&self) -> PlainHasher {
        PlainHasher(0)
    }
}

struct PlainHasher(u64);

impl Hasher for PlainHasher {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole numbers are hashed");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Looks at a search while it runs.
struct Sampler<'a> {
    look: Look,
    until_distinct: Option<u64>,
    begin: Duration,
    next: u64,
    seen: HashSet<u64, Plain>,
    /// Whether there are as many as were asked for.
    has_all: &'a AtomicBool,
    samples: Vec<Sample>,
}

impl Sampler<'_> {
    fn sample(&mut self, search: &Paused<'_, '_>) {
        let executions = search.counts().executions;
        self.samples.push(Sample {
            executions,
            seconds: cpu_time().saturating_sub(self.begin).as_secs_f64(),
            distinct: if self.until_distinct.is_some() {
                self.seen.len() as u64
            } else {
                executions
            },
            estimate: search.progress().estimate,
            resident: resident(),
        });
    }
}

impl Observer for Sampler<'_> {
    fn end(&mut self, execution: &Finished<'_>) {
        if let Some(all) = self.until_distinct {
            // Decisions tell executions apart. Two that differ have one number with a chance of 2^-64.
            let mut hasher = DefaultHasher::new();
            execution.decisions.iter().for_each(|taken| taken.option.hash(&mut hasher));
            self.seen.insert(hasher.finish());
            self.has_all.store(self.seen.len() as u64 >= all, Relaxed);
        }
    }

    fn between(&mut self, search: &mut Paused<'_, '_>) {
        let executions = search.counts().executions;
        if executions == self.next {
            self.next = match self.look {
                Look::Last => u64::MAX,
                Look::Growing(percent) => executions + 1 + executions * percent / 100,
                Look::Every(often) => executions + often.max(1),
                Look::FromTheFirst(often) => executions + (1 + executions / 50).min(often.max(1)),
            };
            if executions > 0 {
                self.sample(search);
            }
        }
    }

    fn finish(&mut self, search: &mut Paused<'_, '_>, _: &Ended) {
        let executions = search.counts().executions;
        if self.samples.last().is_none_or(|last| last.executions < executions) {
            self.sample(search);
        }
    }
}

/// Runs a search of a test.
///
/// # Errors
/// If this version of raddle has no such strategy.
pub(crate) fn run(test: &Test, how: How) -> Result<Run, String> {
    let mut strategy: Box<dyn Strategy> = if how.strategy == ETA_AT_RANDOM {
        Box::new(AtRandom::new(how.seed))
    } else {
        let built = raddle_search::build(how.strategy, how.seed);
        built.map_err(|error| error.to_string())?.strategy
    };
    let begin = cpu_time();
    let has_all = AtomicBool::new(false);
    let mut sampler = Sampler {
        look: how.look,
        until_distinct: how.until_distinct,
        begin,
        next: 0,
        seen: HashSet::default(),
        has_all: &has_all,
        samples: Vec::new(),
    };
    let setup = Setup { limits: Limits::default(), ..Setup::default() };
    let mut lap = |lap: raddle_engine::Lap| {
        let over = lap.executions.is_multiple_of(256) && cpu_time().saturating_sub(begin) > how.cap;
        if over || has_all.load(Relaxed) { Stop::Search } else { Stop::No }
    };
    let (observers, pulse): (Observers<'_, '_>, _) = (&mut [&mut sampler], &mut |_| {});
    let body = || test.call();
    let explored = explore_observed(&mut *strategy, observers, &setup, &mut lap, pulse, &body);
    let explored = explored.map_err(|error| error.to_string())?;
    if let Some(failure) = explored.failure {
        return Err(format!("{} failed: {:?}", test.name, failure.outcome));
    }
    let is_whole = explored.ended == Ended::Covered || has_all.load(Relaxed);
    Ok(Run { is_whole, samples: sampler.samples })
}

/// The memory of this process, in KiB; 0 where that cannot be known.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod checks {
    use super::super::tests::test;
    use super::*;

    const CAP: Duration = Duration::from_mins(1);

    #[test]
    fn a_search_is_looked_at_when_asked_and_at_its_end() {
        let look = |look| {
            let run = run(test("Phils(2)"), How { look, ..How::new("dfs", CAP) }).expect("runs");
            assert!(run.is_whole);
            run.samples.iter().map(|sample| sample.executions).collect::<Vec<_>>()
        };
        assert_eq!(look(Look::Last), [150]);
        assert_eq!(look(Look::Every(60)), [60, 120, 150]);
        assert_eq!(look(Look::Growing(100))[..4], [1, 3, 7, 15]);
        let from_the_first = look(Look::FromTheFirst(3));
        assert_eq!((&from_the_first[..2], from_the_first.len()), (&[1, 2][..], 50 + 25 + 16 + 1));
    }

    #[test]
    fn a_sampler_runs_until_it_has_seen_all() {
        let how = How { until_distinct: Some(150), ..How::new("random", CAP) };
        let run = run(test("Phils(2)"), how).expect("runs");
        assert!(run.is_whole);
        assert_eq!(run.last().distinct, 150);
        assert!(run.last().executions > 150, "no sampler is that lucky");
    }

    #[test]
    fn a_search_ends_with_its_time() {
        let run = run(test("Phils(3)"), How::new("dfs", Duration::from_millis(20)));
        assert!(!run.expect("runs").is_whole);
    }

    #[test]
    fn a_strategy_that_is_not_there_is_an_error() {
        assert!(run(test("Phils(2)"), How::new("no-such-strategy", CAP)).is_err());
    }
}
