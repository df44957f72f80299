// exclude_begin: how many pairs are to be excluded, which lie in a buffer of the caller's.
//
// Reads   change      what there is room for
//         count       the number of pairs, first; only if change.is_stored
// Writes  counts      for the sort, of which written: those pairs, and the included ones
//         dispatches  sort_pairs, order
//         refused     whether there are more pairs than there is room for: no search is right then
// One invocation.

@group(0) @binding(0) var<uniform> change: ExcludeChange;
@group(0) @binding(1) var<storage, read> count: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: Counts;
@group(0) @binding(3) var<storage, read_write> dispatches: Dispatches;
@group(0) @binding(4) var<storage, read_write> refused: array<u32>;

@compute @workgroup_size(1)
fn exclude_begin() {
    var pairs = change.at_most;
    if change.is_stored == 1u {
        pairs = count[0];
    }
    let is_beyond = pairs > change.at_most;
    let written = select(pairs, 0u, is_beyond) + change.include_count;
    begin_sort(written);
    refused[0] = select(0u, 1u, is_beyond);
}
