//! What programs call `raddle`, made of shuttle's primitives.

/// Names are for raddle's reports.
pub(crate) trait Named: Sized {
    fn named(self, _: &str) -> Self {
        self
    }
}

impl<T> Named for T {}

pub(crate) mod sync {
    pub(crate) use shuttle::sync::*;
    /// shuttle has none. No program that is run waits for another task's initialisation.
    pub(crate) use std::sync::OnceLock;

    pub(crate) mod counted {
        pub(crate) use std::sync::Arc;
    }
}

pub(crate) mod thread {
    pub(crate) use shuttle::thread::*;
}

pub(crate) mod cell {
    use std::sync::{Mutex, PoisonError};

    /// A plain variable. No step comes in between, so the lock is always free; it makes the cell `Sync`.
    #[derive(Debug, Default)]
    pub(crate) struct Tracked<T>(Mutex<T>);

    impl<T> Tracked<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        pub(crate) fn get(&self) -> T
        where
            T: Copy,
        {
            self.with(|value| *value)
        }

        pub(crate) fn set(&self, value: T) {
            self.with_mut(|place| *place = value);
        }

        pub(crate) fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
            f(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }

        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }
}
