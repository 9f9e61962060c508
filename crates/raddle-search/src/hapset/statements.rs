//! Statements as small numbers: the same place, called in the same way, has the same number.
//!
//! The compiler may write one place down more than once, so a pointer is only the way to the number; two
//! pointers to the same file, line and column are the same place. Numbers are given in the order in which
//! statements are met, so they are the same in every run of a search.

use std::panic::Location;

use raddle_engine::context::Context;

/// A statement, by its number. In one search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StatementId(pub(crate) u32);

impl StatementId {
    /// Of no statement: what was there before the first one.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the source, and from where it was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) site: &'static Location<'static>,
    pub(crate) context: Context,
}

impl Place {
    fn is(&self, other: &Self) -> bool {
        self.context == other.context
            && (self.site.line(), self.site.column()) == (other.site.line(), other.site.column())
            && self.site.file() == other.site.file()
    }
}

/// A way to a number.
#[derive(Clone, Copy, Debug)]
struct Slot {
    pointer: usize,
    context: Context,
    id: StatementId,
}

const EMPTY: Slot = Slot { pointer: 0, context: Context::NONE, id: StatementId::NONE };

/// All statements that were met.
#[derive(Clone, Debug)]
pub(crate) struct Statements {
    /// By pointer and context, with open addressing. At least half of them are empty.
    slots: Vec<Slot>,
    used: usize,
    /// By number. The first is nowhere.
    places: Vec<Option<Place>>,
}

impl Default for Statements {
    fn default() -> Self {
        Self { slots: vec![EMPTY; 64], used: 0, places: vec![None] }
    }
}

impl Statements {
    /// The number of a statement.
    #[inline]
    pub(crate) fn id(&mut self, site: &'static Location<'static>, context: Context) -> StatementId {
        let pointer = std::ptr::from_ref(site) as usize;
        let mask = self.slots.len() - 1;
        let mut at = start(pointer, context) & mask;
        loop {
            let slot = self.slots[at];
            if slot.pointer == pointer && slot.context == context {
                return slot.id;
            }
            if slot.pointer == 0 {
                return self.meet(Place { site, context });
            }
            at = (at + 1) & mask;
        }
    }

    /// A pointer is met for the first time, with this context.
    #[cold]
    fn meet(&mut self, place: Place) -> StatementId {
        let same = |known: &Option<Place>| known.as_ref().is_some_and(|known| known.is(&place));
        let at = self.places.iter().position(same).unwrap_or_else(|| {
            self.places.push(Some(place));
            self.places.len() - 1
        });
        let id = StatementId(at as u32);
        if (self.used + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![EMPTY; old.len() * 2];
            old.into_iter().filter(|slot| slot.pointer != 0).for_each(|slot| self.put(slot));
        }
        let pointer = std::ptr::from_ref(place.site) as usize;
        self.put(Slot { pointer, context: place.context, id });
        self.used += 1;
        id
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = start(slot.pointer, slot.context) & mask;
        while self.slots[at].pointer != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Where a statement is; nowhere if it is [`StatementId::NONE`].
    pub(crate) fn place(&self, id: StatementId) -> Option<&Place> {
        self.places.get(id.index())?.as_ref()
    }
}

/// Where to begin to look. Places are some 24 bytes apart.
#[inline]
fn start(pointer: usize, context: Context) -> usize {
    (pointer >> 3).wrapping_add((context.0 as usize).wrapping_mul(0x9e37_79b1))
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
        assert!(statements.place(StatementId::NONE).is_none());
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
