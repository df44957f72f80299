// What a box that moved does. Shared by the kernels that look for those, which bind `params`, `epoch`, `last`, `fat` and `moves`.

// Takes note of a box that moved, and grows it anew where it leaves its grown box.
fn note_moved(i: u32, low: vec3<u32>, high: vec3<u32>) {
    let low_then = vec3<u32>(last[i * 3u], last[i * 3u + 1u].x);
    let high_then = vec3<u32>(last[i * 3u + 1u].y, last[i * 3u + 2u]);
    set_last(i, low, high);
    atomicOr(&moves[i / 32u * 4u], 1u << (i % 32u));
    let kind = kind_of(low, high);
    if kind == KIND_INVALID {
        return;
    }
    let own_low = fat_low(i);
    let own_high = fat_high(i);
    var leaves = any(ordered(low) < ordered(own_low)) || any(ordered(own_high) < ordered(high));
    if kind == KIND_FINITE && is_early() {
        let way = max(exponents(low, low_then), exponents(high, high_then));
        let gap = min(exponents(low, own_low), exponents(own_high, high));
        leaves |= min(gap.x, min(gap.y, gap.z)) < max(way.x, max(way.y, way.z)) + EPOCH_SOON;
    }
    if leaves {
        let margin = vec3<u32>(margin_bits(escape_margin(epoch.edge)));
        set_fat(i, less_rounded_down(low, margin), sum_rounded_up(high, margin));
        atomicOr(&moves[i / 32u * 4u + 1u], 1u << (i % 32u));
    }
}

fn set_last(i: u32, low: vec3<u32>, high: vec3<u32>) {
    last[i * 3u] = low.xy;
    last[i * 3u + 1u] = vec2<u32>(low.z, high.x);
    last[i * 3u + 2u] = high.yz;
}

// Tells whether boxes leave in this step that soon would.
fn is_early() -> bool {
    return epoch.age % EPOCH_PERIOD == 1u && epoch.moved <= params.box_count / EPOCH_MOST_EARLY;
}

// Returns the exponents of f32 of three differences. A box that goes on as it did leaves its grown box within EPOCH_PERIOD steps if the
// least of what is left of the margin is not longer than as many of the largest of its ways, by exponents.
fn exponents(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return (bitcast<vec3<u32>>(bitcast<vec3<f32>>(a) - bitcast<vec3<f32>>(b)) >> vec3<u32>(23u)) & vec3<u32>(0xffu);
}
