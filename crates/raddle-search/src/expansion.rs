//! What an execution opens: the part of a depth-first search that differs between searches.
//!
//! A search is *expansion × frontier × bound × order (+ cache)*. The depth-first frontier is the store
//! [`path`](crate::path): a stack with one point for each decision of the last execution. An expansion says
//! which option is taken first at a new point, which others are to be tried there later, and what that means
//! for the guarantee. It keeps what it needs of a point *in* that point, so that a point which is left
//! takes its part of the expansion with it.
//!
//! | expansion | opens | at each point |
//! |---|---|---|
//! | [`All`](all::All) | every option within the bound | ranks, and the price of leaving the first |
//! | [`Delayed`](delayed::Delayed) | every option within a number of delays of an explorer | what each option costs |
//! | [`Reduced`](reduced::Reduced) | what reverses a race: classic, source sets, optimal | wakeup tree, sleep set |
//! | [`GoodSiblings`](eta::GoodSiblings) | one good sibling at the evil ancestor of a step | options left and tried |
//! | `Raced` | every option where a race asks for a new order (`HaPSet` over `all`) | ranks, and whether it is open |
//!
//! To add one: a file here that implements [`Expansion`](crate::path::Expansion), and a line in the registry.

pub mod all;
pub mod delayed;
pub mod eta;
pub(crate) mod raced;
pub mod ranked;
pub mod reduced;
