//! Everything raddle stores or sends: schedules, traces, guarantees, reports.
//!
//! These types cross processes and versions, so they hold *names* (which task, as parent and n-th
//! spawn; which source line), never the dense numbers an engine uses inside one process. Every
//! format that leaves a process has a version. This crate depends on serde alone.
//!
//! Reading order: [`schedule`] (what replays an execution), [`trace`] (what happened in one),
//! [`outcome`] (how it ended), [`guarantee`] (what a search has covered), [`progress`] (how far it
//! is), [`report`] (all of it), [`run`] (several searches), [`tree`] (the executions of one). Then what
//! passes between `cargo raddle` and test binaries: [`host`], [`events`], [`saved`], [`exit`]; and what
//! crates share: [`hash`].

pub mod carried;
pub mod checkpoint;
pub mod events;
pub mod exit;
pub mod explanation;
pub mod fold;
pub mod guarantee;
pub mod hash;
pub mod host;
pub mod minimised;
pub mod outcome;
pub mod pairs;
pub mod progress;
pub mod receives;
pub mod report;
pub mod run;
pub mod saved;
pub mod schedule;
pub mod sketch;
pub mod token;
pub mod trace;
pub mod tree;
pub mod unit;

pub use carried::Carried;
pub use explanation::{Explanation, Lost, Pivot, Second};
pub use guarantee::{
    Assumption, Covered, Gaps, Guarantee, SampleBound, StateKey, TraceCount, Unseen,
};
pub use minimised::{Minimised, Size};
pub use outcome::{
    CellAccess, CellOp, DataRace, Death, Divergence, HeldLock, Lasted, LimitKind, Missing, Outcome,
    Panic, Waiting,
};
pub use pairs::{Coverage, Dropped, PairCount, PairSet, Statement};
pub use progress::{Band, Estimate, Probed, Progress};
pub use receives::{
    ActorReceives, Identity, KnownReceive, OrderSet, PairsCovered, PartialSchedule, ReceiveCount,
    ReceivesSeen, ScheduledReceive, UncoveredPair,
};
pub use report::{Counts, Failure, Member, Nested, Note, Report, Verdict};
pub use run::{About, Run, Sample, Tried};
pub use saved::SavedFailure;
pub use schedule::{Decision, Key, Schedule, Settings, TaskKind, TaskName, Timeouts};
pub use sketch::Sketch;
pub use token::TokenError;
pub use trace::{Call, Event, ObjectName, Raised, Site, Trace};
pub use tree::{BranchEnd, DecisionTree, Leaf, TreeNode, TreeOption};
