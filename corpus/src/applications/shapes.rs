//! Shapes of `SCTBench` that stand nowhere else in the corpus.
//!
//! `reorder`, `two-stage`, `bluetooth`, `token-ring` and `wrong-lock` are in [`bugs`](crate::bugs), the
//! work-stealing queue is the deque of [`libraries`](crate::libraries).

mod hand_over;
mod quicksort;
mod string_buffer;

use super::Application;

/// The application.
pub const APPLICATION: Application = Application {
    name: "shapes",
    line: "what SCTBench has and the rest of the corpus has not",
    tests: &[string_buffer::TEST, hand_over::QUEUE, hand_over::RING, quicksort::TEST],
};
