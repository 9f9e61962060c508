//! Bugs that everybody knows, each as small as it can be, and most of them also without the bug.
//!
//! A name that ends in `-fixed` is the program of that name with as little changed as makes it
//! right: a search that covers it must find nothing.

#![expect(clippy::unwrap_used, reason = "programs are as their users write them")]
#![expect(clippy::missing_panics_doc, reason = "to panic is what programs do")]

pub mod channels;
pub mod conditions;
pub mod initialisation;
pub mod locks;
pub mod orders;
pub mod races;
pub mod spinning;
pub mod updates;
