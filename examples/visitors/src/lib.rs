//! Counts visitors.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// How many visitors have come.
#[derive(Debug, Default)]
pub struct Visitors(AtomicU32);

impl Visitors {
    /// One more.
    pub fn enter(&self) {
        let so_far = self.0.load(SeqCst);
        self.0.store(so_far + 1, SeqCst);
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::Visitors;

    #[raddle::test]
    fn both_visitors_are_counted() {
        let visitors = Visitors::default();
        raddle::thread::scope(|scope| {
            scope.spawn(|| visitors.enter());
            visitors.enter();
        });
        assert_eq!(visitors.count(), 2);
    }
}
