//! A primitive: a semaphore.

use raddle::extend::{Access, Model, Object, TaskId};

/// How many permits are free.
#[derive(Debug)]
struct Permits {
    free: usize,
    /// How many there were at first: an execution begins with these.
    initial: usize,
}

#[derive(Clone, Copy, Debug)]
enum PermitsOp {
    Acquire,
    TryAcquire,
    Release,
}

impl Model for Permits {
    type Op = PermitsOp;
    /// Whether the caller has a permit now.
    type Reply = bool;
    const KIND: &'static str = "Semaphore";

    fn enabled(&self, _: TaskId, op: PermitsOp) -> bool {
        !matches!(op, PermitsOp::Acquire) || self.free > 0
    }

    // `Write` depends on all other accesses: more executions than are needed, and none is missed.
    fn access(&self, _: TaskId, op: PermitsOp) -> Access {
        match op {
            // It changes nothing, but with a permit it would have.
            PermitsOp::TryAcquire if self.free == 0 => Access::FailedUpdate,
            _ => Access::Write,
        }
    }

    fn apply(&mut self, _: TaskId, op: PermitsOp, _: u32) -> bool {
        match op {
            PermitsOp::Acquire | PermitsOp::TryAcquire => {
                let free = self.free > 0;
                self.free -= usize::from(free);
                free
            }
            PermitsOp::Release => {
                self.free += 1;
                false
            }
        }
    }

    fn reset(&mut self) {
        self.free = self.initial;
    }

    fn show(op: PermitsOp, reply: Option<&bool>) -> String {
        match (op, reply) {
            (PermitsOp::Acquire, _) => "acquire".to_owned(),
            (PermitsOp::TryAcquire, None) => "try_acquire".to_owned(),
            (PermitsOp::TryAcquire, Some(got)) => format!("try_acquire -> {got}"),
            (PermitsOp::Release, _) => "release".to_owned(),
        }
    }
}

/// Lets so many tasks pass at a time.
#[derive(Debug)]
pub struct Semaphore {
    permits: Object<Permits>,
}

impl Semaphore {
    /// With so many permits.
    #[must_use]
    #[track_caller]
    pub const fn new(permits: usize) -> Self {
        Self { permits: Object::new(Permits { free: permits, initial: permits }) }
    }

    /// Waits for a permit, and takes it.
    #[track_caller]
    pub fn acquire(&self) {
        self.permits.step(PermitsOp::Acquire);
    }

    /// Takes a permit if one is free.
    #[track_caller]
    pub fn try_acquire(&self) -> bool {
        self.permits.step(PermitsOp::TryAcquire)
    }

    /// Gives a permit back.
    #[track_caller]
    pub fn release(&self) {
        self.permits.step(PermitsOp::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The model alone: no search is needed to see whether it is right.
    #[test]
    fn a_permit_is_taken_once() {
        let (a, b) = (TaskId(0), TaskId(1));
        let mut permits = Permits { free: 1, initial: 1 };
        assert!(permits.apply(a, PermitsOp::Acquire, 0));
        assert!(!permits.enabled(b, PermitsOp::Acquire));
        assert!(!permits.apply(b, PermitsOp::TryAcquire, 0));
        permits.apply(a, PermitsOp::Release, 0);
        assert!(permits.enabled(b, PermitsOp::Acquire));
    }
}
