// What stands for a box that is not there.

// Its bounds as boxes come: not a number.
const NO_BOUND: u32 = 0x7fc00000u;
// Its bounds as boxes are grown, in bits of f32: nothing touches them.
const NO_LOW: u32 = 0x7f800000u;
const NO_HIGH: u32 = 0xff800000u;

// Tells whether a grown box is that of a box.
fn is_there(low: vec3<u32>, high: vec3<u32>) -> bool {
    return low.x != NO_LOW || high.x != NO_HIGH;
}
