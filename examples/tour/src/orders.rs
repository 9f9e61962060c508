//! A shop of actors: a stock that sells its last piece twice, and one that does not.

use raddle::actors::{Actor, Address, Context, Reply};

/// What a stock can be told.
#[derive(Debug)]
pub enum StockMessage {
    /// How many pieces are there?
    Count(Reply<u32>),
    /// Take one away.
    Take,
    /// Take one away if there is one, and say whether there was.
    TryTake(Reply<bool>),
}

/// How many pieces there are.
#[derive(Debug)]
pub struct Stock(pub u32);

impl Actor for Stock {
    type Message = StockMessage;

    fn handle(&mut self, message: StockMessage, cx: &mut Context<'_, StockMessage>) {
        match message {
            StockMessage::Count(reply) => cx.reply(reply, self.0),
            StockMessage::Take => {
                self.0 = self.0.checked_sub(1).expect("a piece that is sold is there");
            }
            StockMessage::TryTake(reply) => {
                let sold = self.0 > 0;
                self.0 -= u32::from(sold);
                cx.reply(reply, sold);
            }
        }
    }
}

/// What a till can be told.
#[derive(Debug)]
pub enum TillMessage {
    /// A customer wants a piece.
    Sell,
    /// So many pieces are there.
    Counted(u32),
    /// Whether a piece was there.
    Taken(bool),
}

/// Sells pieces of a stock.
#[derive(Debug)]
pub struct Till {
    stock: Address<StockMessage>,
    /// Looks first and takes then: wrong if there is another till.
    looks_first: bool,
    /// How many it has sold.
    pub sold: u32,
}

impl Till {
    /// One that takes a piece if there is one.
    #[must_use]
    pub fn new(stock: Address<StockMessage>) -> Self {
        Self { stock, looks_first: false, sold: 0 }
    }

    /// One that looks whether there is a piece, and then takes it.
    #[must_use]
    pub fn hasty(stock: Address<StockMessage>) -> Self {
        Self { stock, looks_first: true, sold: 0 }
    }
}

impl Actor for Till {
    type Message = TillMessage;

    fn handle(&mut self, message: TillMessage, cx: &mut Context<'_, TillMessage>) {
        match message {
            TillMessage::Sell if self.looks_first => {
                cx.ask(&self.stock, StockMessage::Count, TillMessage::Counted);
            }
            TillMessage::Sell => cx.ask(&self.stock, StockMessage::TryTake, TillMessage::Taken),
            TillMessage::Counted(pieces) => {
                if pieces > 0 {
                    cx.send(&self.stock, StockMessage::Take);
                    self.sold += 1;
                }
            }
            TillMessage::Taken(sold) => self.sold += u32::from(sold),
        }
    }
}
