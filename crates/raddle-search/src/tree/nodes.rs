//! The execution tree: what was run and has something below it that was not.
//!
//! GAMBIT's (Coons, Burckhardt, Musuvathi, `PPoPP` 2010, section 3.2): a node is a whole execution, kept as
//! what it does differently from its parent, (point, option). A node without pending descendants is
//! dropped, and so on upwards; at the end only the root is left. A node whose candidates came back from disk,
//! or from another search, has no parent: it has all decisions that lead to them.
//!
//! Where it differs: a node also keeps the decisions after its own, a byte each for most. GAMBIT takes
//! the default behaviour there again. Ours is handed to the engine as a plan, which is faster, is compared
//! with what happened before, and need not be a pure function of the point.
//!
//! No execution passes a point again after which nothing of a node is left. If executions are compared, so
//! that it is known which these are, they are forgotten.
//!
//! # Why: Best first keeps decisions
//! GAMBIT's nodes keep only where they depart from the default behaviour and take that again elsewhere. Ours keep the
//! decisions after it too, a byte each, so that a prefix is a plan: the engine repeats it without asking and compares
//! it with what happened before. `tree/nodes.rs`.

use raddle_engine::strategy::Taken;
use serde::{Deserialize, Serialize};

use super::path_points::{self, PathPoints};
use super::siblings::{SavedSibling, Sibling, Siblings};
use super::sizes::SavedPointSizes;

/// No node: above the root.
pub(super) const NONE: u32 = u32::MAX;

/// An execution that was run and has pending descendants.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: u32,
    /// Its first point that is not its parent's: its own decision is the one before.
    pub(super) from: u32,
    /// Children that are pending, or have pending descendants.
    pub(super) open: u32,
    /// Decisions that were not the default one: its depth.
    pub(super) departures: u32,
    /// The option it took at its own decision.
    own: u32,
    /// Where in its bytes the decisions end.
    split: u32,
    /// What it took from its first point on, as far as children need it, and what those points were if
    /// executions are compared (`path_points.rs`).
    bytes: Box<[u8]>,
    /// For priorities and reductions that compare executions.
    siblings: Siblings,
}

/// A node as it is saved, in a checkpoint or in a part of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedNode {
    pub(super) parent: Option<u32>,
    pub(super) from: u32,
    pub(super) departures: u32,
    pub(super) own: u32,
    pub(super) decisions: Vec<u8>,
    pub(super) points: Vec<u8>,
    pub(super) siblings: Vec<SavedSibling>,
    /// What is known of the sizes below its points, if that is kept.
    pub(super) sizes: Vec<SavedPointSizes>,
}

/// Nine bytes follow: it is no small decision, since there are never fewer than two options.
const LARGE: u8 = 0xf0;

/// Writes decisions, a byte each if they are small.
pub(super) fn write_decisions(all: &[Taken], bytes: &mut Vec<u8>) {
    for taken in all {
        // The option in the upper four bits, the number of options less one in the lower.
        if taken.option < 15 && taken.of <= 16 {
            bytes.push((taken.option as u8) << 4 | (taken.of - 1) as u8);
        } else {
            bytes.push(LARGE);
            bytes.extend_from_slice(&taken.option.to_le_bytes());
            bytes.extend_from_slice(&taken.of.to_le_bytes());
        }
    }
}

fn read_decisions(mut left: &[u8]) -> impl Iterator<Item = Taken> + '_ {
    std::iter::from_fn(move || {
        let (&first, rest) = left.split_first()?;
        left = rest;
        if first != LARGE {
            return Some(Taken { option: u32::from(first >> 4), of: u32::from(first & 15) + 1 });
        }
        let (option, rest) = left.split_first_chunk()?;
        let (of, rest) = rest.split_first_chunk()?;
        left = rest;
        Some(Taken { option: u32::from_le_bytes(*option), of: u32::from_le_bytes(*of) })
    })
}

impl Node {
    pub(super) fn decisions(&self) -> impl Iterator<Item = Taken> + '_ {
        read_decisions(&self.bytes[..self.split as usize])
    }

    /// Its points, as `path_points.rs` writes them.
    pub(super) fn points(&self) -> &[u8] {
        &self.bytes[self.split as usize..]
    }

    /// As it is saved, without its sizes. `parent`: by its number in the state.
    pub(super) fn saved(&self, parent: Option<u32>) -> SavedNode {
        let Self { from, departures, own, .. } = *self;
        let (decisions, points) = self.bytes.split_at(self.split as usize);
        let (decisions, points) = (decisions.to_vec(), points.to_vec());
        let siblings = self.siblings.saved();
        SavedNode { parent, from, departures, own, decisions, points, siblings, sizes: Vec::new() }
    }

    pub(super) fn siblings(&self) -> &Siblings {
        &self.siblings
    }

    /// The one that is or was a candidate at a place.
    pub(super) fn sibling(&self, place: u32, option: u32) -> Option<&Sibling> {
        self.siblings.get(place, option)
    }

    pub(super) fn sibling_mut(&mut self, place: u32, option: u32) -> Option<&mut Sibling> {
        self.siblings.get_mut(place, option)
    }

    /// What an option did that was started is known now.
    pub(super) fn learn(&mut self, place: u32, option: u32, footprint: u32) {
        self.siblings.learn(place, option, footprint);
    }

    /// Forgets the points at which and after which nothing is left, if they are worth it. `firsts`: its
    /// points have what was done there.
    fn trim(&mut self, firsts: bool) {
        let Some(last) = self.siblings.last_live() else { return };
        self.siblings.truncate(last);
        // A decision has a byte or more.
        let (n, most) = (last as usize + 1, self.split as usize);
        // To write the bytes again costs time, so a quarter of them must be won.
        if most - most / 4 <= n {
            return;
        }
        let kept: Vec<Taken> = self.decisions().take(n).collect();
        let mut bytes = Vec::new();
        write_decisions(&kept, &mut bytes);
        let split = bytes.len() as u32;
        let points = self.points();
        bytes.extend_from_slice(&points[..path_points::length(points, &kept, firsts)]);
        (self.split, self.bytes) = (split, bytes.into_boxed_slice());
    }

    fn besides(&self) -> usize {
        self.bytes.len() + self.siblings.bytes()
    }
}

/// A node on the way to an execution, and its first own point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) node: u32,
    pub(super) from: u32,
}

/// The execution tree.
#[derive(Debug)]
pub(super) struct Nodes {
    /// What has ended matters to its siblings: it sleeps.
    sleeps: bool,
    /// Points have what was done there.
    firsts: bool,
    all: Vec<Option<Node>>,
    free: Vec<u32>,
    buffer: Vec<u8>,
    /// Bytes of decisions and of what is known, of all nodes.
    besides: usize,
    /// The first execution, which stays; none if the tree was not begun here.
    root: u32,
}

impl Nodes {
    /// An empty one. `sleeps`: what has ended matters to its siblings; `firsts`: points have what was done
    /// there.
    pub(super) fn new(sleeps: bool, firsts: bool) -> Self {
        let (all, free, buffer) = (Vec::new(), Vec::new(), Vec::new());
        Self { sleeps, firsts, all, free, buffer, besides: 0, root: NONE }
    }

    /// Whether points have what was done there.
    pub(super) fn keeps_firsts(&self) -> bool {
        self.firsts
    }

    /// An empty one of the same kind.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.sleeps, self.firsts)
    }

    pub(super) fn get(&self, at: u32) -> Option<&Node> {
        self.all.get(at as usize)?.as_ref()
    }

    pub(super) fn node(&self, at: u32) -> &Node {
        self.get(at).expect("a parent outlives its children")
    }

    pub(super) fn node_mut(&mut self, at: u32) -> &mut Node {
        self.all[at as usize].as_mut().expect("a parent outlives its children")
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Bytes that nodes take, with all they keep.
    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Option<Node>>() + self.free.capacity() * 4 + self.besides
    }

    /// Adds an execution. Its `path` is all it decided; `from`: its first own point. `points` writes what
    /// its points were.
    pub(super) fn insert(
        &mut self,
        parent: u32,
        from: u32,
        path: &[Taken],
        points: impl FnOnce(&mut Vec<u8>),
    ) -> u32 {
        // Each execution but the first departs once more from the default order than its parent.
        let departures = if parent == NONE { 0 } else { self.node(parent).departures + 1 };
        let own = from.checked_sub(1).map_or(0, |own| path[own as usize].option);
        let rest = path.get(from as usize..).unwrap_or_default();
        let (split, bytes) = self.write(rest, points);
        let (open, siblings) = (0, Siblings::default());
        let at = self.add(Node { parent, from, open, departures, own, split, bytes, siblings });
        if parent == NONE {
            self.root = at;
        }
        at
    }

    fn write(&mut self, path: &[Taken], points: impl FnOnce(&mut Vec<u8>)) -> (u32, Box<[u8]>) {
        self.buffer.clear();
        write_decisions(path, &mut self.buffer);
        let split = self.buffer.len() as u32;
        points(&mut self.buffer);
        (split, Box::from(self.buffer.as_slice()))
    }

    fn add(&mut self, node: Node) -> u32 {
        self.besides += node.besides();
        // Numbers are used again. An entry of a candidate that was left behind may still have the old one: `Store::is_valid`
        // looks at the sibling for that reason.
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = Some(node);
            return at;
        }
        if self.all.len() == self.all.capacity() {
            // Spare room counts.
            self.all.reserve_exact(self.all.len() / 8 + 8);
        }
        self.all.push(Some(node));
        u32::try_from(self.all.len() - 1).expect("a tree of 4 billion nodes has no memory left")
    }

    /// Changes what is kept of a node's options.
    pub(super) fn change(&mut self, at: u32, change: impl FnOnce(&mut Siblings)) {
        let siblings = &mut self.node_mut(at).siblings;
        let before = siblings.bytes();
        change(siblings);
        let after = siblings.bytes();
        self.besides = self.besides + after - before;
    }

    /// Moves all nodes together; says where each is now, by where it was.
    pub(super) fn compact(&mut self) -> Vec<u32> {
        let mut moved = vec![NONE; self.all.len()];
        let mut next = 0;
        for (at, node) in self.all.iter().enumerate() {
            if node.is_some() {
                moved[at] = next;
                next += 1;
            }
        }
        // Above the root there is no node, and that stays so.
        let of = |at: u32| moved.get(at as usize).copied().unwrap_or(NONE);
        let mut all = Vec::with_capacity(next as usize);
        for mut node in self.all.drain(..).flatten() {
            node.parent = of(node.parent);
            all.push(Some(node));
        }
        // The search asks for the root by its number, too.
        self.root = of(self.root);
        (self.all, self.free) = (all, Vec::new());
        moved
    }

    /// Bytes that are in use or held for the next nodes, in a moment.
    pub(super) fn held(&self) -> usize {
        self.all.len() * size_of::<Option<Node>>() + self.besides
    }

    /// Of a child nothing is left: the one that took `option` at a place of its parent. Drops the parent if
    /// it has no pending descendants, and those above it that have none now. The root stays.
    pub(super) fn end(&mut self, mut at: u32, mut place: u32, mut option: u32) {
        loop {
            let (sleeps, firsts) = (self.sleeps, self.firsts);
            let node = self.node_mut(at);
            node.open -= 1;
            // A node that is about to be dropped need not be kept in order.
            if node.open > 0 {
                let before = node.besides();
                // If sleep sets are kept, one that has ended stays among the siblings: it sleeps for those that are started later.
                node.siblings.end(place, option, sleeps);
                node.trim(firsts);
                let after = node.besides();
                self.besides = self.besides + after - before;
            }
            let Some(parent) = self.drop_idle(at) else { return };
            (at, place, option) = parent;
        }
    }

    /// A node has been run, or candidates of it went elsewhere: drops it if it has no pending descendants, as
    /// [`end`](Self::end) does.
    pub(super) fn detach(&mut self, at: u32) {
        if let Some((parent, place, option)) = self.drop_idle(at) {
            self.end(parent, place, option);
        }
    }

    /// Drops a node that has no pending descendants; says which child it was of which node.
    fn drop_idle(&mut self, at: u32) -> Option<(u32, u32, u32)> {
        let is_root = at == self.root;
        let node = self.node_mut(at);
        if node.open > 0 {
            return None;
        }
        if is_root {
            // It has nothing to be repeated any more.
            let before = node.besides();
            (node.split, node.bytes, node.siblings) = (0, Box::default(), Siblings::default());
            self.besides -= before;
            return None;
        }
        let node = self.all[at as usize].take().expect("it was just there");
        self.besides -= node.besides();
        self.free.push(at);
        // A node that came back from disk has no parent, and the way up ends there.
        let parent = self.get(node.parent)?;
        Some((node.parent, node.from - 1 - parent.from, node.own))
    }

    /// Forgets points of a node at which nothing can be asked for.
    pub(super) fn trim(&mut self, at: u32) {
        let firsts = self.firsts;
        let node = self.node_mut(at);
        let before = node.besides();
        node.trim(firsts);
        let after = node.besides();
        self.besides = self.besides + after - before;
    }

    /// The nodes that lead to a node, the root first.
    pub(super) fn chain(&self, mut at: u32, chain: &mut Vec<Link>) {
        chain.clear();
        while at != NONE {
            let node = self.node(at);
            chain.push(Link { node: at, from: node.from });
            at = node.parent;
        }
        // From the node upwards, and read from the root down.
        chain.reverse();
    }

    /// Adds the decisions of a chain to `path`, which has the first few of them, up to those before
    /// `point`.
    pub(super) fn follow(&self, chain: &[Link], point: u32, path: &mut Vec<Taken>) {
        for (index, link) in chain.iter().enumerate() {
            let next = chain.get(index + 1);
            let until = next.map_or(point, |next| next.from);
            let from = path.len() as u32;
            // The path has the first of them already, from the execution before.
            if from < until {
                let taken = self.node(link.node).decisions().skip((from - link.from) as usize);
                path.extend(taken.take((until - from) as usize));
            }
            if let Some(next) = next
                && let Some(taken) = path.get_mut(next.from as usize - 1)
            {
                // There the next one goes its own way.
                taken.option = self.node(next.node).own;
            }
        }
    }

    /// All, with where they are.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Node)> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(at, node)| Some((at as u32, node.as_ref()?)))
    }

    pub(super) fn root(&self) -> u32 {
        self.root
    }

    /// Adds a node that was saved; says where it is. Whether it fits to the others is for
    /// [`decode`](Self::decode) to say, when all are there.
    pub(super) fn put(&mut self, node: &SavedNode, parent: u32, siblings: Siblings) -> u32 {
        let SavedNode { from, departures, own, .. } = *node;
        let split = node.decisions.len() as u32;
        // One allocation for both, as `write` makes it: nodes are what a wide search holds most of.
        let bytes = [node.decisions.as_slice(), &node.points].concat().into_boxed_slice();
        self.add(Node { parent, from, open: 0, departures, own, split, bytes, siblings })
    }

    /// Which node is the first execution.
    pub(super) fn set_root(&mut self, root: u32) {
        self.root = root;
    }

    /// The decisions of a node that was saved, with those that lead to it, and the points if it `compares`. None
    /// if what it says of itself does not fit to those above it.
    pub(super) fn decode(
        &self,
        at: u32,
        compares: bool,
    ) -> Option<(Vec<Taken>, Option<PathPoints>)> {
        let (mut chain, mut path) = (Vec::new(), Vec::new());
        if !self.try_chain(at, &mut chain) {
            return None;
        }
        let node = self.node(at);
        let n = u32::try_from(node.decisions().count()).ok()?;
        let length = node.from.checked_add(n)?;
        self.follow(&chain, length, &mut path);
        // Where there is one option nothing is decided, so a decision of one is none that was written here.
        let can_be = |taken: &Taken| taken.of > 1 && taken.option < taken.of;
        if path.len() != length as usize || !path.iter().all(can_be) {
            return None;
        }
        // A file with points is one of a search that compares executions.
        if !compares {
            let is_plain = node.points().is_empty() && node.siblings.is_empty();
            return is_plain.then_some((path, None));
        }
        // Decisions are trimmed after the last live option, and options themselves only if that is worth it.
        let option = |sibling: &Sibling| {
            let there = path.get(node.from as usize + sibling.place as usize);
            there.map_or(!sibling.is_live(), |taken| sibling.option < taken.of)
        };
        if !node.siblings.all().iter().all(option) {
            return None;
        }
        let mut points = PathPoints::default();
        points.try_follow(&chain, self, &path, self.firsts)?;
        Some((path, Some(points)))
    }

    /// As [`chain`](Self::chain), with nodes that were saved: `false` if they are no chain.
    fn try_chain(&self, at: u32, chain: &mut Vec<Link>) -> bool {
        let (mut at, mut below) = (at, u32::MAX);
        while at != NONE {
            // A node begins after its parent does, so there are no circles.
            let Some(node) = self.get(at).filter(|node| node.from < below) else { return false };
            // Without a parent it must have all decisions that lead to it.
            if node.parent == NONE && node.from > 0 {
                return false;
            }
            chain.push(Link { node: at, from: node.from });
            (at, below) = (node.parent, node.from);
        }
        chain.reverse();
        true
    }

    /// Bytes of decisions and points.
    pub(super) fn point_bytes(&self) -> usize {
        self.iter().map(|(_, node)| node.bytes.len()).sum()
    }

    /// Bytes of what is kept of options.
    pub(super) fn sibling_bytes(&self) -> usize {
        self.iter().map(|(_, node)| node.siblings.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_read_back_large_ones_too() {
        let taken: Vec<_> = [(0, 2), (14, 16), (15, 16), (3, 17), (0, 16), (70_000, 70_001)]
            .map(|(option, of)| Taken { option, of })
            .to_vec();
        let mut bytes = Vec::new();
        write_decisions(&taken, &mut bytes);
        assert_eq!(read_decisions(&bytes).collect::<Vec<_>>(), taken);
        // Three small ones, and three of nine bytes.
        assert_eq!(bytes.len(), 3 + 3 * 9);
    }

    #[test]
    fn a_node_goes_with_its_last_pending_descendant_and_the_root_stays() {
        let taken = vec![Taken { option: 0, of: 2 }; 4];
        let mut nodes = Nodes::new(false, false);
        let root = nodes.insert(NONE, 0, &taken, |_| {});
        let child = nodes.insert(root, 2, &taken, |_| {});
        let grandchild = nodes.insert(child, 4, &taken, |_| {});
        nodes.node_mut(root).open = 1;
        nodes.node_mut(child).open = 1;
        assert_eq!((nodes.len(), nodes.node(grandchild).departures), (3, 2));
        nodes.detach(grandchild);
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes.besides, 0);
    }
}
