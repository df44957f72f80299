// epoch_tally: what boxes did, 32 in a word, and how many did.
//
// Reads   epoch_params
//         epoch         what is known of the epoch
//         filter_changes   [2]
//         moves         [slots / 32, rounded up] bits of epoch_check: moved, left, gone, 0
// Changes states        [slots / 32, rounded up] bits (states.wgsl); of the last step only which have left is read
// Writes  escape_tiles  [slots / EPOCH_TILE, rounded up] how many boxes left in this step, since the epoch began, and moved
// A workgroup per EPOCH_TILE slots, of which an invocation takes 32.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> filter_changes: array<u32>;
@group(0) @binding(3) var<storage, read> moves: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> states: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> escape_tiles: array<vec4<u32>>;

@compute @workgroup_size(256)
fn epoch_tally(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    if !has_epoch() {
        return;
    }
    let word = tile * 256u + local;
    var counts = vec4<u32>(0u);
    if word < div_ceil(epoch_params.slots, 32u) {
        let own = moves[word];
        let left = states[word].z | own.y | own.z;
        states[word] = vec4<u32>(own.xy, left, own.x | left);
        counts = countOneBits(vec4<u32>(own.y, left, own.x, 0u));
    }
    // Each count is at most EPOCH_TILE.
    let total = scan_workgroup2(local, vec2<u32>(counts.x | (counts.y << 16u), counts.z)).total;
    if local == 0u && tile * EPOCH_TILE < epoch_params.slots {
        escape_tiles[tile] = vec4<u32>(total.x & 0xffffu, total.x >> 16u, total.y, 0u);
    }
}
