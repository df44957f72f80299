// neighbours_begin: writes the count of pairs for the sort by box, and the header of the neighbours.
//
// Reads   list_header  of the list of pairs
// Writes  counts       written
//         header       of the neighbours
//
// One invocation.

@group(0) @binding(0) var<storage, read> list_header: PairHeader;
@group(0) @binding(1) var<storage, read_write> counts: Counts;
@group(0) @binding(2) var<storage, read_write> header: PairHeader;

@compute @workgroup_size(1)
fn neighbours_begin() {
    // With an incomplete list, some boxes would lack neighbours.
    let is_whole = list_header.written == list_header.count && list_header.count_high == 0u;
    let overflow = select(OVERFLOW_PAIRS, list_header.overflow, is_whole || list_header.overflow != 0u);
    let written = select(0u, list_header.written, overflow == 0u);
    counts.written = written;
    header.count = 2u * written;
    header.count_high = 0u;
    header.capacity = 2u * list_header.capacity;
    header.overflow = overflow;
    header.written = 2u * written;
    header.unused = array<u32, 3>(0u, 0u, 0u);
}
