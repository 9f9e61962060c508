//! Walks the stack of the running task.
//!
//! By the unwinder that std links for panics, so that no function needs a frame pointer. It is declared here
//! because std keeps its own declaration to itself: the Itanium C++ ABI, "Exception Handling", section 1.2,
//! and its implementations in libgcc and LLVM's libunwind.
//!
//! To walk costs some thousand instructions for each frame, so a stack is compared first with those that were
//! walked before, of tasks that were at the same place of the same stack: in an execution that repeats
//! another one nearly all are the same. On x86-64 a frame's return address lies just below where the next
//! frame begins. If the innermost frame begins where it did, and returns to where it did, then the next one is
//! in the same place of the same function, so it begins where it did, and so on outwards. That holds of
//! functions whose frames have a fixed size, which are all but those that align their stack; one of those could be
//! taken for another only if the old address were still lying at its old place.

use std::ops::Range;

/// Whether these are the frames of the calling task, if its innermost frame is where it was when they were
/// walked. They are further out than that, the outermost last.
#[cfg(all(unix, target_arch = "x86_64", not(miri)))]
pub(super) fn is_same(frames: &[(usize, usize)], stack: &Range<usize>) -> bool {
    // There may have been a larger stack at this place.
    if frames.last().is_some_and(|(_, begins)| !stack.contains(begins)) {
        return false;
    }
    let returns = |&(address, begins): &(usize, usize)| {
        let place = std::ptr::with_exposed_provenance::<usize>(begins - size_of::<usize>());
        // SAFETY: a word between the caller's own frame and the end of its stack, which is in use, whatever
        // is there. Volatile: it belongs to other functions.
        let word = unsafe { place.read_volatile() };
        word == address
    };
    frames.iter().all(returns)
}

#[cfg(not(all(unix, target_arch = "x86_64", not(miri))))]
pub(super) fn is_same(frames: &[(usize, usize)], _: &Range<usize>) -> bool {
    frames.is_empty() && cfg!(not(unix))
}

/// Hands each frame of the calling task to `frame`, from the innermost on: an address in its function, and
/// where it begins on the stack. Ends at the end of `stack`, or where `frame` says `false`.
#[cfg(all(unix, not(target_arch = "arm"), not(miri)))]
pub(super) fn walk(stack: &Range<usize>, frame: &mut dyn FnMut(usize, usize) -> bool) {
    unwinder::walk(stack, frame);
}

#[cfg(not(all(unix, not(target_arch = "arm"), not(miri))))]
pub(super) fn walk(_: &Range<usize>, _: &mut dyn FnMut(usize, usize) -> bool) {}

#[cfg(all(unix, not(target_arch = "arm"), not(miri)))]
mod unwinder {
    use std::ffi::{c_int, c_void};
    use std::ops::Range;

    /// Go on, and end without an error; any other number than 0 ends it.
    const NO_REASON: c_int = 0;
    const END_OF_STACK: c_int = 5;

    /// The unwinder's own; only ever behind a pointer.
    #[repr(C)]
    struct Frame {
        opaque: [u8; 0],
    }

    unsafe extern "C" {
        fn _Unwind_Backtrace(
            each: unsafe extern "C" fn(*mut Frame, *mut c_void) -> c_int,
            argument: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut Frame) -> usize;
        fn _Unwind_GetCFA(frame: *mut Frame) -> usize;
    }

    struct Walk<'a> {
        stack: &'a Range<usize>,
        frame: &'a mut dyn FnMut(usize, usize) -> bool,
    }

    pub(super) fn walk(stack: &Range<usize>, frame: &mut dyn FnMut(usize, usize) -> bool) {
        let mut walk = Walk { stack, frame };
        // SAFETY: the unwinder calls `each` with a frame that is valid during the call and with the argument
        // as it is given here, on this OS thread and before it returns. It only reads the stack.
        unsafe { _Unwind_Backtrace(each, (&raw mut walk).cast()) };
    }

    unsafe extern "C" fn each(frame: *mut Frame, argument: *mut c_void) -> c_int {
        // SAFETY: by the contract of `walk`, which has handed over its only reference for the time being.
        let (address, from, walk) = unsafe {
            (_Unwind_GetIP(frame), _Unwind_GetCFA(frame), &mut *argument.cast::<Walk<'_>>())
        };
        if address != 0 && walk.stack.contains(&from) && (walk.frame)(address, from) {
            NO_REASON
        } else {
            END_OF_STACK
        }
    }
}
