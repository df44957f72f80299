//! Footprints in pairs, and whether a pair survives and is proven, computed without tricks.

use broadsweep::internals::constants::*;
use broadsweep::internals::mirror;

use crate::inputs::Random;

/// Creates any footprint.
pub fn random_footprint(random: &mut Random) -> u32 {
    random.next() as u32 & (0x7f7f_7f7f | FOOTPRINT_FIRST | FOOTPRINT_OF_BOX)
}

/// Returns whether, along one axis, the boxes may meet, and the cell is the first of one of them.
fn survives_along(a: [u8; 2], b: [u8; 2]) -> bool {
    let [from_a, to_a, from_b, to_b] = [a[0], a[1], b[0], b[1]].map(|byte| byte & 0x7f);
    from_a <= to_b && from_b <= to_a && (a[0] | b[0]) & 0x80 != 0
}

/// Returns what `is_proven` should return, computed without tricks.
pub fn is_proven_plainly(a: u32, b: u32) -> bool {
    let ends = |footprint: u32| footprint.to_le_bytes().map(|byte| i32::from(byte & 0x7f));
    let is_enough = |from: i32, to: i32| to - from >= PROVEN_FRACTIONS as i32;
    let along = |k: usize| is_enough(ends(a)[k], ends(b)[k + 1]) && is_enough(ends(b)[k], ends(a)[k + 1]);
    (a >> 15) & (b >> 15) & 1 == 1 && along(0) && along(2)
}

/// Returns what `survives` should return, computed without tricks.
pub fn survives_plainly(a: u32, b: u32) -> bool {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.to_le_bytes(), b.to_le_bytes());
    survives_along([a0, a1], [b0, b1]) && survives_along([a2, a3], [b2, b3])
}

/// Checks two footprints that differ in what one comparison sees: all values of `from` against all values of `to`, the
/// other bytes random; both boxes in both roles, along u and along v.
pub fn couples(seed: u64) -> Vec<[u32; 2]> {
    let mut random = Random::new(seed);
    let mut couples = Vec::new();
    for from in 0..128 {
        for to in 0..128 {
            for axis in 0..2 {
                // The other axis is no obstacle, half of the time.
                let [mut a, mut b] = [0; 2].map(|_| random_footprint(&mut random).to_le_bytes());
                if random.below(2) == 0 {
                    (a[2 - 2 * axis], a[3 - 2 * axis]) = (0x80, 0x7f);
                    (b[2 - 2 * axis], b[3 - 2 * axis]) = (0, 0x7f);
                }
                a[2 * axis] = a[2 * axis] & 0x80 | from;
                b[2 * axis + 1] = to;
                if random.below(2) == 0 {
                    a[2 * axis + 1] = 0x7f;
                    b[2 * axis] &= 0x80;
                }
                let plain = [(); 2].map(|()| if random.below(4) > 0 { FOOTPRINT_PLAIN } else { 0 });
                let couple = [0, 1].map(|k| u32::from_le_bytes([a, b][k]) & !FOOTPRINT_PLAIN | plain[k]);
                couples.push(if random.below(2) == 0 { couple } else { [couple[1], couple[0]] });
            }
        }
    }
    couples
}

#[test]
fn the_mirror_lets_footprints_pass_that_meet_along_both_axes_in_a_first_cell_of_both() {
    let (mut passed, mut proven) = (0, 0);
    for seed in 0..40 {
        for [a, b] in couples(seed) {
            assert_eq!(mirror::sweep::survives(a, b), survives_plainly(a, b), "{a:08x} and {b:08x}");
            assert_eq!(mirror::sweep::is_proven(a, b), is_proven_plainly(a, b), "{a:08x} and {b:08x}");
            passed += u32::from(survives_plainly(a, b));
            proven += u32::from(is_proven_plainly(a, b));
        }
    }
    assert!(passed > 100_000 && proven > 10_000);
}
