//! Calling contexts: what they are called, and that they hang on nothing but the calls.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use raddle_engine::context::{Context, key, names, of};
use raddle_engine::observer::{Observer, ObserverNeeds, Observers};
use raddle_engine::op::TaskId;
use raddle_engine::scope::Scope;
use raddle_engine::strategy::{Answer, Cut, Event, Finished, Options, Plan, Point};
use raddle_engine::{Ended, Setup, Stop, explore_observed};
use raddle_search::DepthFirst;
use raddle_threads::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle_threads::sync::{Condvar, Mutex};
use raddle_threads::thread;

/// What was heard of a step: its place among those of its task, where it stands, its context.
type Heard = (u32, u32, u32, Context);

/// Keeps the contexts, of this depth, of what happens.
#[derive(Default)]
struct Listener {
    depth: u8,
    nth: BTreeMap<TaskId, u32>,
    steps: BTreeSet<Heard>,
    /// Contexts that were pending where something was decided.
    pending: BTreeSet<Context>,
    executions: u64,
}

impl Observer for Listener {
    fn needs(&self) -> ObserverNeeds {
        ObserverNeeds {
            steps: true,
            decisions: true,
            contexts: self.depth,
            ..ObserverNeeds::default()
        }
    }

    fn begin(&mut self, _: &Plan) {
        self.nth.clear();
    }

    fn decided(&mut self, point: &Point<'_>, _: Answer) {
        if let Options::Schedule(choices) = point.options {
            self.pending.extend(choices.iter().map(|choice| point.pending.context(choice.task)));
        }
    }

    fn event(&mut self, event: &Event<'_>, _: Option<Cut>) {
        let Event::Step(step) = event else { return };
        let nth = self.nth.entry(step.task).or_default();
        *nth += 1;
        self.steps.insert((step.task.0, *nth, step.site.line(), step.context));
    }

    fn end(&mut self, _: &Finished<'_>) {
        self.executions += 1;
    }
}

/// All executions, with contexts of this depth.
fn listen(depth: u8, program: &dyn Fn()) -> Listener {
    listen_with(&Setup::default(), depth, program)
}

fn listen_with(setup: &Setup, depth: u8, program: &dyn Fn()) -> Listener {
    let (mut search, mut listener) = (DepthFirst::default(), Listener::default());
    listener.depth = depth;
    let observers: Observers<'_, '_> = &mut [&mut listener];
    let (lap, pulse) = (&mut |_| Stop::No, &mut |_| {});
    let explored = explore_observed(&mut search, observers, setup, lap, pulse, program);
    assert_eq!(explored.expect("a search can run here").ended, Ended::Covered);
    listener
}

/// The last segments of the names, as they are whatever debug information there is.
fn last_names(context: Context) -> Vec<String> {
    let last = |name: &Arc<str>| name.rsplit("::").next().expect("not empty").to_owned();
    names(context).iter().map(last).collect()
}

/// Walked stacks need an unwinder.
const WALKS: bool = cfg!(all(unix, not(target_arch = "arm")));

#[inline(never)]
fn store(n: &AtomicU32) {
    n.store(1, SeqCst);
    std::hint::black_box(());
}

#[inline(never)]
fn left(n: &AtomicU32) {
    store(n);
    std::hint::black_box(());
}

#[inline(never)]
fn right(n: &AtomicU32) {
    // Through std's code and a closure.
    std::iter::once(n).fold((), |(), n| store(n));
    std::hint::black_box(());
}

macro_rules! callers {
    ($($name:ident)+) => {$(
        #[inline(never)]
        fn $name(n: &AtomicU32) {
            store(n);
            std::hint::black_box(());
        }
    )+};
}

callers! { first second third }

// All three have frames of one size, so a stack looks the same but for where it returns to.
#[test]
fn callers_of_one_shape_are_told_apart() {
    if !WALKS {
        return;
    }
    let callers = [first, second, third, second, first, third, third, first, second];
    let program = || {
        let n = AtomicU32::new(0);
        for caller in callers {
            std::hint::black_box(caller)(&n);
        }
    };
    let names =
        ["first", "second", "third", "second", "first", "third", "third", "first", "second"];
    for _ in 0..2 {
        let found: Vec<_> = contexts(2, &program).into_iter().map(last_names).collect();
        assert_eq!(found, names.map(|name| vec!["store".to_owned(), name.to_owned()]));
    }
}

/// The context of each step of a program's only task.
fn contexts(depth: u8, program: &dyn Fn()) -> Vec<Context> {
    let steps = listen(depth, program).steps;
    steps.into_iter().map(|(_, _, _, context)| context).collect()
}

#[test]
fn a_context_is_the_innermost_calls() {
    if !WALKS {
        return;
    }
    let program = || {
        let n = AtomicU32::new(0);
        left(&n);
        right(&n);
        left(&n);
    };
    let found = contexts(2, &program);
    let [first, second, third] = found[..] else { panic!("{found:?}") };
    assert_eq!(first, third, "equal calls");
    assert_eq!(last_names(first), ["store", "left"]);
    let through = last_names(second);
    assert!(through == ["store", "right"] || through == ["store", "{closure}"], "{through:?}");
    let innermost = contexts(1, &program);
    assert!(innermost.iter().all(|context| last_names(*context) == ["store"]), "{innermost:?}");
}

#[test]
fn nobody_asks_and_nothing_is_looked_at() {
    let found = contexts(0, &|| left(&AtomicU32::new(0)));
    assert_eq!(found, [Context::NONE]);
}

#[test]
fn a_scope_counts_as_a_call() {
    #[inline(never)]
    fn scoped(n: &AtomicU32) {
        let scope = Scope::new("queue.push");
        let _entered = scope.enter();
        n.store(1, SeqCst);
        left(n);
    }
    let found = contexts(1, &|| scoped(&AtomicU32::new(0)));
    assert_eq!(last_names(found[0]), ["queue.push"]);
    let found = contexts(4, &|| scoped(&AtomicU32::new(0)));
    if WALKS {
        assert_eq!(last_names(found[0])[..2], ["queue.push", "scoped"]);
        // The scope is further out than what is called in it.
        assert_eq!(last_names(found[1])[..3], ["store", "left", "queue.push"]);
        assert_eq!(last_names(found[1])[3], "scoped");
    }
}

#[test]
fn a_scope_ends_with_its_block_and_by_unwinding() {
    let program = || {
        let n = AtomicU32::new(0);
        {
            let scope = Scope::new("block");
            let _entered = scope.enter();
            n.store(1, SeqCst);
        }
        n.store(2, SeqCst);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let scope = Scope::new("panics");
            let _entered = scope.enter();
            n.store(3, SeqCst);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(caught.is_err());
        n.store(4, SeqCst);
    };
    let inside = |context: &Context| {
        let names = names(*context);
        names.iter().any(|name| matches!(&**name, "block" | "panics"))
    };
    let found = contexts(9, &program);
    assert_eq!(found.iter().map(inside).collect::<Vec<_>>(), [true, false, true, false]);
}

#[test]
fn each_task_has_its_own_scopes() {
    let listener = listen(1, &|| {
        let n = Arc::new(AtomicU32::new(0));
        let threads = ["one", "two"].map(|name| {
            let n = Arc::clone(&n);
            thread::spawn(move || {
                let scope = Scope::new(name);
                let _entered = scope.enter();
                n.store(1, SeqCst);
                n.store(2, SeqCst);
            })
        });
        for thread in threads {
            thread.join().expect("it does not panic");
        }
    });
    assert!(listener.executions >= 6, "C(4, 2)");
    let of_task = |task: u32| -> BTreeSet<Context> {
        let steps = listener.steps.iter().filter(|step| step.0 == task);
        steps.map(|step| step.3).collect()
    };
    assert_eq!(of_task(1), BTreeSet::from([of(&["one"])]));
    assert_eq!(of_task(2), BTreeSet::from([of(&["two"])]));
}

/// Locks, waits, closures and a destructor, called in several ways; which step comes n-th in a task does not
/// depend on what it sees.
fn varied() {
    struct Last<'a>(&'a AtomicU32);
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            store(self.0);
        }
    }
    let shared = Arc::new((AtomicU32::new(0), Mutex::new(0), Condvar::new()));
    let theirs = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let (n, mutex, ready) = &*theirs;
        let scope = Scope::new("worker");
        let _entered = scope.enter();
        let _last = Last(n);
        left(n);
        *mutex.lock().expect("not poisoned") += 1;
        ready.notify_all();
    });
    let (n, mutex, ready) = &*shared;
    right(n);
    let guard = mutex.lock().expect("not poisoned");
    let waited = ready.wait_timeout(guard, Duration::from_millis(1));
    drop(waited.expect("not poisoned"));
    thread.join().expect("it does not panic");
    left(n);
}

// Of each task the n-th step has one context, in whichever execution; and what is pending at a decision is
// what is then heard of as a step.
#[test]
fn a_context_does_not_depend_on_the_schedule() {
    for depth in [1, 3, 9] {
        let listener = listen(depth, &varied);
        assert!(listener.executions > 50, "{}", listener.executions);
        let mut of_site = BTreeMap::<(u32, u32, u32), BTreeSet<Context>>::new();
        for &(task, nth, line, context) in &listener.steps {
            of_site.entry((task, nth, line)).or_default().insert(context);
        }
        let several: Vec<_> = of_site.iter().filter(|(_, contexts)| contexts.len() > 1).collect();
        assert!(several.is_empty(), "{several:?}");
        let stepped: BTreeSet<Context> = listener.steps.iter().map(|step| step.3).collect();
        assert!(listener.pending.is_subset(&stepped));
        let again = listen(depth, &varied);
        assert_eq!(again.steps, listener.steps, "and the same in another search");
    }
}

#[test]
fn another_os_thread_has_the_same_numbers() {
    let here = contexts(3, &|| left(&AtomicU32::new(0)));
    #[expect(clippy::disallowed_methods, reason = "a thread of the operating system is meant")]
    let there = std::thread::spawn(|| contexts(3, &|| left(&AtomicU32::new(0))));
    let there = there.join().expect("it does not panic");
    let keys = |list: &[Context]| list.iter().map(|context| key(*context)).collect::<Vec<_>>();
    // The closures are two functions, so the third name may differ.
    assert_eq!(last_names(here[0])[..2], last_names(there[0])[..2]);
    let two = |context: Context| {
        let names = names(context);
        of(&names.iter().take(2).map(|name| &**name).collect::<Vec<_>>())
    };
    assert_eq!(two(here[0]), two(there[0]));
    assert_eq!(keys(&[two(here[0])]), keys(&[two(there[0])]));
}

#[test]
fn a_timer_has_the_context_of_the_wait_it_ends() {
    #[inline(never)]
    fn pause() {
        let scope = Scope::new("pause");
        let _entered = scope.enter();
        thread::sleep(Duration::from_millis(1));
    }
    let found = contexts(1, &pause);
    assert_eq!(found, [of(&["pause"])]);
}

// Deep in the program's own calls the walk ends at the depth that is asked for.
#[test]
fn recursion_counts_once() {
    fn down(n: u32, at: &AtomicU32) {
        if n == 0 {
            at.store(1, SeqCst);
        } else {
            down(n - 1, at);
        }
        std::hint::black_box(n);
    }
    let seen = Rc::new(RefCell::new(Vec::new()));
    for n in [1, 40] {
        let found = contexts(2, &move || down(n, &AtomicU32::new(0)));
        seen.borrow_mut().push(last_names(found[0])[0].clone());
    }
    if WALKS {
        assert_eq!(*seen.borrow(), ["down", "down"]);
    }
}

// To find names takes more stack than this task has, so there are scopes alone; unless the pool has a larger
// stack for it.
#[test]
fn a_small_stack_is_not_walked() {
    let program = || {
        let scope = Scope::new("small");
        let _entered = scope.enter();
        store(&AtomicU32::new(0));
    };
    let setup = Setup { stack_size: 16 << 10, ..Setup::default() };
    let listener = listen_with(&setup, 1, &program);
    let found = listener.steps.into_iter().map(|step| last_names(step.3)).collect::<Vec<_>>();
    assert!(found == [["small"]] || found == [["store"]], "{found:?}");
}
