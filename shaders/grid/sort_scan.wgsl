// sort_scan: where, among the keys of its digit, those of each tile go.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
// Changes histograms   [tiles * digits] from counts to exclusive prefix sums within each digit
// Writes  histograms   [digits] behind them: how often each digit occurs
// An invocation has one digit and a run of SCAN_RUN tiles. A workgroup has SCAN_DIGITS digits, whose counts in one tile are
// a sector of memory, or more digits where the tiles need fewer runs; workgroups beyond the last digit do nothing. Tiles
// that all runs cannot hold are taken in pieces. Who needs places adds the sums over lower digits: a scan of few numbers.
// A pass that is left out is not scanned. Second step of a radix pass (Merrill and Grimshaw 2011).

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read_write> histograms: array<u32>;

// [run * digits + digit] sums of the runs, of every other piece in the other half: so that no invocation can write
// what another still reads.
var<workgroup> run_sums: array<u32, 512>;

// Returns the counts of one digit in four tiles that follow each other.
fn four_counts(tile: u32, end: u32, digit: u32) -> vec4<u32> {
    return vec4<u32>(count_of(tile, end, digit), count_of(tile + 1u, end, digit), count_of(tile + 2u, end, digit),
        count_of(tile + 3u, end, digit));
}

fn count_of(tile: u32, end: u32, digit: u32) -> u32 {
    var count = 0u;
    if tile < end {
        count = histograms[(tile << sort_pass.digit_bits) + digit];
    }
    return count;
}

// Writes what comes before each of four tiles, and returns what comes before the next.
fn put_four(tile: u32, end: u32, digit: u32, before: u32, own: vec4<u32>) -> u32 {
    put(tile, end, digit, before);
    put(tile + 1u, end, digit, before + own.x);
    put(tile + 2u, end, digit, before + own.x + own.y);
    put(tile + 3u, end, digit, before + own.x + own.y + own.z);
    return before + sum_of(own);
}

fn put(tile: u32, end: u32, digit: u32, before: u32) {
    if tile < end {
        histograms[(tile << sort_pass.digit_bits) + digit] = before;
    }
}

fn sum_of(own: vec4<u32>) -> u32 {
    return own.x + own.y + own.z + own.w;
}

// Returns the runs in a piece, a power of two: as few as the tiles need, and enough that every invocation has a digit.
fn runs_of(tile_count: u32) -> u32 {
    var runs = max(1u, 256u >> sort_pass.digit_bits);
    while runs < 256u / SCAN_DIGITS && runs * SCAN_RUN < tile_count {
        runs *= 2u;
    }
    return runs;
}

const_assert SCAN_RUN == 16u;
@compute @workgroup_size(256)
fn sort_scan(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile_count = scanned_tiles();
    let runs = runs_of(tile_count);
    let digits = 256u / runs;
    let end = select(0u, tile_count, group.x * digits < 1u << sort_pass.digit_bits);
    let digit = group.x * digits + local % digits;
    let run = local / digits;
    var before_piece = 0u;
    for (var piece = 0u; piece < end; piece += runs * SCAN_RUN) {
        let first = piece + run * SCAN_RUN;
        let a = four_counts(first, end, digit);
        let b = four_counts(first + 4u, end, digit);
        let c = four_counts(first + 8u, end, digit);
        let d = four_counts(first + 12u, end, digit);
        let half = piece / (runs * SCAN_RUN) % 2u * 256u;
        run_sums[half + local] = sum_of(a) + sum_of(b) + sum_of(c) + sum_of(d);
        workgroupBarrier();
        var before = before_piece;
        for (var k = 0u; k < runs; k += 1u) {
            let sum = run_sums[half + k * digits + local % digits];
            before += select(0u, sum, k < run);
            before_piece += sum;
        }
        before = put_four(first, end, digit, before, a);
        before = put_four(first + 4u, end, digit, before, b);
        before = put_four(first + 8u, end, digit, before, c);
        before = put_four(first + 12u, end, digit, before, d);
    }
    if run == 0u && end > 0u {
        histograms[(end << sort_pass.digit_bits) + digit] = before_piece;
    }
}
