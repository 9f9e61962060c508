//! For what raddle does not have: strategies, priorities, orders, observers and primitives of your own.
//!
//! Ours are written with the same items. To run what you wrote:
//!
//! | you have | and call |
//! |---|---|
//! | a [`Strategy`] | [`explore_with`](crate::explore_with()) |
//! | a [`Priority`] of a best-first search | `explore_with` and a [`TreeSearch`] |
//! | a default [`Order`] of a search | `explore_with` and a [`DepthFirst`] or a [`TreeSearch`] |
//! | an [`Observer`], which decides nothing | [`explore_observed`](crate::explore_observed()) |
//! | a [`DelayingExplorer`](crate::explorer::DelayingExplorer) | [`explore_by`](crate::explore_by()) |
//! | a primitive, as a [`Model`] | its API, in any test |
//!
//! `examples/outside` of the repository is a package that has one of each.
//!
//! For a package that has the API of another tool, as `raddle-loom` has loom's: [`tell_difference`] has the report say what raddle
//! does not do as that tool does; [`join_others`], [`has_panicked`] and [`panic_at`] are for checks at the end of an execution.
//!
//! The traits in here may gain methods with a default at any 0.1.x. Structs that raddle gives to you may gain fields, so
//! take them apart with `..`; of those that you give to raddle (`Needs`, `ObserverNeeds`, `Sees`, `Plan`) name the fields
//! that you set and leave the others to `..Default::default()`.
//!
//! # A priority
//! Candidates are executions that are known and were not run; the cheapest is next, and none is left out.
//!
//! ```
//! use raddle::extend::{Access, Candidate, Cost, Frontier, Priority, Sees, TreeExpansion, TreeSearch};
//! use raddle::{Config, Covered, explore_with};
//! # use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
//!
//! /// What would write comes before what would read.
//! #[derive(Debug)]
//! struct WritesFirst;
//!
//! impl Priority for WritesFirst {
//!     fn name(&self) -> String {
//!         "writes-first".to_owned()
//!     }
//!
//!     fn sees(&self) -> Sees {
//!         Sees { ops: true, ..Sees::default() }
//!     }
//!
//!     fn cost(&mut self, candidate: &Candidate) -> Cost {
//!         Cost(candidate.op.is_some_and(|op| op.access == Access::Read).into())
//!     }
//! }
//!
//! let frontier = Frontier::BestFirst(vec![Box::new(WritesFirst)]);
//! let search = TreeSearch::new(TreeExpansion::All, frontier);
//! # let test = || {
//! #     let n = AtomicU32::new(0);
//! #     raddle::thread::scope(|scope| {
//! #         scope.spawn(|| n.load(SeqCst));
//! #         n.store(1, SeqCst);
//! #     });
//! # };
//! let report = explore_with(Config::default(), search, test)?;
//! assert_eq!(report.guarantee.covered, Covered::Everything);
//! # Ok::<(), raddle::Error>(())
//! ```
//!
//! # An order
//! Which task moves where a search has no reason to prefer one. It decides which executions come first, and from
//! what a bound counts.
//!
//! ```
//! use raddle::extend::{DepthFirst, Order, Point};
//! use raddle::{Config, Covered, explore_with};
//! # use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
//!
//! /// The task that was created last moves first.
//! #[derive(Debug)]
//! struct YoungestFirst;
//!
//! impl Order for YoungestFirst {
//!     fn name(&self) -> String {
//!         "youngest-first".to_owned()
//!     }
//!
//!     fn preempts(&self) -> bool {
//!         true
//!     }
//!
//!     fn next(&mut self, point: &Point<'_>) -> u32 {
//!         point.arity() - 1
//!     }
//! }
//!
//! # let test = || {
//! #     let n = AtomicU32::new(0);
//! #     raddle::thread::scope(|scope| {
//! #         scope.spawn(|| n.load(SeqCst));
//! #         n.store(1, SeqCst);
//! #     });
//! # };
//! let report = explore_with(Config::default(), DepthFirst::new(YoungestFirst), test)?;
//! assert_eq!((report.counts.executions, report.guarantee.covered), (2, Covered::Everything));
//! # Ok::<(), raddle::Error>(())
//! ```
//!
//! # A primitive
//! A [`Model`] says of each op when it can run, how it touches the object and what it does. The [`Object`] around it makes
//! each op a step that the search decides on; outside of a test the same op really waits. Call it from a
//! `#[track_caller]` function, so that reports name the line of the program.
//!
//! [`Access`] decides what a reduction may leave out: if in doubt take [`Access::Write`], which depends on every other
//! access. That costs executions and misses none.
//!
//! ```
//! use std::sync::Arc;
//!
//! use raddle::extend::{Access, Model, Object, TaskId};
//! use raddle::{Config, Verdict, explore, thread};
//!
//! /// A door that stays open once it is opened.
//! #[derive(Debug)]
//! struct Door {
//!     open: bool,
//! }
//!
//! #[derive(Clone, Copy, Debug)]
//! enum DoorOp {
//!     Open,
//!     Enter,
//! }
//!
//! impl Model for Door {
//!     type Op = DoorOp;
//!     type Reply = ();
//!     const KIND: &'static str = "Door";
//!
//!     fn enabled(&self, _: TaskId, op: DoorOp) -> bool {
//!         self.open || matches!(op, DoorOp::Open)
//!     }
//!
//!     fn access(&self, _: TaskId, _: DoorOp) -> Access {
//!         Access::Write
//!     }
//!
//!     fn apply(&mut self, _: TaskId, op: DoorOp, _: u32) {
//!         self.open |= matches!(op, DoorOp::Open);
//!     }
//!
//!     fn reset(&mut self) {
//!         self.open = false;
//!     }
//! }
//!
//! let never_opened = explore(Config::default(), || {
//!     let door = Arc::new(Object::new(Door { open: false }));
//!     let theirs = Arc::clone(&door);
//!     thread::spawn(move || theirs.step(DoorOp::Enter)).join().unwrap();
//!     door.step(DoorOp::Open);
//! })?;
//! assert_eq!(never_opened.verdict, Verdict::Failed, "a deadlock");
//! # Ok::<(), raddle::Error>(())
//! ```

pub use raddle_engine::context::Context;
pub use raddle_engine::model::Model;
pub use raddle_engine::observer::{Ended, Observer, ObserverNeeds, Paused};
pub use raddle_engine::op::{Access, ObjectId, Op, TaskId};
pub use raddle_engine::race::Edges;
pub use raddle_engine::receive::{ActorNews, Effects, Receive, ReceiveName};
pub use raddle_engine::rt::{
    Object, execution_ended, has_panicked, inside, join_others, panic_at, step_both,
    step_both_timeout, step_now, tell_difference,
};
pub use raddle_engine::strategy::{
    Answer, Checkpoint, Choice, Cut, Divisible, Estimating, Event, Finished, Label, Lane, Needs,
    Options, Pending, Plan, Point, Remarks, Resumable, SearchPart, Step, Strategy, Stuck, Taken,
    Tasks, Timer, Unsupported, Waits, Watch,
};
pub use raddle_search::tree::priority::{
    Candidate, ClosurePriority, Cost, Priority, Reversal, Sees, Window,
};
pub use raddle_search::{
    Bound, CostlyOrder, DepthFirst, Frontier, Order, Rng, TreeExpansion, TreeSearch,
};
pub use raddle_trace::Settings;
