use raddle_engine::*;
use raddle_threads::sync::atomic::*;
use raddle_threads::sync::{Arc, Mutex};
use raddle_threads::thread;
use std::time::Instant;

fn go(name: &str, strat: &str, n: u64, body: &dyn Fn()) {
    let mut s = raddle_search::build(strat, 1).unwrap().strategy;
    let mut setup = Setup::default();
    setup.limits.executions = n;
    let t = Instant::now();
    let r = explore(&mut *s, &setup, &mut |_| Stop::No, &mut |_| {}, body).unwrap();
    let e = t.elapsed();
    eprintln!(
        "{name} {strat}: {:?} {} executions, {} steps, {:.1} ns/exec {:.1} ns/step fail={:?} {:?}",
        r.ended,
        r.counts.executions,
        r.counts.steps,
        e.as_nanos() as f64 / r.counts.executions as f64,
        e.as_nanos() as f64 / r.counts.steps.max(1) as f64,
        r.failure.map(|f| f.outcome),
        r.notes
    );
}
fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let mut h = vec![];
    {
        let x = x.clone();
        h.push(thread::spawn(move || x.store(1, Ordering::SeqCst)));
    }
    for _ in 0..n {
        let x = x.clone();
        h.push(thread::spawn(move || {
            let y = AtomicUsize::new(0);
            y.load(Ordering::SeqCst);
            x.load(Ordering::SeqCst);
        }));
    }
    for h in h {
        h.join().unwrap();
    }
}
fn inc(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let h: Vec<_> = (0..n)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                let v = x.load(Ordering::SeqCst);
                x.store(v + 1, Ordering::SeqCst);
            })
        })
        .collect();
    for h in h {
        h.join().unwrap();
    }
}
fn main() {
    for n in 2..=4 {
        go("readers", "dfs", u64::MAX, &|| readers(n));
    }
    for n in 2..=4 {
        go("inc", "dfs", u64::MAX, &|| inc(n));
    }
    go("empty", "dfs", u64::MAX, &|| {
        let h: Vec<_> = (0..6).map(|_| thread::spawn(|| ())).collect();
        for h in h {
            h.join().unwrap();
        }
    });
    let tiny = || {
        let x = Arc::new(AtomicUsize::new(0));
        let h: Vec<_> = (0..2)
            .map(|_| {
                let x = x.clone();
                thread::spawn(move || {
                    x.fetch_add(1, Ordering::SeqCst);
                    x.load(Ordering::SeqCst);
                    x.store(1, Ordering::SeqCst);
                })
            })
            .collect();
        for h in h {
            h.join().unwrap();
        }
    };
    go("tiny", "dfs", u64::MAX, &tiny);
    go("tiny", "random", 1_000_000, &tiny);
    let long = || {
        let h: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(move || {
                    let x = AtomicUsize::new(0);
                    for _ in 0..1000 {
                        x.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for h in h {
            h.join().unwrap();
        }
    };
    go("long", "random", 10_000, &long);
    go("long", "round-robin", 10_000, &long);
    go("long", "dfs", 1000, &long);
    let locks = || {
        let m = Arc::new(Mutex::new(0));
        let h: Vec<_> = (0..3)
            .map(|_| {
                let m = m.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        *m.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        for h in h {
            h.join().unwrap();
        }
    };
    go("locks", "random", 300_000, &locks);
    go("locks", "dfs", u64::MAX, &locks);
    let abba = || {
        let a = Arc::new(Mutex::new(0));
        let b = Arc::new(Mutex::new(0));
        let (c, d) = (a.clone(), b.clone());
        let h = thread::spawn(move || {
            let _x = c.lock().unwrap();
            let _y = d.lock().unwrap();
        });
        {
            let _y = b.lock().unwrap();
            let _x = a.lock().unwrap();
        }
        h.join().unwrap();
    };
    go("abba", "dfs", u64::MAX, &abba);
    go("abba", "random", 1000, &abba);
    go("inc assert", "random", 1000, &|| {
        let x = Arc::new(AtomicUsize::new(0));
        let h: Vec<_> = (0..2)
            .map(|_| {
                let x = x.clone();
                thread::spawn(move || {
                    let v = x.load(Ordering::SeqCst);
                    x.store(v + 1, Ordering::SeqCst);
                })
            })
            .collect();
        for h in h {
            h.join().unwrap();
        }
        assert_eq!(x.load(Ordering::SeqCst), 2);
    });
    let spin = || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let h = thread::spawn(move || {
            while x.load(Ordering::SeqCst) == 0 {
                thread::yield_now()
            }
        });
        y.store(1, Ordering::SeqCst);
        h.join().unwrap();
    };
    go("spin", "dfs", u64::MAX, &spin);
    let spin = || {
        let x = Arc::new(AtomicUsize::new(0));
        let h = thread::spawn(move || {
            while x.load(Ordering::SeqCst) == 0 {
                thread::yield_now()
            }
        });
        h.join().unwrap();
    };
    go("livelock", "dfs", u64::MAX, &spin);
}
