//! A semaphore of which several permits are taken at once.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use raddle::sync::{Mutex, MutexGuard, PoisonError};

use crate::signature::{ResourceSignature, ResourceType};

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

/// How a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind those who wait already.
    Back,
    /// The same, but those who come later may pass while there are too few permits for it.
    Bypassable,
    /// Before all others.
    Front,
    /// Of an unfair semaphore: once so many permits are there, no other request takes any.
    Reserving { at_least: usize },
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    permits: usize,
    place: Place,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct State {
    permits: usize,
    closed: bool,
    next: u64,
    queue: VecDeque<Waiting>,
    /// The request in the queue for which all permits are kept.
    reserved_for: Option<u64>,
}

impl State {
    /// Keeps all permits for the first request that asks for that and finds enough.
    fn reserve(&mut self) {
        let permits = self.permits;
        let reserves = |one: &&Waiting| match one.place {
            Place::Reserving { at_least } => at_least <= permits,
            _ => false,
        };
        if self.reserved_for.is_none() {
            self.reserved_for = self.queue.iter().find(reserves).map(|one| one.number);
        }
    }
}

/// A semaphore of which several permits are taken at once.
#[derive(Debug)]
pub struct BatchSemaphore {
    state: Mutex<State>,
    fairness: Fairness,
    signature: ResourceSignature,
}

impl Default for BatchSemaphore {
    /// Fair, and without permits.
    #[track_caller]
    fn default() -> Self {
        Self::new(0, Fairness::StrictlyFair)
    }
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
        let signature = ResourceSignature::new_const(ResourceType::BatchSemaphore);
        Self::const_new_with_signature(num_permits, fairness, signature)
    }

    /// With so many permits, and this signature.
    #[must_use]
    #[track_caller]
    pub const fn new_with_signature(
        num_permits: usize,
        fairness: Fairness,
        signature: ResourceSignature,
    ) -> Self {
        Self::const_new_with_signature(num_permits, fairness, signature)
    }

    /// With so many permits, and this signature.
    #[must_use]
    #[track_caller]
    pub const fn const_new_with_signature(
        num_permits: usize,
        fairness: Fairness,
        signature: ResourceSignature,
    ) -> Self {
        let queue = VecDeque::new();
        let state =
            State { permits: num_permits, closed: false, next: 0, queue, reserved_for: None };
        Self { state: Mutex::new(state), fairness, signature }
    }

    /// What tells it apart.
    #[must_use]
    pub fn signature(&self) -> &ResourceSignature {
        &self.signature
    }

    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many permits are there; none while all are kept for a request.
    #[must_use]
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        let state = self.state();
        if state.reserved_for.is_some() { 0 } else { state.permits }
    }

    /// Whether a request may take so many permits now.
    fn may_take(&self, state: &State, permits: usize, place: Place, number: Option<u64>) -> bool {
        if state.permits < permits {
            return false;
        }
        if state.reserved_for.is_some() {
            return state.reserved_for == number;
        }
        let passed = |one: &Waiting| one.place == Place::Bypassable && one.permits > state.permits;
        let mut before = state.queue.iter().take_while(|one| Some(one.number) != number);
        self.fairness == Fairness::Unfair || place == Place::Front || before.all(passed)
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

    /// [`close`](Self::close). Other than with shuttle it is a scheduling point, so that more orders are explored.
    #[track_caller]
    pub fn close_no_scheduling_point(&self) {
        self.close();
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
        self.try_take(num_permits, Place::Back)
    }

    #[track_caller]
    fn try_take(&self, permits: usize, place: Place) -> Result<(), TryAcquireError> {
        let mut state = self.state();
        if state.closed {
            return Err(TryAcquireError::Closed);
        }
        if !self.may_take(&state, permits, place, None) {
            return Err(TryAcquireError::NoPermits);
        }
        state.permits -= permits;
        Ok(())
    }

    /// Waits for permits and takes them.
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        self.request(num_permits, Place::Back)
    }

    fn request(&self, permits: usize, place: Place) -> Acquire<'_> {
        Acquire { semaphore: self, permits, place, number: None }
    }

    /// Waits for permits and takes them. While there are too few, requests that come later may pass: see
    /// [`Fairness::StrictlyFair`].
    pub fn acquire_bypassable(&self, num_permits: usize) -> Acquire<'_> {
        self.request(num_permits, Place::Bypassable)
    }

    /// Waits for permits and takes them. As soon as `min_permits` are there no other request takes any, until this one has got
    /// `num_permits` or is dropped.
    ///
    /// # Panics
    /// If the semaphore is fair, if `num_permits` is 0, or if `min_permits` is more.
    pub fn acquire_reserving(&self, min_permits: usize, num_permits: usize) -> Acquire<'_> {
        assert!(
            self.fairness == Fairness::Unfair,
            "only an unfair semaphore keeps permits for one"
        );
        assert!(num_permits > 0, "acquire_reserving of no permits");
        assert!(min_permits <= num_permits, "acquire_reserving: {min_permits} > {num_permits}");
        self.request(num_permits, Place::Reserving { at_least: min_permits })
    }

    /// Waits for the permits that one who has some lacks, before all other requests, and takes them.
    ///
    /// # Panics
    /// If it has none, or is to have no more.
    pub fn upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Acquire<'_> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        match self.fairness {
            Fairness::StrictlyFair => self.request(missing, Place::Front),
            Fairness::Unfair => self.request(missing, Place::Reserving { at_least: 0 }),
        }
    }

    /// Takes the permits that one who has some lacks, if they are there. Others that wait do not come first.
    ///
    /// # Errors
    /// If they are not there, or it is closed.
    ///
    /// # Panics
    /// If it has none, or is to have no more.
    #[track_caller]
    pub fn try_upgrade(
        &self,
        permits_currently_held: usize,
        permits_to_be_held: usize,
    ) -> Result<(), TryAcquireError> {
        self.try_take(missing(permits_currently_held, permits_to_be_held), Place::Front)
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
        state.reserve();
        let wakers = self.wakers(&mut state);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Those who may find permits now.
    fn wakers(&self, state: &mut State) -> Vec<Waker> {
        let may_take =
            |one: &&Waiting| self.may_take(state, one.permits, one.place, Some(one.number));
        let numbers = state.queue.iter().filter(may_take).map(|one| one.number);
        let numbers: Vec<u64> = match self.fairness {
            // One after the other: each that takes its permits wakes the next.
            Fairness::StrictlyFair => numbers.take(1).collect(),
            Fairness::Unfair => numbers.collect(),
        };
        let queue = state.queue.iter_mut().filter(|one| numbers.contains(&one.number));
        queue.filter_map(|one| one.waker.take()).collect()
    }
}

/// How many permits one lacks.
fn missing(held: usize, to_be_held: usize) -> usize {
    assert!(held > 0, "an upgrade of one who has no permits");
    assert!(to_be_held > held, "an upgrade from {held} to {to_be_held} permits");
    to_be_held - held
}

/// Waits for permits: see [`BatchSemaphore::acquire`].
#[derive(Debug)]
#[must_use = "nothing is taken before it is awaited"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    permits: usize,
    place: Place,
    /// Its number in the queue, once it waits.
    number: Option<u64>,
}

impl Acquire<'_> {
    /// Leaves the queue. Those behind it may come first now.
    fn leave(&mut self, state: &mut State) -> Vec<Waker> {
        if let Some(number) = self.number.take() {
            state.queue.retain(|one| one.number != number);
            if state.reserved_for == Some(number) {
                state.reserved_for = None;
                state.reserve();
            }
        }
        self.semaphore.wakers(state)
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let semaphore = self.semaphore;
        let mut state = semaphore.state();
        let may_take = semaphore.may_take(&state, self.permits, self.place, self.number);
        let result = match () {
            () if state.closed => Err(AcquireError(())),
            () if may_take => {
                state.permits -= self.permits;
                Ok(())
            }
            () => {
                let waker = Some(context.waker().clone());
                let number = self.number;
                if let Some(one) = state.queue.iter_mut().find(|one| Some(one.number) == number) {
                    one.waker = waker;
                } else {
                    let (number, permits, place) = (state.next, self.permits, self.place);
                    state.next += 1;
                    let waiting = Waiting { number, permits, place, waker };
                    match place {
                        Place::Front => state.queue.push_front(waiting),
                        _ => state.queue.push_back(waiting),
                    }
                    self.number = Some(number);
                    state.reserve();
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
