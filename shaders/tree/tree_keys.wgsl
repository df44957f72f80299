// tree_keys: computes the key of each box for the order of the leaves. Boxes of usual size come first, along the curve;
// then enormous boxes, along the curve; then unbounded and invalid boxes. Also counts the digits of the first pass of
// the sort, instead of sort_count.
//
// Reads   sort_pass    the first
//         counts       for the box count
//         cube         of tree_cube
//         boxes        [box_count * 3] bits of f32, two at a time
// Writes  keys         [box_count] PLACE_BITS bits: the place of the box; for a box of unusual size, behind all others,
//                      its class and the upper bits of its place
//         values       [box_count] the box
//         histograms   as sort_count
// Changes digit_sums   as sort_count
//
// One workgroup per section of the sort. Enormous boxes have a separate range, so that they do not enlarge the nodes of
// other boxes.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<uniform> cube: Cube;
@group(0) @binding(2) var<storage, read> counts: Counts;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> values: array<u32>;
@group(0) @binding(6) var<storage, read_write> histograms: array<u32>;
@group(0) @binding(7) var<storage, read_write> digit_sums: array<atomic<u32>>;

// Bits for the place of a box of unusual size.
const OTHER_BITS: u32 = 13u;
// The first key of a box of unusual size. To free these keys, the places of boxes of usual size are compressed: among
// 2^SQUEEZE consecutive places, two share a key.
const FIRST_OTHER: u32 = (1u << PLACE_BITS) - (3u << OTHER_BITS);
const SQUEEZE: u32 = 12u;

@compute @workgroup_size(256)
fn tree_keys(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let n = sort_length();
    let section = group.x;
    let sections = sections_of(n);
    if section >= sections.count {
        return;
    }
    clear_histogram(local);
    let length = sections.tiles_each * SORT_TILE;
    let end = min((section + 1u) * length, n);
    for (var i = section * length + local; i < end; i += 1024u) {
        // Load four boxes at once, so that the loads overlap.
        let own = vec4<u32>(i) + vec4<u32>(0u, 256u, 512u, 768u);
        let loaded = min(own, vec4<u32>(end - 1u));
        let own_keys = vec4<u32>(key_of(loaded.x), key_of(loaded.y), key_of(loaded.z), key_of(loaded.w));
        write_key(own.x, own_keys.x, end);
        write_key(own.y, own_keys.y, end);
        write_key(own.z, own_keys.z, end);
        write_key(own.w, own_keys.w, end);
    }
    write_histogram(section, local);
}

// Writes the key of box i, and counts its digit, if the section has the box.
fn write_key(i: u32, key: u32, end: u32) {
    if i < end {
        keys[i] = key;
        values[i] = i;
        atomicAdd(&histogram[digit_of(key)], 1u);
    }
}

// Returns the key of box i.
fn key_of(i: u32) -> u32 {
    let low = min_bits_of(i);
    let high = max_bits_of(i);
    let kind = class_of(low, high);
    var place = 0u;
    if kind < 2u {
        place = place_of(center_of(low, high), cube);
    }
    let of_others = FIRST_OTHER + ((kind - 1u) << OTHER_BITS) + (place >> (PLACE_BITS - OTHER_BITS));
    return select(of_others, place - (place >> SQUEEZE), kind == 0u);
}
