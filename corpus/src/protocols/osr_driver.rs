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
//! Of several devices, each with its driver, the application asks one after another, and the power manager chooses one
//! that it switches off, on and removes; the others stay on.
//!
//! What must hold: every request is completed, and once; transfers begin only while the device is on; and the
//! power manager is answered.

use std::collections::{BTreeSet, VecDeque};

use raddle::actors::{Actor, Address, Context, Model, Monitor, System};

use super::witness::Witness;
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
    /// How many devices there are, each with its driver.
    pub devices: usize,
    /// How many steps of its own the power manager takes before it chooses.
    pub pause: usize,
}

const PARAMETERS: [Parameter; 4] = [
    parameter("requests", 2, 1, 64),
    parameter("cycles", 2, 0, 64),
    parameter("devices", 1, 1, 64),
    parameter("pause", 0, 0, 1_000),
];

const LARGE: [usize; 4] = [64, 1, 32, 20];

/// One request and one cycle are the least that shows every bug.
pub const PROTOCOL: Protocol = Protocol {
    name: "device driver",
    line: "requests, cancellation, power and removal by surprise",
    produce,
    test: Test {
        correct: program("osr-driver", "requests, cancellation, power and removal by surprise")
            .many(|size| sized(Bug::None, size).run(), &PARAMETERS)
            .states(|size, visit| visit.model(&sized(Bug::None, size)))
            .large(&LARGE),
        bugs: &[
            program("osr-driver-completed", "a transfer is completed while the driver stops")
                .many(|size| sized(Bug::CompletedWhileStopping, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::CompletedWhileStopping, size)))
                .bug(Expected::Panic, UNHANDLED)
                .large(&[64, 1, 64, 20]),
            program("osr-driver-keeps-cancelled", "a request that is cancelled is kept for later")
                .many(|size| sized(Bug::KeepsCancelled, size).run(), &PARAMETERS)
                .states(|size, visit| visit.model(&sized(Bug::KeepsCancelled, size)))
                .bug(Expected::Panic, MONITOR)
                .large(&[64, 1, 64, 20]),
        ],
    },
};

fn sized(bug: Bug, size: &[usize]) -> Model<Nodes> {
    let &[requests, cycles, devices, pause] = size else { unreachable!("four arguments") };
    model(bug, Size { requests, cycles, devices, pause })
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
    /// To the application or the power manager, from itself: go on.
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
    /// Asked one after another.
    drivers: Vec<Address<Message>>,
    watch: Witness<Event>,
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

    /// Of the last request.
    fn driver(&self) -> &Address<Message> {
        &self.drivers[(self.asked as usize - 1) % self.drivers.len()]
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
                    cx.send(self.driver(), Message::Cancel { request: self.asked });
                }
                cx.send(&application, Message::Next);
            }
            Message::Next if self.asked < self.requests => {
                self.asked += 1;
                self.may_cancel = true;
                let request = self.asked;
                self.watch.tell(Event::Asked { request }, cx);
                cx.send(&application, Message::Next);
                cx.send(self.driver(), Message::Read { request, application });
            }
            Message::Next => {}
            Message::Completed { request, status } => self.completed.push((request, status)),
            other => cx.unhandled(&other),
        }
    }
}

/// Switches all devices on; then one of them off and on, and removes it in the end.
#[derive(Clone, Debug, Hash)]
struct Power {
    drivers: Vec<Address<Message>>,
    /// How many have not answered that they are on.
    starting: usize,
    /// The one that it has chosen.
    chosen: usize,
    cycles: u32,
    pause: u32,
    is_on: bool,
    is_removed: bool,
}

impl Power {
    fn driver(&self) -> &Address<Message> {
        &self.drivers[self.chosen]
    }
}

impl Actor for Power {
    type Message = Message;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, Message>) {
        self.is_on = true;
        let me = cx.me().clone();
        for driver in &self.drivers {
            cx.send(driver, Message::Attach(me.clone()));
            cx.send(driver, Message::PowerUp);
        }
    }

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Message>) {
        match message {
            Message::PowerDone if self.starting > 1 => self.starting -= 1,
            Message::PowerDone | Message::Next if self.pause > 0 => {
                self.pause -= 1;
                let me = cx.me().clone();
                cx.send(&me, Message::Next);
            }
            Message::PowerDone if self.is_removed => {}
            Message::PowerDone if !self.is_on => {
                self.is_on = true;
                cx.send(self.driver(), Message::PowerUp);
            }
            Message::PowerDone | Message::Next => {
                if std::mem::take(&mut self.starting) > 0 {
                    self.chosen = cx.choose(self.drivers.len() as u32) as usize;
                }
                // Off and on, removed while it is on, or removed while it is switched off.
                let choice = if self.cycles == 0 { 1 } else { cx.choose(3) };
                if choice != 1 {
                    self.cycles -= 1;
                    self.is_on = false;
                    cx.send(self.driver(), Message::PowerDown);
                }
                if choice != 0 {
                    self.is_removed = true;
                    cx.send(self.driver(), Message::Removed);
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
    watch: Witness<Event>,
    number: usize,
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
        self.watch.tell(Event::Completed { request }, cx);
        let application = self.application.as_ref().expect("it has asked");
        cx.send(application, Message::Completed { request, status });
    }

    fn power_done(&self, cx: &mut Context<'_, Message>) {
        let (device, is_on) = (self.number, self.state == State::On);
        self.watch.tell(Event::Power { device, is_on }, cx);
        cx.send(self.power.as_ref().expect("it has been told by it"), Message::PowerDone);
    }

    fn transfer_next(&mut self, cx: &mut Context<'_, Message>) {
        if self.state != State::On || self.transfer.is_some() {
            return;
        }
        let Some(request) = self.waiting.pop_front() else { return };
        self.transfer = Some(Transfer { request, is_cancelled: false });
        self.watch.tell(Event::Began { device: self.number }, cx);
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
#[derive(Clone, Copy, Debug, Hash)]
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
        /// Of which device.
        device: usize,
        /// The device is on.
        is_on: bool,
    },
    /// A transfer has begun.
    Began {
        /// With which device.
        device: usize,
    },
}

/// Every request is completed once, and transfers need power.
#[derive(Clone, Debug, Default, Hash)]
struct Once {
    open: BTreeSet<u32>,
    /// By device.
    on: BTreeSet<usize>,
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
            Event::Power { device, is_on: true } => {
                self.on.insert(device);
            }
            Event::Power { device, is_on: false } => {
                self.on.remove(&device);
            }
            Event::Began { device } => {
                assert!(self.on.contains(&device), "a transfer begins while the device is off");
            }
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
    /// Are asked.
    pub drivers: Vec<Address<Message>>,
    /// Is told what happens.
    pub history: Witness<Event>,
}

/// Builds it in a system of any manager.
#[must_use]
pub fn build(system: &System, bug: Bug, size: Size) -> Nodes {
    let history = Witness::new(system, Once::default);
    let driver = |number| {
        let device = Device { driver: None, current: None };
        let device = system.spawn_named(&format!("device {number}"), device);
        let watch = history.clone();
        let (power, application, transfer) = (None, None, None);
        let (state, waiting) = (State::Off, VecDeque::new());
        let driver =
            Driver { bug, watch, number, device, power, application, state, waiting, transfer };
        system.spawn_named(&format!("driver {number}"), driver)
    };
    let drivers: Vec<_> = (0..size.devices).map(driver).collect();
    let power = Power {
        drivers: drivers.clone(),
        starting: size.devices,
        chosen: 0,
        cycles: size.cycles as u32,
        pause: size.pause as u32,
        is_on: false,
        is_removed: false,
    };
    system.spawn_named("power", power);
    let application = Application {
        drivers: drivers.clone(),
        watch: history.clone(),
        requests: size.requests as u32,
        asked: 0,
        may_cancel: false,
        completed: Vec::new(),
    };
    let application = system.spawn_named("application", application);
    Nodes { application, drivers, history }
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

/// Runs it to its end in a system of any manager, and looks at its history and at its end.
///
/// # Panics
/// If they are not what they must be.
fn produce(system: &System) {
    let size = Size { requests: 50, cycles: 50, devices: 3, pause: 0 };
    let nodes = build(system, Bug::None, size);
    system.handle_all();
    let is_done = system.inspect(&nodes.application, |one: &Application| is_done(one));
    assert!(is_done, "every request is completed once");
    assert!(!nodes.history.is_hot::<Once>(system), "nothing is left undone");
}
