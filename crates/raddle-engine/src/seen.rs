//! What a program did that a guarantee must speak of.

use raddle_trace::{Assumption, Gaps, Settings};

/// Things that the program did and that the guarantee must speak of. Over the whole search.
#[expect(clippy::struct_excessive_bools, reason = "a list of facts")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) timers: bool,
    /// A task yielded, or went on while nothing had changed for long, which counts as one.
    pub(crate) yielded: bool,
    /// A task that yielded had to wait for others to move.
    pub(crate) held_back: bool,
    /// A step counted as a yield, because nothing had changed for long.
    pub(crate) idle: bool,
    pub(crate) spurious: bool,
    pub(crate) unwound: bool,
    pub(crate) seeded: bool,
    /// A task waited because it had gone round in circles.
    pub(crate) waited: bool,
    /// Tasks did something without a step, and neither certainly before the other.
    pub(crate) unordered: bool,
}

impl Seen {
    /// What holds for what was covered, because of it.
    pub(crate) fn assumptions(self, settings: Settings) -> Vec<Assumption> {
        let mut assumptions = vec![Assumption::SequentialConsistency];
        if self.timers {
            assumptions.push(Assumption::Timeouts(settings.timeouts.into()));
        }
        if self.held_back {
            assumptions.push(Assumption::FairYields);
            if self.idle {
                assumptions.push(Assumption::FairSpins);
            }
        }
        if let Some(most) = settings.rounds.filter(|_| self.waited) {
            assumptions.push(Assumption::Rounds(most));
        }
        if self.spurious && !settings.spurious {
            assumptions.push(Assumption::NothingSpurious);
        }
        if self.unwound {
            assumptions.push(Assumption::UndividedUnwinding);
        }
        if self.seeded {
            assumptions.push(Assumption::SeededData);
        }
        if self.unordered {
            assumptions.push(Assumption::SendsWithoutSteps);
        }
        assumptions
    }

    fn all(&mut self) -> [(&'static str, &mut bool); 9] {
        let Self { timers, yielded, held_back, idle, spurious, unwound, seeded, waited, unordered } =
            self;
        [
            ("timers", timers),
            ("yielded", yielded),
            ("held-back", held_back),
            ("idle", idle),
            ("spurious", spurious),
            ("unwound", unwound),
            ("seeded", seeded),
            ("waited", waited),
            ("unordered", unordered),
        ]
    }

    /// What no reduction sees through, because of it.
    pub(crate) fn gaps(self) -> Gaps {
        Gaps { held_back: self.held_back, unordered: self.unordered, ..Gaps::default() }
    }

    /// Those that were seen.
    pub(crate) fn words(mut self) -> Vec<String> {
        let seen = self.all().into_iter().filter(|(_, seen)| **seen);
        seen.map(|(word, _)| word.to_owned()).collect()
    }

    /// Takes these to have been seen. `false` if there is no such word.
    pub(crate) fn take_over(&mut self, words: &[String]) -> bool {
        words.iter().all(|word| {
            let known = self.all().into_iter().find(|(known, _)| known == word);
            known.map(|(_, seen)| *seen = true).is_some()
        })
    }
}
