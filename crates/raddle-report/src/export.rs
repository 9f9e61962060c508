//! A failure for other tools: a timeline for Perfetto and Chrome's tracing, a sequence diagram for
//! Mermaid, the tree of decisions for Graphviz.
//!
//! [`perfetto()`] and [`mermaid()`] take one execution. [`dot()`] takes what a search has kept of the
//! executions it ran: a [`DecisionTree`](raddle_trace::DecisionTree), which of a failure alone is one
//! path.

mod dot;
#[cfg(feature = "pages")]
mod mermaid;
#[cfg(feature = "pages")]
mod perfetto;

pub use dot::dot;
#[cfg(feature = "pages")]
pub use mermaid::mermaid;
#[cfg(feature = "pages")]
pub use perfetto::perfetto;

#[cfg(test)]
mod tests;
