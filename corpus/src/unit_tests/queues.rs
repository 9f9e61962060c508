//! Queues, channels, and what is handed from one thread to another.

use std::collections::VecDeque;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::mpsc::{self, Sender};
use raddle::sync::{Arc, Condvar, Mutex, RwLock};
use raddle::thread;

/// A queue with a limit: who finds it full or empty waits.
struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    places: usize,
    not_full: Condvar,
    not_empty: Condvar,
}

impl<T> Queue<T> {
    fn new(places: usize) -> Self {
        let (not_full, not_empty) = (Condvar::new(), Condvar::new());
        Self { items: Mutex::new(VecDeque::new()), places, not_full, not_empty }
    }

    fn push(&self, item: T) {
        let items = self.items.lock().unwrap();
        let mut items =
            self.not_full.wait_while(items, |items| items.len() == self.places).unwrap();
        items.push_back(item);
        self.not_empty.notify_one();
    }

    fn pop(&self) -> T {
        let items = self.items.lock().unwrap();
        let mut items = self.not_empty.wait_while(items, |items| items.is_empty()).unwrap();
        self.not_full.notify_one();
        items.pop_front().unwrap()
    }
}

pub(super) fn bounded_queue() {
    let queue = Queue::new(1);
    thread::scope(|scope| {
        scope.spawn(|| (0..3).for_each(|item| queue.push(item)));
        let popped: Vec<_> = (0..3).map(|_| queue.pop()).collect();
        assert_eq!(popped, [0, 1, 2]);
    });
}

pub(super) fn fan_in() {
    let (sender, receiver) = mpsc::channel();
    let producers: Vec<_> = (0..3)
        .map(|number| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(number).unwrap())
        })
        .collect();
    drop(sender);
    let mut numbers: Vec<_> = receiver.iter().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
    for producer in producers {
        producer.join().unwrap();
    }
}

pub(super) fn pipeline() {
    let (first, second_in) = mpsc::channel();
    let (second, third_in) = mpsc::channel();
    let parse = thread::spawn(move || {
        for item in second_in {
            second.send(item * 10).unwrap();
        }
    });
    let sum = thread::spawn(move || third_in.iter().sum::<i32>());
    for item in [1, 2] {
        first.send(item).unwrap();
    }
    drop(first);
    parse.join().unwrap();
    assert_eq!(sum.join().unwrap(), 30);
}

/// Tells all that have subscribed.
#[derive(Default)]
struct Bus {
    subscribers: RwLock<Vec<Sender<u32>>>,
}

impl Bus {
    fn subscribe(&self) -> mpsc::Receiver<u32> {
        let (sender, receiver) = mpsc::channel();
        self.subscribers.write().unwrap().push(sender);
        receiver
    }

    fn publish(&self, event: u32) {
        for subscriber in &*self.subscribers.read().unwrap() {
            // One that has left in the meantime does not hear of it.
            let _ = subscriber.send(event);
        }
    }
}

pub(super) fn event_bus() {
    let bus = Bus::default();
    let early = bus.subscribe();
    thread::scope(|scope| {
        scope.spawn(|| bus.publish(1));
        scope.spawn(|| bus.publish(2));
        scope.spawn(|| {
            let late = bus.subscribe();
            assert!(late.try_iter().count() <= 2);
        });
    });
    let mut heard: Vec<_> = early.try_iter().collect();
    heard.sort_unstable();
    assert_eq!(heard, [1, 2]);
}

/// A stack whose nodes are in an array: the index of the top with a number that is never used twice.
struct Stack {
    top: AtomicUsize,
    below: [AtomicUsize; 4],
}

const EMPTY: usize = 0xff;

impl Stack {
    fn push(&self, node: usize) {
        let mut top = self.top.load(SeqCst);
        loop {
            self.below[node].store(top & 0xff, SeqCst);
            let new = (top & !0xff) + 0x100 + node;
            match self.top.compare_exchange(top, new, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        let mut top = self.top.load(SeqCst);
        loop {
            let node = top & 0xff;
            if node == EMPTY {
                return None;
            }
            let new = (top & !0xff) + 0x100 + self.below[node].load(SeqCst);
            match self.top.compare_exchange(top, new, SeqCst, SeqCst) {
                Ok(_) => return Some(node),
                Err(now) => top = now,
            }
        }
    }
}

pub(super) fn treiber_stack() {
    let below = [(); 4].map(|()| AtomicUsize::new(EMPTY));
    let stack = Stack { top: AtomicUsize::new(EMPTY), below };
    let popped = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for node in 0..2 {
            let (stack, popped) = (&stack, &popped);
            scope.spawn(move || {
                stack.push(node);
                if let Some(node) = stack.pop() {
                    popped.lock().unwrap().push(node);
                }
            });
        }
    });
    let mut popped = popped.into_inner().unwrap();
    popped.extend(stack.pop());
    popped.sort_unstable();
    assert_eq!(popped, [0, 1]);
}

pub(super) fn one_shot() {
    let slot = Arc::new(Mutex::new(None));
    let receiver = {
        let slot = Arc::clone(&slot);
        thread::spawn(move || {
            loop {
                if let Some(value) = slot.lock().unwrap().take() {
                    return value;
                }
                thread::park();
            }
        })
    };
    *slot.lock().unwrap() = Some(7);
    receiver.thread().unpark();
    assert_eq!(receiver.join().unwrap(), 7);
}
