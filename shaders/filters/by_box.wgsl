// Reads the values of the filters for one box.
//
// Reads   filter_layout  the start of each list in `filters`, or ABSENT
//         filters        lists by box and lists of pairs, one after the other
//
// src/filters/rows.rs generates and documents the structure FilterLayout, which is appended after the constants.

// True if there are filters. Without filters, their code is not compiled.
override IS_FILTERED: bool = false;

@group(0) @binding(10) var<uniform> filter_layout: FilterLayout;
@group(0) @binding(11) var<storage, read> filters: array<u32>;

// Returns a box's value in a list by box, or `missing` if the list is empty.
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
