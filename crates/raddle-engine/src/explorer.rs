//! Delaying explorers: deterministic orders of processes that can be told to give up their next pick.
//!
//! Desai, Qadeer and Seshia, FSE 2015. An explorer names the process that moves next. A *delay* makes it give
//! up that process and name another one. Executions that need few delays come first in a search, so an explorer
//! is a way to say which executions are worth running early. [`DelayingExplorer`] is what a user writes; an
//! [`Explorer`] is any of them, as searches hold it.
//!
//! It differs from the paper in two ways. `next` is given the processes that can move and names one of those,
//! so that a process which cannot move is passed at no cost and keeps the place that the explorer gave it. And
//! `delay` is told which process is given up.
//!
//! This file is vocabulary: searches over threads and over the states of actors both use it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Arc, Mutex};

use raddle_trace::hash::mix;

use crate::{at_fork, panics};

/// A thread, a timer or an actor, by its number: processes are numbered from 0 in the order in which they are
/// created in an execution. Process 0 is the test itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(pub u32);

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.0)
    }
}

/// What kind of process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessKind {
    /// A thread of the test.
    Thread,
    /// The timeout of a thread's op.
    Timer,
    /// An actor. What stands for the lanes of its mailbox is no process: which message it handles is decided
    /// after the actor.
    Actor,
}

/// What is known of a process when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct About<'a> {
    /// Its kind.
    pub kind: ProcessKind,
    /// What the program calls it; empty if it does not.
    pub name: &'a str,
    /// The process that created it; none of process 0.
    pub parent: Option<Process>,
}

impl<'a> About<'a> {
    /// What is known of a process.
    #[must_use]
    pub fn new(kind: ProcessKind, name: &'a str, parent: Option<Process>) -> Self {
        Self { kind, name, parent }
    }
}

/// The processes that can move now, ascending. Never empty.
#[derive(Clone, Copy, Debug)]
pub struct Runnable<'a> {
    all: &'a [Process],
    /// A bit for each of those with a number below 64: explorers ask very often.
    low: u64,
}

impl<'a> Runnable<'a> {
    /// These processes.
    ///
    /// # Panics
    /// If there is none, or they are not ascending.
    #[must_use]
    pub fn new(processes: &'a [Process]) -> Self {
        assert!(!processes.is_empty(), "some process can move");
        assert!(processes.is_sorted_by(|a, b| a < b), "processes are ascending");
        let low = processes.iter().take_while(|process| process.0 < u64::BITS);
        let low = low.fold(0, |low, process| low | 1 << process.0);
        Self { all: processes, low }
    }

    /// Whether this process can move.
    #[must_use]
    #[inline]
    pub fn contains(&self, process: Process) -> bool {
        if process.0 < u64::BITS {
            return self.low >> process.0 & 1 == 1;
        }
        self.all.binary_search(&process).is_ok()
    }

    /// The one created first.
    #[must_use]
    pub fn first(&self) -> Process {
        self.all[0]
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Process> + 'a {
        self.all.iter().copied()
    }

    /// How many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.all.len()
    }
}

/// What happened, as an explorer hears it.
///
/// Of one step the order is: [`Ran`](Self::Ran); of an actor [`Received`](Self::Received), then all that its handler
/// [`Created`](Self::Created), all that it [`Sent`](Self::Sent), and that it [`Became`](Self::Became) another;
/// [`Ordered`](Self::Ordered). Then, before anything moves again, [`Blocked`](Self::Blocked) and
/// [`Woken`](Self::Woken) of each process whose standing has changed, in the order of creation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessEvent {
    /// A process took a step.
    Ran {
        /// Which one.
        process: Process,
    },
    /// An actor began to handle a message.
    Received {
        /// Which one.
        process: Process,
        /// Who had sent it, if that is a process.
        from: Option<Process>,
    },
    /// A process sent a message to an actor.
    Sent {
        /// The sender.
        by: Process,
        /// The actor that will handle it.
        to: Process,
    },
    /// A process created another one, of which [`DelayingExplorer::start`] has told.
    Created {
        /// Who created it.
        by: Process,
        /// The new one.
        process: Process,
    },
    /// An actor has changed how it handles messages.
    Became {
        /// Which one.
        process: Process,
    },
    /// A process that could move cannot any more: a thread waits, an actor has nothing to handle.
    Blocked {
        /// Which one.
        process: Process,
    },
    /// A thread that waited can move again. Of actors, [`Sent`](Self::Sent) says so.
    Woken {
        /// Which one.
        process: Process,
    },
    /// The program asked for an order: see [`change_order`].
    Ordered {
        /// Names of processes, the first to move first.
        names: Arc<[String]>,
    },
}

/// A deterministic order of processes, which can be told to give up its next pick.
///
/// All that it decides must come from its own state: from what [`start`](Self::start), [`finish`](Self::finish),
/// [`step`](Self::step) and [`delay`](Self::delay) have told it. It is *sound* if, wherever n processes can move,
/// naming and delaying n − 1 times names each of them once; a search that meets a point at which it is not
/// ends with an error that says which process it does not reach.
///
/// `Clone` and `Hash` are of its whole state: searches try delays on a copy, and `exact` tells states apart by
/// the hash.
///
/// ```
/// use raddle_engine::explorer::{About, DelayingExplorer, Process, Runnable};
///
/// /// The youngest process first; one that is delayed comes last.
/// #[derive(Clone, Debug, Default, Hash)]
/// struct YoungestFirst {
///     order: Vec<Process>,
/// }
///
/// impl DelayingExplorer for YoungestFirst {
///     fn start(&mut self, process: Process, _: &About<'_>) {
///         self.order.insert(0, process);
///     }
///
///     fn finish(&mut self, process: Process) {
///         self.order.retain(|&other| other != process);
///     }
///
///     fn next(&self, runnable: Runnable<'_>) -> Process {
///         let mut order = self.order.iter().copied();
///         order.find(|&process| runnable.contains(process)).expect("every process was started")
///     }
///
///     fn delay(&mut self, process: Process) {
///         self.finish(process);
///         self.order.push(process);
///     }
/// }
/// ```
pub trait DelayingExplorer: Clone + Hash + fmt::Debug + Send + Sync + 'static {
    /// A process was created. Told of each before it can move.
    fn start(&mut self, process: Process, about: &About<'_>);

    /// A process will never move again.
    fn finish(&mut self, process: Process);

    /// Something happened.
    fn step(&mut self, event: &ProcessEvent) {
        let _ = event;
    }

    /// The process to move next, one of those that can.
    fn next(&self, runnable: Runnable<'_>) -> Process;

    /// Gives up this process, which `next` has just named.
    fn delay(&mut self, process: Process);

    /// Whether it makes something of [`ProcessEvent::Blocked`] where that is of an actor. One that does not saves a search over
    /// states the time to find out, and may not be told.
    fn hears_blocked(&self) -> bool {
        true
    }

    /// All that can move, in the order in which `next` names them while each is delayed. `false`: that is found out by
    /// delaying a copy, which is what an explorer does that leaves this out. It is for speed alone; debug builds compare.
    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        let _ = (runnable, ranks);
        false
    }
}

/// A [`DelayingExplorer`] of any type, with its name.
pub struct Explorer {
    /// Kept for good, so that copies, of which a search makes very many on several threads, need not count it.
    name: &'static str,
    inner: Box<dyn Erased>,
}

/// Names of explorers.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

fn kept(name: &str) -> &'static str {
    let mut names = at_fork::lock(&NAMES);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}

/// What searches ask of an explorer whatever its type.
trait Erased: Send + Sync {
    fn clone_box(&self) -> Box<dyn Erased>;
    fn as_any(&self) -> &dyn Any;
    /// `false` if they are of different types.
    fn copy_from(&mut self, other: &dyn Any) -> bool;
    fn hears_blocked(&self) -> bool;
    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool;
    fn fingerprint(&self) -> u64;
    fn start(&mut self, process: Process, about: &About<'_>);
    fn finish(&mut self, process: Process);
    fn step(&mut self, event: &ProcessEvent);
    fn next(&self, runnable: Runnable<'_>) -> Process;
    fn delay(&mut self, process: Process);
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<E: DelayingExplorer> Erased for E {
    fn clone_box(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy_from(&mut self, other: &dyn Any) -> bool {
        other.downcast_ref::<E>().map(|other| self.clone_from(other)).is_some()
    }

    fn hears_blocked(&self) -> bool {
        DelayingExplorer::hears_blocked(self)
    }

    fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> bool {
        DelayingExplorer::rank(self, runnable, ranks)
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = Stable(0);
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn start(&mut self, process: Process, about: &About<'_>) {
        DelayingExplorer::start(self, process, about);
    }

    fn finish(&mut self, process: Process) {
        DelayingExplorer::finish(self, process);
    }

    fn step(&mut self, event: &ProcessEvent) {
        DelayingExplorer::step(self, event);
    }

    fn next(&self, runnable: Runnable<'_>) -> Process {
        DelayingExplorer::next(self, runnable)
    }

    fn delay(&mut self, process: Process) {
        DelayingExplorer::delay(self, process);
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Explorer {
    /// An explorer, with the name that reports and messages use.
    #[must_use]
    pub fn new(name: &str, explorer: impl DelayingExplorer) -> Self {
        Self { name: kept(name), inner: Box::new(explorer) }
    }

    /// As reports and messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// A hash of its state. The same in every process.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// See [`DelayingExplorer::hears_blocked`].
    #[must_use]
    pub fn hears_blocked(&self) -> bool {
        self.inner.hears_blocked()
    }

    /// See [`DelayingExplorer::start`].
    pub fn start(&mut self, process: Process, about: &About<'_>) {
        self.inner.start(process, about);
    }

    /// See [`DelayingExplorer::finish`].
    pub fn finish(&mut self, process: Process) {
        self.inner.finish(process);
    }

    /// See [`DelayingExplorer::step`].
    pub fn step(&mut self, event: &ProcessEvent) {
        self.inner.step(event);
    }

    /// See [`DelayingExplorer::next`].
    #[must_use]
    pub fn next(&self, runnable: Runnable<'_>) -> Process {
        self.inner.next(runnable)
    }

    /// See [`DelayingExplorer::delay`].
    pub fn delay(&mut self, process: Process) {
        self.inner.delay(process);
    }

    /// The processes that can move by the number of delays that reach each: the one that is next first.
    ///
    /// # Errors
    /// If it is not sound here: it names a process that cannot move, or one twice.
    ///
    /// # Panics
    /// With debug assertions, if the explorer's own `rank` is another order than its delays are.
    pub fn rank(&self, runnable: Runnable<'_>, ranks: &mut Vec<Process>) -> Result<(), Unsound> {
        ranks.clear();
        if runnable.len() > 1 && self.inner.rank(runnable, ranks) && ranks.len() == runnable.len() {
            if cfg!(debug_assertions) {
                let mut named = Vec::new();
                self.rank_by_delays(runnable, &mut named)?;
                assert!(*ranks == named, "`rank` of the explorer `{}` is another order", self.name);
            }
            return Ok(());
        }
        self.rank_by_delays(runnable, ranks)
    }

    fn rank_by_delays(
        &self,
        runnable: Runnable<'_>,
        ranks: &mut Vec<Process>,
    ) -> Result<(), Unsound> {
        ranks.clear();
        let unsound = |ranks: &[Process], named| {
            let unreached = runnable.iter().find(|process| !ranks.contains(process));
            let unreached = unreached.unwrap_or(named);
            Unsound { explorer: self.name.to_string(), named, unreached, delays: ranks.len() }
        };
        let first = self.next(runnable);
        if !runnable.contains(first) {
            return Err(unsound(ranks, first));
        }
        ranks.push(first);
        if runnable.len() == 1 {
            return Ok(());
        }
        let mut copy = self.clone();
        while ranks.len() < runnable.len() {
            copy.delay(ranks[ranks.len() - 1]);
            let next = copy.next(runnable);
            if !runnable.contains(next) || ranks.contains(&next) {
                return Err(unsound(ranks, next));
            }
            ranks.push(next);
        }
        Ok(())
    }

    /// Delays until it names this process, and says how many delays that took.
    ///
    /// # Errors
    /// If as many delays as processes can move do not reach it.
    pub fn delay_until(
        &mut self,
        process: Process,
        runnable: Runnable<'_>,
    ) -> Result<u32, Unsound> {
        for delays in 0..runnable.len() {
            let next = self.next(runnable);
            if next == process {
                return Ok(delays as u32);
            }
            if delays + 1 == runnable.len() || !runnable.contains(next) {
                let explorer = self.name.to_string();
                return Err(Unsound { explorer, named: next, unreached: process, delays });
            }
            self.delay(next);
        }
        unreachable!("some process can move")
    }
}

impl Clone for Explorer {
    fn clone(&self) -> Self {
        Self { name: self.name, inner: self.inner.clone_box() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.name = other.name;
        if !self.inner.copy_from(other.inner.as_any()) {
            self.inner = other.inner.clone_box();
        }
    }
}

impl fmt::Debug for Explorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A point at which delays do not reach every process that can move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The name of the explorer.
    pub explorer: String,
    /// What it named last.
    pub named: Process,
    /// A process that can move and was not named.
    pub unreached: Process,
    /// After how many delays.
    pub delays: usize,
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { explorer, named, unreached, delays } = self;
        write!(
            f,
            "the explorer `{explorer}` does not reach {unreached}, which can move: after {delays} delays \
             it names {named}. Its `next` must name a process that can move, and after `delay` another one \
             until each has been named"
        )
    }
}

impl std::error::Error for Unsound {}

/// Hashes alike in every process and version of the standard library.
struct Stable(u64);

impl Hasher for Stable {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56);
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

thread_local! {
    /// What the step that runs on this OS thread has asked for last.
    static ORDER: RefCell<Option<Arc<[String]>>> = const { RefCell::new(None) };
}

/// Asks the explorer of the search, from within the program, for this order of processes from here on, by their names.
///
/// What an explorer makes of it is its own business: the stock explorer `ordered` moves the named ones to the
/// front, in this order. Under every other strategy, and where nothing is explored, it does nothing.
///
/// ```
/// // The servers are up: from now on whatever makes them fail goes first.
/// raddle_engine::explorer::change_order(["failure injector", "monitor"]);
/// ```
pub fn change_order<S: Into<String>>(names: impl IntoIterator<Item = S>) {
    let names = names.into_iter().map(Into::into).collect();
    ORDER.with_borrow_mut(|order| *order = Some(names));
}

/// What [`change_order`] was last called with on this OS thread since this was asked before. For whatever runs
/// steps: it tells the explorer by [`ProcessEvent::Ordered`].
#[must_use]
pub fn take_order() -> Option<Arc<[String]>> {
    ORDER.with_borrow_mut(Option::take)
}

thread_local! {
    /// Whether an explorer's code runs on this OS thread, and where it panicked.
    static ASKED: Cell<bool> = const { Cell::new(false) };
    static PANICKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs code of an explorer, which may be a user's.
///
/// # Errors
/// If it panics: a sentence that names the explorer.
pub fn guarded<R>(explorer: &str, ask: impl FnOnce() -> R) -> Result<R, String> {
    let before = ASKED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(ask));
    ASKED.set(before);
    result.map_err(|payload| {
        let place = PANICKED.with_borrow_mut(Option::take);
        let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
        let message = panics::message(&*payload);
        format!("the explorer `{explorer}` panicked{place}: {message}")
    })
}

/// Notes where an explorer's code panics. `false`: it is not an explorer's code.
pub(crate) fn note_panic(info: &PanicHookInfo<'_>) -> bool {
    if ASKED.get() {
        let place = info.location().map(ToString::to_string);
        PANICKED.with_borrow_mut(|panicked| *panicked = place);
    }
    ASKED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the order of creation; delays are ignored if `stubborn`.
    #[derive(Clone, Debug, Default, Hash)]
    struct InOrder {
        order: Vec<Process>,
        stubborn: bool,
    }

    impl DelayingExplorer for InOrder {
        fn start(&mut self, process: Process, _: &About<'_>) {
            self.order.push(process);
        }

        fn finish(&mut self, process: Process) {
            self.order.retain(|&other| other != process);
        }

        fn next(&self, runnable: Runnable<'_>) -> Process {
            let found = self.order.iter().copied().find(|&process| runnable.contains(process));
            found.expect("all were started")
        }

        fn delay(&mut self, process: Process) {
            if !self.stubborn {
                self.order.retain(|&other| other != process);
                self.order.push(process);
            }
        }
    }

    fn three(stubborn: bool) -> Explorer {
        let mut explorer = Explorer::new("in-order", InOrder { order: Vec::new(), stubborn });
        for number in 0..3 {
            let about = About::new(ProcessKind::Thread, "", None);
            explorer.start(Process(number), &about);
        }
        explorer
    }

    #[test]
    fn processes_that_cannot_move_cost_no_delay() {
        let explorer = three(false);
        let runnable = [Process(1), Process(2)];
        let mut ranks = Vec::new();
        explorer.rank(Runnable::new(&runnable), &mut ranks).unwrap();
        assert_eq!(ranks, runnable);
        let mut moved = explorer.clone();
        assert_eq!(moved.delay_until(Process(2), Runnable::new(&runnable)), Ok(1));
        let all = [Process(0), Process(1), Process(2)];
        moved.rank(Runnable::new(&all), &mut ranks).unwrap();
        assert_eq!(ranks, [Process(0), Process(2), Process(1)]);
    }

    #[test]
    fn an_explorer_that_reaches_not_all_is_named_with_what_it_misses() {
        let all = [Process(0), Process(1), Process(2)];
        let wrong = three(true).rank(Runnable::new(&all), &mut Vec::new()).unwrap_err();
        assert_eq!((wrong.unreached, wrong.named, wrong.delays), (Process(1), Process(0), 1));
        assert!(wrong.to_string().starts_with("the explorer `in-order` does not reach process 1"));
        let wrong = three(true).delay_until(Process(2), Runnable::new(&all)).unwrap_err();
        assert_eq!(wrong.unreached, Process(2));
    }

    #[test]
    fn equal_states_have_equal_fingerprints() {
        let (one, mut other) = (three(false), three(false));
        assert_eq!(one.fingerprint(), other.fingerprint());
        other.delay(Process(0));
        assert_ne!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn the_last_order_of_a_step_counts_and_is_taken_once() {
        change_order(["a"]);
        change_order(["b", "c"]);
        assert_eq!(take_order().as_deref(), Some(["b".to_owned(), "c".to_owned()].as_slice()));
        assert_eq!(take_order(), None);
    }
}
