//! Making something once: right with `OnceLock`, wrong with a look before a lock.

use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::sync::{Mutex, OnceLock};

/// A value that is made at its first use, by one thread.
#[derive(Debug, Default)]
pub struct Cache {
    value: OnceLock<u32>,
    made: AtomicU32,
}

impl Cache {
    /// The value.
    pub fn get(&self) -> u32 {
        *self.value.get_or_init(|| self.made.fetch_add(1, Ordering::SeqCst))
    }

    /// How often the value was made.
    pub fn made(&self) -> u32 {
        self.made.load(Ordering::SeqCst)
    }
}

/// A value that may be made twice.
#[derive(Debug, Default)]
pub struct LeakyCache {
    value: Mutex<Option<u32>>,
    made: AtomicU32,
}

impl LeakyCache {
    /// The value. Wrong: the lock is let go between the look and the making.
    ///
    /// # Panics
    /// If a thread panicked while it held the value.
    pub fn get(&self) -> u32 {
        let known = *self.value.lock().expect("nobody panics here");
        if let Some(value) = known {
            return value;
        }
        let value = self.made.fetch_add(1, Ordering::SeqCst);
        *self.value.lock().expect("nobody panics here") = Some(value);
        value
    }

    /// How often the value was made.
    pub fn made(&self) -> u32 {
        self.made.load(Ordering::SeqCst)
    }
}
