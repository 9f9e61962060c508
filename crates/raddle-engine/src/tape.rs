//! The options of the running execution, where they outlive the process.
//!
//! A process that dies takes its search with it. If the caller lends memory that another process can
//! read afterwards, each option is left there as it is taken: two stores for each decision, and
//! nothing without such memory. Options are in order of creation, so their indexes mean the same in
//! the next process. The words are those of [`raddle_trace::host::page`].
//!
//! # Why: A fresh host goes the way again
//! After a death the search goes on in a fresh host, which runs again all that the one before had run since it last
//! kept a checkpoint, and is kept from the options that led to the death (`Tape::avoiding`): exact for every strategy,
//! since a search depends on its seed and the test alone, and as slow as the way there was long.

use std::sync::atomic::{AtomicU32, Ordering};

use raddle_trace::Death;
use raddle_trace::host::page;

/// Memory for the options of one search.
#[derive(Clone, Copy, Debug)]
pub struct Tape {
    words: &'static [AtomicU32],
    deaths: &'static [KnownDeath],
}

/// A way that ended a process: how, after which options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDeath {
    /// The options, all of them.
    pub options: Vec<u32>,
    /// How the process ended.
    pub death: Death,
}

/// Whether they are the same memory.
impl PartialEq for Tape {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.words, other.words)
    }
}

impl Eq for Tape {}

impl Tape {
    /// Keeps options in `words`. `None` if there is no room for any.
    ///
    /// ```
    /// use std::sync::atomic::AtomicU32;
    ///
    /// let words: &'static [AtomicU32] = Vec::leak((0..8).map(AtomicU32::new).collect());
    /// assert!(raddle_engine::Tape::new(words).is_some());
    /// assert!(raddle_engine::Tape::new(&[]).is_none());
    /// ```
    #[must_use]
    pub fn new(words: &'static [AtomicU32]) -> Option<Self> {
        if words.len() <= page::OPTIONS {
            return None;
        }
        words[page::EXECUTION].store(0, Ordering::Release);
        words[page::DECISIONS].store(0, Ordering::Release);
        words[0].store(page::MAGIC.to_le(), Ordering::Release);
        Some(Self { words, deaths: &[] })
    }

    /// Executions that go one of these ways are ended where the process would be. Kept for good.
    #[must_use]
    pub fn avoiding(self, deaths: Vec<KnownDeath>) -> Self {
        Self { deaths: deaths.leak(), ..self }
    }

    /// How the process would have ended that was not to.
    pub(crate) fn death(self) -> Death {
        let taken = u32::from_le(self.words[page::DECISIONS].load(Ordering::Relaxed)) as usize;
        let known = self.deaths.iter().find(|known| self.is_at(known, taken));
        known.map_or(Death::Exit { code: 0 }, |known| known.death.clone())
    }

    /// Whether so many options were taken, and these.
    fn is_at(self, known: &KnownDeath, taken: usize) -> bool {
        let word = |at: usize| {
            self.words
                .get(page::OPTIONS + at)
                .map(|word| u32::from_le(word.load(Ordering::Relaxed)))
        };
        known.options.len() == taken
            && known.options.iter().enumerate().rev().all(|(at, option)| word(at) == Some(*option))
    }

    /// An execution begins, with this setting.
    pub(crate) fn begin(self, rounds: Option<u32>) {
        let number = u32::from_le(self.words[page::EXECUTION].load(Ordering::Relaxed));
        self.words[page::DECISIONS].store(0, Ordering::Release);
        self.words[page::ROUNDS].store(rounds.unwrap_or(0).to_le(), Ordering::Release);
        self.words[page::EXECUTION].store(number.wrapping_add(1).to_le(), Ordering::Release);
    }

    /// The execution that begins next is one that was counted before.
    pub(crate) fn repeat(self) {
        let number = u32::from_le(self.words[page::EXECUTION].load(Ordering::Relaxed));
        self.words[page::EXECUTION].store(number.saturating_sub(1).to_le(), Ordering::Release);
    }

    /// The decision at `index` is `option`; whether it is known to end the process. Released before user code runs on, so that what is read
    /// after a crash is no later than what happened.
    #[inline]
    pub(crate) fn put(self, index: usize, option: u32) -> bool {
        if let Some(word) = self.words.get(page::OPTIONS + index) {
            word.store(option.to_le(), Ordering::Release);
        }
        self.words[page::DECISIONS].store((index as u32 + 1).to_le(), Ordering::Release);
        self.deaths.iter().any(|known| self.is_at(known, index + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_holds_the_last_execution_and_counts_what_does_not_fit() {
        let words: &'static [AtomicU32] = Vec::leak((0..7).map(AtomicU32::new).collect());
        let tape = Tape::new(words).expect("room");
        let read = || {
            let word = |word: &AtomicU32| word.load(Ordering::Relaxed).to_ne_bytes();
            page::read(&words.iter().flat_map(word).collect::<Vec<_>>())
        };
        tape.begin(None);
        assert!(!(0..3).any(|index| tape.put(index, 9)), "nothing is known to be deadly");
        tape.begin(None);
        tape.put(0, 2);
        tape.put(1, 1);
        assert_eq!(read(), Ok(page::Read { execution: 2, options: vec![2, 1], rounds: None }));
        assert!(!(0..4).any(|index| tape.put(index, 7)));
        assert!(read().is_err_and(|why| why.contains("4 decisions")));
    }
    #[test]
    fn a_way_that_ended_a_process_is_known_at_its_last_option() {
        let words: &'static [AtomicU32] = Vec::leak((0..9).map(AtomicU32::new).collect());
        let known = |options: &[u32], code| KnownDeath {
            options: options.into(),
            death: Death::Exit { code },
        };
        let ways = vec![known(&[1, 0], 1), known(&[1, 1, 2], 2)];
        let tape = Tape::new(words).expect("room").avoiding(ways);
        let walk = |options: &[u32]| {
            tape.begin(None);
            options.iter().enumerate().position(|(index, option)| tape.put(index, *option))
        };
        assert_eq!(walk(&[1, 0]), Some(1));
        assert_eq!(tape.death(), Death::Exit { code: 1 });
        assert_eq!(walk(&[1, 1, 2]), Some(2));
        assert_eq!(tape.death(), Death::Exit { code: 2 });
        assert_eq!(walk(&[1, 1, 0]), None);
        assert_eq!(walk(&[0, 1, 2]), None);
    }
}
