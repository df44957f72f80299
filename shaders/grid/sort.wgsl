// Divides the keys among workgroups. Shared by the kernels of a radix pass, which bind `sort_pass` and `counts`.
//
// A workgroup has a section: consecutive tiles of SORT_TILE keys. SECTION_GROUP consecutive sections are a group.

// Returns the key count.
fn sort_length() -> u32 {
    return select(counts.entry_count, counts.written, sort_pass.of_pairs == 1u);
}

// The division of the keys into sections.
struct Sections {
    tile_count: u32,
    tiles_each: u32,          // tiles per section; the last one may have fewer
    count: u32,
}

fn sections_of(n: u32) -> Sections {
    let tile_count = div_ceil(n, SORT_TILE);
    let tiles_each = div_ceil(max(tile_count, 1u), SORT_SECTIONS);
    return Sections(tile_count, tiles_each, div_ceil(tile_count, tiles_each));
}
