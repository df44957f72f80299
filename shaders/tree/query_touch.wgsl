// query_touch: lists all boxes that each point, box or convex shape touches: counts them first, then writes them
// (lists.wgsl).
//
// Reads   queries    points, boxes, or regions: bounds, and the range of their half-spaces; from word `parts` on, the
//                    half-spaces
//
// Boxes are tested exactly, in integers; nodes are tested in steps that are rounded outward.

// Set if there are half-spaces, since only these can be undecided.
override IS_EXACT: bool = false;

@compute @workgroup_size(64)
fn query_touch(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    list_boxes(group_index(group, groups), local);
}

var<private> region: OrderedBox;
var<private> part_first: u32;
var<private> part_end: u32;

// Reads a query, and returns whether it is valid.
fn begin_shape(number: u32) -> bool {
    let at = number * query.u32_count;
    let low = vec3<u32>(queries[at], queries[at + 1u], queries[at + 2u]);
    var high = low;
    if query.u32_count > 3u {
        high = vec3<u32>(queries[at + 3u], queries[at + 4u], queries[at + 5u]);
    }
    part_first = 0u;
    part_end = 0u;
    region = OrderedBox(ordered(low), ordered(high));
    var is_valid = kind_of(low, high) != KIND_INVALID;
    if query.u32_count == REGION_U32_COUNT {
        part_first = queries[at + 6u];
        let count = queries[at + 7u];
        is_valid &= count == 0u || (part_first <= query.part_count && count <= min(query.part_count - part_first, MOST_PARTS));
        part_end = select(part_first, part_first + count, is_valid);
    }
    spent = part_end - part_first;
    for (var part = part_first; part < part_end; part += 1u) {
        let normal = normal_of(part);
        let reach = vec4<u32>(normal, offset_of(part)) & vec4<u32>(~SIGN);
        is_valid &= all(reach < vec4<u32>(INFINITY)) && any(reach.xyz != vec3<u32>(0u));
    }
    return is_valid;
}

fn normal_of(part: u32) -> vec3<u32> {
    let word = query.parts + 4u * part;
    return vec3<u32>(queries[word], queries[word + 1u], queries[word + 2u]);
}

fn offset_of(part: u32) -> u32 {
    return queries[query.parts + 4u * part + 3u];
}

// Returns for each of four children whether its bounds meet a range of steps.
fn reaching(low: u32, high: u32, first: u32, last: u32) -> u32 {
    return bits_of((bytes_of(low) <= vec4<u32>(last)) & (vec4<u32>(first) <= bytes_of(high)));
}

fn see(at: u32) -> Seen {
    let head = nodes[at];
    let origin = bitcast<vec3<f32>>(head.xyz);
    let size = step_sizes(head);
    // The region in steps of the node: its first step is 1 to 255, its last step 0 to 254. So a missing child, with the
    // steps 255 and 0, is in no region. A difference may be rounded, but not beyond an integer.
    let first = steps_from(origin, clamp(region.min, bits_of_step(origin, size, 1.0), bits_of_step(origin, size, 255.0)), size);
    let last = steps_from(origin, clamp(region.max, bits_of_step(origin, size, 0.0), bits_of_step(origin, size, 254.0)), size);
    let from_step = vec3<u32>(ceil(first));
    let to_step = vec3<u32>(floor(last));
    var bits = 0xffu;
    for (var k = 0u; k < 3u; k += 1u) {
        let words = nodes[at + 1u + k];
        bits &= reaching(words.x, words.z, from_step[k], to_step[k]) | (reaching(words.y, words.w, from_step[k], to_step[k]) << 4u);
    }
    // A node must also reach into all half-spaces of the region.
    let has_parts = part_first < part_end;
    return Seen(select(bits, 0u, has_parts), select(0u, bits, has_parts), vec4<f32>(0.0), vec4<f32>(0.0));
}

// Returns the planes of a step along each axis, as ordered integers.
fn bits_of_step(origin: vec3<f32>, size: vec3<f32>, step: f32) -> vec3<i32> {
    return ordered(bitcast<vec3<u32>>(origin + step * size));
}

// Returns the steps from the origin of a node to planes, given as ordered integers.
fn steps_from(origin: vec3<f32>, planes: vec3<i32>, size: vec3<f32>) -> vec3<f32> {
    let per_size = bitcast<vec3<f32>>(vec3<u32>(254u << 23u) - bitcast<vec3<u32>>(size));
    return bitcast<vec3<f32>>(ordered(bitcast<vec3<u32>>(planes))) * per_size - origin * per_size;
}

fn sight_of(own: BoxBits) -> Sight {
    let bounds = OrderedBox(ordered(own.low), ordered(own.high));
    let touches = overlap(bounds, region) && all(bounds.min <= bounds.max);
    return Sight(!touches, part_first >= part_end, 0.0);
}

fn decision_steps() -> u32 {
    return 1u + part_end - part_first;
}

fn decide(own: BoxBits) -> bool {
    for (var part = part_first; part < part_end; part += 1u) {
        if !half_space_touches(normal_of(part), offset_of(part), own.low, own.high) {
            return false;
        }
    }
    return true;
}
