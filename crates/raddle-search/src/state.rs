//! How strategies are saved: a name, a version, numbers, and a checksum over all of it.
//!
//! Numbers are LEB128, seven bits to a byte, lowest first: most are small and a saved search is
//! mostly numbers. The checksum is FNV-1a; it is there against mix-ups and torn files, not against
//! malice, so readers still check every number they use.

use raddle_engine::strategy::{Checkpoint, Unsupported};
pub(crate) use raddle_trace::hash::fnv1a as checksum;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of every state that this crate writes.
const VERSION: u64 = 6;

/// The refusal of a state that is damaged, or of another strategy.
pub(crate) const FOREIGN: Unsupported =
    Unsupported("go on from this state, which is damaged or not its own");

/// The refusal of a state whose form is that of another version.
pub(crate) const OUTDATED: Unsupported =
    Unsupported("go on from this state, which another version of raddle wrote; begin anew");

/// The refusal to be saved in the midst of an execution, by a strategy that cannot.
pub(crate) const RUNNING: Unsupported = Unsupported("be saved while an execution runs");

/// What was restored was of another program than the one that runs: to stand as a sentence.
pub(crate) const STRAYED: &str = "the first execution did not repeat what was saved, so the program is another \
     one, or does not do the same under the same decisions; begin anew";

/// A state as it is saved: the strategy's name, the version, the state in postcard's format, a checksum.
pub(crate) fn write(name: &str, state: &impl Serialize) -> Checkpoint {
    let state =
        postcard::to_allocvec(state).expect("saved states have no maps and no unsized parts");
    let mut writer = Writer::new(name);
    writer.bytes.extend_from_slice(&state);
    writer.finish()
}

/// Reads what [`write()`] made. Whether its numbers make sense together is for the reader to check.
pub(crate) fn read<T: DeserializeOwned>(name: &str, state: &Checkpoint) -> Result<T, Unsupported> {
    let left = Reader::new(state, name)?.left;
    match postcard::take_from_bytes(left) {
        Ok((state, [])) => Ok(state),
        _ => Err(FOREIGN),
    }
}

/// Writes a state.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins the state of the strategy with this name.
    pub(crate) fn new(name: &str) -> Self {
        let mut writer = Self { bytes: Vec::new() };
        writer.text(name);
        writer.number(VERSION);
        writer
    }

    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A number that is not negative: an estimate. Its last bits come first, so that round ones are
    /// short.
    pub(crate) fn real(&mut self, real: f64) {
        self.number(real.to_bits().reverse_bits());
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.number(flag.into());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn finish(mut self) -> Checkpoint {
        let sum = checksum(&self.bytes);
        self.bytes.extend_from_slice(&sum.to_le_bytes());
        Checkpoint(self.bytes)
    }
}

/// Reads a state that a [`Writer`] wrote.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Opens a state of the strategy with this name.
    pub(crate) fn new(state: &'a Checkpoint, name: &str) -> Result<Self, Unsupported> {
        let (left, sum) = state.0.split_last_chunk().ok_or(FOREIGN)?;
        let mut reader = Self { left };
        if u64::from_le_bytes(*sum) != checksum(left) {
            return Err(FOREIGN);
        }
        reader.expect_text(name)?;
        if reader.number()? == VERSION { Ok(reader) } else { Err(OUTDATED) }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Unsupported> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, left) = self.left.split_first().ok_or(FOREIGN)?;
            self.left = left;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(FOREIGN)
    }

    pub(crate) fn small(&mut self) -> Result<u32, Unsupported> {
        u32::try_from(self.number()?).map_err(|_| FOREIGN)
    }

    pub(crate) fn real(&mut self) -> Result<f64, Unsupported> {
        let real = f64::from_bits(self.number()?.reverse_bits());
        if real.is_finite() && real >= 0.0 { Ok(real) } else { Err(FOREIGN) }
    }

    /// A number of entries that follow, each of at least one byte: never more than there are.
    pub(crate) fn length(&mut self) -> Result<usize, Unsupported> {
        let length = usize::try_from(self.number()?).map_err(|_| FOREIGN)?;
        if length <= self.left.len() { Ok(length) } else { Err(FOREIGN) }
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Unsupported> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(FOREIGN),
        }
    }

    /// Refuses the state unless this text comes next.
    pub(crate) fn expect_text(&mut self, text: &str) -> Result<(), Unsupported> {
        if self.bytes()? == text.as_bytes() { Ok(()) } else { Err(FOREIGN) }
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Unsupported> {
        let length = self.length()?;
        let (found, left) = self.left.split_at(length);
        self.left = left;
        Ok(found)
    }

    /// Refuses the state if anything is left over.
    pub(crate) fn finish(self) -> Result<(), Unsupported> {
        if self.left.is_empty() { Ok(()) } else { Err(FOREIGN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Checkpoint {
        let mut writer = Writer::new("sample");
        for number in [0, 127, 128, u64::MAX] {
            writer.number(number);
        }
        writer.finish()
    }

    #[test]
    fn what_was_written_is_read() {
        let state = sample();
        let mut reader = Reader::new(&state, "sample").unwrap();
        let read: Vec<_> = (0..4).map(|_| reader.number().unwrap()).collect();
        assert_eq!(read, [0, 127, 128, u64::MAX]);
        reader.finish().unwrap();
    }

    #[test]
    fn a_state_of_another_strategy_is_refused() {
        assert_eq!(Reader::new(&sample(), "other").unwrap_err(), FOREIGN);
    }

    #[test]
    fn a_state_of_another_version_is_refused() {
        let mut writer = Writer { bytes: Vec::new() };
        writer.text("sample");
        writer.number(VERSION + 1);
        assert_eq!(Reader::new(&writer.finish(), "sample").unwrap_err(), OUTDATED);
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let state = sample();
        for cut in 0..state.0.len() {
            let short = Checkpoint(state.0[..cut].to_vec());
            assert!(Reader::new(&short, "sample").is_err(), "cut at {cut}");
        }
        for index in 0..state.0.len() {
            let mut bytes = state.0.clone();
            bytes[index] ^= 0x10;
            assert!(Reader::new(&Checkpoint(bytes), "sample").is_err(), "changed at {index}");
        }
    }

    #[test]
    fn a_refusal_is_a_sentence() {
        assert_eq!(
            FOREIGN.to_string(),
            "this strategy cannot go on from this state, which is damaged or not its own"
        );
    }
}
