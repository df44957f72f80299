// epoch_test: which of the pairs that are kept overlap as the boxes are now; or (IS_APART) of the pairs of boxes that have left
// since the epoch began, which are no longer among those.
//
// Reads   params
//         epoch        mode; kept or apart
//         states       which boxes moved, and which have left
//         pairs        [kept] or [apart] of grown boxes
//         boxes        [box_count * 3] bits of f32, two at a time
//         filters      half-spaces, if there are any
// Changes stays        [tiles * 32] a bit for each pair that overlaps. Of those that are kept it is that of the last step, where
//                      neither box moved and the epoch does not begin
// Writes  kept_tiles   [tiles] how many of each tile
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row. Boxes without a number are no longer there. All else that
// filters say was said when a pair was found.

override IS_APART: bool = false;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> stays: array<u32>;
@group(0) @binding(6) var<storage, read_write> kept_tiles: array<u32>;

// The bits of the last step.
var<workgroup> last_bits: array<u32, 32>;

@compute @workgroup_size(256)
fn epoch_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    let count = select(epoch.kept, epoch.apart, IS_APART);
    let tests_all = IS_APART || epoch.mode == EPOCH_BEGIN;
    if local < 32u {
        last_bits[local] = 0u;
        if !tests_all && tile * EVENT_TILE < count {
            last_bits[local] = stays[tile * 32u + local];
        }
    }
    workgroupBarrier();
    let before = run_of(last_bits[local / 8u], local);
    var bits = 0u;
    for (var i = first; i < min(first + EVENT_RUN, count); i += 1u) {
        let pair = pairs[i];
        var stays_here = ((before >> (i - first)) & 1u) != 0u;
        var is_tested = tests_all;
        if !IS_APART {
            if is_touched(pair.x) || is_touched(pair.y) {
                // The pairs of boxes that have left are in the other list.
                let is_here = !has_left(pair.x) && !has_left(pair.y);
                is_tested = is_here;
                stays_here &= is_here;
            }
        }
        if is_tested {
            stays_here = do_meet(pair);
        }
        bits |= select(0u, 1u << (i - first), stays_here);
    }
    note_stays(tile, local, count, bits);
}

fn do_meet(pair: vec2<u32>) -> bool {
    // The first is the smaller.
    if pair.y >= params.box_count {
        return false;
    }
    let a = ordered_box(pair.x);
    let b = ordered_box(pair.y);
    // A box that became invalid is in no order, or is not a number.
    var meet = overlap(a, b) && is_valid_box(a) && is_valid_box(b);
    if HAS_HALF_SPACES {
        if meet {
            meet = half_spaces_meet(pair.x, pair.y);
        }
    }
    return meet;
}

// Tells whether a box is valid, in integers that NaNs are beyond.
fn is_valid_box(own: OrderedBox) -> bool {
    let infinity = vec3<i32>(0x7f800000);
    return all(own.min <= own.max) && all(own.min >= -infinity) && all(own.max <= infinity);
}
