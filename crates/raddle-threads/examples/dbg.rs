//! scratch
use raddle_engine::op::*;
use raddle_engine::strategy::*;
use raddle_engine::*;
use raddle_search::dpor::*;
use raddle_threads::sync::*;
use raddle_threads::thread;
use std::sync::Arc as A;
struct L(Dpor, Vec<String>);
impl Strategy for L {
    fn needs(&self) -> Needs {
        self.0.needs()
    }
    fn begin(&mut self, p: &mut Plan) -> bool {
        let r = self.0.begin(p);
        eprintln!("-- begin {:?}", p.prefix);
        self.1.clear();
        r
    }
    fn decide(&mut self, p: &Point<'_>) -> Answer {
        let r = self.0.decide(p);
        if let Answer::Cut(_) = r {
            eprintln!("   CUT at {:?} options {:?}", self.1, p.options);
        }
        r
    }
    fn withdrawn(&mut self, s: &Stuck) { self.0.withdrawn(s) }
  fn spawn(&mut self, a: TaskId, b: TaskId) {
        self.0.spawn(a, b)
    }
    fn value(&mut self, t: TaskId, k: Taken) {
        self.0.value(t, k)
    }
    fn step(&mut self, s: &Step<'_>) -> Option<Cut> {
        if !s.immediate {
            self.1.push(format!("{}{:?}{}", s.task.0, s.footprint[0].1, s.footprint[0].0.0));
        }
        let r = self.0.step(s);
        if r.is_some() {
            eprintln!("   CUT(step) at {:?}", self.1);
        }
        r
    }
    fn end(&mut self, f: &Finished<'_>) {
        eprintln!("   {}", self.1.join(" "));
        self.0.end(f)
    }
    fn covered(&self) -> raddle_trace::Covered {
        self.0.covered()
    }
}
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let prog = move || { let _ = n;
    let h: Vec<_> = (0..2).map(|_| thread::spawn(move || thread::park_timeout(std::time::Duration::from_secs(1)))).collect();
    for h in h { h.join().unwrap(); }
  };
  let mut s = L(Dpor::new(Reduction::Optimal), vec![]);
    let r = explore(&mut s, &Setup { limits: Limits { executions: 6, ..Limits::default() }, ..Setup::default() }, &mut |_| Stop::No, &mut |_| {}, &prog).unwrap();
    eprintln!("{:?} {:?}", r.ended, r.counts);
}
