//! What names explorers: as orders, and in the brackets of `strata` and `strata-sample`.

use std::fmt;

use raddle_engine::explorer::Explorer;
use raddle_engine::strategy::Strategy;

use super::error::Kind;
use super::recipe::Recipe;
use super::states::Limits;
use super::{BuildError, Environment, Part, wrong_arguments};
use crate::explorers::{Ordered, QueueOfProcesses, RandomRoundRobin, RunToCompletion, Tracker};
use crate::grammar::{Arg, Composition, Term};
use crate::order::StockOrder;
use crate::strata_sample::StrataSample;
use crate::tree::{Full, Keys};

/// What may stand in the brackets of `strata`.
pub(super) const STRATA: &str = "rr | rtc | rtc-latest | prr | ordered | custom, exact, increment(n), cache(n), refuse, \
     then-sample(bytes), depth(n), threads(n)";

/// What may stand in the brackets of `strata-sample`.
pub(super) const SAMPLED: &str = "rr | rtc | rtc-latest | prr | ordered | custom, c1(n), c2(n)";

const PREFIXES: u32 = 1_000_000;
pub(super) const C1: u32 = 10;
pub(super) const C2: u32 = 3;

/// The explorer that is the default.
pub(super) fn round_robin() -> Explorer {
    Explorer::new("rr", QueueOfProcesses::default())
}

/// The explorer that a term names; none if it names none.
fn explorer(term: &Term, seed: u64, custom: Option<&Explorer>) -> Result<Option<Explorer>, Kind> {
    let wrong = |what: &str| Kind::Combination(format!("`{term}` {what}"));
    let explorer = match (term.name.as_str(), term.args.as_slice()) {
        ("rr", []) => round_robin(),
        ("rtc", []) => Explorer::new("rtc", RunToCompletion::default()),
        ("rtc-latest", []) => Explorer::new("rtc-latest", RunToCompletion::latest_first()),
        ("prr" | "probabilistic-rr", []) => Explorer::new("prr", RandomRoundRobin::new(seed)),
        ("prr" | "probabilistic-rr", [Arg::Number(seed)]) => {
            Explorer::new(&format!("prr({seed})"), RandomRoundRobin::new((*seed).into()))
        }
        ("ordered", []) => Explorer::new("ordered", Ordered::default()),
        ("custom", []) => custom.cloned().ok_or_else(|| {
            wrong("is the explorer that is given with a search, and none was; call raddle::explore_by")
        })?,
        ("rr" | "rtc" | "rtc-latest" | "ordered" | "custom", _) => {
            return Err(wrong("has nothing in its brackets"));
        }
        ("prr" | "probabilistic-rr", _) => return Err(wrong("has one number, its seed")),
        _ => return Ok(None),
    };
    Ok(Some(explorer))
}

/// The stock explorer that a term names, such as `rtc` or `prr(3)`. For whatever searches along one without
/// [`build`](super::build).
///
/// ```
/// assert_eq!(raddle_search::stock_explorer("prr(3)", 1)?.name(), "prr(3)");
/// assert!(raddle_search::stock_explorer("dfs", 1).is_err());
/// # Ok::<(), raddle_search::BuildError>(())
/// ```
///
/// # Errors
/// If it names none.
pub fn stock_explorer(text: &str, seed: u64) -> Result<Explorer, BuildError> {
    let composition: Composition = text.parse()?;
    let found = match composition.terms.as_slice() {
        [term] => explorer(term, seed, None)?,
        _ => None,
    };
    found.ok_or_else(|| {
        let why = format!(
            "`{text}` is no explorer; write one of `rr`, `rtc`, `rtc-latest`, `prr`, `ordered`"
        );
        Kind::Combination(why).into()
    })
}

/// Sets the order of a search to the explorer that a part names.
pub(super) fn set_explorer(part: &Part<'_>, recipe: &mut Recipe) -> Result<(), BuildError> {
    let explorer = explorer(part.term, recipe.seed, recipe.custom.as_ref())?;
    let explorer = explorer.ok_or_else(|| wrong_arguments(part.entry, part.term))?;
    recipe.order = StockOrder::Explorer(Box::new(Tracker::new(explorer)));
    Ok(())
}

/// A stratified search, as it is written.
#[derive(Clone, Debug)]
pub(super) struct Strata {
    pub(super) explorer: Explorer,
    pub(super) keys: Keys,
    pub(super) increment: u32,
    pub(super) cache: u32,
    pub(super) full: Full,
    /// Samples when it holds three quarters of so many bytes, if it does; 0: of what the search may hold.
    pub(super) then_sample: Option<u32>,
    /// Of a model's states.
    pub(super) limits: Limits,
}

impl fmt::Display for Strata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "strata({}", self.explorer.name())?;
        if self.keys == Keys::Exact {
            f.write_str(", exact")?;
        }
        if self.increment != 1 {
            write!(f, ", increment({})", self.increment)?;
        }
        if self.cache != PREFIXES {
            write!(f, ", cache({})", self.cache)?;
        }
        if self.full == Full::Refuse {
            f.write_str(", refuse")?;
        }
        match self.then_sample {
            None => {}
            Some(0) => f.write_str(", then-sample")?,
            Some(bytes) => write!(f, ", then-sample({bytes})")?,
        }
        self.limits.fmt(f)?;
        f.write_str(")")
    }
}

/// The one number of a setting, which is at least 1.
fn number(term: &Term) -> Option<u32> {
    match term.args.as_slice() {
        [Arg::Number(number)] if *number > 0 => Some(*number),
        _ => None,
    }
}

/// Reads the brackets of `strata`.
fn strata(part: &Part<'_>, seed: u64, custom: Option<&Explorer>) -> Result<Strata, BuildError> {
    let wrong = || wrong_arguments(part.entry, part.term);
    let mut strata = Strata {
        explorer: round_robin(),
        keys: Keys::Program,
        increment: 1,
        cache: PREFIXES,
        full: Full::Replace,
        then_sample: None,
        limits: Limits::default(),
    };
    for (nth, arg) in part.term.args.iter().enumerate() {
        let Arg::Term(term) = arg else { return Err(wrong()) };
        if let Some(explorer) = explorer(term, seed, custom)? {
            if nth > 0 {
                return Err(wrong());
            }
            strata.explorer = explorer;
            continue;
        }
        match (term.name.as_str(), term.args.is_empty()) {
            ("exact", true) => strata.keys = Keys::Exact,
            ("refuse", true) => strata.full = Full::Refuse,
            ("then-sample", true) => strata.then_sample = Some(0),
            ("then-sample", false) => strata.then_sample = Some(number(term).ok_or_else(wrong)?),
            ("increment", _) => strata.increment = number(term).ok_or_else(wrong)?,
            ("cache", _) => strata.cache = number(term).ok_or_else(wrong)?,
            _ if strata.limits.read(term) => {}
            _ => return Err(wrong()),
        }
    }
    Ok(strata)
}

/// Makes the search a stratified one.
pub(super) fn set_strata(part: &Part<'_>, recipe: &mut Recipe) -> Result<(), BuildError> {
    recipe.strata = Some(strata(part, recipe.seed, recipe.custom.as_ref())?);
    Ok(())
}

/// Reads the brackets of `strata-sample`: the explorer, c1 and c2.
fn sampled(
    part: &Part<'_>,
    seed: u64,
    custom: Option<&Explorer>,
) -> Result<(Explorer, u32, u32), BuildError> {
    let wrong = || wrong_arguments(part.entry, part.term);
    let (mut chosen, mut c1, mut c2) = (round_robin(), C1, C2);
    for (nth, arg) in part.term.args.iter().enumerate() {
        let Arg::Term(term) = arg else { return Err(wrong()) };
        match term.name.as_str() {
            "c1" => c1 = number(term).ok_or_else(wrong)?,
            "c2" => c2 = number(term).ok_or_else(wrong)?,
            _ if nth > 0 => return Err(wrong()),
            _ => chosen = explorer(term, seed, custom)?.ok_or_else(wrong)?,
        }
    }
    Ok((chosen, c1, c2))
}

/// Makes the sampler.
pub(super) fn strata_sample(
    part: &Part<'_>,
    environment: &Environment,
) -> Result<Box<dyn Strategy>, BuildError> {
    let Environment { seed, explorer, .. } = environment;
    let (explorer, c1, c2) = sampled(part, *seed, explorer.as_ref())?;
    Ok(Box::new(StrataSample::new(Tracker::new(explorer), *seed, c1, c2)))
}

/// Looks at the brackets of a part, so that what is wrong for good is said first.
pub(super) fn check(part: &Part<'_>) -> Result<(), BuildError> {
    let any = round_robin();
    match part.entry.name {
        "strata" | "ses" => strata(part, 0, Some(&any)).map(|_| ()),
        "strata-sample" | "ss" => sampled(part, 0, Some(&any)).map(|_| ()),
        "prr" | "probabilistic-rr" => explorer(part.term, 0, None).map(|_| ()).map_err(Into::into),
        _ => Ok(()),
    }
}

/// The shortest form of a sampler along an explorer.
pub(super) fn canonical(term: &Term) -> String {
    let mut args: Vec<String> = term.args.iter().map(ToString::to_string).collect();
    let names_explorer = term.args.first().is_some_and(|arg| match arg {
        Arg::Term(first) => !matches!(first.name.as_str(), "c1" | "c2"),
        Arg::Number(_) | Arg::Word(_) => false,
    });
    if !names_explorer {
        args.insert(0, "rr".to_owned());
    }
    args.retain(|arg| *arg != format!("c1({C1})") && *arg != format!("c2({C2})"));
    format!("strata-sample({})", args.join(", ")).replace("probabilistic-rr", "prr")
}
