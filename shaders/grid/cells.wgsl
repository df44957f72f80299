// Computes the cells of a finite box and of a world. Shared by bin_worlds and bin_count, which bind frame.

struct Place {
    cells: vec4<i32>,         // first u, first v, last u, last v
    fractions: vec4<u32>,     // of the box in these cells
}

// Returns the cells of a box, and its fractions: the places in the cells where the box begins and ends.
fn place_of(low: vec3<f32>, high: vec3<f32>) -> Place {
    return place_along(project(frame.plane_u, low, high), project(frame.plane_v, low, high));
}

// Returns the cells and fractions of a box with these intervals along u and v. The result is monotone: cell and
// fraction together ascend with the coordinate.
fn place_along(along_u: vec2<f32>, along_v: vec2<f32>) -> Place {
    let corner = vec4<f32>(along_u.x, along_v.x, along_u.y, along_v.y);
    let at = (corner - frame.origin.xyxy) * frame.inverse_cell;
    // More than two units in the last place of `at`, the largest difference of two evaluations.
    let slop = frame.plane_slop + abs(at) * RELATIVE_SLOP;
    let outward = vec4<f32>(at.xy - slop.xy, at.zw + slop.zw);
    let reach = vec4<f32>(f32(CELL_REACH));
    let inside = clamp(outward, -reach, reach);
    let whole = floor(inside);
    let cell = vec4<i32>(whole);
    let clamped = clamp(cell, vec4<i32>(frame.cell_min, frame.cell_min), vec4<i32>(frame.cell_max, frame.cell_max));
    let within = vec4<u32>(min((inside - whole) * f32(FRACTION_LAST + 1u), vec4<f32>(f32(FRACTION_LAST))));
    let fraction = select(select(within, vec4<u32>(0u), cell < clamped), vec4<u32>(FRACTION_LAST), cell > clamped);
    return Place(clamped, fraction);
}

// Returns the range of cells of a world from the words that bin_worlds stores. The words are CELL_BASE minus the first
// cells, and CELL_BASE plus the last cells; zeros if the world has no cells. The range is widened by a cell and by
// 2^-20 of the coordinate, since another kernel may round differently.
fn cells_of_world(stored: vec4<u32>) -> vec4<i32> {
    let base = vec2<i32>(CELL_BASE);
    let first = base - vec2<i32>(stored.xy);
    let last = vec2<i32>(stored.zw) - base;
    let wide_first = max(first - 1 - (abs(first) >> vec2<u32>(20u)), frame.cell_min);
    let wide_last = min(last + 1 + (abs(last) >> vec2<u32>(20u)), frame.cell_max);
    let none = vec4<i32>(frame.cell_min, frame.cell_min);
    return select(vec4<i32>(wide_first, wide_last), none, stored == vec4<u32>(0u));
}
