// The public items of shuttle 0.9 that raddle-shuttle has, each used once: compiled and run against shuttle
// (`bench/peer-shuttle/tests/whole_api.rs`) and against raddle-shuttle (`crates/raddle-shuttle/tests/whole_api.rs`). `shuttle` is the
// one or the other. What is left out is in the table of differences on raddle-shuttle's first page.

use std::time::Duration;

use shuttle::annotations::WithName;
use shuttle::current::{self, ChildLabelFn, Labels, TaskId, TaskName};
use shuttle::future::batch_semaphore::{AcquireError, BatchSemaphore, Fairness, TryAcquireError};
use shuttle::future::{self, AbortHandle, JoinError};
use shuttle::rand::{Rng, RngCore};
use shuttle::scheduler::{
    AnnotationScheduler, DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
    Scheduler, UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use shuttle::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use shuttle::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
};
use shuttle::sync::mpsc::{
    Receiver, RecvError, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use shuttle::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceState, PoisonError,
    ResourceSignature, ResourceType, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
    TryLockResult, WaitTimeoutResult, Weak,
};
use shuttle::thread::{
    self, AccessError, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId,
};
use shuttle::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, PortfolioRunner, Runner,
    UngracefulShutdownConfig,
};

fn run_with(scheduler: impl Scheduler + 'static) -> usize {
    Runner::new(scheduler, Config::new()).run(|| {})
}

#[test]
fn tests_are_run_by_schedulers() {
    shuttle::check(|| {});
    shuttle::check_random(|| {}, 2);
    shuttle::check_random_with_seed(|| {}, 7, 2);
    shuttle::check_pct(two_threads, 2, 2);
    shuttle::check_urw(two_threads, 2);
    shuttle::check_dfs(|| {}, None);
    shuttle::check_uncontrolled_nondeterminism(two_threads, 2);
    assert_eq!(run_with(RandomScheduler::new(3)), 3);
    assert_eq!(run_with(RandomScheduler::new_from_seed(1, 3)), 3);
    assert_eq!(run_with(RoundRobinScheduler::new(1)), 1);
    assert_eq!(run_with(DfsScheduler::new(Some(3), true)), 1);
    assert_eq!(run_with(AnnotationScheduler::new(RandomScheduler::new(3))), 3);
    drop((PctScheduler::new(1, 1), PctScheduler::new_from_seed(1, 1, 1)));
    drop((UrwRandomScheduler::new(1), UrwRandomScheduler::new_from_seed(1, 1)));
    drop(UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(1)));
    assert!(ReplayScheduler::new_from_file("it-is-not-there").is_err());
    let mut portfolio = PortfolioRunner::new(true, Config::default());
    portfolio.add(RandomScheduler::new(2));
    portfolio.add(DfsScheduler::new(None, false));
    portfolio.run(two_threads);
    let boxed: Box<dyn Scheduler + Send> = Box::new(RandomScheduler::new(2));
    assert_eq!(run_with(boxed), 2);
    assert!(shuttle::CAPTURE_BACKTRACE.len() + shuttle::SILENCE_WARNINGS.len() + shuttle::ANNOTATION_FILE.len() > 3);
}

/// Replays need a recording, of which each tool has its own.
#[allow(dead_code, reason = "it is there to be compiled")]
fn replays(recording: &str) {
    shuttle::replay(|| {}, recording);
    shuttle::replay_from_file(|| {}, recording);
    ReplayScheduler::new_from_encoded(recording).set_allow_incomplete();
}

fn two_threads() {
    let n = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || theirs.fetch_add(1, SeqCst));
    n.fetch_add(1, SeqCst);
    thread.join().unwrap();
}

#[test]
fn a_config_has_fields() {
    let mut config = Config::new();
    config.stack_size = 0xf000;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::ContinueAfter(1_000);
    config.max_time = Some(Duration::from_secs(60));
    (config.silence_warnings, config.record_steps_in_span) = (true, false);
    let mut shutdown = UngracefulShutdownConfig::default();
    shutdown.immediately_return_on_panic = UngracefulShutdownConfig::new().immediately_return_on_panic;
    shutdown.continuation_function_behavior = ContinuationFunctionBehavior::new();
    config.ungraceful_shutdown_config = shutdown;
    assert!(format!("{:?}", config.clone()).contains("ContinueAfter"));
    assert_eq!(Runner::new(RandomScheduler::new(2), config).run(two_threads), 2);
    let others = (FailurePersistence::Print, FailurePersistence::File(None), MaxSteps::None);
    assert!(others.2 != MaxSteps::FailAfter(1) && others.0 != others.1);
}

#[test]
fn tasks_have_labels() {
    shuttle::check_random(
        || {
            let me: TaskId = current::me();
            assert_eq!(current::get_current_task(), current::try_get_current_task());
            assert_eq!((usize::from(me), me.to_string(), TaskId::from(0)), (0, "0".to_owned(), me));
            current::set_name_for_task(me, "main");
            assert_eq!(current::get_name_for_task(me), Some(TaskName::from("main")));
            assert_eq!(String::from(TaskName::from("a".to_owned())), "a");
            assert_eq!(current::set_label_for_task(me, 1_u32), None);
            assert_eq!(current::get_label_for_task::<u32>(me), Some(1));
            current::with_labels_for_task(me, |labels| *labels.get_or_insert(0_u64) += 1);
            assert_eq!(current::remove_label_for_task::<u64>(me), Some(1));
            let mut labels = Labels::new();
            *labels.get_or_insert_with(|| 1_u8) += *labels.clone().get_or_insert_default::<u8>();
            let mut others = Labels::new();
            others.insert(2_u8);
            labels.extend(others);
            *labels.get_mut::<u8>().unwrap() += 1;
            assert_eq!((labels.get::<u8>(), labels.len(), labels.is_empty()), (Some(&3), 1, false));
            assert_eq!(labels.remove::<u8>(), Some(3));
            labels.clear();
            let name = |_: TaskId, labels: &mut Labels| _ = labels.insert(TaskName::from("child"));
            current::set_label_for_task(me, ChildLabelFn(Arc::new(name)));
            let child = thread::spawn(|| current::get_name_for_task(current::me()));
            assert_eq!(child.join().unwrap(), Some(TaskName::from("child")));
            let before = current::context_switches();
            thread::yield_now();
            assert!(current::context_switches() > before);
            current::reset_step_count();
        },
        3,
    );
}

#[allow(deprecated, reason = "it is part of the API")]
#[test]
fn tasks_have_tags() {
    #[derive(Debug)]
    struct Tagged(u32);
    impl current::Taggable for Tagged {}
    shuttle::check_random(
        || {
            assert!(current::set_tag_for_current_task(Arc::new(Tagged(1))).is_none());
            let tag: Arc<dyn current::Tag> = current::get_tag_for_current_task().unwrap();
            assert_eq!(tag.as_any().downcast_ref::<Tagged>().map(|tagged| tagged.0), Some(1));
            assert!(current::set_tag_for_task(current::me(), tag).is_some());
            assert!(current::get_tag_for_task(current::me()).is_some());
        },
        2,
    );
}

#[test]
fn futures_are_spawned_and_awaited() {
    shuttle::check_random(
        || {
            future::block_on(async {
                let task: future::JoinHandle<u32> = future::spawn(async { 1 });
                let local = future::spawn_local(async { 2 });
                future::yield_now().await;
                assert_eq!((task.await.unwrap(), local.await.unwrap()), (1, 2));
                let aborted = future::spawn(std::future::pending::<()>());
                let handle: AbortHandle = aborted.abort_handle();
                handle.abort();
                aborted.abort();
                assert!(matches!(aborted.await, Err(JoinError::Cancelled)));
                assert!(handle.is_finished());
            });
        },
        3,
    );
}

#[test]
fn a_semaphore_has_permits() {
    shuttle::check_random(
        || {
            let semaphore = BatchSemaphore::new(3, Fairness::StrictlyFair).with_name("permits");
            assert_eq!(semaphore.try_acquire(4), Err(TryAcquireError::NoPermits));
            semaphore.acquire_blocking(1).unwrap();
            assert_eq!(semaphore.try_upgrade(1, 2), Ok(()));
            future::block_on(semaphore.upgrade(2, 3)).unwrap();
            semaphore.release(3);
            future::block_on(semaphore.acquire(1)).unwrap();
            future::block_on(semaphore.acquire_bypassable(1)).unwrap();
            assert_eq!(semaphore.available_permits(), 1);
            semaphore.close();
            assert!(semaphore.is_closed() && semaphore.try_acquire(1) == Err(TryAcquireError::Closed));
            let closed: Result<(), AcquireError> = semaphore.acquire_blocking(1);
            assert!(closed.is_err());

            let signature = ResourceSignature::new_const(ResourceType::BatchSemaphore);
            let unfair =
                BatchSemaphore::new_with_signature(2, Fairness::Unfair, signature.clone());
            assert_eq!(unfair.signature(), &signature);
            assert_eq!(signature.signature_hash(), signature.clone().signature_hash());
            assert_ne!(signature.static_create_location_hash(), 0);
            future::block_on(unfair.acquire_reserving(1, 2)).unwrap();
            unfair.close_no_scheduling_point();
            drop(BatchSemaphore::const_new_with_signature(1, Fairness::Unfair, signature));
            drop((BatchSemaphore::default(), BatchSemaphore::const_new(1, Fairness::Unfair)));
        },
        3,
    );
}

macro_rules! integers {
    ($($name:ident)*) => {$({
        let mut n = $name::new(1);
        *n.get_mut() += 1;
        assert_eq!((n.swap(3, AcqRel), n.load(Relaxed)), (2, 3));
        n.store(5, SeqCst);
        assert_eq!(n.compare_exchange(5, 6, SeqCst, SeqCst), Ok(5));
        assert_eq!(n.compare_exchange_weak(5, 6, SeqCst, SeqCst), Err(6));
        assert_eq!((n.fetch_add(1, Relaxed), n.fetch_sub(1, Relaxed)), (6, 7));
        assert_eq!((n.fetch_and(6, Relaxed), n.fetch_or(1, Relaxed)), (6, 6));
        assert_eq!((n.fetch_xor(1, Relaxed), n.fetch_max(9, Relaxed)), (7, 6));
        assert_eq!((n.fetch_min(5, Relaxed), n.fetch_nand(0, Relaxed)), (9, 5));
        assert!(n.fetch_update(SeqCst, Acquire, |_| Some(1)).is_ok());
        assert_eq!((n.into_inner(), $name::default().into_inner()), (1, 0));
        assert_eq!($name::from(7).into_inner(), 7);
    })*};
}

#[test]
fn atomics_have_all_methods() {
    shuttle::check_random(
        || {
            integers! { AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize }
            integers! { AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize }
            let flag = AtomicBool::new(true);
            assert!(flag.fetch_not(SeqCst) && !flag.fetch_or(true, SeqCst) && flag.load(SeqCst));
            let mut value = 1;
            let pointer = AtomicPtr::new(&raw mut value);
            assert_eq!(unsafe { *pointer.load(SeqCst) }, 1);
            fence(SeqCst);
            compiler_fence(SeqCst);
            shuttle::hint::spin_loop();
        },
        2,
    );
}

fn guarded(lock: &Mutex<u32>) -> LockResult<MutexGuard<'_, u32>> {
    lock.lock()
}

#[test]
fn locks_keep_threads_apart() {
    shuttle::check_random(
        || {
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            let weak: Weak<(Mutex<u32>, Condvar)> = Arc::downgrade(&shared);
            let theirs = weak.upgrade().unwrap();
            let thread = thread::spawn(move || {
                *guarded(&theirs.0).unwrap() = 1;
                theirs.1.notify_one();
                theirs.1.notify_all();
            });
            let n = shared.1.wait_while(shared.0.lock().unwrap(), |n| *n == 0).unwrap();
            drop(n);
            thread.join().unwrap();
            let free: TryLockResult<MutexGuard<'_, u32>> = shared.0.try_lock();
            let held = free.unwrap();
            assert!(matches!(shared.0.try_lock(), Err(TryLockError::WouldBlock)));
            drop(held);
            shared.0.clear_poison();
            let mut lock = Mutex::new(1);
            *lock.get_mut().unwrap() += 1;
            assert_eq!(lock.into_inner().unwrap_or_else(PoisonError::into_inner), 2);

            let mut lock = RwLock::new(1);
            let reader: RwLockReadGuard<'_, u32> = lock.read().unwrap();
            assert!(*reader == 1 && lock.try_write().is_err());
            drop(reader);
            assert_eq!(*lock.try_read().unwrap(), 1);
            let mut writer: RwLockWriteGuard<'_, u32> = lock.write().unwrap();
            *writer += 1;
            drop(writer);
            *lock.get_mut().unwrap() += 1;
            lock.clear_poison();
            assert_eq!(lock.into_inner().unwrap(), 3);

            let once = Once::new();
            once.call_once(|| {});
            once.call_once_force(|state: &OnceState| assert!(!state.is_poisoned()));
            let result: BarrierWaitResult = Barrier::new(1).wait();
            assert!(result.is_leader() && once.is_completed());
        },
        5,
    );
}

/// A timed wait is one that may end by itself, or never does: each tool has it in its own way.
#[allow(dead_code, reason = "it is there to be compiled")]
fn timed(lock: &Mutex<u32>, condvar: &Condvar, receiver: &Receiver<u32>) -> bool {
    let guard = lock.lock().unwrap();
    let (guard, result): (_, WaitTimeoutResult) =
        condvar.wait_timeout(guard, Duration::ZERO).unwrap();
    let (_, second) = condvar.wait_timeout_while(guard, Duration::ZERO, |_| false).unwrap();
    thread::park_timeout(Duration::ZERO);
    thread::sleep(Duration::ZERO);
    result.timed_out() && second.timed_out() && receiver.recv_timeout(Duration::ZERO).is_err()
}

#[test]
fn channels_carry_messages() {
    shuttle::check_random(
        || {
            let (sender, receiver): (Sender<u32>, Receiver<u32>) = channel();
            let theirs = sender.clone();
            let thread = thread::spawn(move || theirs.send(1).unwrap());
            assert_eq!(receiver.recv(), Ok(1));
            thread.join().unwrap();
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            sender.send(2).unwrap();
            assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2]);
            drop(sender);
            assert_eq!((receiver.recv(), receiver.iter().count()), (Err(RecvError), 0));
            assert_eq!(receiver.into_iter().count(), 0);
            let (sender, receiver): (SyncSender<u32>, _) = sync_channel(1);
            sender.send(1).unwrap();
            assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
            drop(receiver);
            assert!(sender.send(3).is_err());
        },
        5,
    );
}

shuttle::thread_local! {
    static OWN: std::cell::Cell<u32> = std::cell::Cell::new(1);
    static OTHER: u32 = const { 2 };
}

shuttle::lazy_static! {
    static ref SHARED: Mutex<u32> = Mutex::new(1);
    /// With a comment.
    pub static ref TEXT: String = "text".to_owned();
}

fn own() -> &'static LocalKey<std::cell::Cell<u32>> {
    &OWN
}

#[test]
fn threads_have_names_locals_and_statics() {
    shuttle::check_random(
        || {
            shuttle::lazy_static::initialize(&SHARED);
            let builder = thread::Builder::new().name("worker".to_owned()).stack_size(1 << 16);
            let worker: JoinHandle<u32> = builder
                .spawn(|| {
                    thread::park();
                    assert_eq!(thread::current().name(), Some("worker"));
                    *SHARED.lock().unwrap() += 1;
                    own().with(|own| own.replace(5))
                })
                .unwrap();
            let thread: &Thread = worker.thread();
            let id: ThreadId = thread.id();
            assert!(id == worker.thread().id() && id != thread::current().id());
            thread.unpark();
            assert_eq!(worker.join().unwrap(), 1);
            let other: Result<u32, AccessError> = OTHER.try_with(|other| *other);
            assert_eq!((*SHARED.lock().unwrap(), OWN.with(std::cell::Cell::get), TEXT.len()), (2, 1, 4));
            assert!(other.is_ok() && !thread::panicking());
            let n = AtomicUsize::new(0);
            let sum = thread::scope(|scope: &Scope<'_, '_>| {
                let one: ScopedJoinHandle<'_, usize> = scope.spawn(|| n.fetch_add(1, SeqCst));
                let _ = (one.thread().id(), one.is_finished());
                one.join().unwrap() + n.load(SeqCst)
            });
            assert_eq!(sum, 1);
            let mut generator = shuttle::rand::thread_rng();
            assert!(generator.gen_range(0..10) < 10);
            let _: u32 = generator.next_u32();
            let _: shuttle::rand::rngs::ThreadRng = generator;
        },
        5,
    );
}
