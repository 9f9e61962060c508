//! Walks the stack of the running task.
//!
//! By the unwinder that std links for panics, so that no function needs a frame pointer. It is declared here
//! because std keeps its own declaration to itself: the Itanium C++ ABI, "Exception Handling", section 1.2,
//! and its implementations in libgcc and LLVM's libunwind.

use std::ops::Range;

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
