// Draws boxes, and the lines of pairs, of the picked box and of the grid.

struct Pointed {
    index: u32,
    world: u32,
    t: f32,
    unused: u32,
    center: vec3f,
    radius: f32,
}

@group(0) @binding(0) var<uniform> globals: Globals;
@group(0) @binding(1) var<storage, read> bodies: array<Body>;
@group(0) @binding(2) var<storage, read> boxes: array<f32>;
@group(0) @binding(3) var<storage, read> contacts: array<i32>;
@group(0) @binding(4) var<storage, read> stamps: array<vec2u>;
@group(0) @binding(5) var<storage, read> ended: array<u32>;
@group(0) @binding(6) var<storage, read> pointed: Pointed;
@group(0) @binding(7) var<storage, read> ages: array<u32>;
@group(0) @binding(8) var<storage, read> pairs: array<vec2u>;

// Vertices of a box: three faces of two triangles. Boxes are not instances: instances of few vertices leave most of a
// GPU idle.
const BOX_VERTICES: u32 = 18u;

struct Painted {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) color: vec4f,
    // The position on the face, from 0 to 1.
    @location(1) on_face: vec2f,
}

// The largest coordinate that is drawn.
const FAR: f32 = 1e5;

fn corner(i: u32, which: vec3u) -> vec3f {
    var at: vec3f;
    for (var k = 0u; k < 3u; k++) {
        at[k] = clamp(boxes[6u * i + 3u * which[k] + k], -FAR, FAR);
    }
    return at + place_of(bodies[i].group, globals);
}

fn center(i: u32) -> vec3f {
    return 0.5 * (corner(i, vec3u(0u)) + corner(i, vec3u(1u)));
}

// Returns a vertex outside of the picture.
fn nowhere() -> Painted {
    return Painted(vec4f(0.0, 0.0, -1.0, 1.0), vec4f(0.0), vec2f(0.5));
}

// Returns the strength of a flash, from 1 to 0.
fn left_of(frame: u32) -> f32 {
    let age = globals.frame - frame;
    return select(0.0, 1.0 - f32(age) / f32(FLASH), frame > 0u && age < FLASH);
}

// Converts a colour from sRGB to linear.
fn linear(color: vec3f) -> vec3f {
    return pow(color, vec3f(2.2));
}

// Returns the colour of a box: warmer for more pairs. Fixed boxes are grey.
fn color_of(i: u32) -> vec3f {
    if i == pointed.index {
        return vec3f(1.0);
    }
    if contacts[8u * i + 7u] != 0 {
        return vec3f(0.25, 0.95, 0.45);
    }
    if bodies[i].motion == FIXED {
        return vec3f(0.24, 0.26, 0.31);
    }
    let touched = f32(contacts[8u * i + 6u]);
    let warmth = 1.0 - exp2(-0.35 * touched);
    let cold = vec3f(0.25, 0.36, 0.55);
    let some = vec3f(0.16, 0.62, 0.62);
    let many = vec3f(0.98, 0.55, 0.12);
    var color = cold;
    if touched > 0.0 {
        color = mix(some, many, warmth);
    }
    let stamp = stamps[i];
    color = mix(color, vec3f(1.0, 0.95, 0.75), 0.8 * left_of(stamp.x));
    return mix(color, vec3f(0.45, 0.35, 0.95), 0.45 * left_of(stamp.y));
}

// Draws the three faces that may be visible, of two triangles each.
@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32) -> Painted {
    let i = vertex / BOX_VERTICES;
    let v = vertex % BOX_VERTICES;
    let axis = v / 6u;
    let next = (axis + 1u) % 3u;
    let other = (axis + 2u) % 3u;
    var quad = array(vec2u(0u, 0u), vec2u(1u, 0u), vec2u(1u, 1u), vec2u(0u, 0u), vec2u(1u, 1u), vec2u(0u, 1u));
    let at = quad[v % 6u];
    let low = corner(i, vec3u(0u));
    let high = corner(i, vec3u(1u));
    // Invalid boxes are not drawn.
    if !all(low <= high) {
        return nowhere();
    }
    let is_high = globals.eye[axis] > 0.5 * (low[axis] + high[axis]);
    var which: vec3u;
    which[axis] = u32(is_high);
    which[next] = at.x;
    which[other] = at.y;
    let position = select(low, high, which == vec3u(1u));
    let light = array(0.66, 0.82, select(0.4, 1.0, is_high));
    return Painted(globals.clip_from_world * vec4f(position, 1.0), vec4f(linear(color_of(i) * light[axis]), 1.0), vec2f(at));
}

// Darkens the edges of faces that are large enough.
@fragment
fn box_color(painted: Painted) -> @location(0) vec4f {
    let width = max(fwidth(painted.on_face), vec2f(1e-6));
    let pixels = min(painted.on_face, 1.0 - painted.on_face) / width;
    let is_edge = 1.0 - clamp(min(pixels.x, pixels.y), 0.0, 1.0);
    let strength = 0.55 * clamp(1.0 - 5.0 * max(width.x, width.y), 0.0, 1.0);
    return vec4f(painted.color.rgb * (1.0 - strength * is_edge), 1.0);
}

fn line(at: vec3f, color: vec4f) -> Painted {
    return Painted(globals.clip_from_world * vec4f(at, 1.0), vec4f(linear(color.rgb), color.a), vec2f(0.5));
}

// Returns an end of the line of a pair: the centre of the box, or the point of a fixed box nearest to the other.
fn end_of(pair: vec2u, v: u32) -> vec3f {
    let own = pair[v];
    if bodies[own].motion == FIXED {
        return clamp(center(pair[1u - v]), corner(own, vec3u(0u)), corner(own, vec3u(1u)));
    }
    return center(own);
}

// Draws the line of a pair. New pairs are bright.
@vertex
fn pair_vertex(@builtin(vertex_index) vertex: u32) -> Painted {
    let i = vertex / 2u;
    let v = vertex % 2u;
    var flash = 0.0;
    if globals.has_ages != 0u {
        let age = ages[i];
        flash = select(0.0, 1.0 - f32(age) / f32(FLASH), age < FLASH);
    }
    if globals.draws_old == 0u && flash == 0.0 {
        return nowhere();
    }
    let opacity = max(globals.opacity * f32(globals.draws_old), 0.8 * flash * flash);
    return line(end_of(pairs[i], v), vec4f(mix(vec3f(1.0, 0.78, 0.35), vec3f(1.0, 1.0, 0.95), flash), opacity));
}

// Draws the line of a lost pair, which fades.
@vertex
fn ended_vertex(@builtin(vertex_index) vertex: u32) -> Painted {
    let i = vertex / 2u;
    let v = vertex % 2u;
    let left = left_of(ended[3u + 3u * i]);
    if left == 0.0 {
        return nowhere();
    }
    let pair = vec2u(ended[1u + 3u * i], ended[2u + 3u * i]);
    return line(end_of(pair, v), vec4f(0.62, 0.55, 1.0, 0.5 * left * left * min(1.0, 3.0 * globals.opacity)));
}

// Draws the edges of the picked box, and three circles of the sphere.
@vertex
fn pointed_vertex(@builtin(vertex_index) v: u32) -> Painted {
    if pointed.index == 0xffffffffu {
        return nowhere();
    }
    if v < 24u {
        let edge = v / 2u;
        let axis = edge / 4u;
        var which: vec3u;
        which[axis] = v % 2u;
        which[(axis + 1u) % 3u] = edge & 1u;
        which[(axis + 2u) % 3u] = (edge >> 1u) & 1u;
        return line(corner(pointed.index, which), vec4f(1.0));
    }
    let circle = (v - 24u) / 128u;
    let step = ((v - 24u) % 128u + 1u) / 2u;
    let angle = 6.2831853 * f32(step) / 64.0;
    var at: vec3f;
    at[circle] = 0.0;
    at[(circle + 1u) % 3u] = cos(angle);
    at[(circle + 2u) % 3u] = sin(angle);
    let middle = pointed.center + place_of(pointed.world, globals);
    return line(middle + globals.radius * at, vec4f(0.4, 1.0, 0.6, 1.0));
}

// Draws lines from the host.
@vertex
fn grid_vertex(@location(0) at: vec3f, @location(1) color: vec4f) -> Painted {
    return line(at, color);
}

@fragment
fn line_color(painted: Painted) -> @location(0) vec4f {
    return painted.color;
}
