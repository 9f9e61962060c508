//! Every public item of loom, in the file that raddle-loom is compiled against, too.

#![expect(clippy::unwrap_used, reason = "tests as users of loom write them")]
#![expect(unsafe_code, reason = "as users of loom write it")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "as users of loom write it")]

include!("../../../crates/raddle-loom/tests/moved/whole_api.rs");
