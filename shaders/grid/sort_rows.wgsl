// sort_rows: where, among the keys of its digit, those of each tile go.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
// Changes histograms   [tiles * digits] from counts to exclusive prefix sums within each digit
// Writes  histograms   [digits] behind them: how often each digit occurs
// sort_scan for processors whose workgroups do not hide latency: an invocation for each digit, which takes one tile
// after the other and waits for no other. A pass that is left out is not scanned.
// Source: as that of sort_wide.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read_write> histograms: array<u32>;

@compute @workgroup_size(WIDE_LANES)
fn sort_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile_count = scanned_tiles();
    let digit = group.x * WIDE_LANES + local;
    let bits = sort_pass.digit_bits;
    var running = 0u;
    for (var tile = 0u; tile < tile_count; tile += 1u) {
        let at = (tile << bits) + digit;
        let count = histograms[at];
        histograms[at] = running;
        running += count;
    }
    if tile_count > 0u {
        histograms[(tile_count << bits) + digit] = running;
    }
}
