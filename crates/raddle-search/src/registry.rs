//! Every strategy and every part of one, by name; and [`build`], which makes what a line names.
//!
//! The table feeds the command line, the book and the messages, so a name is described in one
//! place. It also knows what is planned: a line from a paper or from a later version is answered
//! with what there is instead, not with "unknown".
//!
//! [`build`] refuses in this order: text that is no composition, unknown names, wrong arguments,
//! combinations without sense, and last what is planned. So one learns first what would be wrong
//! for good.

use std::fmt;

use raddle_engine::strategy::Strategy;

use crate::best_first::{
    self, BestFirst, Delays, Dpor as Races, MOST, Method, ModifiedDpor, NewPair, Patterns,
    Preemptions, Priority, Rand, SleepSets, Sum, Var,
};
use crate::bound::Bound;
use crate::depth_first::{CostlyOrder, DepthFirst};
use crate::dpor::{Dpor, Reduction};
use crate::eta::Eta;
use crate::grammar::{Arg, Composition, ParseError, Term};
use crate::hapset::{HapSet, Over};
use crate::order::{AnyTask, NonPreemptive, Order, TakeTurns};
use crate::pct::Pct;
use crate::pos::Pos;
use crate::probe::Probes;
use crate::random::Random;
use crate::rff::Rff;
use crate::round_robin::RoundRobin;
use crate::surw::Surw;
use crate::tree::{Frontier, Tree};
use crate::urw::Urw;

/// One name of the registry. A name may have an entry for each of several roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Whether it can be built.
    pub status: Status,
}

/// What a name stands for in a composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
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

/// A strategy, ready to run.
pub struct Built {
    /// The strategy before its first execution.
    pub strategy: Box<dyn Strategy>,
    /// The composition in its shortest form. Building this name gives the same strategy.
    pub name: String,
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built").field("name", &self.name).finish_non_exhaustive()
    }
}

const COUNT: Arguments = Arguments::Number { name: "k", least: 0, most: u32::MAX, default: None };

/// What is filtered, and how it learns.
const FILTERED: Arguments = Arguments::Parts("dpor | all | preemptions(k), calls(n), train(n)");

/// An entry that is here and takes no arguments: the start of every entry below.
const HERE: Entry = Entry {
    name: "",
    role: Role::Sampler,
    line: "",
    paper: "",
    arguments: Arguments::None,
    status: Status::Here,
};

const PLANNED: Entry = Entry { status: Status::Planned, ..HERE };

const EXPLORERS: &str = "Desai, Qadeer, Seshia, FSE 2015";
const GAMBIT: &str = "Coons, Burckhardt, Musuvathi, PPoPP 2010";
const ETA: &str = "Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113";
const CHESS: &str = "Musuvathi, Qadeer, PLDI 2007";

/// All names, by role.
pub static REGISTRY: &[Entry] = &[
    Entry { name: "random", line: "every option with the same chance", ..HERE },
    Entry { name: "round-robin", line: "one execution in which the tasks take turns", ..HERE },
    Entry {
        name: "pct",
        line: "random priorities, lowered at d - 1 random points",
        paper: "Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010",
        // More change points than this have no use, and each is compared at every decision.
        arguments: Arguments::Number { name: "d", least: 1, most: 64, default: Some(3) },
        ..HERE
    },
    Entry {
        name: "pos",
        line: "random priorities by op, redrawn after each race",
        paper: "Yuan, Yang, Gu, CAV 2018",
        ..HERE
    },
    Entry {
        name: "rff",
        line: "as `pos`, but asks for reads to see what none has seen yet, by statements",
        paper: "after Wolff, Shi, Duck, Mathur, Roychoudhury, ASPLOS 2024",
        ..HERE
    },
    Entry {
        name: "surw",
        line: "interleavings of the accesses to one object with equal chances; counts first",
        paper: "Zhao et al., ASPLOS 2025",
        ..HERE
    },
    Entry {
        name: "urw",
        line: "interleavings of all steps with equal chances; counts first",
        paper: "Zhao et al., ASPLOS 2025",
        ..HERE
    },
    Entry {
        name: "ss",
        line: "delays at random points, stratum by stratum",
        paper: EXPLORERS,
        arguments: Arguments::Parts("order"),
        ..PLANNED
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
        ..HERE
    },
    Entry {
        name: "ses",
        role: Role::Search,
        line: "every execution within a rising number of delays, states seen once",
        paper: EXPLORERS,
        arguments: Arguments::Parts("order"),
        ..PLANNED
    },
    Entry {
        name: "bita",
        role: Role::Search,
        line: "executions that reverse pairs of receives of one execution",
        paper: "Tasharofi et al., ASE 2013",
        ..PLANNED
    },
    Entry { name: "all", role: Role::Expansion, line: "every option of every point", ..HERE },
    Entry {
        name: "dpor",
        role: Role::Expansion,
        line: "one execution of each equivalence class",
        paper: "Flanagan, Godefroid, POPL 2005; Abdulla et al., POPL 2014",
        arguments: Arguments::OneOf(&["classic", "source", "optimal", "eta"]),
        ..HERE
    },
    Entry {
        name: "hapset",
        role: Role::Expansion,
        line: "only alternatives that show an order of statements not seen before; may miss failures",
        paper: "Wang, Said, Gupta, ICSE 2011",
        arguments: FILTERED,
        ..HERE
    },
    Entry {
        name: "pset",
        role: Role::Expansion,
        line: "as `hapset`, by reads and writes alone, whoever called them",
        paper: "Yu, Narayanasamy, ISCA 2009",
        arguments: FILTERED,
        ..HERE
    },
    Entry {
        name: "depth-first",
        role: Role::Frontier,
        line: "the latest alternative first; constant memory",
        ..HERE
    },
    Entry {
        name: "breadth-first",
        role: Role::Frontier,
        line: "the alternative with the fewest decisions before it first; memory grows",
        paper: ETA,
        ..HERE
    },
    Entry {
        name: "random",
        role: Role::Frontier,
        line: "any alternative next, with the same chance; memory grows",
        paper: ETA,
        ..HERE
    },
    Entry {
        name: "best-first",
        role: Role::Frontier,
        line: "the alternative of highest priority first",
        paper: GAMBIT,
        arguments: Arguments::Parts("priority, priority, …"),
        ..HERE
    },
    Entry {
        name: "preemptions",
        role: Role::Bound,
        line: "at most k times a task is left that could go on",
        paper: CHESS,
        arguments: COUNT,
        ..HERE
    },
    Entry {
        name: "delays",
        role: Role::Bound,
        line: "at most k departures from the default order",
        paper: "Emmi, Qadeer, Rakamarić, POPL 2011",
        arguments: COUNT,
        ..PLANNED
    },
    Entry {
        name: "depth",
        role: Role::Bound,
        line: "alternatives only at the first k decisions",
        arguments: COUNT,
        ..PLANNED
    },
    Entry {
        name: "non-preemptive",
        role: Role::Order,
        line: "the running task while it can go on; the default",
        paper: CHESS,
        ..HERE
    },
    Entry {
        name: "round-robin",
        role: Role::Order,
        line: "the tasks take turns",
        paper: EXPLORERS,
        ..HERE
    },
    Entry {
        name: "rtc",
        role: Role::Order,
        line: "run to completion: the receiver of the latest message first",
        paper: EXPLORERS,
        ..PLANNED
    },
    Entry {
        name: "probabilistic-rr",
        role: Role::Order,
        line: "the tasks take turns, new ones from a random place on",
        paper: EXPLORERS,
        ..PLANNED
    },
    Entry { name: "random", role: Role::Order, line: "any task next", paper: ETA, ..HERE },
    Entry {
        name: "state-cache",
        role: Role::Cache,
        line: "program states seen before are not explored again",
        ..PLANNED
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
        ..HERE
    },
    Entry {
        name: "probes",
        role: Role::Probes,
        line: "after every n executions one that is drawn, to estimate the size of the space",
        paper: "Knuth, Mathematics of Computation 1975",
        arguments: Arguments::Number { name: "n", least: 1, most: u32::MAX, default: Some(10) },
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
        ..HERE
    },
    Entry {
        name: "delays",
        role: Role::Priority,
        line: "fewest departures from the default order first",
        paper: "Emmi, Qadeer, Rakamarić, POPL 2011",
        ..HERE
    },
    Entry {
        name: "dpor",
        role: Role::Priority,
        line: "what dynamic partial-order reduction would have added first",
        paper: GAMBIT,
        ..HERE
    },
    Entry {
        name: "mdpor",
        role: Role::Priority,
        line: "as `dpor`, but what it adds to be on the safe side comes second",
        paper: GAMBIT,
        ..HERE
    },
    Entry {
        name: "ss",
        role: Role::Priority,
        line: "what sleep sets would not have left out first",
        paper: GAMBIT,
        ..HERE
    },
    Entry { name: "rand", role: Role::Priority, line: "any first", paper: GAMBIT, ..HERE },
    Entry {
        name: "sum",
        role: Role::Priority,
        line: "the smallest weighted sum first, as in `sum(2, pb, 1, mdpor)`",
        arguments: Arguments::Parts("weight, priority, …"),
        ..HERE
    },
    Entry {
        name: "method",
        role: Role::Priority,
        line: "preemptions between functions with these names first, as in `method(push, Deque::pop)`",
        paper: GAMBIT,
        arguments: Arguments::Parts("name, …"),
        ..HERE
    },
    Entry {
        name: "var",
        role: Role::Priority,
        line: "preemptions between uses of these objects first: by name, type or place (`deque.rs:42`)",
        paper: GAMBIT,
        arguments: Arguments::Parts("name, …"),
        ..HERE
    },
    Entry {
        name: "patterns",
        role: Role::Priority,
        line: "what breaks into another task's check-then-act, or its order of locks, first",
        paper: "Farchi, Nir, Ur, IPDPS 2003",
        ..HERE
    },
    Entry {
        name: "new-pair",
        role: Role::Priority,
        line: "orders of two statements that were not seen first",
        paper: "after Wang, Said, Gupta, ICSE 2011",
        ..HERE
    },
];

/// Makes the strategy that a line names. All it draws comes from `seed`.
///
/// ```
/// use raddle_search::build;
///
/// assert_eq!(build("pct", 1)?.name, "pct(3)");
/// assert_eq!(build("all depth-first non-preemptive", 1)?.name, "dfs");
///
/// let refused = build("dsf", 1).unwrap_err();
/// assert_eq!(refused.to_string(), "`dsf` is not a known strategy; did you mean `dfs`?");
/// # Ok::<(), raddle_search::BuildError>(())
/// ```
///
/// # Errors
/// If the line is no composition, names something unknown or not here yet, or makes no sense.
pub fn build(text: &str, seed: u64) -> Result<Built, BuildError> {
    let composition: Composition = text.parse()?;
    let parts = Parts::new(&composition)?;
    for part in &parts.0 {
        part.check_arguments()?;
    }
    parts.check_combination()?;
    if let Some(part) = parts.0.iter().find(|part| part.entry.status != Status::Here) {
        return Err(Kind::NotHere(part.entry).into());
    }
    parts.make(seed)
}

/// A term with what it stands for here.
struct Part<'a> {
    term: &'a Term,
    entry: &'static Entry,
}

impl Part<'_> {
    /// The one number of a part that takes one.
    fn number(&self) -> u32 {
        match (self.entry.arguments, self.term.args.as_slice()) {
            (_, [Arg::Number(number)]) => *number,
            (Arguments::Number { default: Some(default), .. }, _) => default,
            _ => unreachable!("checked before: {} has its number", self.term),
        }
    }

    /// The one word of a part that takes one, if it was given.
    fn word(&self) -> Option<&str> {
        match self.term.args.as_slice() {
            [Arg::Term(term)] => Some(&term.name),
            _ => None,
        }
    }

    /// The search of a part that filters another.
    fn filtered(&self, seed: u64) -> Result<HapSet, BuildError> {
        let wrong = || Kind::Arguments { entry: self.entry, given: self.term.to_string() };
        let mut args = self.term.args.iter();
        let over = match args.next() {
            None => Over::Dpor,
            Some(Arg::Number(_) | Arg::Word(_)) => return Err(wrong().into()),
            Some(Arg::Term(over)) => match (over.name.as_str(), over.args.as_slice()) {
                ("dpor", []) => Over::Dpor,
                ("dpor", [Arg::Term(word)]) if word.name == "classic" && word.args.is_empty() => {
                    Over::Dpor
                }
                ("all", []) => Over::All,
                ("preemptions", [Arg::Number(k)]) => Over::Preemptions(*k),
                _ => return Err(wrong().into()),
            },
        };
        let mut search = match self.entry.name {
            "pset" => HapSet::of_accesses(over),
            _ => HapSet::new(over),
        };
        let mut train = 0;
        for arg in args {
            let Arg::Term(term) = arg else { return Err(wrong().into()) };
            match (term.name.as_str(), term.args.as_slice()) {
                ("calls", [Arg::Number(n)]) => {
                    let calls = u8::try_from(*n).map_err(|_| wrong())?;
                    search = search.with_calls(calls);
                }
                ("train", [Arg::Number(n)]) => train = *n,
                _ => return Err(wrong().into()),
            }
        }
        Ok(if train > 0 { search.trained(train.into(), seed) } else { search })
    }

    fn check_arguments(&self) -> Result<(), BuildError> {
        let fits = match (self.entry.arguments, self.term.args.as_slice()) {
            (Arguments::Number { least, most, .. }, [Arg::Number(number)]) => {
                (least..=most).contains(number)
            }
            (Arguments::Number { default, .. }, args) => args.is_empty() && default.is_some(),
            (Arguments::OneOf(words), [Arg::Term(Term { name, args })]) => {
                args.is_empty() && words.contains(&name.as_str())
            }
            (Arguments::None | Arguments::OneOf(_), args) => args.is_empty(),
            (Arguments::Parts(_), _) if matches!(self.entry.name, "hapset" | "pset") => {
                self.filtered(0)?;
                true
            }
            (Arguments::Parts(_), _) => true,
        };
        if fits {
            Ok(())
        } else {
            Err(Kind::Arguments { entry: self.entry, given: self.term.to_string() }.into())
        }
    }
}

struct Parts<'a>(Vec<Part<'a>>);

impl<'a> Parts<'a> {
    /// Finds what each term stands for: beside a search or an expansion a part of it, else a
    /// sampler if there is one of that name.
    fn new(composition: &'a Composition) -> Result<Self, BuildError> {
        let terms = &composition.terms;
        let searches = terms.iter().any(|term| {
            named(&term.name).any(|entry| matches!(entry.role, Role::Search | Role::Expansion))
        });
        // A search by its short name has a frontier, so `random` beside it is an order.
        let short =
            terms.iter().any(|term| named(&term.name).any(|entry| entry.role == Role::Search));
        let mut parts = Self(Vec::new());
        for term in terms {
            let fits = |entry: &&Entry| (entry.role == Role::Sampler) != searches;
            let taken = |role| parts.get(role).is_some() || short && role == Role::Frontier;
            let free = |entry: &&Entry| fits(entry) && !taken(entry.role);
            let found = named(&term.name)
                .find(free)
                .or_else(|| named(&term.name).find(fits))
                .or_else(|| named(&term.name).next());
            let Some(entry) = found else {
                if PRIORITIES.iter().any(|priority| priority.name == term.name) {
                    return Err(Kind::Combination(format!(
                        "`{term}` is a priority of a frontier; write `all best-first({term})`"
                    ))
                    .into());
                }
                return Err(Kind::Unknown { name: term.name.clone() }.into());
            };
            parts.0.push(Part { term, entry });
        }
        Ok(parts)
    }

    fn get(&self, role: Role) -> Option<&Part<'a>> {
        self.0.iter().find(|part| part.entry.role == role)
    }

    /// Refuses what makes no sense, whatever is here.
    fn check_combination(&self) -> Result<(), BuildError> {
        let refuse = |reason: String| Err(Kind::Combination(reason).into());
        for (index, part) in self.0.iter().enumerate() {
            let same = |other: &&Part<'_>| other.entry.role == part.entry.role;
            if let Some(other) = self.0[..index].iter().find(same) {
                let (role, first, second) = (part.entry.role, other.term, part.term);
                return refuse(format!(
                    "`{first}` and `{second}` are two {role}s, and there can be one; leave one out"
                ));
            }
        }
        if let Some(sampler) = self.get(Role::Sampler) {
            let Some(other) = self.0.iter().find(|part| part.entry.role != Role::Sampler) else {
                return Ok(());
            };
            let (sampler, term, role) = (sampler.term, other.term, other.entry.role);
            return refuse(match role {
                Role::Search | Role::Expansion => format!(
                    "`{sampler}` is a sampler and decides every step, so nothing is left for \
                     `{term}`; leave one out"
                ),
                _ => format!(
                    "`{term}` is part of a search, here its {role}, and the sampler `{sampler}` \
                     has none; leave it out, or write `dfs` instead of `{sampler}`"
                ),
            });
        }
        let search = self.get(Role::Search);
        if search.is_none() && self.get(Role::Expansion).is_none() {
            let part = &self.0[0];
            let (term, role) = (part.term, part.entry.role);
            let instead = if role == Role::Frontier { "all" } else { "dfs" };
            return refuse(format!(
                "`{term}` is part of a search, here its {role}, and there is no search; write \
                 `{instead} {term}`"
            ));
        }
        if let (Some(search), Some(part)) =
            (search, self.get(Role::Expansion).or_else(|| self.get(Role::Frontier)))
        {
            let (search, term, role) = (search.term, part.term, part.entry.role);
            return refuse(format!(
                "`{search}` has its own {role}, so `{term}` has no place; leave one out"
            ));
        }
        self.check_bound_and_cache().or_else(refuse)
    }

    fn check_bound_and_cache(&self) -> Result<(), String> {
        let name = |role| self.get(role).map(|part| part.entry.name);
        if let (Some("preemptions"), Some(order)) = (name(Role::Bound), name(Role::Order))
            && matches!(order, "round-robin" | "probabilistic-rr" | "random")
        {
            return Err(format!(
                "`{order}` itself leaves tasks that could go on, so preemptions cannot be bounded \
                 along it; leave out one of the two"
            ));
        }
        if let (Some("delays"), Some(order)) = (name(Role::Bound), name(Role::Order))
            && order != "round-robin"
        {
            return Err(format!(
                "delays are counted along `round-robin`, not along `{order}`; leave `{order}` out"
            ));
        }
        if let Some(expansion @ ("hapset" | "pset")) = name(Role::Expansion)
            && let Some(part) = self.0.iter().find(|part| part.entry.role != Role::Expansion)
        {
            let instead = match part.entry.role {
                Role::Bound => format!("write `{expansion}({})`", part.term),
                _ => format!("leave `{}` out", part.term),
            };
            return Err(format!(
                "`{expansion}` goes depth first in its own order, and what it leaves out is in its \
                 brackets; {instead}"
            ));
        }
        if name(Role::Expansion) == Some("dpor") {
            if let Some(part) = self.get(Role::Bound) {
                return Err(format!(
                    "`{}` with `dpor` would lose executions: equivalent ones differ in what they \
                     cost; write `dfs {} cache`, which runs what follows equivalent prefixes once",
                    part.term, part.term
                ));
            }
            let word = self.get(Role::Expansion).and_then(Part::word);
            let any_order = matches!(word, Some("source" | "classic"));
            if let Some(part) = self.get(Role::Frontier).filter(|_| !any_order)
                && part.entry.name == "best-first"
            {
                let dpor = if word == Some("eta") { "dpor(eta)" } else { "dpor" };
                return Err(format!(
                    "`{dpor}` goes depth first: what it tries next belongs to the path it is on; \
                     write `dpor(source) {}`",
                    part.term
                ));
            }
            if let Some(part) = self.get(Role::Frontier)
                && matches!(part.entry.name, "breadth-first" | "random")
            {
                return Err(format!(
                    "`dpor` goes depth first: what may sleep is known of a path, not of seeds; write \
                     `all {}`, or leave it out",
                    part.term
                ));
            }
            if let Some(part) = self.get(Role::Order) {
                return Err(format!("`dpor` has its own order; leave `{}` out", part.term));
            }
        }
        if let (Some(frontier), Some(cache)) = (name(Role::Frontier), name(Role::Cache))
            && matches!(frontier, "breadth-first" | "random" | "best-first")
        {
            return Err(format!(
                "`{cache}` relies on a search that leaves no prefix before all after it was run, and \
                 `{frontier}` does; leave one out"
            ));
        }
        if let (Some("dpor"), Some(cache)) = (name(Role::Expansion), name(Role::Cache)) {
            return Err(format!(
                "`{cache}` would cut executions whose races the reduction still needs; leave it \
                 out, or write `dfs`"
            ));
        }
        Ok(())
    }

    /// The strategy. All parts are here and fit together.
    fn make(&self, seed: u64) -> Result<Built, BuildError> {
        let Built { strategy, name } = self.make_search(seed)?;
        let Some(every) = self.get(Role::Probes).map(Part::number) else {
            return Ok(Built { strategy, name });
        };
        // Not the numbers that the search draws.
        let seed = seed.rotate_left(32) ^ 0x70_72_6f_62_65;
        let probes = Probes::new(strategy, every, self.bound(), seed);
        Ok(built(probes, format!("{name} probes({every})")))
    }

    /// What `best-first` goes by, if that is the frontier.
    fn priorities(&self, seed: u64) -> Result<Option<Vec<Box<dyn Priority>>>, BuildError> {
        let Some(part) = self.get(Role::Frontier).filter(|part| part.entry.name == "best-first")
        else {
            return Ok(None);
        };
        if part.term.args.is_empty() {
            return Ok(Some(vec![Box::new(Preemptions)]));
        }
        if part.term.args.len() > MOST {
            let most = format!("`{}` has too many priorities; write at most {MOST}", part.term);
            return Err(Kind::Combination(most).into());
        }
        let make = |arg: &Arg| priority(arg, seed);
        part.term.args.iter().map(make).collect::<Result<_, _>>().map(Some)
    }

    fn bound(&self) -> Bound {
        self.get(Role::Bound).map_or(Bound::None, |part| Bound::Preemptions(part.number()))
    }

    /// The strategy without its probes.
    fn make_search(&self, seed: u64) -> Result<Built, BuildError> {
        if let Some(sampler) = self.get(Role::Sampler) {
            return Ok(match sampler.entry.name {
                "random" => built(Random::new(seed), "random".to_owned()),
                "round-robin" => built(RoundRobin::new(), "round-robin".to_owned()),
                "pct" => {
                    let depth = sampler.number();
                    built(Pct::new(seed, depth), format!("pct({depth})"))
                }
                "pos" => built(Pos::new(seed), "pos".to_owned()),
                "rff" => built(Rff::new(seed), "rff".to_owned()),
                "urw" => built(Urw::new(seed), "urw".to_owned()),
                "surw" => built(Surw::new(seed), "surw".to_owned()),
                name => unreachable!("`{name}` is in the registry as a sampler that is here"),
            });
        }
        if let Some(part) = self.get(Role::Expansion).filter(|part| part.entry.name == "dpor") {
            let priorities = self.priorities(seed)?;
            let (reduction, name) = match part.word() {
                Some("eta") => return Ok(built(Eta::new(), "dpor(eta)".to_owned())),
                Some("classic") => (Reduction::Classic, "dpor(classic)"),
                Some("source") => (Reduction::Source, "dpor(source)"),
                _ => (Reduction::Optimal, "dpor"),
            };
            let Some(priorities) = priorities else {
                return Ok(built(Dpor::new(reduction), name.to_owned()));
            };
            let search = BestFirst::reduced(reduction, priorities);
            let search = search.expect("checked before: not the optimal reduction");
            let name = format!("{name} {}", search.name());
            return Ok(built(search, name));
        }
        if let Some(part) = self.get(Role::Expansion)
            && matches!(part.entry.name, "hapset" | "pset")
        {
            let search = part.filtered(seed)?;
            let name = search.name();
            return Ok(built(search, name));
        }
        let frontier = match self.get(Role::Frontier).map(|part| part.entry.name) {
            Some("breadth-first") => Goes::Seeds(Frontier::Breadth),
            Some("random") => Goes::Seeds(Frontier::Random),
            Some("best-first") => Goes::BestFirst(self.priorities(seed)?.unwrap_or_default()),
            _ => Goes::DepthFirst,
        };
        let name = match &frontier {
            Goes::DepthFirst => "dfs".to_owned(),
            Goes::Seeds(frontier) => format!("all {}", frontier.name()),
            Goes::BestFirst(priorities) => format!("all {}", best_first::name(priorities)),
        };
        let bound = self.bound();
        let name = match bound {
            Bound::Preemptions(k) => format!("{name} preemptions({k})"),
            Bound::None => name,
        };
        let recipe =
            Recipe { frontier, bound, seed, cache: self.get(Role::Cache).map(Part::number) };
        match self.get(Role::Order).map(|part| part.entry.name) {
            Some("round-robin") => recipe.make(TakeTurns, name + " round-robin"),
            // Not the numbers that a random frontier draws.
            Some("random") => recipe.make(AnyTask::new(!seed), name + " random"),
            _ => recipe.make(NonPreemptive, name),
        }
    }
}

/// A priority, as it is written.
fn priority(arg: &Arg, seed: u64) -> Result<Box<dyn Priority>, BuildError> {
    let refuse = |reason: String| Err(BuildError::from(Kind::Combination(reason)));
    let Arg::Term(term) = arg else {
        return refuse(format!("`{arg}` is not a priority; write one of {Priorities}"));
    };
    let Some(entry) = PRIORITIES.iter().find(|entry| entry.name == term.name) else {
        let name = &term.name;
        return refuse(format!("`{name}` is not a known priority; here are {Priorities}"));
    };
    if entry.status != Status::Here {
        let reason = format!("`{term}` is planned and not in this version; here are {Priorities}");
        return refuse(reason);
    }
    if entry.arguments == Arguments::None && !term.args.is_empty() {
        return Err(Kind::Arguments { entry, given: term.to_string() }.into());
    }
    Ok(match entry.name {
        "pb" => Box::new(Preemptions),
        "delays" => Box::new(Delays),
        "dpor" => Box::new(Races),
        "mdpor" => Box::new(ModifiedDpor),
        "ss" => Box::new(SleepSets),
        "new-pair" => Box::new(NewPair::default()),
        "rand" => Box::new(Rand::new(seed)),
        "sum" => {
            let mut parts = Vec::new();
            for pair in term.args.chunks(2) {
                let [Arg::Number(weight), part @ Arg::Term(_)] = pair else {
                    return Err(Kind::Arguments { entry, given: term.to_string() }.into());
                };
                parts.push((*weight, priority(part, seed)?));
            }
            if parts.is_empty() {
                return Err(Kind::Arguments { entry, given: term.to_string() }.into());
            }
            Box::new(Sum::new(parts))
        }
        "method" => Box::new(Method::new(words(entry, term)?)),
        "var" => Box::new(Var::new(words(entry, term)?)),
        "patterns" => Box::new(Patterns),
        name => unreachable!("`{name}` is in the table as a priority that is here"),
    })
}

/// The names of the program's own that a priority is given.
fn words(entry: &'static Entry, term: &Term) -> Result<Vec<String>, BuildError> {
    let word = |arg: &Arg| match arg {
        Arg::Term(Term { name, args }) if args.is_empty() => Some(name.clone()),
        Arg::Word(word) => Some(word.clone()),
        _ => None,
    };
    let words: Option<Vec<_>> = term.args.iter().map(word).collect();
    let fit = words.filter(|words| !words.is_empty());
    fit.ok_or_else(|| Kind::Arguments { entry, given: term.to_string() }.into())
}

/// The priorities that are here, as a list.
struct Priorities;

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = PRIORITIES.iter().filter(|entry| entry.status == Status::Here);
        for (index, entry) in here.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}`{}{}`", entry.name, entry.arguments)?;
        }
        Ok(())
    }
}

/// In which order a search goes about what it knows.
#[derive(Debug)]
enum Goes {
    DepthFirst,
    Seeds(Frontier),
    BestFirst(Vec<Box<dyn Priority>>),
}

/// All of a search but its order.
#[derive(Debug)]
struct Recipe {
    frontier: Goes,
    bound: Bound,
    cache: Option<u32>,
    seed: u64,
}

impl Recipe {
    fn make<O: Order + 'static>(self, order: O, name: String) -> Result<Built, BuildError> {
        let Self { frontier, bound, cache, seed } = self;
        match frontier {
            Goes::DepthFirst => {}
            Goes::Seeds(frontier) => {
                return Ok(built(Tree::within(frontier, order, bound, seed)?, name));
            }
            Goes::BestFirst(priorities) => {
                return Ok(built(BestFirst::within(priorities, order, bound)?, name));
            }
        }
        let search = DepthFirst::within(order, bound)?;
        Ok(match cache {
            Some(n) => built(search.cached(n as usize), format!("{name} cache({n})")),
            None => built(search, name),
        })
    }
}

fn built(strategy: impl Strategy + 'static, name: String) -> Built {
    Built { strategy: Box::new(strategy), name }
}

fn named(name: &str) -> impl Iterator<Item = &'static Entry> {
    REGISTRY.iter().filter(move |entry| entry.name == name)
}

/// Why a line gives no strategy, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Parse(ParseError),
    Unknown { name: String },
    Arguments { entry: &'static Entry, given: String },
    Combination(String),
    NotHere(&'static Entry),
}

impl BuildError {
    /// The known name that is nearest to an unknown one, if any is near.
    #[must_use]
    pub fn suggestion(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Unknown { name } => nearest(name),
            _ => None,
        }
    }

    /// What is known and not in this version, if that is the reason.
    #[must_use]
    pub fn planned(&self) -> Option<&'static Entry> {
        match self.kind {
            Kind::NotHere(entry) if entry.status == Status::Planned => Some(entry),
            _ => None,
        }
    }
}

impl From<ParseError> for BuildError {
    fn from(error: ParseError) -> Self {
        Kind::Parse(error).into()
    }
}

impl From<CostlyOrder> for BuildError {
    fn from(error: CostlyOrder) -> Self {
        Kind::Combination(error.to_string()).into()
    }
}

impl From<Kind> for BuildError {
    fn from(kind: Kind) -> Self {
        Self { kind }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Parse(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Parse(_) => f.write_str("this is not how a strategy is written"),
            Kind::Unknown { name } => {
                write!(f, "`{name}` is not a known strategy")?;
                match nearest(name) {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => write!(
                        f,
                        "; here are {}",
                        Here(&[Role::Sampler, Role::Search, Role::Expansion])
                    ),
                }
            }
            Kind::Arguments { entry, given } => {
                write!(f, "`{given}` does not fit: write `{}{}`", entry.name, entry.arguments)?;
                if let Arguments::Number { name, least, most, default } = entry.arguments {
                    write!(f, ", where {name} is a number")?;
                    match (least, most) {
                        (0, u32::MAX) => {}
                        (_, u32::MAX) => write!(f, " from {least}")?,
                        _ => write!(f, " from {least} to {most}")?,
                    }
                    if let Some(default) = default {
                        write!(f, ", or `{}` for {name} = {default}", entry.name)?;
                    }
                }
                Ok(())
            }
            Kind::Combination(reason) => f.write_str(reason),
            Kind::NotHere(entry) => {
                let Entry { name, role, status, .. } = entry;
                if let Status::Elsewhere(instead) = status {
                    return write!(f, "`{name}` is not a search; {instead}");
                }
                write!(f, "`{name}` is planned and not in this version; ")?;
                if REGISTRY.iter().any(|other| other.role == *role && other.status == Status::Here)
                {
                    write!(f, "of the role {role} there is {}", Here(&[*role]))
                } else {
                    write!(f, "there is no {role} yet, so leave it out")
                }
            }
        }
    }
}

/// The names of these roles that are here, as a list.
struct Here<'a>(&'a [Role]);

impl fmt::Display for Here<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = REGISTRY
            .iter()
            .filter(|entry| self.0.contains(&entry.role) && entry.status == Status::Here);
        for (index, entry) in here.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}`{}{}`", entry.name, entry.arguments)?;
        }
        Ok(())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sampler => "sampler",
            Self::Search => "search",
            Self::Expansion => "expansion",
            Self::Frontier => "frontier",
            Self::Bound => "bound",
            Self::Order => "order",
            Self::Cache => "cache",
            Self::Probes => "probes",
            Self::Priority => "priority",
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

/// The known name nearest to `name`, if one is near enough to be meant.
fn nearest(name: &str) -> Option<&'static str> {
    if name.len() > 32 {
        return None;
    }
    let known = || REGISTRY.iter().map(|entry| entry.name);
    let begun = known().find(|known| name.len() >= 3 && known.starts_with(name));
    begun.or_else(|| {
        known()
            .map(|known| (distance(name.as_bytes(), known.as_bytes()), known))
            .filter(|&(distance, _)| distance <= 1 + name.len() / 4)
            .min_by_key(|&(distance, _)| distance)
            .map(|(_, known)| known)
    })
}

/// Letters to insert, drop, replace, or exchange with a neighbour, to make `b` of `a`.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests;
