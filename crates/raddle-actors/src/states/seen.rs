//! What has been seen: a table of fingerprints.

/// Fingerprints of states, each with that of the state it was first reached from.
pub(super) struct Seen {
    /// A power of two; 0 is no fingerprint.
    slots: Vec<(u64, u64)>,
    pub(super) len: usize,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { slots: vec![(0, 0); 1 << 10], len: 0 }
    }

    pub(super) fn key(fingerprint: u64) -> u64 {
        fingerprint.max(1)
    }

    pub(super) fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (key >> 7) as usize & mask;
        while self.slots[at].0 != key && self.slots[at].0 != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Whether it is new.
    pub(super) fn insert(&mut self, fingerprint: u64, from: u64) -> bool {
        let key = Self::key(fingerprint);
        let at = self.find(key);
        if self.slots[at].0 == key {
            return false;
        }
        self.slots[at] = (key, Self::key(from));
        self.len += 1;
        if self.len * 4 > self.slots.len() * 3 {
            let larger = vec![(0, 0); self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.0 != 0 {
                    let at = self.find(slot.0);
                    self.slots[at] = slot;
                }
            }
        }
        true
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u64, u64)>()
    }

    /// What it will have once it grows, if that is next.
    pub(super) fn bytes_soon(&self) -> usize {
        if (self.len + 1) * 4 > self.slots.len() * 3 { self.bytes() * 3 } else { self.bytes() }
    }

    /// The fingerprints from the first state to this one, without the first.
    pub(super) fn way(&self, to: u64) -> Vec<u64> {
        let mut way = Vec::new();
        let mut key = Self::key(to);
        loop {
            let (_, from) = self.slots[self.find(key)];
            if from == key {
                break;
            }
            way.push(key);
            key = from;
        }
        way.reverse();
        way
    }
}
