// prepare_count: the parameters of a search whose number of boxes lies in a buffer.
//
// Reads   given   the parameters with the most boxes that there may be
//         count   the number of boxes, first
// Writes  params  the same with the number of boxes; or with none, and `is_beyond`, where there are more
//         block_sizes   of dispatches of a workgroup for each block of boxes
// One invocation.

@group(0) @binding(0) var<uniform> given: Params;
@group(0) @binding(1) var<storage, read> count: array<u32>;
@group(0) @binding(2) var<storage, read_write> params: Params;
@group(0) @binding(3) var<storage, read_write> block_sizes: array<u32, 3>;

@compute @workgroup_size(1)
fn prepare_count() {
    var own = given;
    let is_beyond = count[0] > given.box_count;
    own.box_count = select(count[0], 0u, is_beyond);
    own.is_beyond = select(0u, 1u, is_beyond);
    params = own;
    block_sizes = dispatch_size(div_ceil(own.box_count, BIN_BLOCK));
}
