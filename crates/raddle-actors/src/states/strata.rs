//! Stratified exhaustive search over states: those that need few delays of an explorer first.
//!
//! Desai, Qadeer and Seshia, FSE 2015. A round is a *stratum*, or several if the increment is more than one: what
//! needs more delays than its bound waits in the frontier. Values that are decided in a step are ordered, too: each
//! costs as much as it is large.
//!
//! *As in the paper* what has been seen is program states alone. Then a state may be met first with more delays than
//! it needs, and what lies behind it is visited later than its stratum; so only the end of the whole search is a
//! guarantee. The paper comes back to a state for each further delay. Here all steps are taken when a state is gone on
//! from, while it is in the processor's caches; the states that they lead to wait for their strata, each marked with its
//! price among what has been seen. One that is met at a lower price meanwhile is gone on from at that one. What must hold is
//! looked at when a state's stratum has come, and a step that panics is taken once more then: so nothing is found before its
//! stratum. One whose stratum is this one need not be marked: if strata come one by one there is no lower price for it.
//!
//! *Exact*, a state's options are tried level by level, the n-th level for n delays. What has been seen is pairs of a program's and an explorer's state, each gone on from at its
//! least price; then every finished stratum is one. With an increment of one no pair is met first at a higher price,
//! because a stratum is finished before the next one begins; else it is gone on from again.
//!
//! With a limit on the depth, states are told apart by their depth as well: a state that is met too deep to go on
//! from may be met again at a smaller one.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use raddle_engine::explorer::{Explorer, Runnable};
use raddle_engine::states::{SavedEntry, SavedStates};

use super::explorers::{Explorers, Known, Ranking};
use super::frontier::{Entry, Frontier};
use super::processes::{Movers, Offer, Processes};
use super::report::Refused;
use super::saved::strayed;
use super::seen::Met;
use super::space::text;
use super::team::{Shared, Walk};
use super::walker::{Halt, Walker};
use super::way::Way;
use crate::hash::mix;
use crate::snapshot::{Happened, Move, Snapshot};

/// A stratified search, as it is asked for.
#[derive(Clone, Debug)]
pub(super) struct Stratified {
    pub(super) explorer: Explorer,
    pub(super) exact: bool,
    pub(super) increment: u32,
    pub(super) delays: Option<u32>,
}

impl fmt::Display for Stratified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = if self.exact { ", exact" } else { "" };
        write!(f, "strata({}{exact})", self.explorer.name())?;
        if self.increment != 1 {
            write!(f, " increment({})", self.increment)?;
        }
        self.delays.map_or(Ok(()), |delays| write!(f, " delays({delays})"))
    }
}

/// A stratified search while it runs.
pub(super) struct Strata {
    /// No other search of the process has it.
    number: u64,
    asked: Stratified,
    processes: Processes,
    /// The most delays of the strata that are gone through now.
    bound: AtomicU32,
    /// The most delays of the strata before.
    finished: AtomicU32,
    /// Something needs more delays than were asked for, and one such entry waits: so it is known that not all was visited.
    left_out: AtomicBool,
}

/// How many searches there were.
static SEARCHES: AtomicU64 = AtomicU64::new(0);

/// No stratum is finished.
const NONE: u32 = u32::MAX;

/// What an entry has besides its state. On its way to another thread it has an explorer of its own.
#[derive(Clone)]
pub(super) struct Priced<X = Rc<Known>> {
    explorer: X,
    /// How many delays it took to get here.
    spent: u32,
    /// Exact: what costs less was tried. Else 1 if what must hold was looked at when the state was met.
    level: u32,
    /// Most entries that wait have none, and there are very many.
    rest: Option<Box<Rest>>,
}

/// What an entry has that was gone on from, and is to be gone on from again.
#[derive(Clone, Default)]
struct Rest {
    /// Exact: known once the first level has been tried.
    offers: Vec<Offer>,
    /// Values to try, exact at this level: of which offer, and which.
    values: Vec<(u32, Box<[u32]>)>,
}

impl Strata {
    /// From its beginning, or from where it was saved.
    pub(super) fn new(
        asked: &Stratified,
        processes: Processes,
        from: Option<&SavedStates>,
    ) -> Self {
        // The first round is the stratum without delays, as in the paper.
        let (bound, finished) = from.map_or((0, None), |saved| saved.strata);
        let (bound, finished) = (AtomicU32::new(bound), AtomicU32::new(finished.unwrap_or(NONE)));
        let left_out = AtomicBool::new(false);
        let number = SEARCHES.fetch_add(1, Ordering::Relaxed);
        Self { number, asked: asked.clone(), processes, bound, finished, left_out }
    }

    /// The first entry; `ways`: with the steps that lead to it and to those that come of it.
    pub(super) fn first(&self, state: Snapshot, ways: bool) -> Result<Entry<Priced>, Halt> {
        let mut scratch = self.scratch();
        let explorer = self.ask(|| {
            let mut explorer = self.asked.explorer.clone();
            self.processes.begin(&mut explorer, &state);
            scratch.explorers.share(explorer)
        })?;
        scratch.keep();
        let extra = Priced::new(explorer, 0);
        Ok(Entry { state, depth: 0, way: ways.then(Way::default), extra })
    }

    /// What the first entry is known by.
    pub(super) fn key_of(&self, entry: &Entry<Priced>, limited: bool) -> u64 {
        let explorer = Some(&*entry.extra.explorer).filter(|_| self.asked.exact);
        self.key(&entry.state, explorer, limited.then_some(0))
    }

    /// The price of the first state among what has been seen.
    pub(super) fn first_price(&self) -> u8 {
        if self.asked.exact { 0 } else { self.price(0) }
    }

    /// Strata up to this number of delays are finished.
    pub(super) fn finished(&self) -> Option<u32> {
        Some(self.finished.load(Ordering::Relaxed)).filter(|&delays| delays != NONE)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.asked.exact
    }

    /// Whether something is left that needs more delays than were asked for.
    pub(super) fn is_cut(&self) -> bool {
        self.asked.delays.is_some() && self.finished() == self.asked.delays
    }

    /// Runs code of the explorer, which may be a user's.
    fn ask<R>(&self, ask: impl FnOnce() -> R) -> Result<R, Halt> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).map_err(|panic| {
            let (name, text) = (self.asked.explorer.name(), text(&*panic));
            Halt::Refused(Refused::explorer(format!("the explorer `{name}` panicked: {text}")))
        })
    }

    /// How an explorer ranks the processes that can move.
    fn rank(
        &self,
        explorers: &mut Explorers,
        explorer: &Rc<Known>,
        movers: &mut Movers,
    ) -> Result<Rc<Ranking>, Halt> {
        explorers.ranking(explorer, movers.bits(), || {
            let mut ranks = Vec::new();
            self.ask(|| explorer.explorer.rank(Runnable::new(movers.list()), &mut ranks))?
                .map_err(|why| Halt::Refused(Refused::explorer(why.to_string())))?;
            Ok(ranks)
        })
    }

    /// What is kept from expansion to expansion, of this search.
    fn scratch(&self) -> Box<Scratch> {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        if scratch.search != Some(self.number) {
            // Explorers of different searches are not told apart by their fingerprints.
            (scratch.search, scratch.explorers) = (Some(self.number), Explorers::default());
        }
        scratch
    }

    /// What a state is known by.
    #[inline]
    fn key(&self, state: &Snapshot, explorer: Option<&Known>, depth: Option<u32>) -> u64 {
        let mut key = state.fingerprint();
        if let Some(explorer) = explorer {
            let order = self.processes.order_hash(state);
            key = mix(key ^ mix(explorer.fingerprint ^ mix(order)));
        }
        depth.map_or(key, |depth| mix(key ^ mix(u64::from(depth) ^ 31 << 40)))
    }

    /// A price as what has been seen has it. Exact: 0 is that of strata that are finished; else of what was gone on from.
    fn price(&self, spent: u32) -> u8 {
        if !self.asked.exact {
            return spent.saturating_add(1).min(u8::MAX.into()) as u8;
        }
        let before = self.finished().map_or(0, |finished| finished + 1);
        spent.saturating_sub(before).saturating_add(1).min(u8::MAX.into()) as u8
    }
}

impl<X> Priced<X> {
    fn save(&self, saved: &mut SavedEntry) {
        (saved.spent, saved.tried) = (self.spent, self.level);
        let values = self.rest.iter().flat_map(|rest| &rest.values);
        saved.values = values.map(|(nth, values)| (*nth, values.to_vec())).collect();
    }
}

impl Priced {
    fn new(explorer: Rc<Known>, spent: u32) -> Self {
        Self { explorer, spent, level: 0, rest: None }
    }

    fn offers(&self) -> &[Offer] {
        self.rest.as_ref().map_or(&[], |rest| &rest.offers)
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// What is tried at its level: each with the number of its offer, and its values.
    fn tried(&mut self, tried: &mut Vec<(u32, Box<[u32]>)>) {
        let at = |(_, offer): &(usize, &Offer)| offer.price == self.level;
        let of = |(nth, _): (usize, &Offer)| (nth as u32, Box::default());
        tried.clear();
        tried.extend(self.offers().iter().enumerate().filter(at).map(of));
        if let Some(rest) = &mut self.rest {
            tried.append(&mut rest.values);
        }
    }

    fn is_done(&self) -> bool {
        let last = self.offers().last().map_or(0, |offer| offer.price);
        self.level > last && self.rest.as_ref().is_none_or(|rest| rest.values.is_empty())
    }
}

/// The values that cost one delay more than these and come of them, where so many options were asked for: the last
/// one that is not 0 by one more, or a later one instead of 0. All values come of exactly one other, but for
/// those that are all 0.
fn dearer(values: &[u32], of: &[u32]) -> impl Iterator<Item = Box<[u32]>> {
    let end = values.len() - values.iter().rev().take_while(|value| **value == 0).count();
    let first = end.saturating_sub(1);
    let may = move |&at: &usize| values.get(at).copied().unwrap_or(0) + 1 < of[at];
    (first..of.len()).filter(may).map(move |at| {
        let mut more = values[..end].to_vec();
        more.resize(more.len().max(at + 1), 0);
        more[at] += 1;
        more.into()
    })
}

/// A step that was taken, and the state that it led to.
struct Made {
    offer: Offer,
    state: Snapshot,
    did: Vec<Happened>,
}

/// A state that is gone on from.
struct Going<'a> {
    entry: &'a Entry<Priced>,
    ranking: &'a Ranking,
    scratch: &'a mut Scratch,
    frontier: &'a mut Frontier<Priced>,
}

impl Going<'_> {
    /// Has it wait for another stratum, in which a step is taken again if there is one.
    #[cold]
    fn wait(&mut self, spent: u32, again: Option<(u32, Box<[u32]>)>) {
        let Entry { state, depth, way, extra } = self.entry;
        let mut extra = Priced::new(Rc::clone(&extra.explorer), spent);
        if let Some(again) = again {
            extra.rest().values.push(again);
        }
        let (state, depth, way) = (state.clone(), *depth, way.clone());
        self.frontier.push_later(spent, Entry { state, depth, way, extra });
    }
}

/// What one expansion needs, for its allocations, and what is known of the explorer.
#[derive(Default)]
struct Scratch {
    /// Of which search.
    search: Option<u64>,
    explorers: Explorers,
    /// What can move before and after a step.
    movers: Movers,
    after: Movers,
    offers: Vec<Offer>,
    /// Values to try, those that cost less first.
    values: Vec<Box<[u32]>>,
    tried: Vec<(u32, Box<[u32]>)>,
    children: Vec<Entry<Priced>>,
    made: Vec<Made>,
    /// For what steps did.
    spare: Vec<Vec<Happened>>,
}

impl Scratch {
    /// What a step did, of which another list is left in its place.
    fn did(&mut self, of: &mut Vec<Happened>) -> Vec<Happened> {
        std::mem::replace(of, self.spare.pop().unwrap_or_default())
    }

    /// Keeps it for the next expansion.
    fn keep(self: Box<Self>) {
        SCRATCH.set(Some(self));
    }
}

impl Drop for Strata {
    /// The explorer may be a user's.
    fn drop(&mut self) {
        drop(SCRATCH.take());
    }
}

thread_local! {
    /// In a box: it is moved twice for each state.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Walk for Strata {
    type Extra = Priced;
    type Sent = Priced<Explorer>;
    const LAST_FIRST: bool = true;

    fn expand<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        mut entry: Entry<Priced>,
        frontier: &mut Frontier<Priced>,
    ) -> Result<(), Halt> {
        let mut scratch = self.scratch();
        if !self.asked.exact {
            self.go_on_from(walker, &mut entry, &mut scratch, frontier)?;
            scratch.keep();
            return Ok(());
        }
        let Scratch { explorers, movers, .. } = &mut *scratch;
        self.processes.movers(&entry.state, movers);
        let ends = movers.is_empty();
        if ends || walker.shared.limits.depth.is_some_and(|most| entry.depth >= most) {
            scratch.keep();
            walker.tally.cut |= !ends;
            return if ends { walker.end(&entry.state, entry.way.as_ref()) } else { Ok(()) };
        }
        let ranking = self.rank(explorers, &entry.extra.explorer, movers)?;
        if entry.extra.offers().is_empty() {
            let rest = entry.extra.rest();
            self.processes.offers(&entry.state, &ranking, movers, &mut rest.offers);
            let n = rest.offers.len();
            if rest.values.iter().any(|(nth, _)| *nth as usize >= n) {
                return Err(strayed());
            }
        }
        let (mut tried, mut children) =
            (std::mem::take(&mut scratch.tried), std::mem::take(&mut scratch.children));
        entry.extra.tried(&mut tried);
        for (nth, values) in tried.drain(..) {
            let child = self.take(walker, &mut entry, (nth, &values), &ranking, &mut scratch)?;
            children.extend(child);
        }
        entry.extra.level += 1;
        if !entry.extra.is_done() {
            let spends = entry.extra.spent + entry.extra.level;
            if spends <= self.bound.load(Ordering::Relaxed) {
                frontier.now.push_back(entry);
            } else {
                frontier.push_later(spends, entry);
            }
        }
        // The last is next, and the first that was tried is to be.
        frontier.now.extend(children.drain(..).rev());
        (scratch.tried, scratch.children) = (tried, children);
        scratch.keep();
        Ok(())
    }

    fn next_round<S>(&self, shared: &Shared<'_, S>) -> bool {
        let bound = self.bound.load(Ordering::Relaxed);
        self.finished.store(bound, Ordering::Relaxed);
        let Stratified { increment, delays, .. } = self.asked;
        if delays.is_some_and(|most| bound >= most) {
            return false;
        }
        if self.asked.exact {
            shared.seen.settle();
        }
        let next = bound.saturating_add(increment).min(delays.unwrap_or(u32::MAX));
        self.bound.store(next, Ordering::Relaxed);
        true
    }

    fn due(&self, entry: &Entry<Priced>) -> u32 {
        entry.extra.spent + if self.asked.exact { entry.extra.level } else { 0 }
    }

    fn begun(&self) -> u32 {
        self.bound.load(Ordering::Relaxed)
    }

    fn send(&self, extra: Priced) -> Priced<Explorer> {
        let Priced { explorer, spent, level, rest } = extra;
        Priced { explorer: explorer.explorer.clone(), spent, level, rest }
    }

    fn receive(&self, sent: Priced<Explorer>) -> Priced {
        let Priced { explorer, spent, level, rest } = sent;
        let mut scratch = self.scratch();
        let explorer = scratch.explorers.share(explorer);
        scratch.keep();
        Priced { explorer, spent, level, rest }
    }

    fn save(&self, extra: &Priced, saved: &mut SavedEntry) {
        extra.save(saved);
    }

    fn save_sent(&self, sent: &Priced<Explorer>, saved: &mut SavedEntry) {
        sent.save(saved);
    }

    fn save_all(&self, saved: &mut SavedStates) {
        saved.strata = (self.bound.load(Ordering::Relaxed), self.finished());
    }

    fn follow<S: Send + Sync + 'static>(
        &self,
        walker: &Walker<'_, S>,
        before: &mut Entry<Priced>,
        step: Move,
        next: &Snapshot,
    ) -> Result<Priced, Halt> {
        let mut scratch = self.scratch();
        let Scratch { explorers, movers, .. } = &mut *scratch;
        self.processes.movers(&before.state, movers);
        let process = self.processes.of(&before.state, step);
        if !movers.list().contains(&process) {
            return Err(strayed());
        }
        let ranking = self.rank(explorers, &before.extra.explorer, movers)?;
        let took = (ranking.rank(process), step);
        let did = &walker.space.stepper.did;
        let explorer = self.go_on(&mut scratch, before, &ranking, took, (next, did))?;
        scratch.keep();
        Ok(Priced::new(explorer, 0))
    }

    /// What can be delivered is found again when it is gone on from.
    fn restore(&self, extra: &mut Priced, saved: &SavedEntry) {
        (extra.spent, extra.level) = (saved.spent, saved.tried);
        let values = saved.values.iter().map(|(nth, values)| (*nth, values.as_slice().into()));
        extra.rest = None;
        if !saved.values.is_empty() {
            extra.rest().values.extend(values);
        }
    }
}

impl Strata {
    /// As in the paper: takes all steps from a state whose stratum has come.
    fn go_on_from<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        entry: &mut Entry<Priced>,
        scratch: &mut Scratch,
        frontier: &mut Frontier<Priced>,
    ) -> Result<(), Halt> {
        let limit = walker.shared.limits.depth;
        if let Some(fingerprint) = frontier.ahead().filter(|_| limit.is_none()) {
            walker.shared.seen.fetch(fingerprint);
        }
        let repeated = entry.extra.rest.as_mut().and_then(|rest| rest.values.pop());
        if repeated.is_none() && entry.extra.level == 0 {
            let key = self.key(&entry.state, None, limit.map(|_| entry.depth));
            if !walker.shared.seen.claim(key, self.price(entry.extra.spent)) {
                return Ok(());
            }
            walker.tally.gone_on += 1;
            walker.visit(&entry.state, entry.depth, || entry.way.clone())?;
            if entry.depth > 0 {
                walker.shared.count_new(walker.waiting_bytes)?;
            }
        }
        let Scratch { explorers, movers, .. } = scratch;
        self.processes.movers(&entry.state, movers);
        let ends = movers.is_empty();
        if ends || limit.is_some_and(|most| entry.depth >= most) {
            walker.tally.cut |= !ends;
            return if ends { walker.end(&entry.state, entry.way.as_ref()) } else { Ok(()) };
        }
        let ranking = self.rank(explorers, &entry.extra.explorer, movers)?;
        let mut offers = std::mem::take(&mut scratch.offers);
        self.processes.offers(&entry.state, &ranking, &mut scratch.movers, &mut offers);
        if let Some((nth, values)) = repeated {
            let step = offers.get(nth as usize).ok_or_else(strayed)?.step;
            // It has panicked before its stratum had come.
            return match walker.take(&entry.state, step, &values, entry.way.as_ref()) {
                Ok(_) => Err(strayed()),
                Err(halt) => Err(halt),
            };
        }
        let mut going = Going { entry, ranking: &ranking, scratch, frontier };
        for (nth, offer) in offers.iter().enumerate() {
            let price = going.entry.extra.spent + offer.price;
            if self.leaves_out(price) {
                self.meet_made(walker, &mut going)?;
                self.leave_out(price, &mut going);
                break;
            }
            self.take_all(walker, (nth as u32, *offer), &mut going)?;
        }
        self.meet_made(walker, &mut going)?;
        // The last is next, and the first that was tried is to be.
        frontier.now.extend(scratch.children.drain(..).rev());
        scratch.offers = offers;
        Ok(())
    }

    /// Whether what costs so much is more than was asked for.
    fn leaves_out(&self, price: u32) -> bool {
        self.asked.delays.is_some_and(|most| price > most)
    }

    /// Has one entry wait that is never due, in place of all that cost too much.
    #[cold]
    fn leave_out(&self, price: u32, going: &mut Going<'_>) {
        if !self.left_out.swap(true, Ordering::Relaxed) {
            going.wait(price, None);
        }
    }

    /// Takes a step, at first with the first of each value that is decided in it. What it leads to is met once all steps from
    /// the state have been taken: until then the processor fetches what that takes. If values were asked for, all of
    /// them are tried at once.
    #[inline]
    fn take_all<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        (nth, offer): (u32, Offer),
        going: &mut Going<'_>,
    ) -> Result<(), Halt> {
        let Some(state) = self.take_one(walker, (nth, offer), Box::default(), going)? else {
            return Ok(());
        };
        let scratch = &mut *going.scratch;
        if walker.space.stepper.asked().is_empty() {
            if walker.shared.limits.depth.is_none() {
                walker.shared.seen.fetch(state.fingerprint());
            }
            let did = scratch.did(&mut walker.space.stepper.did);
            scratch.made.push(Made { offer, state, did });
            return Ok(());
        }
        let mut all = std::mem::take(&mut scratch.values);
        all.clear();
        all.extend(dearer(&[], walker.space.stepper.asked()));
        let did = scratch.did(&mut walker.space.stepper.did);
        self.meet_made(walker, going)?;
        self.meet_one(walker, Made { offer, state, did }, &[], going)?;
        let mut at = 0;
        while at < all.len() {
            let values = std::mem::take(&mut all[at]);
            at += 1;
            let cost = values.iter().sum::<u32>();
            let offer = Offer { price: offer.price + cost, ..offer };
            if self.leaves_out(going.entry.extra.spent + offer.price) {
                self.leave_out(going.entry.extra.spent + offer.price, going);
                continue;
            }
            let next = self.take_one(walker, (nth, offer), values.clone(), going)?;
            if let Some(state) = next {
                all.extend(dearer(&values, walker.space.stepper.asked()));
                let did = going.scratch.did(&mut walker.space.stepper.did);
                self.meet_one(walker, Made { offer, state, did }, &values, going)?;
            }
        }
        going.scratch.values = all;
        Ok(())
    }

    /// Takes a step with these values. None if it panicked and its stratum has not come: then it is taken again.
    #[inline]
    fn take_one<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        (nth, offer): (u32, Offer),
        values: Box<[u32]>,
        going: &mut Going<'_>,
    ) -> Result<Option<Snapshot>, Halt> {
        let Entry { state, way, .. } = going.entry;
        match walker.take(state, offer.step, &values, way.as_ref()) {
            Ok(next) => Ok(Some(next)),
            Err(halt) => {
                self.meet_made(walker, going)?;
                let spent = going.entry.extra.spent + offer.price;
                if !matches!(halt, Halt::Wrong(_)) || spent <= self.bound.load(Ordering::Relaxed) {
                    return Err(halt);
                }
                going.wait(spent, Some((nth, values)));
                Ok(None)
            }
        }
    }

    /// Meets all states that steps have led to.
    fn meet_made<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        going: &mut Going<'_>,
    ) -> Result<(), Halt> {
        let mut all = std::mem::take(&mut going.scratch.made);
        for made in all.drain(..) {
            self.meet_one(walker, made, &[], going)?;
        }
        going.scratch.made = all;
        Ok(())
    }

    /// Meets a state that a step has led to. If it is to be gone on from it is added to the children, or waits.
    #[inline]
    fn meet_one<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        made: Made,
        values: &[u32],
        going: &mut Going<'_>,
    ) -> Result<(), Halt> {
        let Made { offer: Offer { price, rank, step }, state, did } = made;
        let Going { entry, ranking, scratch, frontier } = going;
        let (spent, depth) = (entry.extra.spent + price, entry.depth + 1);
        let bound = self.bound.load(Ordering::Relaxed);
        let at_once = spent <= bound && self.asked.increment == 1;
        let key_price = if at_once { 0 } else { self.price(spent) };
        let key = self.key(&state, None, walker.shared.limits.depth.map(|_| depth));
        if let Met::New | Met::Cheaper = walker.meet(key, key_price)? {
            let way = || entry.way.as_ref().map(|way| way.then(step, values));
            if at_once {
                walker.tally.gone_on += 1;
                walker.visit(&state, depth, way)?;
                walker.shared.count_new(walker.waiting_bytes)?;
            }
            let explorer = self.go_on(scratch, entry, ranking, (rank, step), (&state, &did))?;
            let extra = Priced { level: at_once.into(), ..Priced::new(explorer, spent) };
            let child = Entry { state, depth, way: way(), extra };
            if spent <= bound {
                scratch.children.push(child);
            } else {
                frontier.push_later(spent, child);
            }
        }
        scratch.spare.push(did);
        Ok(())
    }

    /// What the explorer of an entry is after a step to another state, which it took so many delays to name.
    fn go_on(
        &self,
        scratch: &mut Scratch,
        entry: &Entry<Priced>,
        ranking: &Ranking,
        (rank, step): (u32, Move),
        (next, did): (&Snapshot, &[Happened]),
    ) -> Result<Rc<Known>, Halt> {
        let Scratch { explorers, movers, after, .. } = scratch;
        let (known, delayed) = (&entry.extra.explorer, &ranking.ranks[..rank as usize]);
        let hears = known.hears_blocked;
        if hears {
            self.processes.movers(next, after);
        }
        let taken = (&entry.state, step);
        let blocked = hears.then(|| (movers.bits(), after.bits()));
        let key = self.processes.heard(taken, delayed, did, blocked);
        explorers.after(known, key, || {
            self.ask(|| {
                let mut explorer = known.explorer.clone();
                for &process in delayed {
                    explorer.delay(process);
                }
                let blocked = hears.then(|| (movers.list(), after.list()));
                self.processes.step(&mut explorer, taken, next, did, blocked);
                explorer
            })
        })
    }

    /// Exact: tries an offer with these values. The state that it leads to, if that is to be gone on from.
    fn take<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        entry: &mut Entry<Priced>,
        (nth, values): (u32, &[u32]),
        ranking: &Ranking,
        scratch: &mut Scratch,
    ) -> Result<Option<Entry<Priced>>, Halt> {
        let Offer { rank, step, .. } = entry.extra.offers()[nth as usize];
        let depth = entry.depth + 1;
        let next = walker.take(&entry.state, step, values, entry.way.as_ref())?;
        let stepper = &walker.space.stepper;
        if !stepper.asked().is_empty() {
            let more = dearer(values, stepper.asked());
            entry.extra.rest().values.extend(more.map(|values| (nth, values)));
        }
        let spent = entry.extra.spent + entry.extra.level;
        let depth_key = walker.shared.limits.depth.map(|_| depth);
        let explorer = self.go_on(scratch, entry, ranking, (rank, step), (&next, &stepper.did))?;
        let key = self.key(&next, Some(&*explorer), depth_key);
        let met = walker.meet(key, self.price(spent))?;
        let way = || entry.way.as_ref().map(|way| way.then(step, values));
        match met {
            Met::New => {
                walker.visit(&next, depth, way)?;
                walker.shared.count_new(walker.waiting_bytes)?;
            }
            Met::Cheaper => {}
            Met::Known | Met::Full => return Ok(None),
        }
        Ok(Some(Entry { state: next, depth, way: way(), extra: Priced::new(explorer, spent) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level by level, all values come out once, in the order of what they cost.
    #[test]
    fn values_come_by_what_they_cost() {
        let of = [2, 3, 2];
        let mut level: Vec<Box<[u32]>> = vec![Box::default()];
        let mut all = Vec::new();
        for cost in 0.. {
            let mut next = Vec::new();
            for values in &level {
                let sum: u32 = values.iter().sum();
                assert_eq!(sum, cost);
                let mut whole = values.to_vec();
                whole.resize(3, 0);
                all.push(whole);
                next.extend(dearer(values, &of));
            }
            if next.is_empty() {
                break;
            }
            level = next;
        }
        assert_eq!(all.len(), 12);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 12);
    }
}
