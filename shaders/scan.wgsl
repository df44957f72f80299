// Exclusive prefix sums over one workgroup of 256 invocations, of up to four counts at once.
// Every invocation of the workgroup has to call `scan_workgroup`. Work-inefficient (Hillis and Steele 1986),
// which for 256 values costs less than the extra barriers of the efficient form.

struct Scanned {
    before: vec4<u32>,        // the sum over lower invocations
    total: vec4<u32>,
}

var<workgroup> scan_sums: array<vec4<u32>, 256>;

fn scan_workgroup(local: u32, value: vec4<u32>) -> Scanned {
    workgroupBarrier();
    scan_sums[local] = value;
    workgroupBarrier();
    for (var distance = 1u; distance < 256u; distance *= 2u) {
        var sum = scan_sums[local];
        if local >= distance {
            sum += scan_sums[local - distance];
        }
        workgroupBarrier();
        scan_sums[local] = sum;
        workgroupBarrier();
    }
    var before = vec4<u32>(0u);
    if local > 0u {
        before = scan_sums[local - 1u];
    }
    return Scanned(before, scan_sums[255u]);
}

// The same for one 64-bit count.
fn scan_workgroup64(local: u32, value: vec2<u32>) -> Scanned {
    workgroupBarrier();
    scan_sums[local] = vec4<u32>(value, 0u, 0u);
    workgroupBarrier();
    for (var distance = 1u; distance < 256u; distance *= 2u) {
        var sum = scan_sums[local].xy;
        if local >= distance {
            sum = add64(sum, scan_sums[local - distance].xy);
        }
        workgroupBarrier();
        scan_sums[local] = vec4<u32>(sum, 0u, 0u);
        workgroupBarrier();
    }
    var before = vec4<u32>(0u);
    if local > 0u {
        before = scan_sums[local - 1u];
    }
    return Scanned(before, scan_sums[255u]);
}
