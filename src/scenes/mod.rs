//! Scenes to try, test and measure with: everyday ones and hard ones, the same on every platform.
//!
//! A scene is made by its [`Kind`] from a number of boxes and a seed:
//!
//! ```
//! use broadsweep::scenes::Kind;
//!
//! let kind: Kind = "clusters".parse()?;
//! let boxes = kind.generate(1000, 1);
//! assert_eq!(boxes.len(), 1000);
//! assert_eq!(boxes, kind.generate(1000, 1));
//! # Ok::<(), broadsweep::scenes::UnknownKind>(())
//! ```
//!
//! The generators use integers, `+`, `-`, `*`, `/` and `sqrt` only: those round alike everywhere, where the
//! `sin`, `exp` or `cbrt` of two C libraries differ in the last bit. So a kind, a count and a seed name a
//! scene for good.

mod everyday;
mod hard;
mod random;

use std::fmt;
use std::str::FromStr;

pub use everyday::{clusters, diagonal, pile, spread, two_clusters, uniform};
pub use hard::{denormal, giant, huge, identical, infinite, invalid, line, offset, points, signed_zero, touching};

use crate::Aabb;

/// A kind of scene. [`Kind::description`] says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`uniform`], with the edge that gives about four pairs per box.
    Uniform,
    /// [`spread`].
    Spread,
    /// [`clusters`].
    Clusters,
    /// [`two_clusters`].
    TwoClusters,
    /// [`diagonal`].
    Diagonal,
    /// [`pile`].
    Pile,
    /// [`identical`].
    Identical,
    /// [`line`](line()).
    Line,
    /// [`touching`].
    Touching,
    /// [`points`].
    Points,
    /// [`giant`].
    Giant,
    /// [`infinite`].
    Infinite,
    /// [`invalid`].
    Invalid,
    /// [`huge`].
    Huge,
    /// [`offset`].
    Offset,
    /// [`denormal`].
    Denormal,
    /// [`signed_zero`].
    SignedZero,
}

impl Kind {
    /// Every kind, the everyday ones first.
    pub const ALL: [Self; 17] = [
        Self::Uniform,
        Self::Spread,
        Self::Clusters,
        Self::TwoClusters,
        Self::Diagonal,
        Self::Pile,
        Self::Identical,
        Self::Line,
        Self::Touching,
        Self::Points,
        Self::Giant,
        Self::Infinite,
        Self::Invalid,
        Self::Huge,
        Self::Offset,
        Self::Denormal,
        Self::SignedZero,
    ];

    /// The name to type and to print, such as `two-clusters`; it parses back.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Spread => "spread",
            Self::Clusters => "clusters",
            Self::TwoClusters => "two-clusters",
            Self::Diagonal => "diagonal",
            Self::Pile => "pile",
            Self::Identical => "identical",
            Self::Line => "line",
            Self::Touching => "touching",
            Self::Points => "points",
            Self::Giant => "giant",
            Self::Infinite => "infinite",
            Self::Invalid => "invalid",
            Self::Huge => "huge",
            Self::Offset => "offset",
            Self::Denormal => "denormal",
            Self::SignedZero => "signed-zero",
        }
    }

    /// What the boxes are like, in one line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Uniform => "equal cubes anywhere in the unit cube, about four pairs per box",
            Self::Spread => "cubes of edges 1 to 100, log-uniform, in the unit cube",
            Self::Clusters => "64 Gaussian clusters of differing density",
            Self::TwoClusters => "two clusters, a million apart",
            Self::Diagonal => "a thin rod, oblique to all three axes",
            Self::Pile => "a heap under gravity: dense at the floor, sparse on top",
            Self::Identical => "one box many times: every two are a pair, n(n-1)/2 in all",
            Self::Line => "all on one line",
            Self::Touching => "a lattice of unit cubes that touch exactly, 13 pairs per box inside",
            Self::Points => "boxes without extent, several at each place",
            Self::Giant => "uniform, and one box around everything",
            Self::Infinite => "uniform, and a half-space, the whole world and an endless column",
            Self::Invalid => "uniform, and among every 16 boxes one with a NaN or inverted bounds",
            Self::Huge => "coordinates around 1e30, and others up to the largest float",
            Self::Offset => "ten million away from the origin, where a float cannot hold the edge",
            Self::Denormal => "coordinates below the smallest normal float, and zeros of both signs",
            Self::SignedZero => "boxes that meet at -0 and +0",
        }
    }

    /// Exactly `n` boxes, the same ones for the same `seed` on every platform.
    ///
    /// O(n). `identical` and `touching` are the same for every seed.
    pub fn generate(self, n: usize, seed: u64) -> Vec<Aabb> {
        match self {
            Self::Uniform => uniform(n, seed, None),
            Self::Spread => spread(n, seed),
            Self::Clusters => clusters(n, seed),
            Self::TwoClusters => two_clusters(n, seed),
            Self::Diagonal => diagonal(n, seed),
            Self::Pile => pile(n, seed),
            Self::Identical => identical(n),
            Self::Line => line(n, seed),
            Self::Touching => touching(n),
            Self::Points => points(n, seed),
            Self::Giant => giant(n, seed),
            Self::Infinite => infinite(n, seed),
            Self::Invalid => invalid(n, seed),
            Self::Huge => huge(n, seed),
            Self::Offset => offset(n, seed),
            Self::Denormal => denormal(n, seed),
            Self::SignedZero => signed_zero(n, seed),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownKind { name: name.to_owned() })
    }
}

/// No kind of scene has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scene called {name:?}; there are {}", Kind::ALL.map(Kind::name).join(", "))]
pub struct UnknownKind {
    /// What was asked for.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::brute_force;

    /// The bits, because NaN differs from itself and -0 equals +0.
    fn bits(boxes: &[Aabb]) -> Vec<u32> {
        bytemuck::cast_slice(boxes).to_vec()
    }

    #[test]
    fn every_kind_parses_back_from_its_name() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.to_string(), kind.name());
            assert!(!kind.description().is_empty());
        }
        let message = "cloud".parse::<Kind>().unwrap_err().to_string();
        assert!(message.contains("\"cloud\"") && message.contains("two-clusters"), "{message}");
    }

    #[test]
    fn every_kind_gives_exactly_as_many_boxes_as_asked_for() {
        for kind in Kind::ALL {
            for n in [0, 1, 2, 3, 4, 100] {
                assert_eq!(kind.generate(n, 1).len(), n, "{kind}");
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_boxes_every_time_and_another_seed_gives_others() {
        for kind in Kind::ALL {
            let boxes = bits(&kind.generate(500, 7));
            assert_eq!(boxes, bits(&kind.generate(500, 7)), "{kind}");
            if !matches!(kind, Kind::Identical | Kind::Touching) {
                assert_ne!(boxes, bits(&kind.generate(500, 8)), "{kind}");
            }
        }
    }

    #[test]
    fn the_bytes_of_every_kind_are_pinned() {
        // FNV-1a over the bits of 1000 boxes of seed 1. A change here breaks every recorded measurement.
        let pinned = Kind::ALL.map(|kind| {
            let hash = bits(&kind.generate(1000, 1)).iter().fold(0xcbf2_9ce4_8422_2325, |hash, &word| {
                (hash ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            (kind.name(), hash)
        });
        assert_eq!(pinned, PINNED);
    }

    const PINNED: [(&str, u64); 17] = [
        ("uniform", 0xa5b1_bcf4_b4fb_6d98),
        ("spread", 0x51ed_e908_c265_bb86),
        ("clusters", 0xd5da_2ef7_21b9_1057),
        ("two-clusters", 0xc22c_3a7f_a845_8dcd),
        ("diagonal", 0x9a51_b238_d440_e79e),
        ("pile", 0x8534_f329_8532_21fe),
        ("identical", 0x2824_d21e_7b08_c7e5),
        ("line", 0x44cd_3592_1d53_55ec),
        ("touching", 0xa183_9d53_6868_c7e5),
        ("points", 0x0193_f46c_2788_c7e5),
        ("giant", 0xff89_2001_0777_ca0c),
        ("infinite", 0x1893_6187_be5e_5e64),
        ("invalid", 0x7fbb_8cf5_11e8_1bfa),
        ("huge", 0x9811_a321_22bf_336c),
        ("offset", 0xb531_ff27_6257_82b0),
        ("denormal", 0x530c_a299_98e1_f129),
        ("signed-zero", 0x18ec_cf65_62b8_91fc),
    ];

    #[test]
    fn only_the_invalid_kind_has_invalid_boxes() {
        for kind in Kind::ALL {
            let invalid_count = kind.generate(1600, 1).iter().filter(|b| !b.is_valid()).count();
            assert_eq!(invalid_count, if kind == Kind::Invalid { 100 } else { 0 }, "{kind}");
        }
    }

    #[test]
    fn the_number_of_pairs_per_box_is_as_each_kind_promises() {
        let n = 4000;
        for kind in Kind::ALL {
            let pairs_per_box = brute_force::find_pairs(&kind.generate(n, 1)).len() as f64 / n as f64;
            let expected = match kind {
                Kind::Identical => (n - 1) as f64 / 2.0..=(n - 1) as f64 / 2.0,
                // Every box pairs with the world, half of them or more with the others.
                Kind::Infinite | Kind::Giant => 4.0..=8.0,
                Kind::Touching => 10.0..=13.0,
                Kind::Clusters | Kind::Pile => 4.0..=20.0,
                _ => 3.0..=6.0,
            };
            assert!(expected.contains(&pairs_per_box), "{kind}: {pairs_per_box}");
        }
    }

    #[test]
    fn twenty_thousand_uniform_boxes_have_about_four_pairs_each() {
        let boxes = uniform(20_000, 1, None);
        let pairs_per_box = brute_force::find_pairs(&boxes).len() as f64 / 20_000.0;
        assert!((3.5..=4.2).contains(&pairs_per_box), "{pairs_per_box}");
    }
}
