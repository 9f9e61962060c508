//! A downloader in the shape of aget: a file is fetched in segments by as many threads, a progress
//! writer draws how much there is, and at an interrupt it is saved how far each segment has come.
//!
//! A download that was interrupted is resumed from what was saved, and must come to the same file. The
//! server and the disk are in memory. To receive waits for the one link that all connections share,
//! to write waits for the disk, and the thread for signals waits for a signal, which comes when the
//! schedule says so.

use raddle::cell::Tracked;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

use super::{Application, program};
use crate::libraries::Test;
use crate::program::{Expected, Parameter, Program, parameter};

/// The application.
pub const APPLICATION: Application = Application {
    name: "aget",
    line: "threads that fetch segments of a file, a progress writer, a save at an interrupt",
    tests: &[Test {
        correct: of("aget", "n threads fetch c chunks each and are interrupted", |n, c| {
            test(Flaw::None, n, c);
        }),
        bugs: &[
            of("aget-count", "threads add to the bytes written without the lock", |n, c| {
                test(Flaw::UnlockedCount, n, c);
            })
            .bug(Expected::Panic, "lost update"),
            of("aget-save", "what is saved is read without the lock", |n, c| {
                test(Flaw::TornSave, n, c);
            })
            .bug(Expected::Panic, "atomicity violation over two variables"),
            of("aget-progress", "the progress writer reads plain data without the lock", |n, c| {
                test(Flaw::PlainRead, n, c);
            })
            .bug(Expected::DataRace, "data race"),
        ],
    }],
};

const PARAMETERS: [Parameter; 2] = [parameter("n", 2, 1, 16), parameter("c", 1, 1, 100)];

const fn of(name: &'static str, line: &'static str, body: fn(usize, usize)) -> Program {
    program(name, line).two(body, &PARAMETERS).large(&[10, 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Two threads read the same count and one of the sums is lost; or the save comes in between.
    UnlockedCount,
    /// A segment has moved on and the sum has not: the two that are saved do not belong together.
    TornSave,
    /// What the bar shows is written under the lock and read without it.
    PlainRead,
}

/// Bytes of a chunk.
const CHUNK: usize = 4;

/// A server, behind one link.
struct Server {
    file: Vec<u8>,
    link: Mutex<()>,
}

impl Server {
    fn new(length: usize) -> Self {
        let file = (0..length).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
        Self { file, link: Mutex::new(()) }
    }

    /// The next bytes of a segment, at most a chunk.
    fn receive(&self, from: usize, to: usize) -> &[u8] {
        let _sending = self.link.lock().unwrap();
        &self.file[from..to.min(from + CHUNK)]
    }
}

/// How far a download had come.
struct Saved {
    offsets: Vec<usize>,
    written: usize,
}

struct Download<'a> {
    server: &'a Server,
    disk: Mutex<Vec<u8>>,
    /// Where each thread is in the file.
    offsets: Vec<AtomicUsize>,
    /// Bytes that are on the disk, of all threads.
    written: AtomicUsize,
    /// The same, for the progress bar.
    bar: Tracked<usize>,
    /// Of the three above.
    lock: Mutex<()>,
    interrupted: AtomicBool,
    flaw: Flaw,
}

impl Download<'_> {
    fn segment(&self, me: usize) -> (usize, usize) {
        let length = self.server.file.len() / self.offsets.len();
        (me * length, (me + 1) * length)
    }

    /// What each thread does.
    fn fetch(&self, me: usize) {
        let (mut at, to) = self.segment(me);
        while at < to && !self.interrupted.load(SeqCst) {
            let bytes = self.server.receive(at, to);
            self.disk.lock().unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
            if self.flaw == Flaw::UnlockedCount {
                self.written.store(self.written.load(SeqCst) + bytes.len(), SeqCst);
            }
            let _held = self.lock.lock().unwrap();
            self.offsets[me].store(at, SeqCst);
            if self.flaw != Flaw::UnlockedCount {
                self.written.fetch_add(bytes.len(), SeqCst);
            }
            self.bar.with_mut(|bar| *bar += bytes.len());
        }
    }

    /// What the progress writer does: draws twice.
    fn draw(&self) {
        let mut last = 0;
        for _ in 0..2 {
            let held = (self.flaw != Flaw::PlainRead).then(|| self.lock.lock().unwrap());
            let shown = self.bar.get();
            drop(held);
            assert!(last <= shown, "the bar goes backwards");
            last = shown;
        }
    }

    /// What the thread for signals does.
    fn save_at(&self, signal: &Signal) -> Saved {
        signal.wait();
        self.interrupted.store(true, SeqCst);
        let held = (self.flaw != Flaw::TornSave).then(|| self.lock.lock().unwrap());
        let offsets = self.offsets.iter().map(|offset| offset.load(SeqCst)).collect();
        let written = self.written.load(SeqCst);
        drop(held);
        Saved { offsets, written }
    }
}

/// A signal that one thread waits for.
#[derive(Default)]
struct Signal {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    fn raise(&self) {
        *self.raised.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let raised = self.raised.lock().unwrap();
        drop(self.changed.wait_while(raised, |raised| !*raised).unwrap());
    }
}

/// What was saved is true, and with what is fetched from there on the file is whole.
fn test(flaw: Flaw, n: usize, c: usize) {
    let (server, signal) = (Server::new(n * c * CHUNK), Signal::default());
    let length = server.file.len() / n;
    let download = Download {
        server: &server,
        disk: Mutex::new(vec![0; server.file.len()]),
        offsets: (0..n).map(|me| AtomicUsize::new(me * length)).collect(),
        written: AtomicUsize::new(0),
        bar: Tracked::new(0),
        lock: Mutex::new(()),
        interrupted: AtomicBool::new(false),
        flaw,
    };
    let saved = thread::scope(|scope| {
        let saver = scope.spawn(|| download.save_at(&signal));
        scope.spawn(|| download.draw());
        for me in 0..n {
            let download = &download;
            scope.spawn(move || download.fetch(me));
        }
        signal.raise();
        saver.join().unwrap()
    });
    let came: usize = saved.offsets.iter().enumerate().map(|(me, at)| at - me * length).sum();
    assert_eq!(saved.written, came, "the log says how much there is, and where it is");
    let mut file = download.disk.into_inner().unwrap();
    for (me, &at) in saved.offsets.iter().enumerate() {
        let (at, to) = (at, (me + 1) * length);
        file[at..to].copy_from_slice(&server.file[at..to]);
    }
    assert!(file == server.file, "the resumed file is whole");
}
