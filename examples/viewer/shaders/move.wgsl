// Moves each body, and writes its box.

@group(0) @binding(0) var<uniform> globals: Globals;
@group(0) @binding(1) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(2) var<storage, read> clusters: array<vec4f>;
// Eight u32 per box: sums of pushes along x, y, z, their three counts, count of touching boxes, mark of the sphere.
@group(0) @binding(3) var<storage, read> contacts: array<i32>;
@group(0) @binding(4) var<storage, read_write> boxes: array<f32>;

const GRAVITY: f32 = 9.8;
// A push of one unit, in the sums.
const PUSH_UNIT: f32 = 65536.0;

// Moves a falling body, and pushes it out of boxes that it touched in the last frame. Resting bodies stay at rest.
fn fall(i: u32, given: Body) -> Body {
    var body = given;
    body.velocity.z -= GRAVITY * globals.step;
    for (var k = 0u; k < 3u; k++) {
        let count = contacts[8u * i + 3u + k];
        if count > 0 {
            let push = clamp(f32(contacts[8u * i + k]) / (PUSH_UNIT * f32(count)), -0.15, 0.15);
            body.position[k] += 0.7 * push;
            if push * body.velocity[k] < 0.0 {
                body.velocity[k] = 0.0;
            }
            // Friction.
            let along = body.velocity[k];
            body.velocity *= 0.94;
            body.velocity[k] = along;
        }
    }
    // Higher bodies fly faster, so that they do not block lower ones.
    body.velocity.z += globals.kick * min(0.4 + 0.12 * body.position.z, 1.3);
    // Faster bodies would fall through others.
    body.velocity = clamp(body.velocity, vec3f(-12.0), vec3f(12.0));
    body.position += globals.step * body.velocity;
    // The walls and the floor.
    let room = vec3f(vec2f(globals.extent), 1e9) - body.half;
    let low = vec3f(-room.xy, body.half.z - 0.02);
    let inside = clamp(body.position, low, room);
    body.velocity = select(body.velocity, vec3f(0.0), inside != body.position);
    body.position = inside;
    return body;
}

// Returns the centre of a body that circles in a moving cluster.
fn circle(body: Body) -> vec3f {
    let cluster = clusters[body.group];
    let t = globals.time * cluster.w;
    let turned = vec3f(sin(t + cluster.x), sin(1.3 * t + cluster.y), 0.6 * sin(0.9 * t + cluster.z));
    let middle = 0.35 * cluster.xyz + 0.65 * globals.extent * turned;
    let angle = globals.time * body.phase;
    let c = cos(angle);
    let s = sin(angle);
    let home = body.home;
    return middle + vec3f(c * home.x - s * home.y, s * home.x + c * home.y, home.z);
}

// Returns the centre of a car. It restarts at the end of its street.
fn drive(body: Body) -> vec3f {
    var at = body.home;
    let k = body.part;
    let width = 2.0 * globals.extent;
    let along = (at[k] + globals.extent + globals.time * body.velocity[k]) / width;
    at[k] = fract(along) * width - globals.extent;
    return at;
}

// Returns a direction in the plane of a leg, by its angle from straight down.
fn down(angle: f32) -> vec3f {
    return vec3f(sin(angle), 0.0, -cos(angle));
}

// Returns the ends of a part of a robot that walks on the spot.
fn walk(part: u32, phase: f32) -> array<vec3f, 2> {
    let t = 3.0 * globals.time * (0.8 + 0.4 * fract(phase)) + phase;
    let torso = vec3f(0.05 * sin(0.5 * t), 0.0, 0.56 + 0.03 * sin(2.0 * t));
    if part == 0u {
        return array(torso - vec3f(0.3, 0.0, 0.0), torso + vec3f(0.3, 0.0, 0.0));
    }
    if part == 1u {
        let neck = torso + vec3f(0.44, 0.0, 0.08);
        return array(neck, neck + vec3f(0.12, 0.04 * sin(t), 0.02));
    }
    if part < 14u {
        let leg = (part - 2u) / 3u;
        let joint = (part - 2u) % 3u;
        let side = vec2f(select(-0.27, 0.27, leg < 2u), select(-0.17, 0.17, leg % 2u == 0u));
        let swing = t + select(0.0, 3.1416, leg == 1u || leg == 2u);
        let hip = torso + vec3f(side, -0.04);
        let thigh = 0.5 * sin(swing);
        let knee = hip + 0.27 * down(thigh);
        let shin = thigh - 0.35 - 0.35 * cos(swing);
        let ankle = knee + 0.27 * down(shin);
        if joint == 0u {
            return array(hip, knee);
        }
        if joint == 1u {
            return array(knee, ankle);
        }
        return array(ankle, ankle + vec3f(0.1, 0.0, 0.0));
    }
    if part < 22u {
        // An arm on its back, with two fingers.
        var angle = 2.6 + 0.5 * sin(0.7 * t);
        var from_ = torso + vec3f(0.2, 0.0, 0.1);
        var to = from_;
        let last = min(part - 14u, 5u);
        for (var joint = 0u; joint <= last; joint++) {
            from_ = to;
            let yaw = 0.25 * f32(joint) * sin(0.9 * t);
            let along = down(angle);
            to = from_ + 0.15 * vec3f(along.x * cos(yaw), along.x * sin(yaw), along.z);
            angle -= 0.55 + 0.35 * sin(0.8 * t + 0.9 * f32(joint));
        }
        if part >= 20u {
            let side = select(-0.06, 0.06, part == 20u) * (1.0 + sin(2.0 * t));
            let finger = to + vec3f(0.0, side, 0.0);
            return array(finger, finger + 0.1 * down(angle));
        }
        return array(from_, to);
    }
    let tail = torso + vec3f(-0.36, 0.0, 0.05);
    let wag = vec3f(-0.16, 0.1 * sin(2.0 * t), 0.08);
    if part == 22u {
        return array(tail, tail + wag);
    }
    return array(tail + wag, tail + wag + vec3f(-0.14, 0.18 * sin(2.0 * t - 0.7), 0.1));
}

// Returns the centre of a body in a wave through the mesh.
fn wave(body: Body) -> vec3f {
    let at = body.home;
    let shift = vec3f(
        sin(0.9 * at.y + 1.7 * globals.time),
        sin(0.8 * at.z + 1.3 * globals.time),
        sin(0.7 * at.x + 1.1 * globals.time),
    );
    return at + 0.35 * shift;
}

@compute @workgroup_size(64)
fn move_bodies(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.x + id.y * groups.x * 64u;
    if i >= globals.box_count {
        return;
    }
    var body = bodies[i];
    var half = body.half;
    switch body.motion {
        case FALLING: {
            body = fall(i, body);
        }
        case CIRCLING: {
            body.position = circle(body);
        }
        case DRIVING: {
            body.position = drive(body);
        }
        case WALKING: {
            let ends = walk(body.part, body.phase);
            body.position = 0.5 * (ends[0] + ends[1]);
            half = 0.5 * abs(ends[1] - ends[0]) + body.half;
        }
        case WAVING: {
            body.position = wave(body);
        }
        default: {}
    }
    bodies[i] = body;
    for (var k = 0u; k < 3u; k++) {
        boxes[6u * i + k] = body.position[k] - half[k];
        boxes[6u * i + 3u + k] = body.position[k] + half[k];
    }
}
