//! How much of the space there is: what a search that keeps a tree estimates (`estimate.rs`).
//!
//! Breadth-first and random go by Eta's recursive rule (Simsa, Bryant, Gibson, Hickey, CMU-PDL-11-113, section
//! 4), which needs the sizes below every point that is not over: 48 bytes for each, beside the nodes. Best-first
//! goes by the weighted rule, which needs none and does not depend on the order; but within a bound it would
//! need the number of options within it at points that are repeated, so there it estimates nothing. With a
//! reduction nothing is estimated.

use raddle_trace::Estimate;
use serde::{Deserialize, Serialize};

use super::nodes::{Link, NONE};
use crate::estimate::{Change, Growth, Kind, MetShare, Size, Sizes};

/// What is estimated, and by which rule.
#[derive(Debug)]
pub(super) enum Sizing {
    Nothing,
    Weighted(MetShare),
    Recursive(Recursive),
}

/// A point below which something is left to run.
#[derive(Clone, Copy, Debug)]
struct PointSizes {
    sizes: Sizes,
    /// The options that are this search's: those within the bound that were not given away.
    width: u32,
    /// Options below which something is left.
    open: u32,
}

/// Such a point as it is saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedPointSizes {
    sizes: Sizes,
    pub(super) width: u32,
}

/// What is saved besides the points.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) enum SavedSizing {
    #[default]
    Nothing,
    Weighted {
        share: f64,
    },
    Recursive(Growth),
}

/// The recursive rule.
#[derive(Debug, Default)]
pub(super) struct Recursive {
    growth: Growth,
    /// By node: its points, up to the last that is not over.
    nodes: Vec<Vec<PointSizes>>,
    /// How many points there are.
    points: usize,
}

impl Sizing {
    /// The current execution begins with so many decisions of the last one.
    pub(super) fn begin(&mut self, shared: usize) {
        if let Self::Weighted(met) = self {
            met.begin(shared);
        }
    }

    pub(super) fn recursive(&mut self) -> Option<&mut Recursive> {
        match self {
            Self::Recursive(recursive) => Some(recursive),
            Self::Nothing | Self::Weighted(_) => None,
        }
    }

    pub(super) fn as_recursive(&self) -> Option<&Recursive> {
        match self {
            Self::Recursive(recursive) => Some(recursive),
            Self::Nothing | Self::Weighted(_) => None,
        }
    }

    /// The estimate after so many executions, of which more are known; and which part of the space was run.
    /// `whole`: nothing of the search was given away. `diverged`: an execution left its plan.
    pub(super) fn read(
        &self,
        kind: Kind,
        (executions, pending): (u64, u64),
        whole: bool,
        diverged: bool,
    ) -> Option<(Estimate, f64)> {
        match self {
            Self::Nothing => None,
            // The chances of what was given away are not this search's to add up, and an execution that left its plan is counted
            // where it was not.
            Self::Weighted(_) if !whole || diverged => None,
            Self::Weighted(met) => {
                let reading = met.read(executions, pending)?;
                Some((reading.estimate(kind), met.share()))
            }
            Self::Recursive(recursive) => {
                let mut estimate = recursive.growth.read(pending as usize)?.estimate(kind);
                if !whole {
                    // Of what was given away it is not known how likely a descent goes there.
                    estimate.weighted = None;
                }
                Some((estimate, estimate.covered / estimate.total.about))
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Weighted(met) => met.bytes(),
            Self::Recursive(recursive) => {
                recursive.points * size_of::<PointSizes>()
                    + recursive.nodes.capacity() * size_of::<Vec<PointSizes>>()
            }
        }
    }

    /// As it is saved; of a part that is given away nothing was run yet.
    pub(super) fn saved(&self, part: bool) -> SavedSizing {
        match self {
            Self::Nothing => SavedSizing::Nothing,
            Self::Weighted(met) => {
                // A part begins with nothing met; the whole search keeps what it had.
                SavedSizing::Weighted { share: if part { 0.0 } else { met.share() } }
            }
            Self::Recursive(_) if part => SavedSizing::Recursive(Growth::default()),
            Self::Recursive(recursive) => SavedSizing::Recursive(recursive.growth.clone()),
        }
    }

    /// Of the same rule, with what was saved but for the points; none if it cannot be.
    pub(super) fn restored(&self, saved: SavedSizing) -> Option<Self> {
        match (self, saved) {
            (Self::Nothing, SavedSizing::Nothing) => Some(Self::Nothing),
            (Self::Weighted(_), SavedSizing::Weighted { share }) => {
                // Only a file from outside can say anything else, and an estimate of it would be no number.
                let can_be = share.is_finite() && share >= 0.0;
                can_be.then(|| Self::Weighted(MetShare::restored(share)))
            }
            (Self::Recursive(_), SavedSizing::Recursive(growth)) => {
                let recursive = Recursive { growth, ..Recursive::default() };
                recursive.growth.can_be().then_some(Self::Recursive(recursive))
            }
            _ => None,
        }
    }
}

impl Recursive {
    /// An execution was run along `chain`, whose last node is its own, or none if it is not kept. `planned`:
    /// the decisions it repeated. `widths`: of its new points.
    pub(super) fn ended(
        &mut self,
        chain: &[Link],
        planned: usize,
        widths: impl Iterator<Item = u32>,
    ) {
        let mut length = planned as u32;
        let own = chain.last().map_or(NONE, |link| link.node);
        let chain = if own == NONE {
            // A leaf: at its own points there is nothing but itself.
            &chain[..chain.len() - 1]
        } else {
            let new = |width| PointSizes { sizes: Sizes::default(), width, open: width };
            let points: Vec<_> = widths.map(new).collect();
            length += points.len() as u32;
            self.put(own, points);
            chain
        };
        // The chance that a random descent makes the same decisions: one by the number of options at each point.
        let mut share = 1.0;
        self.for_each(chain, length, |_, point, _| share /= f64::from(point.width));
        self.growth.ended(share);
        self.change(chain, length, Change::New(Size::LEAF), 0);
    }

    /// A candidate was given away: the last decision of `length` along `chain` is its own.
    pub(super) fn gave(&mut self, chain: &[Link], length: u32) {
        self.change(chain, length, Change::Nothing, 1);
    }

    fn put(&mut self, node: u32, points: Vec<PointSizes>) {
        let node = node as usize;
        if self.nodes.len() <= node {
            self.nodes.resize_with(node + 1, Vec::new);
        }
        self.points += points.len();
        self.points -= self.nodes[node].len();
        self.nodes[node] = points;
    }

    /// Goes through the points along `chain`, of which there are `length`, the last one first.
    fn for_each(
        &mut self,
        chain: &[Link],
        length: u32,
        mut each: impl FnMut(&mut Growth, &mut PointSizes, (usize, usize)),
    ) {
        let mut until = length;
        for link in chain.iter().rev() {
            let node = link.node as usize;
            // A node has the points from its own first one up to where the next node of the chain leaves it.
            for place in (0..(until - link.from) as usize).rev() {
                each(&mut self.growth, &mut self.nodes[node][place], (node, place));
            }
            until = link.from;
        }
    }

    /// Below one option of the last point nothing is left to run. The estimates of that point and of all
    /// above it are made anew, and points below which nothing is left are dropped. `given`: options of the
    /// last point that are not this search's any more.
    fn change(&mut self, chain: &[Link], length: u32, change: Change, given: u32) {
        let (mut change, mut given, mut is_over) = (change, given, true);
        let mut over = Vec::new();
        self.for_each(chain, length, |growth, point, at| {
            // One option less, if all below it is over: that is what is handed upwards.
            point.open -= u32::from(is_over);
            is_over = point.open == 0;
            let before = point.width;
            // Taken, so that it is the last point alone that has fewer options: those above it keep theirs.
            point.width -= std::mem::take(&mut given);
            let width = (before, point.width);
            change = growth.change(&mut point.sizes, change, width, is_over);
            if is_over {
                over.push(at);
            }
        });
        self.growth.arrive(change);
        for (node, place) in over {
            // All points after it in its node were over before.
            let points = &mut self.nodes[node];
            self.points -= points.len() - place;
            points.truncate(place);
            if place == 0 {
                *points = Vec::new();
            }
        }
    }

    /// The points of a node, as they are saved.
    pub(super) fn saved(&self, node: u32) -> Vec<SavedPointSizes> {
        let points = self.nodes.get(node as usize).map_or(&[][..], Vec::as_slice);
        points
            .iter()
            .map(|point| SavedPointSizes { sizes: point.sizes, width: point.width })
            .collect()
    }

    /// The points of a node that was saved: each with the options below which something is left, without the
    /// one that leads to the node's next point. `false` if they cannot be.
    pub(super) fn restore(
        &mut self,
        node: u32,
        saved: &[SavedPointSizes],
        open: impl Fn(u32) -> u32,
    ) -> bool {
        let mut points = Vec::with_capacity(saved.len());
        for (at, one) in saved.iter().enumerate() {
            // The option that leads to the next point is open as long as that point is there.
            let open = open(at as u32) + u32::from(at + 1 < saved.len());
            // A point below which nothing is left would not have been kept.
            if open == 0 || one.width < open || !one.sizes.can_be(one.width) {
                return false;
            }
            points.push(PointSizes { sizes: one.sizes, width: one.width, open });
        }
        self.put(node, points);
        true
    }
}

/// The points that lead to a part which is given away: one option of each is the part's.
pub(super) fn of_part(length: usize) -> Vec<SavedPointSizes> {
    vec![SavedPointSizes { sizes: Sizes::default(), width: 1 }; length]
}
