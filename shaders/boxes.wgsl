// The input boxes, 24 bytes each, as bits: shared by every kernel that binds boxes.

fn min_bits_of(i: u32) -> vec3<u32> {
    return vec3<u32>(boxes[i * 6u], boxes[i * 6u + 1u], boxes[i * 6u + 2u]);
}

fn max_bits_of(i: u32) -> vec3<u32> {
    return vec3<u32>(boxes[i * 6u + 3u], boxes[i * 6u + 4u], boxes[i * 6u + 5u]);
}

fn ordered_box(i: u32) -> OrderedBox {
    return OrderedBox(ordered(min_bits_of(i)), ordered(max_bits_of(i)));
}
