//! A composition on its way to a strategy: each part sets its slot, then the whole is made.

use raddle_engine::explorer::Explorer;
use raddle_engine::states::StateOrder;
use raddle_engine::strategy::Strategy;
use raddle_trace::PairSet;

use super::environment::{Environment, Memory};
use super::explorers::{C1, C2, Strata, round_robin};
use super::states::OfStates;
use super::{BuildError, Built};
use crate::bound::Bound;
use crate::expansion::all::DepthFirst;
use crate::expansion::delayed::DelayBounded;
use crate::expansion::eta::Eta;
use crate::expansion::reduced::{Dpor, Reduction};
use crate::explorers::Tracker;
use crate::filtered::HapSet;
use crate::memoryless::Memoryless;
use crate::order::{Order, StockOrder};
use crate::over_states::OverStates;
use crate::probe::Probes;
use crate::strata_sample::StrataSample;
use crate::then_sample::ThenSample;
use crate::tree::priority::Delays;
use crate::tree::{CompactTree, Frontier, Full, Keys, TreeExpansion, TreeSearch};

/// Bytes after three quarters of which `then-sample` samples, if it is not told.
const MEMORY: u64 = 256 << 20;

/// Which alternatives an execution opens.
#[derive(Debug)]
pub(super) enum Opens {
    All,
    Reduced(Reduction),
    Eta,
    Filtered(Box<HapSet>),
}

/// The parts of a search. What no part names has its default.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) opens: Opens,
    /// None: depth first.
    pub(super) frontier: Option<Frontier>,
    /// By preemptions, and only departures are kept.
    pub(super) compact: bool,
    pub(super) bound: Bound,
    pub(super) order: StockOrder,
    pub(super) cache: Option<u32>,
    pub(super) probes: Option<u32>,
    pub(super) seed: u64,
    /// The explorer that was given with the search.
    pub(super) custom: Option<Explorer>,
    pub(super) strata: Option<Strata>,
    pub(super) states: Option<OfStates>,
    known: PairSet,
    memory: Option<Memory>,
}

impl Recipe {
    pub(super) fn new(environment: Environment) -> Self {
        let Environment { seed, known, memory, explorer: custom, .. } = environment;
        Self {
            opens: Opens::All,
            frontier: None,
            compact: false,
            bound: Bound::None,
            order: StockOrder::default(),
            cache: None,
            probes: None,
            seed,
            custom,
            strata: None,
            states: None,
            known,
            memory,
        }
    }

    /// Makes the search. Its parts fit together (`rules.rs`).
    pub(super) fn make(mut self) -> Result<Built, BuildError> {
        let (probes, bound, seed) = (self.probes.take(), self.bound, self.seed);
        let search = self.make_search()?;
        let Some(every) = probes else { return Ok(search) };
        // Not the numbers that the search draws.
        let seed = seed.rotate_left(32) ^ 0x70_72_6f_62_65;
        let probes = Probes::new(search.strategy, every, bound, seed);
        Ok(built(probes, format!("{} probes({every})", search.name)))
    }

    fn make_search(self) -> Result<Built, BuildError> {
        match self.opens {
            Opens::All => self.make_all(),
            Opens::Eta => Ok(built(Eta::new(), "dpor(eta)".to_owned())),
            Opens::Filtered(search) => {
                let search = search.knowing(&self.known);
                let name = search.name();
                Ok(built(search, name))
            }
            Opens::Reduced(Reduction::Optimal) if self.bound != Bound::None => {
                let name = format!("dpor{}", self.bound.suffix());
                let Bound::Preemptions(k) = self.bound else {
                    unreachable!("the rules leave a reduction one bound")
                };
                Ok(built(Memoryless::within(k), name))
            }
            Opens::Reduced(reduction) => {
                let (name, expansion) = match reduction {
                    Reduction::Optimal => ("dpor", None),
                    Reduction::Source => ("dpor(source)", Some(TreeExpansion::Source)),
                    Reduction::Classic => ("dpor(classic)", Some(TreeExpansion::Classic)),
                };
                let Some((frontier, expansion)) = self.frontier.zip(expansion) else {
                    return Ok(built(Dpor::new(reduction), name.to_owned()));
                };
                let name = format!("{name} {}{}", frontier.name(), self.order.suffix());
                if let StockOrder::NonPreemptive = self.order {
                    let mut search = TreeSearch::new(expansion, frontier);
                    search.know(&self.known);
                    return Ok(built(search, name));
                }
                let mut search = TreeSearch::along(expansion, frontier, self.order);
                search.know(&self.known);
                Ok(built(search, name))
            }
        }
    }

    fn make_all(mut self) -> Result<Built, BuildError> {
        if let Some(strata) = self.strata.take() {
            return self.make_strata(&strata);
        }
        if let Some(states) = self.states.take() {
            return self.make_states(&states);
        }
        if self.compact {
            let name = format!("all compact{}", self.bound.suffix());
            return Ok(built(CompactTree::new(self.bound), name));
        }
        let by_delays = self.frontier.as_ref().is_some_and(Frontier::counts_delays);
        let wants_explorer = by_delays || matches!(self.bound, Bound::Delays(_));
        if wants_explorer && !self.order.explores() {
            self.order = StockOrder::Explorer(Box::new(Tracker::new(round_robin())));
        }
        let search = match &self.frontier {
            None => "dfs".to_owned(),
            Some(frontier) => format!("all {}", frontier.name()),
        };
        let name = format!("{search}{}{}", self.bound.suffix(), self.order.suffix());
        let cached = |n: u32| format!("{name} cache({n})");
        if let Some(frontier) = self.frontier {
            let mut search = TreeSearch::within(frontier, self.order, self.bound)?;
            search.know(&self.known);
            if let Some(Memory { bytes, store }) = self.memory {
                search.keep_within(bytes, store);
            }
            return Ok(match self.cache {
                Some(n) => built(search.cached(Keys::Exact, n as usize, Full::Replace), cached(n)),
                None => built(search, name),
            });
        }
        if let StockOrder::Explorer(tracker) = self.order {
            let delays = match self.bound {
                Bound::Delays(k) => Some(k),
                Bound::None | Bound::Preemptions(_) | Bound::Depth(_) => None,
            };
            let search = DelayBounded::along(*tracker, delays);
            return Ok(match self.cache {
                Some(n) => built(search.cached(n as usize), cached(n)),
                None => built(search, name),
            });
        }
        let search = DepthFirst::within(self.order, self.bound)?;
        Ok(match self.cache {
            Some(n) => built(search.cached(n as usize), cached(n)),
            None => built(search, name),
        })
    }

    /// A stratified search: best first by delays, with a cache.
    fn make_strata(self, strata: &Strata) -> Result<Built, BuildError> {
        let name = format!("{strata}{}", self.bound.suffix());
        let frontier = Frontier::BestFirst(vec![Box::new(Delays::by(strata.increment))]);
        let order = StockOrder::Explorer(Box::new(Tracker::new(strata.explorer.clone())));
        let search = TreeSearch::within(frontier, order, self.bound)?;
        let mut search = search.cached(strata.keys, strata.cache as usize, strata.full);
        if let Some(bytes) = strata.then_sample {
            let given = self.memory.map_or(MEMORY, |memory| memory.bytes);
            let most = if bytes == 0 { given } else { bytes.into() };
            let tracker = Tracker::new(strata.explorer.clone());
            let sampler = StrataSample::new(tracker, self.seed, C1, C2);
            return Ok(built(ThenSample::new(search, sampler, self.seed, most), name));
        }
        let most = self.memory.as_ref().map(|memory| memory.bytes);
        if let Some(Memory { bytes, store }) = self.memory {
            search.keep_within(bytes, store);
        }
        let delays = match self.bound {
            Bound::Delays(k) => Some(k),
            Bound::None | Bound::Preemptions(_) | Bound::Depth(_) => None,
        };
        let asked = strata.limits.of(StateOrder::Strata {
            explorer: strata.explorer.clone(),
            exact: strata.keys == Keys::Exact,
            increment: strata.increment,
            delays,
        });
        let search = OverStates::where_there_are(asked, Box::new(search), name.clone());
        Ok(built(search.within(most), name))
    }

    /// A search over states, or over executions in the same order.
    fn make_states(mut self, states: &OfStates) -> Result<Built, BuildError> {
        let order = if states.depth_first {
            StateOrder::DepthFirst
        } else {
            self.frontier = Some(Frontier::BreadthFirst);
            StateOrder::BreadthFirst
        };
        let most = self.memory.as_ref().map(|memory| memory.bytes);
        let fallback = self.make_all()?;
        let asked = states.limits.of(order);
        let strategy = OverStates::new(asked, fallback.strategy, fallback.name).within(most);
        Ok(built(strategy, states.to_string()))
    }
}

fn built(strategy: impl Strategy + 'static, name: String) -> Built {
    Built { strategy: Box::new(strategy), name, reduces: false, draws: false }
}
