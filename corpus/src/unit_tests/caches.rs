//! Caches and configurations.

use std::collections::{BTreeMap, VecDeque};

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, RwLock};
use raddle::thread;

/// A map that is looked at with a read lock, and filled with a write lock after a second look.
#[derive(Default)]
struct Cache {
    entries: RwLock<BTreeMap<u32, u32>>,
    computed: AtomicUsize,
}

impl Cache {
    fn get(&self, key: u32) -> u32 {
        if let Some(value) = self.entries.read().unwrap().get(&key) {
            return *value;
        }
        let mut entries = self.entries.write().unwrap();
        *entries.entry(key).or_insert_with(|| {
            self.computed.fetch_add(1, SeqCst);
            key * key
        })
    }
}

pub(super) fn cache_entry() {
    let cache = Cache::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(cache.get(3), 9));
        }
    });
    assert_eq!(cache.computed.load(SeqCst), 1);
}

/// Two entries at most; the one that was used last is at the back.
struct Lru {
    entries: Mutex<VecDeque<(u32, u32)>>,
}

impl Lru {
    fn get(&self, key: u32) -> Option<u32> {
        let mut entries = self.entries.lock().unwrap();
        let at = entries.iter().position(|entry| entry.0 == key)?;
        let entry = entries.remove(at).unwrap();
        entries.push_back(entry);
        Some(entry.1)
    }

    fn put(&self, key: u32, value: u32) {
        let mut entries = self.entries.lock().unwrap();
        entries.retain(|entry| entry.0 != key);
        if entries.len() == 2 {
            entries.pop_front();
        }
        entries.push_back((key, value));
    }
}

pub(super) fn lru_cache() {
    let cache = Lru { entries: Mutex::new(VecDeque::new()) };
    thread::scope(|scope| {
        scope.spawn(|| {
            cache.put(1, 10);
            assert!(cache.get(1).is_none_or(|value| value == 10));
        });
        scope.spawn(|| {
            cache.put(2, 20);
            cache.put(3, 30);
        });
        scope.spawn(|| assert!(cache.get(3).is_none_or(|value| value == 30)));
    });
    assert_eq!(cache.entries.into_inner().unwrap().len(), 2);
}

/// What readers hold is never changed: a new one takes its place.
pub(super) fn configuration_swap() {
    let current = Mutex::new(Arc::new([1, 1]));
    thread::scope(|scope| {
        scope.spawn(|| *current.lock().unwrap() = Arc::new([2, 2]));
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2 {
                    let configuration = Arc::clone(&current.lock().unwrap());
                    assert_eq!(configuration[0], configuration[1]);
                }
            });
        }
    });
}
