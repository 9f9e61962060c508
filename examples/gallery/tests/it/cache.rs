//! A cache with two locks: one for the entries, one for the order in which they were used.

use std::collections::{BTreeMap, VecDeque};

use raddle::sync::Mutex;

#[derive(Default)]
struct Cache {
    entries: Mutex<BTreeMap<u32, String>>,
    used: Mutex<VecDeque<u32>>,
}

impl Cache {
    fn insert(&self, key: u32) {
        let mut entries = self.entries.lock().unwrap();
        entries.insert(key, format!("value of {key}"));
        self.used.lock().unwrap().push_back(key);
    }

    // ANCHOR: wrong
    /// Wrong: `insert` takes the locks in the other order.
    fn evict_wrong(&self) {
        let mut used = self.used.lock().unwrap();
        if let Some(key) = used.pop_front() {
            self.entries.lock().unwrap().remove(&key);
        }
    }
    // ANCHOR_END: wrong

    // ANCHOR: right
    /// Right: entries first, wherever both are held.
    fn evict(&self) {
        let mut entries = self.entries.lock().unwrap();
        if let Some(key) = self.used.lock().unwrap().pop_front() {
            entries.remove(&key);
        }
    }
    // ANCHOR_END: right
}

// ANCHOR: test
#[raddle::test]
fn insertions_and_evictions_do_not_block_each_other() {
    let cache = Cache::default();
    cache.insert(1);
    raddle::thread::scope(|scope| {
        scope.spawn(|| cache.insert(2));
        scope.spawn(|| cache.evict());
    });
    let entries = cache.entries.lock().unwrap();
    assert_eq!(entries.keys().copied().collect::<Vec<_>>(), [2]);
}
// ANCHOR_END: test

fn locks_in_two_orders() {
    let cache = Cache::default();
    cache.insert(1);
    raddle::thread::scope(|scope| {
        scope.spawn(|| cache.insert(2));
        scope.spawn(|| cache.evict_wrong());
    });
}

#[test]
fn the_bug_is_reported() {
    crate::reports::compare("cache", locks_in_two_orders);
}
