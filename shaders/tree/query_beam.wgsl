// query_beam: the first box that each ray touches, of eight rays at a time that go nearly the same way, as those of a camera do.
//
// Reads   tree, query
//         nodes      of tree_leaves, tree_levels and tree_top
//         queries    [query_count * 7] bits of f32: rays (path.wgsl)
//         order      [query_count] the rays in the order in which they are asked; those of a beam are neighbours
//         ranges, askers, filters    nothing: rays say nothing but where they go
// Writes  rows       [query_count] the place of the box that each ray touches first, where that is known
//         states     [query_count] that the ray is answered; or that query_first has to begin again, and a limit of what matters
// An invocation for each beam: eight rays. A node is looked at once for all of them, with intervals around their origins and
// directions; each box of a leaf is shown to each ray. What f32 leaves in doubt, rays that are alone, and beams that meet too
// many boxes are left to query_first. So are all where there is a box beyond what f32 can tell, which each beam comes to first.
// Source: Reshetov, Soupikov, Hurley 2005, Multi-level ray tracing algorithm. The idea is that of src/cpu/tree/ray_packet.rs.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> queries: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read> ranges: array<u32>;
@group(0) @binding(6) var<storage, read> askers: array<u32>;
@group(0) @binding(7) var<storage, read_write> rows: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> states: array<vec4<u32>>;

const IS_RANKED: bool = true;
const IS_SHARED: bool = false;

// Rays of a beam.
const BEAM_RAYS: u32 = 8u;
// The most boxes that a beam looks at. With more, its rays lie so far apart, or pass so many boxes, that each is done sooner by itself.
const MOST_LOOKS: u32 = 128u;
// The most that a direction may differ from that of the first ray: the square of the sine of the angle.
const NARROW: f32 = 1e-3;
// The limit of a ray that is in doubt: nothing matters to it.
const IN_DOUBT: f32 = -1.0;

// A ray, and the place of the first box that it touches so far, or NOWHERE. How near that is is the limit then.
struct BeamRay {
    origin: vec3<f32>,
    inverse: vec3<f32>,
    limit: f32,
    place: u32,
}

// Its rays are named one by one: what is indexed by a number that is found on the way would be memory.
var<private> rays: array<BeamRay, BEAM_RAYS>;
const_assert BEAM_RAYS == 8u && WALKERS == 64u;
// Whether they go nearly the same way.
var<private> is_narrow: bool;
var<private> first_direction: vec3<f32>;
// The least and greatest of their origins and of the inverses of their directions.
var<private> least_origin: vec3<f32>;
var<private> greatest_origin: vec3<f32>;
var<private> least_inverse: vec3<f32>;
var<private> greatest_inverse: vec3<f32>;
// What `flushed` is for all of them.
var<private> most_flushed: f32;
var<private> looks: u32;

// A workgroup has as many rays as one of query_first, so that few rays, too, are spread over all cores.
@compute @workgroup_size(8)
fn query_beam(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = group_index(group, groups) * WALKERS + BEAM_RAYS * local;
    if first >= query.query_count {
        return;
    }
    // A beam that is not full is left.
    is_narrow = first + BEAM_RAYS <= query.query_count;
    most_flushed = 0.0;
    looks = 0u;
    rays[0] = begin_ray(first, 0u);
    rays[1] = begin_ray(first, 1u);
    rays[2] = begin_ray(first, 2u);
    rays[3] = begin_ray(first, 3u);
    rays[4] = begin_ray(first, 4u);
    rays[5] = begin_ray(first, 5u);
    rays[6] = begin_ray(first, 6u);
    rays[7] = begin_ray(first, 7u);
    flushed = most_flushed;
    update_limit();
    let place = begin_walk(AGAIN);
    if is_narrow {
        walk_ranges(begin_query(0u), place);
    }
    let is_answered = is_narrow && resumed_at == NOWHERE && !is_done();
    end_ray(first, 0u, rays[0], is_answered);
    end_ray(first, 1u, rays[1], is_answered);
    end_ray(first, 2u, rays[2], is_answered);
    end_ray(first, 3u, rays[3], is_answered);
    end_ray(first, 4u, rays[4], is_answered);
    end_ray(first, 5u, rays[5], is_answered);
    end_ray(first, 6u, rays[6], is_answered);
    end_ray(first, 7u, rays[7], is_answered);
}

// Reads a ray, and takes it into the beam.
fn begin_ray(first: u32, i: u32) -> BeamRay {
    let is_valid = begin_path(order[min(first + i, query.query_count - 1u)]);
    if !is_valid || !is_usual || still_axes != 0u {
        is_narrow = false;
        return BeamRay(vec3<f32>(0.0), vec3<f32>(0.0), IN_DOUBT, NOWHERE);
    }
    let origin = bitcast<vec3<f32>>(path_front);
    let direction = bitcast<vec3<f32>>(path_direction);
    if i == 0u {
        first_direction = direction;
        least_origin = origin;
        greatest_origin = origin;
        least_inverse = sight_inverse;
        greatest_inverse = sight_inverse;
    }
    let along = dot(direction, first_direction);
    let both = dot(direction, direction) * dot(first_direction, first_direction);
    is_narrow &= all(direction * first_direction > vec3<f32>(0.0)) && along * along > (1.0 - NARROW) * both;
    least_origin = min(least_origin, origin);
    greatest_origin = max(greatest_origin, origin);
    least_inverse = min(least_inverse, sight_inverse);
    greatest_inverse = max(greatest_inverse, sight_inverse);
    most_flushed = max(most_flushed, flushed);
    return BeamRay(origin, sight_inverse, sight_limit, NOWHERE);
}

// Writes what a ray has found, or leaves it.
fn end_ray(first: u32, i: u32, ray: BeamRay, is_answered: bool) {
    if first + i >= query.query_count {
        return;
    }
    let number = order[first + i];
    let is_known = is_answered && ray.limit != IN_DOUBT;
    let is_hit = is_known && ray.place != NOWHERE;
    if is_hit {
        // Nobody asks for the rank of a row that is complete.
        rows[number] = vec2<u32>(ray.place, 0u);
    }
    // A box that is touched for sure is no farther than this; not even a doubt, in order that it is found once more without one.
    let limit = select(NEVER, ray.limit + 4.0 * doubt_of(ray.limit), ray.limit != IN_DOUBT);
    states[number] = vec4<u32>(select(AGAIN, NOWHERE, is_known), select(0u, 1u, is_hit), bitcast<u32>(limit), NOWHERE);
}

fn update_limit() {
    let a = vec4<f32>(rays[0].limit, rays[1].limit, rays[2].limit, rays[3].limit);
    let b = vec4<f32>(rays[4].limit, rays[5].limit, rays[6].limit, rays[7].limit);
    let most = max(a, b);
    sight_limit = max(max(most.x, most.y), max(most.z, most.w));
}

// ---- what walk.wgsl asks ----

// Nothing is decided here.
fn decision_steps() -> u32 {
    return 0u;
}

fn decide(own: BoxBits) -> bool {
    return false;
}

fn is_done() -> bool {
    return looks > MOST_LOOKS || sight_limit < 0.0;
}

// When the beam reaches and leaves children: the earliest and the latest of its rays. See path_sight.wgsl.
fn see(at: u32) -> Seen {
    let head = nodes[at];
    let size = step_sizes(head);
    let origin = bitcast<vec3<f32>>(head.xyz);
    // As the last ray of a beam goes, so go all.
    let is_back = is_backward();
    let front = origin - select(greatest_origin, least_origin, is_back);
    let rear = origin - select(least_origin, greatest_origin, is_back);
    let speed = max(abs(least_inverse), abs(greatest_inverse));
    let doubt = (max(abs(front), abs(rear)) + 255.0 * size) * speed * ROUNDING + (flushed + FLUSHED_STEPS);
    let least_scale = size * least_inverse;
    let greatest_scale = size * greatest_inverse;
    let least_reach = front * least_inverse - doubt;
    let greatest_reach = front * greatest_inverse - doubt;
    let least_leave = rear * least_inverse + doubt;
    let greatest_leave = rear * greatest_inverse + doubt;
    var near_a = vec4<f32>(0.0);
    var near_b = near_a;
    var far_a = vec4<f32>(sight_limit + doubt_of(sight_limit));
    var far_b = far_a;
    let x = nodes[at + 1u];
    let y = nodes[at + 2u];
    let z = nodes[at + 3u];
    for (var k = 0u; k < 3u; k += 1u) {
        let words = select(select(z, y, k == 1u), x, k == 0u);
        let first = select(words.xy, words.zw, is_back[k]);
        let last = select(words.zw, words.xy, is_back[k]);
        let first_a = vec4<f32>(bytes_of(first.x));
        let first_b = vec4<f32>(bytes_of(first.y));
        let last_a = vec4<f32>(bytes_of(last.x));
        let last_b = vec4<f32>(bytes_of(last.y));
        near_a = max(near_a, min(first_a * least_scale[k] + least_reach[k], first_a * greatest_scale[k] + greatest_reach[k]));
        near_b = max(near_b, min(first_b * least_scale[k] + least_reach[k], first_b * greatest_scale[k] + greatest_reach[k]));
        far_a = min(far_a, max(last_a * least_scale[k] + least_leave[k], last_a * greatest_scale[k] + greatest_leave[k]));
        far_b = min(far_b, max(last_b * least_scale[k] + least_leave[k], last_b * greatest_scale[k] + greatest_leave[k]));
    }
    let met = bits_of(near_a <= far_a) | (bits_of(near_b <= far_b) << 4u);
    let vast = vast_children(head);
    return Seen(met & ~vast, vast, near_a, near_b);
}

fn sight_of(own: BoxBits) -> Sight {
    return Sight(is_none(own), true, 0.0);
}

// Shows a box to all rays.
fn take(place: u32, own: BoxBits, near: f32) {
    looks += 1u;
    if class_of(own.low, own.high) != 0u {
        // Beyond what f32 can tell.
        looks = MOST_LOOKS + 1u;
        return;
    }
    let first = bitcast<vec3<f32>>(select(own.low, own.high, is_backward()));
    let last = bitcast<vec3<f32>>(select(own.high, own.low, is_backward()));
    rays[0] = shown(rays[0], place, first, last);
    rays[1] = shown(rays[1], place, first, last);
    rays[2] = shown(rays[2], place, first, last);
    rays[3] = shown(rays[3], place, first, last);
    rays[4] = shown(rays[4], place, first, last);
    rays[5] = shown(rays[5], place, first, last);
    rays[6] = shown(rays[6], place, first, last);
    rays[7] = shown(rays[7], place, first, last);
    update_limit();
}

// Returns a ray to which a box was shown: which it touches sooner than any before, or later or not, or which is in doubt.
fn shown(ray: BeamRay, place: u32, first: vec3<f32>, last: vec3<f32>) -> BeamRay {
    let reached = (first - ray.origin) * ray.inverse;
    let left = (last - ray.origin) * ray.inverse;
    let near = max(max(max(reached.x, reached.y), reached.z), 0.0);
    let end = min(min(min(left.x, left.y), left.z), ray.limit);
    let doubt = doubt_of(max(near, abs(end)));
    let is_missed = near - doubt > end;
    // Where the origin is in the box, the limit becomes zero: another such box is in doubt, since ids decide.
    let is_sure = near + doubt < end;
    let is_known = is_missed || is_sure;
    let limit = select(IN_DOUBT, select(ray.limit, near, is_sure), is_known);
    return BeamRay(ray.origin, ray.inverse, limit, select(ray.place, place, is_sure));
}
