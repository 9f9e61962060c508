//! Every public item of loom is there and does what it does with loom: `bench/peer-loom` runs the same file with loom.
#![expect(clippy::unwrap_used, reason = "tests as users of loom write them")]
#![expect(unsafe_code, reason = "as users of loom write it")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "as users of loom write it")]

use raddle_loom as loom;

include!("../moved/whole_api.rs");
