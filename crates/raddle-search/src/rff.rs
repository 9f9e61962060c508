//! A sampler guided by what reads see: in the spirit of reads-from fuzzing, Wolff, Shi, Duck, Mathur and
//! Roychoudhury, ASPLOS 2024.
//!
//! What an execution does hangs on which write each read saw. So a schedule is abstract: a few
//! *constraints*, each of which says that one statement sees what another wrote (or what was there in the
//! beginning), or that it does not. An execution is drawn by partial order sampling (`pos.rs`), but who
//! would break a constraint is kept waiting while another task can move. Schedules that showed a new pair
//! of statements, or a new set of pairs, are kept; the next one is one of them with a constraint added,
//! dropped or exchanged, rarely seen sets being favoured.
//!
//! Our own design, from the idea. Where it differs from the paper:
//! - Events are statements, whichever task runs them; the paper also tells apart what they access.
//! - Pairs that are possible (both statements have touched one object) and were never seen are asked for
//!   first: half of all schedules add one.
//! - Locks, channels and what else has ops are read and written as memory is: what takes a lock sees who
//!   gave it back.
//! - A constraint that has kept a task waiting for too long is dropped, so that tasks which spin get on.
//!
//! Misses: what hangs on which of several executions of one statement a read sees, but by chance.
//! Overreports: nothing. It promises nothing of its chances.

use std::collections::BTreeMap;

use raddle_engine::context::Context;
use raddle_engine::op::{Access, ObjectId, Op};
use raddle_engine::strategy::{
    Answer, Checkpoint, Cut, Estimating, Event, Finished, Needs, Options, Plan, Point, Resumable,
    Strategy, Unsupported,
};
use raddle_trace::{Covered, PairCount, Progress};

use crate::hapset::{Pairs, StatementId, Statements, sees};
use crate::priorities::Priorities;
use crate::rng::Rng;
use crate::state::{Reader, Writer};

const NAME: &str = "rff";

/// The most constraints of one schedule.
const MAX_CONSTRAINTS: usize = 8;

/// The most schedules that are kept.
const KEPT: usize = 256;

/// How often constraints may keep a task waiting in one execution.
const PATIENCE: u32 = 2_000;

/// That a statement sees what another wrote, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constraint {
    reads: StatementId,
    /// [`StatementId::NONE`]: the beginning.
    writes: StatementId,
    wanted: bool,
}

/// A constraint in the execution that runs.
#[derive(Clone, Copy, Debug)]
struct Active {
    constraint: Constraint,
    /// Whether the write has been.
    written: bool,
    /// Whether the read has been.
    over: bool,
}

/// A schedule that is kept.
#[derive(Clone, Debug)]
struct Kept {
    constraints: Vec<Constraint>,
    /// What it showed, as a number.
    showed: u64,
}

/// What is known of an object in the execution that runs.
#[derive(Clone, Debug, Default)]
struct Object {
    /// What changed it last.
    last: StatementId,
    /// The statements that have seen and changed it; of these whether they took a lock.
    readers: Vec<StatementId>,
    writers: Vec<(StatementId, bool)>,
}

/// Draws executions in which chosen reads see chosen writes.
#[derive(Clone, Debug)]
pub struct Rff {
    rng: Rng,
    statements: Statements,
    priorities: Priorities,
    objects: Vec<Object>,
    /// Which objects are in use.
    used: Vec<u32>,
    /// What reads could see: pairs of statements that have touched one object.
    possible: Vec<(StatementId, StatementId)>,
    possible_set: Pairs,
    /// What they have seen.
    seen: Pairs,
    /// What they have seen in this execution.
    shown: Vec<(StatementId, StatementId)>,
    shown_set: Pairs,
    active: Vec<Active>,
    schedule: Vec<Constraint>,
    patience: u32,
    kept: Vec<Kept>,
    /// How often each set of pairs was shown.
    often: BTreeMap<u64, u64>,
    executions: u64,
    last_new: u64,
}

impl Rff {
    /// The sampler of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            statements: Statements::default(),
            priorities: Priorities::default(),
            objects: Vec::new(),
            used: Vec::new(),
            possible: Vec::new(),
            possible_set: Pairs::default(),
            seen: Pairs::default(),
            shown: Vec::new(),
            shown_set: Pairs::default(),
            active: Vec::new(),
            schedule: Vec::new(),
            patience: 0,
            kept: Vec::new(),
            often: BTreeMap::new(),
            executions: 0,
            last_new: 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u32) as usize
    }

    /// Makes the schedule of the next execution out of one that is kept.
    fn mutate(&mut self) {
        self.schedule.clear();
        if self.kept.is_empty() || self.possible.is_empty() {
            return;
        }
        let base = self.pick();
        self.schedule.extend_from_slice(&self.kept[base].constraints);
        let unseen = (0..self.possible.len()).filter(|&at| {
            let (reads, writes) = self.possible[at];
            !self.seen.contains(reads, writes)
        });
        let unseen: Vec<usize> = unseen.collect();
        if !unseen.is_empty() && self.rng.below(2) == 0 {
            let at = unseen[self.below(unseen.len())];
            self.add(at, true);
            return;
        }
        match self.rng.below(4) {
            0 if !self.schedule.is_empty() => {
                let at = self.below(self.schedule.len());
                self.schedule.remove(at);
            }
            1 => {
                let at = self.below(self.possible.len());
                self.add(at, false);
            }
            _ => {
                let at = self.below(self.possible.len());
                self.add(at, true);
            }
        }
    }

    /// One of those that are kept, rather one that showed what others seldom do.
    fn pick(&mut self) -> usize {
        let weight = |kept: &Kept| {
            let often = self.often.get(&kept.showed).copied().unwrap_or(1);
            (1_u64 << 20) / often.max(1) + 1
        };
        let weights: Vec<u64> = self.kept.iter().map(weight).collect();
        let all: u64 = weights.iter().sum();
        let mut drawn = self.rng.next() % all.max(1);
        for (at, weight) in weights.into_iter().enumerate() {
            match drawn.checked_sub(weight) {
                Some(left) => drawn = left,
                None => return at,
            }
        }
        0
    }

    /// Adds a constraint on a possible pair. What it contradicts goes.
    fn add(&mut self, at: usize, wanted: bool) {
        let (reads, writes) = self.possible[at];
        let clashes = |other: &Constraint| {
            other.reads == reads && (other.writes == writes || wanted && other.wanted)
        };
        self.schedule.retain(|other| !clashes(other));
        if self.schedule.len() == MAX_CONSTRAINTS {
            let at = self.below(MAX_CONSTRAINTS);
            self.schedule.remove(at);
        }
        self.schedule.push(Constraint { reads, writes, wanted });
    }

    /// Whether an op would break a constraint if it ran now.
    fn breaks(&mut self, op: Op) -> bool {
        if op.object == ObjectId::NONE {
            return false;
        }
        let statement = self.statements.id(op.site, Context::NONE);
        let object = self.objects.get(op.object.0 as usize);
        let last = object.map_or(StatementId::NONE, |object| object.last);
        self.active.iter().filter(|active| !active.over).any(|active| {
            let Constraint { reads, writes, wanted } = active.constraint;
            if statement == reads && sees(op.access) {
                return (last == writes) != wanted;
            }
            // What is there is what the read is to see.
            let there = writes == StatementId::NONE || active.written;
            wanted
                && there
                && op.access.changes()
                && statement != writes
                && self.possible_set.contains(reads, statement)
        })
    }

    /// A statement saw or changed an object.
    fn touch(&mut self, object: ObjectId, access: Access, statement: StatementId) {
        let slot = object.0 as usize;
        if self.objects.len() <= slot {
            self.objects.resize_with(slot + 1, Object::default);
        }
        let state = &mut self.objects[slot];
        if state.readers.is_empty() && state.writers.is_empty() {
            self.used.push(object.0);
        }
        if sees(access) {
            let pair = (statement, state.last);
            if self.shown_set.insert(pair.0, pair.1) {
                self.shown.push(pair);
            }
            if !state.readers.contains(&statement) {
                state.readers.push(statement);
            }
            for active in self.active.iter_mut().filter(|a| a.constraint.reads == statement) {
                active.over = true;
            }
        }
        if access.changes() {
            state.last = statement;
            let takes = matches!(
                access,
                Access::Acquire | Access::TryAcquire | Access::Share | Access::TryShare
            );
            if !state.writers.contains(&(statement, takes)) {
                state.writers.push((statement, takes));
            }
            for active in self.active.iter_mut().filter(|a| a.constraint.writes == statement) {
                active.written = true;
            }
        }
    }

    /// Which reads could have seen which writes of this execution.
    fn note_possible(&mut self) {
        for at in 0..self.used.len() {
            let object = &mut self.objects[self.used[at] as usize];
            let (readers, writers) = (&object.readers, &object.writers);
            for &reads in readers {
                let begins = std::iter::once(StatementId::NONE);
                // A task that takes a lock does not see which task took it before.
                let written = writers.iter().filter(|(_, takes)| !takes).map(|(id, _)| *id);
                for writes in begins.chain(written) {
                    if self.possible_set.insert(reads, writes) {
                        self.possible.push((reads, writes));
                    }
                }
            }
            object.last = StatementId::NONE;
            object.readers.clear();
            object.writers.clear();
        }
        self.used.clear();
    }

    /// Keeps the schedule if it showed something new.
    fn keep(&mut self) {
        let mut new = false;
        self.shown.sort_unstable();
        let mut showed = 0_u64;
        for &(reads, writes) in &self.shown {
            new |= self.seen.insert(reads, writes);
            let pair = u64::from(reads.0) << 32 | u64::from(writes.0);
            showed = (showed ^ pair).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            self.shown_set.remove(reads, writes);
        }
        self.shown.clear();
        let often = self.often.entry(showed).or_insert(0);
        *often += 1;
        if new {
            self.last_new = self.executions;
        }
        if new || *often == 1 {
            if self.kept.len() == KEPT {
                let common = |kept: &Kept| self.often.get(&kept.showed).copied().unwrap_or(0);
                let most = (0..KEPT).max_by_key(|&at| common(&self.kept[at])).unwrap_or(0);
                self.kept.swap_remove(most);
            }
            self.kept.push(Kept { constraints: self.schedule.clone(), showed });
        }
    }
}

impl Strategy for Rff {
    fn needs(&self) -> Needs {
        Needs { steps: true, plans: false, ..Needs::default() }
    }

    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clear();
        self.priorities.clear();
        self.mutate();
        self.active.clear();
        let active = |&constraint: &Constraint| Active { constraint, written: false, over: false };
        self.active.extend(self.schedule.iter().map(active));
        self.patience = PATIENCE;
        true
    }

    fn decide(&mut self, point: &Point<'_>) -> Answer {
        let choices = match point.options {
            Options::Schedule(choices) => choices,
            Options::Value { of, .. } => return Answer::Take(self.rng.below(of)),
        };
        let (mut best, mut highest) = (0, (false, 0));
        for (index, choice) in choices.iter().enumerate() {
            let mut keeps = true;
            if self.patience > 0
                && !self.active.is_empty()
                && let Some(op) = point.pending.op(choice.task)
            {
                keeps = !self.breaks(op);
                self.patience -= u32::from(!keeps);
            }
            let priority = (keeps, self.priorities.of(choice.task, &mut self.rng));
            if priority > highest {
                (best, highest) = (index, priority);
            }
        }
        self.priorities.take(choices[best].task, point);
        Answer::Take(best as u32)
    }

    fn step(&mut self, event: &Event<'_>) -> Option<Cut> {
        let Event::Step(step) = event else { return None };
        self.priorities.stepped(step);
        let statement = self.statements.id(step.site, Context::NONE);
        for &(object, access) in step.footprint {
            let counts = !matches!(
                access,
                Access::Yield | Access::Woken | Access::Cancelled | Access::Observe(_)
            );
            if counts && object != ObjectId::NONE {
                self.touch(object, access, statement);
            }
        }
        None
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
        self.note_possible();
        self.keep();
    }

    fn covered(&self) -> Covered {
        Covered::Sample { executions: self.executions, bound: None }
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }

    fn estimating(&self) -> Option<&dyn Estimating> {
        Some(self)
    }
}

impl Resumable for Rff {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        for number in [self.rng.state(), self.executions, self.last_new] {
            writer.number(number);
        }
        self.statements.save(&mut writer);
        let pair = |writer: &mut Writer, (reads, writes): (StatementId, StatementId)| {
            writer.number(reads.0.into());
            writer.number(writes.0.into());
        };
        writer.number(self.possible.len() as u64);
        self.possible.iter().for_each(|&possible| pair(&mut writer, possible));
        writer.number(self.seen.len() as u64);
        self.seen.iter().for_each(|seen| pair(&mut writer, seen));
        writer.number(self.kept.len() as u64);
        for kept in &self.kept {
            writer.number(kept.showed);
            writer.number(kept.constraints.len() as u64);
            for Constraint { reads, writes, wanted } in &kept.constraints {
                pair(&mut writer, (*reads, *writes));
                writer.number(u64::from(*wanted));
            }
        }
        writer.number(self.often.len() as u64);
        for (&showed, &often) in &self.often {
            writer.number(showed);
            writer.number(often);
        }
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let mut new = Self::new(0);
        new.rng = Rng::from_state(reader.number()?);
        (new.executions, new.last_new) = (reader.number()?, reader.number()?);
        new.statements = Statements::restore(&mut reader)?;
        let pair = |reader: &mut Reader<'_>| -> Result<_, Unsupported> {
            Ok((StatementId(reader.small()?), StatementId(reader.small()?)))
        };
        for _ in 0..reader.length()? {
            let (reads, writes) = pair(&mut reader)?;
            new.possible.push((reads, writes));
            new.possible_set.insert(reads, writes);
        }
        for _ in 0..reader.length()? {
            let (reads, writes) = pair(&mut reader)?;
            new.seen.insert(reads, writes);
        }
        for _ in 0..reader.length()? {
            let (showed, mut constraints) = (reader.number()?, Vec::new());
            for _ in 0..reader.length()? {
                let (reads, writes) = pair(&mut reader)?;
                constraints.push(Constraint { reads, writes, wanted: reader.flag()? });
            }
            new.kept.push(Kept { constraints, showed });
        }
        for _ in 0..reader.length()? {
            let showed = reader.number()?;
            new.often.insert(showed, reader.number()?);
        }
        reader.finish()?;
        *self = new;
        Ok(())
    }
}

impl Estimating for Rff {
    /// The pairs are of reads and what they saw.
    fn progress(&self) -> Progress {
        let known = self.seen.len() as u64;
        let pairs = Some(PairCount { known, added: known, last: self.last_new });
        Progress { pairs, ..Progress::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{self, Op as ToyOp, Toy};

    // Task 0 writes 0 and 1, task 1 reads both: what is shown are four ways to see them, if reads are told
    // apart by their places, which a toy has not. So only that all traces come up.
    #[test]
    fn every_order_comes_up() {
        let write_both = vec![ToyOp::Write(0), ToyOp::Write(1)];
        let toy = Toy::new(vec![write_both, vec![ToyOp::Read(0), ToyOp::Read(1)]]);
        let mut all: Vec<_> = toy::first(&mut Rff::new(1), &toy, 300);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn the_same_seed_draws_the_same_executions() {
        let toy = Toy::new(vec![
            vec![ToyOp::Write(0); 2],
            vec![ToyOp::Read(0); 2],
            vec![ToyOp::Lock, ToyOp::Unlock],
        ]);
        let run = |seed| toy::first(&mut Rff::new(seed), &toy, 50);
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }
}
