// sort_scan: where, among the keys of its digit, those of each tile go.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
// Changes histograms   [digits * tiles] from counts to exclusive prefix sums within each digit
// Writes  histograms   [digits] behind them: how often each digit occurs
// A workgroup for each digit, whose row it takes in pieces of PIECE tiles with neighbouring invocations at
// neighbouring words. Who needs places adds the sums over lower digits, which is a scan of so few numbers that it costs
// less there than a dispatch. A pass that is left out is not scanned.
// Second step of a radix pass (Merrill and Grimshaw 2011).

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read_write> histograms: array<u32>;

const PIECE: u32 = 512u;

@compute @workgroup_size(256)
fn sort_scan(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile_count = scanned_tiles();
    let row = group.x * tile_count;
    var running = 0u;
    for (var piece = 0u; piece < tile_count; piece += PIECE) {
        let tiles = vec2<u32>(piece + local, piece + 256u + local);
        var own = vec2<u32>(0u);
        if tiles.x < tile_count {
            own.x = histograms[row + tiles.x];
        }
        if tiles.y < tile_count {
            own.y = histograms[row + tiles.y];
        }
        let scan = scan_workgroup2(local, own);
        if tiles.x < tile_count {
            histograms[row + tiles.x] = running + scan.before.x;
        }
        running += scan.total.x;
        if tiles.y < tile_count {
            histograms[row + tiles.y] = running + scan.before.y;
        }
        running += scan.total.y;
    }
    if local == 0u && tile_count > 0u {
        histograms[(tile_count << sort_pass.digit_bits) + group.x] = running;
    }
}
