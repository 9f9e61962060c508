//! What a spawned task runs, and what comes of it: a block of memory that two own, the task and its handle.
//!
//! Short tests pay for every thread they start, so a block is not asked of the allocator each time: a search keeps those
//! that were freed. All that fit are of one size. A packet that is larger has memory of its own.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// What came of a task: its value, or the payload of its panic.
pub(crate) type Came<T> = Result<T, Box<dyn Any + Send>>;

/// The part of a packet that needs no type.
struct Head {
    /// How many of the two still have it.
    owners: AtomicU32,
    table: &'static Table,
}

/// What is done with a packet by those who do not know its type. Each takes the address of one that is live.
struct Table {
    run: unsafe fn(NonNull<Head>),
    fail: unsafe fn(NonNull<Head>, Box<dyn Any + Send>),
    /// Drops closure and result.
    drop: unsafe fn(NonNull<Head>),
    layout: Layout,
}

/// The part of a packet that a handle knows.
#[repr(C)]
struct WithResult<T> {
    head: Head,
    /// Written by the task before it exits, taken by the handle after that.
    result: UnsafeCell<Option<Came<T>>>,
}

/// Invariant: begins with its [`WithResult`], which begins with its [`Head`], so that one address is that of all three.
#[repr(C)]
struct Packet<F, T> {
    with_result: WithResult<T>,
    /// Used by the task alone, once.
    closure: UnsafeCell<Option<F>>,
}

impl<F: FnOnce() -> T, T> Packet<F, T> {
    const TABLE: &'static Table = &Table {
        run: Self::run,
        fail: Self::fail,
        drop: Self::drop_contents,
        layout: Layout::new::<Self>(),
    };

    unsafe fn run(head: NonNull<Head>) {
        let packet = head.cast::<Self>();
        // SAFETY: a table is used with packets of its type only, and the task has this one; the borrow ends before the
        // closure runs.
        let closure = unsafe { (*packet.as_ref().closure.get()).take() };
        let value = closure.expect("a task runs once")();
        // SAFETY: as above; the handle looks only after the task has exited.
        unsafe { *packet.as_ref().with_result.result.get() = Some(Ok(value)) };
    }

    unsafe fn fail(head: NonNull<Head>, payload: Box<dyn Any + Send>) {
        // SAFETY: as in `run`.
        unsafe { *head.cast::<Self>().as_ref().with_result.result.get() = Some(Err(payload)) };
    }

    unsafe fn drop_contents(head: NonNull<Head>) {
        // SAFETY: as in `run`; the caller is the last who has it.
        unsafe { head.cast::<Self>().drop_in_place() };
    }
}

/// A new packet: the task's half, and the handle's.
///
/// # Safety
/// What the closure borrows outlives the task, and what the result borrows both halves.
#[inline]
pub(crate) unsafe fn pack<F: FnOnce() -> T, T>(
    blocks: &mut Blocks,
    closure: F,
) -> (ToRun, ToCome<T>) {
    let head = Head { owners: AtomicU32::new(2), table: Packet::<F, T>::TABLE };
    let with_result: WithResult<T> = WithResult { head, result: UnsafeCell::new(None) };
    let packet = Packet { with_result, closure: UnsafeCell::new(Some(closure)) };
    // SAFETY: by contract; the memory fits.
    unsafe {
        let place = blocks.take(Layout::new::<Packet<F, T>>()).cast();
        place.write(packet);
        (ToRun(place.cast()), ToCome(place.cast()))
    }
}

/// The task's half of a packet.
pub(crate) struct ToRun(NonNull<Head>);

impl fmt::Debug for ToRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToRun")
    }
}

impl ToRun {
    /// Runs the closure and keeps its value. May unwind. Once.
    #[inline]
    pub(crate) fn run(&self) {
        // SAFETY: this half is there, so the packet is.
        unsafe { (self.0.as_ref().table.run)(self.0) };
    }

    /// Keeps a panic's payload instead.
    pub(crate) fn fail(&self, payload: Box<dyn Any + Send>) {
        // SAFETY: as in `run`.
        unsafe { (self.0.as_ref().table.fail)(self.0, payload) };
    }

    /// Gives this half back. If the other is gone the packet is too, as soon as what is returned is: that runs
    /// destructors of the program.
    #[inline]
    pub(crate) fn give_back(self) -> Option<Remains> {
        give_back(std::mem::ManuallyDrop::new(self).0)
    }
}

impl Drop for ToRun {
    fn drop(&mut self) {
        drop(give_back(self.0));
    }
}

/// The handle's half of a packet.
pub(crate) struct ToCome<T>(NonNull<WithResult<T>>);

// SAFETY: the count of owners is atomic. Closure and result are used by one at a time: the closure by the task, the
// result by the task until it has exited and by the handle after that, and the half that is given back last drops both. `T` is sent from
// one to the other, which `spawn` asks for.
unsafe impl<T> Send for ToCome<T> {}
// SAFETY: as above; a shared reference to it gives access to nothing.
unsafe impl<T> Sync for ToCome<T> {}

impl<T> ToCome<T> {
    /// What came of the task, which has exited. `None` if it was cancelled, or if that was taken.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Came<T>> {
        // SAFETY: this half is there, so the packet is; the task has exited, so it no longer uses the result.
        unsafe { (*self.0.as_ref().result.get()).take() }
    }
}

impl<T> ToCome<T> {
    /// As [`ToRun::give_back`].
    ///
    /// # Safety
    /// Called once, and this half is not used after that.
    #[inline]
    pub(crate) unsafe fn give_back(&mut self) -> Option<Remains> {
        give_back(self.0.cast())
    }
}

/// A packet of which both halves were given back. Freed when it is dropped.
pub(crate) struct Remains(NonNull<Head>);

impl Remains {
    /// Drops the packet and keeps its memory among these blocks, unless the pointer is null.
    ///
    /// # Safety
    /// If they are there, they still are when destructors of the program have run, and are not borrowed then.
    #[inline]
    pub(crate) unsafe fn recycle(self, blocks: *mut Blocks) {
        let head = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: by contract; both halves were given back.
        unsafe { free(head, blocks) };
    }
}

#[inline]
fn give_back(head: NonNull<Head>) -> Option<Remains> {
    // As in std's `Arc`: what either half has done to the packet comes before its end.
    // SAFETY: the caller's half was there until now.
    if unsafe { head.as_ref() }.owners.fetch_sub(1, Ordering::Release) != 1 {
        return None;
    }
    fence(Ordering::Acquire);
    Some(Remains(head))
}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: both halves were given back.
        unsafe { free(self.0, std::ptr::null_mut()) };
    }
}

/// Drops what is in a packet, then keeps its memory among these blocks, or gives it back if the pointer is null.
///
/// # Safety
/// As for [`Remains::recycle`]; the packet is live, and both halves were given back.
unsafe fn free(head: NonNull<Head>, blocks: *mut Blocks) {
    /// Frees the memory, even if a destructor unwinds.
    struct Free(NonNull<u8>, Layout, *mut Blocks);
    impl Drop for Free {
        fn drop(&mut self) {
            // SAFETY: taken from `Blocks` for this layout, and not used again; the blocks by contract of `free`.
            unsafe {
                match self.2.as_mut() {
                    Some(blocks) => blocks.keep(self.0, self.1),
                    None => Blocks::free(self.0, self.1),
                }
            }
        }
    }
    // SAFETY: by contract.
    unsafe {
        let Table { drop, layout, .. } = *head.as_ref().table;
        let _free = Free(head.cast(), layout, blocks);
        drop(head);
    }
}

/// Memory of the size that most packets fit into.
#[repr(align(16))]
struct Block(#[expect(dead_code, reason = "only its size is used")] [u8; 160]);

const BLOCK: Layout = Layout::new::<Block>();
/// How many a search keeps at most.
const MOST: usize = 256;

/// Blocks that a search has at hand.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Vec<NonNull<u8>>);

impl Blocks {
    const fn fits(layout: Layout) -> bool {
        layout.size() <= BLOCK.size() && layout.align() <= BLOCK.align()
    }

    /// Memory for something with this layout, which is not of size 0.
    #[inline]
    fn take(&mut self, layout: Layout) -> NonNull<u8> {
        if Self::fits(layout) {
            self.0.pop().unwrap_or_else(|| Self::ask(BLOCK))
        } else {
            Self::ask(layout)
        }
    }

    #[cold]
    fn ask(layout: Layout) -> NonNull<u8> {
        // SAFETY: no layout of a packet or a block is of size 0.
        let memory = unsafe { alloc(layout) };
        NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// Keeps what was taken for this layout, or frees it.
    ///
    /// # Safety
    /// It was taken for that, by this or another search, and is not used again.
    #[inline]
    unsafe fn keep(&mut self, memory: NonNull<u8>, layout: Layout) {
        if Self::fits(layout) && self.0.len() < MOST {
            self.0.push(memory);
        } else {
            // SAFETY: by contract.
            unsafe { Self::free(memory, layout) };
        }
    }

    /// # Safety
    /// As for [`keep`](Self::keep).
    #[cold]
    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        let layout = if Self::fits(layout) { BLOCK } else { layout };
        // SAFETY: by contract; `take` asked for the same layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for memory in self.0.drain(..) {
            // SAFETY: a block that is kept was asked for as one, and nothing uses it.
            unsafe { dealloc(memory.as_ptr(), BLOCK) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_block_is_used_again_and_what_does_not_fit_has_memory_of_its_own() {
        let mut blocks = Blocks::default();
        let (small, large) = (Layout::new::<[u64; 4]>(), Layout::new::<[u64; 100]>());
        let first = blocks.take(small);
        let second = blocks.take(large);
        // SAFETY: taken for these layouts, and not used again.
        unsafe {
            blocks.keep(first, small);
            blocks.keep(second, large);
        }
        assert_eq!(blocks.0, [first]);
        let again = blocks.take(Layout::new::<u8>());
        assert_eq!(again, first);
        // SAFETY: as above.
        unsafe { Blocks::free(again, Layout::new::<u8>()) };
    }

    #[test]
    fn the_second_who_gives_a_packet_back_is_the_last() {
        let dropped = Arc::new(());
        let head =
            Head { owners: AtomicU32::new(2), table: Packet::<fn() -> Arc<()>, Arc<()>>::TABLE };
        let result = UnsafeCell::new(Some(Ok(Arc::clone(&dropped))));
        let packet = Packet::<fn() -> Arc<()>, Arc<()>> {
            with_result: WithResult { head, result },
            closure: UnsafeCell::new(None),
        };
        let memory = Blocks::default().take(Layout::new::<Packet<fn() -> Arc<()>, Arc<()>>>());
        // SAFETY: memory for such a packet, whose halves are made once.
        let (to_run, mut came) = unsafe {
            memory.cast().write(packet);
            (ToRun(memory.cast()), ToCome::<Arc<()>>(memory.cast()))
        };
        assert!(to_run.give_back().is_none());
        assert_eq!(Arc::strong_count(&dropped), 2);
        // SAFETY: once, and not used after that.
        drop(unsafe { came.give_back() });
        assert_eq!(
            Arc::strong_count(&dropped),
            1,
            "a result that the handle does not take is dropped"
        );
    }
}
