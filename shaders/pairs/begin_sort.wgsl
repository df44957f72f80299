// What the sort of pairs and the kernels with an invocation for each pair are told of a list: shared by exclude_begin and
// neighbours_begin, which bind counts and dispatches.

fn begin_sort(written: u32) {
    // The sort looks at the numbers of entries too, and takes that of pairs.
    counts.entry_count = 0u;
    counts.key_bits = 0u;
    counts.written = written;
    dispatches.sort_pairs = dispatch_size(div_ceil(written, SORT_TILE));
    dispatches.order = dispatch_size(div_ceil(written, 256u));
}
