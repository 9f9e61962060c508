//! A list that allocates nothing while it is short.
//!
//! Models keep who holds and who waits, seldom more than a handful, and a primitive is often made
//! anew in each execution: a `Vec` would cost an allocation each time.

const NEAR: usize = 4;

/// Values in the order in which they came.
#[derive(Debug)]
pub(crate) struct SmallList<T> {
    len: usize,
    /// Invariant: the first `min(len, NEAR)` are `Some`.
    near: [Option<T>; NEAR],
    /// Those after the first `NEAR`.
    far: Vec<T>,
}

impl<T: Copy> SmallList<T> {
    pub(crate) const fn new() -> Self {
        Self { len: 0, near: [None; NEAR], far: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The one with this number, from 0.
    #[inline]
    fn get(&self, at: usize) -> Option<T> {
        if at < NEAR { self.near[at] } else { self.far.get(at - NEAR).copied() }
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        // By number: nearly all lists are empty or have one value, and are looked at often.
        (0..self.len).map_while(|at| self.get(at))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.near.iter_mut().take(self.len).flatten().chain(self.far.iter_mut())
    }

    pub(crate) fn push(&mut self, value: T) {
        match self.near.get_mut(self.len) {
            Some(place) => *place = Some(value),
            None => self.far.push(value),
        }
        self.len += 1;
    }

    /// Removes the first value for which `pick` holds.
    pub(crate) fn remove_first(&mut self, pick: impl Fn(T) -> bool) -> Option<T> {
        let at = self.iter().position(pick)?;
        self.len -= 1;
        if at >= NEAR {
            return Some(self.far.remove(at - NEAR));
        }
        let removed = self.near[at];
        self.near[at..].rotate_left(1);
        self.near[NEAR - 1] = if self.far.is_empty() { None } else { Some(self.far.remove(0)) };
        removed
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.near = [None; NEAR];
        self.far.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_list_whether_short_or_long() {
        for n in 0..8 {
            for removed in 0..n {
                let (mut few, mut vec) = (SmallList::new(), Vec::new());
                for value in 0..n {
                    few.push(value);
                    vec.push(value);
                }
                assert_eq!(few.remove_first(|value| value == removed), Some(vec.remove(removed)));
                assert_eq!(few.remove_first(|value| value == removed), None);
                few.push(9);
                vec.push(9);
                for value in few.iter_mut().chain(&mut vec) {
                    *value += 1;
                }
                assert_eq!(few.iter().collect::<Vec<_>>(), vec);
                assert_eq!(few.len(), vec.len());
                few.clear();
                assert_eq!(few.iter().count(), 0);
            }
        }
    }
}
