// Places of the sums of the path in `path_bases`, two words per sum. The kernels that include this file bind
// `path_bases`.
//
// First [2 * groups] quads and candidates of each PATH_GROUP sections, in the two words of a sum (shared/scan.wgsl).
// giants_test replaces the quads of a group by the quads before the group. Then [sections] quads of each section of
// PATH_SECTION entries, as (low, high). Then the quads before every ENTRY_STRIDE-th entry within its section, as (low,
// high).

fn path_sections() -> u32 {
    return div_ceil(counts.entry_count, PATH_SECTION);
}

fn path_groups() -> u32 {
    return div_ceil(path_sections(), PATH_GROUP);
}

// Returns the place of the quads of a section.
fn section_at(section: u32) -> u32 {
    return 2u * path_groups() + section;
}

// Returns the place of the quads before the entry of rank `stride * ENTRY_STRIDE`.
fn stride_at(stride: u32) -> u32 {
    return section_at(path_sections()) + stride;
}
