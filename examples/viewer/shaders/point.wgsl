// Rays through the pointer, their first hit, and the sphere at the hit.

struct Hit {
    index: u32,
    t: f32,
}

// The picked box, and the sphere in the world of the box.
struct Pointed {
    index: u32,
    world: u32,
    t: f32,
    unused: u32,
    center: vec3f,
    radius: f32,
}

@group(0) @binding(0) var<uniform> globals: Globals;
// One ray per world: 7 f32.
@group(0) @binding(1) var<storage, read_write> rays: array<f32>;
// The query filters of the rays: 5 u32 each.
@group(0) @binding(2) var<storage, read_write> query_filters: array<u32>;
@group(0) @binding(3) var<storage, read> hits: array<Hit>;
@group(0) @binding(4) var<storage, read_write> pointed: Pointed;
@group(0) @binding(5) var<storage, read_write> sphere: array<f32, 4>;
@group(0) @binding(6) var<storage, read_write> sphere_filter: array<u32, 5>;

const NONE: u32 = 0xffffffffu;

// Writes the ray of the pointer for each world, from the eye in its coordinates.
@compute @workgroup_size(64)
fn aim(@builtin(global_invocation_id) id: vec3u) {
    let world = id.x;
    if world >= globals.world_count {
        return;
    }
    let eye = globals.eye - place_of(world, globals);
    for (var k = 0u; k < 3u; k++) {
        rays[7u * world + k] = eye[k];
        rays[7u * world + 3u + k] = globals.ray[k];
    }
    rays[7u * world + 6u] = 1e30;
    for (var k = 0u; k < 5u; k++) {
        query_filters[5u * world + k] = NONE;
    }
    query_filters[5u * world + 3u] = select(NONE, world, globals.columns > 0u);
}

var<workgroup> best: array<vec2u, 64>;

// Picks the nearest hit of all worlds, and moves the sphere there.
@compute @workgroup_size(64)
fn choose(@builtin(local_invocation_index) lane: u32) {
    // The bits of non-negative floats have the order of the floats.
    var own = vec2u(NONE);
    for (var world = lane; world < globals.world_count; world += 64u) {
        let t = bitcast<u32>(hits[world].t);
        if hits[world].index != NONE && t < own.x {
            own = vec2u(t, world);
        }
    }
    best[lane] = own;
    workgroupBarrier();
    if lane > 0u {
        return;
    }
    for (var i = 1u; i < 64u; i++) {
        let other = best[i];
        if other.x < own.x || (other.x == own.x && other.y < own.y) {
            own = other;
        }
    }
    let is_hit = own.y != NONE;
    pointed.index = NONE;
    pointed.world = NONE;
    // Far from all boxes.
    var center = vec3f(1e18);
    if is_hit {
        pointed.index = hits[own.y].index;
        pointed.world = own.y;
        pointed.t = bitcast<f32>(own.x);
        center = globals.eye + pointed.t * globals.ray - place_of(own.y, globals);
    }
    let radius = select(0.0, globals.radius, is_hit);
    pointed.center = center;
    pointed.radius = radius;
    for (var k = 0u; k < 3u; k++) {
        sphere[k] = center[k];
    }
    sphere[3] = radius;
    for (var k = 0u; k < 5u; k++) {
        sphere_filter[k] = NONE;
    }
    sphere_filter[3] = select(NONE, own.y, is_hit && globals.columns > 0u);
}
