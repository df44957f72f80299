// frame_choose: chooses the sweep axis, the grid and the sort key, from the bounds and a sample of the boxes.
//
// Reads   boxes    [box_count * 3] bits of f32, two at a time
//         bounds   [pca_groups], of pca_bounds
// Writes  frame    one Frame
//
// One workgroup. Its decisions change the time of a search, never the set of pairs. All invocations add up and sort the
// sample, since no other kernel can run meanwhile; then one invocation decides.
//
// - Axes: eigenvectors of the covariance of the sample's centroids by cyclic Jacobi rotations with a fixed count of
//   sweeps.
// - Cell size: from the edges of the sample's boxes, without the largest ones; or by the cost model of Li, Lu, He 2003.
// - Position scale: quantiles of the sample, so that each quantum holds about the same count of boxes, also with
//   outliers and distant clusters.
//
// Two engines may round a value differently. So decisions have a margin, and thresholds avoid values that occur in
//   regular scenes.
//
// Sources: Jacobi 1846, rotations in cyclic order as in Golub and Van Loan, Matrix Computations; the principal axis as
// in MuJoCo's mj_broadphase and in Liu, Harada, Lee, Kim 2010, Real-time collision culling of a million bodies on
// graphics processing units; Li, Lu, He 2003, USSCD, Journal of Image and Graphics 8; Frazer and McKellar 1970,
// Samplesort, for quantiles of a sample.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> bounds: array<BoundsPartial>;
@group(0) @binding(3) var<storage, read_write> frame: Frame;

// The lists of samples: interval starts on the sweep axis, mean edges across it, centres along u and v.
const STARTS: u32 = 0u;
const EDGES: u32 = 1u;
const CENTRES_U: u32 = 2u;
const CENTRES_V: u32 = 3u;

// Invocations that add up edges.
const EDGE_LANES: u32 = 32u;

// The lists, each in the order of `slot` (frame_sort.wgsl).
var<workgroup> samples: array<array<f32, SAMPLES + SAMPLES / 8u>, 4>;
var<workgroup> axes: array<vec3<f32>, 3>;
var<workgroup> chosen_axis: u32;
// Edges and their squares.
var<workgroup> edge_sums: array<vec2<f32>, EDGE_LANES>;
var<workgroup> position_bits: u32;

// The spread of the centroids and the mean edges, in scaled units.
struct Spread {
    squares: vec3<f32>,       // variances along x, y, z
    products: vec3<f32>,      // covariances of x and y, y and z, z and x
    mean_edge: vec3<f32>,
    error: f32,               // largest rounding error of a variance or covariance
}

fn spread_of(total: Moments) -> Spread {
    let n = max(total.count, 1.0);
    let mean = total.sum / n;
    let squares = max(total.squares / n - mean * mean, vec3<f32>(0.0));
    let products = total.products / n - mean * mean.yzx;
    let error = MOMENT_ERROR * dot(total.squares / n, vec3<f32>(1.0));
    return Spread(squares, products, total.edge_sum / n, error);
}

fn variance_along(d: vec3<f32>, spread: Spread) -> f32 {
    return max(dot(d * d, spread.squares) + 2.0 * dot(d * d.yzx, spread.products), 0.0);
}

fn unit(k: u32) -> vec3<f32> {
    return vec3<f32>(vec3<u32>(k) == vec3<u32>(0u, 1u, 2u));
}

// Returns d or -d: the one whose first component above 0.55 in magnitude is positive. Such a component exists, since
// one is at least sqrt(1/3). Directions of lattices have no component near the threshold.
fn upright(d: vec3<f32>) -> vec3<f32> {
    let is_large = abs(d) > vec3<f32>(0.55);
    let component = select(select(d.z, d.y, is_large.y), d.x, is_large.x);
    return select(-d, d, component > 0.0);
}

// Returns a unit vector perpendicular to d: the projection of the first coordinate axis that is far enough from d.
fn across(d: vec3<f32>) -> vec3<f32> {
    let is_small = abs(d) < vec3<f32>(0.59);
    let k = select(select(2u, 1u, is_small.y), 0u, is_small.x);
    return normalize(unit(k) - d[k] * d);
}

// Returns the eigenvectors of the covariance; the first one has the largest eigenvalue. Two eigenvalues that are equal
// up to rounding, as in lattices, have ambiguous eigenvectors. Then `upright` and `across` derive the result from the
// third eigenvector. If all three eigenvalues are equal, the result is x, y and z.
fn principal_axes(spread: Spread) -> array<vec3<f32>, 3> {
    let squares = spread.squares;
    let products = spread.products;
    let tie = 4.0 * spread.error;
    let eigen = jacobi(mat3x3<f32>(
        squares.x, products.x, products.z,
        products.x, squares.y, products.y,
        products.z, products.y, squares.z,
    ), tie);
    var first = 0u;
    if eigen.values[1] > eigen.values[first] { first = 1u; }
    if eigen.values[2] > eigen.values[first] { first = 2u; }
    let second = (first + 1u) % 3u;
    let third = (first + 2u) % 3u;
    let v = eigen.vectors;
    let ties_second = eigen.values[first] - eigen.values[second] <= tie;
    let ties_third = eigen.values[first] - eigen.values[third] <= tie;
    if ties_second && ties_third {
        return array<vec3<f32>, 3>(unit(0u), unit(1u), unit(2u));
    }
    if ties_second || ties_third {
        let least = upright(v[select(second, third, ties_second)]);
        let principal = across(least);
        return array<vec3<f32>, 3>(principal, cross(least, principal), least);
    }
    if abs(eigen.values[second] - eigen.values[third]) <= tie {
        let principal = upright(v[first]);
        let plane_u = across(principal);
        return array<vec3<f32>, 3>(principal, plane_u, cross(principal, plane_u));
    }
    return array<vec3<f32>, 3>(v[first], v[second], v[third]);
}

// Returns the best sweep axis among x, y, z and the principal axis: the largest spread per mean projected edge. A later
// axis must be better by a margin, so that nearly equal eigenvalues yield a coordinate axis.
fn best_axis(spread: Spread, principal: vec3<f32>) -> u32 {
    var axis = AXIS_X;
    var best = -1.0;
    for (var k = 0u; k < 4u; k += 1u) {
        var d = principal;
        var candidate = AXIS_PRINCIPAL;
        if k < 3u {
            d = unit(k);
            candidate = AXIS_X + k;
        }
        let variance = variance_along(d, spread);
        let mean_edge = max(dot(abs(d), spread.mean_edge), 1e-30);
        if sqrt(max(variance - spread.error, 0.0)) / mean_edge > best * 1.0001 {
            best = sqrt(variance) / mean_edge;
            axis = candidate;
        }
    }
    return axis;
}

// Chooses the three axes.
fn choose_axes() {
    let spread = spread_of(sums[0]);
    let eigenvectors = principal_axes(spread);
    let principal = eigenvectors[0];
    var axis = params.axis;
    if axis == AXIS_AUTO {
        axis = best_axis(spread, principal);
    }

    // Projection on a coordinate axis is exact, so a coordinate axis replaces a principal axis that is near it.
    let turned = abs(principal);
    let straight = max(turned.x, max(turned.y, turned.z)) > 0.999999;
    if axis == AXIS_PRINCIPAL && !straight {
        axes = eigenvectors;
    } else {
        var k = axis - AXIS_X;
        if axis == AXIS_PRINCIPAL {
            k = select(select(2u, 1u, turned.y > 0.5), 0u, turned.x > 0.5);
        }
        axes = array<vec3<f32>, 3>(unit(k), unit((k + 1u) % 3u), unit((k + 2u) % 3u));
    }
    chosen_axis = axis;
}

// ---- grid and key ----

// Returns the cell edge of least cost after Li, Lu, He 2003, in units of the largest edge w of the boxes. It is the
// larger root x of x + 6 = 2 ln(x^3 D), D = density * w^3, or 2 if the boxes are too sparse for a root.
fn usscd_cell(log_density: f32) -> f32 {
    if log_density < 0.6247 {
        return 2.0;
    }
    var x = 40.0 + 8.0 * log_density;
    for (var step = 0u; step < 24u; step += 1u) {
        // Newton's method on a convex function descends monotonically to the root.
        x = max(x - (x + 6.0 - 6.0 * log(x) - 2.0 * log_density) / (1.0 - 6.0 / x), 6.0001);
    }
    return x;
}

fn quantile(list: u32, count: u32, part: f32) -> f32 {
    return samples[list][slot(u32(part * f32(count - 1u)))];
}

// Returns the length of the range that contains most samples.
fn range(list: u32, count: u32) -> f32 {
    return quantile(list, count, 0.98) - quantile(list, count, 0.02);
}

// Returns a bound of the difference of two evaluations of a projection, in scaled units; 0 for coordinate axes. If only
// one evaluation fuses its operations, they differ by a few units in the last place. Scaled coordinates are below 4.
fn oblique_error() -> f32 {
    let turned = abs(axes[0]);
    return select(0.0, OBLIQUE_ERROR, max(turned.x, max(turned.y, turned.z)) < 1.0);
}

// Returns the count of retained edges of the sample. The largest 1/64 are dropped, since a single enormous box would
// enlarge all cells.
fn retained_edges(count: u32) -> u32 {
    return count - count / 64u;
}

// Returns the unit for sums of edges: the largest power of two that is at most the largest retained edge. So scaling
// rounds nothing, and squares neither vanish nor overflow. `retained` is the count of retained edges.
fn unit_edge(retained: u32) -> f32 {
    var largest = CELL_MIN;
    if retained > 0u {
        largest = max(samples[EDGES][slot(retained - 1u)], CELL_MIN);
    }
    return bitcast<f32>(bitcast<u32>(largest) & 0x7f800000u);
}

// Adds up the retained edges and their squares, with a stride of EDGE_LANES per invocation.
fn add_edges(local: u32, count: u32) {
    let retained = retained_edges(count);
    let inverse = bitcast<f32>((254u << 23u) - bitcast<u32>(unit_edge(retained)));
    var mine = vec2<f32>(0.0);
    for (var i = local; i < select(0u, retained, local < EDGE_LANES); i += EDGE_LANES) {
        let edge = samples[EDGES][slot(i)] * inverse;
        mine += vec2<f32>(edge, edge * edge);
    }
    if local < EDGE_LANES {
        edge_sums[local] = mine;
    }
}

fn choose_cell(scene: Scale, count: u32) -> f32 {
    if params.cell_mode == CELL_FIXED {
        return params.cell_size * scene.scale;
    }
    if params.cell_mode == CELL_USSCD {
        let edge_max = sums[0].edge_max;
        let widest = max(edge_max.x, max(edge_max.y, edge_max.z));
        let size = max(scene.high - scene.low, vec3<f32>(1e-30));
        let ratios = log(max(vec3<f32>(widest), vec3<f32>(1e-30)) / size);
        return widest * usscd_cell(log(f32(max(scene.count, 1u))) + ratios.x + ratios.y + ratios.z);
    }
    let retained = retained_edges(count);
    var sums_of_edges = vec2<f32>(0.0);
    for (var k = 0u; k < EDGE_LANES; k += 1u) {
        sums_of_edges += edge_sums[k];
    }
    let means = sums_of_edges / f32(max(retained, 1u));
    let unit = unit_edge(retained);
    let mean_edge = means.x * unit;
    // `edges` is the cell edge at which boxes have ENTRIES_PER_BOX entries on average, in units of the mean edge. It is
    // the root of 1 + 2 mean / cell + mean of squares / cell^2 = ENTRIES_PER_BOX.
    let ratio = unit / max(mean_edge, CELL_MIN);
    let spread = means.y * (ratio * ratio);
    let more = ENTRIES_PER_BOX - 1.0;
    let edges = (1.0 + sqrt(1.0 + more * spread)) / more;
    // For few small boxes, more than one cell per two boxes gains nothing.
    let least = oblique_error();
    let range_u = max(range(CENTRES_U, count), least);
    let range_v = max(range(CENTRES_V, count), least);
    let sparse = sqrt(range_u) * sqrt(range_v) * sqrt(2.0 / f32(max(scene.count, 1u)));
    return max(edges * mean_edge, sparse);
}

// Chooses the grid and the sort key, without the knots. Returns the bits of a position.
fn choose_grid(scene: Scale, count: u32) -> u32 {
    frame.sweep = axes[0];
    frame.plane_u = axes[1];
    frame.plane_v = axes[2];
    frame.scale = scene.scale;
    frame.limit = scene.limit;
    frame.axis = chosen_axis;
    frame.outside_count = params.box_count - scene.count;
    frame.giant_cells = clamp(params.box_count / 16u, 64u, MAX_CELLS);
    let inverse = set_cell(scene, count);
    let ids = choose_ids(scene, count, inverse);
    place_grid(ids, count);
    let cell_bits = ids.bits + ids.world;
    let of_position = params.key_bits - cell_bits.x - cell_bits.y;
    frame.key_bits = params.key_bits;
    frame.position_bits = of_position;
    return of_position;
}

// Sets the cell size and the widening of intervals. Returns the inverse of the cell size, which saves a read of the
// frame from memory.
fn set_cell(scene: Scale, count: u32) -> f32 {
    var cell = 1.0;
    if count > 0u {
        cell = choose_cell(scene, count);
    }
    if !(cell > CELL_MIN) {
        cell = CELL_MIN;
    }
    // Cells smaller than the error of a projection only increase the entries per box.
    let oblique = oblique_error();
    cell = min(max(cell, oblique), CELL_MAX);
    let inverse = 1.0 / cell;
    frame.inverse_cell = inverse;
    frame.cell_size = cell;
    frame.sweep_slop = oblique;
    frame.plane_slop = PLANE_SLOP + oblique * inverse;
    return inverse;
}

// The ids of cells along u and v.
struct CellIds {
    low: vec2<f32>,           // the lower corner of the scene
    fits: vec2<u32>,          // bits that number the cells of the whole scene
    bits: vec2<u32>,          // bits that differ among the cells of one world
    world: vec2<u32>,         // bits that only distinguish worlds
}

// Chooses the key bits for the cells: enough for the range of most boxes, if MIN_POSITION_BITS remain for the position.
// A scene that fills space has about n^(2/3) columns, each a few edges wide. A flat, oblique scene has more.
fn choose_ids(scene: Scale, count: u32, inverse_cell: f32) -> CellIds {
    var ids = CellIds();
    for (var k = 0u; k < 2u; k += 1u) {
        let interval = project(axes[k + 1u], scene.low, scene.high);
        var most = 0.0;
        if count > 0u {
            most = range(CENTRES_U + k, count) * inverse_cell;
        }
        ids.low[k] = interval.x;
        ids.fits[k] = bits_about((interval.y - interval.x) * inverse_cell + 2.0);
        ids.bits[k] = min(min(ids.fits[k], bits_about(most + 2.0)), MAX_CELL_BITS);
    }
    // With worlds, the cell bits suffice for one world only, since all worlds may be in the same place. Three spare
    // bits allow for elongated or sparse worlds, since repeating ids may coincide with ids of another world.
    let worlds = max(params.world_count, 1u);
    let magnitude = bits_for(f32(params.box_count / worlds) + 1.0);
    var most_bits = max(5u * magnitude / 6u, 2u);
    var world_bits = 0u;
    if worlds > 1u {
        world_bits = min(bits_for(f32(worlds)), MAX_WORLD_BITS);
        most_bits = min(most_bits + 3u, params.key_bits - MIN_POSITION_BITS - world_bits);
    }
    ids.bits = shortened(ids.bits, most_bits);
    // Divide the bits for worlds so that u and v have about the same count of bits.
    let of_u = u32(clamp((i32(world_bits) + i32(ids.bits.y) - i32(ids.bits.x)) / 2, 0, i32(world_bits)));
    ids.world = vec2<u32>(of_u, world_bits - of_u);
    for (var k = 0u; k < 2u; k += 1u) {
        ids.bits[k] = min(ids.fits[k], max(ids.bits[k], MIN_WRAP_BITS - min(ids.world[k], MIN_WRAP_BITS)));
    }
    return ids;
}

// Reduces two bit counts until their sum is at most `most`. Each step reduces the larger count, or v if both are equal.
fn shortened(bits: vec2<u32>, most: u32) -> vec2<u32> {
    let excess = max(bits.x + bits.y, most) - most;
    let of_larger = min(excess, max(bits.x, bits.y) - min(bits.x, bits.y));
    let of_both = excess - of_larger;
    let cut = select(vec2<u32>(0u, of_larger), vec2<u32>(of_larger, 0u), bits.x > bits.y);
    return bits - cut - vec2<u32>(of_both / 2u, of_both - of_both / 2u);
}

// Sets the bounds of the grid along u and v.
fn place_grid(ids: CellIds, count: u32) {
    for (var k = 0u; k < 2u; k += 1u) {
        if ids.bits[k] == ids.fits[k] {
            // The key bits number all cells.
            frame.origin[k] = ids.low[k];
            frame.cell_min[k] = 0;
            frame.cell_max[k] = i32(1u << ids.bits[k]) - 1;
            frame.max_span[k] = 1u << ids.bits[k];
        } else {
            // The grid has no bounds, and ids repeat. If two boxes overlap and span at most half of the ids each, their
            // entries with the same id are in the same cell. The origin is near most boxes, where the spacing of floats
            // is finest.
            frame.origin[k] = 0.0;
            if count > 0u {
                frame.origin[k] = quantile(CENTRES_U + k, count, 0.5);
            }
            frame.cell_min[k] = -CELL_REACH;
            frame.cell_max[k] = CELL_REACH;
            frame.max_span[k] = 1u << (ids.bits[k] + ids.world[k] - 1u);
        }
    }
    frame.tile_bits = ids.bits;
    frame.cell_bits = ids.bits + ids.world;
}

// Returns the smallest b from 1 to 30 with 2^b >= x: the exponent of x, plus one unless x is a power of two.
fn bits_for(x: f32) -> u32 {
    let exponent = (bitcast<u32>(clamp(x, 2.0, 1073741824.0)) + 0x7fffffu) >> 23u;
    return exponent - 127u;
}

// Returns bits_for of x, where an x that exceeds a power of two only by rounding counts as that power.
fn bits_about(x: f32) -> u32 {
    return bits_for(x * (1.0 - 1.0 / 262144.0));
}

// Adds box i of the sample to the lists.
fn list_sample(i: u32, own: Sample) {
    var start = FLOAT_MAX;
    var edge = FLOAT_MAX;
    var centre_u = FLOAT_MAX;
    var centre_v = FLOAT_MAX;
    if own.counts {
        let along_u = project(axes[1], own.low, own.high);
        let along_v = project(axes[2], own.low, own.high);
        start = project(axes[0], own.low, own.high).x;
        edge = 0.5 * (along_u.y - along_u.x) + 0.5 * (along_v.y - along_v.x);
        centre_u = 0.5 * along_u.x + 0.5 * along_u.y;
        centre_v = 0.5 * along_v.x + 0.5 * along_v.y;
    }
    samples[STARTS][slot(i)] = start;
    samples[EDGES][slot(i)] = edge;
    samples[CENTRES_U][slot(i)] = centre_u;
    samples[CENTRES_V][slot(i)] = centre_v;
}

@compute @workgroup_size(256)
fn frame_choose(@builtin(local_invocation_index) local: u32) {
    // Load the sample before the bounds, so that both loads overlap.
    let bits_a = sample_bits(local);
    let bits_b = sample_bits(local + 256u);
    let scene = scene_scale(local);
    let a = sample_of(bits_a, scene);
    let b = sample_of(bits_b, scene);
    let middle = 0.5 * scene.low + 0.5 * scene.high;
    sum_moments(local, combined(moments_of(a, middle), moments_of(b, middle)));
    if local == 0u {
        choose_axes();
    }
    workgroupBarrier();

    list_sample(local, a);
    list_sample(local + 256u, b);
    sort_samples(local);
    let count = u32(sums[0].count);
    add_edges(local, count);
    workgroupBarrier();
    if local == 0u {
        position_bits = choose_grid(scene, count);
    }
    workgroupBarrier();
    if local < KNOT_COUNT / 2u {
        frame.knots[local] = vec4<f32>(knot(2u * local, count), knot(2u * local + 1u, count));
    }
}

// Returns the start of a segment of the position scale, and its quanta per unit length.
fn knot(segment: u32, count: u32) -> vec2<f32> {
    var start = 0.0;
    var next = 0.0;
    if count > 0u {
        start = samples[STARTS][slot(segment * (count - 1u) / KNOT_COUNT)];
        next = samples[STARTS][slot((segment + 1u) * (count - 1u) / KNOT_COUNT)];
    }
    var quanta = 0.0;
    if next - start > KNOT_MIN {
        quanta = f32(1u << (position_bits - KNOT_BITS)) / (next - start);
    }
    return vec2<f32>(start, quanta);
}
