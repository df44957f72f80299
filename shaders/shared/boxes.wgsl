// The input boxes as bits, 24 bytes each: (min x, min y), (min z, max x), (max y, max z). Shared by every kernel that
// binds boxes. A load has two words, since the cost on software adapters depends on the count of loads, not on bytes.

// A box, in bits.
struct LoadedBox {
    min: vec3<u32>,
    max: vec3<u32>,
}

// Loads a box with three loads; separate loads of its two corners take four.
fn load_box(i: u32) -> LoadedBox {
    let first = boxes[i * 3u];
    let middle = boxes[i * 3u + 1u];
    let last = boxes[i * 3u + 2u];
    return LoadedBox(vec3<u32>(first, middle.x), vec3<u32>(middle.y, last));
}

fn min_bits_of(i: u32) -> vec3<u32> {
    return vec3<u32>(boxes[i * 3u], boxes[i * 3u + 1u].x);
}

fn max_bits_of(i: u32) -> vec3<u32> {
    return vec3<u32>(boxes[i * 3u + 1u].y, boxes[i * 3u + 2u]);
}

fn ordered_box(i: u32) -> OrderedBox {
    let bits = load_box(i);
    return OrderedBox(ordered(bits.min), ordered(bits.max));
}
