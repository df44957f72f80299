//! Other libraries against brute force: equal, but for what is listed here.

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Pair};
use laboratory::baselines::{Baseline, BaselineError};
use laboratory::peers;
use laboratory::scenes::Kind;

/// The comparison of a library's pairs with ours.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Equal,
    /// None is missing.
    TooMany,
    /// `BoxTooFar`.
    Refused,
}

/// Where the first step of a scene is not equal: the peer, the scene, what it is instead, and why.
const KNOWN: &[(&str, Kind, Verdict, &str)] = &[
    ("rapier", Kind::Infinite, Verdict::Refused, "leaves out boxes that are not finite"),
    ("rapier", Kind::Huge, Verdict::Refused, "volumes overflow, and the tree can become a list"),
    ("bvh", Kind::Infinite, Verdict::Refused, "panics, for differences overflow"),
    ("bvh", Kind::Huge, Verdict::Refused, "panics, and loses all pairs at 1e18 already, for areas overflow"),
];

fn verdict(peer: &mut dyn Baseline, boxes: &[Aabb]) -> Verdict {
    // The call replaces earlier pairs in the list.
    let mut pairs = vec![Pair { a: u32::MAX, b: u32::MAX }; 3];
    match peer.find_pairs(boxes, &mut pairs) {
        Ok(_) => {}
        Err(BaselineError::BoxTooFar { .. }) => return Verdict::Refused,
        Err(error) => panic!("{error}"),
    }
    pairs.sort_unstable();
    assert!(pairs.is_sorted_by(|p, q| p < q), "a pair twice");
    assert!(pairs.iter().all(|pair| pair.a < pair.b));
    let expected = brute_force::find_pairs(boxes);
    let missing = expected.iter().filter(|pair| pairs.binary_search(pair).is_err()).count();
    assert_eq!(missing, 0, "of {} pairs", expected.len());
    if pairs == expected { Verdict::Equal } else { Verdict::TooMany }
}

#[test]
fn every_peer_finds_our_pairs_of_every_scene_but_where_we_know_why_not() {
    for kind in Kind::ALL {
        for n in [0, 1, 2, 3, 4, 33, 1234] {
            let boxes = kind.generate(n, 1);
            for peer in peers::ALL {
                let name = peer.listing.name;
                println!("{name} on {kind}:{n}");
                let known = KNOWN.iter().find(|(peer, scene, ..)| (*peer, *scene) == (name, kind));
                // A few boxes of a kind need not have in them what makes it hard.
                let expected = known.map_or(Verdict::Equal, |(_, _, verdict, _)| *verdict);
                let found = verdict(&mut *peer.listing.make(), &boxes);
                assert!(found == expected || n < 1234 && found == Verdict::Equal, "{name} on {kind}:{n}: {found:?}");
            }
        }
    }
}

#[test]
fn peers_keep_up_with_scenes_that_move() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.moves()) {
        for peer in peers::ALL {
            let mut finder = peer.listing.make();
            for step in (kind.usual_step()..).take(20) {
                let found = verdict(&mut *finder, &kind.generate_step(1234, 1, step));
                // rapier keeps the box of a leaf as long as what is in it stays inside.
                let may_be_more = peer.listing.name == "rapier";
                assert!(
                    found == Verdict::Equal || may_be_more && found == Verdict::TooMany,
                    "{kind} {step}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn a_box_that_shrinks_keeps_its_pairs_in_rapier_alone() {
    let other = Aabb::new([2.0; 3], [3.0; 3]);
    let [large, small] = [2.0, 1.0].map(|edge| Aabb::new([0.0; 3], [edge; 3]));
    for peer in peers::ALL {
        let mut finder = peer.listing.make();
        assert_eq!(verdict(&mut *finder, &[large, other]), Verdict::Equal);
        let expected = if peer.listing.name == "rapier" { Verdict::TooMany } else { Verdict::Equal };
        assert_eq!(verdict(&mut *finder, &[small, other]), expected, "{}", peer.listing.name);
    }
}

#[test]
fn boxes_may_turn_invalid_and_back_and_too_far_and_back_and_change_their_number() {
    let boxes = Kind::Uniform.generate(300, 1);
    let with = |aabb: Aabb| -> Vec<Aabb> {
        boxes.iter().enumerate().map(|(i, b)| if i % 7 == 3 { aabb } else { *b }).collect()
    };
    let nan = with(Aabb::new([0.0, f32::NAN, 0.0], [1.0; 3]));
    let inverted = with(Aabb::new([1.0; 3], [0.0; 3]));
    let far = with(Aabb::new([0.0; 3], [f32::INFINITY; 3]));
    let few = boxes[..200].to_vec();
    let steps = [&boxes, &nan, &boxes, &far, &boxes, &inverted, &few, &Vec::new(), &boxes];
    for peer in peers::ALL {
        let mut finder = peer.listing.make();
        for step in steps {
            assert_ne!(verdict(&mut *finder, step), Verdict::TooMany, "{}", peer.listing.name);
        }
    }
}

#[test]
fn what_overflows_and_what_is_flat_is_taken_or_refused_and_never_crashes() {
    let max = f32::MAX;
    let edges = [0.0, 1e-45, 1e-20, 1.0, 1e9, 1e12, 1e14, 1e20, max, f32::INFINITY];
    for x in edges {
        for y in edges {
            let boxes: Vec<Aabb> = (0..64)
                .map(|i| {
                    let at = i as f32 / 8.0;
                    let [w, h] = [x.min(max) * at, y.min(max) * at].map(|v| v.min(max));
                    Aabb::new([-w, h, 0.0], [x.max(-w), y.max(h), at])
                })
                .collect();
            for peer in peers::ALL {
                let found = verdict(&mut *peer.listing.make(), &boxes);
                assert_ne!(found, Verdict::TooMany, "{} at {x} {y}", peer.listing.name);
            }
        }
    }
}

#[test]
fn many_boxes_in_order_on_a_line_do_not_overflow_a_stack() {
    // Threads of tests have 2 MiB. A tree that inserts in order is deepest here.
    for step in [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]] {
        let boxes: Vec<Aabb> = (0..20_000)
            .map(|i| {
                let at = step.map(|s| s * i as f32);
                Aabb::new(at, step.map(|s| s * (i as f32 + 1.0)))
            })
            .collect();
        for peer in peers::ALL {
            let mut pairs = Vec::new();
            peer.listing.make().find_pairs(&boxes, &mut pairs).unwrap();
            assert_eq!(pairs.len(), boxes.len() - 1, "{}", peer.listing.name);
        }
    }
}

#[test]
fn the_versions_shown_are_those_that_are_built() {
    let lock = include_str!("../../Cargo.lock");
    for peer in peers::ALL {
        let line = format!("name = \"{}\"\nversion = \"{}\"", peer.library, peer.version);
        assert!(lock.contains(&line), "{} is not {}", peer.library, peer.version);
        assert_eq!(peers::by_name(peer.listing.name).map(|found| found.library), Some(peer.library));
    }
}
