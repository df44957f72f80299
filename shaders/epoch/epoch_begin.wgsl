// epoch_begin: the pairs that are kept, as an epoch begins: all that were found.
//
// Reads   epoch    found
//         pairs    [found] of grown boxes, in canonical order
// Writes  kept     [found] the same
//         stays    [tiles * 32] zeros
// A workgroup per EVENT_TILE pairs.

@group(0) @binding(0) var<storage, read> epoch: Epoch;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> kept: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> stays: array<u32>;

@compute @workgroup_size(256)
fn epoch_begin(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups) * EVENT_TILE;
    let end = min(tile + EVENT_TILE, epoch.found);
    for (var i = tile + local; i < end; i += 256u) {
        kept[i] = pairs[i];
    }
    if local < 32u && tile < end {
        stays[tile / 32u + local] = 0u;
    }
}
