//! Passive tasks: lanes without a stack, whose steps are work that is done where they are chosen.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::panic::Location;
use std::sync::{Arc, Mutex};

use raddle_engine::rt::{Link, Object, PassiveWork, Worked, number};
use raddle_engine::strategy::Decided;
use raddle_engine::{Access, Model, ObjectId, TaskId};

use crate::kinds;

/// Deliveries that are to be made before the waiting task goes on.
#[derive(Debug)]
struct Outstanding(u32);

#[derive(Clone, Copy, Debug)]
struct Settle;

impl Model for Outstanding {
    type Op = Settle;
    type Reply = ();
    const KIND: &'static str = "Outstanding";

    fn enabled(&self, _: TaskId, _: Settle) -> bool {
        self.0 == 0
    }

    fn access(&self, _: TaskId, _: Settle) -> Access {
        Access::AwaitQuiescence
    }

    fn apply(&mut self, _: TaskId, _: Settle, _: u32) {}

    fn reset(&mut self) {}
}

/// A postman: each lane has some letters, and delivers one at each step.
struct Post {
    object: ObjectId,
    outstanding: Object<Outstanding>,
    lanes: Mutex<Vec<(Option<Link>, u32)>>,
    delivered: Mutex<Vec<u32>>,
}

impl PassiveWork for Post {
    fn work(&self, token: u32) -> Worked {
        self.lanes.lock().unwrap()[token as usize].1 -= 1;
        self.delivered.lock().unwrap().push(token);
        let touched = [(self.object, Access::DoWork), (ObjectId::NONE, Access::Yield)];
        Worked {
            touched,
            shared_resources: 0,
            decided: Decided::default(),
            sent_by: None,
            site: Location::caller(),
        }
    }

    fn worked(self: Arc<Self>, token: u32) {
        let (link, left) = self.lanes.lock().unwrap()[token as usize];
        if left == 0 {
            link.expect("set before it is enabled").enable(false, Location::caller());
        }
        self.outstanding.alter(|outstanding| outstanding.0 -= 1);
    }

    fn show(&self) -> String {
        "deliver".to_owned()
    }
}

/// Delivers all letters of some lanes; in which order.
fn deliver(letters: &[u32]) -> Vec<u32> {
    let here = Location::caller();
    let post = Arc::new(Post {
        object: number("Post", here),
        outstanding: Object::new(Outstanding(letters.iter().sum())),
        lanes: Mutex::new(Vec::new()),
        delivered: Mutex::default(),
    });
    for (token, &n) in letters.iter().enumerate() {
        let work = Arc::clone(&post) as Arc<dyn PassiveWork>;
        let label = || Arc::from(format!("lane {token}"));
        let (key, object) = (token as u64, post.object);
        let link = Link::new(key, label, work, token as u32, object, object, here)
            .expect("there is room for it");
        post.lanes.lock().unwrap().push((Some(link), n));
        link.enable(n > 0, here);
    }
    post.outstanding.wait(Settle);
    post.lanes.lock().unwrap().drain(..).for_each(|(link, _)| link.expect("set").retire());
    std::mem::take(&mut *post.delivered.lock().unwrap())
}

/// Two letters in one lane and one in another: 3 places for the one among the two. A lane keeps its order.
#[test]
fn lanes_interleave_and_keep_their_order() {
    let orders = Mutex::new(Vec::new());
    let (executions, ends) = kinds(&|| {
        let order = deliver(&[2, 1, 0]);
        orders.lock().unwrap().push(order);
    });
    assert_eq!((executions, ends), (3, vec![("completed", 3)]));
    let mut orders = orders.into_inner().unwrap();
    orders.sort();
    assert_eq!(orders, [vec![0, 0, 1], vec![0, 1, 0], vec![1, 0, 0]]);
}

/// A task waits for more than was sent.
#[test]
fn waiting_for_what_no_lane_brings_is_a_deadlock() {
    let (executions, ends) = kinds(&|| {
        Object::new(Outstanding(1)).wait(Settle);
    });
    assert_eq!((executions, ends), (1, vec![("deadlock", 1)]));
}
