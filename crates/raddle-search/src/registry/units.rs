//! Searches that are run in units: how a composition is cut, and its parts are made and run.

use std::fmt;

use raddle_engine::strategy::{Checkpoint, Strategy, Taken, Unsupported};
use raddle_trace::unit::{Method, Sibling, Upwards};
use raddle_trace::{Covered, Settings};

use super::recipe::{Opens, Recipe};
use super::{BuildError, Built, Environment, Parts, build_in};
use crate::blocks::Blocks;
use crate::bound::Bound;
use crate::expansion::all::DepthFirst;
use crate::expansion::reduced::Reduction;
use crate::grammar::Composition;
use crate::memoryless::Memoryless;
use crate::order::{Order as _, StockOrder};

/// Samplers of which an execution owes little to those before it.
const DRAWN: [&str; 5] = ["random", "pct", "pos", "urw", "surw"];

/// A search, or a part of one.
pub struct UnitSearch {
    /// What runs it.
    pub strategy: Box<dyn Strategy>,
    /// The composition in its shortest form.
    pub name: String,
    /// Whether it is a reduction that says it has run every execution up to equivalence.
    pub reduces: bool,
    /// How it is run.
    pub method: Method,
    /// Of a frontier: what runs the parts, and its name.
    below: Option<(DepthFirst<StockOrder>, String)>,
}

impl fmt::Debug for UnitSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitSearch")
            .field("name", &self.name)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// What is left of a search, or a part of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The composition that reads the state.
    pub line: String,
    /// How it is run.
    pub method: Method,
    /// Every execution of it begins so.
    pub prefix: Vec<Taken>,
    /// What the prefix costs under the bound.
    pub spent: u32,
    /// What its strategy goes on from.
    pub state: Checkpoint,
}

/// How a composition is run in units; and why one worker at a time runs it, if so.
///
/// ```
/// use raddle_search::{Environment, unit_method};
/// use raddle_trace::unit::Method;
///
/// let method = |line: &str| unit_method(line, Environment::from(1)).map(|(method, _)| method);
/// assert_eq!(method("all best-first(pb)")?, Method::Frontier);
/// assert_eq!(method("dpor")?, Method::Memoryless);
/// assert_eq!(method("dpor(source)")?, Method::SourceSets);
/// assert_eq!(method("dpor(classic)")?, Method::Whole);
/// # Ok::<(), raddle_search::BuildError>(())
/// ```
///
/// # Errors
/// As [`build`](super::build).
pub fn unit_method(
    line: &str,
    environment: Environment,
) -> Result<(Method, Option<&'static str>), BuildError> {
    // What is refused is refused here, too.
    let settings = environment.settings;
    build_in(line, environment)?;
    let composition: Composition = line.parse()?;
    let parts = Parts::new(&composition)?;
    if let Some(sampler) = parts.get(super::Role::Sampler) {
        return Ok(if DRAWN.contains(&sampler.entry.name) {
            (Method::Blocks, None)
        } else {
            (Method::Whole, Some("its executions follow from those before them"))
        });
    }
    let recipe = parts.recipe(Environment { settings, ..Environment::default() })?;
    Ok(recipe.method())
}

impl Recipe {
    fn method(&self) -> (Method, Option<&'static str>) {
        let whole = |why| (Method::Whole, Some(why));
        let delays = matches!(self.bound, Bound::Delays(_))
            || self.frontier.as_ref().is_some_and(crate::tree::Frontier::counts_delays);
        match (&self.opens, &self.frontier) {
            _ if self.probes.is_some() => whole("its probes go through the whole space"),
            _ if self.states.is_some() => whole("what was seen of states is of one worker"),
            _ if self.strata.is_some() || self.order.explores() || delays => {
                whole("its explorer goes by the whole execution")
            }
            _ if self.cache.is_some() => whole("its cache is of one worker"),
            (Opens::All, None) => (Method::DepthFirst, None),
            (Opens::All, Some(_)) => (Method::Frontier, None),
            (Opens::Reduced(Reduction::Optimal), None) => (Method::Memoryless, None),
            (Opens::Reduced(Reduction::Source), None) => (Method::SourceSets, None),
            (Opens::Reduced(_) | Opens::Eta, _) => whole("its races reach above every part"),
            (Opens::Filtered(_), _) => whole("what it has learned is of one worker"),
        }
    }
}

/// Makes what runs a unit of a composition by this method. `executions`: how many samples are wanted, of a search that draws.
///
/// # Errors
/// As [`build`](super::build).
pub fn build_unit(
    line: &str,
    method: Method,
    executions: u64,
    environment: Environment,
) -> Result<UnitSearch, BuildError> {
    let (seed, settings) = (environment.seed, environment.settings);
    let Built { strategy, name, reduces, .. } = build_in(line, environment)?;
    let mut search = UnitSearch { strategy, name, reduces, method, below: None };
    let composition: Composition = line.parse()?;
    let plain = || Environment { seed, settings, ..Environment::default() };
    match method {
        Method::Memoryless => {
            search.strategy = match Parts::new(&composition)?.recipe(plain())?.bound {
                Bound::Preemptions(k) => Box::new(Memoryless::within(k)),
                _ => Box::new(Memoryless::new()),
            };
        }
        Method::Frontier => {
            let recipe = Parts::new(&composition)?.recipe(plain())?;
            let below = format!("dfs{}{}", recipe.bound.suffix(), recipe.order.suffix());
            search.below = Some((DepthFirst::within(recipe.order, recipe.bound)?, below));
        }
        Method::Blocks => {
            let line = line.to_owned();
            let make = move |seed| sampler(&line, seed, settings);
            let name = format!("blocks of {}", search.name);
            search.strategy = Box::new(Blocks::new(name, seed, executions, Box::new(make)));
        }
        _ => {}
    }
    Ok(search)
}

fn sampler(line: &str, seed: u64, settings: Settings) -> Box<dyn Strategy> {
    let environment = Environment { seed, settings, ..Environment::default() };
    build_in(line, environment).expect("it was built before").strategy
}

impl UnitSearch {
    /// Goes on from the state of a unit.
    ///
    /// # Errors
    /// If it is of another composition.
    pub fn adopt(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        if state.0.is_empty() { Ok(()) } else { self.strategy.restore(state) }
    }

    /// Begins with this option of the last point of the state that it goes on from.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn begin_with(&mut self, sibling: &Sibling) -> Result<(), Unsupported> {
        let Some(divisible) = self.strategy.divisible() else {
            return Err(Unsupported("begin with one option of a point"));
        };
        divisible.begin_with(sibling)
    }

    /// What it has to say of points above it, after it was cut.
    pub fn upwards(&mut self) -> Upwards {
        match self.strategy.divisible() {
            Some(divisible) if self.method == Method::SourceSets => divisible.upwards(),
            _ => Upwards::default(),
        }
    }

    /// Into how many parts all that is left could be divided now; 0 if nothing is left. Of a search that cannot be cut, 1.
    pub fn parts(&mut self) -> usize {
        match self.strategy.divisible() {
            Some(divisible) if self.method != Method::Whole => divisible.parts(),
            _ => 1,
        }
    }

    /// Runs what opens many parts first.
    pub fn spread(&mut self) {
        if let Some(divisible) = self.strategy.divisible() {
            divisible.spread();
        }
    }

    /// What this and all other parts cover together, if each of them is run to its end and says the same.
    pub fn claim(&mut self) -> Covered {
        match self.strategy.divisible() {
            Some(divisible) if self.method != Method::Whole => divisible.claim(),
            _ => self.strategy.covered(),
        }
    }

    /// Cuts all that is left into up to so many pieces; a frontier into one for each of its candidates. Between two executions.
    ///
    /// # Errors
    /// If it cannot be cut or saved.
    pub fn cut(&mut self, pieces: usize) -> Result<Vec<Piece>, Unsupported> {
        let (method, name) = (self.method, self.name.clone());
        let piece =
            |prefix, spent, state| Piece { line: name.clone(), method, prefix, spent, state };
        if method == Method::Whole {
            return Ok(vec![piece(Vec::new(), 0, self.strategy.save()?)]);
        }
        let Some(divisible) = self.strategy.divisible() else {
            return Err(Unsupported("be cut into units"));
        };
        if let Some((below, line)) = &self.below {
            let works = divisible.dissolve()?;
            let part = |work: raddle_engine::strategy::SearchPart| Piece {
                line: line.clone(),
                method: Method::DepthFirst,
                state: below.below(&work.prefix, work.spent),
                prefix: work.prefix,
                spent: work.spent,
            };
            return Ok(works.into_iter().map(part).collect());
        }
        let parts = divisible.parts();
        let given = if parts <= pieces { parts } else { pieces.saturating_sub(1) };
        let works = if given > 0 { divisible.split(given)? } else { Vec::new() };
        let rest = (divisible.parts() > 0).then(|| divisible.prefix());
        let mut all: Vec<Piece> =
            works.into_iter().map(|work| piece(work.prefix, work.spent, work.state)).collect();
        if let Some(prefix) = rest {
            all.push(piece(prefix, 0, self.strategy.save()?));
        }
        Ok(all)
    }
}
