// epoch_decide: whether the epoch goes on, another begins, or all boxes are searched as they are.
//
// Reads   params, epoch_params
//         boxes         [box_count * 3] bits of f32, two at a time
//         escape_tiles  [slots / EPOCH_TILE, rounded up] of epoch_tally; only if there is an epoch
//         filter_changes   [2] how often values of the filters have changed, by the host and by commands of the device
// Changes sample        [EPOCH_SAMPLE * 6] boxes of the last step, at places that follow from `slots` alone
//         epoch         mode, and what it follows from
// Writes  epoch_sizes   mark, grow, select
//         grown_count   the number of boxes that are searched grown, or 0
// One workgroup.
//
// What is usual is told in exponents of f32, by the counts of each: the edge that half of a sample have at most, and the speed
// that all but a sixteenth have at most.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> epoch_params: EpochParams;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> escape_tiles: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> sample: array<u32>;
@group(0) @binding(5) var<storage, read_write> epoch: Epoch;
@group(0) @binding(6) var<storage, read_write> epoch_sizes: EpochSizes;
@group(0) @binding(7) var<storage, read_write> grown_count: array<u32>;
@group(0) @binding(8) var<storage, read> filter_changes: array<u32>;

const NOT_A_NUMBER: u32 = 0x7fc00000u;

// How many boxes of the sample have an edge, and a speed, of each exponent.
var<workgroup> edges: array<atomic<u32>, 256>;
var<workgroup> speeds: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn epoch_decide(@builtin(local_invocation_index) local: u32) {
    atomicStore(&edges[local], 0u);
    atomicStore(&speeds[local], 0u);
    workgroupBarrier();
    let is_known = epoch.sampled == epoch_params.slots;
    for (var k = local; k < EPOCH_SAMPLE; k += 256u) {
        look_at(k, is_known);
    }
    var counts = vec4<u32>(0u);
    let tiles = select(0u, div_ceil(epoch_params.slots, EPOCH_TILE), has_epoch());
    for (var tile = local; tile < tiles; tile += 256u) {
        counts += escape_tiles[tile];
    }
    // Its barriers are those of the counts too.
    let escaped = scan_workgroup2(local, counts.xy).total;
    let moved = scan_workgroup(local, counts.z).total;
    let edge_scan = scan_workgroup(local, atomicLoad(&edges[local]));
    let speed_scan = scan_workgroup(local, atomicLoad(&speeds[local]));
    let is_usual_edge = is_first_beyond(edge_scan, atomicLoad(&edges[local]), edge_scan.total / 2u);
    let slow = speed_scan.total - speed_scan.total / EPOCH_FAST;
    let is_usual_speed = slow > 0u && is_first_beyond(speed_scan, atomicLoad(&speeds[local]), slow - 1u);
    // Of an exponent alone, so that the sums over all are these.
    let usual = scan_workgroup2(local, select(vec2<u32>(0u), vec2<u32>(local), vec2<bool>(is_usual_edge, is_usual_speed)));
    // All have read of `epoch` what they need.
    storageBarrier();
    if local == 0u {
        let is_slow = slow > 0u && usual.total.y + EPOCH_SLOW <= usual.total.x;
        // The caller may know how fast boxes are; but not whether there is room.
        let is_chosen = epoch_params.margin != 0u && epoch.is_tight == 0u;
        decide(escaped, moved, usual.total.x, usual.total.y, is_chosen || is_slow || (slow > 0u && usual.total.y == 0u));
    }
}

// Tells whether the count of an exponent is the one by which the sum passes `most`.
fn is_first_beyond(scan: Scanned, own: u32, most: u32) -> bool {
    return scan.before <= most && most < scan.before + own;
}

// Counts the edge of a box of the sample, and how far it went; and takes it into the sample.
fn look_at(k: u32, is_known: bool) {
    let place = mul64(k * 0x9e3779b9u, epoch_params.slots).y;
    var low = vec3<u32>(NOT_A_NUMBER);
    var high = low;
    if place < params.box_count {
        low = min_bits_of(place);
        high = max_bits_of(place);
    }
    let at = 6u * k;
    if kind_of(low, high) == KIND_FINITE {
        let edge = bitcast<vec3<f32>>(high) - bitcast<vec3<f32>>(low);
        atomicAdd(&edges[exponent_of(edge)], 1u);
        if is_known {
            let last_low = vec3<u32>(sample[at], sample[at + 1u], sample[at + 2u]);
            let last_high = vec3<u32>(sample[at + 3u], sample[at + 4u], sample[at + 5u]);
            if kind_of(last_low, last_high) == KIND_FINITE {
                let way_low = abs(bitcast<vec3<f32>>(low) - bitcast<vec3<f32>>(last_low));
                let way_high = abs(bitcast<vec3<f32>>(high) - bitcast<vec3<f32>>(last_high));
                atomicAdd(&speeds[exponent_of(max(way_low, way_high))], 1u);
            }
        }
    }
    for (var word = 0u; word < 3u; word += 1u) {
        sample[at + word] = low[word];
        sample[at + 3u + word] = high[word];
    }
}

// Returns the exponent of the largest of three numbers that are not negative.
fn exponent_of(lengths: vec3<f32>) -> u32 {
    return (bitcast<u32>(max(lengths.x, max(lengths.y, lengths.z))) >> 23u) & 0xffu;
}

fn decide(escaped: vec2<u32>, moved: u32, edge: u32, speed: u32, is_slow: bool) {
    var own = epoch;
    own.sampled = epoch_params.slots;
    own.escaped = escaped.x;
    own.left = escaped.y;
    own.moved = moved;
    own.mode = EPOCH_NONE;
    own.found = 0u;
    own.fresh = 0u;
    own.rest = 0u;
    if params.is_beyond == 0u {
        var goes_on = has_epoch();
        if goes_on {
            own.mode = select(EPOCH_PART, EPOCH_STAY, escaped.x == 0u);
            if escaped.x > params.box_count / EPOCH_MOST_ESCAPED || escaped.y > epoch_params.slots / EPOCH_MOST_LEFT {
                // One that ends young makes the next one wait longer, and one that did not makes up for it.
                own.next_wait = select(0u, longer_wait(own.next_wait), own.age < EPOCH_YOUNG);
                own.wait = own.next_wait;
                goes_on = false;
            }
        }
        if goes_on {
            own.age += 1u;
        } else if own.wait > 0u || !is_slow {
            own.wait -= min(own.wait, 1u);
            own.mode = EPOCH_NONE;
        } else {
            own.mode = EPOCH_BEGIN;
            own.version = epoch_params.version;
            own.slots = epoch_params.slots;
            own.changes = changes_of_filters();
            own.age = 0u;
            own.kept = 0u;
            own.apart = 0u;
            own.edge = edge;
            own.margin = first_margin(edge, select(speed, 0u, own.is_tight == 1u));
            if epoch_params.margin != 0u && own.is_tight == 0u {
                own.margin = epoch_params.margin;
            }
        }
    }
    if own.mode == EPOCH_NONE {
        own.version = 0u;
        own.kept = 0u;
        own.apart = 0u;
    }
    epoch = own;
    let is_searched = own.mode == EPOCH_BEGIN || own.mode == EPOCH_PART;
    grown_count[0] = select(0u, params.box_count, is_searched);
    let blocks = div_ceil(epoch_params.slots, 256u);
    epoch_sizes.mark = dispatch_size(select(0u, blocks, own.mode == EPOCH_PART));
    epoch_sizes.grow = dispatch_size(select(0u, blocks, own.mode == EPOCH_BEGIN));
    let tiles = div_ceil(epoch_params.slots, EVENT_TILE);
    epoch_sizes.select = dispatch_size(select(0u, tiles, own.mode == EPOCH_PART));
}

