//! `shuttle::future`: tasks that poll futures, each as a thread under control.
//!
//! A task is scheduled as a thread is: between two operations on what is under control another one may run. With shuttle
//! it is the same, so plain locks inside futures are controlled too.
#![expect(unsafe_code, reason = "futures that need not be Send cross to threads of one execution")]

pub mod batch_semaphore;

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::{ManuallyDrop, take};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use raddle::sync::atomic::{AtomicBool, Ordering};
use raddle::sync::{Mutex, MutexGuard, PoisonError};
use raddle::thread::{self, Thread};

use crate::current::to_inherit;
use crate::thread::Labelled;

/// Wakes the thread that polls a future.
struct Woken {
    woken: AtomicBool,
    thread: Thread,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The flag, because the future itself may park this thread and use up what `unpark` left.
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls a future until it is ready or `cancelled` says so, each time after it was woken.
#[track_caller]
fn drive<F: Future>(
    mut future: Pin<&mut F>,
    begins: &dyn Fn(&Waker),
    cancelled: &dyn Fn() -> bool,
) -> Option<F::Output> {
    let woken = Arc::new(Woken { woken: AtomicBool::new(false), thread: thread::current() });
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    begins(&waker);
    loop {
        if cancelled() {
            return None;
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        while !woken.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// Polls a future on this thread until it is ready.
///
/// ```
/// raddle_shuttle::check_dfs(
///     || {
///         let sum = raddle_shuttle::future::block_on(async {
///             let one = raddle_shuttle::future::spawn(async { 1 });
///             one.await.unwrap() + 1
///         });
///         assert_eq!(sum, 2);
///     },
///     None,
/// );
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let Some(output) = drive(pin!(future), &|_| {}, &|| false) else {
        unreachable!("it is never cancelled");
    };
    output
}

/// What a task and its handles share.
struct Shared<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    /// What came of it, until it is taken.
    result: Option<Result<T, JoinError>>,
    /// Wakes the task.
    task: Option<Waker>,
    /// Wakes what awaits the task.
    awaiting: Option<Waker>,
    aborted: bool,
    detached: bool,
    finished: bool,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, result: Result<T, JoinError>) {
        let mut state = self.state();
        (state.result, state.finished, state.task) = (Some(result), true, None);
        let awaiting = state.awaiting.take();
        // A waker is the program's code, so it runs after the lock is free.
        drop(state);
        awaiting.into_iter().for_each(Waker::wake);
    }
}

/// A task, whatever it yields.
trait Task {
    fn abort(&self);
    fn is_finished(&self) -> bool;
    fn is_detached(&self) -> bool;
}

impl<T> Task for Shared<T> {
    fn abort(&self) {
        let mut state = self.state();
        state.aborted = true;
        let task = state.task.take();
        drop(state);
        task.into_iter().for_each(Waker::wake);
    }

    fn is_finished(&self) -> bool {
        self.state().finished
    }

    fn is_detached(&self) -> bool {
        self.state().detached
    }
}

std::thread_local! {
    /// The tasks of the execution that runs on this OS thread.
    static TASKS: RefCell<Vec<Weak<dyn Task>>> = RefCell::default();
}

/// An execution begins.
pub(crate) fn begin() {
    TASKS.take();
}

/// The test's body is over: tasks that are not awaited end where they are.
pub(crate) fn cancel_detached() {
    for task in TASKS.take().iter().filter_map(Weak::upgrade) {
        if task.is_detached() {
            task.abort();
        }
    }
}

/// Starts a task.
#[track_caller]
pub fn spawn<F>(fut: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    start(fut, None)
}

/// Starts a task whose future need not be `Send`.
///
/// # Panics
/// The task, if it is not started inside an execution: it would run on another OS thread.
#[track_caller]
pub fn spawn_local<F>(fut: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    start(fut, Some(std::thread::current().id()))
}

/// Crosses to the thread of a task.
struct Crosses<T> {
    value: ManuallyDrop<T>,
    /// The OS thread that it must not leave, if it is not `Send`.
    stays_on: Option<std::thread::ThreadId>,
}

// SAFETY: what is `Send` may cross. Of anything else `arrive` sees to it that it is used on the OS thread that
// it comes from alone; it is dropped nowhere else either.
unsafe impl<T> Send for Crosses<T> {}

impl<T> Crosses<T> {
    fn arrive(self) -> T {
        let here = self.stays_on.is_none_or(|from| std::thread::current().id() == from);
        assert!(here, "spawn_local is for tests that run under raddle; outside of them use spawn");
        ManuallyDrop::into_inner(self.value)
    }
}

/// Starts a thread that polls the future. What is not `Send` names the OS thread that it must stay on.
#[track_caller]
fn start<F>(future: F, stays_on: Option<std::thread::ThreadId>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let state = State {
        result: None,
        task: None,
        awaiting: None,
        aborted: false,
        detached: false,
        finished: false,
    };
    let shared = Arc::new(Shared { state: Mutex::new(state) });
    let task: Arc<dyn Task> = Arc::clone(&shared) as _;
    TASKS.with_borrow_mut(|tasks| tasks.push(Arc::downgrade(&task)));
    let labels = Labelled::new(to_inherit());
    let crosses = Crosses { value: ManuallyDrop::new((future, Arc::clone(&shared))), stays_on };
    let thread = thread::spawn(move || {
        labels.arrive();
        let (future, shared) = crosses.arrive();
        let output = {
            let future = pin!(future);
            let begins = |waker: &Waker| shared.state().task = Some(waker.clone());
            drive(future, &begins, &|| shared.state().aborted)
        };
        shared.finish(output.ok_or(JoinError::Cancelled));
    });
    // The handle of the thread is of no use: what the task yields is in `shared`, and a panic is a failure of the test.
    drop(thread);
    JoinHandle { shared, task: AbortHandle { task } }
}

/// Ends a task.
#[derive(Clone)]
pub struct AbortHandle {
    task: Arc<dyn Task>,
}

// SAFETY: `Task` has a flag and wakers behind a lock of raddle; what the task yields, which need not be `Send`, is not
// reached through it but to drop it, and that by its own thread or the last handle, on the same OS thread.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}

impl AbortHandle {
    /// The task is not polled again; what awaits it is told that it was cancelled. A task that has finished stays as it is.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

/// A task that can be awaited. Dropped, it is detached: the task goes on, and ends where it is when the test's body ends.
pub struct JoinHandle<T> {
    shared: Arc<Shared<T>>,
    task: AbortHandle,
}

// SAFETY: what the task yields is taken by `poll` alone. A value that is not `Send` comes from `spawn_local`, whose task and
// handle belong to threads of one execution, which are coroutines of one OS thread.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> JoinHandle<T> {
    /// See [`AbortHandle::abort`].
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// A handle that can only abort it.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.task.clone()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.state();
        if let Some(result) = state.result.take() {
            return Poll::Ready(result);
        }
        let before = state.awaiting.replace(context.waker().clone());
        // A waker is the program's code, so it is dropped after the lock is free.
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.shared.state().detached = true;
        }
    }
}

/// Why there is nothing of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// It was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("task was cancelled"),
        }
    }
}

impl Error for JoinError {}

/// Lets other tasks run.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if take(&mut yielded) {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        thread::yield_now();
        Poll::Pending
    })
    .await;
}
