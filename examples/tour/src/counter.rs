//! Counting together: an update that is lost, one that is not, and two locks in the wrong order.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicU32, Ordering};

/// A counter that loses updates.
#[derive(Debug, Default)]
pub struct RacyCounter {
    n: AtomicU32,
}

impl RacyCounter {
    /// Adds one. Wrong: between the load and the store another thread may add one too.
    pub fn add_one(&self) {
        let n = self.n.load(Ordering::SeqCst);
        self.n.store(n + 1, Ordering::SeqCst);
    }

    /// How often [`add_one`](Self::add_one) was called, more or less.
    pub fn get(&self) -> u32 {
        self.n.load(Ordering::SeqCst)
    }
}

/// A counter that counts.
#[derive(Debug, Default)]
pub struct LockedCounter {
    n: Mutex<u32>,
}

impl LockedCounter {
    /// Adds one.
    ///
    /// # Panics
    /// If a thread panicked while it held the counter.
    pub fn add_one(&self) {
        *self.n.lock().expect("nobody panics here") += 1;
    }

    /// How often [`add_one`](Self::add_one) was called.
    ///
    /// # Panics
    /// If a thread panicked while it held the counter.
    pub fn get(&self) -> u32 {
        *self.n.lock().expect("nobody panics here")
    }
}

/// Two accounts, each with its own lock.
#[derive(Debug)]
pub struct Accounts {
    accounts: [Mutex<i64>; 2],
}

impl Accounts {
    /// Accounts with these balances.
    #[must_use]
    pub fn new(first: i64, second: i64) -> Self {
        Self { accounts: [Mutex::new(first), Mutex::new(second)] }
    }

    /// Moves an amount from one account to the other. Wrong: it locks the giving account first,
    /// so two transfers in opposite directions can wait for each other for ever.
    ///
    /// # Panics
    /// If an account does not exist, or if a thread panicked while it held one.
    pub fn transfer(&self, from: usize, to: usize, amount: i64) {
        let mut from = self.accounts[from].lock().expect("nobody panics here");
        let mut to = self.accounts[to].lock().expect("nobody panics here");
        *from -= amount;
        *to += amount;
    }
}
