//! Counts distinct traces: how many different partial orders a search has run.
//!
//! An observer of any strategy. Exact up to a limit; beyond it the number is estimated by a
//! [`Sketch`], and the count says so. If the strategy draws every execution with the same chances
//! ([`Plan::memoryless`]), the traces that were seen exactly once tell how likely a new one is: Good,
//! Biometrika 1953.
//!
//! Executions that were cut or that a limit ended are not among the traces. A draw that a limit
//! ended counts as one that showed nothing new.
//!
//! Misses: a trace whose fingerprint is that of another. Among a million traces there is such a
//! pair with a chance of 3 in 10^8.
//! Overreports: nothing while exact; the estimates err both ways.
//!
//! # Why: Good–Turing after counting
//! The estimate speaks of the executions that were drawn with the chances that stay: all of `random` and `pos`, those
//! after the counting ones of `urw` and `surw`, none of `pct(d)`, which learns its length as it goes. A strategy says
//! so by `Plan::memoryless` when an execution begins.

use std::collections::BTreeSet;

use raddle_engine::happens::History;
use raddle_engine::observer::{Observer, ObserverNeeds};
use raddle_engine::strategy::{Checkpoint, Cut, Event, Finished, Plan, Resumable, Unsupported};
use raddle_trace::{Progress, TraceCount, Unseen};

use crate::state::{FOREIGN, Reader, Writer};

const NAME: &str = "traces";

/// Tells the executions of a search apart by their partial order.
///
/// ```
/// use raddle_search::TraceCounter;
///
/// let traces = TraceCounter::new(1_000_000);
/// // Given to the engine beside a strategy, it counts what that one explores.
/// assert_eq!(traces.count().to_string(), "0 distinct partial orders");
/// ```
#[derive(Debug)]
pub struct TraceCounter {
    history: History,
    counted: Counted,
    limit: usize,
    /// Whether the running execution is drawn with the chances that stay.
    drawing: bool,
}

/// What was counted.
#[derive(Debug, Default)]
struct Counted {
    /// Up to the limit; all are in the sketch.
    seen: BTreeSet<u64>,
    /// Those of `seen` that one execution showed, which was drawn as all after it.
    once: BTreeSet<u64>,
    sketch: Sketch,
    overflown: bool,
    repeated: u64,
    /// Executions that were drawn with the chances that stay.
    drawn: u64,
}

impl Counted {
    /// Numbers in order, each as what it is more than the one before; and of those that were seen once,
    /// how many others are between.
    fn save(&self, writer: &mut Writer) {
        writer.flag(self.overflown);
        writer.number(self.repeated);
        writer.number(self.drawn);
        writer.number(self.seen.len() as u64);
        let mut before = 0;
        for &trace in &self.seen {
            writer.number(trace - before);
            before = trace;
        }
        writer.number(self.once.len() as u64);
        let mut before = 0;
        for &trace in &self.once {
            writer.number(trace - before);
            before = trace;
        }
        // Else it has just what was seen.
        if self.overflown {
            writer.bytes(&self.sketch.registers);
        }
    }

    fn restore(reader: &mut Reader<'_>) -> Result<Self, Unsupported> {
        let overflown = reader.flag()?;
        let (repeated, drawn) = (reader.number()?, reader.number()?);
        let set = |reader: &mut Reader<'_>| {
            let (mut set, mut last) = (BTreeSet::new(), 0_u64);
            for _ in 0..reader.length()? {
                last = last.checked_add(reader.number()?).ok_or(FOREIGN)?;
                set.insert(last);
            }
            Ok(set)
        };
        let (seen, once) = (set(reader)?, set(reader)?);
        let mut sketch = Sketch::default();
        if overflown {
            let registers = reader.bytes()?;
            if registers.len() != sketch.registers.len() {
                return Err(FOREIGN);
            }
            sketch.registers.copy_from_slice(registers);
        } else {
            for trace in &seen {
                sketch.insert(*trace);
            }
        }
        if !once.is_subset(&seen) {
            return Err(FOREIGN);
        }
        Ok(Self { seen, once, sketch, overflown, repeated, drawn })
    }
}

impl TraceCounter {
    /// Counts up to `limit` traces one by one.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let (history, counted) = (History::default(), Counted::default());
        Self { history, counted, limit, drawing: false }
    }

    /// The fingerprints of the traces so far, of the first ones if there are too many. Executions
    /// that were cut are not among them.
    #[must_use]
    pub fn seen(&self) -> &BTreeSet<u64> {
        &self.counted.seen
    }

    /// Whether there were more than could be counted one by one.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.counted.overflown
    }

    /// Executions that showed a trace which had been seen before.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.counted.repeated
    }

    /// How many there are, and how likely a new one is.
    #[must_use]
    pub fn count(&self) -> TraceCount {
        let Counted { seen, once, sketch, overflown, drawn, .. } = &self.counted;
        if *overflown {
            let distinct = sketch.estimate();
            return TraceCount { distinct, exact: false, error: Sketch::ERROR, unseen: None };
        }
        let (once, executions) = (once.len() as u64, *drawn);
        let unseen = (executions > 0).then_some(Unseen { once, executions });
        TraceCount { distinct: seen.len() as u64, exact: true, error: 0.0, unseen }
    }

    fn note(&mut self, fingerprint: u64) {
        let Self { counted, limit, drawing, .. } = self;
        counted.sketch.insert(fingerprint);
        if counted.seen.contains(&fingerprint) {
            counted.repeated += 1;
            counted.once.remove(&fingerprint);
        } else if counted.seen.len() < *limit {
            counted.seen.insert(fingerprint);
            if *drawing {
                counted.once.insert(fingerprint);
            }
        } else {
            counted.overflown = true;
            counted.once.clear();
        }
    }
}

impl Observer for TraceCounter {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds { steps: true, ..ObserverNeeds::default() }
    }

    fn begin(&mut self, plan: &Plan) {
        self.history.begin(0);
        self.drawing = plan.memoryless;
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        self.history.hear(event);
    }

    fn end(&mut self, execution: &Finished<'_>) {
        self.counted.drawn += u64::from(self.drawing);
        let whole = !execution.outcome.is_cut_off();
        if execution.cut.is_none() && whole {
            self.note(self.history.fingerprint());
        }
    }

    fn add_to(&self, progress: &mut Progress) {
        progress.traces = Some(self.count());
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for TraceCounter {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(self.limit as u64);
        self.counted.save(&mut writer);
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        if reader.number()? != self.limit as u64 {
            return Err(FOREIGN);
        }
        let counted = Counted::restore(&mut reader)?;
        reader.finish()?;
        if counted.seen.len() > self.limit {
            return Err(FOREIGN);
        }
        (self.counted, self.drawing) = (counted, false);
        Ok(())
    }
}

/// Registers of a sketch, as a power of two.
const BITS: u32 = 14;

/// How many different numbers there were, in 16 KiB: `HyperLogLog`, Flajolet, Fusy, Gandouet and
/// Meunier, `AofA` 2007.
///
/// Each number goes, by its first bits, to a register, which keeps the longest row of zeros after
/// them. The numbers must look random, as fingerprints do.
#[derive(Clone, Debug)]
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

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::rng::Rng;
    use crate::toy::{self, Op, Toy};

    // Four deviations of 0.8 %.
    #[test]
    fn a_sketch_errs_by_little_at_every_size() {
        let mut rng = Rng::new(1);
        let mut sketch = Sketch::default();
        assert_eq!(sketch.estimate(), 0);
        let mut inserted = 0_u64;
        for size in [1, 100, 10_000, 40_000, 100_000, 1_000_000] {
            while inserted < size {
                let number = rng.next();
                sketch.insert(number);
                sketch.insert(number);
                inserted += 1;
            }
            let off = (sketch.estimate() as f64 - size as f64).abs() / size as f64;
            assert!(off < 4.0 * Sketch::ERROR, "{} for {size}", sketch.estimate());
        }
    }

    #[test]
    fn the_extreme_numbers_have_a_place_in_a_sketch() {
        let mut sketch = Sketch::default();
        sketch.insert(0);
        sketch.insert(u64::MAX);
        assert_eq!(sketch.registers[0], 51);
        assert_eq!(sketch.registers[(1 << BITS) - 1], 1);
    }

    /// The executions of a strategy that shows these traces.
    fn counted(traces: &[u64], limit: usize) -> TraceCount {
        let mut counted = TraceCounter::new(limit);
        for &trace in traces {
            counted.drawing = true;
            counted.counted.drawn += 1;
            counted.note(trace);
        }
        counted.count()
    }

    // Five executions: trace 7 three times, 8 and 9 once each. So 2 in 5 that the next is new.
    #[test]
    fn what_was_seen_once_tells_how_likely_something_new_is() {
        let count = counted(&[7, 8, 7, 9, 7], 10);
        let unseen = Some(Unseen { once: 2, executions: 5 });
        assert_eq!(count, TraceCount { distinct: 3, exact: true, error: 0.0, unseen });
        let unseen = Some(Unseen { once: 0, executions: 4 });
        assert_eq!(counted(&[7, 7, 8, 8], 10).unseen, unseen);
    }

    #[test]
    fn a_limit_that_is_just_reached_is_exact_and_one_more_is_not() {
        let mut rng = Rng::new(1);
        let [a, b, c, d] = [rng.next(), rng.next(), rng.next(), rng.next()];
        assert!(counted(&[a, b, c, c], 3).exact);
        let more = counted(&[a, b, c, d], 3);
        let error = Sketch::ERROR;
        assert_eq!(more, TraceCount { distinct: 4, exact: false, error, unseen: None });
    }

    // Two tasks write one object twice each: 6 traces, of which each shows with a chance of 1 in 8
    // to 1 in 4. After 200 executions all have been seen, and more than once.
    #[test]
    fn traces_of_a_program_are_counted_to_the_last() {
        let toy = Toy::new(vec![vec![Op::Write(0); 2]; 2]);
        let mut traces = TraceCounter::new(100);
        toy::observed(&mut Random::new(1), &mut [&mut traces], &toy, 200);
        let unseen = Some(Unseen { once: 0, executions: 200 });
        let all = TraceCount { distinct: 6, exact: true, error: 0.0, unseen };
        assert_eq!(traces.count(), all);
        assert_eq!(traces.repeated(), 194);
    }

    #[test]
    fn steps_that_do_not_meet_make_one_trace() {
        let mut traces = TraceCounter::new(100);
        let toy = Toy::independent(&[3, 3]);
        toy::observed(&mut Random::new(1), &mut [&mut traces], &toy, 50);
        assert_eq!(traces.count().distinct, 1);
    }

    // The estimate after n executions, averaged over seeds, against the part of the next n that is
    // new then: three tasks of two writes each to one object, 90 traces, far from all seen.
    #[test]
    fn the_estimate_is_near_what_comes_next() {
        let toy = Toy::new(vec![vec![Op::Write(0); 2]; 3]);
        let (mut estimated, mut found) = (0.0, 0.0);
        let seeds = 300;
        for seed in 0..seeds {
            let (mut random, mut traces) = (Random::new(seed), TraceCounter::new(1_000));
            toy::observed(&mut random, &mut [&mut traces], &toy, 60);
            let unseen = traces.count().unseen.unwrap();
            assert_eq!(unseen.executions, 60);
            estimated += unseen.chance();
            let before = traces.count().distinct;
            toy::observed(&mut random, &mut [&mut traces], &toy, 1);
            found += (traces.count().distinct - before) as f64;
        }
        let (estimated, found) = (estimated / seeds as f64, found / seeds as f64);
        assert!((estimated - found).abs() < 0.08, "{estimated} and {found}");
    }

    #[test]
    fn nothing_is_estimated_of_strategies_that_remember() {
        let toy = Toy::new(vec![vec![Op::Write(0); 2]; 2]);
        let mut traces = TraceCounter::new(100);
        toy::observed(&mut crate::pct::Pct::new(1, 3), &mut [&mut traces], &toy, 20);
        assert_eq!(traces.count().unseen, None);
        assert!(traces.count().distinct > 1);
    }
}
