//! A semaphore of which several permits are taken at once.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use raddle::sync::{Mutex, MutexGuard, PoisonError};

/// In which order those who wait are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// In the order in which they began to wait.
    StrictlyFair,
    /// Whichever comes first when there are permits.
    Unfair,
}

/// There are no permits to be had now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// Too few permits are there, or others wait and come first.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the semaphore is closed",
            Self::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}

/// The semaphore was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl Error for AcquireError {}

#[derive(Debug)]
struct Waiting {
    number: u64,
    permits: usize,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct State {
    permits: usize,
    closed: bool,
    next: u64,
    queue: VecDeque<Waiting>,
}

/// A semaphore of which several permits are taken at once.
#[derive(Debug)]
pub struct BatchSemaphore {
    state: Mutex<State>,
    fairness: Fairness,
}

impl BatchSemaphore {
    /// With so many permits.
    #[must_use]
    #[track_caller]
    pub const fn new(num_permits: usize, fairness: Fairness) -> Self {
        Self::const_new(num_permits, fairness)
    }

    /// With so many permits.
    #[must_use]
    #[track_caller]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> Self {
        let state = State { permits: num_permits, closed: false, next: 0, queue: VecDeque::new() };
        Self { state: Mutex::new(state), fairness }
    }

    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many permits are there.
    #[must_use]
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.state().permits
    }

    /// Ends all waiting, now and later.
    #[track_caller]
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let wakers: Vec<Waker> =
            state.queue.iter_mut().filter_map(|one| one.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether it was closed.
    #[must_use]
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Takes permits if they are there, and none that waits comes first.
    ///
    /// # Errors
    /// If not, or if it is closed.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        let mut state = self.state();
        if state.closed {
            return Err(TryAcquireError::Closed);
        }
        let comes_first = self.fairness == Fairness::Unfair || state.queue.is_empty();
        if !comes_first || state.permits < num_permits {
            return Err(TryAcquireError::NoPermits);
        }
        state.permits -= num_permits;
        Ok(())
    }

    /// Waits for permits and takes them.
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        Acquire { semaphore: self, permits: num_permits, number: None }
    }

    /// Waits for permits on this thread and takes them.
    ///
    /// # Errors
    /// If it is closed.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        super::block_on(self.acquire(num_permits))
    }

    /// Gives permits back, or adds them.
    #[track_caller]
    pub fn release(&self, num_permits: usize) {
        let mut state = self.state();
        state.permits += num_permits;
        let wakers = self.wakers(&mut state);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Those who may find permits now.
    fn wakers(&self, state: &mut State) -> Vec<Waker> {
        let permits = state.permits;
        match self.fairness {
            // One after the other: each that takes its permits wakes the next.
            Fairness::StrictlyFair => state
                .queue
                .front_mut()
                .filter(|first| first.permits <= permits)
                .and_then(|first| first.waker.take())
                .into_iter()
                .collect(),
            Fairness::Unfair => state
                .queue
                .iter_mut()
                .filter(|one| one.permits <= permits)
                .filter_map(|one| one.waker.take())
                .collect(),
        }
    }
}

/// Waits for permits: see [`BatchSemaphore::acquire`].
#[derive(Debug)]
#[must_use = "nothing is taken before it is awaited"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    permits: usize,
    /// Its number in the queue, once it waits.
    number: Option<u64>,
}

impl Acquire<'_> {
    /// Leaves the queue. Those behind it may come first now.
    fn leave(&mut self, state: &mut State) -> Vec<Waker> {
        if let Some(number) = self.number.take() {
            state.queue.retain(|one| one.number != number);
        }
        self.semaphore.wakers(state)
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let semaphore = self.semaphore;
        let mut state = semaphore.state();
        let first = state.queue.front().map(|one| one.number);
        let comes_first =
            semaphore.fairness == Fairness::Unfair || first.is_none() || first == self.number;
        let result = match () {
            () if state.closed => Err(AcquireError(())),
            () if comes_first && state.permits >= self.permits => {
                state.permits -= self.permits;
                Ok(())
            }
            () => {
                let waker = Some(context.waker().clone());
                let number = self.number;
                if let Some(one) = state.queue.iter_mut().find(|one| Some(one.number) == number) {
                    one.waker = waker;
                } else {
                    let (number, permits) = (state.next, self.permits);
                    state.next += 1;
                    state.queue.push_back(Waiting { number, permits, waker });
                    self.number = Some(number);
                }
                return Poll::Pending;
            }
        };
        let wakers = self.leave(&mut state);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Poll::Ready(result)
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if self.number.is_some() && !std::thread::panicking() {
            let mut state = self.semaphore.state();
            let wakers = self.leave(&mut state);
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}
