//! Scenes to try, test and measure with: everyday ones and hard ones, the same on every platform.
//!
//! A scene is made by its [`Kind`] from a number of boxes and a seed:
//!
//! ```
//! use laboratory::scenes::Kind;
//!
//! let kind: Kind = "clusters".parse()?;
//! let boxes = kind.generate(1000, 1);
//! assert_eq!(boxes.len(), 1000);
//! assert_eq!(boxes, kind.generate(1000, 1));
//! # Ok::<(), laboratory::scenes::UnknownKind>(())
//! ```
//!
//! Some kinds move: [`Kind::generate_step`] makes any step of them. A [`SceneName`] is a kind and a number, or a
//! `.npy` file, by the name that is typed; [`npy`] reads and writes such files.
//!
//! The generators use integers, `+`, `-`, `*`, `/`, `floor` and `sqrt` only: these operations round alike everywhere,
//! where the `sin`, `exp` or `cbrt` of two C libraries differ in the last bit. A kind, a count and a seed therefore
//! name a scene for good.

mod city;
mod everyday;
mod hard;
mod motion;
mod moving;
mod name;
pub mod npy;
pub mod queries;
mod random;
mod settled;

use std::fmt;
use std::str::FromStr;

pub use city::city;
pub use everyday::{clusters, diagonal, many_clusters, pile, plane, slab, spread, two_clusters, uniform};
pub use hard::{
    denormal, giant, huge, identical, infinite, invalid, line, offset, points, signed_zero, thousand_giants, touching,
};
pub use motion::Motion;
pub use moving::{Particles, brownian, free_fall, gravity, particles, sediment};
pub use name::{SceneName, SceneNameError, parse_count};
pub use settled::settled;

use broadsweep::Aabb;

/// Creates [`Kind`] from one row for each kind: its variant, its name, the step that shows best what it is like if it
/// moves, and 0 otherwise, how `n` boxes of a step are made from a seed, and what they are like in one line.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($name:literal, $step:literal, $make:expr): $description:literal,)*) => {
        /// A kind of scene. [`Kind::description`] says what each is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind, the everyday ones first.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// Returns the name to type and to print, such as `two-clusters`; the name parses back.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Says what the boxes are like, in one line.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$kind => $description,)*
                }
            }

            /// Returns the step that [`Kind::generate`] makes of a kind that moves, and that shows best what the kind
            /// is like: all over the world (`brownian`), in a corner (`gravity`), half of it at rest (`free-fall`,
            /// `sediment`). Zero for others.
            pub const fn usual_step(self) -> u32 {
                match self {
                    $(Self::$kind => $step,)*
                }
            }

            fn make(self) -> fn(usize, u64, u32) -> Vec<Aabb> {
                match self {
                    $(Self::$kind => $make,)*
                }
            }
        }
    };
}

kinds! {
    /// [`uniform`], with the edge that gives about four pairs per box.
    Uniform("uniform", 0, |n, seed, _| uniform(n, seed, None)):
        "equal cubes anywhere in the unit cube, about four pairs per box",
    /// [`spread`].
    Spread("spread", 0, |n, seed, _| spread(n, seed)):
        "cubes of edges 1 to 100, log-uniform, in the unit cube",
    /// [`clusters`].
    Clusters("clusters", 0, |n, seed, _| clusters(n, seed)):
        "64 Gaussian clusters of differing density",
    /// [`many_clusters`].
    ManyClusters("many-clusters", 0, |n, seed, _| many_clusters(n, seed)):
        "1,000 Gaussian clusters, widths and populations up to tenfold apart",
    /// [`two_clusters`].
    TwoClusters("two-clusters", 0, |n, seed, _| two_clusters(n, seed)):
        "two clusters, a million apart",
    /// [`diagonal`].
    Diagonal("diagonal", 0, |n, seed, _| diagonal(n, seed)):
        "a thin rod, oblique to all three axes",
    /// [`slab`].
    Slab("slab", 0, |n, seed, _| slab(n, seed)):
        "a thick plate, oblique to all three axes",
    /// [`plane`].
    Plane("plane", 0, |n, seed, _| plane(n, seed)):
        "a plane, oblique to all three axes",
    /// [`pile`].
    Pile("pile", 0, |n, seed, _| pile(n, seed)):
        "a heap under gravity: dense at the floor, sparse on top",
    /// [`settled`](settled()).
    Settled("settled", 0, |n, seed, _| settled(n, seed)):
        "bricks poured in a heap, at rest on one another",
    /// [`city`](city()).
    City("city", 0, |n, seed, _| city(n, seed)):
        "a city on one plate of ground: bolts, lamps, cars, buildings",
    /// [`sediment`], which moves.
    Sediment("sediment", 200, |n, seed, step| sediment(n, seed, step)):
        "equal particles that sink, half of them at rest at the bottom",
    /// [`brownian`], which moves.
    Brownian("brownian", 100, |n, seed, step| brownian(n, seed, step)):
        "turned cubes that fly about, evenly in a cube",
    /// [`free_fall`], which moves.
    FreeFall("free-fall", 75, |n, seed, step| free_fall(n, seed, step)):
        "turned cubes that fall, half of them at rest on the floor",
    /// [`gravity`], which moves.
    Gravity("gravity", 195, |n, seed, step| gravity(n, seed, step)):
        "turned cubes pressed by a turning gravity into a corner",
    /// [`identical`].
    Identical("identical", 0, |n, _, _| identical(n)):
        "one box many times: every two are a pair, n(n-1)/2 in all",
    /// [`line`](line()).
    Line("line", 0, |n, seed, _| line(n, seed)):
        "all on one line",
    /// [`touching`].
    Touching("touching", 0, |n, _, _| touching(n)):
        "a lattice of unit cubes that touch exactly, 13 pairs per box inside",
    /// [`points`].
    Points("points", 0, |n, seed, _| points(n, seed)):
        "boxes without extent, several at each place",
    /// [`giant`].
    Giant("giant", 0, |n, seed, _| giant(n, seed)):
        "uniform, and one box around everything",
    /// [`thousand_giants`].
    ThousandGiants("thousand-giants", 0, |n, seed, _| thousand_giants(n, seed)):
        "uniform, and a thousand boxes of 0.1 to around everything",
    /// [`infinite`].
    Infinite("infinite", 0, |n, seed, _| infinite(n, seed)):
        "uniform, and a half-space, the whole world and an endless column",
    /// [`invalid`].
    Invalid("invalid", 0, |n, seed, _| invalid(n, seed)):
        "uniform, and among every 16 boxes one with a NaN or inverted bounds",
    /// [`huge`].
    Huge("huge", 0, |n, seed, _| huge(n, seed)):
        "coordinates around 1e30, and others up to the largest float",
    /// [`offset`].
    Offset("offset", 0, |n, seed, _| offset(n, seed)):
        "ten million away from the origin, where a float cannot hold the edge",
    /// [`denormal`].
    Denormal("denormal", 0, |n, seed, _| denormal(n, seed)):
        "coordinates below the smallest normal float, and zeros of both signs",
    /// [`signed_zero`].
    SignedZero("signed-zero", 0, |n, seed, _| signed_zero(n, seed)):
        "boxes that meet at -0 and +0",
}

impl Kind {
    /// Creates exactly `n` boxes, the same ones for the same `seed` on every platform.
    ///
    /// This is O(n). `identical` and `touching` are the same for every seed. A kind that moves is made at step
    /// [`Kind::usual_step`].
    pub fn generate(self, n: usize, seed: u64) -> Vec<Aabb> {
        self.generate_step(n, seed, self.usual_step())
    }

    /// Returns whether the steps differ.
    pub const fn moves(self) -> bool {
        self.usual_step() > 0
    }

    /// Creates exactly `n` boxes as they are in this step: the same boxes in the same order as in every other step.
    ///
    /// Any step costs what any other does, O(n), and needs no step before it; `brownian` and `gravity` take a little
    /// longer for late steps. Kinds that do not [move](Kind::moves) are alike in every step.
    ///
    /// ```
    /// use laboratory::scenes::Kind;
    ///
    /// let steps: Vec<_> = (0..3).map(|step| Kind::Gravity.generate_step(100, 1, step)).collect();
    /// assert_ne!(steps[1], steps[2]);
    /// ```
    pub fn generate_step(self, n: usize, seed: u64, step: u32) -> Vec<Aabb> {
        self.make()(n, seed, step)
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
    /// The request.
    pub name: String,
}

/// No motion has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no motion called {name:?}; there are {}", Motion::ALL.map(Motion::name).join(", "))]
pub struct UnknownMotion {
    /// The request.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadsweep::Options;
    use broadsweep::cpu;
    use broadsweep::internals::brute_force;

    /// Returns the bits, because NaN differs from itself and -0 equals +0.
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
    fn every_kind_gives_exactly_the_requested_number_of_boxes() {
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

    const PINNED: [(&str, u64); 27] = [
        ("uniform", 0xa5b1_bcf4_b4fb_6d98),
        ("spread", 0x51ed_e908_c265_bb86),
        ("clusters", 0xd5da_2ef7_21b9_1057),
        ("many-clusters", 0x1f68_18b4_a022_cefd),
        ("two-clusters", 0xc22c_3a7f_a845_8dcd),
        ("diagonal", 0x9a51_b238_d440_e79e),
        ("slab", 0x690e_4330_7db7_7a00),
        ("plane", 0x915c_6e49_d839_8f20),
        ("pile", 0x8534_f329_8532_21fe),
        ("settled", 0xd849_5fac_9d77_28e9),
        ("city", 0xcc50_fd7d_1a9e_74b2),
        ("sediment", 0x3a07_f4f0_bf08_4923),
        ("brownian", 0xddae_cd3d_e6bc_c6a6),
        ("free-fall", 0xd303_bb5c_24f9_e8ba),
        ("gravity", 0x20c1_8e3e_dd52_e19e),
        ("identical", 0x2824_d21e_7b08_c7e5),
        ("line", 0x44cd_3592_1d53_55ec),
        ("touching", 0xa183_9d53_6868_c7e5),
        ("points", 0x0193_f46c_2788_c7e5),
        ("giant", 0xff89_2001_0777_ca0c),
        ("thousand-giants", 0x395c_4792_273b_bf15),
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
                Kind::ThousandGiants => 8.0..=16.0,
                Kind::ManyClusters => 5.0..=7.0,
                Kind::City | Kind::Brownian => 1.2..=1.6,
                Kind::Gravity | Kind::Sediment => 2.0..=3.0,
                _ => 3.0..=6.0,
            };
            assert!(expected.contains(&pairs_per_box), "{kind}: {pairs_per_box}");
        }
    }

    #[test]
    fn kinds_keep_about_as_many_pairs_per_box_as_they_grow() {
        let pairs_per_box = |kind: Kind, n| {
            cpu::find_pairs(&kind.generate(n, 1), &Options::default()).unwrap().pairs.len() as f64 / n as f64
        };
        // Every two, and every neighbour but at the surface: those are not meant to.
        for kind in Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Identical | Kind::Touching)) {
            let [few, many] = [100, 50_000].map(|n| pairs_per_box(kind, n));
            assert!((1.0..=16.0).contains(&few) && (1.0..=16.0).contains(&many), "{kind}: {few} {many}");
        }
    }

    #[test]
    fn the_normal_of_slab_and_plane_is_oblique_and_they_are_as_thin_as_they_say() {
        for (boxes, thickness) in [(slab(20_000, 1), 0.1), (plane(20_000, 1), 0.0)] {
            let along_normal = boxes.iter().map(|b| (b.min[0] + 2.0 * b.min[1] + 2.0 * b.min[2]) / 3.0);
            let (least, most) = along_normal.fold((f32::MAX, f32::MIN), |(a, b), x| (a.min(x), b.max(x)));
            assert!((most - least - thickness).abs() < 1e-3, "{least} {most}");
            // Yet wide along every axis.
            for k in 0..3 {
                let (least, most) =
                    boxes.iter().fold((f32::MAX, f32::MIN), |(a, b), x| (a.min(x.min[k]), b.max(x.min[k])));
                assert!(most - least > 0.9, "{least} {most}");
            }
        }
    }

    #[test]
    fn giants_are_as_many_and_as_large_as_they_say() {
        for (n, expected) in [(7, 0), (8, 1), (80, 10), (20_000, 1000)] {
            let boxes = thousand_giants(n, 1);
            let edges: Vec<f32> = boxes.iter().map(|b| b.max[0] - b.min[0]).collect();
            let usual = boxes.iter().zip(uniform(n, 1, None)).filter(|(a, b)| **a == *b).count();
            assert_eq!(n - usual, expected);
            assert_eq!(edges.iter().filter(|edge| **edge == 4.0).count(), expected.min(1));
            if n == 20_000 {
                assert_eq!(edges.iter().filter(|edge| **edge > 0.099).count(), 1000);
                assert!(edges.iter().filter(|edge| **edge > 0.2).count() > 100);
            }
        }
    }

    #[test]
    fn widths_and_populations_of_many_clusters_differ_tenfold() {
        // The counts of boxes in the cells of a fine grid range from one to over 50 times the mean.
        let mut counts = std::collections::HashMap::new();
        for aabb in many_clusters(200_000, 1) {
            *counts.entry(aabb.min.map(|x| (50.0 * x).floor() as i32)).or_insert(0u32) += 1;
        }
        let most = counts.values().max().unwrap();
        let mean = 200_000.0 / f64::from(50 * 50 * 50);
        assert!(f64::from(*most) > 50.0 * mean && counts.values().any(|count| *count == 1), "{most}, mean {mean}");
    }

    #[test]
    fn steps_keep_their_boxes_and_only_kinds_that_move_change() {
        for kind in Kind::ALL {
            let [usual, start, next] = [kind.usual_step(), 0, 1].map(|step| bits(&kind.generate_step(300, 5, step)));
            assert_eq!(usual, bits(&kind.generate(300, 5)), "{kind}");
            assert_eq!(start != next, kind.moves(), "{kind}");
            for n in [0, 1, 2, 3] {
                for step in [0, 1, 1000] {
                    assert_eq!(kind.generate_step(n, 1, step).len(), n);
                }
            }
        }
    }

    #[test]
    fn twenty_thousand_uniform_boxes_have_about_four_pairs_each() {
        let boxes = uniform(20_000, 1, None);
        let pairs_per_box = brute_force::find_pairs(&boxes).len() as f64 / 20_000.0;
        assert!((3.5..=4.2).contains(&pairs_per_box), "{pairs_per_box}");
    }
}
