//! The bodies of the measured programs, one text for all tools.
//!
//! `Arc` is std's throughout: loom's own counts references under its search, which the other tools
//! do not do. Handles stay in arrays, so that a program allocates little of its own. All orderings
//! are sequentially consistent.

/// Defines `run(program)`, one execution of a program with the threads and primitives of a crate.
#[macro_export]
macro_rules! programs {
    ($tool:ident) => {
        use ::std::sync::Arc;

        use ::$tool::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use ::$tool::sync::{Condvar, Mutex, mpsc};
        use ::$tool::thread::{self, JoinHandle};

        pub(crate) fn run(program: $crate::Program) {
            match program {
                $crate::Program::Tiny => tiny(),
                $crate::Program::Long => long(),
                $crate::Program::Locks => locks(),
                $crate::Program::Channel => channel(),
                $crate::Program::Condvar => condvar(),
                $crate::Program::Empty(threads) => empty(threads),
            }
        }

        fn tiny() {
            let shared = Arc::new(AtomicUsize::new(0));
            join([1, 2].map(|value| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.fetch_add(value, SeqCst);
                    shared.load(SeqCst);
                    shared.store(value, SeqCst);
                })
            }));
        }

        fn long() {
            join([1, 2].map(|value| {
                thread::spawn(move || {
                    let own = AtomicUsize::new(0);
                    for _ in 0..1_000 {
                        own.fetch_add(value, SeqCst);
                    }
                })
            }));
        }

        fn locks() {
            let total = Arc::new(Mutex::new(0_usize));
            join([1, 2, 3].map(|value| {
                let total = Arc::clone(&total);
                thread::spawn(move || {
                    for _ in 0..2 {
                        *total.lock().expect("no holder panics") += value;
                    }
                })
            }));
        }

        fn channel() {
            let (sender, receiver) = mpsc::channel();
            let producers = [1_usize, 2].map(|value| {
                let sender = sender.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        sender.send(value).expect("the receiver outlives the producers");
                    }
                })
            });
            for _ in 0..4 {
                receiver.recv().expect("each producer sends two messages");
            }
            join(producers);
        }

        #[derive(Default)]
        struct Buffer {
            item: Mutex<Option<usize>>,
            filled: Condvar,
            emptied: Condvar,
        }

        impl Buffer {
            fn put(&self, value: usize) {
                let mut item = self.item.lock().expect("no holder panics");
                while item.is_some() {
                    item = self.emptied.wait(item).expect("no holder panics");
                }
                *item = Some(value);
                self.filled.notify_one();
            }

            fn take(&self) -> usize {
                let mut item = self.item.lock().expect("no holder panics");
                loop {
                    if let Some(value) = item.take() {
                        self.emptied.notify_one();
                        return value;
                    }
                    item = self.filled.wait(item).expect("no holder panics");
                }
            }
        }

        fn condvar() {
            let buffer = Arc::new(Buffer::default());
            let producer = {
                let buffer = Arc::clone(&buffer);
                thread::spawn(move || (0..3).for_each(|value| buffer.put(value)))
            };
            let consumer = {
                let buffer = Arc::clone(&buffer);
                thread::spawn(move || (0..3).for_each(|value| assert_eq!(buffer.take(), value)))
            };
            join([producer, consumer]);
        }

        fn empty(threads: u32) {
            let threads: Vec<_> = (0..threads).map(|_| thread::spawn(|| ())).collect();
            for thread in threads {
                thread.join().expect("no thread panics");
            }
        }

        fn join<const N: usize>(threads: [JoinHandle<()>; N]) {
            for thread in threads {
                thread.join().expect("no thread panics");
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::Program;

    mod with_std {
        crate::programs!(std);
    }

    // A program that could end otherwise would be measured up to its failure only.
    #[test]
    fn every_program_ends_without_a_failure() {
        for program in [Program::Tiny, Program::Long, Program::Locks, Program::Channel]
            .into_iter()
            .chain([Program::Condvar, Program::Empty(6)])
        {
            for _ in 0..50 {
                with_std::run(program);
            }
        }
    }
}
