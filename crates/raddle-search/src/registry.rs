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
mod explorers;
mod recipe;
mod rules;
mod states;
mod table;
mod units;

use std::fmt;

use raddle_engine::strategy::Strategy;

pub use self::environment::{Environment, Memory};
pub use self::error::BuildError;
use self::error::Kind;
pub use self::explorers::stock_explorer;
use self::recipe::Recipe;
use self::table::Make;
pub use self::table::{
    Arguments, CHOICES, Entry, LEARNING, PRIORITIES, REGISTRY, Role, Status, names,
};
pub use self::units::{Piece, UnitSearch, build_unit, unit_method};
use crate::filtered::{Alternatives, HapSet};
use crate::grammar::{Arg, Composition, Term};
use crate::tree::priority::{MAX_PRIORITIES, Preemptions, Priority, Sum};

/// A strategy, ready to run.
pub struct Built {
    /// The strategy before its first execution.
    pub strategy: Box<dyn Strategy>,
    /// The composition in its shortest form. Building this name gives the same strategy.
    pub name: String,
    /// Whether it is a reduction that says it has run every execution up to equivalence.
    pub reduces: bool,
    /// Whether it does something else with another seed.
    pub draws: bool,
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
    if let Some(reason) = rules::refused(&parts) {
        return Err(Kind::Combination(reason).into());
    }
    let is_here = |part: &&Part<'_>| {
        let given = part.entry.name == "custom" && environment.explorer.is_some();
        part.entry.status == Status::Here || given
    };
    if let Some(part) = parts.0.iter().find(|part| !is_here(part)) {
        return Err(Kind::NotHere(part.entry).into());
    }
    let settings = environment.settings;
    let mut built = parts.make(environment)?;
    built.reduces = parts.reduces() && !built.name.starts_with("dpor(eta)");
    built.draws = draw(&composition.terms);
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
            (_, [Arg::Number(number), ..]) => *number,
            (Arguments::Number { default: Some(default), .. }, _) => default,
            _ => unreachable!("checked before: {} has its number", self.term),
        }
    }

    /// The second number of a part that may have one.
    fn length(&self) -> Option<u32> {
        match self.term.args.as_slice() {
            [_, Arg::Number(length)] => Some(*length),
            _ => None,
        }
    }

    /// As it is written in the shortest form, with its number if it takes one.
    fn canonical(&self) -> String {
        match self.entry.arguments {
            Arguments::Number { .. } => match self.length() {
                Some(length) => format!("{}({}, {length})", self.entry.name, self.number()),
                None => format!("{}({})", self.entry.name, self.number()),
            },
            Arguments::Parts(_) => explorers::canonical(self.term),
            Arguments::OneOf(_) => match self.word() {
                Some(word) => format!("{}({word})", self.entry.name),
                None => self.entry.name.to_owned(),
            },
            _ => self.entry.name.to_owned(),
        }
    }

    /// The one word of a part that takes one, if it was given.
    fn word(&self) -> Option<&str> {
        match self.term.args.as_slice() {
            [Arg::Term(term)] => Some(&term.name),
            _ => None,
        }
    }

    fn check_arguments(&self) -> Result<(), BuildError> {
        let fits = match (self.entry.arguments, self.term.args.as_slice()) {
            (Arguments::Number { least, most, .. }, [Arg::Number(number)]) => {
                (least..=most).contains(number)
            }
            (Arguments::Number { least, most, .. }, [Arg::Number(number), Arg::Number(length)])
                if self.entry.name == "pct" =>
            {
                (least..=most).contains(number) && *length > 0
            }
            (Arguments::Number { default, .. }, args) => args.is_empty() && default.is_some(),
            (Arguments::OneOf(words), [Arg::Term(Term { name, args })]) => {
                args.is_empty() && words.contains(&name.as_str())
            }
            (Arguments::None | Arguments::OneOf(_), args) => args.is_empty(),
            (Arguments::Parts(_), _) if matches!(self.entry.name, "hapset" | "pset") => {
                filtered(self, HapSet::new, 0)?;
                true
            }
            (Arguments::Parts(_), _) if self.entry.name == "states" => {
                states::states(self)?;
                true
            }
            (Arguments::Parts(_), _) => {
                explorers::check(self)?;
                true
            }
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
                        "`{}` stands for whole strategies and takes no parts; write it alone, or a list of your own, as in \
                         `dfs preemptions(2) | pos`",
                        term.name
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

    /// The name of the part with this role.
    fn name(&self, role: Role) -> Option<&'static str> {
        self.get(role).map(|part| part.entry.name)
    }

    /// Whether the expansion is a reduction by itself.
    fn reduces(&self) -> bool {
        self.name(Role::Expansion) == Some("dpor")
    }

    /// The strategy. All parts are here and fit together.
    fn make(&self, environment: Environment) -> Result<Built, BuildError> {
        if let Some(sampler) = self.get(Role::Sampler)
            && let Make::Sampler(make) = sampler.entry.make
        {
            let strategy = make(sampler, &environment)?;
            return Ok(Built { strategy, name: sampler.canonical(), reduces: false, draws: false });
        }
        self.recipe(environment)?.make()
    }

    /// The parts of a search, each in its slot.
    fn recipe(&self, environment: Environment) -> Result<Recipe, BuildError> {
        let mut recipe = Recipe::new(environment);
        for part in &self.0 {
            if let Make::Part(set) = part.entry.make {
                set(part, &mut recipe)?;
            }
        }
        Ok(recipe)
    }
}

/// Whether one of these terms, or of those in their brackets, stands for something that draws.
fn draw(terms: &[Term]) -> bool {
    let entries = || REGISTRY.iter().chain(PRIORITIES).chain(LEARNING);
    terms.iter().any(|term| {
        let inner = term.args.iter().filter_map(|arg| match arg {
            Arg::Term(term) => Some(term),
            Arg::Number(_) | Arg::Word(_) => None,
        });
        entries().any(|entry| entry.name == term.name && entry.draws)
            || inner.into_iter().any(|term| draw(std::slice::from_ref(term)))
    })
}

/// The refusal of what stands in the brackets of a term.
fn wrong_arguments(entry: &'static Entry, term: &Term) -> BuildError {
    Kind::Arguments { entry, given: term.to_string() }.into()
}

/// The search of a part that filters another.
fn filtered(
    part: &Part<'_>,
    make: fn(Alternatives) -> HapSet,
    seed: u64,
) -> Result<HapSet, BuildError> {
    let wrong = || Kind::Arguments { entry: part.entry, given: part.term.to_string() };
    let mut args = part.term.args.iter();
    let over = match args.next() {
        None => Alternatives::Dpor,
        Some(Arg::Number(_) | Arg::Word(_)) => return Err(wrong().into()),
        Some(Arg::Term(over)) => match (over.name.as_str(), over.args.as_slice()) {
            ("dpor", []) => Alternatives::Dpor,
            ("dpor", [Arg::Term(word)]) if word.name == "classic" && word.args.is_empty() => {
                Alternatives::Dpor
            }
            ("all", []) => Alternatives::All,
            ("preemptions", [Arg::Number(k)]) => Alternatives::Preemptions(*k),
            _ => return Err(wrong().into()),
        },
    };
    let mut search = make(over);
    let (mut train, mut widens) = (0, false);
    for arg in args {
        let Arg::Term(Term { name, args }) = arg else { return Err(wrong().into()) };
        let entry = LEARNING.iter().find(|entry| entry.name == name);
        match (entry.map(|entry| entry.name), args.as_slice()) {
            (Some("calls"), [Arg::Number(n)]) => {
                let calls = u8::try_from(*n).map_err(|_| wrong())?;
                search = search.with_calls(calls);
            }
            (Some("train"), [Arg::Number(n)]) => train = *n,
            (Some("widen"), []) if over == Alternatives::Dpor => widens = true,
            _ => return Err(wrong().into()),
        }
    }
    let search = if train > 0 { search.trained(train.into(), seed) } else { search };
    Ok(if widens { search.widening() } else { search })
}

/// What `best-first` goes by, as it is written.
fn priorities(frontier: &Term, seed: u64) -> Result<Vec<Box<dyn Priority>>, BuildError> {
    if frontier.args.is_empty() {
        return Ok(vec![Box::new(Preemptions)]);
    }
    if frontier.args.len() > MAX_PRIORITIES {
        let most = format!("`{frontier}` has too many priorities; write at most {MAX_PRIORITIES}");
        return Err(Kind::Combination(most).into());
    }
    frontier.args.iter().map(|arg| priority(arg, seed)).collect()
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
    match entry.make {
        Make::Priority(make) => make(entry, term, seed),
        Make::Nothing | Make::Sampler(_) | Make::Part(_) => {
            unreachable!("the table of priorities has how each is made")
        }
    }
}

/// Weights, each with a priority.
fn sum(entry: &'static Entry, term: &Term, seed: u64) -> Result<Sum, BuildError> {
    let wrong = || Kind::Arguments { entry, given: term.to_string() };
    let mut parts = Vec::new();
    for pair in term.args.chunks(2) {
        let [Arg::Number(weight), part @ Arg::Term(_)] = pair else { return Err(wrong().into()) };
        parts.push((*weight, priority(part, seed)?));
    }
    if parts.is_empty() { Err(wrong().into()) } else { Ok(Sum::new(parts)) }
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

fn named(name: &str) -> impl Iterator<Item = &'static Entry> {
    REGISTRY.iter().filter(move |entry| entry.name == name)
}

#[cfg(test)]
mod saving;
#[cfg(test)]
mod tests;
