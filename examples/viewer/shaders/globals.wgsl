// What all shaders know. `Body`, the motions and `Globals` are twins of those in `src/scene.rs` and `src/globals.rs`.

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
    // The ray through the pointer.
    ray: vec3f,
    // Of the sphere around what the pointer points at; 0 for none.
    radius: f32,
    box_count: u32,
    frame: u32,
    // Worlds in a row as they are drawn; 0 where there are none.
    columns: u32,
    spacing: f32,
    // Seconds of this frame; 0 while nothing moves.
    step: f32,
    extent: f32,
    // Upward, to what falls: once.
    kick: f32,
    // Opacity of the lines of pairs.
    opacity: f32,
    // True if it is known when pairs began.
    has_ages: u32,
    // True if pairs are drawn that did not just begin.
    draws_old: u32,
    world_count: u32,
    // True if there was no frame to compare this one with.
    is_first: u32,
}

// A world that stands for all.
const GLOBAL: u32 = 0xffffffffu;

// How many frames what begins and ends is shown.
const FLASH: u32 = 24u;

// Returns where the world of a body is drawn.
fn place_of(group: u32, globals: Globals) -> vec3f {
    if globals.columns == 0u || group == GLOBAL {
        return vec3f(0.0);
    }
    let middle = 0.5 * f32(globals.columns - 1u);
    let at = vec2f(f32(group % globals.columns), f32(group / globals.columns));
    return vec3f((at - middle) * globals.spacing, 0.0);
}
