//! `loom::alloc`: std's allocation. Misses: leaks, which loom looks for.

pub use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

/// A value whose leak loom would report.
#[derive(Debug)]
pub struct Track<T>(T);

impl<T> Track<T> {
    /// Keeps the value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}
