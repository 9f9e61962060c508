//! What is known of a program.

use std::cell::Cell;
use std::fmt;

use raddle::Outcome;
use raddle::actors::{Mailboxes, Model, Refused, Searched, States, System, Visited};

thread_local! {
    /// The mailboxes of programs that build their systems themselves, if they are not the usual ones.
    static INSTEAD: Cell<Option<Mailboxes>> = const { Cell::new(None) };
}

/// Has the usual mailboxes again when it is dropped.
struct Usual;

impl Drop for Usual {
    fn drop(&mut self) {
        INSTEAD.set(None);
    }
}

/// The mailboxes of a system that a program builds: `usual`, unless it was [called with](Program::call_with) others.
pub(crate) fn mailboxes(usual: Mailboxes) -> Mailboxes {
    INSTEAD.get().unwrap_or(usual)
}

/// How a program ends: in every execution, or in the worst one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// Well, in every execution.
    Pass,
    /// With a panic that was not caught, in some.
    Panic,
    /// With a deadlock, in some.
    Deadlock,
    /// With a livelock, in some.
    Livelock,
    /// With a data race, in some.
    DataRace,
}

impl Expected {
    /// Whether a search that found this, or nothing, found what there is to find.
    #[must_use]
    pub fn is_met_by(self, found: Option<&Outcome>) -> bool {
        matches!(
            (self, found),
            (Self::Pass, None)
                | (Self::Panic, Some(Outcome::Panicked { .. }))
                | (Self::Deadlock, Some(Outcome::Deadlock { .. }))
                | (Self::Livelock, Some(Outcome::Livelock { .. }))
                | (Self::DataRace, Some(Outcome::DataRace(_)))
        )
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Panic => "panicked",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
            Self::DataRace => "data-race",
        })
    }
}

/// Where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// Programs whose executions have been counted.
    Counts,
    /// Bugs, and the same programs without them.
    Bugs,
    /// Litmus tests of memory models.
    Litmus,
    /// Actors that send messages.
    Actors,
    /// What other tools get wrong.
    Peers,
    /// What we got wrong.
    Ours,
    /// Unit tests of concurrency libraries.
    Libraries,
    /// Small programs in the shape of real ones.
    Applications,
    /// Distributed protocols.
    Protocols,
    /// Tests of the size that people write for their own code.
    UnitTests,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counts => "counts",
            Self::Bugs => "bugs",
            Self::Litmus => "litmus",
            Self::Actors => "actors",
            Self::Peers => "peers",
            Self::Ours => "ours",
            Self::Libraries => "libraries",
            Self::Applications => "applications",
            Self::Protocols => "protocols",
            Self::UnitTests => "unit tests",
        })
    }
}

/// One argument of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What it is called.
    pub name: &'static str,
    /// What it is if it is not given: small enough that `dfs` covers the program in a second.
    pub default: usize,
    /// The smallest that makes sense.
    pub least: usize,
    /// The largest that makes sense.
    pub most: usize,
}

/// A parameter with its default and its range.
pub(crate) const fn parameter(
    name: &'static str,
    default: usize,
    least: usize,
    most: usize,
) -> Parameter {
    assert!(least <= default && default <= most, "the default is in range");
    Parameter { name, default, least, most }
}

/// The function of a program.
#[derive(Clone, Copy, Debug)]
enum Body {
    None,
    Plain(fn()),
    One(fn(usize)),
    Two(fn(usize, usize)),
    Many(fn(&[usize])),
    /// Builds actors in a system of any manager, has everything handled, and judges what came of it.
    Actors(fn(&System, &[usize])),
    /// What one execution saw, and all that executions can see.
    Seen(fn() -> Vec<usize>, &'static [&'static [usize]]),
}

/// Visits the states of a program that is a model, whatever the model's type.
pub struct Visit<'a> {
    states: States,
    go_on: &'a mut dyn FnMut(Visited) -> bool,
    searched: Option<Result<Searched, Refused>>,
}

impl<'a> Visit<'a> {
    /// A search over states that `go_on` may stop, which is asked now and then.
    pub fn new(states: States, go_on: &'a mut dyn FnMut(Visited) -> bool) -> Self {
        Self { states, go_on, searched: None }
    }

    /// Visits the states of this model.
    pub(crate) fn model<S: Send + Sync + 'static>(&mut self, model: &Model<S>) {
        self.searched = Some(model.search_while(&self.states, &mut *self.go_on));
    }
}

impl fmt::Debug for Visit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").field("states", &self.states).finish_non_exhaustive()
    }
}

/// A count as a function of the arguments. `None` where it is not known.
pub type Count = fn(&[usize]) -> Option<u64>;

/// Traces of a program whose loops may make so many rounds in vain (`Config::rounds`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRounds {
    /// With these arguments.
    pub arguments: &'static [usize],
    /// The rounds.
    pub rounds: u32,
    /// The traces.
    pub traces: u64,
}

/// What is known of a program with these arguments, in 1, 2, … rounds.
pub(crate) const fn in_rounds<const N: usize>(
    arguments: &'static [usize],
    traces: [u64; N],
) -> [InRounds; N] {
    let mut all = [InRounds { arguments, rounds: 0, traces: 0 }; N];
    let mut at = 0;
    while at < N {
        all[at] = InRounds { arguments, rounds: at as u32 + 1, traces: traces[at] };
        at += 1;
    }
    all
}

/// A program and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// As it is written on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub line: &'static str,
    /// Where it comes from.
    pub group: Group,
    /// Who wrote of it first; empty if it is folklore.
    pub source: &'static str,
    /// Its arguments.
    pub parameters: &'static [Parameter],
    /// How it ends.
    pub expected: Expected,
    /// How many times a task that could go on must be left to see it end so. For programs with a
    /// bug.
    pub preemptions: Option<fn(&[usize]) -> u32>,
    /// Executions of a search that tries every order of every two steps.
    pub interleavings: Option<Count>,
    /// Executions that differ in the order of dependent steps.
    pub traces: Option<Count>,
    /// The same of a program that spins, for some arguments and rounds.
    pub in_rounds: &'static [&'static [InRounds]],
    /// The limit on the steps of one execution, if the program never ends by itself.
    pub steps: Option<u64>,
    /// What kind of mistake its bug is, for programs of [`Group::Libraries`],
    /// [`Group::Applications`] and [`Group::Protocols`].
    pub pattern: &'static str,
    /// Arguments that make it as long as a unit test of a library is; empty if there are none.
    pub large: &'static [usize],
    states: Option<fn(&[usize], &mut Visit<'_>)>,
    body: Body,
}

impl Program {
    /// A program that ends well; the methods below say more of it.
    pub(crate) const fn new(name: &'static str, group: Group, line: &'static str) -> Self {
        Self {
            name,
            line,
            group,
            source: "",
            parameters: &[],
            expected: Expected::Pass,
            preemptions: None,
            interleavings: None,
            traces: None,
            in_rounds: &[],
            steps: None,
            pattern: "",
            large: &[],
            states: None,
            body: Body::None,
        }
    }

    pub(crate) const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// Without arguments.
    pub(crate) const fn plain(mut self, body: fn()) -> Self {
        self.body = Body::Plain(body);
        self
    }

    /// With one argument.
    pub(crate) const fn one(
        mut self,
        body: fn(usize),
        parameters: &'static [Parameter; 1],
    ) -> Self {
        self.body = Body::One(body);
        self.parameters = parameters;
        self
    }

    /// With two arguments.
    pub(crate) const fn two(
        mut self,
        body: fn(usize, usize),
        parameters: &'static [Parameter; 2],
    ) -> Self {
        self.body = Body::Two(body);
        self.parameters = parameters;
        self
    }

    /// With more arguments than two.
    pub(crate) const fn many(
        mut self,
        body: fn(&[usize]),
        parameters: &'static [Parameter],
    ) -> Self {
        self.body = Body::Many(body);
        self.parameters = parameters;
        self
    }

    /// Of actors, in a system that is given.
    pub(crate) const fn actors(
        mut self,
        body: fn(&System, &[usize]),
        parameters: &'static [Parameter],
    ) -> Self {
        self.body = Body::Actors(body);
        self.parameters = parameters;
        self
    }

    /// Without arguments, and with all that it can return.
    pub(crate) const fn sees(
        mut self,
        body: fn() -> Vec<usize>,
        all: &'static [&'static [usize]],
    ) -> Self {
        self.body = Body::Seen(body, all);
        self
    }

    /// With a bug that shows if a task that could go on is left this many times, and not before.
    pub(crate) const fn fails(
        mut self,
        expected: Expected,
        preemptions: fn(&[usize]) -> u32,
    ) -> Self {
        self.expected = expected;
        self.preemptions = Some(preemptions);
        self
    }

    /// With a bug of this kind, of which it is not known how many preemptions it needs.
    pub(crate) const fn bug(mut self, expected: Expected, pattern: &'static str) -> Self {
        self.expected = expected;
        self.pattern = pattern;
        self
    }

    /// With arguments that make it long.
    pub(crate) const fn large(mut self, large: &'static [usize]) -> Self {
        self.large = large;
        self
    }

    /// Whose states can be visited.
    pub(crate) const fn states(mut self, states: fn(&[usize], &mut Visit<'_>)) -> Self {
        self.states = Some(states);
        self
    }

    pub(crate) const fn interleavings(mut self, count: Count) -> Self {
        self.interleavings = Some(count);
        self
    }

    pub(crate) const fn traces(mut self, count: Count) -> Self {
        self.traces = Some(count);
        self
    }

    /// Which spins, with its traces for some arguments.
    pub(crate) const fn in_rounds(mut self, known: &'static [&'static [InRounds]]) -> Self {
        self.in_rounds = known;
        self
    }

    pub(crate) const fn steps(mut self, steps: u64) -> Self {
        self.steps = Some(steps);
        self
    }

    /// The arguments if none are given.
    #[must_use]
    pub fn defaults(&self) -> Vec<usize> {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }

    /// Its traces if loops may make so many rounds in vain, if that is known; without a limit on rounds, those of a program
    /// that does not spin.
    #[must_use]
    pub fn known_traces(&self, arguments: &[usize], rounds: Option<u32>) -> Option<u64> {
        let known = self.in_rounds.iter().copied().flatten();
        let same = |known: &&InRounds| known.arguments == arguments && Some(known.rounds) == rounds;
        let found = known.filter(same).map(|known| known.traces).next();
        found.or_else(|| self.traces.and_then(|count| count(arguments)))
    }

    /// Runs it once: inside an execution under control, outside on threads of the system.
    ///
    /// # Panics
    /// If it has a bug that shows. If it saw what it cannot see.
    pub fn call(&self, arguments: &[usize]) {
        match (self.body, arguments) {
            (Body::Plain(body), []) => body(),
            (Body::One(body), &[a]) => body(a),
            (Body::Two(body), &[a, b]) => body(a, b),
            (Body::Many(body), all) if all.len() == self.parameters.len() => body(all),
            (Body::Actors(_), all) => self.call_with(Mailboxes::Pairs, all),
            (Body::Seen(body, all), []) => {
                let seen = body();
                assert!(all.contains(&&*seen), "{seen:?} is none of {all:?}");
            }
            _ => panic!("{} takes {} arguments", self.name, self.parameters.len()),
        }
    }

    /// Visits its states instead of running executions. `None` if it is not a model of actors.
    ///
    /// # Errors
    /// If some part of the model cannot be copied.
    #[must_use]
    pub fn visit(
        &self,
        arguments: &[usize],
        mut visit: Visit<'_>,
    ) -> Option<Result<Searched, Refused>> {
        self.states?(arguments, &mut visit);
        visit.searched
    }

    /// Runs a program of actors once, with mailboxes that are not the usual ones. A protocol may rely on the usual
    /// ones, and fail with others.
    ///
    /// # Panics
    /// If it has a bug that shows.
    pub fn call_with(&self, mailboxes: Mailboxes, arguments: &[usize]) {
        if matches!(self.body, Body::Actors(_)) {
            self.call_on(&System::builder().mailboxes(mailboxes).build(), arguments);
            return;
        }
        INSTEAD.set(Some(mailboxes));
        let _usual = Usual;
        self.call(arguments);
    }

    /// Runs a program of actors once, in a system that has no actors yet.
    ///
    /// ```
    /// use raddle::actors::{Manager, System};
    ///
    /// let (program, arguments) = raddle_corpus::find("tiles", &[]).expect("it is there");
    /// let system = System::builder().manager(Manager::Concurrent { threads: 2 }).build();
    /// program.call_on(&system, &arguments);
    /// ```
    ///
    /// # Panics
    /// If it has a bug that shows, or builds its system itself.
    pub fn call_on(&self, system: &System, arguments: &[usize]) {
        let Body::Actors(body) = self.body else {
            panic!("{} builds its system itself, or has no actors", self.name)
        };
        assert_eq!(arguments.len(), self.parameters.len(), "arguments of {}", self.name);
        body(system, arguments);
    }

    /// Runs it once and tells what it saw, if it is a program that does.
    #[must_use]
    pub fn see(&self) -> Option<Vec<usize>> {
        match self.body {
            Body::Seen(body, _) => Some(body()),
            _ => None,
        }
    }

    /// All that its executions can see, if it is a program that tells.
    #[must_use]
    pub fn all_seen(&self) -> Option<&'static [&'static [usize]]> {
        match self.body {
            Body::Seen(_, all) => Some(all),
            _ => None,
        }
    }
}

/// With its arguments in brackets: `steps(a, b)`.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if self.parameters.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = self.parameters.iter().map(|parameter| parameter.name).collect();
        write!(f, "({})", names.join(", "))
    }
}
