//! The threads of a search over states.
//!
//! A search goes in *rounds*: breadth-first those of one depth, in a stratified search those of one
//! stratum. Each thread has entries of its own, and what has been seen is shared. A thread that has
//! nothing left asks for some, and another one hands over half of its own; a round is over when all have
//! nothing left. So which states belong to a round does not depend on how many threads there are.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use raddle_engine::states::{SavedEntry, SavedStates, SavedStep};

use super::frontier::{Entry, Frontier, Told};
use super::report::{Refused, Stopped, Visited};
use super::saved::{Listener, Wish, save_step};
use super::seen::Seen;
use super::walker::{Halt, Tally, Walker};
use super::way::{WayPacker, Ways};
use super::{Space, States};
use crate::model::Model;
use crate::snapshot::{Exact, Move, Parcel, Snapshot};

/// Entries for another thread.
pub(super) struct Packed<E> {
    states: Parcel,
    ways: Ways,
    /// Each with its depth and, if ways are kept, the number of its own.
    rest: Vec<(u32, Option<u32>, E)>,
}

impl<E> Packed<E> {
    fn new<W: Walk<Sent = E>>(walk: &W, entries: Vec<Entry<W::Extra>>) -> Self {
        let states = Parcel::pack(entries.iter().map(|entry| &entry.state));
        let mut packer = WayPacker::default();
        // Their ways live on until all are packed: what is known there by its place stays where it is.
        let ways: Vec<_> =
            entries.iter().map(|entry| entry.way.as_ref().map(|way| packer.add(way))).collect();
        let rest = entries.into_iter().zip(ways);
        let rest = rest.map(|(entry, way)| (entry.depth, way, walk.send(entry.extra))).collect();
        Self { states, ways: packer.ways, rest }
    }

    fn unpack<W: Walk<Sent = E>>(self, walk: &W) -> impl Iterator<Item = Entry<W::Extra>> {
        let ways = self.ways.unpack();
        self.states.unpack().zip(self.rest).map(move |(state, (depth, way, sent))| Entry {
            state,
            depth,
            way: way.map(|number| ways[number as usize].clone()),
            extra: walk.receive(sent),
        })
    }
}

/// How a search goes on from an entry.
pub(super) trait Walk: Sync {
    /// What an entry has besides its state.
    type Extra: Clone;

    /// The same on its way to another thread.
    type Sent: Send;

    /// Whether the entry that came last is next.
    const LAST_FIRST: bool;

    /// Goes on from an entry: what is to be gone on from is added to the frontier, for this round or for those to come.
    fn expand<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        entry: Entry<Self::Extra>,
        frontier: &mut Frontier<Self::Extra>,
    ) -> Result<(), Halt>;

    fn send(&self, extra: Self::Extra) -> Self::Sent;

    fn receive(&self, sent: Self::Sent) -> Self::Extra;

    /// In which round an entry is due: it is one of those after this one.
    fn due(&self, entry: &Entry<Self::Extra>) -> u32 {
        let _ = entry;
        0
    }

    /// What is due by then belongs to the round that has begun.
    fn begun(&self) -> u32 {
        u32::MAX
    }

    /// A round is over, and something is left for the next one. `false` if that is not wanted.
    fn next_round<S>(&self, shared: &Shared<'_, S>) -> bool {
        let _ = shared;
        true
    }

    /// Writes down what an entry has besides its state and the way to it.
    fn save(&self, extra: &Self::Extra, saved: &mut SavedEntry);

    /// The same while it is on its way.
    fn save_sent(&self, sent: &Self::Sent, saved: &mut SavedEntry);

    /// Writes down what the search has besides its entries.
    fn save_all(&self, saved: &mut SavedStates) {
        let _ = saved;
    }

    /// What an entry has after a step to `next`, as long as nothing else is known of it. The step was just taken.
    fn follow<S: Send + Sync + 'static>(
        &self,
        walker: &Walker<'_, S>,
        before: &mut Entry<Self::Extra>,
        step: Move,
        next: &Snapshot,
    ) -> Result<Self::Extra, Halt>;

    /// Makes what an entry has what it was when it was saved.
    fn restore(&self, extra: &mut Self::Extra, saved: &SavedEntry);
}

/// What the threads of a search share.
pub(super) struct Shared<'a, S> {
    pub(super) model: &'a Model<S>,
    pub(super) limits: &'a States,
    pub(super) seen: Seen,
    exact: Exact,
    /// Different states, if they are limited.
    counted: AtomicU64,
    transitions: AtomicU64,
    /// States that were gone on from.
    gone_on: AtomicU64,
    waiting: AtomicU64,
    waiting_bytes: AtomicUsize,
    over: AtomicBool,
    /// All threads are to hand in what they have.
    saving: AtomicBool,
    /// How many threads have nothing to do, and nothing on its way to them.
    hungry: AtomicUsize,
    /// One thread after the other sets up its own system.
    setting_up: Mutex<()>,
    /// What the process held when the search began.
    held_before: u64,
}

impl<'a, S: Send + Sync + 'static> Shared<'a, S> {
    /// `counted`: how many states there have been, of those that are limited.
    pub(super) fn new(
        model: &'a Model<S>,
        limits: &'a States,
        exact: Exact,
        seen: Seen,
        counted: u64,
    ) -> Self {
        Self {
            model,
            limits,
            seen,
            exact,
            counted: AtomicU64::new(counted),
            transitions: AtomicU64::new(0),
            gone_on: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            waiting_bytes: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            saving: AtomicBool::new(false),
            hungry: AtomicUsize::new(0),
            setting_up: Mutex::new(()),
            held_before: held(),
        }
    }

    /// One more state was met that is new, by a thread that has so many bytes waiting.
    #[inline]
    pub(super) fn count_new(&self, waiting_bytes: usize) -> Result<(), Halt> {
        let limits = self.limits;
        if limits.most != u64::MAX {
            let counted = self.counted.fetch_add(1, Ordering::Relaxed) + 1;
            if counted >= limits.most {
                return Err(Halt::Stopped(Stopped::States));
            }
        }
        if self.seen.bytes() + waiting_bytes * limits.threads > limits.bytes {
            return Err(Halt::Stopped(Stopped::Bytes));
        }
        Ok(())
    }

    /// Whether the process has grown by more than the search may hold. What actors, messages and explorers have on the heap
    /// is in no estimate, and is most of what some models take.
    fn has_outgrown_its_limit(&self) -> bool {
        let most = (self.limits.bytes as u64).max(LEAST_GROWTH);
        held().saturating_sub(self.held_before) > most
    }

    pub(super) fn visited(&self) -> Visited {
        let unique = if self.limits.marks_ahead() {
            self.gone_on.load(Ordering::Relaxed)
        } else {
            self.seen.len() + self.seen.dropped()
        };
        Visited {
            unique,
            transitions: self.transitions.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            bytes: self.seen.bytes() + self.waiting_bytes.load(Ordering::Relaxed),
        }
    }

    /// What it has besides entries, and besides what threads have done.
    pub(super) fn save(&self) -> SavedStates {
        let Exact { clock, timers } = self.exact;
        SavedStates {
            exact: (clock, timers),
            seen: self.seen.save(),
            dropped: self.seen.dropped(),
            counted: self.counted.load(Ordering::Relaxed),
            ..SavedStates::default()
        }
    }

    pub(super) fn walker(&self, space: Space<S>) -> Walker<'_, S> {
        let reached = vec![false; self.model.properties.len()];
        let tally = Tally { reached, ..Tally::default() };
        Walker { shared: self, space, tally, waiting_bytes: 0 }
    }
}

/// What is written on by all threads.
struct Board<E> {
    round: u64,
    idle: usize,
    parcels: Vec<Packed<E>>,
    /// By thread, how much it has for the next round. As of when it had nothing left for this one.
    later: Vec<usize>,
    halt: Option<Halt>,
    tally: Tally,
    /// Nothing is left, or nothing more is wanted.
    done: bool,
    /// While the search is saved: what threads have handed in, and how many have.
    saved: SavedParts,
}

/// What threads hand in when a search is saved.
#[derive(Default)]
struct SavedParts {
    /// How often the search was saved.
    time: u64,
    threads: usize,
    steps: Vec<SavedStep>,
    /// Those for the next round are behind the others.
    now: Vec<SavedEntry>,
    later: Vec<SavedEntry>,
    tally: Tally,
    /// An entry has no way.
    without_ways: bool,
}

/// The threads of a search.
struct Team<'a, 'b, S, W: Walk> {
    shared: &'a Shared<'b, S>,
    walk: &'a W,
    threads: usize,
    board: Mutex<Board<W::Sent>>,
    changed: Condvar,
}

/// Asked by the first thread, now and then: whether to go on.
pub(super) type GoOn<'a> = &'a mut dyn Listener;

/// With fewer entries than this a thread hands over nothing: to copy them for another one would take longer than to go on from
/// them. Tests have few.
const LEAST_TO_SHARE: usize = if cfg!(test) { 8 } else { 64 };
/// How many entries are handed over at once.
const MOST_TO_SHARE: usize = 2048;

/// What a search begins with, or goes on from: for this round and for the next.
pub(super) struct First<E> {
    pub(super) now: Vec<Entry<E>>,
    pub(super) later: Vec<Entry<E>>,
}

/// Runs a search from these entries to its end, with `walker` on this thread and others besides.
pub(super) fn run<S: Send + Sync + 'static, W: Walk>(
    walk: &W,
    walker: Walker<'_, S>,
    first: First<W::Extra>,
    go_on: GoOn<'_>,
) -> (Tally, Option<Halt>) {
    let shared = walker.shared;
    let threads = shared.limits.threads.max(1);
    let board = Board {
        round: 0,
        idle: 0,
        parcels: Vec::new(),
        later: vec![0; threads],
        halt: None,
        tally: Tally::default(),
        done: false,
        saved: SavedParts::default(),
    };
    let team = Team { shared, walk, threads, board: Mutex::new(board), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|nth| (nth, &team))
            .map(|(nth, team)| scope.spawn(move || team.join(nth)))
            .collect();
        let on_unwind = OverOnUnwind(&team);
        team.work(0, walker, first, &mut Some(go_on));
        drop(on_unwind);
        for other in others {
            if let Err(panic) = other.join() {
                resume_unwind(panic);
            }
        }
    });
    let Board { tally, halt, .. } = team.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    (tally, halt)
}

/// A thread that panics ends the search for the others.
struct OverOnUnwind<'a, 'b, 'c, S, W: Walk>(&'c Team<'a, 'b, S, W>);

impl<S, W: Walk> Drop for OverOnUnwind<'_, '_, '_, S, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shared.over.store(true, Ordering::Relaxed);
            self.0.changed.notify_all();
        }
    }
}

impl<S: Send + Sync + 'static, W: Walk> Team<'_, '_, S, W> {
    fn board(&self) -> MutexGuard<'_, Board<W::Sent>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread besides the first.
    fn join(&self, nth: usize) {
        let _on_unwind = OverOnUnwind(self);
        let space = {
            let _one = self.shared.setting_up.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.model.space_of(self.shared.exact)
        };
        match space {
            Ok(space) => {
                let nothing = First { now: Vec::new(), later: Vec::new() };
                self.work(nth, self.shared.walker(space), nothing, &mut None);
            }
            Err(why) => self.halt(Halt::Refused(why)),
        }
    }

    fn halt(&self, halt: Halt) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.board().halt.get_or_insert(halt);
        self.changed.notify_all();
    }

    fn work(
        &self,
        nth: usize,
        mut walker: Walker<'_, S>,
        First { now, later }: First<W::Extra>,
        go_on: &mut Option<GoOn<'_>>,
    ) {
        let told = Progress::default();
        let frontier = Frontier::new(now, W::LAST_FIRST);
        let mut own = Own { frontier, laps: 0, told };
        for entry in later {
            own.frontier.push_later(self.walk.due(&entry), entry);
        }
        while !self.shared.over.load(Ordering::Relaxed) {
            if self.shared.saving.load(Ordering::Relaxed) {
                self.hand_in(&own, &walker);
            }
            let Some(entry) = own.frontier.next() else {
                self.tell(&mut own, &walker);
                if self.idle(nth, &mut own, &walker, go_on) {
                    continue;
                }
                break;
            };
            walker.waiting_bytes = own.frontier.bytes();
            if let Err(halt) = self.walk.expand(&mut walker, entry, &mut own.frontier) {
                self.halt(halt);
                break;
            }
            if self.shared.hungry.load(Ordering::Relaxed) > 0
                && own.frontier.ready() >= LEAST_TO_SHARE
            {
                self.share(&mut own);
            }
            own.laps = own.laps.wrapping_add(1);
            if own.laps.is_multiple_of(self.shared.limits.lap) {
                if self.shared.has_outgrown_its_limit() {
                    self.halt(Halt::Stopped(Stopped::Bytes));
                }
                self.tell(&mut own, &walker);
                self.ask(&own, &walker, None, go_on);
            }
        }
        self.tell(&mut own, &walker);
        self.board().tally.add(&walker.finish());
    }

    /// Asks whether to go on, if this is the thread that does. `idle`: the round in which it has nothing left.
    fn ask(
        &self,
        own: &Own<W::Extra>,
        walker: &Walker<'_, S>,
        idle: Option<u64>,
        go_on: &mut Option<GoOn<'_>>,
    ) {
        let Some(listener) = go_on else { return };
        let mut wish = listener.visited(self.shared.visited());
        while wish == Wish::Save {
            wish = listener.saved(self.save(own, walker, idle).map(Box::new));
        }
        if wish == Wish::Stop {
            self.halt(Halt::Stopped(Stopped::Caller));
        }
    }

    /// Has all threads hand in what they have, and puts it together. `None` if the search is over meanwhile, or keeps no
    /// ways.
    fn save(
        &self,
        own: &Own<W::Extra>,
        walker: &Walker<'_, S>,
        idle: Option<u64>,
    ) -> Option<SavedStates> {
        let mut board = self.board();
        // No round begins from here on. What was for the next one is for this one if that has begun just before.
        self.shared.saving.store(true, Ordering::Relaxed);
        let begun = idle.is_some_and(|round| round != board.round);
        board.saved.add(self.walk, own, walker, begun);
        self.changed.notify_all();
        while board.saved.threads < self.threads && !self.is_over(&board) {
            board = self.wait(board);
        }
        let Board { saved, parcels, .. } = &mut *board;
        for parcel in parcels.iter() {
            saved.add_parcel(self.walk, parcel);
        }
        let next = SavedParts { time: saved.time + 1, ..SavedParts::default() };
        let parts = std::mem::replace(saved, next);
        self.shared.saving.store(false, Ordering::Relaxed);
        self.changed.notify_all();
        if self.is_over(&board) {
            return None;
        }
        let mut saved = self.shared.save();
        self.walk.save_all(&mut saved);
        parts.finish(saved)
    }

    /// Hands in what this thread has, and waits until all have done so.
    fn hand_in(&self, own: &Own<W::Extra>, walker: &Walker<'_, S>) {
        let mut board = self.board();
        if !self.shared.saving.load(Ordering::Relaxed) {
            return;
        }
        let time = board.saved.time;
        board.saved.add(self.walk, own, walker, false);
        self.changed.notify_all();
        while board.saved.time == time && !self.is_over(&board) {
            board = self.wait(board);
        }
    }

    fn is_over(&self, board: &Board<W::Sent>) -> bool {
        board.done || self.shared.over.load(Ordering::Relaxed)
    }

    fn wait<'b>(&self, board: MutexGuard<'b, Board<W::Sent>>) -> MutexGuard<'b, Board<W::Sent>> {
        let waited = self.changed.wait_timeout(board, PATIENCE);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells the others how far this thread is.
    fn tell(&self, own: &mut Own<W::Extra>, walker: &Walker<'_, S>) {
        let now = Progress {
            transitions: walker.tally.transitions,
            gone_on: walker.tally.gone_on,
            waiting: own.frontier.len() as u64,
            bytes: own.frontier.bytes(),
        };
        let before = std::mem::replace(&mut own.told, now);
        let Shared { transitions, gone_on, waiting, waiting_bytes, .. } = self.shared;
        let add = |to: &AtomicU64, before: u64, now: u64| {
            to.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
        };
        add(transitions, before.transitions, now.transitions);
        add(gone_on, before.gone_on, now.gone_on);
        add(waiting, before.waiting, now.waiting);
        waiting_bytes.fetch_add(now.bytes.wrapping_sub(before.bytes), Ordering::Relaxed);
    }

    /// Hands half of what is to be gone on from to a thread that has nothing.
    fn share(&self, own: &mut Own<W::Extra>) {
        let given = own.frontier.give((own.frontier.ready() / 2).min(MOST_TO_SHARE));
        let packed = Packed::new(self.walk, given);
        let mut board = self.board();
        board.parcels.push(packed);
        self.count_hungry(&board);
        self.changed.notify_all();
    }

    fn count_hungry(&self, board: &Board<W::Sent>) {
        let hungry = board.idle.saturating_sub(board.parcels.len());
        self.shared.hungry.store(hungry, Ordering::Relaxed);
    }

    /// The thread has nothing left for this round. `false` if that is so for good.
    fn idle(
        &self,
        nth: usize,
        own: &mut Own<W::Extra>,
        walker: &Walker<'_, S>,
        go_on: &mut Option<GoOn<'_>>,
    ) -> bool {
        let mut board = self.board();
        let round = board.round;
        board.later[nth] = own.frontier.later();
        board.idle += 1;
        self.count_hungry(&board);
        loop {
            let saving = self.shared.saving.load(Ordering::Relaxed);
            if board.idle == self.threads && board.parcels.is_empty() && !saving {
                let more = board.later.iter().any(|&later| later > 0);
                board.done = !more || !self.walk.next_round(self.shared);
                (board.round, board.idle) = (board.round + 1, 0);
                self.count_hungry(&board);
                self.changed.notify_all();
            }
            if self.is_over(&board) {
                return false;
            }
            if board.round != round {
                own.frontier.begin(self.walk.begun());
                return true;
            }
            if saving {
                drop(board);
                self.hand_in(own, walker);
                board = self.board();
                continue;
            }
            if let Some(packed) = board.parcels.pop() {
                board.idle -= 1;
                self.count_hungry(&board);
                drop(board);
                own.frontier.now.extend(packed.unpack(self.walk));
                return true;
            }
            board = self.wait(board);
            // The first thread is also the one that is asked how far the search is.
            if go_on.is_some() {
                drop(board);
                self.ask(own, walker, Some(round), go_on);
                board = self.board();
            }
        }
    }
}

impl SavedParts {
    /// What one thread has. `begun`: what it has for the next round is for this one.
    fn add<S: Send + Sync + 'static, W: Walk>(
        &mut self,
        walk: &W,
        own: &Own<W::Extra>,
        walker: &Walker<'_, S>,
        begun: bool,
    ) {
        self.threads += 1;
        self.tally.add(&walker.tally());
        let mut packer = WayPacker::default();
        let first = self.steps.len() as u32;
        for Told { due, fingerprint, way, extra } in own.frontier.each() {
            let Some(way) = way else {
                self.without_ways = true;
                return;
            };
            let later = due.is_some_and(|due| !begun || due > walk.begun());
            let mut saved = saved_entry(after(first, packer.add(way)), fingerprint);
            walk.save(extra, &mut saved);
            if later { self.later.push(saved) } else { self.now.push(saved) }
        }
        self.add_steps(packer.ways);
    }

    /// What is on its way from one thread to another.
    fn add_parcel<W: Walk>(&mut self, walk: &W, parcel: &Packed<W::Sent>) {
        let first = self.steps.len() as u32;
        for (fingerprint, (_, way, extra)) in parcel.states.fingerprints().zip(&parcel.rest) {
            let Some(way) = *way else {
                self.without_ways = true;
                return;
            };
            let mut saved = saved_entry(after(first, way), fingerprint);
            walk.save_sent(extra, &mut saved);
            self.now.push(saved);
        }
        self.add_steps(parcel.ways.clone());
    }

    fn add_steps(&mut self, ways: Ways) {
        let first = self.steps.len() as u32;
        let steps = ways.steps.into_iter().map(|(before, step)| (after(first, before), step));
        self.steps.extend(steps.map(save_step));
    }

    /// All of it, with what is not of one thread; none if the search keeps no ways.
    fn finish(self, saved: SavedStates) -> Option<SavedStates> {
        let Self { steps, now: mut entries, later, tally, .. } = self;
        entries.extend(later.into_iter().map(|entry| SavedEntry { later: true, ..entry }));
        let done = tally.save();
        (!self.without_ways).then_some(SavedStates { steps, entries, done, ..saved })
    }
}

/// The number of a step among all, of which `first` come before those that it is counted with.
fn after(first: u32, number: u32) -> u32 {
    if number == 0 { 0 } else { first + number }
}

/// With nothing but its state.
fn saved_entry(at: u32, fingerprint: u64) -> SavedEntry {
    SavedEntry { at, fingerprint, later: false, spent: 0, tried: 0, values: Vec::new() }
}

/// By how many bytes a process may grow in any case: what else it does makes it grow, too.
const LEAST_GROWTH: u64 = 256 << 20;

/// How many bytes the process has in memory; 0 where the system does not say.
fn held() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// How long a thread without work waits before it looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// What a thread has told the others.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    transitions: u64,
    gone_on: u64,
    waiting: u64,
    bytes: usize,
}

/// What a thread has to go on from, and what it has told of that.
struct Own<E> {
    frontier: Frontier<E>,
    laps: u32,
    told: Progress,
}

/// Refuses what threads do not go together with.
pub(super) fn check_threads(limits: &States) -> Result<(), Refused> {
    let why = "a depth-first search over states runs on one thread: it holds the states of one path; \
               leave out `threads`, or search breadth-first";
    match limits.threads {
        0 | 1 => Ok(()),
        _ if limits.order == super::Order::DepthFirst => Err(Refused::new(why)),
        _ => Ok(()),
    }
}
