// What each box did, 32 of them in a vector of bits: x that it moved in this step, y that it left its grown box in this step, z that
// it did since the epoch began, and w that it did either of the first and the third. Shared by the kernels that bind `states`.

// Tells whether a box left its grown box in this step.
fn has_escaped(i: u32) -> bool {
    return ((states[i / 32u].y >> (i % 32u)) & 1u) != 0u;
}

// Tells whether a box has left its grown box since the epoch began.
fn has_left(i: u32) -> bool {
    return ((states[i / 32u].z >> (i % 32u)) & 1u) != 0u;
}

// Tells whether a box moved, or has left its grown box.
fn is_touched(i: u32) -> bool {
    return ((states[i / 32u].w >> (i % 32u)) & 1u) != 0u;
}
