//! A protocol on actors: payments over a network that may deliver a message twice.

use std::collections::BTreeSet;

use raddle::actors::{Actor, Address, Context, Faults, System};

#[derive(Clone, Debug, Hash)]
enum AccountMessage {
    Pay { id: u32, amount: u32 },
}

/// An account that books payments.
#[derive(Clone, Debug, Default, Hash)]
struct Account {
    balance: u32,
    /// The payments that were booked, if it looks for those that come again.
    booked: Option<BTreeSet<u32>>,
}

impl Actor for Account {
    type Message = AccountMessage;

    // Its messages can be copied, so they can be delivered twice.
    raddle::actors::snapshots!();

    fn handle(&mut self, message: AccountMessage, _: &mut Context<'_, AccountMessage>) {
        let AccountMessage::Pay { id, amount } = message;
        // ANCHOR: right
        // The network delivers at least once, so a payment is booked by its number, once.
        let is_new = self.booked.as_mut().is_none_or(|booked| booked.insert(id));
        if is_new {
            self.balance += amount;
        }
        // ANCHOR_END: right
    }
}

/// Pays when it is told to.
#[derive(Clone, Hash)]
struct Customer {
    account: Address<AccountMessage>,
    id: u32,
}

impl Actor for Customer {
    type Message = ();
    raddle::actors::snapshots!();

    fn handle(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.send(&self.account, AccountMessage::Pay { id: self.id, amount: 10 });
    }
}

// ANCHOR: test
/// Two customers pay, and one message of all may be delivered twice.
fn two_payments(account: Account) -> u32 {
    let faults = Faults { duplicates: 1, ..Faults::default() };
    let system = System::builder().faults(faults).build();
    let account = system.spawn_named("account", account);
    for id in [1, 2] {
        let customer = Customer { account: account.clone(), id };
        let customer = system.spawn_named(&format!("customer {id}"), customer);
        system.send(&customer, ());
    }
    system.handle_all();
    system.inspect(&account, |account: &Account| account.balance)
}

#[raddle::test]
fn each_payment_is_booked_once() {
    let account = Account { booked: Some(BTreeSet::new()), ..Account::default() };
    assert_eq!(two_payments(account), 20);
}
// ANCHOR_END: test

fn booked_twice() {
    assert_eq!(two_payments(Account::default()), 20);
}

#[test]
fn the_bug_is_reported() {
    crate::reports::compare("payments", booked_twice);
}
