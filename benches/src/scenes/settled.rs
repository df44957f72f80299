//! A heap of bricks that rest on one another.

use super::random::{Random, cube_root};
use broadsweep::Aabb;

/// Creates bricks poured into a box with a square floor, z upward from 0: each falls until it rests on the floor or on
/// the bricks below, at the lowest of a few places around where it came down. No brick goes into another, the heap is
/// highest in the middle, and bricks fill about 0.7 of its volume.
///
/// Bricks are 1 to 3 units wide and 1 or 2 high, and stand on a lattice of one unit. Each box is then padded on
/// every side by 0.01 to 0.03 units, as physics engines grow theirs to find contacts before they are overlaps.
///
/// Source: random deposition on a field of heights with relaxation to the lowest place nearby, after Family 1986,
/// "Scaling of rough surfaces: effects of surface diffusion".
pub fn settled(n: usize, seed: u64) -> Vec<Aabb> {
    /// The number of places nearby that a brick tries.
    const TRIES: usize = 12;
    /// The distance of these places from where the brick comes down, in units: over two of the widest bricks.
    const SLIDE: u32 = 8;
    let mut random = Random::new(seed, "settled");
    // Six cubic units per brick, and a heap that is about a quarter as high as the floor is wide.
    let side = (cube_root(32.0 * n.max(1) as f64) as u32).max(4);
    // `[side²]` by x, then y: up to where each column is full.
    let mut heights = vec![0u32; (side * side) as usize];
    (0..n)
        .map(|_| {
            let [width, depth] = [0; 2].map(|_| 1 + random.below(3));
            let height = 1 + random.below(2);
            // The sum of two uniform numbers: most bricks come down around the middle.
            let [x, y] =
                [width, depth].map(|size| (0.5 * (random.unit() + random.unit()) * f64::from(side - size + 1)) as u32);
            let (mut corner, mut floor) = ([x, y], u32::MAX);
            for _ in 0..TRIES {
                let place = [(x, width), (y, depth)].map(|(at, size)| {
                    let moved = (at + random.below(2 * SLIDE + 1)).saturating_sub(SLIDE);
                    moved.min(side - size)
                });
                let level = footprint(place, [width, depth], side).map(|column| heights[column]).max();
                if let Some(level) = level.filter(|&level| level < floor) {
                    (corner, floor) = (place, level);
                }
            }
            for column in footprint(corner, [width, depth], side) {
                heights[column] = floor + height;
            }
            let min = [corner[0], corner[1], floor];
            let edges = [width, depth, height];
            let skin = random.between(0.01, 0.03);
            Aabb::new(
                min.map(|x| (f64::from(x) - skin) as f32),
                [0, 1, 2].map(|k| (f64::from(min[k] + edges[k]) + skin) as f32),
            )
        })
        .collect()
}

/// Returns the columns below a brick.
fn footprint([x, y]: [u32; 2], [width, depth]: [u32; 2], side: u32) -> impl Iterator<Item = usize> {
    (y..y + depth).flat_map(move |y| (x..x + width).map(move |x| (y * side + x) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadsweep::cpu;
    use broadsweep::internals::brute_force;
    use broadsweep::{Options, Pair};

    /// Creates the bricks without the skin.
    fn bricks(n: usize) -> Vec<Aabb> {
        let round = |bounds: [f32; 3]| bounds.map(f32::round);
        settled(n, 1).iter().map(|b| Aabb::new(round(b.min), round(b.max))).collect()
    }

    #[test]
    fn no_brick_goes_into_another() {
        let inside: Vec<Aabb> =
            bricks(5000).iter().map(|b| Aabb::new(b.min.map(|x| x + 0.25), b.max.map(|x| x - 0.25))).collect();
        assert_eq!(brute_force::find_pairs(&inside), []);
    }

    #[test]
    fn every_brick_rests_on_the_floor_or_on_another() {
        let bricks = bricks(5000);
        let mut rests: Vec<bool> = bricks.iter().map(|b| b.min[2] == 0.0).collect();
        assert!(rests.iter().any(|on_floor| *on_floor));
        for Pair { a, b } in brute_force::find_pairs(&bricks) {
            let [(i, a), (k, b)] = [a, b].map(|i| (i as usize, bricks[i as usize]));
            // More than an edge or a corner in common, seen from above.
            if (0..2).all(|axis| a.min[axis] < b.max[axis] && b.min[axis] < a.max[axis]) {
                rests[i] |= a.min[2] == b.max[2];
                rests[k] |= b.min[2] == a.max[2];
            }
        }
        assert!(rests.into_iter().all(|rests| rests));
    }

    #[test]
    fn contacts_become_overlaps() {
        let contacts = brute_force::find_pairs(&bricks(3000));
        assert_eq!(cpu::find_pairs(&settled(3000, 1), &Options::default()).unwrap().pairs.len(), contacts.len());
    }

    #[test]
    fn the_heap_is_dense_below_and_sparse_on_top() {
        let bricks = bricks(20_000);
        let top = bricks.iter().map(|b| b.max[2]).fold(0.0, f32::max);
        let volume_between = |low: f32, high: f32| -> f32 {
            let inside = bricks.iter().filter(|b| (low * top..high * top).contains(&b.min[2]));
            inside.map(|b| (0..3).map(|k| b.max[k] - b.min[k]).product::<f32>()).sum()
        };
        let quarters = [0.0, 0.25, 0.5, 0.75].map(|low| volume_between(low, low + 0.25));
        assert!(quarters.is_sorted_by(|a, b| a > b) && quarters[0] > 2.0 * quarters[3], "{quarters:?}");
        // Under the middle of the heap, the first layer has few holes.
        let side = cube_root(32.0 * 20_000.0) as f32;
        let middle = |x: f32| (0.25 * side..0.75 * side).contains(&x);
        let low = bricks.iter().filter(|b| b.min[2] == 0.0 && middle(b.min[0]) && middle(b.min[1]));
        let covered: f32 = low.map(|b| (b.max[0] - b.min[0]) * (b.max[1] - b.min[1])).sum();
        assert!(covered > 0.65 * 0.25 * side * side, "{covered} of {}", 0.25 * side * side);
    }
}
