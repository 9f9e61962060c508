//! What tells objects of a test apart: what they are and where they were made.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;

/// The kind of an object.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of types")]
pub enum ResourceType {
    Atomic,
    BatchSemaphore,
    Barrier,
    Condvar,
    Mutex,
    RwLock,
    Once,
    MpscChannel,
}

/// Where and by which task an object was made, and the how many-th it is there.
#[derive(Clone)]
pub struct ResourceSignature {
    kind: ResourceType,
    created: &'static Location<'static>,
    by: u64,
    nth: u32,
    place: u64,
    all: u64,
}

/// FNV-1a, which a constant can compute.
const fn hashed(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u64).wrapping_mul(0x0100_0000_01b3);
        index += 1;
    }
    hash
}

impl ResourceSignature {
    /// Of an object that is made by the caller, and by no task.
    #[must_use]
    #[track_caller]
    pub const fn new_const(resource_type: ResourceType) -> Self {
        Self::new(resource_type, Location::caller(), 0, 1)
    }

    /// Of an object that was made there, by the task with this signature, after so many others.
    #[must_use]
    pub const fn new(
        resource_type: ResourceType,
        static_create_location: &'static Location<'static>,
        parent_task_signature: u64,
        create_location_counter: u32,
    ) -> Self {
        let created = static_create_location;
        let place = hashed(0xcbf2_9ce4_8422_2325, created.file().as_bytes());
        let place = hashed(place, &created.line().to_le_bytes());
        let place = hashed(place, &created.column().to_le_bytes());
        let all = hashed(place, &parent_task_signature.to_le_bytes());
        let all = hashed(all, &create_location_counter.to_le_bytes());
        let (by, nth) = (parent_task_signature, create_location_counter);
        Self { kind: resource_type, created, by, nth, place, all }
    }

    /// Of the place alone. The number differs from shuttle's.
    #[must_use]
    pub fn static_create_location_hash(&self) -> u64 {
        self.place
    }

    /// Of everything but the kind. The number differs from shuttle's.
    #[must_use]
    pub fn signature_hash(&self) -> u64 {
        self.all
    }
}

impl PartialEq for ResourceSignature {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Eq for ResourceSignature {}

impl Hash for ResourceSignature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.all.hash(state);
    }
}

impl fmt::Debug for ResourceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, created, by, nth, .. } = self;
        write!(f, "ResourceSignature({kind:?} number {nth} of {created}, made by {by})")
    }
}

impl fmt::Display for ResourceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, created, by, nth, .. } = self;
        write!(f, "{kind:?} number {nth} of {created}, made by {by}")
    }
}
