//! Every algorithm of the literature against brute force.

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Pair};
use laboratory::baselines::{self, Baseline, BaselineError};
use laboratory::scenes::Kind;

/// Returns the pairs of one call, sorted, or why there are none.
fn sorted_pairs(baseline: &mut dyn Baseline, boxes: &[Aabb]) -> Result<Vec<Pair>, BaselineError> {
    // The call replaces earlier pairs in the list.
    let mut pairs = vec![Pair { a: u32::MAX, b: u32::MAX }; 3];
    baseline.find_pairs(boxes, &mut pairs)?;
    pairs.sort_unstable();
    Ok(pairs)
}

#[test]
fn every_algorithm_finds_the_pairs_of_every_scene() {
    for kind in Kind::ALL {
        for n in [0, 1, 2, 3, 33, 257, 1234] {
            let boxes = kind.generate(n, 1);
            let expected = brute_force::find_pairs(&boxes);
            for listing in baselines::ALL {
                let pairs = sorted_pairs(&mut *listing.make(), &boxes).unwrap();
                assert_eq!(pairs, expected, "{} on {kind}:{n}", listing.name);
            }
        }
    }
}
