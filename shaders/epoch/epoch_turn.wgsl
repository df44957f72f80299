// epoch_turn: how many boxes are searched as they are: all, where there is no epoch.
//
// Reads   params, epoch
// Writes  direct_count   the number of boxes, or 0; one that there is no room for where params.is_beyond
// One invocation.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read_write> direct_count: array<u32>;

@compute @workgroup_size(1)
fn epoch_turn() {
    let count = select(params.box_count, 0xffffffffu, params.is_beyond != 0u);
    direct_count[0] = select(0u, count, epoch.mode == EPOCH_NONE);
}
