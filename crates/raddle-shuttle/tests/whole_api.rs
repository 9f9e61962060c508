//! The public items of shuttle are there and do what they do with shuttle: `bench/peer-shuttle` runs the same file with shuttle.
#![expect(clippy::unwrap_used, reason = "tests as users of shuttle write them")]
#![expect(unsafe_code, reason = "as users of shuttle write it")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "as users of shuttle write it")]

use raddle_shuttle as shuttle;

include!("moved/whole_api.rs");
