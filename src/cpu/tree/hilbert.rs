//! Computes places along a Hilbert curve through space.
//!
//! A table drives the computation, two levels at a time. The course of the curve in a cube depends on the corner where
//! it enters and the axis along which it leaves: 24 states. Source: Hamilton and Rau-Chaplin 2008, Compact Hilbert
//! indices.

/// Levels of the curve: bits of each coordinate.
pub const LEVELS: u32 = 10;

/// For each state and two bits per coordinate: the place among 64 cubes, plus 64 times the state of the curve in this
/// cube.
static STEPS: [u16; 24 * 64] = steps();

/// Returns the place of a point. Each coordinate has [`LEVELS`] bits.
#[inline]
pub fn place([x, y, z]: [u32; 3]) -> u32 {
    let (mut state, mut place) = (0, 0);
    for level in (0..LEVELS).step_by(2).rev() {
        let step = STEPS[state << 6 | ((x >> level & 3) << 4 | (y >> level & 3) << 2 | z >> level & 3) as usize];
        place = place << 6 | u32::from(step & 63);
        state = usize::from(step >> 6);
    }
    place
}

const fn steps() -> [u16; 24 * 64] {
    let mut steps = [0; 24 * 64];
    let mut at = 0;
    while at < steps.len() {
        let (state, x, y, z) = (at >> 6, at >> 4 & 3, at >> 2 & 3, at & 3);
        let upper = step(state, x >> 1 | (y >> 1) << 1 | (z >> 1) << 2);
        let lower = step(upper.1, x & 1 | (y & 1) << 1 | (z & 1) << 2);
        steps[at] = (lower.1 << 6 | upper.0 << 3 | lower.0) as u16;
        at += 1;
    }
    steps
}

/// Returns the place of an octant among eight, and the state of the curve in it. The number of a state is three times
/// the corner where the curve enters, plus the axis along which it leaves.
const fn step(state: usize, octant: usize) -> (usize, usize) {
    let (entry, axis) = (state / 3, state % 3);
    let gray = rotated(octant ^ entry, 3 - (axis + 1) % 3);
    let place = gray ^ gray >> 1 ^ gray >> 2;
    let (corner, turn) = if place == 0 {
        (0, 0)
    } else {
        let before = (place - 1) / 2 * 2;
        let ones = if place.is_multiple_of(2) { (place - 1).trailing_ones() } else { place.trailing_ones() };
        (before ^ before >> 1, ones as usize % 3)
    };
    (place, (entry ^ rotated(corner, (axis + 1) % 3)) * 3 + (axis + turn + 1) % 3)
}

/// Rotates three bits to the left.
const fn rotated(bits: usize, by: usize) -> usize {
    (bits << by | bits >> (3 - by)) & 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_goes_through_every_cube_to_a_neighbour() {
        let side = 16u32;
        let mut points: Vec<(u32, [u32; 3])> = (0..side.pow(3))
            .map(|i| [i % side, i / side % side, i / side / side])
            .map(|point| (place(point.map(|x| x << (LEVELS - 4))), point))
            .collect();
        points.sort_unstable();
        for (i, &(place, _)) in points.iter().enumerate() {
            assert_eq!(place >> (3 * LEVELS - 12), i as u32);
        }
        for step in points.windows(2) {
            let apart: u32 = (0..3).map(|k| step[0].1[k].abs_diff(step[1].1[k])).sum();
            assert_eq!(apart, 1, "{step:?}");
        }
    }
}
