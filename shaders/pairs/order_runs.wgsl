// Loads four consecutive pairs. Shared by order_count and order_scatter, which bind counts and pairs. Consecutive pairs
// with the same first box share one atomic operation, since all pairs of a giant contend for the same word.

struct FourPairs {
    rows: vec4<u32>,          // the first boxes
    others: vec4<u32>,        // the second boxes
    is_there: vec4<bool>,
    lengths: vec4<u32>,       // pairs in the run with the same first box that begins here; 0 within a run
}

// Returns the four pairs from `first` on. Pair `first` must exist.
fn four_pairs(first: u32) -> FourPairs {
    let last = counts.written - 1u;
    let a = pairs[first];
    let b = pairs[min(first + 1u, last)];
    let c = pairs[min(first + 2u, last)];
    let d = pairs[min(first + 3u, last)];
    let rows = vec4<u32>(a.x, b.x, c.x, d.x);
    let is_there = vec4<u32>(0u, 1u, 2u, 3u) <= vec4<u32>(last - first);
    let goes_on = (rows.yzw == rows.xyz) & is_there.yzw;
    var lengths = vec4<u32>(1u);
    lengths.z += select(0u, lengths.w, goes_on.z);
    lengths.y += select(0u, lengths.z, goes_on.y);
    lengths.x += select(0u, lengths.y, goes_on.x);
    let begins = is_there & !vec4<bool>(false, goes_on);
    return FourPairs(rows, vec4<u32>(a.y, b.y, c.y, d.y), is_there, select(vec4<u32>(0u), lengths, begins));
}
