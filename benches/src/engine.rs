//! The engines that find pairs: those of broadsweep, the algorithms of the literature, other libraries.

use std::time::Instant;

use broadsweep::SweepAxis;

use crate::baselines::mj_sap::{self, MjSap};
use crate::baselines::{self, Baseline, Listing};

/// An engine: what can find pairs.
#[derive(Clone, Copy, Debug)]
pub enum Engine {
    /// The GPU.
    Gpu,
    /// The same method on the CPU.
    Cpu,
    /// The double loop.
    Brute,
    /// An algorithm of the literature.
    Baseline(&'static Listing),
    /// Another library.
    #[cfg(feature = "peers")]
    Peer(&'static crate::peers::Peer),
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Engine {
    /// Lists every engine, ours first.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Gpu, Self::Cpu, Self::Brute];
        all.extend(baselines::ALL.iter().map(Self::Baseline));
        #[cfg(feature = "peers")]
        all.extend(crate::peers::ALL.iter().map(Self::Peer));
        all
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Brute => "brute",
            Self::Baseline(listing) => listing.name,
            #[cfg(feature = "peers")]
            Self::Peer(peer) => peer.listing.name,
        }
    }

    /// Describes the engine, in a line.
    pub fn description(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU",
            Self::Cpu => "the same method on the CPU",
            Self::Brute => "every box against every other: slow, and right by definition",
            Self::Baseline(listing) => listing.description,
            #[cfg(feature = "peers")]
            Self::Peer(peer) => peer.listing.description,
        }
    }

    /// Returns the name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU engine",
            Self::Cpu => "the CPU engine",
            Self::Brute => "brute force",
            _ => self.name(),
        }
    }

    /// Returns whether the engine's pairs are exactly the overlapping ones: other libraries have margins and rounding
    /// of their own.
    pub fn is_exact(self) -> bool {
        match self {
            Self::Gpu | Self::Cpu | Self::Brute | Self::Baseline(_) => true,
            #[cfg(feature = "peers")]
            Self::Peer(_) => false,
        }
    }

    /// Returns whether the engine takes filters: algorithms of the literature and other libraries have none, or others.
    pub fn takes_filters(self) -> bool {
        matches!(self, Self::Gpu | Self::Cpu | Self::Brute)
    }

    /// Returns the most boxes that the engine takes, where there is a limit: more are refused at once.
    pub fn most_boxes(self) -> Option<usize> {
        match self {
            Self::Baseline(listing) => listing.most_boxes,
            _ => None,
        }
    }

    /// Creates an algorithm of the literature or another library, which has seen no step yet; returns `None` for our
    /// engines. `axis` is for algorithms that can choose one.
    pub fn baseline(self, axis: SweepAxis) -> Option<Box<dyn Baseline>> {
        match self {
            Self::Gpu | Self::Cpu | Self::Brute => None,
            Self::Baseline(listing) => Some(match (listing.name, axis) {
                (MJ_SAP, SweepAxis::Y) => Box::new(MjSap::new(mj_sap::Axis::Y, MjSap::MAX_PAIRS)),
                (MJ_SAP, SweepAxis::Z) => Box::new(MjSap::new(mj_sap::Axis::Z, MjSap::MAX_PAIRS)),
                _ => listing.make(),
            }),
            #[cfg(feature = "peers")]
            Self::Peer(peer) => Some(peer.listing.make()),
        }
    }
}

/// The baseline whose axis can be chosen.
pub const MJ_SAP: &str = "mj_sap";

/// Returns the result of `work`, and the seconds that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}
