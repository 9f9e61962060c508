// Every public item of loom 0.7, used once: compiled and run against loom (`bench/peer-loom/tests/whole_api.rs`) and against
// raddle-loom (`crates/raddle-loom/tests/it/whole_api.rs`). `loom` is the one or the other.

use std::future::poll_fn;
use std::ptr::null_mut;
use std::task::Poll;
use std::time::Duration;

use loom::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
use loom::cell::{Cell, ConstPtr, MutPtr, UnsafeCell};
use loom::future::{AtomicWaker, block_on};
use loom::lazy_static::Lazy;
use loom::model::Builder;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering, fence, spin_loop_hint,
};
use loom::sync::mpsc::{Receiver, Sender, channel};
use loom::sync::{
    Arc, Barrier, Condvar, LockResult, Mutex, MutexGuard, Notify, RwLock, RwLockReadGuard,
    RwLockWriteGuard, TryLockResult, WaitTimeoutResult,
};
use loom::thread::{self, AccessError, JoinHandle, LocalKey, Thread, ThreadId};

#[test]
fn a_model_has_settings() {
    let mut builder: Builder = Builder::new();
    builder.max_threads = loom::MAX_THREADS.min(3);
    builder.max_branches = 500;
    builder.max_permutations = Some(10_000);
    builder.max_duration = Some(Duration::from_secs(600));
    builder.preemption_bound = Some(2);
    builder.checkpoint_interval = 10_000;
    builder.expect_explicit_explore = false;
    (builder.location, builder.log) = (false, false);
    assert!(builder.checkpoint_file.is_none() && !format!("{builder:?}").is_empty());
    builder.check(|| {
        loom::stop_exploring();
        loom::explore();
        loom::skip_branch();
    });
    let mut other = Builder::default();
    assert!(other.checkpoint_file("it-is-not-written").checkpoint_file.is_some());
    loom::model(|| {});
    loom::model::model(|| {});
}

#[test]
fn memory_is_allocated_and_given_back() {
    loom::model(|| {
        let layout = Layout::new::<u64>();
        unsafe {
            let (one, two) = (alloc(layout), alloc_zeroed(layout));
            assert_eq!(*two, 0);
            dealloc(one, layout);
            dealloc(two, layout);
        }
        let mut track: Track<u32> = Track::new(1);
        *track.get_mut() += 1;
        assert!(format!("{track:?}").contains("Track"));
        assert_eq!((*track.get_ref(), track.into_inner()), (2, 2));
    });
}

#[test]
fn cells_are_read_and_written() {
    loom::model(|| {
        let (one, two) = (Cell::new(1), Cell::from(2));
        one.swap(&two);
        one.set(one.replace(3) + 1);
        assert!(one > two && one == one.clone() && one.cmp(&two).is_gt());
        assert_eq!((one.get(), two.take(), Cell::<u32>::default().into_inner()), (3, 1, 0));

        let cell = UnsafeCell::new(1);
        cell.with_mut(|pointer| unsafe { *pointer += 1 });
        assert_eq!(cell.with(|pointer| unsafe { *pointer }), 2);
        {
            let writer: MutPtr<u32> = cell.get_mut();
            writer.with(|pointer| unsafe { *pointer += 1 });
            unsafe { *writer.deref() += 1 };
        }
        {
            let reader: ConstPtr<u32> = cell.get();
            let read = unsafe { *reader.deref() };
            assert_eq!((reader.with(|pointer| unsafe { *pointer }), read), (4, 4));
        }
        assert_eq!(cell.into_inner() + UnsafeCell::<u32>::default().into_inner(), 4);
        assert_eq!(UnsafeCell::from(1).into_inner(), 1);
    });
}

#[test]
fn a_waker_is_kept_and_a_future_driven() {
    loom::model(|| {
        let place = Arc::new(AtomicWaker::new());
        let theirs = Arc::clone(&place);
        let (flag, set) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (flag_there, set_there) = (Arc::clone(&flag), Arc::clone(&set));
        let thread = thread::spawn(move || {
            flag_there.store(true, Release);
            theirs.wake();
            set_there.store(true, Release);
        });
        block_on(poll_fn(|context| {
            place.register_by_ref(context.waker());
            place.register(context.waker().clone());
            if flag.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
        }));
        thread.join().unwrap();
        assert!(set.load(Acquire));
        drop((place.take_waker(), AtomicWaker::default()));
    });
}

macro_rules! integers {
    ($($name:ident)*) => {$({
        let mut n = $name::new(1);
        n.with_mut(|n| *n += 1);
        assert_eq!(unsafe { n.unsync_load() }, 2);
        assert_eq!((n.swap(3, AcqRel), n.load(Relaxed)), (2, 3));
        n.store(4, SeqCst);
        #[allow(deprecated, reason = "it is part of the API")]
        let before = n.compare_and_swap(4, 5, AcqRel);
        assert_eq!(before, 4);
        assert_eq!(n.compare_exchange(5, 6, SeqCst, SeqCst), Ok(5));
        assert_eq!(n.compare_exchange_weak(5, 6, SeqCst, SeqCst), Err(6));
        assert_eq!((n.fetch_add(1, Relaxed), n.fetch_sub(1, Relaxed)), (6, 7));
        assert_eq!((n.fetch_and(6, Relaxed), n.fetch_or(1, Relaxed)), (6, 6));
        assert_eq!((n.fetch_xor(1, Relaxed), n.fetch_max(9, Relaxed)), (7, 6));
        assert_eq!((n.fetch_min(5, Relaxed), n.fetch_nand(0, Relaxed)), (9, 5));
        assert_eq!(n.fetch_update(SeqCst, SeqCst, |_| Some(1)).map(|n| n == 5), Ok(false));
        assert_eq!((n.into_inner(), $name::default().into_inner()), (1, 0));
        assert_eq!($name::from(7).into_inner(), 7);
        assert!(!format!("{:?}", $name::new(1)).is_empty());
    })*};
}

#[test]
fn atomics_have_all_methods() {
    loom::model(|| {
        integers! { AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize }
    });
    loom::model(|| {
        integers! { AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize }
    });
    loom::model(|| {
        let flag = AtomicBool::from(false);
        assert!(!flag.swap(true, SeqCst) && unsafe { flag.unsync_load() });
        flag.store(false, SeqCst);
        #[allow(deprecated, reason = "it is part of the API")]
        let before = flag.compare_and_swap(false, true, SeqCst);
        assert!(!before && flag.compare_exchange(true, false, AcqRel, Acquire).is_ok());
        assert!(flag.compare_exchange_weak(true, false, AcqRel, Acquire).is_err());
        assert!(!flag.fetch_or(true, SeqCst) && flag.fetch_and(true, SeqCst));
        assert!(flag.fetch_xor(true, SeqCst) && !flag.fetch_nand(true, SeqCst));
        assert!(flag.fetch_update(SeqCst, SeqCst, |_| None).is_err() && flag.load(Ordering::SeqCst));
        assert!(flag.into_inner() && !AtomicBool::default().into_inner());

        let mut value = 1;
        let mut pointer: AtomicPtr<u32> = AtomicPtr::default();
        assert!(pointer.with_mut(|pointer| pointer.is_null()));
        assert!(pointer.swap(&raw mut value, SeqCst).is_null());
        assert_eq!(unsafe { *pointer.unsync_load() + *pointer.load(SeqCst) }, 2);
        #[allow(deprecated, reason = "it is part of the API")]
        let before = pointer.compare_and_swap(null_mut(), null_mut(), SeqCst);
        assert!(pointer.compare_exchange(before, null_mut(), SeqCst, SeqCst).is_ok());
        assert!(pointer.compare_exchange_weak(before, before, SeqCst, SeqCst).is_err());
        assert!(pointer.fetch_update(SeqCst, SeqCst, |_| Some(before)).is_ok());
        pointer.store(null_mut(), SeqCst);
        assert!(AtomicPtr::from(pointer.into_inner()).into_inner().is_null());
        fence(SeqCst);
    });
}

#[test]
fn channels_carry_messages() {
    loom::model(|| {
        let (sender, receiver): (Sender<u32>, Receiver<u32>) = channel();
        let theirs = sender.clone();
        let thread = thread::spawn(move || theirs.send(1).unwrap());
        assert_eq!(receiver.recv(), Ok(1));
        thread.join().unwrap();
        assert!(receiver.try_recv().is_err());
        sender.send(2).unwrap();
        assert!(format!("{sender:?} {receiver:?}").contains("Sender"));
        drop(receiver);
    });
}

fn guarded(lock: &Mutex<u32>) -> LockResult<MutexGuard<'_, u32>> {
    lock.lock()
}

#[test]
fn locks_keep_threads_apart() {
    loom::model(|| {
        let shared = Arc::new((Mutex::from(0), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *guarded(&theirs.0).unwrap() = 1;
            theirs.1.notify_one();
            theirs.1.notify_all();
        });
        let mut n = shared.0.lock().unwrap();
        while *n == 0 {
            n = shared.1.wait(n).unwrap();
        }
        drop(n);
        thread.join().unwrap();
        let free: TryLockResult<MutexGuard<'_, u32>> = shared.0.try_lock();
        drop(free.unwrap());
        let (mut lock, condvar) = Arc::try_unwrap(shared).unwrap();
        *lock.get_mut().unwrap() += 1;
        assert_eq!((lock.into_inner().unwrap(), Mutex::<u32>::default().into_inner().unwrap()), (2, 0));
        let _: (Condvar, Condvar) = (condvar, Condvar::default());

        let mut lock = RwLock::from(1);
        let reader: RwLockReadGuard<'_, u32> = lock.read().unwrap();
        assert_eq!(*reader, 1);
        drop(reader);
        assert_eq!(*lock.try_read().unwrap(), 1);
        let mut writer: RwLockWriteGuard<'_, u32> = lock.write().unwrap();
        *writer += 1;
        drop(writer);
        *lock.try_write().unwrap() += 1;
        *lock.get_mut().unwrap() += 1;
        assert_eq!((lock.into_inner().unwrap(), RwLock::<u32>::default().into_inner().unwrap()), (4, 0));
        assert_eq!(*RwLock::new(1).read().unwrap() + *Mutex::new(1).lock().unwrap(), 2);
    });
}

/// With loom a barrier panics, and a timed wait waits: they are there for code to compile.
#[allow(dead_code, reason = "it is there to be compiled")]
fn compiles(lock: &Mutex<u32>, condvar: &Condvar, receiver: &Receiver<u32>) -> bool {
    let guard = lock.lock().unwrap();
    let (guard, result): (_, WaitTimeoutResult) =
        condvar.wait_timeout(guard, Duration::ZERO).unwrap();
    drop(guard);
    let leads = Barrier::new(1).wait().is_leader();
    leads && result.timed_out() && receiver.recv_timeout(Duration::ZERO).is_err()
}

#[test]
fn a_notification_is_waited_for() {
    loom::model(|| {
        let notify = Arc::new(Notify::default());
        let theirs = Arc::clone(&notify);
        let thread = thread::spawn(move || theirs.notify());
        notify.wait();
        thread.join().unwrap();
        let _: Notify = Notify::new();
    });
}

#[test]
fn an_arc_has_counts_and_raw_pointers() {
    loom::model(|| {
        let mut one = Arc::from(1);
        *Arc::get_mut(&mut one).unwrap() += 1;
        let two = one.clone();
        assert!(Arc::ptr_eq(&one, &two) && Arc::strong_count(&one) == 2);
        let pointer = Arc::into_raw(one);
        assert_eq!(pointer, Arc::as_ptr(&two));
        unsafe {
            Arc::increment_strong_count(pointer);
            Arc::decrement_strong_count(pointer);
            drop(Arc::from_raw(pointer));
        }
        assert_eq!(Arc::try_unwrap(two).unwrap(), 2);
        let shown: Arc<dyn ToString> = Arc::from_std(std::sync::Arc::new(5));
        let number: &u32 = &Arc::<u32>::default();
        assert_eq!((shown.to_string(), *number, *Arc::pin(1)), ("5".to_owned(), 0, 1));
        let text: Arc<str> = Arc::from_std(std::sync::Arc::from("text"));
        let (borrowed, reference): (&str, &str) = (std::borrow::Borrow::borrow(&text), text.as_ref());
        assert!(borrowed == reference && format!("{text:?}").contains("text"));
    });
}

loom::thread_local! {
    static OWN: Cell<u32> = Cell::new(1);
    /// With a comment.
    pub static OTHER: u32 = 2;
}

loom::lazy_static! {
    static ref SHARED: AtomicUsize = AtomicUsize::new(1);
    /// With a comment.
    pub static ref TEXT: String = "text".to_owned();
}

fn all_of<T: 'static>(_: &'static Lazy<T>, _: &'static LocalKey<T>) {}

#[test]
fn threads_have_names_locals_and_statics() {
    loom::model(|| {
        let builder = thread::Builder::new().name("worker".to_owned()).stack_size(1 << 16);
        let worker: JoinHandle<u32> = builder
            .spawn(|| {
                thread::park();
                assert_eq!(thread::current().name(), Some("worker"));
                SHARED.fetch_add(1, SeqCst);
                OWN.with(|own| own.replace(5))
            })
            .unwrap();
        let thread: &Thread = worker.thread();
        let id: ThreadId = thread.id();
        assert!(thread.name() == Some("worker") && id == worker.thread().id());
        assert!(id != thread::current().id() && !format!("{id:?} {worker:?}").is_empty());
        thread.unpark();
        assert_eq!(worker.join().unwrap(), 1);
        let other: Result<u32, AccessError> = OTHER.try_with(|other| *other);
        assert_eq!((SHARED.load(SeqCst), OWN.with(Cell::get), other.unwrap(), TEXT.len()), (2, 1, 2, 4));
        assert!(!thread::panicking() && !format!("{OTHER:?}").is_empty());
        thread::yield_now();
        loom::lazy_static::yield_now();
        loom::hint::spin_loop();
        spin_loop_hint();
        let _ = (all_of::<u32>, loom::lazy_static::panicking);
        let _: Option<loom::lazy_static::AccessError> = None;
        let never: fn() -> bool = || false;
        if never() {
            unsafe { loom::hint::unreachable_unchecked() }
        }
    });
}
