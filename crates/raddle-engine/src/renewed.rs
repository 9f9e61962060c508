//! A part of a task's state that few tasks change, and that is renewed only where it was.

use std::ops::{Deref, DerefMut};

/// A value that is renewed for every task of every execution. Most tasks only read it, if that: they have neither timers
/// nor panics nor thread-locals. So it remembers whether it was borrowed to be changed.
#[derive(Debug, Default)]
pub(crate) struct Renewed<T> {
    value: T,
    is_changed: bool,
}

impl<T> Renewed<T> {
    /// Makes the value what it was at first, if it may be another one. `renew` may keep allocations.
    #[inline]
    pub(crate) fn renew(&mut self, renew: impl FnOnce(&mut T)) {
        if self.is_changed {
            self.is_changed = false;
            renew(&mut self.value);
        }
    }
}

impl<T> Renewed<T> {
    /// The same as a shared reference to it, for those who have a pointer to the task: a reference is then made by a name.
    #[inline]
    pub(crate) fn read(&self) -> &T {
        self
    }

    /// The same as a mutable reference to it.
    #[inline]
    pub(crate) fn change(&mut self) -> &mut T {
        self
    }
}

impl<T> Deref for Renewed<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Renewed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.is_changed = true;
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_only_read_is_not_renewed() {
        let mut kept = Renewed::<Vec<u32>>::default();
        assert!(kept.is_empty());
        kept.renew(|_| unreachable!("nothing has changed"));
        kept.push(1);
        kept.renew(Vec::clear);
        assert!(kept.is_empty());
        kept.renew(|_| unreachable!("it has been renewed"));
    }
}
