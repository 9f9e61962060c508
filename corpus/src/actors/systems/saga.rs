//! A saga: a journey is booked step by step at services of their own, and undone if one of them cannot.
//!
//! Garcia-Molina and Salem, "Sagas" (1987), with a coordinator. It asks every service to reserve, by a broker each. If
//! all have reserved, it confirms; if one refuses, it has all cancel, and what was reserved is undone. A service that is
//! told to cancel what it has not been asked for remembers that, and refuses it when it comes.
//!
//! What must hold: in the end all services have confirmed, or none has reserved anything.

use raddle::actors::{Actor, Address, Context, System};

use super::{ORDER, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A service forgets that it was told to cancel what it had not been asked for.
    ///
    /// Order: one service refuses, and the coordinator's cancellation is at another one before the broker's request.
    ForgetsCancellation,
    /// The coordinator takes it that it hears of reservations only as long as none was refused.
    ///
    /// Order: the refusal of one service is at the coordinator before the answer of another one.
    LateReservation,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("services", 2, 1, 16),
    parameter("hops to the one that refuses", 0, 0, 64),
    parameter("brokers", 1, 1, 64),
];

/// Two services, of which one refuses, are the least that shows every bug.
pub const SUBJECT: Subject = Subject {
    name: "saga",
    line: "a coordinator, services that reserve or refuse, and cancellations",
    test: Test {
        correct: correct(
            "saga",
            "a journey that is booked step by step, or undone",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[4, 4, 1],
        ),
        bugs: &[
            wrong(
                ("saga-forgets-cancellation", "a cancellation comes before what it cancels"),
                ORDER,
                |system, size| run(system, Bug::ForgetsCancellation, size),
                &PARAMETERS,
                &[2, 6, 1],
            ),
            wrong(
                ("saga-late-reservation", "a service has reserved when another has refused"),
                ORDER,
                |system, size| run(system, Bug::LateReservation, size),
                &PARAMETERS,
                &[2, 10, 1],
            ),
        ],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToCoordinator {
    /// The input: book a journey, by these ways to the services.
    Book {
        brokers: Vec<Address<ToService>>,
    },
    Reserved,
    Refused,
}

#[derive(Clone, Debug, Hash)]
enum ToService {
    Reserve { coordinator: Address<ToCoordinator> },
    Confirm,
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Open,
    Reserved,
    Confirmed,
    /// Undone, or told to cancel before it was asked.
    Cancelled,
}

#[derive(Clone, Debug, Hash)]
struct Service {
    bug: Bug,
    refuses: bool,
    state: State,
}

impl Actor for Service {
    type Message = ToService;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToService, cx: &mut Context<'_, ToService>) {
        match (message, self.state) {
            (ToService::Reserve { coordinator }, State::Open) if !self.refuses => {
                self.state = State::Reserved;
                cx.send(&coordinator, ToCoordinator::Reserved);
            }
            (ToService::Reserve { coordinator }, _) => {
                cx.send(&coordinator, ToCoordinator::Refused);
            }
            (ToService::Confirm, State::Reserved) => self.state = State::Confirmed,
            (ToService::Cancel, State::Open) if self.bug == Bug::ForgetsCancellation => {}
            (ToService::Cancel, _) => self.state = State::Cancelled,
            (ToService::Confirm, _) => cx.unhandled(&ToService::Confirm),
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Coordinator {
    bug: Bug,
    services: Vec<Address<ToService>>,
    reserved: usize,
    is_undone: bool,
}

impl Coordinator {
    fn tell_all(&self, message: &ToService, cx: &mut Context<'_, ToCoordinator>) {
        for service in &self.services {
            cx.send(service, message.clone());
        }
    }
}

impl Actor for Coordinator {
    type Message = ToCoordinator;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToCoordinator, cx: &mut Context<'_, ToCoordinator>) {
        match message {
            ToCoordinator::Book { brokers } => {
                for broker in &brokers {
                    let coordinator = cx.me().clone();
                    cx.send(broker, ToService::Reserve { coordinator });
                }
            }
            ToCoordinator::Reserved => {
                let is_expected = !self.is_undone || self.bug != Bug::LateReservation;
                assert!(is_expected, "a service reserves for a journey that is undone");
                self.reserved += 1;
                if self.reserved == self.services.len() {
                    self.tell_all(&ToService::Confirm, cx);
                }
            }
            // The first refusal undoes all.
            ToCoordinator::Refused => {
                if !std::mem::replace(&mut self.is_undone, true) {
                    self.tell_all(&ToService::Cancel, cx);
                }
            }
        }
    }
}

/// The first service refuses.
fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[n, refusing_hops, brokers] = size else { unreachable!("three arguments") };
    let service = |nth| {
        let service = Service { bug, refuses: nth == 0, state: State::Open };
        system.spawn_named(&format!("service {nth}"), service)
    };
    let services: Vec<_> = (0..n).map(service).collect();
    let coordinator =
        Coordinator { bug, services: services.clone(), reserved: 0, is_undone: false };
    let coordinator = system.spawn_named("coordinator", coordinator);
    let broker = |(nth, service): (usize, &Address<ToService>)| {
        route(system, if nth == 0 { brokers + refusing_hops } else { brokers }, service)
    };
    let brokers = services.iter().enumerate().map(broker).collect();
    system.send(&coordinator, ToCoordinator::Book { brokers });
    system.handle_all();
    let state = |service| system.inspect(service, |service: &Service| service.state);
    let states: Vec<_> = services.iter().map(state).collect();
    let is_left = |state: &State| matches!(state, State::Reserved | State::Confirmed);
    assert!(!states.iter().any(is_left), "a journey is booked in part: {states:?}");
}
