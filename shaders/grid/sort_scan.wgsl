// sort_scan: where the keys of each digit of each tile go.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
// Changes histograms   [digits * tiles] from counts to exclusive prefix sums
// One workgroup; every invocation takes a run.
// Second step of a radix pass (Merrill and Grimshaw 2011).

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read_write> histograms: array<u32>;

@compute @workgroup_size(256)
fn sort_scan(@builtin(local_invocation_index) local: u32) {
    let length = div_ceil(sort_length(), SORT_TILE) << sort_pass.digit_bits;
    let run = div_ceil(length, 256u);
    let first = local * run;
    let end = min(first + run, length);
    var sum = 0u;
    for (var i = first; i < end; i += 1u) {
        sum += histograms[i];
    }
    var running = scan_workgroup(local, sum).before;
    for (var i = first; i < end; i += 1u) {
        let count = histograms[i];
        histograms[i] = running;
        running += count;
    }
}
