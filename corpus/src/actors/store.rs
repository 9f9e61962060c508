//! A key-value store: clients ask front-ends, which forward to the back-end that has the key.

use raddle::actors::{Actor, Address, Context};

use super::{ETA, queues};
use crate::program::{Expected, Group, Program, parameter};

/// `store`.
///
/// Client i % c makes the i-th request, by front-end (its number) % f, of key i / 2: what is written by
/// one request is read by the next. Back-end (key) % b has it. A request is five messages: the input,
/// client to front-end, front-end to back-end, and the two ways back. All inputs are there at the
/// beginning, and a client does not wait for one answer before it sends the next request.
///
/// Interleavings, as published: 1,946 for (1, 1, 1, 3), 10,933 for (1, 1, 2, 3), 18,275 for (1, 2, 2, 3),
/// 82,719 for (2, 2, 2, 3) and 239,466 for (2, 2, 3, 3). One request is a chain: 1. There is no closed
/// form for more: a queue may not be overtaken, so these are fewer than the ways to run r chains of five
/// side by side, 5r! / 5!^r.
pub const STORE: Program = Program::new(
    "store",
    Group::Actors,
    "c clients make r requests by f front-ends to b back-ends",
)
.source(ETA)
.many(store, &PARAMETERS)
.interleavings(|arguments| match arguments {
    [_, _, _, 1] => Some(1),
    [1, 1, 1, 3] => Some(1_946),
    [1, 1, 2, 3] => Some(10_933),
    [1, 2, 2, 3] => Some(18_275),
    [2, 2, 2, 3] => Some(82_719),
    [2, 2, 3, 3] => Some(239_466),
    _ => None,
});

/// `store-lost-update`.
///
/// Every request adds 1 to one key. A front-end does that by reading the value and writing a larger
/// one, so what was added between the two is lost.
pub const STORE_LOST_UPDATE: Program = Program::new(
    "store-lost-update",
    Group::Actors,
    "a front-end adds to a value by reading it and writing it back",
)
.many(store_lost_update, &PARAMETERS_OF_UPDATES)
.fails(Expected::Panic, |_| 0);

const PARAMETERS: [crate::Parameter; 4] = [
    parameter("f", 1, 1, 8),
    parameter("b", 1, 1, 8),
    parameter("c", 1, 1, 8),
    parameter("r", 3, 1, 12),
];

const PARAMETERS_OF_UPDATES: [crate::Parameter; 4] = [
    parameter("f", 1, 1, 8),
    parameter("b", 1, 1, 8),
    parameter("c", 2, 1, 8),
    parameter("r", 2, 2, 12),
];

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Put { key: usize, value: usize },
    Get { key: usize },
    Add { key: usize },
}

impl Request {
    fn key(self) -> usize {
        match self {
            Self::Put { key, .. } | Self::Get { key } | Self::Add { key } => key,
        }
    }
}

#[derive(Clone, Copy, Debug, Hash)]
enum ToClient {
    /// The input: make this request.
    Make {
        id: usize,
        request: Request,
    },
    Answer {
        id: usize,
        value: Option<usize>,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToFront {
    Request { id: usize, request: Request, client: Address<ToClient> },
    Done { id: usize, value: Option<usize> },
}

#[derive(Clone, Debug, Hash)]
struct ToBack {
    id: usize,
    request: Request,
    front: Address<ToFront>,
}

#[derive(Clone, Debug, Hash)]
struct Client {
    front: Address<ToFront>,
    answers: Vec<(usize, Option<usize>)>,
}

impl Actor for Client {
    type Message = ToClient;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Make { id, request } => {
                let client = cx.me().clone();
                cx.send(&self.front, ToFront::Request { id, request, client });
            }
            ToClient::Answer { id, value } => self.answers.push((id, value)),
        }
    }
}

/// A request under way.
#[derive(Clone, Debug, Hash)]
struct Open {
    id: usize,
    request: Request,
    client: Address<ToClient>,
    /// It was read for a request to add.
    is_read: bool,
}

#[derive(Clone, Debug, Hash)]
struct FrontEnd {
    backs: Vec<Address<ToBack>>,
    open: Vec<Open>,
    /// To add is to read and to write: wrong.
    reads_first: bool,
}

impl FrontEnd {
    fn forward(&self, id: usize, request: Request, cx: &mut Context<'_, ToFront>) {
        let back = &self.backs[request.key() % self.backs.len()];
        let front = cx.me().clone();
        cx.send(back, ToBack { id, request, front });
    }
}

impl Actor for FrontEnd {
    type Message = ToFront;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToFront, cx: &mut Context<'_, ToFront>) {
        match message {
            ToFront::Request { id, request, client } => {
                let is_read = self.reads_first && matches!(request, Request::Add { .. });
                self.open.push(Open { id, request, client, is_read });
                let first = if is_read { Request::Get { key: request.key() } } else { request };
                self.forward(id, first, cx);
            }
            ToFront::Done { id, value } => {
                let at = self.open.iter().position(|open| open.id == id);
                let at = at.expect("a back-end answers what it was asked");
                if std::mem::take(&mut self.open[at].is_read) {
                    let key = self.open[at].request.key();
                    self.forward(id, Request::Put { key, value: value.unwrap_or(0) + 1 }, cx);
                    return;
                }
                let open = self.open.swap_remove(at);
                cx.send(&open.client, ToClient::Answer { id, value });
            }
        }
    }
}

#[derive(Clone, Debug, Default, Hash)]
struct BackEnd {
    /// By key, those that were written.
    values: Vec<(usize, usize)>,
}

impl BackEnd {
    fn get(&self, key: usize) -> Option<usize> {
        self.values.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn put(&mut self, key: usize, value: usize) {
        match self.values.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = value,
            None => self.values.push((key, value)),
        }
    }
}

impl Actor for BackEnd {
    type Message = ToBack;
    raddle::actors::snapshots!();

    fn handle(&mut self, ToBack { id, request, front }: ToBack, cx: &mut Context<'_, ToBack>) {
        match request {
            Request::Put { key, value } => self.put(key, value),
            Request::Add { key } => self.put(key, self.get(key).unwrap_or(0) + 1),
            Request::Get { .. } => {}
        }
        cx.send(&front, ToFront::Done { id, value: self.get(request.key()) });
    }
}

/// Runs requests, and returns what clients were answered and what back-ends hold.
fn run(
    [f, b, c]: [usize; 3],
    requests: impl Iterator<Item = Request>,
    reads_first: bool,
) -> (Vec<(usize, Option<usize>)>, Vec<BackEnd>) {
    let system = queues();
    let backs: Vec<_> = (0..b).map(|_| system.spawn(BackEnd::default())).collect();
    let front = || FrontEnd { backs: backs.clone(), open: Vec::new(), reads_first };
    let fronts: Vec<_> = (0..f).map(|_| system.spawn(front())).collect();
    let client = |nth: usize| Client { front: fronts[nth % f].clone(), answers: Vec::new() };
    let clients: Vec<_> = (0..c).map(|nth| system.spawn(client(nth))).collect();
    for (id, request) in requests.enumerate() {
        system.send(&clients[id % c], ToClient::Make { id, request });
    }
    system.handle_all();
    let answers = clients
        .iter()
        .flat_map(|client| system.inspect(client, |client: &Client| client.answers.clone()));
    let holds = |back: &Address<ToBack>| system.inspect(back, BackEnd::clone);
    (answers.collect(), backs.iter().map(holds).collect())
}

/// Every request is answered once, and what is read was written, or nothing.
pub fn store(arguments: &[usize]) {
    let &[f, b, c, r] = arguments else { unreachable!("it takes four arguments") };
    let request = |id: usize| match id % 2 {
        0 => Request::Put { key: id / 2, value: id + 1 },
        _ => Request::Get { key: id / 2 },
    };
    let (mut answers, _) = run([f, b, c], (0..r).map(request), false);
    answers.sort_unstable();
    assert!(answers.iter().map(|(id, _)| *id).eq(0..r), "a request has one answer: {answers:?}");
    for (id, value) in answers {
        let written = Some(id / 2 * 2 + 1);
        assert!(value == written || id % 2 == 1 && value.is_none(), "{id} was answered {value:?}");
    }
}

/// Every request adds 1 to key 0.
pub fn store_lost_update(arguments: &[usize]) {
    let &[f, b, c, r] = arguments else { unreachable!("it takes four arguments") };
    let (_, backs) = run([f, b, c], (0..r).map(|_| Request::Add { key: 0 }), true);
    assert_eq!(backs[0].get(0), Some(r), "an update was lost");
}
