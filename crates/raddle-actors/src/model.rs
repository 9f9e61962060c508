//! A system with what must hold of it: one text that is run by any search.
//!
//! A [`Model`] is a setup, which builds a system and sends the first messages, and properties.
//! *Stateless*, it is the body of a test: [`run`](Model::run) inside `raddle::check`, under any
//! strategy, and [`judge`](Model::judge) after it. *Stateful*, with actors that can be
//! [copied](crate::snapshots), [`search`](Model::search) goes from state to state and visits each once.
//!
//! A pass must not be empty. A goal that no execution reaches is a failure, and a model without
//! properties is refused.
//!
//! `Misses:` a monitor that is hot for ever in an execution that does not end: liveness is looked at
//! where nothing is left to be handled.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::address::AnyAddress;
use crate::faults::Faults;
use crate::mailboxes::Mailboxes;
use crate::system::System;
use crate::view::View;

/// What a property says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PropertyKind {
    /// It holds at the beginning and after every step.
    Invariant,
    /// It holds at some time in some execution.
    Goal,
    /// It holds when nothing is left to be handled.
    Final,
}

impl fmt::Display for PropertyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invariant => "invariant",
            Self::Goal => "goal",
            Self::Final => "final check",
        })
    }
}

type Of<S> = Arc<dyn Fn(&S) -> Vec<AnyAddress> + Send + Sync>;
type Check<S> = Arc<dyn Fn(&S, &View<'_>) -> bool + Send + Sync>;

/// One thing that must hold.
pub(crate) struct Property<S> {
    pub(crate) name: Arc<str>,
    pub(crate) kind: PropertyKind,
    /// The actors that it looks at; all, if this is not said.
    of: Option<Of<S>>,
    check: Check<S>,
    /// Of a goal: in some execution.
    reached: Arc<AtomicBool>,
}

impl<S> Clone for Property<S> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            kind: self.kind,
            of: self.of.clone(),
            check: Arc::clone(&self.check),
            reached: Arc::clone(&self.reached),
        }
    }
}

impl<S> Property<S> {
    pub(crate) fn holds(&self, own: &S, view: &View<'_>) -> bool {
        (self.check)(own, view)
    }

    /// What is said of it if it does not hold.
    pub(crate) fn violated(&self) -> String {
        match self.kind {
            PropertyKind::Invariant => format!("the invariant \"{}\" does not hold", self.name),
            PropertyKind::Final => {
                format!("all is handled, and \"{}\" does not hold", self.name)
            }
            PropertyKind::Goal => format!("nothing reached the goal \"{}\"", self.name),
        }
    }

    pub(crate) fn reach(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// After every step of a system.
    #[track_caller]
    fn look(&self, own: &S, view: &View<'_>) {
        match self.kind {
            PropertyKind::Invariant => assert!(self.holds(own, view), "{}", self.violated()),
            PropertyKind::Goal if !self.is_reached() && self.holds(own, view) => self.reach(),
            _ => {}
        }
    }
}

/// A system and its properties. Cheap to clone: clones share which goals were reached.
///
/// `S` is what the setup returns: addresses, for the properties.
///
/// ```
/// use raddle_actors::{Actor, Address, Context, Model};
///
/// #[derive(Clone, Hash)]
/// struct Counter(u32);
/// impl Actor for Counter {
///     type Message = u32;
///     raddle_actors::snapshots!();
///     fn handle(&mut self, by: u32, _cx: &mut Context<'_, u32>) {
///         self.0 += by;
///     }
/// }
///
/// let model = Model::new(|system| {
///     let counter = system.spawn(Counter(0));
///     system.send(&counter, 1);
///     system.send(&counter, 2);
///     counter
/// })
/// .mailboxes(raddle_actors::Mailboxes::Unordered)
/// .invariant("it counts to three", |counter, view| view.actor::<Counter>(counter).0 <= 3)
/// .sometimes("two comes first", |counter, view| view.actor::<Counter>(counter).0 == 2)
/// .finally("it has counted", |counter, view| view.actor::<Counter>(counter).0 == 3);
///
/// # #[cfg(feature = "check")] {
/// // From state to state: 0, 1, 2 and 3.
/// let searched = model.search(&raddle_actors::States::breadth_first()).unwrap();
/// assert!(searched.is_pass(), "{searched}");
/// assert_eq!(searched.unique, 4);
///
/// // As the body of a test, in every order.
/// let body = model.clone();
/// raddle::check(move || body.run());
/// model.judge();
/// # }
/// ```
pub struct Model<S> {
    setup: Arc<dyn Fn(&System) -> S + Send + Sync>,
    mailboxes: Mailboxes,
    faults: Faults,
    pub(crate) properties: Vec<Property<S>>,
    /// The model says that there need be none, or there is a monitor.
    pub(crate) judged: Arc<AtomicBool>,
}

impl<S> Clone for Model<S> {
    fn clone(&self) -> Self {
        Self {
            setup: Arc::clone(&self.setup),
            mailboxes: self.mailboxes,
            faults: self.faults,
            properties: self.properties.clone(),
            judged: Arc::clone(&self.judged),
        }
    }
}

impl<S> fmt::Debug for Model<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.properties.iter().map(|property| &property.name).collect();
        f.debug_struct("Model")
            .field("mailboxes", &self.mailboxes)
            .field("faults", &self.faults)
            .field("properties", &names)
            .finish_non_exhaustive()
    }
}

/// What is said of a model that nothing could fail.
pub(crate) const UNJUDGED: &str = "the model has no properties, so that nothing but a panic could \
                                   fail: add an invariant, a goal, a final check or a monitor, or \
                                   say `panics_only()`";

impl<S: Send + Sync + 'static> Model<S> {
    /// A model without properties. `setup` is called once for each execution, or search over states.
    #[must_use]
    pub fn new(setup: impl Fn(&System) -> S + Send + Sync + 'static) -> Self {
        Self {
            setup: Arc::new(setup),
            mailboxes: Mailboxes::default(),
            faults: Faults::default(),
            properties: Vec::new(),
            judged: Arc::default(),
        }
    }

    /// In which order messages to one actor are handled.
    #[must_use]
    pub fn mailboxes(mut self, mailboxes: Mailboxes) -> Self {
        self.mailboxes = mailboxes;
        self
    }

    /// What may go wrong.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    fn property(
        mut self,
        kind: PropertyKind,
        name: &str,
        of: Option<Of<S>>,
        check: Check<S>,
    ) -> Self {
        let (name, reached) = (Arc::from(name), Arc::default());
        self.properties.push(Property { name, kind, of, check, reached });
        self
    }

    /// `check` holds at the beginning and after every step.
    ///
    /// It may look at all actors: then a search that leaves out equivalent executions leaves out
    /// nothing. If it looks at a few, [`invariant_of`](Self::invariant_of) is faster there.
    #[must_use]
    pub fn invariant(
        self,
        name: &str,
        check: impl Fn(&S, &View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(PropertyKind::Invariant, name, None, Arc::new(check))
    }

    /// Like [`invariant`](Self::invariant), but looks only at the actors that `of` names.
    #[must_use]
    pub fn invariant_of(
        self,
        name: &str,
        of: impl Fn(&S) -> Vec<AnyAddress> + Send + Sync + 'static,
        check: impl Fn(&S, &View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(PropertyKind::Invariant, name, Some(Arc::new(of)), Arc::new(check))
    }

    /// `goal` holds at some time in some execution: a search in which it never does has failed.
    #[must_use]
    pub fn sometimes(
        self,
        name: &str,
        goal: impl Fn(&S, &View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(PropertyKind::Goal, name, None, Arc::new(goal))
    }

    /// Like [`sometimes`](Self::sometimes), but looks only at the actors that `of` names.
    #[must_use]
    pub fn sometimes_of(
        self,
        name: &str,
        of: impl Fn(&S) -> Vec<AnyAddress> + Send + Sync + 'static,
        goal: impl Fn(&S, &View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(PropertyKind::Goal, name, Some(Arc::new(of)), Arc::new(goal))
    }

    /// `check` holds when nothing is left to be handled.
    #[must_use]
    pub fn finally(
        self,
        name: &str,
        check: impl Fn(&S, &View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.property(PropertyKind::Final, name, None, Arc::new(check))
    }

    /// Nothing but panics of handlers can fail, and that is meant.
    #[must_use]
    pub fn panics_only(self) -> Self {
        self.judged.store(true, Ordering::Relaxed);
        self
    }

    fn system(&self) -> (System, S) {
        let system = System::builder().mailboxes(self.mailboxes).faults(self.faults).build();
        system.set_up(true);
        let own = (self.setup)(&system);
        system.set_up(false);
        if system.has_monitors() {
            self.judged.store(true, Ordering::Relaxed);
        }
        (system, own)
    }

    /// The system as it is set up, apart from any execution.
    #[cfg(feature = "check")]
    pub(crate) fn world(&self) -> Result<(crate::world::World, S), String> {
        if raddle_engine::rt::inside() {
            return Err(
                "states are searched outside of executions: call Model::run inside one".to_owned()
            );
        }
        let (system, own) = self.system();
        Ok((system.into_world()?, own))
    }

    /// The goals that a search over states has reached.
    #[cfg(feature = "check")]
    pub(crate) fn reach(&self, searched: &crate::states::Searched) {
        for (property, judged) in self.properties.iter().zip(&searched.properties) {
            if property.kind == PropertyKind::Goal && judged.holds {
                property.reach();
            }
        }
    }

    pub(crate) fn is_judged(&self) -> bool {
        !self.properties.is_empty() || self.judged.load(Ordering::Relaxed)
    }

    /// One execution: the body of a test. Inside `raddle::check` it is run in every order of messages;
    /// as an ordinary test once, each actor in turn.
    ///
    /// # Panics
    /// If an invariant or a final check does not hold, a handler panics, or a monitor is hot at the
    /// end.
    pub fn run(&self) {
        #[cfg(feature = "check")]
        if raddle_engine::rt::offer_states(|| Arc::new(crate::states::Offered(self.clone()))) {
            self.run_once();
            raddle_engine::rt::states_over();
            return;
        }
        self.run_once();
    }

    fn run_once(&self) {
        let (system, own) = self.system();
        let own = Arc::new(own);
        for property in &self.properties {
            if property.kind == PropertyKind::Final {
                continue;
            }
            let of = property.of.as_ref().map(|of| of(&own)).unwrap_or_default();
            let (property, own) = (property.clone(), Arc::clone(&own));
            system.look(|view| property.look(&own, view));
            system.invariant(&of, move |view| property.look(&own, view));
        }
        system.handle_all();
        let last = |property: &&Property<S>| property.kind == PropertyKind::Final;
        for property in self.properties.iter().filter(last) {
            let holds = system.look(|view| property.holds(&own, view));
            assert!(holds, "{}", property.violated());
        }
    }

    /// The goals that no execution has reached so far.
    #[must_use]
    pub fn unreached(&self) -> Vec<&str> {
        let goals = self.properties.iter().filter(|property| property.kind == PropertyKind::Goal);
        goals.filter(|goal| !goal.is_reached()).map(|goal| &*goal.name).collect()
    }

    /// After a stateless search: its executions have reached every goal.
    ///
    /// # Panics
    /// If one was not reached, or if the model has no properties.
    #[track_caller]
    pub fn judge(&self) {
        assert!(self.is_judged(), "raddle: {UNJUDGED}");
        let unreached = self.unreached();
        assert!(
            unreached.is_empty(),
            "no execution reached {}",
            unreached.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        );
    }
}
