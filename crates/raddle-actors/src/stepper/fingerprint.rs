//! Fingerprints of the parts of a state.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::Stepper;
use crate::address::ActorId;
use crate::hash::{Fingerprint, ranked};
use crate::monitor::AnyMonitor;
use crate::snapshot::{SharedMessage, Snapshot};
use crate::turn::Payload;

impl Stepper {
    /// A message that is sent, with its hash.
    pub(super) fn share(
        &mut self,
        state: &Snapshot,
        to: ActorId,
        payload: Payload,
    ) -> Rc<SharedMessage> {
        let actor = &state.actors[to.index()].state.actor;
        let mut hasher = Fingerprint::new();
        if !actor.hash_message(&payload, &mut hasher) {
            self.refuse(format!(
                "{} or its messages cannot be copied: write raddle_actors::snapshots!(); in the \
                 `impl Actor` of {}",
                state.name(to.0),
                actor.type_name()
            ));
        }
        Rc::new(SharedMessage { payload, hash: hasher.finish() })
    }

    /// Hashes an actor that has changed, or is new.
    pub(super) fn rehash(&mut self, state: &mut Snapshot, at: usize) {
        let actor = &state.actors[at];
        let own = &actor.state;
        let mut hasher = Fingerprint::new();
        hasher.write_u64(own.path);
        hasher.write_u64(u64::from(own.made.actors) | (own.health as u64) << 32);
        hasher.write_usize(actor.timers.len());
        if self.timer_limit.is_some() {
            hasher.write_u32(own.fired);
        }
        if self.exact.clock {
            own.now.hash(&mut hasher);
        }
        for pending in &actor.timers {
            hasher.write_u64(pending.message.hash);
            if self.exact.clock {
                pending.due.hash(&mut hasher);
            }
            if self.exact.timers {
                hasher.write_u32(pending.number);
            }
        }
        let can = if self.exact.timers {
            hasher.write_u32(own.made.timers);
            own.actor.hash(&mut hasher)
        } else if own.made.timers > 0 {
            let pending = actor.timers.iter().map(|pending| pending.number).collect();
            ranked(pending, || own.actor.hash(&mut hasher))
        } else {
            own.actor.hash(&mut hasher)
        };
        let hash = hasher.finish();
        if !can {
            let (name, kind) = (state.name(at as u32), own.actor.type_name());
            self.refuse(format!(
                "{name} cannot be copied: write raddle_actors::snapshots!(); in the `impl Actor` \
                 of {kind}"
            ));
        }
        let actor = Rc::get_mut(&mut state.actors[at]).expect("it was made in this step");
        state.fingerprint = state.fingerprint.wrapping_sub(actor.hash).wrapping_add(hash);
        actor.hash = hash;
    }

    pub(super) fn hash_monitors(&mut self, monitors: &[Box<dyn AnyMonitor>]) -> u64 {
        let mut sum = 0u64;
        for (index, monitor) in monitors.iter().enumerate() {
            let mut hasher = Fingerprint::new();
            hasher.write_usize(index);
            if !monitor.hash(&mut hasher) {
                self.refuse(format!(
                    "the monitor {} cannot be copied: write \
                     raddle_actors::snapshots!(monitor); in its `impl Monitor`",
                    monitor.name()
                ));
            }
            sum = sum.wrapping_add(hasher.finish());
        }
        sum
    }
}
