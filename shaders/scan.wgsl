// Exclusive prefix sums over one workgroup of 256 invocations, of up to four counts at once, or of one 64-bit
// count. Every invocation of the workgroup has to call.
// Sums of sixteen runs of sixteen, then each invocation adds up the runs and the values before it: 30 additions
// and three barriers, where a scan by doubling needs 8 additions and sixteen barriers. Software adapters pay
// dearly for barriers.

struct Scanned {
    before: vec4<u32>,        // the sum over lower invocations
    total: vec4<u32>,
}

var<workgroup> scan_values: array<vec4<u32>, 256>;
var<workgroup> scan_runs: array<vec4<u32>, 16>;

fn scan_workgroup(local: u32, value: vec4<u32>) -> Scanned {
    workgroupBarrier();
    scan_values[local] = value;
    workgroupBarrier();
    if local < 16u {
        var sum = vec4<u32>(0u);
        for (var k = 0u; k < 16u; k += 1u) {
            sum += scan_values[local * 16u + k];
        }
        scan_runs[local] = sum;
    }
    workgroupBarrier();
    let run = local / 16u;
    var before = vec4<u32>(0u);
    var total = vec4<u32>(0u);
    for (var k = 0u; k < 16u; k += 1u) {
        if k == run {
            before = total;
        }
        total += scan_runs[k];
    }
    for (var k = run * 16u; k < local; k += 1u) {
        before += scan_values[k];
    }
    return Scanned(before, total);
}

fn scan_workgroup64(local: u32, value: vec2<u32>) -> Scanned {
    workgroupBarrier();
    scan_values[local] = vec4<u32>(value, 0u, 0u);
    workgroupBarrier();
    if local < 16u {
        var sum = vec2<u32>(0u);
        for (var k = 0u; k < 16u; k += 1u) {
            sum = add64(sum, scan_values[local * 16u + k].xy);
        }
        scan_runs[local] = vec4<u32>(sum, 0u, 0u);
    }
    workgroupBarrier();
    let run = local / 16u;
    var before = vec2<u32>(0u);
    var total = vec2<u32>(0u);
    for (var k = 0u; k < 16u; k += 1u) {
        if k == run {
            before = total;
        }
        total = add64(total, scan_runs[k].xy);
    }
    for (var k = run * 16u; k < local; k += 1u) {
        before = add64(before, scan_values[k].xy);
    }
    return Scanned(vec4<u32>(before, 0u, 0u), vec4<u32>(total, 0u, 0u));
}
