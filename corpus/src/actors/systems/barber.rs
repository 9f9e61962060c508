//! The sleeping barber: a barber who sleeps while there is no customer, a waiting room, customers.
//!
//! Dijkstra's problem, as actors. A customer comes to the waiting room. If the barber is asleep, the room has him
//! woken; if not, the customer waits, or leaves if all chairs are taken. A barber who has cut a customer's hair asks the
//! room for the next customer; if there is none, the room tells him to sleep. The barber is one of two behaviours:
//! asleep, and at work.
//!
//! What must hold: each behaviour gets only messages that it has a use for, and each customer leaves once.

use std::collections::VecDeque;

use raddle::actors::{Actor, Address, Context, System};

use super::{BEHAVIOUR, Subject, correct, route, wrong};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// A customer for whom the barber has to be woken does that on the way in, and not the room.
    ///
    /// Order: the room has told the barber to sleep, and the next customer is at the barber before he has heard
    /// it: he is still at work.
    CustomersWakeHim,
}

const PARAMETERS: [Parameter; 3] = [
    parameter("customers", 2, 1, 16),
    parameter("chairs", 1, 0, 16),
    parameter("hops to the chair", 0, 0, 64),
];

/// Two customers are the least that shows the bug.
pub const SUBJECT: Subject = Subject {
    name: "sleeping barber",
    line: "a barber who sleeps and works, a waiting room and customers",
    test: Test {
        correct: correct(
            "barber",
            "a sleeping barber",
            |system, size| run(system, Bug::None, size),
            &PARAMETERS,
            &[5, 2, 1],
        ),
        bugs: &[wrong(
            ("barber-customers-wake-him", "a customer wakes a barber who is not asleep yet"),
            BEHAVIOUR,
            |system, size| run(system, Bug::CustomersWakeHim, size),
            &PARAMETERS,
            &[2, 1, 2],
        )],
    },
};

#[derive(Clone, Debug, Hash)]
enum ToRoom {
    Enter(Address<ToCustomer>),
    /// The barber is ready for the next one.
    Next,
}

#[derive(Clone, Debug, Hash)]
enum ToBarber {
    /// Of one who is asleep: here is a customer.
    Wake(Address<ToCustomer>),
    /// Of one who is at work: the next one.
    Take(Address<ToCustomer>),
    /// Of one who is at work: there is no other.
    Sleep,
    /// To himself: the hair is cut.
    Finish,
}

#[derive(Clone, Debug, Hash)]
enum ToCustomer {
    /// The input.
    Go(Address<ToRoom>),
    /// The barber is asleep.
    WakeHim,
    Leave,
}

#[derive(Clone, Debug, Hash)]
struct Asleep {
    room: Address<ToRoom>,
}

#[derive(Clone, Debug, Hash)]
struct AtWork {
    room: Address<ToRoom>,
    customer: Option<Address<ToCustomer>>,
}

impl AtWork {
    fn begin(&mut self, customer: Address<ToCustomer>, cx: &mut Context<'_, ToBarber>) {
        self.customer = Some(customer);
        let me = cx.me().clone();
        cx.send(&me, ToBarber::Finish);
    }
}

impl Actor for Asleep {
    type Message = ToBarber;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToBarber, cx: &mut Context<'_, ToBarber>) {
        match message {
            ToBarber::Wake(customer) => {
                let mut at_work = AtWork { room: self.room.clone(), customer: None };
                at_work.begin(customer, cx);
                cx.become_(at_work);
            }
            other => cx.unhandled(&other),
        }
    }
}

impl Actor for AtWork {
    type Message = ToBarber;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToBarber, cx: &mut Context<'_, ToBarber>) {
        match message {
            ToBarber::Finish => {
                if let Some(customer) = self.customer.take() {
                    cx.send(&customer, ToCustomer::Leave);
                }
                cx.send(&self.room, ToRoom::Next);
            }
            ToBarber::Take(customer) => self.begin(customer, cx),
            ToBarber::Sleep => cx.become_(Asleep { room: self.room.clone() }),
            other @ ToBarber::Wake(_) => cx.unhandled(&other),
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Room {
    bug: Bug,
    barber: Option<Address<ToBarber>>,
    is_asleep: bool,
    chairs: usize,
    waiting: VecDeque<Address<ToCustomer>>,
}

impl Actor for Room {
    type Message = ToRoom;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, ToRoom>) {
        let room = cx.me().clone();
        self.barber = Some(cx.spawn_named("barber", Asleep { room }));
    }

    fn handle(&mut self, message: ToRoom, cx: &mut Context<'_, ToRoom>) {
        let Some(barber) = &self.barber else { unreachable!("the barber is there from the start") };
        match message {
            ToRoom::Enter(customer) if self.is_asleep => {
                self.is_asleep = false;
                match self.bug {
                    Bug::None => cx.send(barber, ToBarber::Wake(customer)),
                    Bug::CustomersWakeHim => cx.send(&customer, ToCustomer::WakeHim),
                }
            }
            ToRoom::Enter(customer) if self.waiting.len() == self.chairs => {
                cx.send(&customer, ToCustomer::Leave);
            }
            ToRoom::Enter(customer) => self.waiting.push_back(customer),
            ToRoom::Next => {
                if let Some(customer) = self.waiting.pop_front() {
                    cx.send(barber, ToBarber::Take(customer));
                } else {
                    self.is_asleep = true;
                    cx.send(barber, ToBarber::Sleep);
                }
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Customer {
    /// The way to the barber.
    barber: Address<ToBarber>,
    left: usize,
}

impl Actor for Customer {
    type Message = ToCustomer;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToCustomer, cx: &mut Context<'_, ToCustomer>) {
        let me = cx.me().clone();
        match message {
            ToCustomer::Go(room) => cx.send(&room, ToRoom::Enter(me)),
            ToCustomer::WakeHim => cx.send(&self.barber, ToBarber::Wake(me)),
            ToCustomer::Leave => self.left += 1,
        }
    }
}

fn run(system: &System, bug: Bug, size: &[usize]) {
    let &[customers, chairs, hops] = size else { unreachable!("three arguments") };
    let room = Room { bug, barber: None, is_asleep: true, chairs, waiting: VecDeque::new() };
    let room = system.spawn_named("waiting room", room);
    let barber = system.inspect(&room, |room: &Room| room.barber.clone());
    let barber = barber.expect("the barber is there from the start");
    let customer = |nth| {
        let customer = Customer { barber: route(system, hops, &barber), left: 0 };
        system.spawn_named(&format!("customer {nth}"), customer)
    };
    let all: Vec<_> = (0..customers).map(customer).collect();
    for customer in &all {
        system.send(customer, ToCustomer::Go(room.clone()));
    }
    system.handle_all();
    for customer in &all {
        let left = system.inspect(customer, |customer: &Customer| customer.left);
        assert_eq!(left, 1, "a customer has left {left} times");
    }
}
