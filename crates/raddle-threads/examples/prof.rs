//! scratch
use raddle_engine::*;
use raddle_threads::sync::atomic::*;
use raddle_threads::sync::{Arc, Mutex};
use raddle_threads::thread;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[3].parse().unwrap();
    let tiny = || {
        let x = Arc::new(AtomicUsize::new(0));
        let h: [_; 2] = std::array::from_fn(|_| {
            let x = x.clone();
            thread::spawn(move || {
                x.fetch_add(1, Ordering::SeqCst);
                x.load(Ordering::SeqCst);
                x.store(1, Ordering::SeqCst);
            })
        });
        for h in h {
            h.join().unwrap();
        }
    };
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
    let body: &dyn Fn() = match a[1].as_str() {
        "tiny" => &tiny,
        "long" => &long,
        "locks" => &locks,
        _ => panic!(),
    };
    let mut s = raddle_search::build(&a[2], 1).unwrap().strategy;
    let mut setup = Setup::default();
    setup.limits.executions = n;
    let t = std::time::Instant::now();
    let r = explore(&mut *s, &setup, &mut |_| Stop::No, &mut |_| {}, body).unwrap();
    let e = t.elapsed();
    eprintln!(
        "{} {}: {:.1} ns/exec {:.1} ns/step",
        a[1],
        a[2],
        e.as_nanos() as f64 / r.counts.executions as f64,
        e.as_nanos() as f64 / r.counts.steps as f64
    );
}
