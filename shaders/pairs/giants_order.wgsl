// giants_order: giants in an order in which those that follow each other lie near each other, and their bounds, where boxes ask for the giants
// that they meet.
//
// Reads   counts, boxes
// Changes giants       [giant_count] from ascending to: of each ORDER_TILE of them ORDER_SLAB whose low ends along one axis are lowest, by their
//                      low ends along a second axis, and so on; equal ones by box
// Writes  row_bounds   [rows * 3] bounds of GIANT_ROW giants in a row, ordered, two at a time; then [parts * 3] those of GIANT_PART
// A workgroup per ORDER_TILE giants. The axes are those along which their low ends are spread most: ground is flat. Its numbers are compared
// and not rounded, but for one difference for each axis, so the order is the same on every adapter unless two axes are spread alike.
// Source: Leutenegger, Lopez, Edgington 1997, STR: a simple and efficient algorithm for R-tree packing; Batcher 1968, Sorting networks and
// their applications.

@group(0) @binding(0) var<uniform> counts: Counts;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> giants: array<u32>;
@group(0) @binding(3) var<storage, read_write> row_bounds: array<vec2<u32>>;

// What stands for a giant that is not there; it comes last.
const NO_GIANT: u32 = 0xffffffffu;

// The least and the greatest low end along each axis that is finite, ordered.
var<workgroup> low_ends: array<atomic<i32>, 6>;
var<workgroup> keys: array<u32, ORDER_TILE>;
var<workgroup> names: array<u32, ORDER_TILE>;
var<workgroup> of_parts: array<OrderedBox, ORDER_TILE / GIANT_PART>;

@compute @workgroup_size(256)
fn giants_order(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = group_index(group, groups) * ORDER_TILE;
    if local < 6u {
        atomicStore(&low_ends[local], select(NO_HIGH, NO_LOW, local < 3u));
    }
    workgroupBarrier();
    for (var at = local; at < ORDER_TILE; at += 256u) {
        take_giant(first + at, at);
    }
    workgroupBarrier();
    let axes = axes_by_spread();
    set_keys(local, axes.x);
    sort_each(local, ORDER_TILE);
    set_keys(local, axes.y);
    sort_each(local, ORDER_SLAB);
    for (var at = local; at < ORDER_TILE; at += 256u) {
        if first + at < counts.giant_count {
            giants[first + at] = names[at];
        }
    }
    write_bounds_of_tile(first, local);
}

// Takes a giant, if it is there, to a place of the tile.
fn take_giant(number: u32, at: u32) {
    names[at] = NO_GIANT;
    if number >= counts.giant_count {
        return;
    }
    let giant = giants[number];
    names[at] = giant;
    let bits = load_box(giant).min;
    let low = ordered(bits);
    for (var k = 0u; k < 3u; k += 1u) {
        if (bits[k] & 0x7fffffffu) < 0x7f800000u {
            atomicMin(&low_ends[k], low[k]);
            atomicMax(&low_ends[k + 3u], low[k]);
        }
    }
}

// Returns the axes along which low ends are spread most and second most.
fn axes_by_spread() -> vec2<u32> {
    let by_axis = vec3<f32>(spread_along(0u), spread_along(1u), spread_along(2u));
    let least = select(select(2u, 1u, by_axis.y < by_axis.z), select(2u, 0u, by_axis.x < by_axis.z), by_axis.x < by_axis.y);
    // The axes beside that with the least spread.
    let a = select(0u, 1u, least == 0u);
    let b = select(2u, 1u, least == 2u);
    return select(vec2<u32>(a, b), vec2<u32>(b, a), by_axis[a] < by_axis[b]);
}

fn spread_along(axis: u32) -> f32 {
    let low = atomicLoad(&low_ends[axis]);
    let high = atomicLoad(&low_ends[axis + 3u]);
    let ends = bitcast<vec3<f32>>(ordered(bitcast<vec3<u32>>(vec3<i32>(low, high, 0))));
    let spread = ends.y - ends.x;
    return select(0.0, spread, low < high && spread >= LEAST_SPREAD);
}

// Sets the keys to the low ends along an axis.
fn set_keys(local: u32, axis: u32) {
    for (var at = local; at < ORDER_TILE; at += 256u) {
        keys[at] = NO_GIANT;
        if names[at] != NO_GIANT {
            keys[at] = bitcast<u32>(ordered(load_box(names[at]).min)[axis]) ^ 0x80000000u;
        }
    }
}

// Sorts each `size` keys in a row, with their names. Every invocation of the workgroup has to call.
fn sort_each(local: u32, size: u32) {
    for (var run = 2u; run <= size; run <<= 1u) {
        for (var stride = run >> 1u; stride > 0u; stride >>= 1u) {
            workgroupBarrier();
            for (var nth = local; nth < ORDER_TILE / 2u; nth += 256u) {
                let a = 2u * nth - (nth & (stride - 1u));
                // Runs go up and down by turns, so that two of them are one that does both; at last all go up.
                put_in_order(a, a + stride, (a & run) == 0u || run == size);
            }
        }
    }
    workgroupBarrier();
}

// Swaps two keys with their names unless they ascend as they should.
fn put_in_order(a: u32, b: u32, ascends: bool) {
    let key_a = keys[a];
    let key_b = keys[b];
    let name_a = names[a];
    let name_b = names[b];
    let is_above = key_a > key_b || (key_a == key_b && name_a > name_b);
    if is_above == ascends {
        keys[a] = key_b;
        keys[b] = key_a;
        names[a] = name_b;
        names[b] = name_a;
    }
}

// Writes the bounds of the rows of the tile and of their parts. Every invocation of the workgroup has to call.
fn write_bounds_of_tile(first: u32, local: u32) {
    let rows = div_ceil(counts.giant_count, GIANT_ROW);
    if local < ORDER_TILE / GIANT_PART {
        var of_part = NO_BOUNDS;
        for (var k = 0u; k < GIANT_PART; k += 1u) {
            let giant = names[local * GIANT_PART + k];
            if giant != NO_GIANT {
                of_part = around(of_part, ordered_box(giant));
            }
        }
        of_parts[local] = of_part;
        if first + local * GIANT_PART < counts.giant_count {
            write_bounds(rows + first / GIANT_PART + local, of_part);
        }
    }
    workgroupBarrier();
    if local < ORDER_TILE / GIANT_ROW && first + local * GIANT_ROW < counts.giant_count {
        var of_row = of_parts[local * ROW_PARTS];
        for (var k = 1u; k < ROW_PARTS; k += 1u) {
            of_row = around(of_row, of_parts[local * ROW_PARTS + k]);
        }
        write_bounds(first / GIANT_ROW + local, of_row);
    }
}
