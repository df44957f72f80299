// The cells in which boxes that escaped are marked, so that only boxes in such cells are searched with them. Shared by the
// kernels that mark cells and look them up.
//
// A cell is a cube whose edge is a power of two, the next above the usual edge; so its number is a coordinate without its last
// bits, found without rounding by both kernels. Cells share bits by a hash: one too many only makes a box be searched in vain.

// More cells than a box is looked up in: one that is in more is searched in any case.
const MOST_CELLS: u32 = 64u;
// Cells from the origin; a box with a coordinate beyond it is searched in any case.
const CELL_EXPONENTS: u32 = 28u;

struct Cells {
    first: vec3<i32>,
    last: vec3<i32>,
    is_vast: bool,
}

// Returns the exponent of the edge of a cell.
fn cell_exponent() -> u32 {
    return clamp(epoch.edge, 1u, 250u) + 1u;
}

// Returns the cell of each coordinate, none of which is beyond the cells.
fn cell_of(bound: vec3<u32>) -> vec3<i32> {
    let exponent = cell_exponent();
    let magnitude = bound & vec3<u32>(0x7fffffffu);
    let per_cell = bitcast<f32>((254u - exponent) << 23u);
    // Of coordinates within a cell of zero, some drivers make zero: their sign alone counts.
    let is_negative = (bound >= vec3<u32>(0x80000000u)) & (magnitude != vec3<u32>(0u));
    let near_zero = select(vec3<i32>(0), vec3<i32>(-1), is_negative);
    let is_far = (magnitude >> vec3<u32>(23u)) >= vec3<u32>(exponent);
    let scaled = select(vec3<f32>(0.0), bitcast<vec3<f32>>(bound), is_far) * per_cell;
    return select(near_zero, vec3<i32>(floor(scaled)), is_far);
}

// Returns the cells of a box that is valid.
fn cells_of_box(low: vec3<u32>, high: vec3<u32>) -> Cells {
    let reach = max(low & vec3<u32>(0x7fffffffu), high & vec3<u32>(0x7fffffffu)) >> vec3<u32>(23u);
    // Infinite bounds are in no cell.
    let most = min(cell_exponent() + CELL_EXPONENTS, 255u);
    var cells = Cells(vec3<i32>(0), vec3<i32>(0), any(reach >= vec3<u32>(most)));
    if !cells.is_vast {
        cells.first = cell_of(low);
        cells.last = cell_of(high);
        let spans = vec3<u32>(cells.last - cells.first) + vec3<u32>(1u);
        cells.is_vast = any(spans > vec3<u32>(MOST_CELLS)) || spans.x * spans.y * spans.z > MOST_CELLS;
    }
    return cells;
}

// Returns the part that each coordinate of a cell has in its hash.
fn parts_of(cell: vec3<i32>) -> vec3<u32> {
    return vec3<u32>(cell) * vec3<u32>(0x9e3779b1u, 0x85ebca77u, 0xc2b2ae3du);
}

// Returns the bit of a cell, of which this is what its coordinates and its world come to.
fn bit_of_cell(parts: u32, world: u32) -> u32 {
    var hash = parts ^ (world * 0x27d4eb2fu);
    hash = (hash ^ (hash >> 15u)) * 0x2c1b3c6du;
    hash = (hash ^ (hash >> 12u)) * 0x297a2d39u;
    return (hash ^ (hash >> 15u)) & epoch_params.cell_mask;
}
