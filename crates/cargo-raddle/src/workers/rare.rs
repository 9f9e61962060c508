//! What takes long is done rarely: at most a hundredth of the time goes into it.

use std::time::Duration;

/// What is done at most for one part in so many of the time, as checkpoints of one host are written.
const TIME_SHARE: u32 = 100;

/// When something that takes long may be done again. Times are those since some beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rare {
    not_before: Duration,
}

impl Rare {
    /// Whether it may be done now.
    pub(super) fn is_due(self, now: Duration) -> bool {
        now >= self.not_before
    }

    /// It was done from then until then.
    pub(super) fn was_done(&mut self, began: Duration, ended: Duration) {
        self.not_before = ended + TIME_SHARE * ended.saturating_sub(began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_at_most_a_hundredth_of_the_time_however_long_it_takes() {
        for takes in [1, 50, 7_000].map(Duration::from_millis) {
            let (mut rare, mut now, mut spent) = (Rare::default(), Duration::ZERO, Duration::ZERO);
            let mut times = 0;
            // Asked for every millisecond.
            while times < 4 {
                if rare.is_due(now) {
                    rare.was_done(now, now + takes);
                    (now, spent, times) = (now + takes, spent + takes, times + 1);
                }
                now += Duration::from_millis(1);
            }
            // Four times it, and a hundred times it after each of the first three.
            assert_eq!(now, takes * 4 + takes * 300 + Duration::from_millis(1));
            assert!(spent * 75 < now, "{spent:?} of {now:?}");
        }
    }

    #[test]
    fn what_takes_no_time_is_done_whenever_it_is_asked_for() {
        let (mut rare, now) = (Rare::default(), Duration::from_secs(3));
        rare.was_done(now, now);
        assert!(rare.is_due(now));
    }
}
