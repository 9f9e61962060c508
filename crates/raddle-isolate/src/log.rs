//! Memory that two processes share, into which one writes what the other reads afterwards.
//!
//! A process that is forked and the one that forked it have the same code at the same addresses, so plain
//! values are passed as they are, references to statics among them. Entries are appended by one writer and
//! become visible whole: a writer that dies in the middle of one leaves those before it.

use std::io;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_engine::context::Context;
use raddle_engine::op::{Access, ObjectId, Op, TaskId};
use raddle_engine::receive::{ActorNews, NewActor, Receive, Reception};
use raddle_engine::search::{CrashLog, DecisionMark, Name, Numbers};
use raddle_engine::strategy::{
    Answer, Choice, Cut, Decided, Lane, Stuck, Taken, Tasks, Timer, Waits, Watch,
};

/// Bytes for one execution: a step that a strategy hears of takes about 200, one that it does not hear of
/// none. Only what is written is ever memory.
const CAPACITY: usize = 256 << 20;
/// Where entries begin.
const HEADER: usize = 64;

/// A value that means the same in a process and its fork.
///
/// # Safety
/// It has no pointer but to what was there before the fork and never changes: statics, code.
pub(crate) unsafe trait Plain: Copy + 'static {}

/// One thing that is said of an execution. What has no fixed size follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A task was named for the first time in this search.
    Name(Name),
    /// Calls got a number; their names follow, each as a [`Entry::Text`].
    Calls {
        number: Context,
        names: u32,
    },
    /// So many bytes follow.
    Text(u32),
    /// The strategy is asked; the options, if they are tasks, follow.
    Decide {
        index: u32,
        running: Option<TaskId>,
        last: TaskId,
        objects: u32,
        options: Offered,
    },
    /// The plan has answered the point that comes next.
    Passed(u32),
    /// What it answered.
    Answered(Answer),
    /// A decision was taken, by whomever.
    Taken(Taken, DecisionMark),
    Spawn(TaskId, TaskId),
    Actor(ActorNews),
    Value(TaskId, Taken, bool),
    Unasked(TaskId),
    /// The footprint follows.
    Step(LoggedStep),
    /// What the strategy said to that.
    Went(Option<Cut>),
    /// What it was told about what is pending.
    Op(Option<Op>),
    ThreadObject(Option<ObjectId>),
    Called(Context),
    /// The kind and the name follow.
    Label(Option<Labelled>),
    /// Whether a text follows.
    Says(bool),
    Lane(Lane),
    /// So many names follow, if an order was asked for.
    Order(Option<u32>),
    Delivery(Option<Receive>),
    /// What was sent and what was created follow.
    Effects(Option<ReceiveEffects>),
    Ages(u64),
    Place(u32),
    Strayed(bool),
    Idle(bool),
    /// So many tasks follow.
    Blocked(u32),
    /// So many ops follow.
    Stuck(u32),
    /// The schedule and the trace follow, as a text.
    Record,
    /// The execution is over. The ops that are stuck follow, the tasks, and the rest as text.
    Over {
        numbers: Numbers,
        stuck: u32,
        tasks: u32,
    },
}

/// What there was to pick from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offered {
    Tasks(u32),
    Value { task: TaskId, of: u32, during: bool },
}

/// A step without its footprint.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct LoggedStep {
    pub(crate) task: TaskId,
    pub(crate) touched: u32,
    pub(crate) site: &'static Location<'static>,
    pub(crate) context: Context,
    pub(crate) shared_resources: u128,
    pub(crate) learned: bool,
    pub(crate) decided: Decided,
    pub(crate) watch: Watch,
    pub(crate) last_resort: bool,
    pub(crate) sent_by: Option<u64>,
    pub(crate) point: Option<u32>,
    pub(crate) replayed: bool,
    pub(crate) immediate: bool,
    pub(crate) partner: Option<TaskId>,
    pub(crate) enabled_since: u64,
    pub(crate) timer: Option<Timer>,
    pub(crate) ended: Option<[(ObjectId, Access); 2]>,
    pub(crate) waited_for: Tasks,
}

/// What a receive did, without what it sent and created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveEffects {
    pub(crate) receive: Receive,
    pub(crate) reception: Reception,
    pub(crate) by: u64,
    pub(crate) sent: u32,
    pub(crate) created: u32,
    pub(crate) became: bool,
    pub(crate) stopped: bool,
    pub(crate) answered_test: bool,
}

/// A label without its texts, which may be made while the program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labelled {
    pub(crate) created: &'static Location<'static>,
    pub(crate) named: bool,
    pub(crate) waits: Waits,
}

// SAFETY: numbers, and references to places in the source, which are statics.
unsafe impl Plain for Entry {}
// SAFETY: as above.
unsafe impl Plain for Choice {}
// SAFETY: as above.
unsafe impl Plain for Stuck {}
// SAFETY: as above.
unsafe impl Plain for TaskId {}
// SAFETY: as above.
unsafe impl Plain for (ObjectId, Access) {}
// SAFETY: numbers, and names of types, which are statics.
unsafe impl Plain for Receive {}
// SAFETY: as above.
unsafe impl Plain for NewActor {}
// SAFETY: as above.
unsafe impl Plain for u8 {}

/// The shared memory. Copies are of the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    memory: *mut AtomicU64,
}

// SAFETY: one process writes at a time, from one thread, and the other reads when that is done.
unsafe impl Send for Log {}

impl Log {
    /// Maps memory that forks will share.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { memory: shared(CAPACITY)? })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the mapping begins on a page and its header is made of words, used as these alone.
        unsafe { &*self.memory.add(index) }
    }

    /// Bytes that can be read.
    fn length(self) -> usize {
        self.word(0).load(Ordering::Acquire) as usize
    }

    /// Whether something did not fit.
    pub(crate) fn is_full(self) -> bool {
        self.word(1).load(Ordering::Acquire) != 0
    }

    /// Forgets all entries.
    pub(crate) fn clear(self) {
        self.word(0).store(0, Ordering::Release);
        self.word(1).store(0, Ordering::Release);
    }

    /// Appends an entry with what follows it.
    pub(crate) fn put(self, entry: Entry) {
        self.with(entry, |_| {});
    }

    /// Appends an entry and a text.
    pub(crate) fn text(self, text: &str) {
        self.with(Entry::Text(text.len() as u32), |write| write.all(text.as_bytes()));
    }

    /// Appends an entry and whatever `more` writes after it.
    pub(crate) fn with(self, entry: Entry, more: impl FnOnce(&mut Write)) {
        let mut write = Write { log: self, at: self.length() };
        write.one(&entry);
        more(&mut write);
        self.word(0).store(write.at as u64, Ordering::Release);
    }

    /// What is there to read.
    pub(crate) fn read(&self) -> Read<'_> {
        Read { log: *self, at: 0, end: self.length(), _log: PhantomData }
    }
}

impl CrashLog for Log {
    fn named(&self, name: Name) {
        self.put(Entry::Name(name));
    }

    fn decided(&self, taken: Taken, mark: DecisionMark) {
        self.put(Entry::Taken(taken, mark));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `Log::new` with this length; it is not read after the drop.
        unsafe { libc::munmap(self.0.memory.cast(), CAPACITY) };
    }
}

/// A log that is unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Shared(pub(crate) Log);

/// Memory for this process and those forked from it.
pub(crate) fn shared<T>(bytes: usize) -> io::Result<*mut T> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANON | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, of no file.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(memory.cast())
}

/// Appends values.
pub(crate) struct Write {
    log: Log,
    at: usize,
}

impl Write {
    fn one<T: Plain>(&mut self, value: &T) {
        self.all(std::slice::from_ref(value));
    }

    pub(crate) fn all<T: Plain>(&mut self, values: &[T]) {
        let bytes = size_of_val(values);
        if HEADER + self.at + bytes > CAPACITY {
            self.log.word(1).store(1, Ordering::Release);
            // SAFETY: ends this process, which is the forked one; the other reads the flag.
            unsafe { libc::_exit(1) };
        }
        // SAFETY: inside the mapping; the memory belongs to the writer until the length is moved on.
        unsafe {
            let to = self.log.memory.cast::<u8>().add(HEADER + self.at);
            ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), to, bytes);
        }
        self.at += bytes;
    }
}

/// Reads values in the order in which they were written.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    log: Log,
    at: usize,
    end: usize,
    _log: PhantomData<&'a Log>,
}

impl Read<'_> {
    /// The next entry.
    pub(crate) fn entry(&mut self) -> Option<Entry> {
        // SAFETY: what stands at the end of one entry with all that follows it is another entry.
        (self.at < self.end).then(|| unsafe { self.one() })
    }

    unsafe fn one<T: Plain>(&mut self) -> T {
        let at = self.at;
        self.at += size_of::<T>();
        assert!(self.at <= self.end, "engine bug: a log was read past its end");
        // SAFETY: inside what was written, and by the caller's word a `T`, which means the same here.
        unsafe { ptr::read_unaligned(self.log.memory.cast::<u8>().add(HEADER + at).cast::<T>()) }
    }

    /// So many values, which follow the entry that was read last.
    ///
    /// # Safety
    /// That entry was written with just these.
    pub(crate) unsafe fn all<T: Plain>(&mut self, count: u32) -> Vec<T> {
        // SAFETY: by contract.
        (0..count).map(|_| unsafe { self.one() }).collect()
    }

    /// The next entry, if it is a text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let Some(Entry::Text(bytes)) = self.entry() else { return None };
        // SAFETY: so many bytes follow.
        let bytes = unsafe { self.all::<u8>(bytes) };
        String::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_fork_log_are_read_as_written() {
        let shared = Shared(Log::new().expect("memory"));
        let log = shared.0;
        log.put(Entry::Place(7));
        log.text("seven");
        log.with(Entry::Blocked(2), |write| write.all(&[TaskId(1), TaskId(9)]));
        let mut read = log.read();
        assert!(matches!(read.entry(), Some(Entry::Place(7))));
        assert_eq!(read.text().as_deref(), Some("seven"));
        assert!(matches!(read.entry(), Some(Entry::Blocked(2))));
        // SAFETY: two tasks follow.
        assert_eq!(unsafe { read.all::<TaskId>(2) }, [TaskId(1), TaskId(9)]);
        assert!(read.entry().is_none());
        log.clear();
        assert!(log.read().entry().is_none());
    }
}
