//! A city: sizes from a bolt to the ground.

use super::everyday::from_corner;
use super::random::{Random, power};
use broadsweep::Aabb;

/// Boxes per block.
const BLOCK: usize = 64;

/// From the middle of one street to that of the next, in metres.
const PITCH: f64 = 100.0;

/// Creates a city in metres, z upward: the ground is one plate with its top at 0 and the first box; then follow the
/// blocks, 64 boxes each, on a square grid around the origin. A block has a pavement of 84 m by 84 m, eight buildings
/// of 8 to 160 m with a machine room on each roof, sixteen lamp posts, bolts of one centimetre at the feet of seven of
/// them, and 24 cars in two of its streets.
///
/// The ground of one block is 12,000 times as wide as a bolt, that of a million boxes a million times. Everything
/// but the rooms on the roofs and the bolts pairs with the ground: it alone has most of the 1.5 pairs per box. The
/// last block may be incomplete.
pub fn city(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "city");
    let block_count = n.saturating_sub(1).div_ceil(BLOCK).max(1);
    let side = (1..).find(|side| side * side >= block_count).expect("a square above any number");
    let corner = -0.5 * PITCH * side as f64;
    let mut boxes = Vec::with_capacity(n);
    if n > 0 {
        let width = PITCH * side as f64 + 20.0;
        boxes.push(from_corner([corner - 10.0, corner - 10.0, -1.0], [width, width, 1.0]));
    }
    for i in 1..n {
        let (block, part) = ((i - 1) / BLOCK, (i - 1) % BLOCK);
        let x = corner + PITCH * (block % side) as f64;
        let y = corner + PITCH * (block / side) as f64;
        boxes.push(match part {
            0 => from_corner([x + 8.0, y + 8.0, 0.0], [84.0, 84.0, 0.15]),
            1..=8 => building([x, y], part - 1, &mut random),
            9..=16 => machine_room(&boxes[i - 8], &mut random),
            17..=32 => lamp_post([x, y], part - 17, &mut random),
            33..=39 => bolt(&boxes[i - 16]),
            _ => car([x, y], part - 40, &mut random),
        });
    }
    boxes
}

/// Creates a building on one of the nine lots of a block, all but the middle one: mostly low, some high.
fn building([x, y]: [f64; 2], number: usize, random: &mut Random) -> Aabb {
    let lot = if number < 4 { number } else { number + 1 };
    let [width, depth] = [0; 2].map(|_| random.between(12.0, 26.0));
    let u = random.unit();
    let height = 8.0 * power(20.0, u * u);
    let x = x + 10.0 + 27.0 * (lot % 3) as f64 + random.between(0.0, 26.0 - width);
    let y = y + 10.0 + 27.0 * (lot / 3) as f64 + random.between(0.0, 26.0 - depth);
    from_corner([x, y, 0.0], [width, depth, height])
}

/// Creates a machine room on the roof of `building`, away from its edges.
fn machine_room(building: &Aabb, random: &mut Random) -> Aabb {
    let [x, y] = [0, 1].map(|k| f64::from(building.min[k]) + random.between(2.0, 6.0));
    from_corner([x, y, f64::from(building.max[2])], [random.between(2.0, 5.0), random.between(2.0, 5.0), 3.0])
}

/// Creates a lamp post: there are four on each side of the pavement, half a metre from its edge.
fn lamp_post([x, y]: [f64; 2], number: usize, random: &mut Random) -> Aabb {
    let along = 18.0 + 21.0 * (number % 4) as f64;
    let across = if number % 8 < 4 { 8.5 } else { PITCH - 8.5 };
    let [x, y] = if number < 8 { [x + along, y + across] } else { [x + across, y + along] };
    from_corner([x, y, 0.0], [0.12, 0.12, random.between(6.0, 9.0)])
}

/// Creates a bolt, half in the side of `post`, at its foot.
fn bolt(post: &Aabb) -> Aabb {
    from_corner([f64::from(post.max[0]) - 0.005, f64::from(post.min[1]) + 0.055, 0.145], [0.01; 3])
}

/// Creates a car in the street along x or in the street along y, one every 8 m in one of four lanes.
fn car([x, y]: [f64; 2], number: usize, random: &mut Random) -> Aabb {
    let along = PITCH / 12.0 * ((number % 12) as f64 + 0.3 * random.unit());
    let lane = -6.0 + 3.0 * f64::from(random.below(4)) + random.between(0.2, 1.0);
    let (length, width) = (random.between(3.5, 5.2), random.between(1.6, 2.0));
    let height = random.between(1.3, 2.5);
    if number < 12 {
        from_corner([x + along, y + lane, 0.0], [length, width, height])
    } else {
        from_corner([x + lane, y + along, 0.0], [width, length, height])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest_edge(aabb: &Aabb) -> f32 {
        (0..3).map(|k| aabb.max[k] - aabb.min[k]).fold(0.0, f32::max)
    }

    #[test]
    fn sizes_differ_by_more_than_ten_thousand() {
        // One block, then the city at which single precision has little left for a bolt.
        for n in [65, 2000, 1_000_000] {
            let edges: Vec<f32> = city(n, 1).iter().map(largest_edge).collect();
            let (least, most) = edges.iter().fold((f32::MAX, 0f32), |(a, b), &e| (a.min(e), b.max(e)));
            assert!(least > 0.0 && most / least > 10_000.0, "{n}: {least} to {most}");
        }
    }

    #[test]
    fn everything_but_the_rooms_on_the_roofs_stands_on_something() {
        let boxes = city(2000, 1);
        let ground = boxes[0];
        for (i, aabb) in boxes.iter().enumerate().skip(1) {
            match (i - 1) % BLOCK {
                9..=16 => assert!(aabb.overlaps(&boxes[i - 8]) && !aabb.overlaps(&ground)),
                33..=39 => assert!(aabb.overlaps(&boxes[i - 16]) && aabb.overlaps(&boxes[i - (i - 1) % BLOCK])),
                _ => assert!(aabb.overlaps(&ground)),
            }
            assert!((0..2).all(|k| ground.min[k] <= aabb.min[k] && aabb.max[k] <= ground.max[k]), "{i}");
        }
    }
}
