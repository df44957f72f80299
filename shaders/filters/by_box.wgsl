// What the filters say of a box.
//
// Reads   filter_layout  where each list begins in `filters`, or ABSENT
//         filters        lists by box and lists of pairs, one after the other
// The structure FilterLayout follows from src/filters/rows.rs, which documents it, and stands behind the constants.

@group(0) @binding(10) var<uniform> filter_layout: FilterLayout;
@group(0) @binding(11) var<storage, read> filters: array<u32>;

// Returns a box's word in a list by box, or `missing` where the list is empty.
fn of_box(list: u32, i: u32, missing: u32) -> u32 {
    if list == ABSENT {
        return missing;
    }
    return filters[list + i];
}

// Returns a box's bit in a list of bits by box.
fn bit_of(list: u32, i: u32) -> u32 {
    return (filters[list + i / 32u] >> (i % 32u)) & 1u;
}

// Returns the number of a box's world, from zero, or WORLD_GLOBAL.
fn world_of(i: u32) -> u32 {
    return of_box(filter_layout.world, i, 0u);
}
