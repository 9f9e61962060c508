//! A composition on its way to a strategy: each part sets its slot, then the whole is made.

use raddle_engine::strategy::Strategy;
use raddle_trace::PairSet;

use super::environment::{Environment, Memory};
use super::{BuildError, Built};
use crate::bound::Bound;
use crate::expansion::all::DepthFirst;
use crate::expansion::eta::Eta;
use crate::expansion::reduced::{Dpor, Reduction};
use crate::filtered::HapSet;
use crate::order::StockOrder;
use crate::probe::Probes;
use crate::tree::{Frontier, TreeExpansion, TreeSearch};

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
    pub(super) bound: Bound,
    pub(super) order: StockOrder,
    pub(super) cache: Option<u32>,
    pub(super) probes: Option<u32>,
    pub(super) seed: u64,
    known: PairSet,
    memory: Option<Memory>,
}

impl Recipe {
    pub(super) fn new(environment: Environment) -> Self {
        let Environment { seed, known, memory, .. } = environment;
        Self {
            opens: Opens::All,
            frontier: None,
            bound: Bound::None,
            order: StockOrder::default(),
            cache: None,
            probes: None,
            seed,
            known,
            memory,
        }
    }

    /// Makes the search. Its parts fit together (`rules.rs`).
    pub(super) fn make(mut self) -> Result<Built, BuildError> {
        let (probes, bound, seed) = (self.probes.take(), self.bound, self.seed);
        let Built { strategy, name } = self.make_search()?;
        let Some(every) = probes else { return Ok(Built { strategy, name }) };
        // Not the numbers that the search draws.
        let seed = seed.rotate_left(32) ^ 0x70_72_6f_62_65;
        let probes = Probes::new(strategy, every, bound, seed);
        Ok(built(probes, format!("{name} probes({every})")))
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
            Opens::Reduced(reduction) => {
                let (name, expansion) = match reduction {
                    Reduction::Optimal => ("dpor", None),
                    Reduction::Source => ("dpor(source)", Some(TreeExpansion::Source)),
                    Reduction::Classic => ("dpor(classic)", Some(TreeExpansion::Classic)),
                };
                let Some((frontier, expansion)) = self.frontier.zip(expansion) else {
                    return Ok(built(Dpor::new(reduction), name.to_owned()));
                };
                let name = format!("{name} {}", frontier.name());
                let mut search = TreeSearch::new(expansion, frontier);
                search.know(&self.known);
                Ok(built(search, name))
            }
        }
    }

    fn make_all(self) -> Result<Built, BuildError> {
        let search = match &self.frontier {
            None => "dfs".to_owned(),
            Some(frontier) => format!("all {}", frontier.name()),
        };
        let bound = match self.bound {
            Bound::None => String::new(),
            Bound::Preemptions(k) => format!(" preemptions({k})"),
        };
        let name = format!("{search}{bound}{}", self.order.suffix());
        if let Some(frontier) = self.frontier {
            let mut search = TreeSearch::within(frontier, self.order, self.bound)?;
            search.know(&self.known);
            if let Some(Memory { bytes, store }) = self.memory {
                search.keep_within(bytes, store);
            }
            return Ok(built(search, name));
        }
        let search = DepthFirst::within(self.order, self.bound)?;
        Ok(match self.cache {
            Some(n) => built(search.cached(n as usize), format!("{name} cache({n})")),
            None => built(search, name),
        })
    }
}

fn built(strategy: impl Strategy + 'static, name: String) -> Built {
    Built { strategy: Box::new(strategy), name }
}
