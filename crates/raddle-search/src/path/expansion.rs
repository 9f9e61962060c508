//! The part of a depth-first search that differs between searches: which alternatives an execution opens.
//!
//! An expansion keeps what it needs of a point *in* that point, so that a point which is left takes its part
//! of the expansion with it. Those that there are: [`expansion`](crate::expansion).

use std::fmt;

use raddle_engine::strategy::{Cut, Event, Finished, Needs, Point, SearchPart, Unsupported};
use raddle_trace::unit::{Sibling, Upwards};
use raddle_trace::{Covered, PairCount};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Path, PathSearch};
use crate::estimate::{Children, Kind};
use crate::state::FOREIGN;

/// A decision of the current path.
pub trait Decision: Clone + fmt::Debug + Send + Serialize + DeserializeOwned {
    /// The number of options.
    fn of(&self) -> u32;
    /// The option that is taken.
    fn option(&self) -> u32;
    /// Whether its numbers fit together, if it was read from a saved state.
    fn is_valid(&self) -> bool;
}

/// What became of the last point of the path, below whose option everything was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Another option is taken there now.
    Taken,
    /// Nothing is left to try there. To the estimate the point had so many options.
    Done {
        /// The number of options of the space.
        of: u32,
    },
}

/// What a search knows of itself when it is asked what it has covered.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Whether nothing is left.
    pub ended: bool,
    /// Whether this is neither a part of a search nor gave parts away, and no execution left its plan.
    pub whole: bool,
    /// The number of executions.
    pub executions: u64,
}

/// What a saved search has of its expansion.
pub(crate) type Saved<E> = <E as Expansion>::Saved;

/// Which alternatives a depth-first search tries.
pub trait Expansion: fmt::Debug + Send {
    /// What is kept of a point.
    type Point: Decision;
    /// What a saved search has besides its points.
    type Saved: Serialize + DeserializeOwned;

    /// Identifies the composition in saved states: a state of another one is refused.
    fn name(&self) -> String;

    /// What the engine must do for it.
    fn needs(&self) -> Needs;

    /// An execution begins that takes the options of `path`. `anew`: the last execution was not the one
    /// before it on this path, so nothing that was heard then holds.
    fn begin(&mut self, path: &[Self::Point], anew: bool);

    /// A point is met that the plan does not answer: what is taken there first.
    ///
    /// # Errors
    /// If the execution need not go on.
    fn arrive(&mut self, point: &Point<'_>) -> Result<Self::Point, Cut>;

    /// Why the search cannot go on, if its explorer is wrong: a sentence.
    fn trouble(&self) -> Option<&str> {
        None
    }

    /// Something happened, if [`Needs::steps`].
    fn heard(&mut self, event: &Event<'_>, path: &[Self::Point]) -> Option<Cut> {
        let _ = (event, path);
        None
    }

    /// The execution ended: opens what it asks for at the points of the path.
    fn end(&mut self, path: &mut Path<Self::Point>, execution: &Finished<'_>);

    /// Below the option taken at a point, the last of the path, everything was run: takes the next one.
    /// `index`: the point's place in the path.
    fn advance(&mut self, index: usize, point: &mut Self::Point) -> Advance;

    /// The last point is left. `run`: whether everything below it was run.
    fn leave(&mut self, point: Self::Point, run: bool) {
        let _ = (point, run);
    }

    /// The options of each point, and how many of them are known to be tried and were not.
    fn children(&self, path: &[Self::Point]) -> Vec<Children>;

    /// Which calibration its estimates have; none if there are no estimates.
    fn estimate_kind(&self) -> Option<Kind>;

    /// What has been covered.
    fn covered(&self, standing: Standing) -> Covered;

    /// Bytes that it holds besides the points.
    fn bytes(&self) -> usize {
        0
    }

    /// What it learned of orders of statements, if it does.
    fn pairs(&self) -> Option<PairCount> {
        None
    }

    /// Whether an execution that was begun and never ended can be begun again from its plan.
    fn can_begin_again(&self) -> bool {
        false
    }

    /// Whether the first execution after the search was restored was not the one that was saved.
    fn has_strayed(&self) -> bool {
        false
    }

    /// Whether a search with it can be split.
    fn is_divisible(&self) -> bool {
        false
    }

    /// Gives away up to `n` parts of a search.
    ///
    /// # Errors
    /// If that is not possible with this expansion.
    fn split(search: &mut PathSearch<Self>, n: usize) -> Result<Vec<SearchPart>, Unsupported>
    where
        Self: Sized,
    {
        let _ = (search, n);
        Err(Unsupported("be split yet"))
    }

    /// See [`Divisible::upwards`](raddle_engine::strategy::Divisible::upwards).
    fn upwards(search: &mut PathSearch<Self>) -> Upwards
    where
        Self: Sized,
    {
        let _ = search;
        Upwards::default()
    }

    /// See [`Divisible::begin_with`](raddle_engine::strategy::Divisible::begin_with). `last`: the last point of the path.
    ///
    /// # Errors
    /// If that cannot be.
    fn begin_with(&mut self, last: &mut Self::Point, sibling: &Sibling) -> Result<(), Unsupported> {
        let _ = (last, sibling);
        Err(FOREIGN)
    }

    /// What a saved search must have of it. `path`: the points that are saved.
    ///
    /// # Errors
    /// If it cannot be saved now.
    fn save(&self, path: &[Self::Point]) -> Result<Self::Saved, Unsupported>;

    /// Takes back what [`save`](Self::save) gave.
    ///
    /// # Errors
    /// If that cannot be.
    fn restore(&mut self, saved: Self::Saved, path: &[Self::Point]) -> Result<(), Unsupported>;
}
