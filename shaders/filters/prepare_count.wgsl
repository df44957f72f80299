// prepare_count: sets the box count of a search. Dispatched if the count is in a buffer, or if filters may be refused.
//
// Reads   max_params   the parameters with the largest allowed box count
//         count        the box count is the first number; `max_params` if the host knows it
//         refused      not zero if the excluded pairs exceed their capacity
// Writes  params       the same with the box count; with no boxes and `is_beyond` if there are more boxes, or filters
//                      were refused
//         block_sizes  the sizes of dispatches with a workgroup for each block of boxes
//
// One invocation.

@group(0) @binding(0) var<uniform> max_params: Params;
@group(0) @binding(1) var<storage, read> count: array<u32>;
@group(0) @binding(2) var<storage, read> refused: array<u32>;
@group(0) @binding(3) var<storage, read_write> params: Params;
@group(0) @binding(4) var<storage, read_write> block_sizes: array<u32, 3>;

@compute @workgroup_size(1)
fn prepare_count() {
    let boxes = count[0];
    let beyond_boxes = select(0u, BEYOND_BOXES, boxes > max_params.box_count);
    let is_beyond = select(beyond_boxes, BEYOND_FILTERS, refused[0] != 0u);
    var result = max_params;
    result.box_count = select(boxes, 0u, is_beyond != 0u);
    result.is_beyond = is_beyond;
    params = result;
    // At least one workgroup, since the first workgroup writes the counts of an empty grid.
    block_sizes = dispatch_size(max(div_ceil(result.box_count, BIN_BLOCK), 1u));
}
