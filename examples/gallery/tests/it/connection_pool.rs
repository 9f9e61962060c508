//! A pool that opens at most so many connections.

// ANCHOR: wrong
/// Wrong: whether there is room is asked in one critical section and acted on in another.
mod wrong {
    use raddle::sync::Mutex;

    pub(super) struct Pool {
        pub(super) open: Mutex<usize>,
        pub(super) most: usize,
    }

    impl Pool {
        pub(super) fn connect(&self) -> bool {
            let has_room = *self.open.lock().unwrap() < self.most;
            if has_room {
                *self.open.lock().unwrap() += 1;
            }
            has_room
        }
    }
}
// ANCHOR_END: wrong

// ANCHOR: right
/// Right: asked and acted on under one lock.
mod right {
    use raddle::sync::Mutex;

    pub(super) struct Pool {
        pub(super) open: Mutex<usize>,
        pub(super) most: usize,
    }

    impl Pool {
        pub(super) fn connect(&self) -> bool {
            let mut open = self.open.lock().unwrap();
            let has_room = *open < self.most;
            *open += usize::from(has_room);
            has_room
        }
    }
}
// ANCHOR_END: right

// ANCHOR: test
#[raddle::test]
fn no_more_than_the_limit_are_open() {
    let pool = right::Pool { open: 0.into(), most: 2 };
    raddle::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| pool.connect());
        }
    });
    assert_eq!(*pool.open.lock().unwrap(), 2);
}
// ANCHOR_END: test

fn more_than_the_limit() {
    let pool = wrong::Pool { open: 0.into(), most: 2 };
    raddle::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| pool.connect());
        }
    });
    assert_eq!(*pool.open.lock().unwrap(), 2);
}

#[test]
fn the_bug_is_reported() {
    crate::reports::compare("connection_pool", more_than_the_limit);
}
