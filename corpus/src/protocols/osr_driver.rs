//! A device driver of the kind of OSR's USB sample: requests, cancellation, power, and removal by surprise.
//!
//! The driver that Desai and others wrote in P ("P: Safe Asynchronous Event-Driven Programming", PLDI 2013) is a
//! state machine whose every event may come at a bad time; this has its shape. An application asks for reads,
//! and may cancel each. The driver has one transfer with the device at a time. The device completes it, or
//! cancels it when it is asked to before that: which of the two, the driver learns from the one answer that
//! there is to every transfer. When the power manager switches the device off, the driver takes back the
//! transfer and keeps the request for when the device is on again, unless the application has cancelled it
//! meanwhile. The device is removed at last, at any time; then all requests fail.
//!
//! What must hold: every request is completed, and once; transfers begin only while the device is on; and the
//! power manager is answered.

use std::collections::{BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System, Watch};

use super::{MONITOR, Protocol, UNHANDLED, program, queues};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, parameter};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Nothing.
    None,
    /// While it stops, the driver takes it that its transfer is cancelled.
    ///
    /// Order: the device completes the transfer before it is asked to cancel it, and the driver handles the
    /// order to switch off before it handles the completion.
    CompletedWhileStopping,
    /// While it stops, the driver keeps a request for later although the application has cancelled it.
    ///
    /// Order: the driver is to switch off while a transfer is under way; the application cancels that request;
    /// the device cancels the transfer; the request is completed as cancelled, and kept. It is completed a
    /// second time when the device is on again or removed.
    KeepsCancelled,
}

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many requests there are.
    pub requests: usize,
    /// How many times the device is switched off and on again at most.
    pub cycles: usize,
}

const PARAMETERS: [Parameter; 2] = [parameter("requests", 2, 1, 64), parameter("cycles", 2, 0, 64)];

const LARGE: [usize; 2] = [60, 20];

/// One request and one cycle are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "device driver",
    line: "requests, cancellation, power and removal by surprise",
    test: Test {
        correct: program("osr-driver", "requests, cancellation, power and removal by surprise")
            .two(|requests, cycles| run(Bug::None, requests, cycles), &PARAMETERS)
            .large(&LARGE),
        bugs: &[
            program("osr-driver-completed", "a transfer is completed while the driver stops")
                .two(
                    |requests, cycles| run(Bug::CompletedWhileStopping, requests, cycles),
                    &PARAMETERS,
                )
                .bug(Expected::Panic, UNHANDLED)
                .large(&LARGE),
            program("osr-driver-keeps-cancelled", "a request that is cancelled is kept for later")
                .two(|requests, cycles| run(Bug::KeepsCancelled, requests, cycles), &PARAMETERS)
                .bug(Expected::Panic, MONITOR)
                .large(&LARGE),
        ],
    },
};

fn run(bug: Bug, requests: usize, cycles: usize) {
    model(bug, Size { requests, cycles }).run();
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The device has answered.
    Success,
    /// The application did not want it any more.
    Cancelled,
    /// There is no device.
    Removed,
}

/// What all its actors are told.
#[derive(Clone, Debug, Hash)]
pub enum Message {
    /// To the application, from itself: go on.
    Next,
    /// To the device: who drives it. To the driver: who manages its power.
    Attach(Address<Message>),
    /// To the driver.
    Read {
        /// Which request.
        request: u32,
        /// Whose.
        application: Address<Message>,
    },
    /// To the driver: the application does not want it any more.
    Cancel {
        /// Which request.
        request: u32,
    },
    /// To the application.
    Completed {
        /// Which request.
        request: u32,
        /// How.
        status: Status,
    },
    /// To the driver: the device is on.
    PowerUp,
    /// To the driver: let go of the device, it is to be switched off.
    PowerDown,
    /// To the power manager: that is done.
    PowerDone,
    /// To the driver: there is no device any more.
    Removed,
    /// To the device.
    Transfer {
        /// For which request.
        request: u32,
    },
    /// To the device: if it is not completed.
    CancelTransfer {
        /// For which request.
        request: u32,
    },
    /// To the device, from itself: the data is there.
    Data {
        /// For which request.
        request: u32,
    },
    /// To the driver: the one answer to a transfer.
    TransferDone {
        /// For which request.
        request: u32,
        /// Completed, not cancelled.
        completed: bool,
    },
}

/// Asks for reads, and cancels some.
#[derive(Clone, Debug, Hash)]
pub struct Application {
    driver: Address<Message>,
    watch: Watch<Event>,
    requests: u32,
    asked: u32,
    /// The last one may still be cancelled.
    may_cancel: bool,
    completed: Vec<(u32, Status)>,
}

impl Application {
    /// What it has been told, in that order.
    #[must_use]
    pub fn completed(&self) -> &[(u32, Status)] {
        &self.completed
    }
}

impl Actor for Application {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        cx.send(&me, Message::Next);
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        let application = cx.me().clone();
        match message {
            Message::Next if self.may_cancel => {
                self.may_cancel = false;
                if cx.choose(2) == 1 {
                    cx.send(&self.driver, Message::Cancel { request: self.asked });
                }
                cx.send(&application, Message::Next);
            }
            Message::Next if self.asked < self.requests => {
                self.asked += 1;
                self.may_cancel = true;
                let request = self.asked;
                cx.observe(&self.watch, Event::Asked { request });
                cx.send(&application, Message::Next);
                cx.send(&self.driver, Message::Read { request, application });
            }
            Message::Next => {}
            Message::Completed { request, status } => self.completed.push((request, status)),
            other => cx.unhandled(&other),
        }
    }
}

/// Switches the device off and on, and removes it in the end.
#[derive(Clone, Debug, Hash)]
struct Power {
    driver: Address<Message>,
    cycles: u32,
    is_on: bool,
    is_removed: bool,
}

impl Actor for Power {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        self.is_on = true;
        let me = cx.me().clone();
        cx.send(&self.driver, Message::Attach(me));
        cx.send(&self.driver, Message::PowerUp);
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::PowerDone if self.is_removed => {}
            Message::PowerDone if !self.is_on => {
                self.is_on = true;
                cx.send(&self.driver, Message::PowerUp);
            }
            Message::PowerDone => {
                // Off and on, removed while it is on, or removed while it is switched off.
                let choice = if self.cycles == 0 { 1 } else { cx.choose(3) };
                if choice != 1 {
                    self.cycles -= 1;
                    self.is_on = false;
                    cx.send(&self.driver, Message::PowerDown);
                }
                if choice != 0 {
                    self.is_removed = true;
                    cx.send(&self.driver, Message::Removed);
                }
            }
            other => cx.unhandled(&other),
        }
    }
}

/// Answers every transfer once.
#[derive(Clone, Debug, Hash)]
struct Device {
    driver: Option<Address<Message>>,
    current: Option<u32>,
}

impl Device {
    fn answer(&mut self, request: u32, completed: bool, cx: &mut Context<'_, Message>) {
        // If not, it was answered before.
        if self.current == Some(request)
            && let Some(driver) = &self.driver
        {
            self.current = None;
            cx.send(driver, Message::TransferDone { request, completed });
        }
    }
}

impl Actor for Device {
    type Message = Message;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::Attach(driver) => self.driver = Some(driver),
            Message::Transfer { request } => {
                assert_eq!(self.current, None, "the device has one transfer at a time");
                self.current = Some(request);
                let me = cx.me().clone();
                cx.send(&me, Message::Data { request });
            }
            Message::Data { request } => self.answer(request, true, cx),
            Message::CancelTransfer { request } => self.answer(request, false, cx),
            other => cx.unhandled(&other),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Off,
    On,
    /// To be off when the transfer is answered.
    Stopping,
    Removed,
}

/// A transfer that is not answered.
#[derive(Clone, Copy, Debug, Hash)]
struct Transfer {
    request: u32,
    /// By the application.
    is_cancelled: bool,
}

/// The driver.
#[derive(Clone, Debug, Hash)]
pub struct Driver {
    bug: Bug,
    watch: Watch<Event>,
    device: Address<Message>,
    power: Option<Address<Message>>,
    application: Option<Address<Message>>,
    state: State,
    /// Requests that wait for a transfer.
    waiting: VecDeque<u32>,
    transfer: Option<Transfer>,
}

impl Driver {
    fn complete(&self, request: u32, status: Status, cx: &mut Context<'_, Message>) {
        cx.observe(&self.watch, Event::Completed { request });
        let application = self.application.as_ref().expect("it has asked");
        cx.send(application, Message::Completed { request, status });
    }

    fn power_done(&self, cx: &mut Context<'_, Message>) {
        cx.observe(&self.watch, Event::Power { is_on: self.state == State::On });
        cx.send(self.power.as_ref().expect("it has been told by it"), Message::PowerDone);
    }

    fn transfer_next(&mut self, cx: &mut Context<'_, Message>) {
        if self.state != State::On || self.transfer.is_some() {
            return;
        }
        let Some(request) = self.waiting.pop_front() else { return };
        self.transfer = Some(Transfer { request, is_cancelled: false });
        cx.observe(&self.watch, Event::Began);
        cx.send(&self.device, Message::Transfer { request });
    }

    fn cancel(&mut self, request: u32, cx: &mut Context<'_, Message>) {
        if let Some(at) = self.waiting.iter().position(|waiting| *waiting == request) {
            self.waiting.remove(at);
            self.complete(request, Status::Cancelled, cx);
        } else if let Some(transfer) = &mut self.transfer
            && transfer.request == request
        {
            transfer.is_cancelled = true;
            cx.send(&self.device, Message::CancelTransfer { request });
        }
        // If it is neither, it was completed before.
    }

    fn power_down(&mut self, cx: &mut Context<'_, Message>) {
        if let Some(Transfer { request, .. }) = self.transfer {
            self.state = State::Stopping;
            cx.send(&self.device, Message::CancelTransfer { request });
        } else {
            self.state = State::Off;
            self.power_done(cx);
        }
    }

    fn transfer_done(&mut self, completed: bool, cx: &mut Context<'_, Message>) {
        let Some(Transfer { request, is_cancelled }) = self.transfer.take() else { return };
        let is_stopping = self.state == State::Stopping;
        if completed {
            self.complete(request, Status::Success, cx);
        } else if is_cancelled {
            self.complete(request, Status::Cancelled, cx);
        }
        if !completed && (!is_cancelled || self.bug == Bug::KeepsCancelled && is_stopping) {
            self.waiting.push_front(request);
        }
        if is_stopping {
            self.state = State::Off;
            self.power_done(cx);
        }
        self.transfer_next(cx);
    }

    fn remove(&mut self, cx: &mut Context<'_, Message>) {
        let was_stopping = self.state == State::Stopping;
        self.state = State::Removed;
        // The answer to the transfer has nothing to say any more.
        let transfer = self.transfer.take().map(|transfer| transfer.request);
        for request in transfer.into_iter().chain(std::mem::take(&mut self.waiting)) {
            self.complete(request, Status::Removed, cx);
        }
        if was_stopping {
            self.power_done(cx);
        }
    }
}

impl Actor for Driver {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        let me = cx.me().clone();
        cx.send(&self.device, Message::Attach(me));
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match (self.state, message) {
            (State::Off, Message::Attach(power)) => self.power = Some(power),
            (state, Message::Read { request, application }) => {
                self.application = Some(application);
                if state == State::Removed {
                    self.complete(request, Status::Removed, cx);
                } else {
                    self.waiting.push_back(request);
                    self.transfer_next(cx);
                }
            }
            (_, Message::Cancel { request }) => self.cancel(request, cx),
            (State::Off, Message::PowerUp) => {
                self.state = State::On;
                self.power_done(cx);
                self.transfer_next(cx);
            }
            (State::On, Message::PowerDown) => self.power_down(cx),
            (State::Stopping, message @ Message::TransferDone { completed: true, .. })
                if self.bug == Bug::CompletedWhileStopping =>
            {
                cx.unhandled(&message)
            }
            (State::On | State::Stopping, Message::TransferDone { completed, .. }) => {
                self.transfer_done(completed, cx);
            }
            (State::Off | State::On | State::Stopping, Message::Removed) => self.remove(cx),
            (State::Removed, Message::TransferDone { .. }) => {}
            (_, other) => cx.unhandled(&other),
        }
    }
}

/// What the monitor is told.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A request is made.
    Asked {
        /// Which.
        request: u32,
    },
    /// A request is completed.
    Completed {
        /// Which.
        request: u32,
    },
    /// The power manager is answered.
    Power {
        /// The device is on.
        is_on: bool,
    },
    /// A transfer has begun.
    Began,
}

/// Every request is completed once, and transfers need power.
#[derive(Clone, Debug, Default, Hash)]
struct Once {
    open: BTreeSet<u32>,
    is_on: bool,
}

impl Monitor for Once {
    type Event = Event;
    raddle::actors::snapshots!(monitor);

    fn observe(&mut self, event: Event) {
        match event {
            Event::Asked { request } => {
                self.open.insert(request);
            }
            Event::Completed { request } => {
                let is_open = self.open.remove(&request);
                assert!(is_open, "request {request} is completed twice");
            }
            Event::Power { is_on } => self.is_on = is_on,
            Event::Began => assert!(self.is_on, "a transfer begins while the device is off"),
        }
    }

    fn is_hot(&self) -> bool {
        !self.open.is_empty()
    }
}

/// Where its actors are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Asks.
    pub application: Address<Message>,
    /// Is asked.
    pub driver: Address<Message>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let watch = system.monitor(Once::default());
    let device = system.spawn_named("device", Device { driver: None, current: None });
    let (power, application, transfer) = (None, None, None);
    let (state, waiting) = (State::Off, VecDeque::new());
    let driver = Driver { bug, watch, device, power, application, state, waiting, transfer };
    let driver = system.spawn_named("driver", driver);
    let cycles = size.cycles as u32;
    let power = Power { driver: driver.clone(), cycles, is_on: false, is_removed: false };
    system.spawn_named("power", power);
    let (requests, asked, may_cancel) = (size.requests as u32, 0, false);
    let (completed, driver) = (Vec::new(), driver);
    let application =
        Application { driver: driver.clone(), watch, requests, asked, may_cancel, completed };
    let application = system.spawn_named("application", application);
    Nodes { application, driver }
}

/// Whether every request was completed once.
#[must_use]
pub fn is_done(application: &Application) -> bool {
    let requests: BTreeSet<_> = application.completed.iter().map(|(request, _)| *request).collect();
    requests.len() == application.completed.len() && requests.len() == application.requests as usize
}

/// The system with what must hold of it.
#[must_use]
pub fn model(bug: Bug, size: Size) -> Model<Nodes> {
    queues(move |system| build(system, bug, size)).finally("every request is completed once", {
        |nodes, view| is_done(view.actor::<Application>(&nodes.application))
    })
}
