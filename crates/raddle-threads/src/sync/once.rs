//! One-time initialisation, and the gate that it shares with `OnceLock` and `LazyLock`.
//!
//! Inside an execution the gate is a model; outside, std's own. The two never meet: a static
//! begins anew in each execution, and what an execution did is not seen outside. So ordinary
//! tests may use a static at the same time as an execution does on another OS thread.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync;

use raddle_engine::rt;

use super::small_list::SmallList;
use crate::Named;
use crate::prelude::*;

/// Which primitive a gate belongs to, and what its ops are called there.
pub(crate) trait Kind: Debug {
    const NAME: &'static str;
    const LOOK: &'static str;
    const BEGIN: &'static str;
}

/// Lets the first one through to initialise, and the others once that is done.
#[derive(Debug)]
pub(crate) struct Gate<K> {
    state: State,
    /// Who has seen that it is done.
    known: SmallList<TaskId>,
    kind: PhantomData<fn() -> K>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    /// A task initialises.
    Running(TaskId),
    /// The last one to initialise panicked.
    Poisoned,
    /// For good, within one execution.
    Done,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum GateOp {
    /// Looks whether it is done.
    Look,
    /// Initialises at once: nothing could be seen between the beginning and the end.
    Set,
    /// Initialises unless it is done. With `force`, also if it is poisoned.
    Begin {
        force: bool,
    },
    End {
        poisoned: bool,
    },
    /// Waits for another task to initialise. Without `force`, also until it is poisoned.
    Wait {
        force: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateReply {
    NotYet,
    Done,
    Poisoned,
    /// It is the caller who initialises.
    Yours {
        poisoned: bool,
    },
}

impl<K> Gate<K> {
    const fn new() -> Self {
        Self { state: State::New, known: SmallList::new(), kind: PhantomData }
    }

    fn is_known_to(&self, task: Option<TaskId>) -> bool {
        self.known.iter().any(|known| Some(known) == task)
    }

    /// Notes who has seen that it is done.
    fn seen_by(&mut self, task: TaskId) {
        if !self.is_known_to(Some(task)) {
            self.known.push(task);
        }
    }
}

impl<K: Kind> Model for Gate<K> {
    type Op = GateOp;
    type Reply = GateReply;
    const KIND: &'static str = K::NAME;

    fn enabled(&self, _: TaskId, op: GateOp) -> bool {
        match op {
            GateOp::Look | GateOp::End { .. } => true,
            // Not even for the one who initialises: std leaves that unspecified or deadlocks.
            GateOp::Set | GateOp::Begin { .. } => !matches!(self.state, State::Running(_)),
            GateOp::Wait { force } => {
                self.state == State::Done || !force && self.state == State::Poisoned
            }
        }
    }

    // Overreports: those who look and those who would initialise commute once it is done.
    fn access(&self, _: TaskId, op: GateOp) -> Access {
        match (op, self.state) {
            (GateOp::Look, _) => Access::Read,
            // Impossible before the end of the initialisation, and then in any order.
            (GateOp::Wait { .. }, _)
            | (GateOp::Set | GateOp::Begin { .. }, State::Done)
            | (GateOp::Begin { force: false }, State::Poisoned) => Access::PassGate,
            (GateOp::Set | GateOp::Begin { .. }, _) => Access::Acquire,
            (GateOp::End { .. }, _) => Access::Release,
        }
    }

    fn synchronise(&self, task: TaskId, op: GateOp, _: u32, edges: &mut Edges<'_>) {
        edges.by_access(self.access(task, op));
        if matches!(op, GateOp::Set) && self.state != State::Done {
            edges.release(Edges::FIRST);
        }
    }

    fn apply(&mut self, task: TaskId, op: GateOp, _: u32) -> GateReply {
        let before = self.state;
        self.state = match op {
            GateOp::Look | GateOp::Wait { .. } => before,
            GateOp::Begin { .. } if before == State::Done => before,
            GateOp::Begin { force: false } if before == State::Poisoned => before,
            GateOp::Begin { .. } => State::Running(task),
            GateOp::End { poisoned: true } => State::Poisoned,
            GateOp::Set | GateOp::End { poisoned: false } => State::Done,
        };
        if self.state == State::Done {
            self.seen_by(task);
        }
        match (op, before) {
            (GateOp::End { .. } | GateOp::Look | GateOp::Wait { .. }, _) => match self.state {
                State::Done => GateReply::Done,
                State::Poisoned if !matches!(op, GateOp::Look) => GateReply::Poisoned,
                _ => GateReply::NotYet,
            },
            (_, State::Done) => GateReply::Done,
            (GateOp::Begin { force: false }, State::Poisoned) => GateReply::Poisoned,
            _ => GateReply::Yours { poisoned: before == State::Poisoned },
        }
    }

    fn holders(&self, _: TaskId, _: GateOp) -> Vec<TaskId> {
        match self.state {
            State::Running(task) => vec![task],
            _ => Vec::new(),
        }
    }

    fn reset(&mut self) {
        self.state = State::New;
        self.known.clear();
    }

    fn show(op: GateOp, reply: Option<&GateReply>) -> String {
        let name = match op {
            GateOp::Look => K::LOOK,
            GateOp::Set => "set",
            GateOp::Begin { .. } => K::BEGIN,
            GateOp::End { poisoned: false } => return "initialised".to_owned(),
            GateOp::End { poisoned: true } => return "initialiser panicked".to_owned(),
            GateOp::Wait { .. } => "wait",
        };
        match reply {
            None => name.to_owned(),
            Some(GateReply::NotYet) => format!("{name} -> not yet"),
            Some(GateReply::Done) => format!("{name} -> done"),
            Some(GateReply::Poisoned) => format!("{name} -> poisoned"),
            Some(GateReply::Yours { .. }) => format!("{name} -> initialises"),
        }
    }
}

/// A gate as tasks use it. Only inside an execution.
pub(crate) struct Latch<K>(Object<Gate<K>>);

impl<K: Kind> Latch<K> {
    #[track_caller]
    pub(crate) const fn new() -> Self {
        Self(Object::new(Gate::new()))
    }

    pub(crate) fn set_name(&mut self, name: &'static str) {
        self.0.set_name(name);
    }

    pub(crate) fn created(&self) -> &'static Location<'static> {
        self.0.created()
    }

    /// Begins anew: `&mut` shows that there is no other reference.
    pub(crate) fn renew(&mut self) {
        self.0.get_mut().reset();
    }

    /// Done without a step: `&mut` shows that there is no other reference.
    pub(crate) fn open(&mut self) {
        let gate = self.0.get_mut();
        gate.state = State::Done;
        if let Some(me) = me() {
            gate.seen_by(me);
        }
    }

    /// Not a scheduling point, nor a step, for a task that has seen it done: it stays so, every
    /// op says so and changes nothing. The first time is a step even if it is done, since it
    /// might have come before.
    #[track_caller]
    fn step(&self, op: GateOp) -> GateReply {
        let me = me();
        if self.0.peek(|gate| gate.is_known_to(me)) { GateReply::Done } else { self.0.step(op) }
    }

    /// Whether it is done, without a step: for what only a person sees.
    pub(crate) fn is_done(&self) -> bool {
        self.0.peek(|gate| gate.state == State::Done)
    }

    #[track_caller]
    pub(crate) fn look(&self) -> bool {
        self.step(GateOp::Look) == GateReply::Done
    }

    /// Whether it is the caller who has initialised.
    #[track_caller]
    pub(crate) fn set(&self) -> bool {
        self.step(GateOp::Set) != GateReply::Done
    }

    #[track_caller]
    pub(crate) fn wait(&self, force: bool) {
        if self.step(GateOp::Wait { force }) == GateReply::Poisoned {
            poisoned(K::NAME);
        }
    }

    /// Runs `init`, told whether an earlier one panicked, unless it is done.
    #[track_caller]
    pub(crate) fn run(&self, force: bool, init: impl FnOnce(bool)) {
        match self.step(GateOp::Begin { force }) {
            GateReply::NotYet | GateReply::Done => {}
            GateReply::Poisoned => poisoned(K::NAME),
            GateReply::Yours { poisoned } => {
                let running = Running(&self.0);
                init(poisoned);
                std::mem::forget(running);
                self.0.step(GateOp::End { poisoned: false });
            }
        }
    }
}

fn me() -> Option<TaskId> {
    rt::TaskRef::current().map(rt::TaskRef::id)
}

#[cold]
#[track_caller]
pub(crate) fn poisoned(name: &str) -> ! {
    panic!("{name} instance has previously been poisoned");
}

/// Poisons the gate if the initialiser unwinds.
struct Running<'a, K: Kind>(&'a Object<Gate<K>>);

impl<K: Kind> Drop for Running<'_, K> {
    fn drop(&mut self) {
        self.0.step(GateOp::End { poisoned: true });
    }
}

#[derive(Debug)]
struct OnceKind;

impl Kind for OnceKind {
    const NAME: &'static str = "Once";
    const LOOK: &'static str = "is_completed";
    const BEGIN: &'static str = "call_once";
}

/// Like [`std::sync::Once`]. Begins anew in each execution, even as a static.
pub struct Once {
    inside: Latch<OnceKind>,
    outside: sync::Once,
}

/// Like [`std::sync::ONCE_INIT`].
#[deprecated(note = "as in std: use `Once::new`")]
#[expect(clippy::declare_interior_mutable_const, reason = "as in std")]
pub const ONCE_INIT: Once = Once::new();

/// Like [`std::sync::OnceState`].
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether an earlier closure panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Once {
    /// Nothing has been called yet.
    #[expect(clippy::new_without_default, reason = "std's has none")]
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Self { inside: Latch::new(), outside: sync::Once::new() }
    }

    /// Calls `f` if nothing has been called yet; waits if something is being called.
    ///
    /// # Panics
    /// If an earlier closure panicked, as in std.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        if rt::inside() {
            self.inside.run(false, |_| f());
        } else {
            self.outside.call_once(f);
        }
    }

    /// Like [`call_once`](Self::call_once), also if an earlier closure panicked.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        if rt::inside() {
            self.inside.run(true, |poisoned| f(&OnceState { poisoned }));
        } else {
            self.outside.call_once_force(|state| f(&OnceState { poisoned: state.is_poisoned() }));
        }
    }

    /// Whether a call has completed.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        if rt::inside() { self.inside.look() } else { self.outside.is_completed() }
    }

    /// Waits until a call has completed.
    ///
    /// # Panics
    /// If the closure panicked, as in std.
    #[track_caller]
    pub fn wait(&self) {
        if rt::inside() {
            self.inside.wait(false);
        } else {
            self.outside.wait();
        }
    }

    /// Waits until a call has completed, whether others have panicked or not.
    #[track_caller]
    pub fn wait_force(&self) {
        if rt::inside() {
            self.inside.wait(true);
        } else {
            self.outside.wait_force();
        }
    }
}

impl Named for Once {
    fn named(mut self, name: &'static str) -> Self {
        self.inside.set_name(name);
        self
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const CALL: GateOp = GateOp::Begin { force: false };
    const FORCE: GateOp = GateOp::Begin { force: true };
    const YOURS: GateReply = GateReply::Yours { poisoned: false };

    fn gate() -> Gate<OnceKind> {
        Gate::new()
    }

    #[test]
    fn the_first_initialises_and_the_others_wait() {
        let mut gate = gate();
        assert_eq!(gate.apply(A, CALL, 0), YOURS);
        for op in [CALL, FORCE, GateOp::Set, GateOp::Wait { force: false }] {
            assert!(!gate.enabled(B, op));
        }
        assert_eq!(gate.holders(B, CALL), [A]);
        assert_eq!(gate.apply(B, GateOp::Look, 0), GateReply::NotYet);
        gate.apply(A, GateOp::End { poisoned: false }, 0);
        for op in [CALL, FORCE, GateOp::Set, GateOp::Wait { force: false }, GateOp::Look] {
            assert!(gate.enabled(B, op));
            assert!(matches!(gate.access(B, op), Access::Read | Access::PassGate));
            assert_eq!(gate.apply(B, op, 0), GateReply::Done);
        }
    }

    #[test]
    fn who_has_seen_it_done_knows() {
        let mut gate = gate();
        gate.apply(A, CALL, 0);
        gate.apply(B, GateOp::Look, 0);
        assert!(!gate.is_known_to(Some(A)));
        gate.apply(A, GateOp::End { poisoned: false }, 0);
        assert!(gate.is_known_to(Some(A)) && !gate.is_known_to(Some(B)));
        gate.apply(B, GateOp::Look, 0);
        assert!(gate.is_known_to(Some(B)));
        gate.reset();
        assert!(!gate.is_known_to(Some(A)));
    }

    #[test]
    fn poison_stops_those_who_do_not_insist() {
        let mut gate = gate();
        gate.apply(A, CALL, 0);
        gate.apply(A, GateOp::End { poisoned: true }, 0);
        assert_eq!(gate.apply(B, CALL, 0), GateReply::Poisoned);
        assert_eq!(gate.apply(B, GateOp::Wait { force: false }, 0), GateReply::Poisoned);
        assert!(!gate.enabled(B, GateOp::Wait { force: true }));
        assert_eq!(gate.apply(B, FORCE, 0), GateReply::Yours { poisoned: true });
    }

    #[test]
    fn to_set_is_to_begin_and_end_at_once() {
        let mut gate = gate();
        assert_eq!(gate.access(A, GateOp::Set), Access::Acquire);
        assert_eq!(gate.apply(A, GateOp::Set, 0), YOURS);
        assert_eq!(gate.apply(B, GateOp::Set, 0), GateReply::Done);
        gate.reset();
        assert_eq!(gate.apply(B, GateOp::Look, 0), GateReply::NotYet);
    }
}
