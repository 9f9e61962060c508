//! Every strategy and every part of one, by name; and [`build`], which makes what a line names.
//!
//! The table feeds the command line, the book and the messages, so a name is described in one
//! place. It also knows what is planned: a line from a paper or from a later version is answered
//! with what there is instead, not with "unknown".
//!
//! [`build`] refuses in this order: text that is no composition, unknown names, wrong arguments,
//! combinations without sense, what is planned, and last what does not go with the settings. So one
//! learns first what would be wrong for good.

mod environment;
mod error;
mod table;

use std::fmt;

use raddle_engine::strategy::Strategy;
use raddle_trace::PairSet;

pub use self::environment::{Environment, Memory};
pub use self::error::BuildError;
use self::error::Kind;
pub use self::table::{
    Arguments, CHOICES, Entry, LEARNING, PRIORITIES, REGISTRY, Role, Status, names,
};
use crate::best_first::{
    self, BestFirst, Delays, Dpor as Races, MOST, Method, ModifiedDpor, NewPair, Patterns,
    Preemptions, Priority, Rand, SleepSets, Sum, Var,
};
use crate::bound::Bound;
use crate::expansion::all::DepthFirst;
use crate::expansion::eta::Eta;
use crate::expansion::reduced::{Dpor, Reduction};
use crate::grammar::{Arg, Composition, Term};
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

/// Makes the strategy that a line names, for an environment; a seed will do.
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
/// If the line is no composition, names something unknown or not here yet, makes no sense, or cannot be
/// used with the settings.
pub fn build(text: &str, environment: impl Into<Environment>) -> Result<Built, BuildError> {
    build_in(text, environment.into())
}

fn build_in(text: &str, environment: Environment) -> Result<Built, BuildError> {
    let composition: Composition = text.parse()?;
    let parts = Parts::new(&composition)?;
    for part in &parts.0 {
        part.check_arguments()?;
    }
    parts.check_combination()?;
    if let Some(part) = parts.0.iter().find(|part| part.entry.status != Status::Here) {
        return Err(Kind::NotHere(part.entry).into());
    }
    let settings = environment.settings;
    let built = parts.make(environment)?;
    match environment::refused(&parts, &settings) {
        Some(reason) => Err(Kind::Settings { name: built.name, reason }.into()),
        None => Ok(built),
    }
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
            let Arg::Term(Term { name, args }) = arg else { return Err(wrong().into()) };
            let entry = LEARNING.iter().find(|entry| entry.name == name);
            match (entry.map(|entry| entry.name), args.as_slice()) {
                (Some("calls"), [Arg::Number(n)]) => {
                    let calls = u8::try_from(*n).map_err(|_| wrong())?;
                    search = search.with_calls(calls);
                }
                (Some("train"), [Arg::Number(n)]) => train = *n,
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
                if CHOICES.iter().any(|choice| choice.name == term.name) {
                    return Err(Kind::Combination(format!(
                        "`{term}` stands for whole strategies and takes no parts; write it alone"
                    ))
                    .into());
                }
                if LEARNING.iter().any(|entry| entry.name == term.name) {
                    return Err(Kind::Combination(format!(
                        "`{term}` is how `hapset` learns; write `hapset(dpor, {term})`"
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
    fn make(&self, environment: Environment) -> Result<Built, BuildError> {
        let seed = environment.seed;
        let Built { strategy, name } = self.make_search(environment)?;
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
    fn make_search(&self, environment: Environment) -> Result<Built, BuildError> {
        let Environment { seed, known, memory, .. } = environment;
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
            let mut search = search.expect("checked before: not the optimal reduction");
            search.know(&known);
            let name = format!("{name} {}", search.name());
            return Ok(built(search, name));
        }
        if let Some(part) = self.get(Role::Expansion)
            && matches!(part.entry.name, "hapset" | "pset")
        {
            let search = part.filtered(seed)?.knowing(&known);
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
        let cache = self.get(Role::Cache).map(Part::number);
        let recipe = Recipe { frontier, bound, cache, seed, known, memory };
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
    known: PairSet,
    memory: Option<Memory>,
}

impl Recipe {
    fn make<O: Order + 'static>(self, order: O, name: String) -> Result<Built, BuildError> {
        let Self { frontier, bound, cache, seed, known, memory } = self;
        match frontier {
            Goes::DepthFirst => {}
            Goes::Seeds(frontier) => {
                return Ok(built(Tree::within(frontier, order, bound, seed)?, name));
            }
            Goes::BestFirst(priorities) => {
                let mut search = BestFirst::within(priorities, order, bound)?;
                search.know(&known);
                if let Some(Memory { bytes, store }) = memory {
                    search.keep_within(bytes, store);
                }
                return Ok(built(search, name));
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

#[cfg(test)]
mod saving;
#[cfg(test)]
mod tests;
