//! What threads send into channels, in the order in which each sends it.
//!
//! The order of receives at a channel is that of the sends, and to send is a step of a thread that can be held. So a plan
//! has each message sent as late as it can be: when it is received. All that its sender sends before it is sent
//! then, too, and so is what the thread had sent that spawned the sender, if it was before that.

use std::collections::BTreeMap;

use super::recording::{MailboxOrder, Run};
use super::{Bits, spawners};

/// The messages of an execution that were sent into channels and received.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    /// Of each thread: the places of what it sent, in the order of the sends.
    by_sender: BTreeMap<u64, Vec<u32>>,
    spawned: BTreeMap<u64, (u64, (u32, u32))>,
    /// How many receives there had been when the message was sent that is received at a place. Empty if there are no
    /// channels.
    sent_after: Vec<u32>,
}

impl Posts {
    pub(crate) fn new(run: &Run) -> Self {
        let mut posts = Self::default();
        let is_post = |at: &usize| run.received[*at].order == MailboxOrder::Channel;
        let places: Vec<usize> = (0..run.received.len()).filter(is_post).collect();
        if places.is_empty() {
            return posts;
        }
        posts.sent_after = vec![0; run.received.len()];
        for &at in &places {
            let received = &run.received[at];
            posts.by_sender.entry(received.sender).or_default().push(at as u32);
            if let Some(spawned) = received.spawned {
                posts.spawned.insert(received.sender, spawned);
            }
            // It counts what was received from channels; a plan counts what actors received, too.
            let next = places.get(received.sent_after as usize).copied();
            posts.sent_after[at] = next.unwrap_or(at).min(at) as u32;
        }
        for sent in posts.by_sender.values_mut() {
            sent.sort_by_key(|&at| run.received[at as usize].sent_at());
        }
        posts
    }

    /// How many receives there had been when the message was sent that is received at this place.
    pub(crate) fn sent_after(&self, place: usize) -> usize {
        self.sent_after[place] as usize
    }

    /// What is sent before the message that is received at a place, and that message, but for what was posted.
    pub(crate) fn needed(&self, run: &Run, place: usize, posted: &Bits) -> Vec<u32> {
        let received = &run.received[place];
        let own = (received.sender, received.sent_at());
        let mut senders: Vec<_> = spawners(&self.spawned, received.sender).collect();
        senders.reverse();
        let mut needed = Vec::new();
        for (sender, before) in senders.into_iter().chain([own]) {
            let sent = self.by_sender.get(&sender).into_iter().flatten();
            let is_needed = |at: &&u32| run.received[**at as usize].sent_at() < before;
            let left = |at: &&u32| !posted.contains(**at as usize);
            needed.extend(sent.take_while(is_needed).filter(left).copied());
        }
        if !posted.contains(place) {
            needed.push(place as u32);
        }
        needed
    }
}
