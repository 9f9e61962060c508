//! The bodies of the measured programs, one text for all tools.
//!
//! `Arc` is std's unless another crate's is asked for: loom's own counts references under its search,
//! which the other tools do not do. Handles stay in arrays, so that a program allocates little of its own. All orderings
//! are sequentially consistent.

/// Defines `run(program)`, one execution of a program with the threads and primitives of a crate.
#[macro_export]
macro_rules! programs {
    ($tool:ident) => {
        $crate::programs!($tool, std);
    };
    // The second crate is the one whose `Arc` is used.
    ($tool:ident, $arc:ident) => {
        use ::$arc::sync::Arc;

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
                $crate::Program::Own(threads, accesses) => own(threads, accesses),
                $crate::Program::Pairs(threads, pairs) => self::pairs(threads, pairs),
                $crate::Program::LastZero(writers, threads) => {
                    last_zero(writers as usize, threads as usize);
                }
                $crate::Program::FileSystem(processes, threads) => {
                    file_system(processes as usize, threads as usize);
                }
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
            join(threads);
        }

        fn own(threads: u32, accesses: u32) {
            let variables: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
            let variables = Arc::new(variables);
            let threads: Vec<_> = (0..threads as usize)
                .map(|nth| {
                    let variables = Arc::clone(&variables);
                    thread::spawn(move || {
                        for value in 0..accesses {
                            variables[nth].store(value as usize, SeqCst);
                        }
                    })
                })
                .collect();
            join(threads);
        }

        fn pairs(threads: u32, pairs: u32) {
            let shared = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..threads)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || {
                        for _ in 0..pairs {
                            shared.store(shared.load(SeqCst) + 1, SeqCst);
                        }
                    })
                })
                .collect();
            join(threads);
        }

        /// With one writer for each thread, the program of Abdulla et al., POPL 2014.
        fn last_zero(writers: usize, threads: usize) {
            let array: Vec<_> = (0..=writers).map(|_| AtomicUsize::new(0)).collect();
            let array = Arc::new(array);
            let reader = {
                let array = Arc::clone(&array);
                thread::spawn(move || {
                    let mut i = writers;
                    while array[i].load(SeqCst) != 0 {
                        i -= 1;
                    }
                })
            };
            let spawn = |first| {
                let array = Arc::clone(&array);
                thread::spawn(move || {
                    for i in (first..=writers).step_by(threads) {
                        array[i].store(array[i - 1].load(SeqCst) + 1, SeqCst);
                    }
                })
            };
            let writers: Vec<_> = (1..=threads).map(spawn).collect();
            join([reader]);
            join(writers);
        }

        /// With one process for each thread, the program of Flanagan and Godefroid, POPL 2005.
        fn file_system(processes: usize, threads: usize) {
            const INODES: usize = 32;
            const BLOCKS: usize = 26;
            let inodes: Vec<_> = (0..INODES).map(|_| Mutex::new(0)).collect();
            let blocks: Vec<_> = (0..BLOCKS).map(|_| Mutex::new(false)).collect();
            let (inodes, blocks) = (Arc::new(inodes), Arc::new(blocks));
            let spawn = |first| {
                let (inodes, blocks) = (Arc::clone(&inodes), Arc::clone(&blocks));
                thread::spawn(move || {
                    for process in (first..processes).step_by(threads) {
                        let i = process % INODES;
                        let mut inode = inodes[i].lock().expect("no holder panics");
                        let mut b = 2 * i % BLOCKS;
                        while *inode == 0 {
                            let mut busy = blocks[b].lock().expect("no holder panics");
                            if !*busy {
                                *busy = true;
                                *inode = b + 1;
                            }
                            b = (b + 1) % BLOCKS;
                        }
                    }
                })
            };
            let threads: Vec<_> = (0..threads).map(spawn).collect();
            join(threads);
        }

        fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
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
        for program in Program::samples() {
            for _ in 0..50 {
                with_std::run(program);
            }
        }
    }
}
