//! A place outside memory for what a search need not have at hand.
//!
//! A strategy does no input or output: it is given a store, and says what to keep there. Who gives it one
//! decides where that is; the engine and the strategies know no files.

use std::fmt;

/// Where something is in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Where it begins.
    pub at: u64,
    /// How many bytes it has.
    pub len: u64,
}

/// Keeps bytes.
pub trait Store: Send + fmt::Debug {
    /// Keeps these; says where.
    ///
    /// # Errors
    /// If they could not be kept. Then nothing was.
    fn put(&mut self, bytes: &[u8]) -> Result<Ticket, StoreError>;

    /// What was kept there, and is still.
    ///
    /// # Errors
    /// If it could not be read.
    fn get(&self, ticket: Ticket) -> Result<Vec<u8>, StoreError>;

    /// It is not needed any more.
    fn free(&mut self, ticket: Ticket);
}

/// Why a store could not do its work: a sentence, with what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}
