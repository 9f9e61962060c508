//! A small cluster scheduler: tasks, machines that fail and come back, a scheduler that starts tasks again.

use raddle::actors::{Actor, Address, Context};

use super::{ETA, queues};
use crate::program::{Expected, Group, Program, parameter};

/// `scheduler`.
///
/// Each task is run at least once, whichever machines fail when. A machine that is down hears nothing;
/// when it is up again it says so.
pub const SCHEDULER: Program = Program::new(
    "scheduler",
    Group::Actors,
    "t tasks run on m machines, of which some fail f times",
)
.source(ETA)
.many(scheduler, &PARAMETERS);

/// `scheduler-lost-task`.
///
/// The scheduler starts the tasks of a machine that failed again, maybe on that machine, which is
/// still down and hears nothing.
pub const SCHEDULER_LOST_TASK: Program = Program::new(
    "scheduler-lost-task",
    Group::Actors,
    "tasks of a machine that failed may be given to it again",
)
.many(scheduler_lost_task, &PARAMETERS)
.fails(Expected::Panic, |_| 0);

const PARAMETERS: [crate::Parameter; 3] =
    [parameter("m", 2, 1, 16), parameter("t", 1, 1, 64), parameter("f", 1, 0, 16)];

#[derive(Clone, Debug, Hash)]
enum ToScheduler {
    /// A machine is up.
    Up {
        machine: usize,
        address: Address<ToMachine>,
    },
    /// The input: a task.
    Submit {
        task: usize,
    },
    Done {
        task: usize,
    },
    /// A machine has failed, and what ran on it is lost.
    Failed {
        machine: usize,
    },
}

#[derive(Clone, Copy, Debug, Hash)]
enum ToMachine {
    Run {
        task: usize,
    },
    /// A task is at its end, unless the machine has failed since it began.
    Finish {
        task: usize,
        life: usize,
    },
    Fail,
    Repair,
}

#[derive(Clone, Debug, Hash)]
struct Machine {
    number: usize,
    scheduler: Address<ToScheduler>,
    environment: Address<ToEnvironment>,
    is_up: bool,
    /// How often it has failed.
    life: usize,
}

impl Actor for Machine {
    type Message = ToMachine;
    raddle::actors::snapshots!();

    fn start(&mut self, cx: &mut Context<'_, ToMachine>) {
        self.say_up(cx);
    }

    fn handle(&mut self, message: ToMachine, cx: &mut Context<'_, ToMachine>) {
        let me = cx.me().clone();
        match message {
            ToMachine::Run { task } if self.is_up => {
                cx.send(&me, ToMachine::Finish { task, life: self.life });
            }
            ToMachine::Finish { task, life } if self.is_up && life == self.life => {
                cx.send(&self.scheduler, ToScheduler::Done { task });
            }
            ToMachine::Fail if self.is_up => {
                self.is_up = false;
                self.life += 1;
                cx.send(&self.scheduler, ToScheduler::Failed { machine: self.number });
                cx.send(&self.environment, ToEnvironment::Broken(me));
            }
            ToMachine::Repair => {
                self.is_up = true;
                self.say_up(cx);
            }
            ToMachine::Run { .. } | ToMachine::Finish { .. } | ToMachine::Fail => {}
        }
    }
}

impl Machine {
    fn say_up(&self, cx: &mut Context<'_, ToMachine>) {
        let address = cx.me().clone();
        cx.send(&self.scheduler, ToScheduler::Up { machine: self.number, address });
    }
}

#[derive(Clone, Debug, Default, Hash)]
struct Host {
    /// None if it is down, as far as is known.
    address: Option<Address<ToMachine>>,
    /// What it has been given and has not finished.
    tasks: Vec<usize>,
}

#[derive(Clone, Debug, Hash)]
struct Scheduler {
    hosts: Vec<Host>,
    /// Tasks that no machine is there for.
    pending: Vec<usize>,
    done: Vec<usize>,
    /// A machine that failed is taken to be up: wrong.
    forgets_failures: bool,
}

impl Scheduler {
    /// Gives a task to the machine that has the fewest.
    fn place(&mut self, task: usize, cx: &mut Context<'_, ToScheduler>) {
        let up = self.hosts.iter_mut().filter(|host| host.address.is_some());
        let Some(host) = up.min_by_key(|host| host.tasks.len()) else {
            self.pending.push(task);
            return;
        };
        host.tasks.push(task);
        if let Some(address) = &host.address {
            cx.send(address, ToMachine::Run { task });
        }
    }
}

impl Actor for Scheduler {
    type Message = ToScheduler;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToScheduler, cx: &mut Context<'_, ToScheduler>) {
        match message {
            ToScheduler::Up { machine, address } => {
                self.hosts[machine].address = Some(address);
                for task in std::mem::take(&mut self.pending) {
                    self.place(task, cx);
                }
            }
            ToScheduler::Submit { task } => self.place(task, cx),
            ToScheduler::Done { task } => {
                for host in &mut self.hosts {
                    host.tasks.retain(|other| *other != task);
                }
                if !self.done.contains(&task) {
                    self.done.push(task);
                }
            }
            ToScheduler::Failed { machine } => {
                if !self.forgets_failures {
                    self.hosts[machine].address = None;
                }
                for task in std::mem::take(&mut self.hosts[machine].tasks) {
                    self.place(task, cx);
                }
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
enum ToEnvironment {
    /// The input: a machine is to fail, one of these.
    Strike(Vec<Address<ToMachine>>),
    Broken(Address<ToMachine>),
}

/// Which machine fails, and that it is repaired.
#[derive(Clone, Debug, Hash)]
struct Environment;

impl Actor for Environment {
    type Message = ToEnvironment;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToEnvironment, cx: &mut Context<'_, ToEnvironment>) {
        match message {
            ToEnvironment::Strike(machines) => {
                let machine = cx.choose_from(&machines);
                cx.send(machine, ToMachine::Fail);
            }
            ToEnvironment::Broken(machine) => cx.send(&machine, ToMachine::Repair),
        }
    }
}

fn run(arguments: &[usize], forgets_failures: bool) {
    let &[m, t, f] = arguments else { unreachable!("it takes three arguments") };
    let system = queues();
    let (pending, done) = (Vec::new(), Vec::new());
    let scheduler = Scheduler { hosts: vec![Host::default(); m], pending, done, forgets_failures };
    let scheduler = system.spawn(scheduler);
    let environment = system.spawn(Environment);
    let machine = |number| {
        let (scheduler, environment) = (scheduler.clone(), environment.clone());
        Machine { number, scheduler, environment, is_up: true, life: 0 }
    };
    let machines: Vec<_> = (0..m).map(|number| system.spawn(machine(number))).collect();
    for task in 0..t {
        system.send(&scheduler, ToScheduler::Submit { task });
    }
    for _ in 0..f {
        system.send(&environment, ToEnvironment::Strike(machines.clone()));
    }
    system.handle_all();
    let mut done = system.inspect(&scheduler, |scheduler: &Scheduler| scheduler.done.clone());
    done.sort_unstable();
    assert!(done.iter().copied().eq(0..t), "a task was lost: of {t} these were run: {done:?}");
}

/// All tasks are run.
pub fn scheduler(arguments: &[usize]) {
    run(arguments, false);
}

/// All tasks are run; wrong, because they may be given to a machine that is down.
pub fn scheduler_lost_task(arguments: &[usize]) {
    run(arguments, true);
}
