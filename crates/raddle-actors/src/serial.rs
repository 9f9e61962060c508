//! The deterministic and the random manager: a world that is run step by step on the caller's thread.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::turn::Chooser;
use crate::world::{ONLY_SET_UP, World};

/// A world, and who decides which of its links is next.
pub(crate) struct Serial {
    world: Mutex<World>,
    picker: Mutex<Picker>,
}

/// Decides which link is next.
pub(crate) enum Picker {
    /// Each in turn: this one, or the next that is ready.
    InTurn(u32),
    Random(Chooser),
}

impl Picker {
    fn pick(&mut self, world: &World) -> Option<u32> {
        let mut ready = (0..).zip(&world.links).filter(|(_, link)| link.ready).map(|(at, _)| at);
        match self {
            Self::InTurn(turn) => {
                let first = ready.next()?;
                let mut ready = std::iter::once(first).chain(ready);
                let link = ready.find(|link| link >= turn).unwrap_or(first);
                *turn = link + 1;
                Some(link)
            }
            Self::Random(chooser) => {
                let at = chooser.choose(world.ready.count.max(1));
                ready.nth(at as usize)
            }
        }
    }
}

impl Serial {
    pub(crate) fn new(world: World, picker: Picker) -> Self {
        Self { world: Mutex::new(world), picker: Mutex::new(picker) }
    }

    #[track_caller]
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// The world, replaced by an empty one. `None` if there is another handle of the system.
    #[cfg(feature = "check")]
    pub(crate) fn take_world(this: &std::sync::Arc<Self>) -> Option<World> {
        use crate::faults::Faults;
        use crate::mailboxes::Mailboxes;
        let empty = || World::new(Mailboxes::default(), Faults::default(), Chooser::First);
        (std::sync::Arc::strong_count(this) == 1)
            .then(|| std::mem::replace(&mut *this.world(), empty()))
    }

    /// Takes one step. `false` if there is nothing to be handled.
    #[track_caller]
    pub(crate) fn step(&self) -> bool {
        let mut world = self.world();
        assert!(!world.is_model, "{ONLY_SET_UP}");
        let mut picker = self.picker.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(link) = picker.pick(&world) else { return false };
        world.step(link, None);
        world.observe();
        world.ready.changed.clear();
        let answers = std::mem::take(&mut world.answers);
        drop((world, picker));
        for answer in answers {
            answer();
        }
        true
    }
}

impl Drop for Serial {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.world.get_mut().unwrap_or_else(PoisonError::into_inner).check_cold();
        }
    }
}

/// The world, which is never contended: all is done by one OS thread.
#[inline]
#[track_caller]
pub(crate) fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    match world.try_lock() {
        Ok(world) => world,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!(
            "raddle: a system is used inside one of its handlers; a handler has its Context for \
             that"
        ),
    }
}
