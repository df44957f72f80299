// Computes exclusive prefix sums over a workgroup of 256 invocations: of one 32-bit count, of two such counts at once,
// or of a 64-bit count. Every invocation of the workgroup must call it.
//
// Sixteen invocations add up sixteen values each, then the sixteen sums; each invocation then loads twice. Loads are
// expensive on software adapters, while GPUs hide them. A skipped loop is free on both.
//
// Source: Blelloch 1990, Prefix sums and their applications; reduce, then scan, in two levels.

struct Scanned2 {
    before: vec2<u32>,        // the sums over lower invocations
    total: vec2<u32>,
}

struct Scanned {
    before: u32,
    total: u32,
}

struct Scanned64 {
    before: vec2<u32>,        // low and high half
    total: vec2<u32>,
}

// One element of padding per sixteen values: so sixteen invocations with a stride of sixteen access sixteen different
// banks.
var<workgroup> scan_values: array<vec2<u32>, 272>;
var<workgroup> scan_runs: array<vec2<u32>, 16>;
var<workgroup> scan_bases: array<vec2<u32>, 17>;

fn scan_workgroup2(local: u32, value: vec2<u32>) -> Scanned2 {
    // No barrier is needed here. After the last barrier of an earlier scan, each invocation reads only its own element
    // of scan_values. scan_bases is written only after the barriers below.
    let slot = local + local / 16u;
    scan_values[slot] = value;
    workgroupBarrier();
    let runs_end = select(0u, local * 17u + 16u, local < 16u);
    var running = vec2<u32>(0u);
    for (var k = local * 17u; k < runs_end; k += 1u) {
        let own = scan_values[k];
        scan_values[k] = running;
        running += own;
    }
    if local < 16u {
        scan_runs[local] = running;
    }
    workgroupBarrier();
    running = vec2<u32>(0u);
    for (var k = 0u; k < select(0u, local, local < 17u); k += 1u) {
        running += scan_runs[k];
    }
    if local < 17u {
        scan_bases[local] = running;
    }
    workgroupBarrier();
    return Scanned2(scan_bases[local / 16u] + scan_values[slot], scan_bases[16]);
}

fn scan_workgroup(local: u32, value: u32) -> Scanned {
    let scan = scan_workgroup2(local, vec2<u32>(value, 0u));
    return Scanned(scan.before.x, scan.total.x);
}

// Scans 64-bit numbers. Adds their 16-bit quarters separately, so that each sum has bits for carries.
fn scan_workgroup64(local: u32, value: vec2<u32>) -> Scanned64 {
    let low = scan_workgroup2(local, vec2<u32>(value.x & 0xffffu, value.x >> 16u));
    let high = scan_workgroup(local, value.y);
    let before = add64(vec2<u32>(low.before.x, high.before), vec2<u32>(low.before.y << 16u, low.before.y >> 16u));
    let total = add64(vec2<u32>(low.total.x, high.total), vec2<u32>(low.total.y << 16u, low.total.y >> 16u));
    return Scanned64(before, total);
}

// Scans numbers whose sum is below 2^48, in half the time.
fn scan_workgroup48(local: u32, value: vec2<u32>) -> Scanned64 {
    let scan = scan_workgroup2(local, halves_of(value));
    return Scanned64(from_halves(scan.before), from_halves(scan.total));
}

// ---- sums of many numbers in two words ----

// One word sums the low 16 bits of all numbers, the other word sums the bits above. So invocations can add with atomics
// in any order, without carries between words. There may be at most 65,536 numbers, and their sum must be below 2^48.

// Returns the values to add to the two words for a number.
fn halves_of(number: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(number.x & 0xffffu, (number.x >> 16u) | (number.y << 16u));
}

// Returns the sum from the two words.
fn from_halves(words: vec2<u32>) -> vec2<u32> {
    return add64(vec2<u32>(words.x, 0u), vec2<u32>(words.y << 16u, words.y >> 16u));
}
