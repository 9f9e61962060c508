//! How many different numbers there were, in 16 KiB. Sketches of parts merge to that of the whole.

/// Registers of a sketch, as a power of two.
const BITS: u32 = 14;

/// How many different numbers there were, in 16 KiB: `HyperLogLog`, Flajolet, Fusy, Gandouet and
/// Meunier, `AofA` 2007.
///
/// Each number goes, by its first bits, to a register, which keeps the longest row of zeros after
/// them. The numbers must look random, as fingerprints do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    registers: Vec<u8>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { registers: vec![0; 1 << BITS] }
    }
}

impl Sketch {
    /// The standard error of the estimate: 1.04 divided by the root of the number of registers.
    pub const ERROR: f64 = 1.04 / 128.0;

    /// Takes note of a number.
    pub fn insert(&mut self, number: u64) {
        let register = (number >> (u64::BITS - BITS)) as usize;
        // The marker ends the row of zeros where the number does.
        let zeros = (number << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        let longest = &mut self.registers[register];
        *longest = (*longest).max(zeros);
    }

    /// Takes note of all numbers of another one.
    pub fn merge(&mut self, other: &Self) {
        for (own, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *own = (*own).max(*theirs);
        }
    }

    /// Its registers, to be stored.
    #[must_use]
    pub fn registers(&self) -> &[u8] {
        &self.registers
    }

    /// The sketch with these registers; none if there are not as many as a sketch has.
    #[must_use]
    pub fn from_registers(registers: &[u8]) -> Option<Self> {
        (registers.len() == 1 << BITS).then(|| Self { registers: registers.to_vec() })
    }

    /// About how many different numbers there were.
    #[must_use]
    pub fn estimate(&self) -> u64 {
        let registers = f64::from(1_u32 << BITS);
        let sum: f64 = self.registers.iter().map(|&zeros| 0.5_f64.powi(zeros.into())).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty: u32 = self.registers.iter().map(|&zeros| u32::from(zeros == 0)).sum();
        // Where most registers are empty, how many are says more.
        let estimate = if raw <= 2.5 * registers && empty > 0 {
            registers * (registers / f64::from(empty)).ln()
        } else {
            raw
        };
        #[expect(clippy::cast_sign_loss, reason = "it is a number of things")]
        let estimate = estimate.round() as u64;
        estimate
    }
}
