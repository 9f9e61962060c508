//! The protocols' states under raddle.

use std::hash::{Hash, Hasher};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use peer::protocols::{Out, Protocol};
use peer::{Counted, Frontier, Network, StateSearch};
use raddle_actors::{Actor, Address, Context, Mailboxes, Model, States, Stopped};
use raddle_engine::explorer::Explorer;

fn main() -> ExitCode {
    peer::states_main("raddle", &Raddle)
}

/// What arrives.
#[derive(Clone, Debug, Hash)]
enum Packet<M> {
    From(u8, M),
    Timeout,
}

type Addresses<P> = Vec<Address<Packet<<P as Protocol>::Message>>>;

/// One actor of a protocol.
#[derive(Clone)]
struct Member<P: Protocol> {
    protocol: P,
    me: u8,
    /// None until it starts.
    state: Option<P::State>,
    /// Those that were there when it started.
    earlier: Arc<Addresses<P>>,
    /// All, once all are there.
    all: Arc<OnceLock<Addresses<P>>>,
}

impl<P: Protocol> Hash for Member<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.state.hash(state);
    }
}

impl<P: Protocol> Member<P> {
    fn state(&self) -> &P::State {
        self.state.as_ref().expect("it has started")
    }

    fn carry_out(&self, out: Out<P::Message>, cx: &mut Context<'_, Packet<P::Message>>) {
        let addresses = self.all.get().unwrap_or(&self.earlier);
        for (to, message) in out.sends {
            cx.send(&addresses[usize::from(to)], Packet::From(self.me, message));
        }
        if out.timer {
            cx.set_timer(Duration::from_secs(1), Packet::Timeout);
        }
    }
}

impl<P: Protocol> Actor for Member<P> {
    type Message = Packet<P::Message>;
    raddle_actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Self::Message>) {
        let mut out = Out::default();
        self.state = Some(self.protocol.start(self.me, &mut out));
        self.carry_out(out, cx);
    }

    fn handle(&mut self, packet: Self::Message, cx: &mut Context<'_, Self::Message>) {
        let mut out = Out::default();
        let state = self.state.as_mut().expect("it has started");
        match packet {
            Packet::From(from, message) => {
                self.protocol.hear(self.me, state, from, message, &mut out);
            }
            Packet::Timeout => self.protocol.timeout(self.me, state, &mut out),
        }
        self.carry_out(out, cx);
    }
}

fn round_robin() -> Explorer {
    Explorer::new("rr", raddle_search::explorers::QueueOfProcesses::default())
}

fn run_to_completion() -> Explorer {
    Explorer::new("rtc", raddle_search::explorers::RunToCompletion::default())
}

/// What a search may hold that keeps pairs of a program's and an explorer's state.
const EXACT_BYTES: usize = 1 << 30;

struct Raddle;

impl StateSearch for Raddle {
    fn search<P: Protocol>(
        &self,
        protocol: P,
        network: Network,
        frontier: Frontier,
    ) -> Result<Counted, String> {
        let model = Model::new(move |system| {
            let all = Arc::new(OnceLock::new());
            let mut addresses: Addresses<P> = Vec::new();
            for me in 0..protocol.actors() {
                let earlier = Arc::new(addresses.clone());
                let all = Arc::clone(&all);
                let member = Member { protocol, me, state: None, earlier, all };
                addresses.push(system.spawn(member));
            }
            all.set(addresses.clone()).expect("it is set once");
            addresses
        })
        .mailboxes(match network {
            Network::Unordered => Mailboxes::Unordered,
            Network::Ordered => Mailboxes::Pairs,
        })
        .invariant("safe", move |all, view| {
            protocol.is_safe(|actor| view.actor::<Member<P>>(&all[usize::from(actor)]).state())
        })
        .sometimes("done", move |all, view| {
            protocol.is_done(|actor| view.actor::<Member<P>>(&all[usize::from(actor)]).state())
        });
        let states = match frontier {
            Frontier::Bfs => States::breadth_first(),
            Frontier::Dfs => States::depth_first(),
            Frontier::BfsTwoThreads => States::breadth_first().threads(2),
            Frontier::Strata => States::strata(round_robin()),
            Frontier::StrataTwoThreads => States::strata(round_robin()).threads(2),
            Frontier::StrataRtc => States::strata(run_to_completion()),
            Frontier::StrataExact => States::strata(round_robin()).exact().bytes(EXACT_BYTES),
        };
        let searched = model.search(&states).map_err(|why| why.to_string())?;
        let stopped = match searched.stopped {
            _ if !searched.is_pass() => return Err(searched.to_string()),
            Stopped::Covered => None,
            // There are many more pairs than states.
            Stopped::Bytes if frontier == Frontier::StrataExact => Some("bytes"),
            _ => return Err(searched.to_string()),
        };
        let seen_bytes = Some(searched.seen_bytes as u64);
        Ok(Counted { unique: searched.unique, states: searched.states, seen_bytes, stopped })
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use peer::protocols::{PingPong, SingleCopy, TwoPhaseCommit};

    use super::*;

    #[track_caller]
    fn states<P: Protocol>(protocol: P, network: Network, expected: u64) {
        for frontier in Frontier::value_variants() {
            let frontier = *frontier;
            let counted = Raddle.search(protocol, network, frontier).expect("it is safe");
            if frontier == Frontier::StrataExact {
                // A state counts once for each state of the explorer in which it is met.
                assert!(counted.unique >= expected, "{protocol:?}");
            } else {
                assert_eq!(counted.unique, expected, "{protocol:?} {frontier:?}");
            }
        }
    }

    #[test]
    fn pairs_multiply() {
        for (pairs, throws) in [(1, 7), (2, 5), (3, 4)] {
            let expected = u64::from(throws + 1).pow(pairs.into());
            states(PingPong { pairs, throws }, Network::Unordered, expected);
            states(PingPong { pairs, throws }, Network::Ordered, expected);
        }
    }

    #[test]
    fn one_client_is_a_chain() {
        // Put, its answer, get and its answer on their way, and the end.
        states(SingleCopy { clients: 1 }, Network::Unordered, 5);
    }

    #[test]
    fn one_participant_can_be_counted_by_hand() {
        // Waiting: the request or the answer is on its way, 2. Committed: that is on its way or has
        // arrived, and the timer has fired or not, 4. Given up, with the participant and what is on its
        // way: working, request and abort; ready, answer and abort; ready, abort; aborted, request;
        // aborted, answer; aborted, nothing: 6. In order the request is not overtaken by the abort.
        let protocol = TwoPhaseCommit { participants: 1 };
        states(protocol, Network::Unordered, 2 + 4 + 6);
        states(protocol, Network::Ordered, 2 + 4 + 5);
    }
}
