// Shared by all shaders. `Body`, the motions and `Globals` are twins of the Rust items in `src/scene.rs` and
// `src/globals.rs`.

struct Body {
    home: vec3f,
    phase: f32,
    half: vec3f,
    motion: u32,
    position: vec3f,
    group: u32,
    velocity: vec3f,
    part: u32,
}

const FIXED: u32 = 0u;
const FALLING: u32 = 1u;
const CIRCLING: u32 = 2u;
const DRIVING: u32 = 3u;
const WALKING: u32 = 4u;
const WAVING: u32 = 5u;

struct Globals {
    clip_from_world: mat4x4f,
    eye: vec3f,
    // Seconds since the scene began.
    time: f32,
    // The direction of the ray through the pointer.
    ray: vec3f,
    // The radius of the sphere at the pointer; 0 for no sphere.
    radius: f32,
    box_count: u32,
    frame: u32,
    // Worlds per row in the picture; 0 without worlds.
    columns: u32,
    spacing: f32,
    // Seconds of this frame; 0 while no box moves.
    step: f32,
    extent: f32,
    // The upward speed of a throw in this frame; otherwise 0.
    kick: f32,
    // Opacity of the lines of pairs.
    opacity: f32,
    // True if the ages of pairs are known.
    has_ages: u32,
    // True if old pairs are drawn too.
    draws_old: u32,
    world_count: u32,
    // True if there is no earlier frame to compare with.
    is_first: u32,
}

// The world of boxes that meet all worlds.
const GLOBAL: u32 = 0xffffffffu;

// Frames for which a created or lost pair is shown.
const FLASH: u32 = 24u;

// Returns the position of a body's world in the picture.
fn place_of(group: u32, globals: Globals) -> vec3f {
    if globals.columns == 0u || group == GLOBAL {
        return vec3f(0.0);
    }
    let middle = 0.5 * f32(globals.columns - 1u);
    let at = vec2f(f32(group % globals.columns), f32(group / globals.columns));
    return vec3f((at - middle) * globals.spacing, 0.0);
}
