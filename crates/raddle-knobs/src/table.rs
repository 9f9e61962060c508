//! The table.

/// Calls a macro with every setting: those of [`Config`] first, then the driver's own.
///
/// An entry is a field with its documentation and, in braces, what a value is ([`Value`](crate::Value);
/// words have the variant they stand for after `=>`), the default as text, where it can be given
/// ([`Scope`](crate::Scope)), and one line for lists. Two more if they apply: what to do `instead` where
/// `cargo raddle` refuses the variable, and `same_to_resume` if it decides which executions there are.
///
/// Types are named as they are in scope where the macro is called.
///
/// [`Config`]: https://docs.rs/raddle/latest/raddle/struct.Config.html
#[macro_export]
macro_rules! with_knobs {
    ($($then:tt)*) => {
    $($then)*! {
    config {
        /// A composition such as `random`, `pct(3)`, `surw`, `dfs` or `dfs preemptions(2)`; several with
        /// `|` between them; or `portfolio` or `auto`.
        ///
        /// `a | b | c` is a portfolio: these searches are run at once, or in turns, until one finds a
        /// failure or has covered every execution. `portfolio` is the one with the members that did best
        /// in `docs/results/gambit-portfolios.md`.
        ///
        /// `auto`, the default, is `dpor` and two samplers in turns, so that the same is run on every machine. They
        /// have as many executions each until the samplers have had half of the budget; then `dpor` goes on
        /// alone, so that it has the other half. With a limit of time alone the budget is taken for 10,000, and after it
        /// the samplers go on until they have had as many as `dpor`, and then all alike. When `dpor` has ended, `dfs`
        /// goes on for a few executions: it also sees what tasks share outside of raddle's types.
        ///
        /// ```
        /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
        ///
        /// let mut config = raddle::Config::default();
        /// config.strategy = "dpor | pos".into();
        /// let report = raddle::explore(config, || {
        ///     let n = AtomicU32::new(0);
        ///     raddle::thread::scope(|scope| {
        ///         scope.spawn(|| n.fetch_add(1, SeqCst));
        ///         n.fetch_add(1, SeqCst);
        ///     });
        /// })?;
        /// // Two orders of the two steps: `dpor` has run both, so no member need go on.
        /// assert_eq!(report.verdict, raddle::Verdict::Covered);
        /// assert_eq!(report.members[0].counts.executions, 2);
        /// # Ok::<(), raddle::Error>(())
        /// ```
        strategy: String {
            value: (Strategy),
            default: "auto",
            scope: Search,
            line: "which executions, in which order",
        }
        /// Short for `preemptions(k)` in the strategy, which is `dfs` if it was `auto`.
        preemptions: Option<u32> {
            value: (Number u32),
            default: "none",
            scope: Search,
            line: "short for preemptions(k) in the strategy",
        }
        /// Executions of the search, of all members together if there are several. If this and `time`
        /// are `None`: 10,000 for `auto`, for samplers and for portfolios with one, no limit for searches
        /// that end by themselves, such as `dfs`.
        executions: Option<u64> {
            value: (Number u64),
            default: "none",
            scope: Search,
            line: "executions of one search",
        }
        /// Wall time of the search.
        time: Option<Duration> {
            value: (Time),
            default: "none",
            scope: Search,
            line: "wall time of one search",
        }
        /// Wall time of one execution: one that takes longer is rejected. Noticed between steps.
        execution_time: Option<Duration> {
            value: (Time),
            default: "none",
            scope: Search,
            same_to_resume: true,
            line: "wall time of one execution; one that takes longer is rejected",
        }
        /// Steps of one execution: a longer one is a livelock if nothing changed for half of them,
        /// else it is rejected. `None`: 1,000,000.
        steps: Option<u64> {
            value: (Number u64),
            default: "none",
            scope: Search,
            same_to_resume: true,
            line: "steps of one execution",
        }
        /// Tasks of one execution, timers included. `None`: 10,000.
        tasks: Option<u32> {
            value: (Number u32),
            default: "none",
            scope: Search,
            same_to_resume: true,
            line: "tasks of one execution, timers included",
        }
        /// Bytes that the strategy may hold for alternatives which it knows of and has not run; the
        /// members of a portfolio have equal shares. `None`: 4 GiB. `all best-first(..)` moves what is more
        /// to a file under `target/raddle/`, which is gone when the search is; other searches stop there.
        memory: Option<u64> {
            value: (Memory),
            default: "none",
            scope: Search,
            line: "bytes that the strategy may hold for what it has not run",
        }
        /// Members of a portfolio that run at once, each on an OS thread. `None`: one for each core if
        /// `time` is given; else 1, so that the members take turns and a test does the same every time.
        ///
        /// If a test has raddle's objects in statics, its members take turns whatever this is. Set it to 1
        /// if executions of the test must not overlap for other reasons: a file, a static of std.
        members: Option<u32> {
            value: (Number u32),
            default: "none",
            scope: Search,
            line: "members of a portfolio that run at once",
        }
        /// The seed of all that is drawn. `None`: 0, so that a test does the same every time.
        seed: Option<u64> {
            value: (Number u64),
            default: "none",
            scope: Search,
            line: "the seed of all that is drawn",
        }
        /// When a timed wait may end by its timeout: whenever it is pending (`any`), only when nothing else can move
        /// (`idle`), or not at all (`never`, in which a sleep still ends).
        timeouts: Timeouts {
            value: (Word "any" => Any, "idle" => Idle, "never" => Never),
            default: "any",
            scope: Search,
            same_to_resume: true,
            line: "when a timed wait may end by its timeout",
        }
        /// Whether condition variables wake, and weak compare-exchanges fail, for no reason. More
        /// executions, and closer to what hardware does.
        spurious: bool {
            value: (Flag),
            default: "false",
            scope: Search,
            same_to_resume: true,
            line: "whether waits wake, and weak exchanges fail, for no reason",
        }
        /// After how many rounds a loop that only looks waits for a change.
        ///
        /// A task that has made so many successive identical rounds (the same loads, failed compare-exchanges
        /// and failed tries of locks at the same places of the source) while nothing it read has changed does not
        /// go on before something it read changes; the guarantee says so. Then a reduction covers programs that
        /// spin, and every search ends. What a loop does only after more rounds, because it counts them, is out of
        /// reach, unless nothing else can move: raise the number to what it counts to. Loops that are marked by
        /// [`hint::await_until`](crate::hint::await_until) wait after each round and need no setting. `None`: 2 with
        /// `dpor`, no limit for other strategies, whose tasks let each other move after some fifty steps. 0: no limit.
        ///
        /// ```
        /// use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
        ///
        /// let mut config = raddle::Config::default();
        /// config.strategy = "dpor".into();
        /// config.rounds = Some(1);
        /// let report = raddle::explore(config, || {
        ///     let ready = AtomicBool::new(false);
        ///     raddle::thread::scope(|scope| {
        ///         scope.spawn(|| ready.store(true, SeqCst));
        ///         while !ready.load(SeqCst) {}
        ///     });
        /// })?;
        /// // The store comes before the first load, or after it and before the second.
        /// assert_eq!((report.verdict, report.counts.executions), (raddle::Verdict::Covered, 2));
        /// # Ok::<(), raddle::Error>(())
        /// ```
        rounds: Option<u32> {
            value: (Number u32),
            default: "none",
            scope: Search,
            same_to_resume: true,
            line: "after how many identical rounds a loop that only looks waits for a change",
        }
        /// Whether the values of [`rng`](crate::rng()) are decisions.
        data: Data {
            value: (Word "decisions" => Decisions, "seeded" => Seeded),
            default: "decisions",
            scope: Search,
            same_to_resume: true,
            line: "whether values of raddle::rng are decisions",
        }
        /// Whether distinct partial orders are counted: one by one up to 1,000,000, then estimated. The
        /// guarantee has the number, and for samplers that draw every execution with the same chances
        /// how likely a new one is. Executions take longer.
        ///
        /// ```
        /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
        ///
        /// let mut config = raddle::Config::default();
        /// config.strategy = "pos".into();
        /// config.executions = Some(100);
        /// config.traces = true;
        /// let report = raddle::explore(config, || {
        ///     let n = AtomicU32::new(0);
        ///     raddle::thread::scope(|scope| {
        ///         scope.spawn(|| n.store(1, SeqCst));
        ///         n.store(2, SeqCst);
        ///     });
        /// })?;
        /// let traces = report.guarantee.traces.expect("asked for");
        /// assert_eq!((traces.distinct, traces.exact), (2, true));
        /// // No order was seen only once, so a third one is unlikely.
        /// assert_eq!(traces.unseen.map(|unseen| unseen.chance()), Some(0.0));
        /// # Ok::<(), raddle::Error>(())
        /// ```
        traces: bool {
            value: (Flag),
            default: "false",
            scope: Search,
            same_to_resume: true,
            line: "whether distinct partial orders are counted",
        }
        /// Whether it is learned which statement directly preceded which of another task, in executions that
        /// pass: a measure of what a search has shown. Executions take longer.
        ///
        /// ```
        /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
        ///
        /// let mut config = raddle::Config::default();
        /// config.strategy = "dfs".into();
        /// config.pairs = raddle::Pairs::Count;
        /// let report = raddle::explore(config, || {
        ///     let n = AtomicU32::new(0);
        ///     raddle::thread::scope(|scope| {
        ///         scope.spawn(|| n.store(1, SeqCst));
        ///         n.store(2, SeqCst);
        ///     });
        /// })?;
        /// // Each store came directly after the other.
        /// assert_eq!(report.coverage.expect("asked for").count.known, 2);
        /// # Ok::<(), raddle::Error>(())
        /// ```
        pairs: Pairs {
            value: (Word "off" => Off, "count" => Count, "keep" => Keep),
            default: "off",
            scope: Search,
            same_to_resume: true,
            line: "whether orders of statements are counted, and kept for the next run",
        }
        /// Whether it is learned in which orders actors receive their messages, and threads those of a channel: Bita's
        /// criteria as a measure of what a search has shown. A pair of receives of one actor, or from one channel, is
        /// covered when both orders were seen.
        ///
        /// ```
        /// # #[cfg(feature = "actors")] {
        /// use raddle::actors::{Actor, Context, System};
        ///
        /// struct Last(u32);
        /// impl Actor for Last {
        ///     type Message = u32;
        ///     fn handle(&mut self, value: u32, _: &mut Context<'_, u32>) {
        ///         self.0 = value;
        ///     }
        /// }
        ///
        /// let mut config = raddle::Config::default();
        /// config.strategy = "dfs".into();
        /// config.receives = raddle::Receives::Count;
        /// let report = raddle::explore(config, || {
        ///     let system = System::new();
        ///     let last = system.spawn(Last(0));
        ///     system.send(&last, 1);
        ///     system.send(&last, 2);
        ///     system.handle_all();
        /// })?;
        /// // One sender: the order is always the same.
        /// let seen = report.receives.expect("asked for");
        /// assert_eq!((seen.count.pr.pairs, seen.count.pr.covered, seen.open), (1, 0, (0, 1)));
        /// # }
        /// # Ok::<(), raddle::Error>(())
        /// ```
        receives: Receives {
            value: (Word "off" => Off, "count" => Count, "keep" => Keep),
            default: "off",
            scope: Search,
            same_to_resume: true,
            line: "whether orders of receives of actors and from channels are counted, and kept for the next run",
        }
        /// The execution that `bita` begins with, instead of one at random: a token (`rd1…`), the path of a file that raddle
        /// wrote, or a schedule of receives (a file `*.receives`), which is forced. Other strategies have no use for it and
        /// refuse it.
        ///
        /// ```
        /// use raddle::sync::mpsc;
        ///
        /// fn test() {
        ///     let (to_main, from_threads) = mpsc::channel();
        ///     for name in ["a", "b"] {
        ///         let to_main = to_main.clone();
        ///         raddle::thread::spawn(move || to_main.send(name));
        ///     }
        ///     let first = from_threads.recv().expect("one is sent");
        ///     assert_eq!(first, "a");
        /// }
        /// let mut config = raddle::Config::default();
        /// config.strategy = "random".into();
        /// let failure = raddle::explore(config.clone(), test)?.failure.expect("`b` may be first");
        ///
        /// config.strategy = "bita".into();
        /// config.start_with = Some(failure.schedule.to_string());
        /// let again = raddle::explore(config, test)?.failure.expect("it fails at once");
        /// assert_eq!(again.execution, 1);
        /// # Ok::<(), raddle::Error>(())
        /// ```
        start_with: Option<String> {
            value: (Recording),
            default: "none",
            scope: Search,
            same_to_resume: true,
            line: "the recorded execution that the strategy `bita` begins with; at random if left out",
        }
        /// What happens to tasks that are unfinished when an execution ends early.
        ///
        /// By default (`auto`) they are left as they are after a failure: no destructor of theirs runs that
        /// could hang, or end the process, before the failure is reported. What they hold is never freed, so
        /// a process keeps at most 16,384 of them, about 250 MiB if they hold little; if there are more, these
        /// are unwound, and the report says so. After an execution that ended early without a failure they are
        /// unwound. `unwind` does that always, `leak` never.
        ///
        /// ```
        /// use raddle::sync::{Arc, Mutex};
        ///
        /// /// Ends the process if it is dropped by a panic.
        /// struct Guard;
        /// impl Drop for Guard {
        ///     fn drop(&mut self) {
        ///         if std::thread::panicking() {
        ///             std::process::abort();
        ///         }
        ///     }
        /// }
        ///
        /// let report = raddle::explore(raddle::Config::default(), || {
        ///     let lock = Arc::new(Mutex::new(()));
        ///     let held = lock.lock().unwrap();
        ///     let theirs = Arc::clone(&lock);
        ///     let waiting = raddle::thread::spawn(move || {
        ///         let _guard = Guard;
        ///         drop(theirs.lock());
        ///     });
        ///     waiting.join().unwrap();
        ///     drop(held);
        /// })?;
        /// // The thread still waits for the lock; to unwind it would end the process.
        /// assert_eq!(report.failure.expect("a deadlock").outcome.kind(), "deadlock");
        /// # Ok::<(), raddle::Error>(())
        /// ```
        teardown: Teardown {
            value: (Word "auto" => Auto, "unwind" => Unwind, "leak" => Leak),
            default: "auto",
            scope: Search,
            line: "what happens to unfinished tasks; auto leaks them after a failure and else unwinds them",
        }
        /// Whether executions share a process, and so their statics.
        ///
        /// ```
        /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
        ///
        /// static STARTED: AtomicU32 = AtomicU32::new(0);
        ///
        /// let mut config = raddle::Config::default();
        /// config.isolation = raddle::Isolation::Process;
        /// let report = raddle::explore(config, || {
        ///     assert_eq!(STARTED.fetch_add(1, Relaxed), 0, "an earlier execution was here");
        ///     raddle::thread::spawn(raddle::thread::yield_now);
        /// })?;
        /// # if cfg!(unix) {
        /// assert!(report.verdict.is_pass());
        /// # }
        /// # Ok::<(), raddle::Error>(())
        /// ```
        isolation: Isolation {
            value: (Word "none" => None, "process" => Process),
            default: "none",
            scope: Search,
            line: "whether each execution runs in a process of its own, so that statics start anew",
        }
        /// Bytes of stack for each task.
        stack_size: usize {
            value: (Size),
            default: "1m",
            scope: Search,
            line: "bytes of stack for each task",
        }
        /// How long an execution may go without a step before the search is given up as hung. With
        /// [`Isolation::Process`] it is that execution's failure instead. `None`: for ever.
        watchdog: Option<Duration> {
            value: (Time),
            default: "10s",
            scope: Search,
            line: "how long an execution may go without a step",
        }
        /// How long [`check`](crate::check()) may try to make a failure that it found smaller: fewer
        /// preemptions, then fewer steps, then fewer tasks. `None`: not at all. [`explore`](crate::explore())
        /// shows what it found; see [`minimise`](crate::minimise()).
        minimise: Option<Duration> {
            value: (Time),
            default: "2s",
            scope: Search,
            line: "wall time for making a failure small; none: it is left as it is",
        }
        /// How often the file of [`checkpoint`](Self::checkpoint) is written while the search runs: so much is lost,
        /// at most, if the process is killed. Less often if that would take more than a hundredth of the time, as
        /// of a search that holds much. `None`: only when the search is stopped.
        checkpoint_every: Option<Duration> {
            value: (Time),
            default: "30s",
            scope: Search,
            line: "time from one checkpoint of a search to the next; none: only when it is stopped",
        }
        /// Whether [`check`](crate::check()) looks into why the test fails: see
        /// [`explain`](crate::explain()). `None`: of failures that it found, not of replays.
        explain: Option<bool> {
            value: (MaybeFlag),
            default: "none",
            scope: Search,
            line: "whether a failure is explained: which orders of steps matter",
        }
        /// A file for what the search needs to go on later. It is written when the search is stopped before it is
        /// through, by a limit of time, memory or (if it was given) executions, and every
        /// [`checkpoint_every`](Self::checkpoint_every) before. If it is there already the search goes on from
        /// it, and the report is of all parts together: counts, traces and time; so are limits of executions,
        /// but not of time. It fits the same test, strategy, seed, settings and binary, else it is an error.
        /// When the search is over the file is removed.
        ///
        /// ```
        /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
        ///
        /// let search = |executions| {
        ///     let mut config = raddle::Config::default();
        ///     config.strategy = "dpor".into();
        ///     config.executions = executions;
        ///     let file = std::env::temp_dir().join(format!("{}.checkpoint", std::process::id()));
        ///     config.checkpoint = Some(file.to_string_lossy().into_owned());
        ///     raddle::explore(config, || {
        ///         let n = AtomicU32::new(0);
        ///         raddle::thread::scope(|scope| {
        ///             scope.spawn(|| n.store(1, SeqCst));
        ///             scope.spawn(|| n.store(2, SeqCst));
        ///             n.store(3, SeqCst);
        ///         });
        ///     })
        /// };
        /// assert_eq!(search(Some(4))?.verdict, raddle::Verdict::Passed);
        /// // Three stores have 3! orders: it runs the two that are left.
        /// let report = search(None)?;
        /// assert_eq!((report.verdict, report.counts.executions), (raddle::Verdict::Covered, 6));
        /// # Ok::<(), raddle::Error>(())
        /// ```
        checkpoint: Option<String> {
            value: (File),
            default: "none",
            scope: Run,
            instead: "cargo raddle keeps a checkpoint of each test by itself; unset it, and go on with \
                      cargo raddle test --resume",
            line: "a file from which the search goes on, if it is there, and which it writes when it is stopped",
        }
        /// Whether the search goes on from the file of [`checkpoint`](Self::checkpoint) if it is there; else it begins
        /// anew, and writes over it when it has something to write.
        resume: bool {
            value: (Flag),
            default: "true",
            scope: Run,
            instead: "cargo raddle test begins anew, and goes on from its checkpoints with --resume; unset it, \
                      and use that flag",
            line: "whether the search goes on from the file of checkpoint, or writes over it",
        }
        /// Replays instead of searching: a token (`rd1…`), or the path of a file that raddle wrote.
        replay: Option<String> {
            value: (Recording),
            default: "none",
            scope: Run,
            line: "what is replayed instead of searching",
        }
        /// Whether [`check`](crate::check()) writes lines to standard error while it searches, with the
        /// executions, the estimate and the time left. With `false` there are no lines either at the end of `cargo test`,
        /// which say what the tests that passed have covered.
        progress: ShowProgress {
            value: (WordOrTime Every, "auto" => Auto, "true" => Always, "false" => Never),
            default: "auto",
            scope: Run,
            line: "whether lines are written to standard error while the search runs, and how often",
        }
        /// A file to which a table in Markdown is added when the process ends: what each test came to, failures first. For the
        /// summary of a CI job: `RADDLE_SUMMARY=$GITHUB_STEP_SUMMARY cargo test`. With `cargo raddle`: `--summary`.
        summary: Option<String> {
            value: (File),
            default: "none",
            scope: Run,
            line: "a file to which a table of all tests is added, in Markdown",
        }
        /// Whether [`check`](crate::check()) shows every step of a failure: also unlocks that let no other task go
        /// on, what came after the failure and tasks on which nothing depends that led to it, and however many
        /// steps there are. With `cargo raddle`: `--full`.
        full: bool {
            value: (Flag),
            default: "false",
            scope: Run,
            line: "whether every step of a failure is shown, also those that cannot have led to it",
        }
        /// How [`check`](crate::check()) expects the test to end. [`explore`](crate::explore()) reports
        /// whatever it finds.
        expect: Expect {
            value: (Word
                "pass" => Pass,
                "panic" => Panic,
                "deadlock" => Deadlock,
                "livelock" => Livelock,
                "stack-overflow" => StackOverflow,
                "data-race" => DataRace
            ),
            default: "pass",
            scope: Test,
            line: "how the test has to end: it passes only if that is found",
        }
    }
    driver {
        jobs: Option<u32> {
            value: (Number u32),
            default: "none",
            scope: Driver,
            line: "hosts at a time; as many as there are processors if left out",
        }
        workers: Option<u32> {
            value: (Number u32),
            default: "none",
            scope: Driver,
            line: "hosts that share the search of one test; of `jobs` hosts each test then takes so many",
        }
        unit_executions: Option<u64> {
            value: (Number u64),
            default: "none",
            scope: Driver,
            line: "with `workers`: executions after which a host gives back what is left of its part; 200,000 if left out",
        }
        unit_time: Option<Duration> {
            value: (Time),
            default: "none",
            scope: Driver,
            line: "with `workers`: the time after which it does; 1s if left out",
        }
        host_memory: Option<u64> {
            value: (Memory),
            default: "none",
            scope: Driver,
            line: "bytes of memory for each host",
        }
        links: Option<String> {
            value: (Address),
            default: "none",
            scope: Driver,
            line: "where places on pages lead, nowhere with `none`; to Visual Studio Code if left out",
        }
    }
    }
    };
}
