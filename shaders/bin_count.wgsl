// bin_count: the cells and the quantised interval of each box, and how many entries each block of boxes has.
//
// Reads   boxes         [box_count * 3] bits of f32, two at a time
//         frame         one Frame
// Writes  cells         [box_count] first and last cell, before any coarsening
//         positions     [box_count] (start, end) on the sweep axis, and where in its first and last cells the box
//                       begins and ends, as an extent: bytes (first u, last u, first v, last v)
//         block_counts  [ceil(box_count / BIN_BLOCK) * BIN_COUNTS] per block: entries at each level of
//                       coarsening, giants at each level, invalid boxes
// Cells and positions are computed here once and kept as integers. Later stages compare integers only, so no
// rounding of a later kernel can disagree with this one. Every interval is widened by more than any rounding:
// boxes that share a point share a cell, and the start of either is not after the end of the other.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> frame: Frame;
@group(0) @binding(3) var<storage, read_write> cells: array<vec4<i32>>;
@group(0) @binding(4) var<storage, read_write> positions: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> block_counts: array<u32>;

var<workgroup> entries: array<array<vec4<u32>, 2>, 256>;
var<workgroup> giants: array<atomic<u32>, LEVELS>;
var<workgroup> invalid: atomic<u32>;

// Monotone: comparisons choose the segment, and inside it a product is clamped to the segment's quanta.
fn position(x: f32) -> u32 {
    var segment = 0u;
    for (var half = KNOT_COUNT / 2u; half > 0u; half /= 2u) {
        if frame.knots[segment + half].start <= x {
            segment += half;
        }
    }
    let segment_bits = frame.position_bits - KNOT_BITS;
    let last = (1u << segment_bits) - 1u;
    let knot = frame.knots[segment];
    // Of more than 24 bits, the last quantum rounds up to the first of the next segment: clamped as an integer.
    let quantum = u32(clamp((x - knot.start) * knot.quanta, 0.0, f32(last)));
    return (segment << segment_bits) | min(quantum, last);
}

struct Place {
    cells: vec4<i32>,         // first u, first v, last u, last v
    fractions: vec4<u32>,     // of those cells
}

// Monotone too: cell and fraction together ascend with the coordinate.
fn place_of(low: vec3<f32>, high: vec3<f32>) -> Place {
    let along_u = project(frame.plane_u, low, high);
    let along_v = project(frame.plane_v, low, high);
    let corner = vec4<f32>(along_u.x, along_v.x, along_u.y, along_v.y);
    let at = (corner - frame.origin.xyxy) * frame.inverse_cell;
    // More than two units in the last place of `at`, which is all that two evaluations can differ by.
    let slop = frame.plane_slop + abs(at) * RELATIVE_SLOP;
    let outward = vec4<f32>(at.xy - slop.xy, at.zw + slop.zw);
    let reach = vec4<f32>(f32(CELL_REACH));
    let inside = clamp(outward, -reach, reach);
    let whole = floor(inside);
    let cell = vec4<i32>(whole);
    let kept = clamp(cell, vec4<i32>(frame.cell_min, frame.cell_min), vec4<i32>(frame.cell_max, frame.cell_max));
    let within = vec4<u32>(clamp((inside - whole) * f32(FRACTION_LAST + 1u), vec4<f32>(0.0), vec4<f32>(f32(FRACTION_LAST))));
    let fraction = select(select(within, vec4<u32>(0u), cell < kept), vec4<u32>(FRACTION_LAST), cell > kept);
    return Place(kept, fraction);
}

@compute @workgroup_size(256)
fn bin_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    var low_levels = vec4<u32>(0u);
    var high_levels = vec4<u32>(0u);
    for (var i = block * BIN_BLOCK + local; i < min((block + 1u) * BIN_BLOCK, params.box_count); i += 256u) {
        let min_bits = min_bits_of(i);
        let max_bits = max_bits_of(i);
        let kind = kind_of(min_bits, max_bits);
        if kind == KIND_FINITE && is_within(min_bits, max_bits, frame.limit) {
            let low = bitcast<vec3<f32>>(min_bits) * frame.scale;
            let high = bitcast<vec3<f32>>(max_bits) * frame.scale;
            let place = place_of(low, high);
            let own = place.cells;
            cells[i] = own;
            let interval = project(frame.sweep, low, high);
            let start = position(interval.x - frame.sweep_slop);
            let end = position(interval.y + frame.sweep_slop);
            let last = (1u << frame.position_bits) - 1u;
            positions[i] = vec4<u32>(max(start, 1u) - 1u, min(end, last - 1u) + 1u, extent_of(place.fractions), 0u);

            for (var level = 0u; level < LEVELS; level += 1u) {
                let count = cell_count(own, level, frame.max_span, frame.giant_cells);
                if count == 0u {
                    atomicAdd(&giants[level], 1u);
                } else if level < 4u {
                    low_levels[level] += count;
                } else {
                    high_levels[level - 4u] += count;
                }
            }
        } else {
            positions[i] = vec4<u32>(0u);
            if kind == KIND_INVALID {
                cells[i] = CELLS_OF_INVALID;
                atomicAdd(&invalid, 1u);
            } else {
                cells[i] = CELLS_OF_UNBOUNDED;
                for (var level = 0u; level < LEVELS; level += 1u) {
                    atomicAdd(&giants[level], 1u);
                }
            }
        }
    }

    entries[local][0] = low_levels;
    entries[local][1] = high_levels;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if local < half {
            entries[local][0] += entries[local + half][0];
            entries[local][1] += entries[local + half][1];
        }
        workgroupBarrier();
    }
    if local < LEVELS && block * BIN_BLOCK < params.box_count {
        let base = block * BIN_COUNTS;
        block_counts[base + local] = entries[0][local / 4u][local % 4u];
        block_counts[base + LEVELS + local] = atomicLoad(&giants[local]);
        if local == 0u {
            block_counts[base + 2u * LEVELS] = atomicLoad(&invalid);
        }
    }
}
