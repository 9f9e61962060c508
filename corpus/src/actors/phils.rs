//! Philosophers who ask forks by messages: a coordination protocol.

use std::collections::VecDeque;

use raddle::actors::{Actor, Address, Context};

use super::{ETA, queues};
use crate::program::{Expected, Group, Program, parameter};

/// `phils`.
///
/// A philosopher asks for the left fork, and when it has that, for the right one; then eats and puts
/// both back. A fork that is taken remembers who waits. Everybody may hold one fork in the end and wait
/// for the other: that is known of the protocol and no failure here, so that every execution is run.
///
/// Interleavings, as published: 150 for 2 and 3,159,870 for 3.
pub const PHILS: Program =
    Program::new("phils", Group::Actors, "n ask for the left fork, then the right one, and eat")
        .source(ETA)
        .one(phils, &[parameter("n", 2, 2, 8)])
        .interleavings(|n| match n[0] {
            2 => Some(150),
            3 => Some(3_159_870),
            _ => None,
        });

/// `phils-starve`.
pub const PHILS_STARVE: Program =
    Program::new("phils-starve", Group::Actors, "the same, and everybody is to have eaten")
        .one(phils_starve, &[parameter("n", 2, 2, 8)])
        .fails(Expected::Panic, |_| 0);

/// `phils-fixed`.
pub const PHILS_FIXED: Program =
    Program::new("phils-fixed", Group::Actors, "the last one asks for the right fork first")
        .one(phils_fixed, &[parameter("n", 2, 2, 8)]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ToPhilosopher {
    /// The input: time to eat.
    Hungry,
    /// A fork is yours.
    Yours,
}

#[derive(Clone, Debug, Hash)]
enum ToFork {
    Take(Address<ToPhilosopher>),
    PutBack,
}

#[derive(Clone, Debug, Hash)]
struct Philosopher {
    /// In the order in which it asks for them.
    forks: [Address<ToFork>; 2],
    holds: usize,
    meals: usize,
}

impl Actor for Philosopher {
    type Message = ToPhilosopher;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToPhilosopher, cx: &mut Context<'_, ToPhilosopher>) {
        if message == ToPhilosopher::Yours {
            self.holds += 1;
        }
        if let Some(next) = self.forks.get(self.holds) {
            let me = cx.me().clone();
            cx.send(next, ToFork::Take(me));
            return;
        }
        self.meals += 1;
        self.holds = 0;
        for fork in &self.forks {
            cx.send(fork, ToFork::PutBack);
        }
    }
}

#[derive(Clone, Debug, Default, Hash)]
struct Fork {
    holder: Option<Address<ToPhilosopher>>,
    waiting: VecDeque<Address<ToPhilosopher>>,
}

impl Actor for Fork {
    type Message = ToFork;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToFork, cx: &mut Context<'_, ToFork>) {
        match message {
            ToFork::Take(who) => self.waiting.push_back(who),
            ToFork::PutBack => self.holder = None,
        }
        if self.holder.is_none() {
            self.holder = self.waiting.pop_front();
            if let Some(holder) = &self.holder {
                cx.send(holder, ToPhilosopher::Yours);
            }
        }
    }
}

/// How a table is left: how often each has eaten, how many forks each holds, who holds each fork.
struct Left {
    meals: Vec<usize>,
    holds: Vec<usize>,
    held: usize,
}

fn dine(n: usize, last_is_different: bool) -> Left {
    let system = queues();
    let forks: Vec<_> = (0..n).map(|_| system.spawn(Fork::default())).collect();
    let sit = |nth: usize| {
        let mut forks = [forks[nth].clone(), forks[(nth + 1) % n].clone()];
        if last_is_different && nth + 1 == n {
            forks.reverse();
        }
        system.spawn(Philosopher { forks, holds: 0, meals: 0 })
    };
    let philosophers: Vec<_> = (0..n).map(sit).collect();
    for philosopher in &philosophers {
        system.send(philosopher, ToPhilosopher::Hungry);
    }
    system.handle_all();
    let look = |of: fn(&Philosopher) -> usize| {
        philosophers.iter().map(|address| system.inspect(address, of)).collect()
    };
    let held = |fork: &&Address<ToFork>| system.inspect(fork, |fork: &Fork| fork.holder.is_some());
    Left {
        meals: look(|philosopher| philosopher.meals),
        holds: look(|philosopher| philosopher.holds),
        held: forks.iter().filter(held).count(),
    }
}

/// All have eaten, or all hold one fork.
pub fn phils(n: usize) {
    let Left { meals, holds, held } = dine(n, false);
    assert_eq!(holds.iter().sum::<usize>(), held, "a fork has one holder");
    let all_ate = meals.iter().all(|meals| *meals == 1) && held == 0;
    let all_wait = meals.iter().all(|meals| *meals == 0) && holds.iter().all(|holds| *holds == 1);
    assert!(all_ate || all_wait, "some wait and some do not: {meals:?} {holds:?}");
}

/// All have eaten; wrong, because all may wait.
pub fn phils_starve(n: usize) {
    let meals = dine(n, false).meals;
    assert!(meals.iter().all(|meals| *meals == 1), "somebody has not eaten: {meals:?}");
}

/// All have eaten.
pub fn phils_fixed(n: usize) {
    let Left { meals, held, .. } = dine(n, true);
    assert!(meals.iter().all(|meals| *meals == 1), "somebody has not eaten: {meals:?}");
    assert_eq!(held, 0);
}
