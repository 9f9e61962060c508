//! All names, with what each is, what may stand in its brackets, and how it is made.
//!
//! To add a strategy or a part of one: its file, and an entry here.

use std::fmt;

use raddle_engine::strategy::Strategy;

use super::explorers::{SAMPLED, STRATA, set_explorer, set_strata, strata_sample};
use super::recipe::{Opens, Recipe};
use super::states::{STATES, set_states};
use super::{BuildError, Environment, Part, filtered, priorities, sum, words, wrong_arguments};
use crate::bita::Bita;
use crate::bound::Bound;
use crate::expansion::reduced::Reduction;
use crate::filtered::HapSet;
use crate::grammar::{Arg, Term};
use crate::irs::IterativeRandom;
use crate::order::{AnyTask, ByRaces, Mixed, StockOrder};
use crate::pct::Pct;
use crate::pos::Pos;
use crate::random::Random;
use crate::receives::Criterion;
use crate::rff::Rff;
use crate::round_robin::RoundRobin;
use crate::surw::Surw;
use crate::tree::Frontier;
use crate::tree::priority::{
    Delays, Departures, Dpor as Races, Method, ModifiedDpor, NewPair, Patterns, Preemptions,
    Priority, Rand, Rare, SleepSets, Var,
};
use crate::urw::Urw;

/// One name of the registry. A name may have an entry for each of several roles.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// As it is written.
    pub name: &'static str,
    /// What it is.
    pub role: Role,
    /// What it does, in one line.
    pub line: &'static str,
    /// Where it comes from; empty if it is folklore.
    pub paper: &'static str,
    /// What may stand in its brackets.
    pub arguments: Arguments,
    /// A whole strategy with it, as one would write it.
    pub example: &'static str,
    /// Whether it can be built.
    pub status: Status,
    /// Whether what it stands for draws: does something else with another seed.
    pub draws: bool,
    /// How it is made.
    pub(super) make: Make,
}

impl PartialEq for Entry {
    /// There is one entry of a name for each role.
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.role) == (other.name, other.role)
    }
}

impl Eq for Entry {}

/// How what a name stands for is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Make {
    /// By others than [`build`](super::build), or not at all.
    Nothing,
    /// A strategy by itself.
    Sampler(MakeSampler),
    /// A part of a search: sets its slot.
    Part(fn(&Part<'_>, &mut Recipe) -> Result<(), BuildError>),
    /// What `best-first` goes by, from its term and a seed.
    Priority(MakePriority),
}

/// Makes a strategy from its part of the line.
type MakeSampler = fn(&Part<'_>, &Environment) -> Result<Box<dyn Strategy>, BuildError>;

/// Makes a priority from its entry, its term and a seed.
type MakePriority = fn(&'static Entry, &Term, u64) -> Result<Box<dyn Priority>, BuildError>;

/// What a name stands for in a composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// Stands for other strategies, one or several. Known to the code that runs searches, not to `build`.
    Choice,
    /// Decides step by step; a strategy by itself.
    Sampler,
    /// A short name for an expansion with its frontier.
    Search,
    /// Which alternatives an execution opens.
    Expansion,
    /// Which known alternative is next.
    Frontier,
    /// What is out of budget.
    Bound,
    /// Who moves where the plan is silent.
    Order,
    /// What has been seen before.
    Cache,
    /// Executions beside the search, for its estimate.
    Probes,
    /// What `best-first` goes by.
    Priority,
    /// How `hapset` and `pset` learn.
    Learning,
}

impl Role {
    /// What a part of this role is for, in one line.
    #[must_use]
    pub fn line(self) -> &'static str {
        match self {
            Self::Choice => "which strategies are run; a strategy by itself",
            Self::Sampler => "decides step by step; a strategy by itself",
            Self::Search => "a strategy by itself, or with a bound, an order, a cache or probes",
            Self::Expansion => "which alternatives an execution opens; every search has one",
            Self::Frontier => "which known alternative is next; beside an expansion",
            Self::Bound => "what is out of budget; beside a search",
            Self::Order => "who moves where the plan is silent; beside a search",
            Self::Cache => "what has been seen before; beside a search",
            Self::Probes => "executions beside the search, for its estimate",
            Self::Priority => "what best-first goes by, in its brackets; ties go to the next one",
            Self::Learning => "how hapset and pset learn, in their brackets after what they filter",
        }
    }
}

/// What may stand in the brackets of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arguments {
    /// No brackets.
    None,
    /// One number.
    Number {
        /// What it is called.
        name: &'static str,
        /// The smallest that makes sense.
        least: u32,
        /// The largest that makes sense.
        most: u32,
        /// What it is without brackets; none if it must be given.
        default: Option<u32>,
    },
    /// One of these words, or no brackets.
    OneOf(&'static [&'static str]),
    /// Other parts.
    Parts(&'static str),
}

/// Whether a name can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// In this version.
    Here,
    /// In a later one.
    Planned,
    /// In another way, which is this.
    Elsewhere(&'static str),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Choice => "choice",
            Self::Sampler => "sampler",
            Self::Search => "search",
            Self::Expansion => "expansion",
            Self::Frontier => "frontier",
            Self::Bound => "bound",
            Self::Order => "order",
            Self::Cache => "cache",
            Self::Probes => "probes",
            Self::Priority => "priority",
            Self::Learning => "learning",
        })
    }
}

/// As in a reference: with the brackets, and empty without arguments.
impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number { name, .. } => write!(f, "({name})"),
            Self::OneOf(words) => write!(f, "({})", words.join(" | ")),
            Self::Parts(what) => write!(f, "({what})"),
        }
    }
}

const COUNT: Arguments = Arguments::Number { name: "k", least: 0, most: u32::MAX, default: None };

/// The seed of an explorer that draws; without it, that of the search.
const SEED: Arguments = Arguments::Parts("seed");

/// What is filtered, and how it learns.
const FILTERED: Arguments =
    Arguments::Parts("dpor | all | preemptions(k), calls(n), train(n), widen");

/// An entry that is here and takes no arguments: the start of every entry below.
const HERE: Entry = Entry {
    name: "",
    role: Role::Sampler,
    line: "",
    paper: "",
    arguments: Arguments::None,
    example: "",
    status: Status::Here,
    draws: false,
    make: Make::Nothing,
};

const EXPLORERS: &str = "Desai, Qadeer, Seshia, FSE 2015";
const GAMBIT: &str = "Coons, Burckhardt, Musuvathi, PPoPP 2010";
const ETA: &str = "Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113";
const CHESS: &str = "Musuvathi, Qadeer, PLDI 2007";

/// What stands for whole strategies. Not for [`build`](super::build): the code that runs searches reads them.
pub static CHOICES: &[Entry] = &[
    Entry {
        name: "auto",
        role: Role::Choice,
        line: "`dpor`, which is owed half of the executions, in turns with `pos` and `pct(3)`; the default",
        example: "auto",
        ..HERE
    },
    Entry {
        name: "portfolio",
        role: Role::Choice,
        line: "several strategies at once, or in turns, chosen on bugs of known libraries",
        paper: GAMBIT,
        example: "portfolio",
        ..HERE
    },
    Entry {
        name: "a | b",
        role: Role::Choice,
        line: "these strategies at once, or in turns, until one finds a failure or has covered all",
        paper: GAMBIT,
        example: "dfs preemptions(2) | pos",
        ..HERE
    },
];

/// All names, by role.
pub static REGISTRY: &[Entry] = &[
    Entry {
        name: "random",
        line: "every option with the same chance",
        example: "random",
        make: Make::Sampler(|_, environment| Ok(Box::new(Random::new(environment.seed)))),
        draws: true,
        ..HERE
    },
    Entry {
        name: "round-robin",
        line: "one execution in which the tasks take turns",
        example: "round-robin",
        make: Make::Sampler(|_, _| Ok(Box::new(RoundRobin::new()))),
        ..HERE
    },
    Entry {
        name: "pct",
        line: "random priorities, lowered at d - 1 random points; with `pct(d, k)`, of the first k",
        paper: "Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010",
        // More change points than this have no use, and each is compared at every decision.
        arguments: Arguments::Number { name: "d", least: 1, most: 64, default: Some(3) },
        example: "pct(3)",
        make: Make::Sampler(|part, environment| {
            let (seed, depth) = (environment.seed, part.number());
            Ok(Box::new(match part.length() {
                Some(length) => Pct::with_steps(seed, depth, length),
                None => Pct::new(seed, depth),
            }))
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "pos",
        line: "random priorities by op, redrawn after each race",
        paper: "Yuan, Yang, Gu, CAV 2018",
        example: "pos",
        make: Make::Sampler(|_, environment| Ok(Box::new(Pos::new(environment.seed)))),
        draws: true,
        ..HERE
    },
    Entry {
        name: "rff",
        line: "as `pos`, but asks for reads to see what none has seen yet, by statements",
        paper: "after Wolff, Shi, Duck, Mathur, Roychoudhury, ASPLOS 2024",
        example: "rff",
        make: Make::Sampler(|_, environment| Ok(Box::new(Rff::new(environment.seed)))),
        draws: true,
        ..HERE
    },
    Entry {
        name: "surw",
        line: "interleavings of the accesses to one object with equal chances; counts first",
        paper: "Zhao et al., ASPLOS 2025",
        example: "surw",
        make: Make::Sampler(|_, environment| Ok(Box::new(Surw::new(environment.seed)))),
        draws: true,
        ..HERE
    },
    Entry {
        name: "urw",
        line: "interleavings of all steps with equal chances; counts first",
        paper: "Zhao et al., ASPLOS 2025",
        example: "urw",
        make: Make::Sampler(|_, environment| Ok(Box::new(Urw::new(environment.seed)))),
        draws: true,
        ..HERE
    },
    Entry {
        name: "irs",
        line: "every option with the same chance up to a depth, which grows by n decisions each round",
        paper: EXPLORERS,
        arguments: Arguments::Number { name: "n", least: 1, most: u32::MAX, default: Some(100) },
        example: "irs(100)",
        make: Make::Sampler(|part, environment| {
            Ok(Box::new(IterativeRandom::new(environment.seed, part.number())))
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "strata-sample",
        line: "delays of an explorer at random places, more and more: c1 * c2^n samples with n delays",
        paper: EXPLORERS,
        arguments: Arguments::Parts(SAMPLED),
        example: "strata-sample(rtc)",
        make: Make::Sampler(strata_sample),
        draws: true,
        ..HERE
    },
    Entry {
        name: "bita",
        line: "schedules of actors that show new orders of receives: `pr`, then `pbr`, then `pcr`, then three in a row",
        paper: "Tasharofi, Pradel, Lin, Johnson, ASE 2013",
        arguments: Arguments::OneOf(&["pr", "pbr", "pcr"]),
        example: "bita",
        make: Make::Sampler(|part, environment| {
            let bita = Bita::new(&criteria(part), environment.seed);
            let bita = bita.starting_with(environment.start.clone());
            Ok(Box::new(if part.word().is_none() { bita.then_triples() } else { bita }))
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "ss",
        line: "the paper's name of `strata-sample`",
        paper: EXPLORERS,
        arguments: Arguments::Parts(SAMPLED),
        example: "ss(rr)",
        make: Make::Sampler(strata_sample),
        ..HERE
    },
    Entry {
        name: "replay",
        line: "one recorded execution",
        status: Status::Elsewhere("set RADDLE_REPLAY or call raddle::replay"),
        ..HERE
    },
    Entry {
        name: "dfs",
        role: Role::Search,
        line: "every option of every point: `all depth-first`",
        paper: "Godefroid, POPL 1997",
        example: "dfs",
        make: Make::Part(|_, recipe| {
            recipe.opens = Opens::All;
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "states",
        role: Role::Search,
        line: "each state of an actors' model once, by copies of states; without a model executions, as `all bfs` or `dfs`",
        arguments: Arguments::Parts(STATES),
        example: "states(bfs)",
        make: Make::Part(set_states),
        ..HERE
    },
    Entry {
        name: "strata",
        role: Role::Search,
        line: "executions by how many delays of an explorer they need, states seen once; `exact` claims each number",
        paper: EXPLORERS,
        arguments: Arguments::Parts(STRATA),
        example: "strata(rr, exact)",
        make: Make::Part(set_strata),
        ..HERE
    },
    Entry {
        name: "ses",
        role: Role::Search,
        line: "the paper's name of `strata`",
        paper: EXPLORERS,
        arguments: Arguments::Parts(STRATA),
        example: "ses(rtc)",
        make: Make::Part(set_strata),
        ..HERE
    },
    Entry {
        name: "all",
        role: Role::Expansion,
        line: "every option of every point",
        example: "all breadth-first",
        make: Make::Part(|_, recipe| {
            recipe.opens = Opens::All;
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "dpor",
        role: Role::Expansion,
        line: "one execution of each equivalence class",
        paper: "Flanagan, Godefroid, POPL 2005; Abdulla et al., POPL 2014",
        arguments: Arguments::OneOf(&["classic", "source", "optimal", "eta"]),
        example: "dpor",
        make: Make::Part(|part, recipe| {
            recipe.opens = match part.word() {
                Some("eta") => Opens::Eta,
                Some("classic") => Opens::Reduced(Reduction::Classic),
                Some("source") => Opens::Reduced(Reduction::Source),
                _ => Opens::Reduced(Reduction::Optimal),
            };
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "hapset",
        role: Role::Expansion,
        line: "only alternatives that show an order of statements not seen before; may miss failures",
        paper: "Wang, Said, Gupta, ICSE 2011",
        arguments: FILTERED,
        example: "hapset(dpor)",
        make: Make::Part(|part, recipe| {
            recipe.opens = Opens::Filtered(Box::new(filtered(part, HapSet::new, recipe.seed)?));
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "pset",
        role: Role::Expansion,
        line: "as `hapset`, by reads and writes alone, without calling contexts",
        paper: "Yu, Narayanasamy, ISCA 2009",
        arguments: FILTERED,
        example: "pset(preemptions(2))",
        make: Make::Part(|part, recipe| {
            recipe.opens =
                Opens::Filtered(Box::new(filtered(part, HapSet::of_accesses, recipe.seed)?));
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "depth-first",
        role: Role::Frontier,
        line: "the latest alternative first; constant memory",
        example: "all depth-first",
        make: Make::Part(|_, recipe| {
            recipe.frontier = None;
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "breadth-first",
        role: Role::Frontier,
        line: "the alternative with the fewest decisions before it first; memory grows",
        paper: ETA,
        example: "all breadth-first",
        make: Make::Part(|_, recipe| {
            recipe.frontier = Some(Frontier::BreadthFirst);
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "compact",
        role: Role::Frontier,
        line: "as `best-first(pb)`, with departures alone in memory: the order is asked again",
        paper: GAMBIT,
        example: "all compact preemptions(2)",
        make: Make::Part(|_, recipe| {
            recipe.compact = true;
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "random",
        role: Role::Frontier,
        line: "any alternative next, with the same chance; memory grows",
        paper: ETA,
        example: "all random",
        make: Make::Part(|_, recipe| {
            recipe.frontier = Some(Frontier::Random { seed: recipe.seed });
            Ok(())
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "best-first",
        role: Role::Frontier,
        line: "the alternative of highest priority first",
        paper: GAMBIT,
        arguments: Arguments::Parts("priority, priority, …"),
        example: "all best-first(mdpor, pb)",
        make: Make::Part(|part, recipe| {
            recipe.frontier = Some(Frontier::BestFirst(priorities(part.term, recipe.seed)?));
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "preemptions",
        role: Role::Bound,
        line: "at most k times a task is left that could go on",
        paper: CHESS,
        arguments: COUNT,
        example: "dfs preemptions(2)",
        make: Make::Part(|part, recipe| {
            recipe.bound = Bound::Preemptions(part.number());
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "delays",
        role: Role::Bound,
        line: "at most k delays of the explorer that is the order; of `rr` if none is named",
        paper: "Emmi, Qadeer, Rakamarić, POPL 2011",
        arguments: COUNT,
        example: "dfs delays(2) rr",
        make: Make::Part(|part, recipe| {
            recipe.bound = Bound::Delays(part.number());
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "depth",
        role: Role::Bound,
        line: "alternatives only at the first k decisions",
        arguments: COUNT,
        example: "dfs depth(20)",
        make: Make::Part(|part, recipe| {
            recipe.bound = Bound::Depth(part.number());
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "non-preemptive",
        role: Role::Order,
        line: "the running task while it can go on; the default",
        paper: CHESS,
        example: "dfs non-preemptive",
        make: Make::Part(|_, recipe| {
            recipe.order = StockOrder::NonPreemptive;
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "in-turns",
        role: Role::Order,
        line: "the tasks take turns, one step each",
        example: "dfs in-turns",
        make: Make::Part(|_, recipe| {
            recipe.order = StockOrder::TakeTurns;
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "rr",
        role: Role::Order,
        line: "an explorer: processes in the order of creation, each as long as it can go on",
        paper: EXPLORERS,
        arguments: Arguments::None,
        example: "dfs delays(2) rr",
        make: Make::Part(set_explorer),
        ..HERE
    },
    Entry {
        name: "rtc",
        role: Role::Order,
        line: "an explorer: the receiver of the latest message first; of several, in the order of sending",
        paper: EXPLORERS,
        arguments: Arguments::None,
        example: "strata(rtc)",
        make: Make::Part(set_explorer),
        ..HERE
    },
    Entry {
        name: "rtc-latest",
        role: Role::Order,
        line: "as `rtc`, but of several messages of one step the last one first, as in the paper",
        paper: EXPLORERS,
        arguments: Arguments::None,
        example: "strata(rtc-latest)",
        make: Make::Part(set_explorer),
        ..HERE
    },
    Entry {
        name: "prr",
        role: Role::Order,
        line: "an explorer: as `rr`, but new processes begin at random places, drawn from a seed",
        paper: EXPLORERS,
        arguments: SEED,
        example: "strata(prr(3))",
        make: Make::Part(set_explorer),
        draws: true,
        ..HERE
    },
    Entry {
        name: "probabilistic-rr",
        role: Role::Order,
        line: "the paper's name of `prr`",
        paper: EXPLORERS,
        arguments: SEED,
        example: "dfs delays(1) probabilistic-rr",
        make: Make::Part(set_explorer),
        draws: true,
        ..HERE
    },
    Entry {
        name: "ordered",
        role: Role::Order,
        line: "an explorer: the order in which the program names processes by `change_order`",
        paper: EXPLORERS,
        arguments: Arguments::None,
        example: "strata(ordered)",
        make: Make::Part(set_explorer),
        ..HERE
    },
    Entry {
        name: "custom",
        role: Role::Order,
        line: "the explorer that was given with the search",
        paper: EXPLORERS,
        status: Status::Elsewhere("give an explorer to raddle::explore_by"),
        make: Make::Part(set_explorer),
        ..HERE
    },
    Entry {
        name: "random",
        role: Role::Order,
        line: "any task next",
        paper: ETA,
        example: "dfs random",
        make: Make::Part(|_, recipe| {
            // Not the numbers that a random frontier draws.
            recipe.order = StockOrder::AnyTask(AnyTask::new(!recipe.seed));
            Ok(())
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "pos",
        role: Role::Order,
        line: "the op of highest random priority, redrawn after each race; beside a reduction with a frontier too",
        paper: "Yuan, Yang, Gu, CAV 2018",
        example: "dpor(classic) best-first(departures) pos",
        make: Make::Part(|_, recipe| {
            // Not the numbers that a random frontier draws.
            recipe.order = StockOrder::ByRaces(ByRaces::new(!recipe.seed));
            Ok(())
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "mixed",
        role: Role::Order,
        line: "executions take turns, as `pos` and without preemption; beside a reduction with a frontier too",
        example: "dpor(classic) best-first(rare) mixed",
        make: Make::Part(|_, recipe| {
            recipe.order = StockOrder::Mixed(Mixed::new(!recipe.seed));
            Ok(())
        }),
        draws: true,
        ..HERE
    },
    Entry {
        name: "state-cache",
        role: Role::Cache,
        line: "another name of `cache`: equivalent prefixes lead to the same state",
        paper: "Musuvathi, Qadeer, MSR-TR-2007-12",
        arguments: Arguments::Number {
            name: "n",
            least: 1,
            most: u32::MAX,
            default: Some(1_000_000),
        },
        example: "all best-first(pb) state-cache",
        make: Make::Part(|part, recipe| {
            recipe.cache = Some(part.number());
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "cache",
        role: Role::Cache,
        line: "what follows equivalent prefixes is run once; remembers n prefixes",
        paper: "Musuvathi, Qadeer, MSR-TR-2007-12",
        arguments: Arguments::Number {
            name: "n",
            least: 1,
            most: u32::MAX,
            default: Some(1_000_000),
        },
        example: "dfs preemptions(2) cache",
        make: Make::Part(|part, recipe| {
            recipe.cache = Some(part.number());
            Ok(())
        }),
        ..HERE
    },
    Entry {
        name: "probes",
        role: Role::Probes,
        line: "after every n executions one that is drawn, to estimate the size of the space",
        paper: "Knuth, Mathematics of Computation 1975",
        arguments: Arguments::Number { name: "n", least: 1, most: u32::MAX, default: Some(10) },
        example: "dfs probes(10)",
        make: Make::Part(|part, recipe| {
            recipe.probes = Some(part.number());
            Ok(())
        }),
        ..HERE
    },
];

/// What `best-first` can go by, in its brackets: the names there are names of their own.
pub static PRIORITIES: &[Entry] = &[
    Entry {
        name: "pb",
        role: Role::Priority,
        line: "fewest preemptions first; the default",
        paper: GAMBIT,
        example: "all best-first(pb)",
        make: Make::Priority(|_, _, _| Ok(Box::new(Preemptions))),
        ..HERE
    },
    Entry {
        name: "departures",
        role: Role::Priority,
        line: "fewest departures from the default order first",
        example: "all best-first(departures)",
        make: Make::Priority(|_, _, _| Ok(Box::new(Departures))),
        ..HERE
    },
    Entry {
        name: "delays",
        role: Role::Priority,
        line: "fewest delays of the explorer first, by n at once; of `rr` if none is named",
        paper: "Emmi, Qadeer, Rakamarić, POPL 2011",
        arguments: Arguments::Number { name: "n", least: 1, most: u32::MAX, default: Some(1) },
        example: "all best-first(delays) rtc",
        make: Make::Priority(|entry, term, _| match term.args.as_slice() {
            [] => Ok(Box::new(Delays::default())),
            [Arg::Number(n)] if *n > 0 => Ok(Box::new(Delays::by(*n))),
            _ => Err(wrong_arguments(entry, term)),
        }),
        ..HERE
    },
    Entry {
        name: "dpor",
        role: Role::Priority,
        line: "what dynamic partial-order reduction would have added first",
        paper: GAMBIT,
        example: "all best-first(dpor, pb)",
        make: Make::Priority(|_, _, _| Ok(Box::new(Races))),
        ..HERE
    },
    Entry {
        name: "mdpor",
        role: Role::Priority,
        line: "as `dpor`, but what it adds to be on the safe side comes second",
        paper: GAMBIT,
        example: "all best-first(mdpor, pb)",
        make: Make::Priority(|_, _, _| Ok(Box::new(ModifiedDpor))),
        ..HERE
    },
    Entry {
        name: "ss",
        role: Role::Priority,
        line: "what sleep sets would not have left out first",
        paper: GAMBIT,
        example: "all best-first(ss, mdpor) preemptions(2)",
        make: Make::Priority(|_, _, _| Ok(Box::new(SleepSets))),
        ..HERE
    },
    Entry {
        name: "rand",
        role: Role::Priority,
        line: "any first",
        paper: GAMBIT,
        example: "all best-first(pb, rand)",
        make: Make::Priority(|_, _, seed| Ok(Box::new(Rand::new(seed)))),
        draws: true,
        ..HERE
    },
    Entry {
        name: "rare",
        role: Role::Priority,
        line: "pairs of statements that race take turns",
        example: "dpor(classic) best-first(rare)",
        make: Make::Priority(|_, _, _| Ok(Box::<Rare>::default())),
        ..HERE
    },
    Entry {
        name: "sum",
        role: Role::Priority,
        line: "the smallest weighted sum first, as in `sum(2, pb, 1, mdpor)`",
        arguments: Arguments::Parts("weight, priority, …"),
        example: "all best-first(sum(2, pb, 1, mdpor))",
        make: Make::Priority(|entry, term, seed| Ok(Box::new(sum(entry, term, seed)?))),
        ..HERE
    },
    Entry {
        name: "method",
        role: Role::Priority,
        line: "preemptions between functions with these names first, as in `method(push, Deque::pop)`",
        paper: GAMBIT,
        arguments: Arguments::Parts("name, …"),
        example: "all best-first(method(push, Deque::pop), pb)",
        make: Make::Priority(|entry, term, _| Ok(Box::new(Method::new(words(entry, term)?)))),
        ..HERE
    },
    Entry {
        name: "var",
        role: Role::Priority,
        line: "preemptions between uses of these objects first: by name, type or place (`deque.rs:42`)",
        paper: GAMBIT,
        arguments: Arguments::Parts("name, …"),
        example: "all best-first(var(queue.head), pb)",
        make: Make::Priority(|entry, term, _| Ok(Box::new(Var::new(words(entry, term)?)))),
        ..HERE
    },
    Entry {
        name: "patterns",
        role: Role::Priority,
        line: "what breaks into another task's check-then-act, or its order of locks, first",
        paper: "Farchi, Nir, Ur, IPDPS 2003",
        example: "all best-first(patterns, pb)",
        make: Make::Priority(|_, _, _| Ok(Box::new(Patterns))),
        ..HERE
    },
    Entry {
        name: "new-pair",
        role: Role::Priority,
        line: "orders of two statements that were not seen first",
        paper: "after Wang, Said, Gupta, ICSE 2011",
        example: "all best-first(new-pair, pb)",
        make: Make::Priority(|_, _, _| Ok(Box::new(NewPair::default()))),
        ..HERE
    },
];

/// How `hapset` and `pset` learn, in their brackets, after what they filter.
pub static LEARNING: &[Entry] = &[
    Entry {
        name: "calls",
        role: Role::Learning,
        line: "statements are told apart by so many of the innermost calls",
        paper: "Wang, Said, Gupta, ICSE 2011",
        arguments: Arguments::Number { name: "n", least: 0, most: 255, default: None },
        example: "hapset(dpor, calls(3))",
        ..HERE
    },
    Entry {
        name: "train",
        role: Role::Learning,
        line: "so many random executions come first, to learn from",
        paper: "Wang, Said, Gupta, ICSE 2011",
        arguments: Arguments::Number { name: "n", least: 0, most: u32::MAX, default: None },
        example: "hapset(dpor, train(100))",
        draws: true,
        ..HERE
    },
    Entry {
        name: "widen",
        role: Role::Learning,
        line: "beside `dpor`: once no new order is left, goes on by more calls, then by tasks, then leaves nothing out",
        example: "hapset(dpor, widen)",
        ..HERE
    },
];

/// Every name that a user may write, those that are planned too, in the order in which one reads them.
pub fn names() -> impl Iterator<Item = &'static Entry> {
    [CHOICES, REGISTRY, PRIORITIES, LEARNING].into_iter().flatten()
}

/// What `bita` goes by.
fn criteria(part: &Part<'_>) -> Vec<Criterion> {
    let named = |criterion: &Criterion| part.word().is_none_or(|word| word == criterion.name());
    Criterion::ALL.into_iter().filter(named).collect()
}
