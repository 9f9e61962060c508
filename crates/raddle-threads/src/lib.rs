//! `std::sync`, `std::thread`, `std::time` and `std::hint` as models under raddle's control.
//!
//! Same paths, names and signatures as std (`book/src/std-api.md` has them all, and `tests/std_api` checks it). Inside an execution every op is announced to the
//! engine and takes place when the strategy says so; outside, the same types behave as std's. One
//! file for each primitive: its model (a state machine, tested alone) and the API above it. [`cell`]
//! has what std has no need of: plain data whose accesses are checked for data races.

pub mod cell;
pub mod hint;
pub mod sync;
pub mod thread;
pub mod time;

/// What most models need of the engine.
pub(crate) mod prelude {
    pub(crate) use raddle_engine::race::Edges;
    pub(crate) use raddle_engine::rt::Object;
    pub(crate) use raddle_engine::{Access, Model, TaskId};
    pub(crate) use raddle_trace::Settings;
}

/// Gives a primitive a name for reports, and for strategies that go by names.
///
/// ```
/// use raddle_threads::Named;
/// use raddle_threads::sync::Mutex;
///
/// let queue = Mutex::new(Vec::<u8>::new()).named("queue");
/// ```
pub trait Named: Sized {
    /// The same primitive with a name.
    #[must_use]
    fn named(self, name: &'static str) -> Self;
}
