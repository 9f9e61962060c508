//! One program and one test, under all four managers: on threads, each in turn, at random, and every
//! order of messages.

use std::time::Duration;

use raddle_actors::{Actor, Address, Context, Manager, Reply, System, Timer};

/// Knows how much of something there is.
struct Stock {
    left: u32,
    sold: u32,
}

#[derive(Debug)]
enum ToStock {
    Take(Address<ToBuyer>, u32),
    HowMuch(Reply<u32>),
}

impl Actor for Stock {
    type Message = ToStock;

    fn handle(&mut self, message: ToStock, cx: &mut Context<'_, ToStock>) {
        match message {
            ToStock::Take(buyer, wanted) => {
                let given = wanted.min(self.left);
                self.left -= given;
                self.sold += given;
                cx.send(&buyer, ToBuyer::Have(given));
            }
            ToStock::HowMuch(reply) => cx.reply(reply, self.left),
        }
    }
}

/// Wants some of it, in several parts, and asks again after a while if it does not get enough.
struct Buyer {
    stock: Address<ToStock>,
    wanted: u32,
    has: u32,
    heard: Option<u32>,
    timer: Option<Timer>,
}

#[derive(Debug)]
enum ToBuyer {
    Begin,
    Have(u32),
    Left(u32),
    Again,
}

impl Buyer {
    fn new(stock: &Address<ToStock>, wanted: u32) -> Self {
        Self { stock: stock.clone(), wanted, has: 0, heard: None, timer: None }
    }
}

impl Actor for Buyer {
    type Message = ToBuyer;

    fn start(&mut self, cx: &mut Context<'_, ToBuyer>) {
        let me = cx.me().clone();
        cx.send(&me, ToBuyer::Begin);
    }

    fn handle(&mut self, message: ToBuyer, cx: &mut Context<'_, ToBuyer>) {
        match message {
            ToBuyer::Begin => {
                let part = cx.choose(2) + 1;
                let me = cx.me().clone();
                cx.send(&self.stock, ToStock::Take(me, part));
                self.timer = Some(cx.set_timer(Duration::from_millis(1), ToBuyer::Again));
            }
            ToBuyer::Have(n) => {
                self.has += n;
                if self.has >= self.wanted
                    && let Some(timer) = self.timer.take()
                {
                    cx.cancel(timer);
                }
            }
            ToBuyer::Again => {
                assert!(self.timer.is_some(), "a timer that was cancelled has fired");
                cx.ask(&self.stock, ToStock::HowMuch, ToBuyer::Left);
            }
            ToBuyer::Left(n) => self.heard = Some(n),
        }
    }
}

/// The test. Whatever the order: nothing is sold twice, and nothing gets lost.
fn nothing_is_sold_twice(system: &System) {
    let stock = system.spawn_named("stock", Stock { left: 3, sold: 0 });
    let buyers = [2, 2].map(|wanted| system.spawn(Buyer::new(&stock, wanted)));
    system.handle_all();
    let has = buyers.each_ref().map(|buyer| system.inspect(buyer, |buyer: &Buyer| buyer.has));
    let left = system.ask(&stock, ToStock::HowMuch);
    assert_eq!(left, system.inspect(&stock, |stock: &Stock| stock.left));
    assert_eq!(has.iter().sum::<u32>() + left, 3);
    assert_eq!(system.inspect(&stock, |stock: &Stock| stock.sold), 3 - left);
    for (buyer, has) in buyers.iter().zip(has) {
        let heard = system.inspect(buyer, |buyer: &Buyer| buyer.heard);
        assert!(heard.is_some() || has == 2, "somebody gave up: {has}, {heard:?}");
    }
}

fn with(manager: Manager) -> System {
    System::builder().manager(manager).build()
}

#[test]
fn on_threads() {
    for threads in 0..4 {
        nothing_is_sold_twice(&with(Manager::Concurrent { threads }));
    }
}

#[test]
fn each_in_turn() {
    nothing_is_sold_twice(&with(Manager::Deterministic));
}

#[test]
fn at_random() {
    for seed in 0..100 {
        nothing_is_sold_twice(&with(Manager::Random { seed }));
    }
}

#[test]
#[cfg(feature = "check")]
fn in_every_order() {
    raddle::check(|| nothing_is_sold_twice(&with(Manager::Exploratory)));
}
