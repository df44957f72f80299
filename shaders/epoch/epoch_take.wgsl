// epoch_take: how many pairs the search of grown boxes found, and the sizes of what follows.
//
// Reads   epoch_params
//         header        of the list of that search
// Changes epoch         found; kept where an epoch begins; and the epoch ends where the list is not whole
// Writes  epoch_sizes   begin, part_fresh, part_rest
// One invocation.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> header: PairHeader;
@group(0) @binding(2) var<storage, read_write> epoch: Epoch;
@group(0) @binding(3) var<storage, read_write> epoch_sizes: EpochSizes;

@compute @workgroup_size(1)
fn epoch_take() {
    let is_searched = epoch.mode == EPOCH_BEGIN || epoch.mode == EPOCH_PART;
    if is_searched && (header.overflow != 0u || header.written > epoch_params.capacity) {
        end_epoch();
    }
    let begins = epoch.mode == EPOCH_BEGIN;
    let is_part = epoch.mode == EPOCH_PART;
    if begins {
        epoch.kept = header.written;
    }
    epoch.found = select(0u, header.written, begins || is_part);
    epoch_sizes.begin = dispatch_size(select(0u, div_ceil(header.written, EVENT_TILE), begins));
    epoch_sizes.part_fresh = dispatch_size(select(0u, div_ceil(header.written, EVENT_TILE), is_part));
    epoch_sizes.part_rest = dispatch_size(select(0u, div_ceil(epoch.apart, EVENT_TILE), is_part));
}
