//! The protocols' states under stateright.
//!
//! stateright leaves a message where it is if its handler neither changes anything nor sends: here each
//! handler takes its state for writing, so that a message which is handled is gone, as with raddle.

use std::borrow::Cow;
use std::process::ExitCode;
use std::time::Duration;

use peer::protocols::{self, Protocol};
use peer::{Counted, Frontier, StateSearch};
use stateright::actor::{Actor, ActorModel, Id, Network, Out};
use stateright::{Checker, Expectation, Model};

fn main() -> ExitCode {
    peer::states_main("stateright", &Stateright)
}

/// One actor of a protocol.
#[derive(Clone)]
struct Member<P>(P);

impl<P: Protocol> Member<P> {
    fn carry_out(done: protocols::Out<P::Message>, out: &mut Out<Self>) {
        for (to, message) in done.sends {
            out.send(Id::from(usize::from(to)), message);
        }
        if done.timer {
            out.set_timer((), Duration::from_secs(1)..Duration::from_secs(1));
        }
    }
}

fn number(id: Id) -> u8 {
    usize::from(id) as u8
}

impl<P: Protocol> Actor for Member<P> {
    type Msg = P::Message;
    type State = P::State;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, id: Id, _: &Option<()>, out: &mut Out<Self>) -> P::State {
        let mut done = protocols::Out::default();
        let state = self.0.start(number(id), &mut done);
        Self::carry_out(done, out);
        state
    }

    fn on_msg(
        &self,
        id: Id,
        state: &mut Cow<P::State>,
        from: Id,
        message: P::Message,
        out: &mut Out<Self>,
    ) {
        let mut done = protocols::Out::default();
        self.0.hear(number(id), state.to_mut(), number(from), message, &mut done);
        Self::carry_out(done, out);
    }

    fn on_timeout(&self, id: Id, state: &mut Cow<P::State>, (): &(), out: &mut Out<Self>) {
        let mut done = protocols::Out::default();
        self.0.timeout(number(id), state.to_mut(), &mut done);
        Self::carry_out(done, out);
    }
}

struct Stateright;

impl StateSearch for Stateright {
    fn search<P: Protocol>(
        &self,
        protocol: P,
        network: peer::Network,
        frontier: Frontier,
    ) -> Result<Counted, String> {
        let model = ActorModel::<Member<P>, P, ()>::new(protocol, ())
            .actors((0..protocol.actors()).map(|_| Member(protocol)))
            .init_network(match network {
                peer::Network::Unordered => Network::new_unordered_nonduplicating([]),
                peer::Network::Ordered => Network::new_ordered([]),
            })
            .property(Expectation::Always, "safe", |model, state| {
                model.cfg.is_safe(|actor| &*state.actor_states[usize::from(actor)])
            })
            .property(Expectation::Sometimes, "done", |model, state| {
                model.cfg.is_done(|actor| &*state.actor_states[usize::from(actor)])
            });
        let checker = model.checker().threads(1);
        match frontier {
            Frontier::Bfs => counted(checker.spawn_bfs().join()),
            Frontier::Dfs => counted(checker.spawn_dfs().join()),
            other => Err(format!("{other:?} is not compared")),
        }
    }
}

fn counted<M: Model>(checker: impl Checker<M>) -> Result<Counted, String>
where
    M::State: std::fmt::Debug + std::hash::Hash + Clone + PartialEq,
    M::Action: std::fmt::Debug + Clone + PartialEq,
{
    if checker.discovery("safe").is_some() || checker.discovery("done").is_none() {
        return Err("the protocol is not as it should be".to_owned());
    }
    Ok(Counted {
        unique: checker.unique_state_count() as u64,
        states: checker.state_count() as u64,
        seen_bytes: None,
        stopped: None,
    })
}
