//! Calling contexts: from where an op was called, as a small number.
//!
//! `HaPSet` (Wang, Said, Gupta, ICSE 2011) tells statements apart by the innermost calls that lead to them;
//! GAMBIT (Coons, Burckhardt, Musuvathi, `PPoPP` 2010) orders candidates by the methods they stand in. So
//! if a strategy asks ([`Needs::contexts`](crate::strategy::Needs)), each op is announced with the names of
//! its innermost calls. They come from two sources and count alike:
//!
//! - functions, found by walking the task's stack (`context/walk.rs`) from the op outwards to where the task
//!   began. Those of raddle, of std and of what has no name are left out; closures, generic arguments and
//!   hashes are taken off the names (`context/symbol.rs`);
//! - [scopes](crate::scope::Scope) that the program opens, `raddle::method!("push")`: each is a call inside the function in
//!   which it was opened, so it comes before that function's name.
//!
//! A name that follows itself counts once: a function and its closures are one call, and so is recursion.
//!
//! Which context an op has does not depend on the schedule: only the task's own stack is looked at. A
//! number means the same in all executions of a process, a [`key`] or [`names`] in all processes that run
//! the same build. Between builds names stay the same if both have full debug information. With line tables
//! alone many functions are known by their file and their last name (`deque::push` and not
//! `app::deque::Deque::push`), and a closure does not say of what. Inlined functions are seen if there is
//! debug information of any kind, and else not; a function that ends with a call may be missing where the
//! compiler made a jump of it. A scope in a function that was inlined comes before all names of the frame.
//! Where stacks cannot be walked (Windows, 32-bit ARM, Miri), and where less than 128 KiB of the task's stack
//! are left, there are scopes alone.
//!
//! A trace has calls of its own, with places (`context/calls.rs`), whatever the strategy asks for.
//!
//! A timer's context is that of the wait it ends. The steps of passive tasks, which are handlers of actors,
//! have none: no function called them.

mod calls;
mod last_drop;
mod symbol;
mod walk;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex};

use raddle_trace::hash::Fnv1a;

use crate::at_fork;

pub(crate) use self::calls::{calls, stack};
pub(crate) use self::last_drop::last_drops;

/// The calls that lead to an op. Equal numbers are equal calls, in one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context(pub u32);

impl Context {
    /// Nothing is known of the calls.
    pub const NONE: Self = Self(0);
}

/// The names of the calls, the innermost first. None for a number that is no context of this process.
#[must_use]
pub fn names(context: Context) -> Vec<Arc<str>> {
    let table = Table::lock();
    let list = table.lists.get(context.0 as usize);
    let name = |id: &u32| Arc::clone(&table.names[*id as usize]);
    list.map_or_else(Vec::new, |(list, _)| list.iter().map(name).collect())
}

/// How many contexts there are, [`Context::NONE`] among them.
#[must_use]
pub fn count() -> u32 {
    Table::lock().lists.len() as u32
}

/// A hash of the [`names`]: the same in every process of one build. 0 for [`Context::NONE`].
#[must_use]
pub fn key(context: Context) -> u64 {
    Table::lock().lists.get(context.0 as usize).map_or(0, |(_, key)| *key)
}

/// The context of these calls, the innermost first: for data of another process, and for tests.
#[must_use]
pub fn of(names: &[&str]) -> Context {
    let mut table = Table::lock();
    let list: Vec<u32> = names.iter().map(|name| table.name(name)).collect();
    table.number(&list)
}

/// All names and contexts of the process.
#[derive(Debug)]
struct Table {
    names: Vec<Arc<str>>,
    ids: BTreeMap<Arc<str>, u32>,
    /// With their keys. The first is empty.
    lists: Vec<(Box<[u32]>, u64)>,
    numbers: BTreeMap<Box<[u32]>, u32>,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

/// The table, for a moment.
struct Locked(at_fork::Locked<Option<Table>>);

impl std::ops::Deref for Locked {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.0.as_ref().expect("made when it was locked")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Table {
        self.0.as_mut().expect("made when it was locked")
    }
}

impl Table {
    fn lock() -> Locked {
        let mut table = at_fork::lock(&TABLE);
        table.get_or_insert_with(|| Self {
            names: Vec::new(),
            ids: BTreeMap::new(),
            lists: vec![(Box::default(), 0)],
            numbers: BTreeMap::from([(Box::default(), 0)]),
        });
        Locked(table)
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let (id, name) = (self.names.len() as u32, Arc::<str>::from(name));
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        id
    }

    fn number(&mut self, list: &[u32]) -> Context {
        if let Some(&number) = self.numbers.get(list) {
            return Context(number);
        }
        let number = self.lists.len() as u32;
        let key = hash(list.iter().map(|id| &*self.names[*id as usize]));
        self.lists.push((list.into(), key));
        self.numbers.insert(list.into(), number);
        Context(number)
    }
}

/// FNV-1a, with a mark after each name.
fn hash<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let mut hash = Fnv1a::new();
    for name in names {
        hash.add(name.as_bytes());
        hash.add(&[0xff]);
    }
    hash.value()
}

/// A frame: an address in its function, and where it begins on the stack.
type Frame = (usize, usize);

/// A stack that was walked.
#[derive(Debug)]
struct Walked {
    depth: usize,
    /// As far out as the context goes.
    frames: Box<[Frame]>,
    /// The context without scopes.
    context: Context,
}

/// Of one place on a stack so many ways to come there are remembered, and of so many places.
const MOST_WAYS: usize = 64;
const MOST_PLACES: usize = 1 << 14;
/// Bytes of stack that must be left. To find names takes less than 32 KiB; to run out of stack meanwhile would be
/// an overflow that is not the program's, and leave locks of std held.
const ROOM: usize = 128 << 10;
/// The largest depth of a context, in frames; frames further out are not read.
const MOST_FRAMES: usize = 256;
/// Ops that are recognised at once, a power of two; and how many places of the table are looked at for one.
const RECOGNISED: usize = 1 << 11;
const PROBES: usize = 4;

/// An op whose context was found before: at this place of the source, from this place of the stack. Nearly always that
/// tells the calls, which are compared all the same.
#[derive(Debug)]
struct Recognised {
    site: usize,
    from: usize,
    depth: usize,
    frames: Box<[Frame]>,
    scopes: Box<[Opened]>,
    context: Context,
}

impl Recognised {
    fn is(
        &self,
        site: usize,
        from: usize,
        depth: usize,
        stack: &Range<usize>,
        scopes: &[Opened],
    ) -> bool {
        (self.site, self.from, self.depth) == (site, from, depth)
            && *self.scopes == *scopes
            && walk::is_same(&self.frames, stack)
    }
}

/// What an OS thread knows of the table, so that it need not be locked for each op, and of stacks, so that
/// they need not be walked for each.
#[derive(Debug, Default)]
struct Known {
    /// The names at each address, the innermost first; those that are left out have none.
    names: BTreeMap<usize, Box<[u32]>>,
    scopes: BTreeMap<&'static str, u32>,
    numbers: BTreeMap<Box<[u32]>, Context>,
    /// By where the stack ended.
    walked: BTreeMap<usize, Vec<Walked>>,
    /// By where the op stands and where the stack ended.
    recognised: Vec<Option<Recognised>>,
    frames: Vec<Frame>,
    list: Vec<u32>,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

impl Known {
    fn scope(&mut self, name: &'static str) -> u32 {
        *self.scopes.entry(name).or_insert_with(|| Table::lock().name(name))
    }

    fn number(&mut self) -> Context {
        if let Some(&number) = self.numbers.get(&*self.list) {
            return number;
        }
        let number = Table::lock().number(&self.list);
        self.numbers.insert(self.list.as_slice().into(), number);
        number
    }

    /// The context of an op at `site`, at the stack's end, `from`.
    #[inline]
    fn context(
        &mut self,
        site: usize,
        depth: usize,
        from: usize,
        stack: &Range<usize>,
        scopes: &[Opened],
    ) -> Context {
        if from < stack.start + ROOM {
            self.list(depth, &[], stack, scopes);
            return self.number();
        }
        let home = (site >> 3).wrapping_mul(0x9e37_79b1) ^ from >> 4;
        for probe in 0..PROBES {
            match self.recognised.get(home.wrapping_add(probe) % RECOGNISED) {
                Some(Some(known)) if known.is(site, from, depth, stack, scopes) => {
                    return known.context;
                }
                Some(Some(_)) => {}
                _ => break,
            }
        }
        self.recognise(home, (site, from, depth), stack, scopes)
    }

    /// Finds the context, and keeps it where [`context`](Self::context) looks first.
    #[cold]
    fn recognise(
        &mut self,
        home: usize,
        (site, from, depth): (usize, usize, usize),
        stack: &Range<usize>,
        scopes: &[Opened],
    ) -> Context {
        let (context, frames) = self.find(depth, from, stack, scopes);
        if self.recognised.is_empty() {
            self.recognised.resize_with(RECOGNISED, || None);
        }
        let place = |probe: usize| home.wrapping_add(probe) % RECOGNISED;
        let free = (0..PROBES).find(|probe| self.recognised[place(*probe)].is_none());
        let known = Recognised { site, from, depth, frames, scopes: scopes.into(), context };
        // Of many that share their places, the one that came last.
        self.recognised[place(free.unwrap_or(0))] = Some(known);
        context
    }

    /// The context at the stack's end, with the frames that tell it.
    fn find(
        &mut self,
        depth: usize,
        from: usize,
        stack: &Range<usize>,
        scopes: &[Opened],
    ) -> (Context, Box<[Frame]>) {
        let same = |way: &Walked| way.depth == depth && walk::is_same(&way.frames, stack);
        let ways = self.walked.get(&from);
        let known = ways.and_then(|ways| ways.iter().position(same));
        let way = match known {
            Some(at) => &self.walked[&from][at],
            None => self.learn(depth, from, stack),
        };
        let (context, frames) = (way.context, way.frames.clone());
        if scopes.is_empty() {
            return (context, frames);
        }
        self.list(depth, &frames, stack, scopes);
        (self.number(), frames)
    }

    /// Walks the stack and remembers what it looks like.
    #[cold]
    fn learn(&mut self, depth: usize, from: usize, stack: &Range<usize>) -> &Walked {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        walk::walk(stack, &mut |address, begins| {
            // What is further in is this code.
            if begins > from {
                frames.push((address, begins));
            }
            frames.len() < MOST_FRAMES
        });
        if frames.iter().any(|(address, _)| !self.names.contains_key(address)) {
            for (address, names) in symbol::resolve() {
                let mut table = Table::lock();
                let ids = names.iter().map(|name| table.name(name)).collect();
                self.names.insert(address, ids);
            }
            for (address, _) in &frames {
                self.names.entry(*address).or_default();
            }
        }
        let used = self.list(depth, &frames, stack, &[]);
        let context = self.number();
        let walked = Walked { depth, frames: frames[..used].into(), context };
        self.frames = frames;
        if self.walked.len() >= MOST_PLACES {
            self.walked.clear();
        }
        let ways = self.walked.entry(from).or_default();
        if ways.len() >= MOST_WAYS {
            ways.clear();
        }
        ways.push(walked);
        ways.last().expect("just pushed")
    }

    /// Lists the innermost calls. Says how many frames that took.
    fn list(
        &mut self,
        depth: usize,
        frames: &[Frame],
        stack: &Range<usize>,
        scopes: &[Opened],
    ) -> usize {
        self.list.clear();
        let mut scopes = scopes.iter().rev().peekable();
        for (at, (address, _)) in frames.iter().enumerate() {
            // The names of a frame follow the scopes in it, which end where the next frame begins.
            let end = frames.get(at + 1).map_or(usize::MAX, |(_, begins)| *begins);
            let inside = |scope: &&Opened| scope.address < end || !stack.contains(&scope.address);
            while let Some(scope) = scopes.next_if(inside) {
                let id = self.scope(scope.name);
                self.push(id, depth);
            }
            let n = self.names.get(address).map_or(0, |names| names.len());
            for nth in 0..n {
                let id = self.names[address][nth];
                self.push(id, depth);
            }
            if self.list.len() == depth {
                return at + 1;
            }
        }
        for scope in scopes {
            let id = self.scope(scope.name);
            self.push(id, depth);
        }
        frames.len()
    }

    /// A name that follows itself counts once.
    fn push(&mut self, id: u32, depth: usize) {
        if self.list.last() != Some(&id) && self.list.len() < depth {
            self.list.push(id);
        }
    }
}

/// The context of the op that a task announces at this place of the source: the names of so many calls, on this stack and
/// in these scopes. Called on that stack.
#[cold]
#[inline(never)]
pub(crate) fn capture(
    site: &'static Location<'static>,
    depth: u8,
    stack: &Range<usize>,
    scopes: &[Opened],
) -> Context {
    // Where the frame of this very function is.
    let here = 0_u8;
    let from = std::ptr::from_ref(std::hint::black_box(&here)) as usize;
    let site = std::ptr::from_ref(site) as usize;
    KNOWN.with_borrow_mut(|known| known.context(site, depth.into(), from, stack, scopes))
}

/// A scope that is open, of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) name: &'static str,
    /// Where its [`Scope`](crate::scope::Scope) is: in the frame of the function that opened it.
    pub(crate) address: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_calls_have_one_number_and_others_another() {
        let (inner, outer) = (of(&["push", "fill"]), of(&["push", "drain"]));
        assert_ne!(inner, outer);
        assert_eq!(of(&["push", "fill"]), inner);
        assert_eq!(names(inner), [Arc::from("push"), Arc::from("fill")]);
        assert_eq!(of(&[]), Context::NONE);
        assert_eq!(names(Context(u32::MAX)), []);
    }

    // FNV-1a of "a", 0xff: the same in every process.
    #[test]
    fn a_key_is_a_hash_of_the_names() {
        assert_eq!(key(of(&["a"])), raddle_trace::hash::fnv1a(b"a\xff"));
        assert_ne!(key(of(&["ab", "c"])), key(of(&["a", "bc"])));
        assert_eq!(key(Context::NONE), 0);
    }
}
