//! Calling contexts: from where an op was called, as a small number.
//!
//! `HaPSet` (Wang, Said, Gupta, ICSE 2011) tells statements apart by the innermost calls that lead to them;
//! GAMBIT (Coons, Burckhardt, Musuvathi, `PPoPP` 2010) orders candidates by the methods they stand in.

/// The calls that lead to an op. Equal numbers are equal calls, in one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context(pub u32);

impl Context {
    /// Nothing is known of the calls.
    pub const NONE: Self = Self(0);
}
