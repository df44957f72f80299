// giants_near: which boxes meet the bounds of GIANT_GROUP giants in a row, where there are as many giants. No other box is tested
// against each of these.
//
// Reads   params, counts
//         boxes       [box_count * 3] bits of f32, two at a time
//         giants      [giant_count] ascending
// Writes  hit_words   behind those of giants_test: [tiles of groups * 256] a bit per box, as giants_walk.wgsl has them
// A workgroup per group of giants and HIT_TILE boxes. Giants that follow each other in the input mostly lie side by side, as the ground
// does that worlds have in common; where they do not, all boxes are near.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> counts: Counts;
@group(0) @binding(3) var<storage, read> giants: array<u32>;
@group(0) @binding(4) var<storage, read_write> hit_words: array<u32>;

const NO_LOW: i32 = 0x7fffffff;
const NO_HIGH: i32 = -0x7fffffff - 1;

// The bounds of each giant of the group, ordered: low x, y, z, high x, y, z.
var<workgroup> of_giants: array<array<i32, 6>, GIANT_GROUP>;
// The bounds of all of them.
var<workgroup> of_group: array<i32, 6>;

@compute @workgroup_size(256)
fn giants_near(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let per_giant = div_ceil(params.box_count, HIT_TILE);
    let first_giant = tile / per_giant * GIANT_GROUP;
    if local < GIANT_GROUP {
        var own = OrderedBox(vec3<i32>(NO_LOW), vec3<i32>(NO_HIGH));
        if first_giant + local < counts.giant_count {
            own = ordered_box(giants[first_giant + local]);
        }
        of_giants[local] = array<i32, 6>(own.min.x, own.min.y, own.min.z, own.max.x, own.max.y, own.max.z);
    }
    workgroupBarrier();
    if local < 6u {
        var bound = of_giants[0][local];
        for (var k = 1u; k < GIANT_GROUP; k += 1u) {
            let other = of_giants[k][local];
            bound = select(max(bound, other), min(bound, other), local < 3u);
        }
        of_group[local] = bound;
    }
    workgroupBarrier();
    let low = vec3<i32>(of_group[0], of_group[1], of_group[2]);
    let high = vec3<i32>(of_group[3], of_group[4], of_group[5]);
    let bounds = OrderedBox(low, high);
    let first = tile % per_giant * HIT_TILE + local;
    var near = 0u;
    for (var bit = 0u; bit < 32u; bit += 1u) {
        let i = first + bit * 256u;
        if i < params.box_count {
            near |= select(0u, 1u << bit, overlap(bounds, ordered_box(i)));
        }
    }
    // There may be more workgroups than tiles, and more tiles than there is room for.
    if first_giant < counts.giant_count && tile < params.giant_tile_capacity / NEAR_SHARE {
        hit_words[(params.giant_tile_capacity + tile) * 256u + local] = near;
    }
}
