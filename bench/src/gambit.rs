//! GAMBIT's experiments: what best first costs and holds, and the priority by methods.

pub(crate) mod cost;
pub(crate) mod memory;
#[expect(dead_code, reason = "for the command of these experiments")]
pub(crate) mod methods;
