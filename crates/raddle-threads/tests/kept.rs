//! How much a process keeps of executions that failed. In a binary of its own, because the count is of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_engine::{Limits, MOST_KEPT, Setup, Stop, explore, kept};
use raddle_threads::sync::Mutex;
use raddle_trace::Note;

struct Counts(Arc<AtomicU64>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_process_keeps_so_many_unfinished_tasks_and_unwinds_the_others() {
    const MORE: u64 = 10;
    let dropped = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&dropped);
    let made = Arc::new(AtomicU64::new(0));
    let runs = Arc::clone(&made);
    let limits = Limits { executions: MOST_KEPT + MORE, ..Limits::default() };
    let setup = Setup { limits, keep_going: true, ..Setup::default() };
    let mut strategy = raddle_search::build("random", 1).expect("known").strategy;
    let explored = explore(&mut *strategy, &setup, &mut |_| Stop::No, &mut |_| {}, &move || {
        runs.fetch_add(1, Ordering::SeqCst);
        let _counts = Counts(Arc::clone(&seen));
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    })
    .expect("a search can run here");
    // One unfinished task in each execution, and every one fails. Some are run twice and counted once.
    assert_eq!(explored.kinds["deadlock"], MOST_KEPT + MORE);
    let unwound = made.load(Ordering::SeqCst) - MOST_KEPT;
    assert!(unwound >= MORE);
    assert_eq!((kept(), dropped.load(Ordering::SeqCst)), (MOST_KEPT, unwound));
    let says = |note: &Note| matches!(note, Note::Text { text } if text.contains("16384 of them are kept"));
    assert!(explored.notes.iter().any(says), "{:?}", explored.notes);
}
