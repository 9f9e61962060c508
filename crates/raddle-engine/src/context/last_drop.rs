//! How many destructors a task is in of values whose last `std::sync::Arc` has been dropped.
//!
//! std runs it in `Arc::drop_slow`, which is never inlined, so that function is on the stack. Asked only where a data
//! race is suspected, but there perhaps in each of a million executions: so what is known of an address is kept, and
//! after the first time a walk over the stack is all it takes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use super::{MOST_FRAMES, ROOM, symbol, walk};

thread_local! {
    /// Of addresses in functions: whether the function is `drop_slow`.
    static KNOWN: RefCell<BTreeMap<usize, bool>> = const { RefCell::new(BTreeMap::new()) };
}

/// In how many destructors of values whose last `std::sync::Arc` has been dropped the calling task is, on this stack.
/// 0 if it cannot be known.
#[cold]
#[inline(never)]
pub(crate) fn last_drops(stack: &Range<usize>) -> usize {
    let here = 0_u8;
    let from = std::ptr::from_ref(std::hint::black_box(&here)) as usize;
    if from < stack.start + ROOM {
        return 0;
    }
    let mut frames = Vec::new();
    walk::walk(stack, &mut |address, _| {
        frames.push(address);
        frames.len() < MOST_FRAMES
    });
    if frames.is_empty() {
        // Stacks cannot be walked here; to read the text of a backtrace takes longer.
        return symbol::last_drops().len();
    }
    KNOWN.with_borrow_mut(|known| {
        if frames.iter().any(|address| !known.contains_key(address)) {
            let drops = symbol::last_drops();
            for address in &frames {
                let is = drops.contains(address);
                *known.entry(*address).or_insert(false) |= is;
            }
        }
        frames.iter().filter(|address| known[*address]).count()
    })
}
