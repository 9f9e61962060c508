//! `std::time`, on virtual time inside an execution.
//!
//! Virtual time stands still while tasks compute. It advances when a timeout or a sleep ends, to
//! that deadline; and when a task reads the clock again although nothing has changed since it last
//! did, by steps that double, so that a loop which waits for a deadline ends. Reading the clock is
//! a step. By default a timeout may end whenever it is pending, before or after anything else that
//! can happen, as a loaded machine would have it: deadlines do not order timeouts. Other
//! settings let timeouts end only when no task can move, the earliest deadline first, or never; a sleep ends with
//! any of them.
//!
//! Outside an execution time is real. The two do not mix: what compares them panics.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time as real;
pub use std::time::{Duration, SystemTimeError, TryFromFloatSecsError};

use raddle_engine::rt;

/// How long the virtual machine has been up when an execution begins, so that a program can look
/// back a little: a year.
const UPTIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

const MIXED: &str = "raddle: a time from inside an execution and one from outside cannot be \
                     compared: one is virtual, the other real. Read both clocks inside the \
                     closure that raddle runs";

/// Like [`std::time::Instant`].
#[derive(Clone, Copy)]
pub struct Instant(At);

#[derive(Clone, Copy)]
enum At {
    /// Since the virtual machine was started.
    Virtual(Duration),
    Real(real::Instant),
}

impl Instant {
    /// The time.
    #[must_use]
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "outside an execution time is real")]
    pub fn now() -> Self {
        Self(if rt::inside() {
            At::Virtual(UPTIME + rt::now())
        } else {
            At::Real(real::Instant::now())
        })
    }

    /// The time from `earlier` to this; zero if it is later.
    ///
    /// # Panics
    /// If one is virtual and the other real.
    #[must_use]
    #[track_caller]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// The time from `earlier` to this; none if it is later.
    ///
    /// # Panics
    /// If one is virtual and the other real.
    #[must_use]
    #[track_caller]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        match (self.0, earlier.0) {
            (At::Virtual(this), At::Virtual(earlier)) => this.checked_sub(earlier),
            (At::Real(this), At::Real(earlier)) => this.checked_duration_since(earlier),
            _ => panic!("{MIXED}"),
        }
    }

    /// The time from `earlier` to this; zero if it is later.
    ///
    /// # Panics
    /// If one is virtual and the other real.
    #[must_use]
    #[track_caller]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// The time from this to now.
    ///
    /// # Panics
    /// If this is virtual and the clock is real, or the other way round.
    #[must_use]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// This and `duration`, if such a time can be told.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        Some(Self(match self.0 {
            At::Virtual(this) => At::Virtual(this.checked_add(duration)?),
            At::Real(this) => At::Real(this.checked_add(duration)?),
        }))
    }

    /// This less `duration`, if such a time can be told.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        Some(Self(match self.0 {
            At::Virtual(this) => At::Virtual(this.checked_sub(duration)?),
            At::Real(this) => At::Real(this.checked_sub(duration)?),
        }))
    }
}

impl PartialEq for Instant {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Instant {}

impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            At::Virtual(this) => this.hash(state),
            At::Real(this) => this.hash(state),
        }
    }
}

impl PartialOrd for Instant {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    #[track_caller]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.0, &other.0) {
            (At::Virtual(this), At::Virtual(other)) => this.cmp(other),
            (At::Real(this), At::Real(other)) => this.cmp(other),
            _ => panic!("{MIXED}"),
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    #[track_caller]
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    #[track_caller]
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    #[track_caller]
    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            At::Virtual(this) => f.debug_tuple("Instant").field(this).finish(),
            At::Real(this) => this.fmt(f),
        }
    }
}

/// Like [`std::time::SystemTime`]. Inside an execution it begins at [`UNIX_EPOCH`].
#[derive(Clone, Copy)]
pub struct SystemTime {
    at: real::SystemTime,
    clock: Clock,
}

/// Which clock a system time was read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// None: it comes from [`UNIX_EPOCH`], and fits both.
    Neither,
    Virtual,
    Real,
}

/// Like [`std::time::UNIX_EPOCH`].
pub const UNIX_EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

impl SystemTime {
    /// Like [`std::time::SystemTime::UNIX_EPOCH`].
    pub const UNIX_EPOCH: Self = Self { at: real::UNIX_EPOCH, clock: Clock::Neither };

    /// The time.
    #[must_use]
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "outside an execution time is real")]
    pub fn now() -> Self {
        if rt::inside() {
            Self { at: real::UNIX_EPOCH + rt::now(), clock: Clock::Virtual }
        } else {
            Self { at: real::SystemTime::now(), clock: Clock::Real }
        }
    }

    /// Both, if their clocks can be compared.
    #[track_caller]
    fn both(&self, other: &Self) -> (real::SystemTime, real::SystemTime) {
        let mixed = self.clock != other.clock
            && self.clock != Clock::Neither
            && other.clock != Clock::Neither;
        assert!(!mixed, "{MIXED}");
        (self.at, other.at)
    }

    /// The time from `earlier` to this.
    ///
    /// # Errors
    /// If `earlier` is later.
    ///
    /// # Panics
    /// If one is virtual and the other real.
    #[track_caller]
    pub fn duration_since(&self, earlier: Self) -> Result<Duration, SystemTimeError> {
        let (this, earlier) = self.both(&earlier);
        this.duration_since(earlier)
    }

    /// The time from this to now.
    ///
    /// # Errors
    /// If this is later.
    ///
    /// # Panics
    /// If this is virtual and the clock is real, or the other way round.
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        Self::now().duration_since(*self)
    }

    /// This and `duration`, if such a time can be told.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        Some(Self { at: self.at.checked_add(duration)?, clock: self.clock })
    }

    /// This less `duration`, if such a time can be told.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        Some(Self { at: self.at.checked_sub(duration)?, clock: self.clock })
    }
}

impl PartialEq for SystemTime {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        let (this, other) = self.both(other);
        this == other
    }
}

impl Eq for SystemTime {}

impl Hash for SystemTime {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
    }
}

impl PartialOrd for SystemTime {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SystemTime {
    #[track_caller]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (this, other) = self.both(other);
        this.cmp(&other)
    }
}

impl Add<Duration> for SystemTime {
    type Output = Self;

    #[track_caller]
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for SystemTime {
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for SystemTime {
    type Output = Self;

    #[track_caller]
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for SystemTime {
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl fmt::Debug for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.at.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Instant {
        Instant(At::Virtual(SECOND * seconds as u32))
    }

    #[test]
    fn virtual_instants_add_and_compare() {
        assert!(at(1) < at(2));
        assert_eq!(at(1) + SECOND, at(2));
        assert_eq!(at(3) - SECOND, at(2));
        assert_eq!(at(3) - at(1), 2 * SECOND);
        assert_eq!(at(1) - at(3), Duration::ZERO);
        assert_eq!(at(1).checked_duration_since(at(3)), None);
        assert_eq!(at(1).checked_sub(2 * SECOND), None);
        assert_eq!(at(1).checked_add(Duration::MAX), None);
    }

    #[test]
    #[should_panic(expected = "one is virtual, the other real")]
    fn virtual_and_real_instants_do_not_mix() {
        let _ = Instant::now() < at(1);
    }

    #[test]
    #[should_panic(expected = "one is virtual, the other real")]
    fn virtual_and_real_system_times_do_not_mix() {
        let then = SystemTime { at: real::UNIX_EPOCH, clock: Clock::Virtual };
        let _ = SystemTime::now().duration_since(then);
    }

    #[test]
    fn the_epoch_fits_both_clocks() {
        let then = SystemTime { at: real::UNIX_EPOCH + SECOND, clock: Clock::Virtual };
        assert_eq!(then.duration_since(UNIX_EPOCH).ok(), Some(SECOND));
        assert!(SystemTime::now() > UNIX_EPOCH);
        assert_eq!(UNIX_EPOCH + SECOND, then);
    }
}
