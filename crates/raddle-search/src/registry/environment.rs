//! What a strategy is built with besides its name, and the one place where settings are refused.

use raddle_engine::explorer::Explorer;
use raddle_engine::store::Store;
use raddle_trace::{PairSet, Settings, Timeouts};

use super::{Part, Parts, Role};
use crate::bita::Start;
use crate::grammar::Arg;

/// What a strategy is built with. A seed alone is one, with nothing else.
///
/// ```
/// use raddle_search::{Environment, build};
/// use raddle_trace::{Settings, Timeouts};
///
/// let settings = Settings { timeouts: Timeouts::Idle, ..Settings::default() };
/// let environment = || Environment { seed: 7, settings, ..Environment::default() };
/// assert!(build("dfs", environment()).is_ok());
/// let refused = build("dpor(source) best-first(pb)", environment()).unwrap_err();
/// assert!(refused.refused_settings().is_some());
/// assert!(build("dpor", environment()).is_ok());
/// ```
#[derive(Debug, Default)]
pub struct Environment {
    /// All that is drawn comes from it.
    pub seed: u64,
    /// Pairs of statements that were seen in passing executions before: for strategies that look for
    /// others.
    pub known: PairSet,
    /// How much may be held in memory; none: all of it. A strategy that cannot be limited ignores it.
    pub memory: Option<Memory>,
    /// What the executions are run with.
    pub settings: Settings,
    /// What `custom` stands for, where an explorer is named.
    pub explorer: Option<Explorer>,
    /// The execution that `bita` begins with.
    pub start: Start,
}

impl From<u64> for Environment {
    fn from(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}

/// So many bytes in memory, and the rest of what is left to do in a store.
#[derive(Debug)]
pub struct Memory {
    /// About how many.
    pub bytes: u64,
    /// Where the rest goes.
    pub store: Box<dyn Store>,
}

/// Why a composition cannot be used with these settings, if it cannot.
pub(super) fn refused(parts: &Parts<'_>, settings: &Settings) -> Option<&'static str> {
    let expansion = parts.get(Role::Expansion)?;
    let any_order = parts.get(Role::Frontier).is_some_and(|part| part.entry.name != "depth-first");
    let reduces = match expansion.entry.name {
        // On the path, what waits when a timer fires races as at the end of an execution.
        "dpor" => any_order || is_eta(expansion) || parts.get(Role::Bound).is_some(),
        // They filter a reduction unless they say otherwise.
        "hapset" | "pset" => match expansion.term.args.first() {
            Some(Arg::Term(over)) => over.name == "dpor",
            _ => true,
        },
        _ => false,
    };
    if !reduces || settings.timeouts != Timeouts::Idle {
        return None;
    }
    Some(if any_order {
        "timeouts that fire only when nothing else can move depend on all that moves; use \
         `all` or `dpor`, or let timeouts fire at any time"
    } else {
        "timeouts that fire only when nothing else can move depend on all that moves; use \
         `dfs` or `dpor`, or let timeouts fire at any time"
    })
}

fn is_eta(part: &Part<'_>) -> bool {
    matches!(part.term.args.first(), Some(Arg::Term(term)) if term.name == "eta")
}
