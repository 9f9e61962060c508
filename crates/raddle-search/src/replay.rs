//! One execution that is given in advance.
//!
//! Takes options as indexes. A schedule that was stored holds names instead; the engine resolves
//! those, and this is for indexes that never left the process or the binary. Where the list ends
//! before the execution does, option 0 is taken.
//!
//! Misses: all but one execution; it is not a search.
//! Overreports: nothing.

use raddle_engine::strategy::{
    Answer, Checkpoint, Finished, Plan, Point, Resumable, Strategy, Unsupported,
};
use raddle_trace::Covered;

use crate::state::{Reader, Writer};

const NAME: &str = "replay";

/// Runs one execution by a list of options.
#[derive(Clone, Debug)]
pub struct Replay {
    options: Vec<u32>,
    ended: bool,
}

impl Replay {
    /// The execution that begins with these options, as indexes at its decision points.
    #[must_use]
    pub fn new(options: Vec<u32>) -> Self {
        Self { options, ended: false }
    }
}

impl Strategy for Replay {
    fn begin(&mut self, plan: &mut Plan) -> bool {
        plan.prefix.clone_from(&self.options);
        !self.ended
    }

    fn decide(&mut self, _: &Point<'_>) -> Answer {
        Answer::Take(0)
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.ended = true;
    }

    fn covered(&self) -> Covered {
        Covered::Replay
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Replay {
    fn save(&mut self) -> Result<Checkpoint, Unsupported> {
        let mut writer = Writer::new(NAME);
        writer.number(u64::from(self.ended));
        writer.number(self.options.len() as u64);
        for &option in &self.options {
            writer.number(option.into());
        }
        Ok(writer.finish())
    }

    fn restore(&mut self, state: &Checkpoint) -> Result<(), Unsupported> {
        let mut reader = Reader::new(state, NAME)?;
        let ended = reader.flag()?;
        let length = reader.length()?;
        let options = (0..length).map(|_| reader.small()).collect::<Result<_, _>>()?;
        reader.finish()?;
        *self = Self { options, ended };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::toy::{self, Op, Toy};

    #[test]
    fn every_sampled_execution_replays_to_itself() {
        let toy = Toy::new(vec![
            vec![Op::Lock, Op::Value(3), Op::Unlock],
            vec![Op::Lock, Op::Unlock, Op::Yield],
            vec![Op::Step, Op::Value(2)],
        ]);
        let (mut random, mut plan) = (Random::new(1), Plan::default());
        for _ in 0..100 {
            let recorded = toy::execute(&mut random, &mut plan, &toy).unwrap();
            let options = recorded.decisions.iter().map(|taken| taken.option).collect();
            let mut replay = Replay::new(options);
            let replayed = toy::execute(&mut replay, &mut Plan::default(), &toy).unwrap();
            assert_eq!(replayed, recorded);
            assert_eq!(replay.covered(), Covered::Replay);
            assert!(toy::execute(&mut replay, &mut Plan::default(), &toy).is_none());
        }
    }

    #[test]
    fn the_first_option_is_taken_beyond_the_list() {
        let moves = toy::all(&mut Replay::new(vec![1]), &Toy::independent(&[2, 2]));
        assert_eq!(moves, [[(1, 0), (0, 0), (0, 0), (1, 0)]]);
    }

    #[test]
    fn a_restored_replay_has_the_same_list() {
        let toy = Toy::independent(&[2, 2]);
        let mut other = Replay::new(Vec::new());
        other.restore(&Replay::new(vec![1, 0, 1]).save().unwrap()).unwrap();
        assert_eq!(toy::all(&mut other, &toy), toy::all(&mut Replay::new(vec![1, 0, 1]), &toy));
    }
}
