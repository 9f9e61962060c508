//! A map engine: viewers that ask for tiles, caches that keep a few of them, a store that has all.
//!
//! In the shape of `GeoTrellis`, on which Bita measured coverage. It has no bug. A viewer asks for the tiles around
//! its place, one cache for each of two zoom levels; a cache that does not have a tile asks the store, remembers who waits,
//! and forgets the tile that it got first when it has too many. An edit changes a tile of the store, which then tells the
//! caches; versions of a tile only grow.
//!
//! What must hold: a viewer gets every tile that it asked for, once, and never a tile that it did not ask for.

use std::collections::{BTreeMap, VecDeque};

use raddle::actors::{Actor, Address, Context, System};

use super::{Subject, correct, route};
use crate::libraries::Test;
use crate::program::{Parameter, parameter};

const CACHES: usize = 2;
/// So many tiles a cache keeps.
const KEPT: usize = 2;

const PARAMETERS: [Parameter; 3] =
    [parameter("viewers", 2, 1, 16), parameter("tiles", 2, 1, 16), parameter("hops", 0, 0, 16)];

/// No bug; for coverage.
pub const SUBJECT: Subject = Subject {
    name: "map tiles",
    line: "viewers, caches that forget, and a store of tiles that are edited",
    test: Test {
        correct: correct(
            "tiles",
            "a map engine with caches of tiles",
            run,
            &PARAMETERS,
            &[4, 4, 1],
        ),
        bugs: &[],
    },
};

type Tile = usize;

#[derive(Clone, Debug, Hash)]
enum ToViewer {
    /// The input: look at these.
    Look {
        tiles: Vec<Tile>,
    },
    Here {
        tile: Tile,
        version: usize,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToCache {
    Get {
        tile: Tile,
        viewer: Address<ToViewer>,
    },
    Loaded {
        tile: Tile,
        version: usize,
    },
    /// A tile is not what it was.
    Changed {
        tile: Tile,
    },
}

#[derive(Clone, Debug, Hash)]
enum ToStore {
    Load {
        tile: Tile,
        cache: Address<ToCache>,
    },
    /// The input: a tile changes.
    Edit {
        tile: Tile,
        caches: Vec<Address<ToCache>>,
    },
}

#[derive(Clone, Debug, Hash)]
struct Viewer {
    caches: Vec<Address<ToCache>>,
    asked: Vec<Tile>,
    seen: BTreeMap<Tile, usize>,
}

impl Actor for Viewer {
    type Message = ToViewer;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToViewer, cx: &mut Context<'_, ToViewer>) {
        match message {
            ToViewer::Look { tiles } => {
                for tile in tiles {
                    let viewer = cx.me().clone();
                    cx.send(&self.caches[tile % CACHES], ToCache::Get { tile, viewer });
                    self.asked.push(tile);
                }
            }
            ToViewer::Here { tile, version } => {
                assert!(self.asked.contains(&tile), "tile {tile} was not asked for");
                let before = self.seen.insert(tile, version);
                assert_eq!(before, None, "tile {tile} came twice");
            }
        }
    }
}

#[derive(Clone, Debug, Hash)]
struct Cache {
    store: Address<ToStore>,
    /// The one that came first first.
    kept: VecDeque<(Tile, usize)>,
    waiting: BTreeMap<Tile, Vec<Address<ToViewer>>>,
}

impl Actor for Cache {
    type Message = ToCache;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToCache, cx: &mut Context<'_, ToCache>) {
        match message {
            ToCache::Get { tile, viewer } => {
                if let Some(&(_, version)) = self.kept.iter().find(|(kept, _)| *kept == tile) {
                    cx.send(&viewer, ToViewer::Here { tile, version });
                    return;
                }
                let waiting = self.waiting.entry(tile).or_default();
                waiting.push(viewer);
                if waiting.len() == 1 {
                    let cache = cx.me().clone();
                    cx.send(&self.store, ToStore::Load { tile, cache });
                }
            }
            ToCache::Loaded { tile, version } => {
                for viewer in self.waiting.remove(&tile).unwrap_or_default() {
                    cx.send(&viewer, ToViewer::Here { tile, version });
                }
                if self.kept.len() == KEPT {
                    self.kept.pop_front();
                }
                self.kept.push_back((tile, version));
            }
            ToCache::Changed { tile } => self.kept.retain(|(kept, _)| *kept != tile),
        }
    }
}

#[derive(Clone, Debug, Default, Hash)]
struct Store {
    versions: BTreeMap<Tile, usize>,
}

impl Actor for Store {
    type Message = ToStore;
    raddle::actors::snapshots!();

    fn handle(&mut self, message: ToStore, cx: &mut Context<'_, ToStore>) {
        match message {
            ToStore::Load { tile, cache } => {
                let version = self.versions.get(&tile).copied().unwrap_or(0);
                cx.send(&cache, ToCache::Loaded { tile, version });
            }
            ToStore::Edit { tile, caches } => {
                *self.versions.entry(tile).or_default() += 1;
                for cache in &caches {
                    cx.send(cache, ToCache::Changed { tile });
                }
            }
        }
    }
}

fn run(system: &System, size: &[usize]) {
    let &[viewers, tiles, hops] = size else { unreachable!("three arguments") };
    let store = system.spawn_named("store", Store::default());
    let cache = |nth| {
        let store = route(system, hops, &store);
        let cache = Cache { store, kept: VecDeque::new(), waiting: BTreeMap::new() };
        system.spawn_named(&format!("cache {nth}"), cache)
    };
    let caches: Vec<_> = (0..CACHES).map(cache).collect();
    let viewer = |nth| {
        let (caches, asked, seen) = (caches.clone(), Vec::new(), BTreeMap::new());
        system.spawn_named(&format!("viewer {nth}"), Viewer { caches, asked, seen })
    };
    let all: Vec<_> = (0..viewers).map(viewer).collect();
    for viewer in &all {
        system.send(viewer, ToViewer::Look { tiles: (0..tiles).collect() });
    }
    system.send(&store, ToStore::Edit { tile: 0, caches: caches.clone() });
    system.handle_all();
    for viewer in &all {
        let seen = system.inspect(viewer, |viewer: &Viewer| viewer.seen.len());
        assert_eq!(seen, tiles, "a viewer has not got every tile");
    }
}
