//! GAMBIT's experiments: so far the priority by methods.

#[expect(dead_code, reason = "for the command of these experiments")]
pub(crate) mod methods;
