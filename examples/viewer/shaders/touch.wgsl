// Effects of pairs on their boxes. Each kernel runs over a list of pairs, with the list's indirect arguments.

// The header of the list. The fifth u32 is the pair count.
@group(0) @binding(0) var<storage, read> header: array<u32, 8>;
@group(0) @binding(1) var<storage, read> pairs: array<vec2u>;
@group(0) @binding(2) var<uniform> globals: Globals;
@group(0) @binding(3) var<storage, read> bodies: array<Body>;
@group(0) @binding(4) var<storage, read> boxes: array<f32>;
@group(0) @binding(5) var<storage, read_write> contacts: array<atomic<i32>>;
// Two u32 per box: the last frame in which a pair was created, and the last in which one was lost.
@group(0) @binding(6) var<storage, read_write> stamps: array<atomic<u32>>;
// Lost pairs with their frame, in a ring. The first u32 is the place of the next one.
@group(0) @binding(7) var<storage, read_write> ended: array<u32>;
@group(0) @binding(8) var<storage, read> before: array<u32>;
@group(0) @binding(9) var<storage, read> last_ages: array<u32>;
@group(0) @binding(10) var<storage, read_write> ages: array<u32>;
// The header of the created pairs. The fourth u32 is not 0 if the step is incomplete.
@group(0) @binding(11) var<storage, read> begun: array<u32, 8>;

const PUSH_UNIT: f32 = 65536.0;
// The depth that resting boxes keep. Without it they would touch in every second frame only.
const REST: f32 = 0.015;
const ENDED_MOST: u32 = 8192u;
const OLD: u32 = 0xffffu;

fn index(id: vec3u, groups: vec3u) -> u32 {
    return id.x + id.y * groups.x * 256u;
}

// Counts the pairs of each box, and pushes falling boxes apart along the axis of least overlap.
@compute @workgroup_size(256)
fn push(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index(id, groups);
    if i >= header[4] {
        return;
    }
    let pair = pairs[i];
    atomicAdd(&contacts[8u * pair.x + 6u], 1);
    atomicAdd(&contacts[8u * pair.y + 6u], 1);
    let is_loose = vec2<bool>(bodies[pair.x].motion == FALLING, bodies[pair.y].motion == FALLING);
    if !any(is_loose) {
        return;
    }
    var axis = 0u;
    var depth = 1e9;
    var side = 1.0;
    for (var k = 0u; k < 3u; k++) {
        let low = vec2f(boxes[6u * pair.x + k], boxes[6u * pair.y + k]);
        let high = vec2f(boxes[6u * pair.x + 3u + k], boxes[6u * pair.y + 3u + k]);
        let meet = min(high.x - low.y, high.y - low.x);
        if meet < depth {
            depth = meet;
            axis = k;
            side = select(-1.0, 1.0, low.x + high.x >= low.y + high.y);
        }
    }
    let share = select(1.0, 0.5, all(is_loose));
    let amount = i32(PUSH_UNIT * side * share * clamp(depth - REST, 0.0, 1.0));
    if is_loose.x {
        atomicAdd(&contacts[8u * pair.x + axis], amount);
        atomicAdd(&contacts[8u * pair.x + 3u + axis], 1);
    }
    if is_loose.y {
        atomicAdd(&contacts[8u * pair.y + axis], -amount);
        atomicAdd(&contacts[8u * pair.y + 3u + axis], 1);
    }
}

// Computes the age of each pair. `before` has the place of the pair in the last list.
@compute @workgroup_size(256)
fn age(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index(id, groups);
    if i >= header[4] {
        return;
    }
    let place = before[i];
    // After an incomplete step the age is unknown.
    if begun[3] != 0u {
        ages[i] = OLD;
    } else if place < arrayLength(&last_ages) {
        ages[i] = min(last_ages[place] + 1u, OLD);
    } else {
        // In the first frame the age is unknown.
        ages[i] = select(0u, OLD, globals.is_first != 0u);
    }
}

// Marks the boxes of created pairs.
@compute @workgroup_size(256)
fn begin(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index(id, groups);
    if i >= header[4] || globals.is_first != 0u {
        return;
    }
    atomicStore(&stamps[2u * pairs[i].x], globals.frame);
    atomicStore(&stamps[2u * pairs[i].y], globals.frame);
}

// Marks the boxes of lost pairs, and stores the pairs in the ring.
@compute @workgroup_size(256)
fn end(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index(id, groups);
    if i >= header[4] {
        return;
    }
    atomicStore(&stamps[2u * pairs[i].x + 1u], globals.frame);
    atomicStore(&stamps[2u * pairs[i].y + 1u], globals.frame);
    // The ring stores only the first ENDED_MOST lost pairs of a frame.
    if i < ENDED_MOST {
        let place = 1u + 3u * ((ended[0] + i) % ENDED_MOST);
        ended[place] = pairs[i].x;
        ended[place + 1u] = pairs[i].y;
        ended[place + 2u] = globals.frame;
    }
}

// Advances the place of the next lost pair.
@compute @workgroup_size(1)
fn end_counted() {
    ended[0] = (ended[0] + min(header[4], ENDED_MOST)) % ENDED_MOST;
}
