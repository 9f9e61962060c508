//! Every stable item of std's `sync`, `sync::mpsc`, `sync::atomic`, `thread`, `time` and `hint`, asked for by its
//! signature. A function pointer says what a method takes and returns; a `const` says that a function can be
//! called in one; a bound says which traits a type has, and on what condition.
#![allow(dead_code, reason = "most of it is only compiled")]
#![allow(
    clippy::borrow_interior_mutable_const,
    clippy::declare_interior_mutable_const,
    clippy::disallowed_methods,
    clippy::elidable_lifetime_names,
    clippy::explicit_deref_methods,
    clippy::extra_unused_lifetimes,
    clippy::missing_const_for_thread_local,
    clippy::semicolon_if_nothing_returned,
    clippy::type_complexity,
    reason = "an item is asked for by its whole signature, in every way"
)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt::{self, Debug, Display};
use std::hash::Hash;
use std::io;
use std::num::NonZero;
use std::ops::{Add, AddAssign, Deref, DerefMut, Sub, SubAssign};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};

use super::lib;
use lib::sync::atomic::{
    self, ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16,
    AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize, Ordering,
};
use lib::sync::mpsc::{
    self, IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
    TryIter, TryRecvError, TrySendError,
};
use lib::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, ONCE_INIT,
    Once, OnceLock, OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockError, TryLockResult, WaitTimeoutResult, Weak,
};
use lib::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId,
};
use lib::time::{
    Duration, Instant, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH,
};
use lib::{hint, thread, time};

// ---- which traits -------------------------------------------------------------------------------

fn sends<T: ?Sized + Send>() {}
fn shares<T: ?Sized + Sync>() {}
fn unpins<T: ?Sized + Unpin>() {}
fn unwinds<T: UnwindSafe>() {}
fn ref_unwinds<T: ?Sized + RefUnwindSafe>() {}
fn debugs<T: ?Sized + Debug>() {}
fn displays<T: ?Sized + Display>() {}
fn errs<T: Error>() {}
fn clones<T: Clone>() {}
fn copies<T: Copy>() {}
fn equals<T: Eq>() {}
fn hashes<T: Hash>() {}
fn orders<T: Ord>() {}
fn defaults<T: Default>() {}
fn converts<T: From<U>, U>() {}
fn iterates<T: Iterator<Item = I>, I>() {}

/// Ambiguous, and so an error, for a type that is `Send`.
trait NotSend<A> {
    fn checked() {}
}
impl<T: ?Sized> NotSend<()> for T {}
impl<T: ?Sized + Send> NotSend<u8> for T {}

/// Ambiguous, and so an error, for a type that is `Sync`.
trait NotSync<A> {
    fn checked() {}
}
impl<T: ?Sized> NotSync<()> for T {}
impl<T: ?Sized + Sync> NotSync<u8> for T {}

/// What may be sent but neither shared, nor looked at after a panic: the least that most types ask for.
struct OnlySend(Cell<u8>);

// ---- sync ---------------------------------------------------------------------------------------

const _: fn() = || {
    const MUTEX: Mutex<u8> = Mutex::new(1);
    const RW_LOCK: RwLock<u8> = RwLock::new(1);
    const CONDVAR: Condvar = Condvar::new();
    const BARRIER: Barrier = Barrier::new(1);
    const ONCE: Once = Once::new();
    const ONCE_LOCK: OnceLock<u8> = OnceLock::new();
    const LAZY_LOCK: LazyLock<u8> = LazyLock::new(|| 1);
    let _ = (MUTEX, RW_LOCK, CONDVAR, BARRIER, ONCE, ONCE_LOCK, LAZY_LOCK, ONCE_INIT);
};

fn mutex<T>() {
    let _: fn(T) -> Mutex<T> = Mutex::new;
    let _: fn(Mutex<T>) -> LockResult<T> = Mutex::into_inner;
    converts::<Mutex<T>, T>();
}

fn mutex_unsized<T: ?Sized + Debug + Display>() {
    let _: fn(&Mutex<T>) -> LockResult<MutexGuard<'_, T>> = Mutex::lock;
    let _: fn(&Mutex<T>) -> TryLockResult<MutexGuard<'_, T>> = Mutex::try_lock;
    let _: fn(&Mutex<T>) -> bool = Mutex::is_poisoned;
    let _: fn(&Mutex<T>) = Mutex::clear_poison;
    let _: fn(&mut Mutex<T>) -> LockResult<&mut T> = Mutex::get_mut;
    debugs::<Mutex<T>>();
    ref_unwinds::<Mutex<T>>();
    unwinds::<&Mutex<T>>();
    debugs::<MutexGuard<'_, T>>();
    displays::<MutexGuard<'_, T>>();
    unpins::<MutexGuard<'_, T>>();
    unwinds::<MutexGuard<'_, T>>();
    ref_unwinds::<MutexGuard<'_, T>>();
    let _ = <MutexGuard<'static, u8> as NotSend<_>>::checked;
    let _: fn(&MutexGuard<'_, T>) -> *const T = |guard| std::ptr::from_ref(guard.deref());
    let _: fn(&mut MutexGuard<'_, T>) -> *mut T = |guard| std::ptr::from_mut(guard.deref_mut());
}

fn mutex_auto<S: Send, Y: Sync, P: Unpin, D: Default>() {
    sends::<Mutex<S>>();
    shares::<Mutex<S>>();
    shares::<Mutex<OnlySend>>();
    unwinds::<Mutex<S>>();
    unpins::<Mutex<P>>();
    shares::<MutexGuard<'_, Y>>();
    defaults::<Mutex<D>>();
}

fn rw_lock<T>() {
    let _: fn(T) -> RwLock<T> = RwLock::new;
    let _: fn(RwLock<T>) -> LockResult<T> = RwLock::into_inner;
    converts::<RwLock<T>, T>();
}

fn rw_lock_unsized<'a, T: ?Sized + Debug + Display + 'a>() {
    let _: fn(&RwLock<T>) -> LockResult<RwLockReadGuard<'_, T>> = RwLock::read;
    let _: fn(&RwLock<T>) -> TryLockResult<RwLockReadGuard<'_, T>> = RwLock::try_read;
    let _: fn(&RwLock<T>) -> LockResult<RwLockWriteGuard<'_, T>> = RwLock::write;
    let _: fn(&RwLock<T>) -> TryLockResult<RwLockWriteGuard<'_, T>> = RwLock::try_write;
    let _: fn(&RwLock<T>) -> bool = RwLock::is_poisoned;
    let _: fn(&RwLock<T>) = RwLock::clear_poison;
    let _: fn(&mut RwLock<T>) -> LockResult<&mut T> = RwLock::get_mut;
    let _: fn(RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> = RwLockWriteGuard::downgrade;
    debugs::<RwLock<T>>();
    ref_unwinds::<RwLock<T>>();
    unwinds::<&RwLock<T>>();
    debugs::<RwLockReadGuard<'_, T>>();
    displays::<RwLockReadGuard<'_, T>>();
    unpins::<RwLockReadGuard<'_, T>>();
    debugs::<RwLockWriteGuard<'_, T>>();
    displays::<RwLockWriteGuard<'_, T>>();
    unpins::<RwLockWriteGuard<'_, T>>();
    unwinds::<RwLockWriteGuard<'_, T>>();
    ref_unwinds::<RwLockWriteGuard<'_, T>>();
    let _ = <RwLockReadGuard<'static, u8> as NotSend<_>>::checked;
    let _ = <RwLockWriteGuard<'static, u8> as NotSend<_>>::checked;
    let _: fn(&RwLockReadGuard<'_, T>) -> *const T = |guard| std::ptr::from_ref(guard.deref());
    let _: fn(&RwLockWriteGuard<'_, T>) -> *const T = |guard| std::ptr::from_ref(guard.deref());
    let _: fn(&mut RwLockWriteGuard<'_, T>) -> *mut T =
        |guard| std::ptr::from_mut(guard.deref_mut());
}

fn rw_lock_auto<S: Send, B: Send + Sync, Y: Sync, P: Unpin, D: Default, R: RefUnwindSafe>() {
    sends::<RwLock<S>>();
    shares::<RwLock<B>>();
    unwinds::<RwLock<S>>();
    unpins::<RwLock<P>>();
    defaults::<RwLock<D>>();
    shares::<RwLockReadGuard<'_, Y>>();
    shares::<RwLockWriteGuard<'_, Y>>();
    unwinds::<RwLockReadGuard<'_, R>>();
    ref_unwinds::<RwLockReadGuard<'_, R>>();
}

fn condvar<'a, T: 'a, F: FnMut(&mut T) -> bool>() {
    type Timed<'a, T> = LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>;
    type Guard<'a, T> = MutexGuard<'a, T>;
    let _: fn() -> Condvar = Condvar::new;
    let _: fn(&Condvar, Guard<'a, T>) -> LockResult<Guard<'a, T>> = Condvar::wait::<T>;
    let _: fn(&Condvar, Guard<'a, T>, F) -> LockResult<Guard<'a, T>> = Condvar::wait_while::<T, F>;
    let _: fn(&Condvar, Guard<'a, T>, u32) -> LockResult<(Guard<'a, T>, bool)> =
        Condvar::wait_timeout_ms::<T>;
    let _: fn(&Condvar, Guard<'a, T>, Duration) -> Timed<'a, T> = Condvar::wait_timeout::<T>;
    let _: fn(&Condvar, Guard<'a, T>, Duration, F) -> Timed<'a, T> =
        Condvar::wait_timeout_while::<T, F>;
    let _: fn(&Condvar) = Condvar::notify_one;
    let _: fn(&Condvar) = Condvar::notify_all;
    defaults::<Condvar>();
    debugs::<Condvar>();
    plain::<Condvar>();
    let _: fn(&WaitTimeoutResult) -> bool = WaitTimeoutResult::timed_out;
    copies::<WaitTimeoutResult>();
    equals::<WaitTimeoutResult>();
    debugs::<WaitTimeoutResult>();
    plain::<WaitTimeoutResult>();
}

/// Every trait that says how a type may be handed about.
fn plain<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

fn barrier() {
    let _: fn(usize) -> Barrier = Barrier::new;
    let _: fn(&Barrier) -> BarrierWaitResult = Barrier::wait;
    debugs::<Barrier>();
    plain::<Barrier>();
    let _: fn(&BarrierWaitResult) -> bool = BarrierWaitResult::is_leader;
    debugs::<BarrierWaitResult>();
    plain::<BarrierWaitResult>();
}

fn once<F: FnOnce(), S: FnOnce(&OnceState)>() {
    let _: fn() -> Once = Once::new;
    let _: fn(&Once, F) = Once::call_once::<F>;
    let _: fn(&Once, S) = Once::call_once_force::<S>;
    let _: fn(&Once) -> bool = Once::is_completed;
    let _: fn(&Once) = Once::wait;
    let _: fn(&Once) = Once::wait_force;
    debugs::<Once>();
    plain::<Once>();
    let _: fn(&OnceState) -> bool = OnceState::is_poisoned;
    debugs::<OnceState>();
    sends::<OnceState>();
    unpins::<OnceState>();
    unwinds::<OnceState>();
}

fn once_lock<T, F: FnOnce() -> T>() {
    let _: fn() -> OnceLock<T> = OnceLock::new;
    let _: fn(&OnceLock<T>) -> Option<&T> = OnceLock::get;
    let _: fn(&mut OnceLock<T>) -> Option<&mut T> = OnceLock::get_mut;
    let _: fn(&OnceLock<T>) -> &T = OnceLock::wait;
    let _: fn(&OnceLock<T>, T) -> Result<(), T> = OnceLock::set;
    let _: fn(&OnceLock<T>, F) -> &T = OnceLock::get_or_init::<F>;
    let _: fn(OnceLock<T>) -> Option<T> = OnceLock::into_inner;
    let _: fn(&mut OnceLock<T>) -> Option<T> = OnceLock::take;
    defaults::<OnceLock<T>>();
    converts::<OnceLock<T>, T>();
}

fn once_lock_auto<
    S: Send,
    B: Send + Sync,
    P: Unpin,
    U: UnwindSafe,
    R: UnwindSafe + RefUnwindSafe,
>() {
    sends::<OnceLock<S>>();
    shares::<OnceLock<B>>();
    unpins::<OnceLock<P>>();
    unwinds::<OnceLock<U>>();
    ref_unwinds::<OnceLock<R>>();
}

fn once_lock_traits<C: Clone, D: Debug, P: PartialEq, E: Eq>() {
    clones::<OnceLock<C>>();
    debugs::<OnceLock<D>>();
    equals::<OnceLock<E>>();
    let _: fn(&OnceLock<P>, &OnceLock<P>) -> bool = |one, two| one == two;
}

fn lazy_lock<T, F: FnOnce() -> T>() {
    let _: fn(F) -> LazyLock<T, F> = LazyLock::new;
    let _: fn(&LazyLock<T, F>) -> &T = LazyLock::force;
    let _: fn(&mut LazyLock<T, F>) -> &mut T = LazyLock::force_mut;
    let _: fn(&LazyLock<T, F>) -> &T = |lazy| lazy.deref();
    let _: fn(&mut LazyLock<T, F>) -> &mut T = |lazy| lazy.deref_mut();
}

fn lazy_lock_made<T, F>() {
    let _: fn(&LazyLock<T, F>) -> Option<&T> = LazyLock::get;
    let _: fn(&mut LazyLock<T, F>) -> Option<&mut T> = LazyLock::get_mut;
}

fn lazy_lock_auto<
    S: Send,
    B: Send + Sync,
    P: Unpin,
    U: UnwindSafe,
    R: UnwindSafe + RefUnwindSafe,
>() {
    sends::<LazyLock<S, S>>();
    shares::<LazyLock<B, OnlySend>>();
    unpins::<LazyLock<P, P>>();
    unwinds::<LazyLock<U, U>>();
    ref_unwinds::<LazyLock<R, U>>();
}

fn lazy_lock_traits<D: Debug, F, T: Default>() {
    debugs::<LazyLock<D, F>>();
    defaults::<LazyLock<T>>();
}

fn sync_errors<T>() {
    let _: fn(T) -> PoisonError<T> = PoisonError::new;
    let _: fn(PoisonError<T>) -> T = PoisonError::into_inner;
    let _: fn(&PoisonError<T>) -> &T = PoisonError::get_ref;
    let _: fn(&mut PoisonError<T>) -> &mut T = PoisonError::get_mut;
    errs::<PoisonError<T>>();
    errs::<TryLockError<T>>();
    converts::<TryLockError<T>, PoisonError<T>>();
    let _: fn(PoisonError<T>) -> TryLockError<T> = TryLockError::Poisoned;
    let _: TryLockError<T> = TryLockError::WouldBlock;
    // What is held is what the lock's own methods return.
    let _: fn(LockResult<T>) -> Result<T, PoisonError<T>> = |result| result;
    let _: fn(TryLockResult<T>) -> Result<T, TryLockError<T>> = |result| result;
}

fn counts<T: ?Sized>() {
    let _: fn(&Arc<T>) -> Weak<T> = Arc::downgrade;
    let _: fn(&Weak<T>) -> Option<Arc<T>> = Weak::upgrade;
    // Only std's own coerces so, and can be the type of `self`.
    let _: fn(Arc<Mutex<u8>>) -> Arc<Mutex<dyn Debug>> = |mutex| mutex;
    let _: fn(Arc<RwLock<[u8; 2]>>) -> Arc<RwLock<[u8]>> = |lock| lock;
}

// ---- sync::mpsc ---------------------------------------------------------------------------------

fn channels<'a, T: 'a>() {
    let _: fn() -> (Sender<T>, Receiver<T>) = mpsc::channel::<T>;
    let _: fn(usize) -> (SyncSender<T>, Receiver<T>) = mpsc::sync_channel::<T>;
    let _: fn(&Sender<T>, T) -> Result<(), SendError<T>> = Sender::send;
    let _: fn(&SyncSender<T>, T) -> Result<(), SendError<T>> = SyncSender::send;
    let _: fn(&SyncSender<T>, T) -> Result<(), TrySendError<T>> = SyncSender::try_send;
    let _: fn(&Receiver<T>) -> Result<T, RecvError> = Receiver::recv;
    let _: fn(&Receiver<T>) -> Result<T, TryRecvError> = Receiver::try_recv;
    let _: fn(&Receiver<T>, Duration) -> Result<T, RecvTimeoutError> = Receiver::recv_timeout;
    let _: fn(&Receiver<T>) -> Iter<'_, T> = Receiver::iter;
    let _: fn(&Receiver<T>) -> TryIter<'_, T> = Receiver::try_iter;
    let _: fn(Receiver<T>) -> IntoIter<T> = Receiver::into_iter;
    let _: fn(&'a Receiver<T>) -> Iter<'a, T> = <&Receiver<T>>::into_iter;
    iterates::<Iter<'a, T>, T>();
    iterates::<TryIter<'a, T>, T>();
    iterates::<IntoIter<T>, T>();
    clones::<Sender<T>>();
    clones::<SyncSender<T>>();
    debugs::<(Sender<T>, SyncSender<T>, Receiver<T>)>();
    unwinds::<(Sender<T>, SyncSender<T>, Receiver<T>, IntoIter<T>, Iter<'a, T>, TryIter<'a, T>)>();
    ref_unwinds::<(Sender<T>, SyncSender<T>, Receiver<T>, IntoIter<T>, Iter<'a, T>)>();
    unpins::<(Sender<T>, SyncSender<T>, Receiver<T>, IntoIter<T>, Iter<'a, T>, TryIter<'a, T>)>();
    let _ = <Receiver<u8> as NotSync<_>>::checked;
    let _ = <Iter<'static, u8> as NotSend<_>>::checked;
}

fn channels_auto<'a, S: Send, D: Debug + 'a>() {
    sends::<(Sender<S>, SyncSender<S>, Receiver<S>, IntoIter<S>)>();
    shares::<(Sender<S>, SyncSender<S>)>();
    debugs::<(Iter<'a, D>, TryIter<'a, D>, IntoIter<D>)>();
}

fn channel_errors<T>() {
    errs::<SendError<T>>();
    errs::<TrySendError<T>>();
    errs::<RecvError>();
    errs::<TryRecvError>();
    errs::<RecvTimeoutError>();
    converts::<TrySendError<T>, SendError<T>>();
    converts::<TryRecvError, RecvError>();
    converts::<RecvTimeoutError, RecvError>();
    copies::<(RecvError, TryRecvError, RecvTimeoutError)>();
    equals::<(RecvError, TryRecvError, RecvTimeoutError)>();
    let _: fn(T) -> SendError<T> = SendError;
    let _: [fn(T) -> TrySendError<T>; 2] = [TrySendError::Full, TrySendError::Disconnected];
    let _ = (RecvError, TryRecvError::Empty, TryRecvError::Disconnected);
    let _ = (RecvTimeoutError::Timeout, RecvTimeoutError::Disconnected);
}

// ---- sync::atomic -------------------------------------------------------------------------------

/// What atomics of every type have.
macro_rules! atomic {
    ([$($generics:tt)*] $name:ident, $atomic:ty, $value:ty, $some:expr) => {
        fn $name<$($generics)* F: FnMut($value) -> Option<$value>, U: FnMut($value) -> $value>() {
            type Exchanged<V> = Result<V, V>;
            type A = $atomic;
            type V = $value;
            const NEW: A = A::new($some);
            const INNER: V = NEW.into_inner();
            const fn pointer(atomic: &A) -> *mut V {
                atomic.as_ptr()
            }
            let _ = (NEW, INNER, pointer(&NEW));
            let _: fn(V) -> A = A::new;
            let _: fn(&mut A) -> &mut V = A::get_mut;
            let _: fn(A) -> V = A::into_inner;
            let _: fn(&A, Ordering) -> V = A::load;
            let _: fn(&A, V, Ordering) = A::store;
            let _: fn(&A, V, Ordering) -> V = A::swap;
            let _: fn(&A, V, V, Ordering) -> V = A::compare_and_swap;
            let _: fn(&A, V, V, Ordering, Ordering) -> Exchanged<V> = A::compare_exchange;
            let _: fn(&A, V, V, Ordering, Ordering) -> Exchanged<V> = A::compare_exchange_weak;
            let _: fn(&A, Ordering, Ordering, F) -> Exchanged<V> = A::fetch_update::<F>;
            let _: fn(&A, Ordering, Ordering, F) -> Exchanged<V> = A::try_update;
            let _: fn(&A, Ordering, Ordering, U) -> V = A::update;
            let _: fn(&A) -> *mut V = A::as_ptr;
            debugs::<A>();
            defaults::<A>();
            converts::<A, V>();
            plain::<A>();
        }
    };
}

macro_rules! bitwise {
    ($atomic:ident, $value:ty) => {
        let _: [fn(&$atomic, $value, Ordering) -> $value; 4] =
            [$atomic::fetch_and, $atomic::fetch_nand, $atomic::fetch_or, $atomic::fetch_xor];
    };
}

macro_rules! integers {
    ($($name:ident $atomic:ident $value:ident;)*) => {
        $(atomic!([] $name, $atomic, $value, 1);)*

        fn arithmetic() {
            $(
                bitwise!($atomic, $value);
                let _: [fn(&$atomic, $value, Ordering) -> $value; 4] =
                    [$atomic::fetch_add, $atomic::fetch_sub, $atomic::fetch_max, $atomic::fetch_min];
            )*
        }
    };
}

integers! {
    atomic_i8 AtomicI8 i8;
    atomic_i16 AtomicI16 i16;
    atomic_i32 AtomicI32 i32;
    atomic_i64 AtomicI64 i64;
    atomic_isize AtomicIsize isize;
    atomic_u8 AtomicU8 u8;
    atomic_u16 AtomicU16 u16;
    atomic_u32 AtomicU32 u32;
    atomic_u64 AtomicU64 u64;
    atomic_usize AtomicUsize usize;
}
atomic!([] atomic_bool, AtomicBool, bool, true);
atomic!([] atomic_ptr, AtomicPtr<u16>, *mut u16, std::ptr::null_mut());

fn other_atomics<T>() {
    bitwise!(AtomicBool, bool);
    let _: fn(&AtomicBool, Ordering) -> bool = AtomicBool::fetch_not;
    let _: [fn(&AtomicPtr<T>, usize, Ordering) -> *mut T; 7] = [
        AtomicPtr::fetch_ptr_add,
        AtomicPtr::fetch_ptr_sub,
        AtomicPtr::fetch_byte_add,
        AtomicPtr::fetch_byte_sub,
        AtomicPtr::fetch_or,
        AtomicPtr::fetch_and,
        AtomicPtr::fetch_xor,
    ];
    let _: fn(&AtomicPtr<T>, &mut fmt::Formatter<'_>) -> fmt::Result = fmt::Pointer::fmt;
    sends::<AtomicPtr<T>>();
    shares::<AtomicPtr<T>>();
    unpins::<AtomicPtr<T>>();
    ref_unwinds::<AtomicPtr<T>>();
    let _: [fn(Ordering); 2] = [atomic::fence, atomic::compiler_fence];
    let _: fn() = atomic::spin_loop_hint;
    let _: (AtomicBool, AtomicIsize, AtomicUsize) =
        (ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT);
}

// ---- thread -------------------------------------------------------------------------------------

fn threads<F: FnOnce() -> T + Send + 'static, T: Send + 'static>() {
    let _: fn(F) -> JoinHandle<T> = thread::spawn::<F, T>;
    let _: fn() -> Thread = thread::current;
    let _: fn() = thread::yield_now;
    let _: fn() -> bool = thread::panicking;
    let _: fn(Duration) = thread::sleep;
    let _: fn(u32) = thread::sleep_ms;
    let _: fn() = thread::park;
    let _: fn(Duration) = thread::park_timeout;
    let _: fn(u32) = thread::park_timeout_ms;
    let _: fn() -> io::Result<NonZero<usize>> = thread::available_parallelism;
    let _: fn(thread::Result<T>) -> Result<T, Box<dyn Any + Send + 'static>> = |result| result;
    let _: fn() -> Builder = Builder::new;
    let _: fn(Builder, String) -> Builder = Builder::name;
    let _: fn(Builder, usize) -> Builder = Builder::stack_size;
    // The same handle as that of `thread::spawn`.
    let _: fn(Builder, F) -> io::Result<JoinHandle<T>> = Builder::spawn::<F, T>;
    debugs::<Builder>();
    plain::<Builder>();
}

fn threads_unchecked<F: FnOnce() -> T + Send, T: Send>() {
    let _: unsafe fn(Builder, F) -> io::Result<JoinHandle<T>> = Builder::spawn_unchecked::<F, T>;
}

fn handles<'scope, T>() {
    let _: fn(&JoinHandle<T>) -> &Thread = JoinHandle::thread;
    let _: fn(JoinHandle<T>) -> thread::Result<T> = JoinHandle::join;
    let _: fn(&JoinHandle<T>) -> bool = JoinHandle::is_finished;
    debugs::<JoinHandle<T>>();
    sends::<JoinHandle<T>>();
    shares::<JoinHandle<T>>();
    unpins::<JoinHandle<T>>();
    let _: for<'a> fn(&'a ScopedJoinHandle<'scope, T>) -> &'a Thread = ScopedJoinHandle::thread;
    let _: fn(ScopedJoinHandle<'scope, T>) -> thread::Result<T> = ScopedJoinHandle::join;
    let _: fn(&ScopedJoinHandle<'scope, T>) -> bool = ScopedJoinHandle::is_finished;
    debugs::<ScopedJoinHandle<'scope, T>>();
    unpins::<ScopedJoinHandle<'scope, T>>();
}

fn scopes<'scope, 'env: 'scope, F, T>()
where
    F: FnOnce() -> T + Send + 'scope,
    T: Send + 'scope,
{
    let _: fn(&'scope Scope<'scope, 'env>, F) -> ScopedJoinHandle<'scope, T> = Scope::spawn::<F, T>;
    let _: fn(Builder, &'scope Scope<'scope, 'env>, F) -> io::Result<ScopedJoinHandle<'scope, T>> =
        Builder::spawn_scoped::<F, T>;
    debugs::<Scope<'scope, 'env>>();
    sends::<Scope<'scope, 'env>>();
    shares::<Scope<'scope, 'env>>();
    unpins::<Scope<'scope, 'env>>();
    ref_unwinds::<Scope<'scope, 'env>>();
    sends::<ScopedJoinHandle<'scope, T>>();
    shares::<ScopedJoinHandle<'scope, T>>();
}

fn scope_function<'env, F, T>()
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let _: fn(F) -> T = thread::scope::<'env, F, T>;
}

/// Where `Scope` is written by users: a function that is given one, and a struct that keeps one.
struct Crew<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
}

impl<'scope, 'env> Crew<'scope, 'env> {
    fn add<T: Send + 'scope>(
        &self,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        self.scope.spawn(work)
    }
}

fn thread_values() {
    let _: fn(&Thread) = Thread::unpark;
    let _: fn(&Thread) -> ThreadId = Thread::id;
    let _: fn(&Thread) -> Option<&str> = Thread::name;
    clones::<Thread>();
    debugs::<(Thread, ThreadId)>();
    plain::<(Thread, ThreadId)>();
    copies::<ThreadId>();
    equals::<ThreadId>();
    hashes::<ThreadId>();
}

fn locals<T: 'static, R, F: FnOnce(&T) -> R, M: FnOnce(&mut T) -> R>() {
    let _: fn(&'static LocalKey<T>, F) -> R = LocalKey::with::<F, R>;
    let _: fn(&'static LocalKey<T>, F) -> Result<R, AccessError> = LocalKey::try_with::<F, R>;
    let _: fn(&'static LocalKey<Cell<T>>, T) = LocalKey::<Cell<T>>::set;
    let _: fn(&'static LocalKey<Cell<T>>, T) -> T = LocalKey::<Cell<T>>::replace;
    let _: fn(&'static LocalKey<RefCell<T>>, F) -> R = LocalKey::with_borrow::<F, R>;
    let _: fn(&'static LocalKey<RefCell<T>>, M) -> R = LocalKey::with_borrow_mut::<M, R>;
    let _: fn(&'static LocalKey<RefCell<T>>, T) = LocalKey::<RefCell<T>>::set;
    let _: fn(&'static LocalKey<RefCell<T>>, T) -> T = LocalKey::<RefCell<T>>::replace;
    debugs::<LocalKey<T>>();
    plain::<LocalKey<T>>();
    errs::<AccessError>();
    copies::<AccessError>();
    equals::<AccessError>();
    plain::<AccessError>();
}

fn locals_taken<C: Copy + 'static, D: Default + 'static>() {
    let _: fn(&'static LocalKey<Cell<C>>) -> C = LocalKey::<Cell<C>>::get;
    let _: fn(&'static LocalKey<Cell<D>>) -> D = LocalKey::<Cell<D>>::take;
    let _: fn(&'static LocalKey<RefCell<D>>) -> D = LocalKey::<RefCell<D>>::take;
}

lib::thread_local! {
    /// With a comment, a visibility and a constant.
    pub(crate) static CONSTANT: Cell<u8> = const { Cell::new(1) };
    #[allow(dead_code, reason = "attributes are kept")]
    static CHANGED: RefCell<Vec<u8>> = RefCell::new(vec![1])
}
lib::thread_local!(static ALONE: u8 = 3);

// ---- time ---------------------------------------------------------------------------------------

fn instants() {
    let _: fn() -> Instant = Instant::now;
    let _: fn(&Instant, Instant) -> Duration = Instant::duration_since;
    let _: fn(&Instant, Instant) -> Option<Duration> = Instant::checked_duration_since;
    let _: fn(&Instant, Instant) -> Duration = Instant::saturating_duration_since;
    let _: fn(&Instant) -> Duration = Instant::elapsed;
    let _: fn(&Instant, Duration) -> Option<Instant> = Instant::checked_add;
    let _: fn(&Instant, Duration) -> Option<Instant> = Instant::checked_sub;
    computes::<Instant>();
    let _: fn(Instant, Instant) -> Duration = Sub::sub;
}

fn computes<T>()
where
    T: Add<Duration, Output = T> + AddAssign<Duration> + Sub<Duration, Output = T>,
    T: SubAssign<Duration> + Copy + Debug + Hash + Ord,
    T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe,
{
    copies::<T>();
    hashes::<T>();
    orders::<T>();
    debugs::<T>();
    plain::<T>();
}

fn system_times() {
    const EPOCHS: [SystemTime; 2] = [UNIX_EPOCH, SystemTime::UNIX_EPOCH];
    let _ = (EPOCHS, time::UNIX_EPOCH);
    let _: fn() -> SystemTime = SystemTime::now;
    let _: fn(&SystemTime, SystemTime) -> Result<Duration, SystemTimeError> =
        SystemTime::duration_since;
    let _: fn(&SystemTime) -> Result<Duration, SystemTimeError> = SystemTime::elapsed;
    let _: fn(&SystemTime, Duration) -> Option<SystemTime> = SystemTime::checked_add;
    let _: fn(&SystemTime, Duration) -> Option<SystemTime> = SystemTime::checked_sub;
    computes::<SystemTime>();
    let _: fn(&SystemTimeError) -> Duration = SystemTimeError::duration;
    errs::<SystemTimeError>();
    errs::<TryFromFloatSecsError>();
}

// ---- hint ---------------------------------------------------------------------------------------

fn hints<T>() {
    let _: fn() = hint::spin_loop;
    let _: fn(T) -> T = hint::black_box;
    let _: fn() = hint::cold_path;
    let _: fn(bool, T, T) -> T = hint::select_unpredictable;
    let _: unsafe fn(bool) = hint::assert_unchecked;
    let _: unsafe fn() -> ! = hint::unreachable_unchecked;
}

// ---- what runs ----------------------------------------------------------------------------------

/// How values are printed.
pub(crate) fn texts() -> Vec<String> {
    let mutex = Mutex::new(1);
    let held = Mutex::new(2);
    let guard = held.lock().expect("not poisoned");
    let lock = RwLock::new(3);
    let (read, lazy) = (lock.read().expect("not poisoned"), LazyLock::new(|| 5));
    let (sender, receiver) = mpsc::channel::<u8>();
    let (sync_sender, _other) = mpsc::sync_channel::<u8>(1);
    let barrier = Barrier::new(1);
    let once_lock = OnceLock::from(4);
    let mut texts = vec![
        format!("{mutex:?} {held:?} {guard:?} {guard} {lock:?} {read:?} {read}"),
        format!("{:?} {barrier:?} {:?} {:?}", Condvar::new(), barrier.wait(), Once::new()),
        format!("{once_lock:?} {:?} {lazy:?}", OnceLock::<u8>::new()),
        format!("{:?} {:?}", AtomicBool::new(true), AtomicI8::new(-1)),
        format!("{:?} {:p}", AtomicPtr::<u8>::default(), AtomicPtr::<u8>::default()),
        format!("{sender:?} {sync_sender:?} {receiver:?} {:?}", receiver.iter()),
        format!("{:?} {:?}", receiver.try_iter(), receiver.try_recv()),
        format!(
            "{:?} {:?}",
            thread::spawn(|| ()),
            Builder::new().name("named".to_owned()).spawn(|| ())
        ),
        thread::scope(|scope| format!("{:?}", scope.spawn(|| ()))),
    ];
    drop(guard);
    let poisoned = catch_unwind(AssertUnwindSafe(|| {
        let _guard = mutex.lock().expect("not poisoned yet");
        std::panic::resume_unwind(Box::new(()));
    }));
    texts.push(format!("{} {mutex:?} {:?}", poisoned.is_err(), mutex.lock()));
    texts.push(mutex.lock().map_or_else(|error| error.to_string(), |_| "?".to_owned()));
    texts.push(mutex.try_lock().map_or_else(|error| error.to_string(), |_| "?".to_owned()));
    texts.push(format!("{} {lazy:?}", *lazy));
    texts
}

/// What is said where std panics.
pub(crate) fn panics() -> Vec<String> {
    fn told<T>(f: impl FnOnce() -> T) -> String {
        let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { return "nothing".to_owned() };
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("something else").to_owned()
    }
    // Not as constants: the compiler would refuse them.
    let [relaxed, acquire, release, both] =
        [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel];
    let word = AtomicU8::new(1);
    let once = Once::new();
    let lazy: LazyLock<u8> = LazyLock::new(|| panic!("no value"));
    let lazy_closure = LazyLock::new(|| -> u8 { panic!("no value either") });
    vec![
        told(|| atomic::fence(relaxed)),
        told(|| atomic::compiler_fence(relaxed)),
        told(|| word.load(release)),
        told(|| word.load(both)),
        told(|| word.store(1, acquire)),
        told(|| word.store(1, both)),
        told(|| word.compare_exchange(1, 1, Ordering::SeqCst, release)),
        told(|| word.compare_exchange(1, 1, Ordering::SeqCst, both)),
        told(|| once.call_once(|| panic!("no call"))),
        told(|| once.call_once(|| ())),
        told(|| once.wait()),
        told(|| once.call_once_force(|state| assert!(state.is_poisoned()))),
        told(|| once.call_once(|| panic!("never called"))),
        told(|| *lazy),
        told(|| *lazy),
        told(|| *lazy_closure),
        told(|| *lazy_closure),
        told(|| LazyLock::get(&lazy).is_some().then(|| panic!("no value"))),
        told(|| Builder::new().name("a\0b".to_owned()).spawn(|| ())),
        told(|| Instant::now() + Duration::MAX),
        told(|| UNIX_EPOCH + Duration::MAX),
        told(|| {
            thread::scope(|scope| drop(scope.spawn(|| std::panic::resume_unwind(Box::new(1)))))
        }),
    ]
}

/// What operations return that are easily got wrong.
pub(crate) fn values() -> Vec<String> {
    let mut found = Vec::new();
    let mut see = |value: &dyn Debug| found.push(format!("{value:?}"));
    let order = Ordering::SeqCst;

    let word = AtomicU8::new(250);
    see(&(word.fetch_add(10, order), word.fetch_sub(5, order), word.fetch_nand(0b1100, order)));
    see(&(word.fetch_max(3, order), word.fetch_min(9, order), word.swap(7, order)));
    see(&(word.compare_and_swap(7, 8, order), word.compare_and_swap(7, 9, Ordering::Release)));
    see(&(word.update(order, order, |n| n + 1), word.load(order)));
    see(&(word.try_update(order, order, |n| n.checked_sub(10)), word.load(order)));
    see(&(word.try_update(order, order, |n| n.checked_sub(9)), word.load(order)));
    see(&(word.fetch_update(order, order, |n| n.checked_add(4)), word.load(order)));
    let flag = AtomicBool::new(true);
    see(&(flag.fetch_not(order), flag.fetch_nand(true, order), flag.fetch_xor(true, order)));
    see(&(flag.compare_and_swap(false, true, Ordering::AcqRel), flag.into_inner()));

    let mut array = [1_u16, 2, 3, 4];
    let start = array.as_mut_ptr();
    let pointer = AtomicPtr::new(start);
    let at = |pointer: *mut u16| pointer.addr() - start.addr();
    see(&at(pointer.fetch_ptr_add(3, order)));
    see(&at(pointer.fetch_ptr_sub(1, order)));
    see(&at(pointer.fetch_byte_sub(2, order)));
    see(&at(pointer.fetch_byte_add(1, order)));
    see(&at(pointer.fetch_byte_sub(1, order)));
    see(&(at(pointer.fetch_or(1, order)), pointer.load(order).addr() & 1));
    see(&(at(pointer.fetch_xor(1, order)) & 1, pointer.load(order).addr() & 1));
    see(&(at(pointer.fetch_and(!1, order)), at(pointer.into_inner())));

    let owned = String::from("abc");
    let mut lazy = LazyLock::new(move || owned.into_bytes());
    see(&LazyLock::get(&lazy));
    see(&LazyLock::get_mut(&mut lazy));
    see(&(LazyLock::force(&lazy).len(), LazyLock::get(&lazy).map(Vec::len)));
    lazy.push(1);
    LazyLock::force_mut(&mut lazy).push(2);
    see(&lazy.len());

    let cell = OnceLock::new();
    see(&(cell.get(), cell.set(1), cell.set(2), cell.get_or_init(|| 3), cell.wait()));
    see(&(cell.clone() == cell, cell.clone().take(), cell.into_inner()));

    let lock = RwLock::new(vec![1]);
    let mut writer = lock.write().expect("not poisoned");
    writer.push(2);
    see(&lock.try_read().is_err());
    let reader = RwLockWriteGuard::downgrade(writer);
    see(&(reader.len(), lock.try_read().is_ok(), lock.try_write().is_err()));
    drop(reader);
    see(&lock.into_inner().map(|values| values.len()).ok());
    let sized: Box<Mutex<[u8; 2]>> = Box::new(Mutex::new([1, 2]));
    let slice: Box<Mutex<[u8]>> = sized;
    see(&slice.lock().map(|slice| slice.len()).ok());

    let (sender, receiver) = mpsc::sync_channel(1);
    see(&(sender.try_send(1), sender.try_send(2), receiver.recv(), receiver.try_recv()));
    let zero = Duration::ZERO;
    see(&receiver.recv_timeout(zero));
    see(&sender.send(3));
    drop(sender);
    see(&(receiver.recv_timeout(zero), receiver.recv_timeout(zero), receiver.try_recv()));
    see(&receiver.into_iter().next());

    let (condvar, mutex) = (Condvar::new(), Mutex::new(1));
    let guard = mutex.lock().expect("not poisoned");
    let waited = condvar.wait_timeout_ms(guard, 0).expect("not poisoned");
    see(&(*waited.0, waited.1));
    let waited = condvar.wait_timeout(waited.0, zero).expect("not poisoned");
    see(&(*waited.0, waited.1.timed_out()));
    let waited = condvar.wait_timeout_while(waited.0, zero, |_| true).expect("not poisoned");
    see(&(*waited.0, waited.1.timed_out()));
    see(&condvar.wait_while(waited.0, |_| false).map(|guard| *guard).ok());
    see(&Barrier::new(1).wait().is_leader());

    let mut local = 1;
    // SAFETY: joined before `local` is gone.
    let handle = unsafe { Builder::new().spawn_unchecked(|| local += 1) };
    see(&handle.map(|handle| handle.join().is_ok()).ok());
    see(&local);
    see(&thread::scope(|scope| Crew { scope }.add(|| local + 1).join().ok()));
    see(&thread::spawn(|| std::panic::resume_unwind(Box::new(4_u8))).join().is_err());
    thread::current().unpark();
    thread::park();
    thread::current().unpark();
    thread::park_timeout_ms(1);
    thread::sleep_ms(0);
    atomic::spin_loop_hint();
    see(&(CONSTANT.replace(2), CONSTANT.take(), CONSTANT.get(), ALONE.with(|value| *value)));
    CHANGED.with_borrow_mut(|values| values.push(2));
    see(&(CHANGED.replace(vec![5]), CHANGED.take(), CHANGED.with_borrow(Vec::len)));
    see(&(thread::panicking(), thread::available_parallelism().is_ok()));

    let now = Instant::now();
    see(&(now.checked_add(Duration::MAX).is_none(), now - (now + Duration::from_secs(1))));
    see(&(now + Duration::from_secs(2)).duration_since(now));
    let later = UNIX_EPOCH + Duration::from_secs(3);
    see(&(later.duration_since(UNIX_EPOCH).ok(), UNIX_EPOCH.duration_since(later)));
    see(&(hint::black_box(1), hint::select_unpredictable(true, 1, 2)));
    found
}
