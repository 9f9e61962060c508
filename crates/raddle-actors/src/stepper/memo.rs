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
    /// Whether it has another behaviour since.
    pub(super) became: bool,
}

/// At most this many entries: some hundred megabytes.
const MAX_ENTRIES: usize = 1 << 20;

/// A bounded table of what handlers did, and what the step that is being taken adds to it.
#[derive(Default)]
pub(super) struct Memo {
    entries: HashMap<Handled, Remembered, BuildHasherDefault<FingerprintHasher>>,
    /// What the step handles, and whether that changed the behaviour, if it can be remembered.
    handled: Option<(Handled, bool)>,
    /// What it has sent, if it can be remembered.
    sends: Vec<(u32, Rc<SharedMessage>)>,
}

impl Memo {
    pub(super) fn get(&self, handled: &Handled) -> Option<&Remembered> {
        self.entries.get(handled)
    }

    /// The step that is being taken is not remembered; nor is what is left of one that panicked.
    #[inline]
    pub(super) fn forget_step(&mut self) {
        self.handled = None;
        self.sends.clear();
    }

    /// A handler has run that does the same in every state. What it sent is noted afterwards.
    pub(super) fn note_handled(&mut self, handled: Handled, became: bool) {
        if self.entries.len() < MAX_ENTRIES {
            self.handled = Some((handled, became));
        }
    }

    #[inline]
    pub(super) fn note_send(&mut self, to: u32, message: &Rc<SharedMessage>) {
        if self.handled.is_some() {
            self.sends.push((to, Rc::clone(message)));
        }
    }

    /// Remembers the step, with the actor as it is after it.
    #[inline]
    pub(super) fn keep(&mut self, actor: &Rc<SharedActor>) {
        if let Some((handled, became)) = self.handled.take() {
            let (actor, sends) = (Rc::clone(actor), self.sends.drain(..).collect());
            self.entries.insert(handled, Remembered { actor, sends, became });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Takes fingerprints, which are as good as random, as they are.
#[derive(Clone, Copy, Default)]
pub(crate) struct FingerprintHasher(u64);

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
