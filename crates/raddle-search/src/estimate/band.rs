//! Bands around estimates.
use raddle_trace::Band;
use raddle_trace::progress::MOST;
use super::Reading;

/// How a search goes about its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Depth first, all of it.
    DepthFirst,
    /// Depth first, with a cache.
    Cached,
    /// Depth first, with a reduction.
    Reduced,
    /// The shallowest seed first.
    Breadth,
    /// Any seed.
    Random,
}

impl Kind {
    /// Whether executions of the space are not run.
    pub(crate) fn leaves_out(self) -> bool {
        matches!(self, Self::Cached | Self::Reduced)
    }

    pub(crate) fn run(self, reading: &Reading) -> f64 {
        if self.leaves_out() { reading.done * reading.total / reading.covered } else { reading.total }
    }

    pub(crate) fn total_band(self, reading: &Reading) -> Band {
        Band { about: reading.total, low: reading.total / 4.0, high: (reading.total * 4.0).min(MOST) }
    }

    pub(crate) fn run_band(self, _: &Reading, run: f64) -> Band {
        Band { about: run, low: run / 4.0, high: (run * 4.0).min(MOST) }
    }
}
