//! scratch
use raddle_engine::happens::History;
use raddle_engine::strategy::*;
use raddle_engine::*;
use raddle_search::dpor::*;
use raddle_threads::sync::atomic::*;
use raddle_threads::sync::*;
use raddle_threads::thread;
use std::sync::Arc as A;
struct L<S>(S, Vec<String>, History, std::collections::BTreeMap<u64, String>, bool);
impl<S: Strategy> Strategy for L<S> {
    fn needs(&self) -> Needs {
        Needs { steps: true }
    }
    fn begin(&mut self, p: &mut Plan) -> bool {
        let r = self.0.begin(p);
        if self.4 {
            eprintln!("-- begin {:?}", p.prefix);
        }
        self.1.clear();
        self.2.begin(0);
        r
    }
    fn decide(&mut self, p: &Point<'_>) -> Answer {
        let r = self.0.decide(p);
        if let Answer::Cut(_) = r {
            self.1.push(format!("CUT{:?}", p.options));
        }
        r
    }
    fn spawn(&mut self, a: TaskId, b: TaskId) {
        self.0.spawn(a, b);
        self.2.spawn(a, b)
    }
    fn withdrawn(&mut self, s: &Stuck) {
        self.0.withdrawn(s)
    }
    fn value(&mut self, t: TaskId, k: Taken) {
        self.0.value(t, k);
        self.2.value(t, k.option)
    }
    fn step(&mut self, s: &Step<'_>) -> Option<Cut> {
        self.2.step(s);
        if !s.immediate {
            self.1.push(format!("{}{:?}{}", s.task.0, s.footprint[0].1, s.footprint[0].0.0));
        }
        let r = self.0.step(s);
        if r.is_some() {
            self.1.push("CUT".into());
        }
        r
    }
    fn end(&mut self, f: &Finished<'_>) {
        if self.4 {
            eprintln!("   {} {:x}", self.1.join(" "), self.2.fingerprint());
        }
        if f.cut.is_none() {
            self.3.insert(self.2.fingerprint(), self.1.join(" "));
        }
        self.0.end(f)
    }
    fn covered(&self) -> raddle_trace::Covered {
        self.0.covered()
    }
}
fn main() {
    let prog = || {
        let (s, r) = mpsc::channel::<usize>();
        let s = A::new(Mutex::new(Some(s)));
        let r = A::new(Mutex::new(Some(r)));
        let r2 = r.clone();
        let a = thread::spawn(move || {
            let x = r2.lock().unwrap().take().unwrap();
            let _ = x.recv_timeout(std::time::Duration::from_secs(1));
            *r2.lock().unwrap() = Some(x);
        });
        let t = s.lock().unwrap().clone();
        t.unwrap().send(1).unwrap();
        a.join().unwrap();
    };
    let setup = Setup {
        keep_going: true,
        limits: Limits { executions: 300, ..Limits::default() },
        ..Setup::default()
    };
    let mut d = L(
        raddle_search::depth_first::DepthFirst::default(),
        vec![],
        History::default(),
        Default::default(),
        false,
    );
    explore(&mut d, &setup, &mut |_| Stop::No, &mut |_| {}, &prog).unwrap();
    let mut s =
        L(Dpor::new(Reduction::Source), vec![], History::default(), Default::default(), true);
    let r = explore(&mut s, &setup, &mut |_| Stop::No, &mut |_| {}, &prog).unwrap();
    eprintln!("{:?} {:?}", r.ended, r.counts);
    for (k, v) in &d.3 {
        if !s.3.contains_key(k) {
            eprintln!("LOST {v}");
        }
    }
}
