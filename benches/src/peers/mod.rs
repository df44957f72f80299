//! Other libraries on the same boxes, behind the feature `peers`: for the benchmark, to be compared with.
//!
//! Each is used as its own users do, and is a [`Baseline`](crate::baselines::Baseline), but for one thing: it gives
//! **its own** pairs, each once, with `a < b`. Where those are not the pairs of this crate, the difference is shown
//! and counted, not mended here; the page of each says what there is to expect.
//!
//! Invalid boxes are left out before a library sees them: none says what it does with a NaN, and some panic. Boxes
//! that would make it panic, or grow a tree whose recursion overflows the stack, are refused with
//! [`BaselineError::BoxTooFar`].
//!
//! None of them tells how many boxes it tested, so [`Work::candidates`](crate::baselines::Work::candidates) is 0, and
//! so is [`Work::bytes`](crate::baselines::Work::bytes) where it does not tell its memory.
//!
//! | peer | unbounded boxes | pairs that are not ours | from one step to the next |
//! |---|---|---|---|
//! | [`parry`] | exact | none | rebuilt; `parry_refit` updates leaves and rebuilds parts |
//! | [`rapier`] | refused beyond `1e12` | too many, in steps after the first: it keeps boxes that only shrank (margins are switched off) | leaves updated, changed pairs found |
//! | [`rstar`] | exact | none | rebuilt |
//! | [`bvh`] | refused beyond `1e14` | none | rebuilt |

pub mod bvh;
pub mod parry;
pub mod rapier;
pub mod rstar;

use crate::baselines::{BaselineError, Listing};
use broadsweep::Aabb;

/// A peer: another library.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The crate that the peer is from.
    pub library: &'static str,
    /// The version of the crate that was measured.
    pub version: &'static str,
    /// The listing of the peer.
    pub listing: Listing,
}

/// Every peer.
pub const ALL: &[Peer] = &[
    Peer {
        library: "parry3d",
        version: "0.31.1",
        listing: Listing::new("parry", "a binary tree built by binned surface area, each step", || {
            Box::new(parry::Parry::default())
        }),
    },
    Peer {
        library: "parry3d",
        version: "0.31.1",
        listing: Listing::new("parry_refit", "the same tree, refitted and partly rebuilt each step", || {
            Box::new(parry::ParryRefit::default())
        }),
    },
    Peer {
        library: "rapier3d",
        version: "0.36.1",
        listing: Listing::new(
            "rapier",
            "the broad phase of a physics engine, without margins: a dynamic tree, and the pairs that change",
            || Box::new(rapier::Rapier::default()),
        ),
    },
    Peer {
        library: "rstar",
        version: "0.13.1",
        listing: Listing::new("rstar", "an R*-tree loaded in bulk and joined with itself, each step", || {
            Box::new(rstar::Rstar)
        }),
    },
    Peer {
        library: "bvh",
        version: "0.13.0",
        listing: Listing::new(
            "bvh",
            "a binary tree built by surface area in buckets, queried for every box, each step",
            || Box::new(bvh::Bvh),
        ),
    },
];

/// Finds the peer of this name.
pub fn by_name(name: &str) -> Option<&'static Peer> {
    ALL.iter().find(|peer| peer.listing.name == name)
}

/// Returns the valid boxes, each with its index.
pub(crate) fn valid(boxes: &[Aabb]) -> impl Iterator<Item = (u32, &Aabb)> {
    (0..).zip(boxes).filter(|(_, aabb)| aabb.is_valid())
}

/// Refuses valid boxes with a coordinate beyond `most` on either side.
fn refuse_beyond(
    most: f32,
    boxes: &[Aabb],
    algorithm: &'static str,
    reason: &'static str,
) -> Result<(), BaselineError> {
    let is_too_far = |aabb: &Aabb| aabb.min.iter().chain(&aabb.max).any(|x| x.abs() > most);
    match valid(boxes).find(|(_, aabb)| is_too_far(aabb)) {
        Some((index, _)) => Err(BaselineError::BoxTooFar { algorithm, index, most, reason }),
        None => Ok(()),
    }
}
