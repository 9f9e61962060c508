//! A bounded queue: a lock, and two conditions to wait for.

// ANCHOR: wrong
/// Wrong: `pop` looks once. Between the notification and the waiting thread another thread can take the item.
mod wrong {
    use std::collections::VecDeque;

    use raddle::sync::{Condvar, Mutex};

    #[derive(Default)]
    pub(super) struct Queue {
        items: Mutex<VecDeque<u32>>,
        not_empty: Condvar,
    }

    impl Queue {
        pub(super) fn push(&self, item: u32) {
            self.items.lock().unwrap().push_back(item);
            self.not_empty.notify_one();
        }

        pub(super) fn pop(&self) -> u32 {
            let mut items = self.items.lock().unwrap();
            if items.is_empty() {
                items = self.not_empty.wait(items).unwrap();
            }
            items.pop_front().expect("a notified thread finds an item")
        }
    }
}
// ANCHOR_END: wrong

// ANCHOR: right
/// Right: a thread that wakes looks again. And with a bound there are two conditions, each with its own waiters: with
/// one for both, a notification meant for a consumer may wake a producer, and is lost.
mod right {
    use std::collections::VecDeque;

    use raddle::sync::{Condvar, Mutex};

    pub(super) struct Queue {
        items: Mutex<VecDeque<u32>>,
        capacity: usize,
        not_empty: Condvar,
        not_full: Condvar,
    }

    impl Queue {
        pub(super) fn new(capacity: usize) -> Self {
            Self {
                items: Mutex::default(),
                capacity,
                not_empty: Condvar::new(),
                not_full: Condvar::new(),
            }
        }

        pub(super) fn push(&self, item: u32) {
            let items = self.items.lock().unwrap();
            let is_full = |items: &mut VecDeque<u32>| items.len() == self.capacity;
            let mut items = self.not_full.wait_while(items, is_full).unwrap();
            items.push_back(item);
            drop(items);
            self.not_empty.notify_one();
        }

        pub(super) fn pop(&self) -> u32 {
            let items = self.items.lock().unwrap();
            let mut items = self.not_empty.wait_while(items, |items| items.is_empty()).unwrap();
            let item = items.pop_front().expect("it is not empty");
            drop(items);
            self.not_full.notify_one();
            item
        }
    }
}
// ANCHOR_END: right

// ANCHOR: test
/// Two consumers, and a producer of two items.
#[raddle::test]
fn each_item_is_taken_once() {
    let queue = right::Queue::new(1);
    raddle::thread::scope(|scope| {
        let consumers = [(); 2].map(|()| scope.spawn(|| queue.pop()));
        queue.push(1);
        queue.push(2);
        let taken: u32 = consumers.map(|consumer| consumer.join().unwrap()).iter().sum();
        assert_eq!(taken, 3);
    });
}
// ANCHOR_END: test

fn taken_from_under_a_waiter() {
    let queue = wrong::Queue::default();
    raddle::thread::scope(|scope| {
        let consumers = [(); 2].map(|()| scope.spawn(|| queue.pop()));
        queue.push(1);
        queue.push(2);
        let taken: u32 = consumers.map(|consumer| consumer.join().unwrap()).iter().sum();
        assert_eq!(taken, 3);
    });
}

#[test]
fn the_bug_is_reported() {
    crate::reports::compare("bounded_queue", taken_from_under_a_waiter);
}
