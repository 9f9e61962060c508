//! What came of messages that actors have handled, so that their handlers need not run again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::snapshot::{SharedActor, SharedMessage};

/// The fingerprints of an actor and of the message that it handles.
pub(super) type Handled = (u64, u64);

/// What comes of a message that an actor handles in one state of its own: the same in every state of
/// the system.
pub(super) struct Remembered {
    pub(super) actor: Rc<SharedActor>,
    /// What it sent, each with its receiver.
    pub(super) sends: Box<[(u32, Rc<SharedMessage>)]>,
}

/// At most this many entries: some hundred megabytes.
const MAX_ENTRIES: usize = 1 << 20;

/// A bounded table of what handlers did.
#[derive(Default)]
pub(super) struct Memo {
    entries: HashMap<Handled, Remembered, BuildHasherDefault<FingerprintHasher>>,
}

impl Memo {
    pub(super) fn get(&self, handled: &Handled) -> Option<&Remembered> {
        self.entries.get(handled)
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= MAX_ENTRIES
    }

    pub(super) fn insert(&mut self, handled: Handled, remembered: Remembered) {
        self.entries.insert(handled, remembered);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Takes fingerprints, which are as good as random, as they are.
#[derive(Clone, Copy, Default)]
struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers of 64 bits are hashed");
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = self.0.rotate_left(32) ^ n;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
