//! GAMBIT's experiments: so far the priority by methods.

pub(crate) mod methods;
