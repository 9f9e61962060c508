//! What shuttle's users write compiles and does what it does under shuttle.
#![expect(clippy::unwrap_used, reason = "as users of shuttle write it")]

use raddle_shuttle as shuttle;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Mutex as StdMutex;
use std::task::{Context, Waker};

use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness, TryAcquireError};
use shuttle::future::{JoinError, block_on, spawn, spawn_local, yield_now};
use shuttle::rand::Rng as _;
use shuttle::scheduler::{
    AnnotationScheduler, DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, Scheduler,
    UrwRandomScheduler,
};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex, mpsc};
use shuttle::{
    Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner, check_random, current, thread,
};

/// Tests that are also run with shuttle itself (`bench/peer-shuttle`).
mod moved {
    use raddle_shuttle as shuttle;

    include!("../../raddle/tests/moved/shuttle.rs");
}

fn increment_in_two_steps() {
    let n = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&n);
    let thread = thread::spawn(move || {
        let seen = theirs.load(Ordering::SeqCst);
        theirs.store(seen + 1, Ordering::SeqCst);
    });
    let seen = n.load(Ordering::SeqCst);
    n.store(seen + 1, Ordering::SeqCst);
    thread.join().unwrap();
    assert_eq!(n.load(Ordering::SeqCst), 2, "an update was lost");
}

/// The text of the panic that `run` ends with.
fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it fails");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a panic has a text")).to_owned(),
    }
}

#[test]
fn every_scheduler_finds_a_lost_update() {
    let schedulers: [Box<dyn Scheduler + Send>; 5] = [
        Box::new(RandomScheduler::new(1_000)),
        Box::new(RandomScheduler::new_from_seed(7, 1_000)),
        Box::new(PctScheduler::new(3, 1_000)),
        Box::new(UrwRandomScheduler::new(1_000)),
        Box::new(DfsScheduler::new(None, false)),
    ];
    for scheduler in schedulers {
        let runner = Runner::new(scheduler, Config::new());
        assert!(panic_of(|| _ = runner.run(increment_in_two_steps)).contains("an update was lost"));
    }
}

#[test]
fn a_runner_returns_how_many_executions_it_ran() {
    let two_stores = || {
        let n = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&n);
        let thread = thread::spawn(move || theirs.store(1, Ordering::SeqCst));
        n.store(2, Ordering::SeqCst);
        thread.join().unwrap();
    };
    assert_eq!(Runner::new(DfsScheduler::new(None, false), Config::new()).run(two_stores), 2);
    assert_eq!(Runner::new(RandomScheduler::new(17), Config::new()).run(two_stores), 17);
}

#[test]
fn a_portfolio_finds_what_one_of_its_members_finds() {
    let mut runner = PortfolioRunner::new(true, Config::new());
    runner.add(RandomScheduler::new(500));
    runner.add(PctScheduler::new(2, 500));
    assert!(panic_of(|| runner.run(increment_in_two_steps)).contains("an update was lost"));
}

#[test]
fn a_schedule_is_written_to_a_file_and_replayed_from_it() {
    let directory = std::env::temp_dir().join(format!("raddle-shuttle-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::File(Some(directory.clone()));
    let runner = Runner::new(RandomScheduler::new(1_000), config);
    let text = panic_of(|| _ = runner.run(increment_in_two_steps));
    let file = directory.join("schedule000.txt");
    assert!(text.contains(&file.display().to_string()), "{text}");
    let again = panic_of(|| shuttle::replay_from_file(increment_in_two_steps, &file));
    assert!(again.contains("an update was lost"));
    let token = std::fs::read_to_string(&file).unwrap();
    let again = panic_of(|| shuttle::replay(increment_in_two_steps, &token));
    assert!(again.contains("an update was lost"));
    assert!(ReplayScheduler::new_from_file(directory.join("not there")).is_err());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn an_execution_of_too_many_steps_fails_or_is_left_as_the_settings_say() {
    let ten_stores = || {
        let n = AtomicUsize::new(0);
        (0..10).for_each(|i| n.store(i, Ordering::SeqCst));
    };
    let run = |max_steps| {
        let mut config = Config::new();
        config.max_steps = max_steps;
        Runner::new(RandomScheduler::new(3), config).run(ten_stores)
    };
    assert!(panic_of(|| _ = run(MaxSteps::FailAfter(5))).contains("more than 5 steps"));
    assert_eq!(run(MaxSteps::FailAfter(100)), 3);
    assert_eq!(run(MaxSteps::None), 3);
}

#[test]
fn tasks_are_awaited_in_every_order() {
    static SEEN: StdMutex<BTreeSet<[usize; 2]>> = StdMutex::new(BTreeSet::new());
    check_random(
        || {
            let n = Arc::new(AtomicUsize::new(0));
            let task = |n: &Arc<AtomicUsize>| {
                let n = Arc::clone(n);
                spawn(async move { n.fetch_add(1, Ordering::SeqCst) })
            };
            let (one, two) = (task(&n), task(&n));
            let seen = block_on(async { [one.await.unwrap(), two.await.unwrap()] });
            SEEN.lock().unwrap().insert(seen);
        },
        200,
    );
    assert_eq!(*SEEN.lock().unwrap(), BTreeSet::from([[0, 1], [1, 0]]));
}

#[test]
fn a_task_that_is_aborted_is_cancelled_and_its_future_dropped() {
    struct Told(Arc<AtomicBool>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    check_random(
        || {
            let dropped = Arc::new(AtomicBool::new(false));
            let told = Told(Arc::clone(&dropped));
            let task = spawn(async move {
                std::future::pending::<()>().await;
                drop(told);
            });
            assert!(!task.is_finished());
            task.abort_handle().abort();
            assert_eq!(block_on(task), Err(JoinError::Cancelled));
            assert!(dropped.load(Ordering::SeqCst));
        },
        100,
    );
}

#[test]
fn a_detached_task_does_not_keep_an_execution_from_its_end() {
    check_random(
        || {
            let (sender, receiver) = mpsc::channel::<u32>();
            drop(spawn(async move {
                let _sender = sender;
                loop {
                    yield_now().await;
                    std::future::pending::<()>().await;
                }
            }));
            assert!(receiver.try_recv().is_err());
        },
        100,
    );
}

#[test]
fn a_task_that_waits_for_ever_and_is_awaited_is_a_deadlock() {
    let text = panic_of(|| check_random(|| block_on(std::future::pending::<()>()), 10));
    assert!(text.contains("deadlock"), "{text}");
}

#[test]
fn a_panic_in_a_task_fails_the_test() {
    let body = || {
        let task = spawn(async { panic!("the task gives up") });
        let _: Result<(), _> = block_on(task);
    };
    assert!(panic_of(|| check_random(body, 10)).contains("the task gives up"));
}

#[test]
fn a_local_task_may_have_what_is_not_send() {
    check_random(
        || {
            let shared = Rc::new(Cell::new(1));
            let theirs = Rc::clone(&shared);
            let task = spawn_local(async move {
                theirs.set(2);
                theirs
            });
            assert_eq!(block_on(task).map(|back| back.get()), Ok(2));
        },
        10,
    );
}

#[test]
fn permits_are_never_given_twice() {
    for fairness in [Fairness::StrictlyFair, Fairness::Unfair] {
        check_random(
            move || {
                let semaphore = Arc::new(BatchSemaphore::new(2, fairness));
                let inside = Arc::new(AtomicUsize::new(0));
                let tasks: Vec<_> = (0..3)
                    .map(|_| {
                        let (semaphore, inside) = (Arc::clone(&semaphore), Arc::clone(&inside));
                        spawn(async move {
                            semaphore.acquire(2).await.unwrap();
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
                            inside.fetch_sub(1, Ordering::SeqCst);
                            semaphore.release(2);
                        })
                    })
                    .collect();
                block_on(async {
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
                assert_eq!(semaphore.available_permits(), 2);
                assert_eq!(semaphore.try_acquire(3), Err(TryAcquireError::NoPermits));
                semaphore.close();
                assert!(semaphore.acquire_blocking(1).is_err());
            },
            200,
        );
    }
}

#[test]
fn random_numbers_are_part_of_the_schedule() {
    let body = || assert!(shuttle::rand::thread_rng().gen_range(0..100) != 42, "forty-two");
    let text = panic_of(|| check_random(body, 10_000));
    assert!(text.contains("forty-two"), "{text}");
    let runner = Runner::new(DfsScheduler::new(None, true), Config::new());
    assert_eq!(runner.run(|| _ = shuttle::rand::thread_rng().r#gen::<u64>()), 1);
}

#[test]
fn a_thread_begins_with_the_labels_of_its_parent() {
    check_random(
        || {
            let main = current::me();
            assert_eq!(usize::from(main), 0);
            current::set_label_for_task(main, 7_u32);
            current::set_name_for_task(main, "main");
            let thread = thread::spawn(|| {
                let me = current::me();
                let inherited = current::get_label_for_task::<u32>(me);
                current::set_label_for_task(me, 8_u32);
                (usize::from(me), inherited)
            });
            assert_eq!(thread.join().unwrap(), (1, Some(7)));
            assert_eq!(current::get_label_for_task::<u32>(main), Some(7));
            assert_eq!(format!("{main:?}"), "main(0)");
            assert_eq!(current::remove_label_for_task::<u32>(main), Some(7));
        },
        10,
    );
}

shuttle::lazy_static! {
    static ref TOTAL: Mutex<u32> = Mutex::new(0);
}

shuttle::thread_local! {
    static MINE: std::cell::Cell<u32> = std::cell::Cell::new(1);
}

#[test]
fn statics_and_locals_begin_anew_in_each_execution() {
    check_random(
        || {
            shuttle::lazy_static::initialize(&TOTAL);
            *TOTAL.lock().unwrap() += 1;
            MINE.with(|mine| mine.set(mine.get() + 1));
            let thread = thread::spawn(|| {
                *TOTAL.lock().unwrap() += 1;
                MINE.with(Cell::get)
            });
            assert_eq!(thread.join().unwrap(), 1);
            assert_eq!((*TOTAL.lock().unwrap(), MINE.with(Cell::get)), (2, 2));
        },
        50,
    );
}

/// The text of a report, as one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_has_no_meaning_here_is_a_note_of_the_report() {
    let mut config = Config::new();
    (config.stack_size, config.record_steps_in_span) = (1 << 20, true);
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    let mut runner = PortfolioRunner::new(false, config);
    runner.add(AnnotationScheduler::new(RandomScheduler::new(100)));
    let report = one_line(&panic_of(|| {
        runner.run(|| {
            current::reset_step_count();
            increment_in_two_steps();
        });
    }));
    for note in [
        "Config::stack_size has no meaning here",
        "Config::record_steps_in_span has no meaning here",
        "Config::ungraceful_shutdown_config has no meaning here",
        "no annotated schedule is written here",
        "a portfolio stops at its first failure here, although stop_on_first_failure is false",
        "current::reset_step_count changes nothing here",
    ] {
        assert_eq!(report.matches(note).count(), 1, "{note}\n{report}");
    }
    let report = one_line(&panic_of(|| check_random(increment_in_two_steps, 1_000)));
    assert!(!report.contains("note: "), "{report}");
}

/// Run by the test below in a process of its own.
#[test]
fn passes_with_what_the_environment_says() {
    assert_eq!(Runner::new(RandomScheduler::new(17), Config::new()).run(|| {}), 17);
}

#[test]
fn a_pass_is_in_the_last_lines_with_the_variables_that_were_ignored() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(&name);
        }
    }
    command.args(["passes_with_what_the_environment_says", "--exact"]);
    let variables = [
        ("SHUTTLE_RANDOM_SEED", "7"),
        ("SHUTTLE_SILENCE_WARNINGS", "1"),
        (shuttle::CAPTURE_BACKTRACE, "1"),
    ];
    let output = command.envs(variables).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("raddle: what 1 passed test covers"), "{text}");
    assert!(
        text.contains("passes_with_what_the_environment_says: 17 sampled executions"),
        "{text}"
    );
    assert_eq!(text.matches("note: ").count(), 1, "{text}");
    assert!(text.contains("note: SHUTTLE_CAPTURE_BACKTRACE was ignored"), "{text}");
    let output = command.env("SHUTTLE_RANDOM_SEED", "seven").output().unwrap();
    assert!(!output.status.success(), "a seed is a number");
}

#[test]
fn an_upgrade_comes_before_those_who_wait_and_lets_none_of_them_in() {
    for fairness in [Fairness::StrictlyFair, Fairness::Unfair] {
        check_random(
            move || {
                let lock = Arc::new(BatchSemaphore::new(3, fairness));
                let written = Arc::new(AtomicUsize::new(0));
                lock.try_acquire(1).unwrap();
                let (theirs, writes) = (Arc::clone(&lock), Arc::clone(&written));
                let alone = spawn(async move {
                    theirs.acquire(3).await.unwrap();
                    writes.fetch_add(1, Ordering::SeqCst);
                    theirs.release(3);
                });
                let theirs = Arc::clone(&lock);
                let reader = spawn(async move {
                    theirs.acquire(1).await.unwrap();
                    theirs.release(1);
                });
                let seen = written.load(Ordering::SeqCst);
                block_on(lock.upgrade(1, 3)).unwrap();
                assert_eq!(written.load(Ordering::SeqCst), seen, "a writer came between");
                assert_eq!(lock.try_upgrade(3, 4), Err(TryAcquireError::NoPermits));
                lock.release(3);
                block_on(async { (alone.await.unwrap(), reader.await.unwrap()) });
                assert_eq!(lock.available_permits(), 3);
            },
            300,
        );
    }
}

#[test]
fn a_request_that_can_be_passed_holds_nobody_up_and_one_that_reserves_does() {
    check_random(
        || {
            let fair = BatchSemaphore::new(2, Fairness::StrictlyFair);
            fair.try_acquire(1).unwrap();
            let mut waits = Box::pin(fair.acquire_bypassable(2));
            assert!(is_pending(waits.as_mut()));
            assert_eq!(fair.try_acquire(1), Ok(()), "it passes");
            fair.release(2);
            assert_eq!(fair.try_acquire(1), Err(TryAcquireError::NoPermits), "its turn has come");
            block_on(waits).unwrap();

            let unfair = BatchSemaphore::new(2, Fairness::Unfair);
            unfair.try_acquire(1).unwrap();
            let mut waits = Box::pin(unfair.acquire_reserving(1, 2));
            assert!(is_pending(waits.as_mut()));
            assert_eq!(unfair.available_permits(), 0);
            assert_eq!(unfair.try_acquire(1), Err(TryAcquireError::NoPermits), "it is kept");
            drop(waits);
            assert_eq!(unfair.try_acquire(1), Ok(()));
            unfair.close_no_scheduling_point();
            assert!(unfair.is_closed());
        },
        20,
    );
}

fn is_pending<F: Future>(future: Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn a_parent_makes_the_labels_of_its_children() {
    check_random(
        || {
            assert_eq!(current::try_get_current_task(), Some(current::me()));
            let before = current::context_switches();
            let name: current::ChildLabelFn = current::ChildLabelFn(Arc::new(|id, labels| {
                labels.insert(current::TaskName::from(format!("child {id}").as_str()));
            }));
            current::set_label_for_task(current::me(), name);
            let n = Arc::new(AtomicUsize::new(0));
            let theirs = Arc::clone(&n);
            let thread = thread::spawn(move || {
                theirs.fetch_add(1, Ordering::SeqCst);
                current::get_name_for_task(current::me())
            });
            n.fetch_add(1, Ordering::SeqCst);
            assert_eq!(thread.join().unwrap(), Some(current::TaskName::from("child 1")));
            assert!(current::context_switches() > before);
        },
        10,
    );
    assert_eq!(current::try_get_current_task(), None);
}

#[test]
#[expect(deprecated, reason = "as in shuttle")]
fn a_tag_is_inherited_and_can_be_taken_for_what_it_is() {
    #[derive(Debug)]
    struct Shift(u32);
    impl current::Taggable for Shift {}
    let number = |tag: Option<std::sync::Arc<dyn current::Tag>>| {
        tag.and_then(|tag| tag.as_any().downcast_ref::<Shift>().map(|shift| shift.0))
    };
    check_random(
        move || {
            assert!(current::get_tag_for_current_task().is_none());
            assert!(current::set_tag_for_current_task(Arc::new(Shift(1))).is_none());
            let thread = thread::spawn(move || number(current::get_tag_for_current_task()));
            assert_eq!(thread.join().unwrap(), Some(1));
            assert_eq!(
                number(current::set_tag_for_task(current::me(), Arc::new(Shift(2)))),
                Some(1)
            );
            assert_eq!(number(current::get_tag_for_task(current::me())), Some(2));
        },
        10,
    );
}
