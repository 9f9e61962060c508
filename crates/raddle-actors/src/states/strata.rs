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
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use raddle_engine::explorer::{Explorer, Process};
use raddle_engine::states::{SavedEntry, SavedStates};

use super::processes::{Deliverable, Offer, Processes, rank};
use super::report::Refused;
use super::saved::strayed;
use super::seen::Met;
use super::space::text;
use super::team::{Entry, Later, Shared, Walk};
use super::walker::{Halt, Walker};
use super::way::Way;
use crate::hash::mix;
use crate::snapshot::{Move, Snapshot};

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
    asked: Stratified,
    processes: Processes,
    /// The most delays of the strata that are gone through now.
    bound: AtomicU32,
    /// The most delays of the strata before.
    finished: AtomicU32,
    /// Something needs more delays than were asked for, and one such entry waits: so it is known that not all was visited.
    left_out: AtomicBool,
}

/// No stratum is finished.
const NONE: u32 = u32::MAX;

/// What an entry has besides its state.
#[derive(Clone)]
pub(super) struct Priced {
    explorer: Explorer,
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
        Self { asked: asked.clone(), processes, bound, finished, left_out }
    }

    /// The first entry; `ways`: with the steps that lead to it and to those that come of it.
    pub(super) fn first(&self, state: Snapshot, ways: bool) -> Result<Entry<Priced>, Halt> {
        let explorer = self.ask(|| {
            let mut explorer = self.asked.explorer.clone();
            self.processes.begin(&mut explorer, &state);
            explorer
        })?;
        let extra = Priced::new(explorer, 0);
        Ok(Entry { state, depth: 0, way: ways.then(Way::default), extra })
    }

    /// What the first entry is known by.
    pub(super) fn key_of(&self, entry: &Entry<Priced>, limited: bool) -> u64 {
        let explorer = Some(&entry.extra.explorer).filter(|_| self.asked.exact);
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

    /// Has the explorer rank the processes that can move.
    fn rank(
        &self,
        explorer: &Explorer,
        runnable: &[Process],
        ranks: &mut Vec<Process>,
    ) -> Result<(), Halt> {
        self.ask(|| rank(explorer, runnable, ranks))?
            .map_err(|why| Halt::Refused(Refused::explorer(why)))
    }

    /// What a state is known by.
    #[inline]
    fn key(&self, state: &Snapshot, explorer: Option<&Explorer>, depth: Option<u32>) -> u64 {
        let mut key = state.fingerprint();
        if let Some(explorer) = explorer {
            let order = self.processes.order_hash(state);
            key = mix(key ^ mix(explorer.fingerprint() ^ mix(order)));
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

impl Priced {
    fn new(explorer: Explorer, spent: u32) -> Self {
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

/// A copy of an explorer, in the place of one that is no longer needed if there is one.
fn copy(explorer: &Explorer, spare: &mut Vec<Explorer>) -> Explorer {
    match spare.pop() {
        None => explorer.clone(),
        Some(mut copy) => {
            copy.clone_from(explorer);
            copy
        }
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

/// For those that can move after a step, and what can be delivered to them.
type After = (Vec<Process>, Vec<Deliverable>);

/// What one expansion needs, for its allocations.
#[derive(Default)]
struct Scratch {
    /// Those that can move, ascending and by rank.
    runnable: Vec<Process>,
    ranks: Vec<Process>,
    deliverable: Vec<Deliverable>,
    offers: Vec<Offer>,
    /// Values to try, those that cost less first.
    values: Vec<Box<[u32]>>,
    after: After,
    tried: Vec<(u32, Box<[u32]>)>,
    children: Vec<Entry<Priced>>,
    /// The explorer after a step to a state that may be known.
    explorer: Option<Explorer>,
    /// Explorers of states that were gone on from.
    spare: Vec<Explorer>,
}

/// How many explorers are kept for their allocations.
const SPARE: usize = 64;

impl Scratch {
    fn take() -> Box<Self> {
        SCRATCH.take().unwrap_or_default()
    }

    /// Keeps it for the next expansion.
    fn keep(self: Box<Self>) {
        SCRATCH.set(Some(self));
    }
}

thread_local! {
    /// In a box: it is moved twice for each state.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Walk for Strata {
    type Extra = Priced;
    const LAST_FIRST: bool = true;

    fn expand<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        mut entry: Entry<Priced>,
        now: &mut VecDeque<Entry<Priced>>,
        later: &mut Later<Priced>,
    ) -> Result<(), Halt> {
        let mut scratch = Scratch::take();
        if !self.asked.exact {
            self.go_on_from(walker, &mut entry, &mut scratch, now, later)?;
            if scratch.spare.len() < SPARE {
                scratch.spare.push(entry.extra.explorer);
            }
            scratch.keep();
            return Ok(());
        }
        let Scratch { runnable, ranks, deliverable, .. } = &mut *scratch;
        if entry.extra.offers().is_empty() {
            self.processes.runnable(&entry.state, runnable, deliverable);
            let ends = runnable.is_empty();
            if ends || walker.shared.limits.depth.is_some_and(|most| entry.depth >= most) {
                scratch.keep();
                walker.tally.cut |= !ends;
                return if ends { walker.end(&entry.state, entry.way.as_ref()) } else { Ok(()) };
            }
            self.rank(&entry.extra.explorer, runnable, ranks)?;
            let rest = entry.extra.rest();
            self.processes.offers(&entry.state, ranks, deliverable, &mut rest.offers);
            let n = rest.offers.len();
            if rest.values.iter().any(|(nth, _)| *nth as usize >= n) {
                return Err(strayed());
            }
        } else {
            self.processes.ranks(&entry.state, entry.extra.offers(), ranks);
            runnable.clone_from(ranks);
            runnable.sort_unstable();
        }
        let (mut tried, mut children) =
            (std::mem::take(&mut scratch.tried), std::mem::take(&mut scratch.children));
        entry.extra.tried(&mut tried);
        for (nth, values) in tried.drain(..) {
            let child = self.take(walker, &mut entry, nth, &values, &mut scratch)?;
            children.extend(child);
        }
        entry.extra.level += 1;
        if !entry.extra.is_done() {
            let spends = entry.extra.spent + entry.extra.level;
            if spends <= self.bound.load(Ordering::Relaxed) {
                now.push_back(entry);
            } else {
                later.push(spends, entry);
            }
        }
        // The last is next, and the first that was tried is to be.
        now.extend(children.drain(..).rev());
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

    fn save(&self, extra: &Priced, saved: &mut SavedEntry) {
        (saved.spent, saved.tried) = (extra.spent, extra.level);
        let values = extra.rest.iter().flat_map(|rest| &rest.values);
        saved.values = values.map(|(nth, values)| (*nth, values.to_vec())).collect();
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
        let (mut runnable, mut ranks, mut after) = <(Vec<_>, Vec<_>, After)>::default();
        self.processes.runnable(&before.state, &mut runnable, &mut after.1);
        self.rank(&before.extra.explorer, &runnable, &mut ranks)?;
        let process = self.processes.of(&before.state, step);
        let rank = ranks.iter().position(|&other| other == process).ok_or_else(strayed)? as u32;
        let explorer = self.ask(|| {
            let mut explorer = before.extra.explorer.clone();
            let around = (runnable.as_slice(), ranks.as_slice(), &mut after);
            self.go_on(walker, before, (rank, step), next, around, &mut explorer);
            explorer
        })?;
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
        now: &mut VecDeque<Entry<Priced>>,
        later: &mut Later<Priced>,
    ) -> Result<(), Halt> {
        let repeated = entry.extra.rest.as_mut().and_then(|rest| rest.values.pop());
        let limit = walker.shared.limits.depth;
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
        let Scratch { runnable, ranks, deliverable, .. } = scratch;
        self.processes.runnable(&entry.state, runnable, deliverable);
        let ends = runnable.is_empty();
        if ends || limit.is_some_and(|most| entry.depth >= most) {
            walker.tally.cut |= !ends;
            return if ends { walker.end(&entry.state, entry.way.as_ref()) } else { Ok(()) };
        }
        self.rank(&entry.extra.explorer, runnable, ranks)?;
        let mut offers = std::mem::take(&mut scratch.offers);
        self.processes.offers(&entry.state, ranks, deliverable, &mut offers);
        if let Some((nth, values)) = repeated {
            let step = offers.get(nth as usize).ok_or_else(strayed)?.step;
            // It has panicked before its stratum had come.
            return match walker.take(&entry.state, step, &values, entry.way.as_ref()) {
                Ok(_) => Err(strayed()),
                Err(halt) => Err(halt),
            };
        }
        let mut children = std::mem::take(&mut scratch.children);
        for (nth, offer) in offers.iter().enumerate() {
            let price = entry.extra.spent + offer.price;
            if self.leaves_out(price) {
                self.leave_out(entry, price, later)?;
                break;
            }
            let offer = (nth as u32, *offer);
            self.take_all(walker, entry, offer, scratch, &mut children, later)?;
        }
        // The last is next, and the first that was tried is to be.
        now.extend(children.drain(..).rev());
        (scratch.offers, scratch.children) = (offers, children);
        Ok(())
    }

    /// Whether what costs so much is more than was asked for.
    fn leaves_out(&self, price: u32) -> bool {
        self.asked.delays.is_some_and(|most| price > most)
    }

    /// Has one entry wait that is never due, in place of all that cost too much.
    fn leave_out(
        &self,
        entry: &Entry<Priced>,
        price: u32,
        later: &mut Later<Priced>,
    ) -> Result<(), Halt> {
        if !self.left_out.swap(true, Ordering::Relaxed) {
            let extra = Priced::new(self.ask(|| entry.extra.explorer.clone())?, price);
            let Entry { state, depth, way, .. } = entry;
            let (state, depth, way) = (state.clone(), *depth, way.clone());
            later.push(price, Entry { state, depth, way, extra });
        }
        Ok(())
    }

    /// Takes a step with all values that are decided in it. The states that it leads to, if they are to be gone on from, are
    /// added to `children`, or to `later`.
    fn take_all<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        entry: &Entry<Priced>,
        (nth, offer): (u32, Offer),
        scratch: &mut Scratch,
        children: &mut Vec<Entry<Priced>>,
        later: &mut Later<Priced>,
    ) -> Result<(), Halt> {
        let Offer { rank, step, price } = offer;
        let Scratch { runnable, ranks, after, values: all, spare, .. } = scratch;
        let bound = self.bound.load(Ordering::Relaxed);
        let depth = entry.depth + 1;
        let depth_key = walker.shared.limits.depth.map(|_| depth);
        all.clear();
        all.push(Box::default());
        let mut at = 0;
        while at < all.len() {
            let values = std::mem::take(&mut all[at]);
            at += 1;
            let spent = entry.extra.spent + price + values.iter().sum::<u32>();
            if self.leaves_out(spent) {
                self.leave_out(entry, spent, later)?;
                continue;
            }
            let next = match walker.take(&entry.state, step, &values, entry.way.as_ref()) {
                Err(Halt::Wrong(_)) if spent > bound => {
                    let mut extra = Priced::new(self.ask(|| entry.extra.explorer.clone())?, spent);
                    extra.rest().values.push((nth, values));
                    let Entry { state, way, .. } = entry;
                    let (state, way) = (state.clone(), way.clone());
                    later.push(spent, Entry { state, depth: entry.depth, way, extra });
                    continue;
                }
                next => next?,
            };
            let asked = walker.space.stepper.asked();
            if !asked.is_empty() {
                all.extend(dearer(&values, asked));
            }
            let at_once = spent <= bound && self.asked.increment == 1;
            let key_price = if at_once { 0 } else { self.price(spent) };
            match walker.meet(self.key(&next, None, depth_key), key_price)? {
                Met::New | Met::Cheaper => {}
                Met::Known | Met::Full => continue,
            }
            let way = || entry.way.as_ref().map(|way| way.then(step, &values));
            if at_once {
                walker.tally.gone_on += 1;
                walker.visit(&next, depth, way)?;
                walker.shared.count_new(walker.waiting_bytes)?;
            }
            let explorer = self.ask(|| {
                let mut explorer = copy(&entry.extra.explorer, spare);
                let around = (runnable.as_slice(), ranks.as_slice(), &mut *after);
                self.go_on(walker, entry, (rank, step), &next, around, &mut explorer);
                explorer
            })?;
            let extra = Priced { level: at_once.into(), ..Priced::new(explorer, spent) };
            let child = Entry { state: next, depth, way: way(), extra };
            if spent <= bound { children.push(child) } else { later.push(spent, child) }
        }
        Ok(())
    }

    /// Makes an explorer, which is that of the entry, what it is after a step to `next`, which it took so many delays to
    /// name.
    fn go_on<S>(
        &self,
        walker: &Walker<'_, S>,
        entry: &Entry<Priced>,
        (rank, step): (u32, Move),
        next: &Snapshot,
        (runnable, ranks, after): (&[Process], &[Process], &mut After),
        explorer: &mut Explorer,
    ) {
        for &process in &ranks[..rank as usize] {
            explorer.delay(process);
        }
        let did = &walker.space.stepper.did;
        let after = (&mut after.0, &mut after.1);
        self.processes.step(explorer, (&entry.state, step), next, did, runnable, after);
    }

    /// Exact: tries an offer with these values. The state that it leads to, if that is to be gone on from.
    fn take<S: Send + Sync + 'static>(
        &self,
        walker: &mut Walker<'_, S>,
        entry: &mut Entry<Priced>,
        nth: u32,
        values: &[u32],
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
        let Scratch { runnable, ranks, after, explorer: kept, .. } = scratch;
        let (took, around) = ((rank, step), (runnable.as_slice(), ranks.as_slice(), after));
        let kept = kept.get_or_insert_with(|| entry.extra.explorer.clone());
        self.ask(|| {
            kept.clone_from(&entry.extra.explorer);
            self.go_on(walker, entry, took, &next, around, kept);
        })?;
        let key = self.key(&next, Some(kept), depth_key);
        let met = walker.meet(key, self.price(spent))?;
        if matches!(met, Met::Known | Met::Full) {
            return Ok(None);
        }
        let explorer = self.ask(|| kept.clone())?;
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
