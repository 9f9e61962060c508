//! The public items of shuttle, in the file that raddle-shuttle is compiled against, too.

#![expect(clippy::unwrap_used, reason = "tests as users of shuttle write them")]
#![expect(unsafe_code, reason = "as users of shuttle write it")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "as users of shuttle write it")]

include!("../../../crates/raddle-shuttle/tests/moved/whole_api.rs");
