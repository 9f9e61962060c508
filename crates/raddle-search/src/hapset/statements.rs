//! Statements as small numbers: the same place, called in the same way, has the same number.
//!
//! The compiler may write one place down more than once, so a pointer is only the way to the number; two
//! pointers to the same file, line and column are the same place. Numbers are given in the order in which
//! statements are met, so they are the same in every run of a search.

use std::borrow::Cow;
use std::panic::Location;

use raddle_engine::context::{self, Context};
use raddle_engine::op::TaskId;
use raddle_engine::strategy::Unsupported;
use raddle_trace::{Site, Statement};

use crate::state::{FOREIGN, Reader, Writer};

/// A statement, by its number. In one search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StatementId(pub(crate) u32);

impl StatementId {
    /// Of no statement: what was there before the first one.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the source, and from where it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StatementPlace {
    line: u32,
    column: u32,
    context: Context,
    /// Whose it is, if tasks tell statements apart.
    task: u32,
    file: Cow<'static, str>,
}

/// A way to a number.
#[derive(Clone, Copy, Debug)]
struct Slot {
    pointer: usize,
    context: Context,
    task: u32,
    id: StatementId,
}

/// Of a statement that is the same whichever task takes it.
const ANY_TASK: u32 = u32::MAX;

const EMPTY: Slot =
    Slot { pointer: 0, context: Context::NONE, task: ANY_TASK, id: StatementId::NONE };

/// All statements that were met.
#[derive(Clone, Debug)]
pub(crate) struct Statements {
    /// By pointer and context, with open addressing. At least half of them are empty.
    slots: Vec<Slot>,
    used: usize,
    /// By number. The first is nowhere.
    places: Vec<Option<StatementPlace>>,
}

impl Default for Statements {
    fn default() -> Self {
        Self { slots: vec![EMPTY; 64], used: 0, places: vec![None] }
    }
}

impl Statements {
    /// The number of a statement, whichever task takes it.
    #[inline]
    pub(crate) fn id(&mut self, site: &'static Location<'static>, context: Context) -> StatementId {
        self.of(site, context, ANY_TASK)
    }

    /// The number of a statement of one task.
    pub(crate) fn id_of(
        &mut self,
        site: &'static Location<'static>,
        context: Context,
        task: TaskId,
    ) -> StatementId {
        self.of(site, context, task.0)
    }

    #[inline]
    fn of(&mut self, site: &'static Location<'static>, context: Context, task: u32) -> StatementId {
        let pointer = std::ptr::from_ref(site) as usize;
        let mask = self.slots.len() - 1;
        let mut at = start(pointer, context, task) & mask;
        loop {
            let slot = self.slots[at];
            if slot.pointer == pointer && slot.context == context && slot.task == task {
                return slot.id;
            }
            if slot.pointer == 0 {
                return self.meet(site, context, task);
            }
            at = (at + 1) & mask;
        }
    }

    /// A pointer is met for the first time, with this context.
    #[cold]
    fn meet(
        &mut self,
        site: &'static Location<'static>,
        context: Context,
        task: u32,
    ) -> StatementId {
        let pointer = std::ptr::from_ref(site) as usize;
        let (line, column, file) = (site.line(), site.column(), Cow::Borrowed(site.file()));
        let id = self.find(StatementPlace { line, column, context, task, file });
        if (self.used + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![EMPTY; old.len() * 2];
            old.into_iter().filter(|slot| slot.pointer != 0).for_each(|slot| self.put(slot));
        }
        self.put(Slot { pointer, context, task, id });
        self.used += 1;
        id
    }

    fn find(&mut self, place: StatementPlace) -> StatementId {
        let same = |known: &Option<StatementPlace>| known.as_ref() == Some(&place);
        let at = self.places.iter().position(same).unwrap_or_else(|| {
            self.places.push(Some(place));
            self.places.len() - 1
        });
        StatementId(at as u32)
    }

    /// The number of a statement of another process.
    pub(crate) fn named(&mut self, statement: &Statement) -> StatementId {
        let Site { file, line, column } = &statement.site;
        if file.is_empty() {
            return StatementId::NONE;
        }
        let calls: Vec<&str> = statement.calls.iter().map(String::as_str).collect();
        let context = if calls.is_empty() { Context::NONE } else { context::of(&calls) };
        let (line, column, file) = (*line, *column, Cow::Owned(file.clone()));
        self.find(StatementPlace { line, column, context, task: ANY_TASK, file })
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = start(slot.pointer, slot.context, slot.task) & mask;
        while self.slots[at].pointer != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Adds all places to a saved state, in the order of their numbers.
    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.number(self.places.len() as u64 - 1);
        for place in self.places.iter().flatten() {
            writer.text(&place.file);
            writer.number(place.line.into());
            writer.number(place.column.into());
            let calls = context::names(place.context);
            writer.number(calls.len() as u64);
            for call in &calls {
                writer.text(call);
            }
        }
    }

    /// How many there are, nowhere among them.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Takes back what [`save`](Self::save) added.
    pub(crate) fn restore(reader: &mut Reader<'_>) -> Result<Self, Unsupported> {
        let mut statements = Self::default();
        for _ in 0..reader.length()? {
            let text = |reader: &mut Reader<'_>| {
                str::from_utf8(reader.bytes()?).map(str::to_owned).map_err(|_| FOREIGN)
            };
            let file = text(reader)?;
            let (line, column) = (reader.small()?, reader.small()?);
            let calls =
                (0..reader.length()?).map(|_| text(reader)).collect::<Result<Vec<_>, _>>()?;
            let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
            let context = if calls.is_empty() { Context::NONE } else { context::of(&calls) };
            let file = Cow::Owned(file);
            let task = ANY_TASK;
            statements.places.push(Some(StatementPlace { line, column, context, task, file }));
        }
        Ok(statements)
    }

    /// Adds whose they are, if tasks tell them apart.
    pub(crate) fn save_tasks(&self, writer: &mut Writer) {
        self.places.iter().flatten().for_each(|place| writer.number(place.task.into()));
    }

    /// Takes back what [`save_tasks`](Self::save_tasks) added.
    pub(crate) fn restore_tasks(&mut self, reader: &mut Reader<'_>) -> Result<(), Unsupported> {
        for place in self.places.iter_mut().flatten() {
            place.task = reader.small()?;
        }
        Ok(())
    }

    /// A statement by its name.
    pub(crate) fn name(&self, id: StatementId) -> Statement {
        let Some(Some(place)) = self.places.get(id.index()) else { return Statement::beginning() };
        let (file, line, column) = (place.file.to_string(), place.line, place.column);
        let calls = context::names(place.context).iter().map(ToString::to_string).collect();
        Statement { site: Site { file, line, column }, calls }
    }
}

/// Where to begin to look. Places are some 24 bytes apart.
#[inline]
fn start(pointer: usize, context: Context, task: u32) -> usize {
    let context = (context.0 as usize).wrapping_mul(0x9e37_79b1);
    let task = (task.wrapping_add(1) as usize).wrapping_mul(0x85eb_ca6b);
    (pointer >> 3).wrapping_add(context).wrapping_add(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn a_place_has_one_number_whatever_points_to_it() {
        let mut statements = Statements::default();
        let (one, other) = (here(), here());
        let copy: &'static Location<'static> = Box::leak(Box::new(*one));
        let first = statements.id(one, Context::NONE);
        assert_eq!(statements.id(copy, Context::NONE), first);
        assert_ne!(statements.id(other, Context::NONE), first);
        assert_ne!(statements.id(one, Context(7)), first);
        assert_eq!(statements.id(one, Context::NONE), first);
        assert_eq!(statements.name(StatementId::NONE), Statement::beginning());
    }

    #[test]
    fn a_place_has_a_number_for_each_task_that_is_asked_for() {
        let (mut statements, site) = (Statements::default(), here());
        let any = statements.id(site, Context::NONE);
        let own = statements.id_of(site, Context::NONE, TaskId(1));
        assert_ne!(own, any);
        assert_ne!(own, statements.id_of(site, Context::NONE, TaskId(2)));
        assert_eq!(own, statements.id_of(site, Context::NONE, TaskId(1)));
        assert_eq!(any, statements.id(site, Context::NONE));
    }

    #[test]
    fn a_name_of_another_process_leads_to_the_same_number() {
        let mut statements = Statements::default();
        let id = statements.id(here(), context::of(&["push", "run"]));
        let name = statements.name(id);
        assert_eq!(name.calls, ["push", "run"]);
        assert_eq!(statements.named(&name), id);
        let mut others = Statements::default();
        let id = others.named(&name);
        assert_eq!(others.name(id), name);
    }

    #[test]
    fn numbers_stay_when_there_are_many() {
        let mut statements = Statements::default();
        let site = here();
        let ids: Vec<_> = (0..500).map(|n| statements.id(site, Context(n))).collect();
        let again: Vec<_> = (0..500).map(|n| statements.id(site, Context(n))).collect();
        assert_eq!(ids, again);
        assert_eq!(ids.last(), Some(&StatementId(500)));
    }
}
