//! The tests are what there is: see `tests/`.
