// epoch_header: how long the list of a step is whose pairs come of an epoch, and whether the next step begins with a look at
// its boxes.
//
// Reads   epoch_params
//         epoch       mode, result
// Changes header, arguments   of the list; as the search left them where there is no epoch
// Writes  epoch_sizes         check
// One invocation.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read_write> header: PairHeader;
@group(0) @binding(3) var<storage, read_write> arguments: PairArguments;
@group(0) @binding(4) var<storage, read_write> epoch_sizes: EpochSizes;

@compute @workgroup_size(1)
fn epoch_header() {
    let is_none = epoch.mode == EPOCH_NONE;
    epoch_sizes.check = dispatch_size(select(div_ceil(epoch_params.slots, EPOCH_BLOCK), 0u, is_none));
    epoch_sizes.tally = dispatch_size(select(div_ceil(epoch_params.slots, EPOCH_TILE), 0u, is_none));
    if is_none {
        return;
    }
    let capacity = epoch_params.list_capacity;
    let overflow = select(0u, OVERFLOW_PAIRS, epoch.result > capacity);
    let written = min(epoch.result, capacity);
    header = PairHeader(epoch.result, 0u, capacity, overflow, written, array<u32, 3>(0u, 0u, 0u));
    arguments = arguments_of(written, epoch_params.vertices_per_pair);
}
