//! Mirror of `frame`: the sweep axis, the grid and the sort key.

use glam::{DVec3, Vec2, Vec3, Vec3Swizzles};

use super::pca::{Scale, counts_within, scene_scale};
use crate::Aabb;
use crate::base::constants::*;
use crate::base::layout::{BoundsPartial, Frame, Params};

const SAMPLES: usize = crate::base::constants::SAMPLES as usize;
/// The count of partial sums of edges.
const EDGE_LANES: usize = 32;
// The lists of samples: interval starts on the sweep axis, mean edges along u and v, centres along u and v.
const STARTS: usize = 0;
const EDGES: usize = 1;
const CENTRES_U: usize = 2;
const CENTRES_V: usize = 3;

/// Returns the interval of a box on a direction: the dot products of the lowest and of the highest corner along the
/// direction.
pub fn project(direction: Vec3, low: Vec3, high: Vec3) -> (f32, f32) {
    let positive = direction.cmpgt(Vec3::ZERO);
    let lower = Vec3::select(positive, low, high) * direction;
    let upper = Vec3::select(positive, high, low) * direction;
    (lower.x + lower.y + lower.z, upper.x + upper.y + upper.z)
}

/// Finds eigenvalues and eigenvectors of a symmetric matrix by cyclic Jacobi rotations. Diagonal elements that differ
/// by at most `tie` count as equal in the choice of the rotation's direction.
pub fn jacobi(covariance: [[f32; 3]; 3], tie: f32) -> ([f32; 3], [Vec3; 3]) {
    let mut a = covariance;
    let mut v = [Vec3::X, Vec3::Y, Vec3::Z];
    for _ in 0..8 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = a[q][p];
            let difference = a[q][q] - a[p][p];
            if off.abs() <= 1e-30 || off.abs() <= 1e-9 * difference.abs() {
                continue;
            }
            let theta = 0.5 * difference / off;
            let turns_forward = theta >= 0.0 || theta > -0.5 && difference.abs() <= tie;
            let t = if turns_forward { 1.0 } else { -1.0 } / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            let (row_p, row_q) = (Vec3::from(a[p]), Vec3::from(a[q]));
            a[p] = (c * row_p - s * row_q).to_array();
            a[q] = (s * row_p + c * row_q).to_array();
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            (v[p], v[q]) = (c * v[p] - s * v[q], s * v[p] + c * v[q]);
        }
    }
    ([a[0][0], a[1][1], a[2][2]], v)
}

/// Returns the smallest b from 1 to 30 with 2^b >= x.
fn bits_for(x: f32) -> u32 {
    (1..30).find(|&bits| (1u32 << bits) as f32 >= x).unwrap_or(30)
}

/// Returns [`bits_for`] of x. If x exceeds a power of two only by rounding, it counts as this power.
fn bits_about(x: f32) -> u32 {
    bits_for(x * (1.0 - 1.0 / 262_144.0))
}

/// Memory for a sample: low and high corners.
pub type SampleMemory = [(Vec3, Vec3); SAMPLES];

/// Copies the boxes of the sample that enter the statistics, in scaled units; see `frame_sample.wgsl`.
pub fn sample<'a>(boxes: &[Aabb], scene: &Scale, memory: &'a mut SampleMemory) -> &'a [(Vec3, Vec3)] {
    let n = boxes.len();
    let place = |i: usize| {
        let hash = (i as u32 + 1).wrapping_mul(GOLDEN);
        if n <= SAMPLES { i } else { ((u64::from(hash) * n as u64) >> 32) as usize }
    };
    let mut count = 0;
    for aabb in (0..n.min(SAMPLES)).map(|i| &boxes[place(i)]).filter(|aabb| counts_within(aabb, scene.limit)) {
        memory[count] = (Vec3::from(aabb.min) * scene.scale, Vec3::from(aabb.max) * scene.scale);
        count += 1;
    }
    &memory[..count]
}

/// Sums of a sample's centroids (relative to the middle of the bounds) and edges, in scaled units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Sums of centroids.
    pub sum: Vec3,
    /// Sums of their squares.
    pub squares: Vec3,
    /// Sums of the products of x and y, y and z, z and x.
    pub products: Vec3,
    /// Sums of edges.
    pub edge_sum: Vec3,
    /// The largest edges.
    pub edge_max: Vec3,
    /// The count of boxes in the sample.
    pub count: f32,
}

impl Moments {
    /// Adds up a sample in double precision. This mirrors the result, not the order of the sums.
    pub fn of(sample: &[(Vec3, Vec3)], scene: &Scale) -> Self {
        let middle = 0.5 * Vec3::from(scene.low) + 0.5 * Vec3::from(scene.high);
        let mut sums = [DVec3::ZERO; 4];
        let mut edge_max = Vec3::ZERO;
        for &(low, high) in sample {
            let d = (0.5 * low + 0.5 * high) - middle;
            let edge = high - low;
            for (sum, of_box) in sums.iter_mut().zip([d, d * d, d * d.yzx(), edge]) {
                *sum += of_box.as_dvec3();
            }
            edge_max = edge_max.max(edge);
        }
        let [sum, squares, products, edge_sum] = sums.map(|sum| sum.as_vec3());
        Self { sum, squares, products, edge_sum, edge_max, count: sample.len() as f32 }
    }
}

/// The spread of the centroids, in scaled units.
struct Spread {
    /// Variances along x, y, z.
    squares: Vec3,
    /// Covariances of x and y, y and z, z and x.
    products: Vec3,
    mean_edge: Vec3,
    /// The largest rounding error of a variance or a covariance.
    error: f32,
}

fn spread_of(sums: &Moments) -> Spread {
    let n = sums.count.max(1.0);
    let mean = sums.sum / n;
    let squares = (sums.squares / n - mean * mean).max(Vec3::ZERO);
    let products = sums.products / n - mean * mean.yzx();
    let error = MOMENT_ERROR * (sums.squares / n).element_sum();
    Spread { squares, products, mean_edge: sums.edge_sum / n, error }
}

fn variance_along(d: Vec3, spread: &Spread) -> f32 {
    ((d * d).dot(spread.squares) + 2.0 * (d * d.yzx()).dot(spread.products)).max(0.0)
}

/// Returns d or -d, so that the first large component is positive; see `frame_choose.wgsl`.
fn upright(d: Vec3) -> Vec3 {
    let component = d.to_array().into_iter().find(|x| x.abs() > 0.55).unwrap_or(d.z);
    if component > 0.0 { d } else { -d }
}

/// Returns a unit vector perpendicular to d; see `frame_choose.wgsl`.
fn across(d: Vec3) -> Vec3 {
    let k = d.to_array().into_iter().position(|x| x.abs() < 0.59).unwrap_or(2);
    (Vec3::AXES[k] - d[k] * d).normalize()
}

/// Returns the eigenvectors of the covariance, by descending eigenvalue; see `frame_choose.wgsl` for equal eigenvalues.
fn principal_axes(spread: &Spread) -> [Vec3; 3] {
    let Spread { squares, products, .. } = spread;
    let tie = 4.0 * spread.error;
    let covariance =
        [[squares.x, products.x, products.z], [products.x, squares.y, products.y], [products.z, products.y, squares.z]];
    let (values, vectors) = jacobi(covariance, tie);
    let mut first = 0;
    for k in 1..3 {
        if values[k] > values[first] {
            first = k;
        }
    }
    let (second, third) = ((first + 1) % 3, (first + 2) % 3);
    let ties_second = values[first] - values[second] <= tie;
    let ties_third = values[first] - values[third] <= tie;
    if ties_second && ties_third {
        return Vec3::AXES;
    }
    if ties_second || ties_third {
        let least = upright(vectors[if ties_second { third } else { second }]);
        let principal = across(least);
        return [principal, least.cross(principal), least];
    }
    if (values[second] - values[third]).abs() <= tie {
        let principal = upright(vectors[first]);
        let plane_u = across(principal);
        return [principal, plane_u, principal.cross(plane_u)];
    }
    [vectors[first], vectors[second], vectors[third]]
}

/// Returns the best sweep axis among x, y, z and the principal axis: the axis with the largest spread per mean
/// projected edge; see `frame_choose.wgsl`.
fn best_axis(spread: &Spread, principal: Vec3) -> u32 {
    let mut axis = AXIS_X;
    let mut best = -1.0;
    let candidates = [(AXIS_X, Vec3::X), (AXIS_X + 1, Vec3::Y), (AXIS_X + 2, Vec3::Z), (AXIS_PRINCIPAL, principal)];
    for (candidate, d) in candidates {
        let variance = variance_along(d, spread);
        let mean_edge = d.abs().dot(spread.mean_edge).max(1e-30);
        if (variance - spread.error).max(0.0).sqrt() / mean_edge > best * 1.0001 {
            best = variance.sqrt() / mean_edge;
            axis = candidate;
        }
    }
    axis
}

/// The axes of the grid.
struct Axes {
    /// The chosen axis; never [`AXIS_AUTO`].
    chosen: u32,
    /// The sweep axis, u and v.
    directions: [Vec3; 3],
}

/// Chooses the three axes.
fn choose_axes(requested: u32, total: &Moments) -> Axes {
    let spread = spread_of(total);
    let eigenvectors = principal_axes(&spread);
    let principal = eigenvectors[0];
    let chosen = if requested == AXIS_AUTO { best_axis(&spread, principal) } else { requested };

    let turned = principal.abs();
    let straight = turned.max_element() > 0.999_999;
    let directions = if chosen == AXIS_PRINCIPAL && !straight {
        eigenvectors
    } else {
        let k = match chosen {
            AXIS_PRINCIPAL if turned.x > 0.5 => 0,
            AXIS_PRINCIPAL if turned.y > 0.5 => 1,
            AXIS_PRINCIPAL => 2,
            axis => (axis - AXIS_X) as usize,
        };
        std::array::from_fn(|j| Vec3::AXES[(k + j) % 3])
    };
    Axes { chosen, directions }
}

/// Returns USSCD's cell edge in units of the largest edge; see `frame_choose.wgsl`.
pub fn usscd_cell(log_density: f32) -> f32 {
    if log_density < 0.6247 {
        return 2.0;
    }
    let mut x = 40.0 + 8.0 * log_density;
    for _ in 0..24 {
        x = (x - (x + 6.0 - 6.0 * x.ln() - 2.0 * log_density) / (1.0 - 6.0 / x)).max(6.0001);
    }
    x
}

/// Sorted samples: interval starts, mean edges along u and v, centres along u and v.
struct Samples {
    lists: [[f32; SAMPLES]; 4],
    count: usize,
}

impl Samples {
    fn of(sample: &[(Vec3, Vec3)], axes: &[Vec3; 3]) -> Self {
        let mut samples = Self { lists: [[0.0; SAMPLES]; 4], count: sample.len() };
        for (i, &(low, high)) in sample.iter().enumerate() {
            let u = project(axes[1], low, high);
            let v = project(axes[2], low, high);
            let own = [
                project(axes[0], low, high).0,
                0.5 * (u.1 - u.0) + 0.5 * (v.1 - v.0),
                0.5 * u.0 + 0.5 * u.1,
                0.5 * v.0 + 0.5 * v.1,
            ];
            for (list, value) in samples.lists.iter_mut().zip(own) {
                list[i] = value;
            }
        }
        for list in &mut samples.lists {
            list[..samples.count].sort_by(f32::total_cmp);
        }
        samples
    }

    fn quantile(&self, list: usize, part: f32) -> f32 {
        self.lists[list][(part * (self.count - 1) as f32) as usize]
    }

    /// Returns the length of the range that contains most samples.
    fn range(&self, list: usize) -> f32 {
        self.quantile(list, 0.98) - self.quantile(list, 0.02)
    }
}

/// Bounds the difference of two evaluations of a projection; see `frame_choose.wgsl`.
fn oblique_error(sweep: Vec3) -> f32 {
    if sweep.abs().max_element() < 1.0 { OBLIQUE_ERROR } else { 0.0 }
}

/// Returns a unit, and in this unit the mean of these ascending edges and the mean of their squares. The unit is a
/// power of two. The sums have the order of the kernel, so that both engines round in the same way.
fn mean_edges(edges: &[f32]) -> (f32, Vec2) {
    let largest = edges.last().map_or(CELL_MIN, |edge| edge.max(CELL_MIN));
    let unit = largest.to_bits() & 0x7f80_0000;
    let inverse = f32::from_bits((254 << 23) - unit);
    let of_lane = |lane: usize| {
        let own = edges.iter().skip(lane).step_by(EDGE_LANES).map(|edge| edge * inverse);
        own.fold(Vec2::ZERO, |sum, edge| sum + Vec2::new(edge, edge * edge))
    };
    let sums = (0..EDGE_LANES).fold(Vec2::ZERO, |sum, lane| sum + of_lane(lane));
    (f32::from_bits(unit), sums / edges.len().max(1) as f32)
}

fn choose_cell(params: &Params, scene: &Scale, total: &Moments, samples: &Samples, least: f32) -> f32 {
    if params.cell_mode == CELL_FIXED {
        return params.cell_size * scene.scale;
    }
    if params.cell_mode == CELL_USSCD {
        let widest = total.edge_max.max_element();
        let logs: f32 = (0..3).map(|k| (widest.max(1e-30) / (scene.high[k] - scene.low[k]).max(1e-30)).ln()).sum();
        return widest * usscd_cell((scene.count.max(1) as f32).ln() + logs);
    }
    let retained = samples.count - samples.count / 64;
    let (unit, means) = mean_edges(&samples.lists[EDGES][..retained]);
    let mean_edge = means.x * unit;
    let ratio = unit / mean_edge.max(CELL_MIN);
    let more = ENTRIES_PER_BOX - 1.0;
    let edges = (1.0 + (1.0 + more * (means.y * (ratio * ratio))).sqrt()) / more;
    let [range_u, range_v] = [CENTRES_U, CENTRES_V].map(|list| samples.range(list).max(least));
    let sparse = range_u.sqrt() * range_v.sqrt() * (2.0 / scene.count.max(1) as f32).sqrt();
    (edges * mean_edge).max(sparse)
}

/// Chooses the frame for `boxes` with these bounds.
pub fn choose(params: &Params, boxes: &[Aabb], bounds: &BoundsPartial) -> Frame {
    let scene = scene_scale(bounds);
    let mut memory = [Default::default(); SAMPLES];
    let sample = sample(boxes, &scene, &mut memory);
    let moments = Moments::of(sample, &scene);
    let axes = choose_axes(params.axis, &moments);
    let samples = Samples::of(sample, &axes.directions);
    let mut frame = choose_grid(params, &scene, &moments, &axes, &samples);
    frame.knots = std::array::from_fn(|segment| knot(&frame, &samples, segment));
    frame
}

/// Chooses the grid and the sort key, without the knots.
fn choose_grid(params: &Params, scene: &Scale, total: &Moments, axes: &Axes, samples: &Samples) -> Frame {
    let [sweep, plane_u, plane_v] = axes.directions.map(|d| d.to_array());
    let mut frame = Frame {
        sweep,
        plane_u,
        plane_v,
        scale: scene.scale,
        limit: scene.limit,
        axis: axes.chosen,
        outside_count: params.box_count - scene.count,
        giant_cells: (params.box_count / 16).clamp(64, MAX_CELLS),
        ..bytemuck::Zeroable::zeroed()
    };
    set_cell(&mut frame, params, scene, total, samples);
    let ids = choose_ids(&frame, params, scene, samples);
    place_grid(&mut frame, &ids, samples);
    frame.key_bits = params.key_bits;
    frame.position_bits = params.key_bits - frame.cell_bits[0] - frame.cell_bits[1];
    frame
}

/// Sets the edge of a cell, and the widening of intervals.
fn set_cell(frame: &mut Frame, params: &Params, scene: &Scale, total: &Moments, samples: &Samples) {
    let oblique = oblique_error(frame.sweep.into());
    let cell = if samples.count > 0 { choose_cell(params, scene, total, samples, oblique) } else { 1.0 };
    let cell = cell.max(oblique).clamp(CELL_MIN, CELL_MAX);
    let inverse = 1.0 / cell;
    frame.inverse_cell = inverse;
    frame.cell_size = cell;
    frame.sweep_slop = oblique;
    frame.plane_slop = PLANE_SLOP + oblique * inverse;
}

/// The bits of cell ids along u and v.
#[derive(Default)]
struct CellIds {
    /// The lower corner of the scene.
    low: [f32; 2],
    /// Bits that number the cells of the whole scene.
    fits: [u32; 2],
    /// Bits that differ among the cells of one world.
    bits: [u32; 2],
    /// Bits that only distinguish worlds.
    world: [u32; 2],
}

/// Chooses the key bits of the cells; see `frame_choose.wgsl`.
fn choose_ids(frame: &Frame, params: &Params, scene: &Scale, samples: &Samples) -> CellIds {
    let mut ids = CellIds::default();
    for (k, plane) in [frame.plane_u, frame.plane_v].into_iter().enumerate() {
        let (low, high) = project(plane.into(), scene.low.into(), scene.high.into());
        let most = if samples.count > 0 { samples.range(CENTRES_U + k) * frame.inverse_cell } else { 0.0 };
        ids.low[k] = low;
        ids.fits[k] = bits_about((high - low) * frame.inverse_cell + 2.0);
        ids.bits[k] = ids.fits[k].min(bits_about(most + 2.0)).min(MAX_CELL_BITS);
    }
    let worlds = params.world_count.max(1);
    let magnitude = bits_for((params.box_count / worlds) as f32 + 1.0);
    let mut most_bits = (5 * magnitude / 6).max(2);
    let mut world_bits = 0;
    if worlds > 1 {
        world_bits = bits_for(worlds as f32).min(MAX_WORLD_BITS);
        most_bits = (most_bits + 3).min(params.key_bits - MIN_POSITION_BITS - world_bits);
    }
    while ids.bits[0] + ids.bits[1] > most_bits {
        ids.bits[usize::from(ids.bits[0] <= ids.bits[1])] -= 1;
    }
    let of_u = ((world_bits as i32 + ids.bits[1] as i32 - ids.bits[0] as i32) / 2).clamp(0, world_bits as i32) as u32;
    ids.world = [of_u, world_bits - of_u];
    for k in 0..2 {
        ids.bits[k] = ids.fits[k].min(ids.bits[k].max(MIN_WRAP_BITS.saturating_sub(ids.world[k])));
    }
    ids
}

/// Sets the bounds of the grid along u and v; see `frame_choose.wgsl`.
fn place_grid(frame: &mut Frame, ids: &CellIds, samples: &Samples) {
    for k in 0..2 {
        if ids.bits[k] == ids.fits[k] {
            frame.origin[k] = ids.low[k];
            frame.cell_min[k] = 0;
            frame.cell_max[k] = (1 << ids.bits[k]) - 1;
            frame.max_span[k] = 1 << ids.bits[k];
        } else {
            frame.origin[k] = if samples.count > 0 { samples.quantile(CENTRES_U + k, 0.5) } else { 0.0 };
            frame.cell_min[k] = -CELL_REACH;
            frame.cell_max[k] = CELL_REACH;
            frame.max_span[k] = 1 << (ids.bits[k] + ids.world[k] - 1);
        }
    }
    frame.tile_bits = ids.bits;
    frame.cell_bits = std::array::from_fn(|k| ids.bits[k] + ids.world[k]);
}

/// Returns the start of a segment of the position scale, and its quanta per unit length.
fn knot(frame: &Frame, samples: &Samples, segment: usize) -> [f32; 2] {
    if samples.count == 0 {
        return [0.0; 2];
    }
    let at = |segment: usize| samples.lists[STARTS][segment * (samples.count - 1) / KNOT_COUNT as usize];
    let (start, next) = (at(segment), at(segment + 1));
    let quanta = (1u32 << (frame.position_bits - KNOT_BITS)) as f32;
    [start, if next - start > KNOT_MIN { quanta / (next - start) } else { 0.0 }]
}
