//! Mirror of `frame`: the sweep axis, the grid and the sort key.

use glam::Vec3;

use super::pca::{Scale, counts_within, scene_scale};
use crate::Aabb;
use crate::constants::*;
use crate::layout::{BoundsPartial, Frame, Moments, Params};

const SAMPLES: usize = 512;

/// The interval of a box on a direction: the sum of the corner coordinates that are lowest along it, and that of
/// the highest.
pub fn project(direction: Vec3, low: Vec3, high: Vec3) -> (f32, f32) {
    let positive = direction.cmpgt(Vec3::ZERO);
    let lower = Vec3::select(positive, low, high) * direction;
    let upper = Vec3::select(positive, high, low) * direction;
    (lower.x + lower.y + lower.z, upper.x + upper.y + upper.z)
}

/// Eigenvalues and eigenvectors of a symmetric matrix by cyclic Jacobi rotations.
pub fn jacobi(covariance: [[f32; 3]; 3]) -> ([f32; 3], [Vec3; 3]) {
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
            let sign = if theta >= 0.0 { 1.0 } else { -1.0 };
            let t = sign / (theta.abs() + (theta * theta + 1.0).sqrt());
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

/// The smallest b from 1 to 30 with 2^b >= x.
fn bits_for(x: f32) -> u32 {
    (1..30).find(|&bits| (1u32 << bits) as f32 >= x).unwrap_or(30)
}

/// The sweep axis that was taken, the three directions, and whether the boxes lie along a line that is oblique to
/// them.
fn choose_axes(asked: u32, total: &Moments) -> (u32, [Vec3; 3], bool) {
    let n = total.count.max(1.0);
    let mean = Vec3::from(total.sum) / n;
    let squares = (Vec3::from(total.squares) / n - mean * mean).max(Vec3::ZERO);
    let products = Vec3::from(total.products) / n - mean * Vec3::new(mean.y, mean.z, mean.x);
    let mean_edge = Vec3::from(total.edge_sum) / n;
    let (values, vectors) = jacobi([
        [squares.x, products.x, products.z],
        [products.x, squares.y, products.y],
        [products.z, products.y, squares.z],
    ]);
    let mut first = 0;
    for k in 1..3 {
        if values[k] > values[first] {
            first = k;
        }
    }
    let principal = vectors[first];
    let variance = |d: Vec3| ((d * d).dot(squares) + 2.0 * (d * Vec3::new(d.y, d.z, d.x)).dot(products)).max(0.0);

    let mut axis = asked;
    if axis == AXIS_AUTO {
        axis = AXIS_X;
        let mut best = -1.0;
        let candidates = [(AXIS_X, Vec3::X), (AXIS_X + 1, Vec3::Y), (AXIS_X + 2, Vec3::Z), (AXIS_PRINCIPAL, principal)];
        for (candidate, d) in candidates {
            let score = variance(d).sqrt() / d.abs().dot(mean_edge).max(1e-30);
            if score > best * 1.0001 {
                best = score;
                axis = candidate;
            }
        }
    }
    let turned = principal.abs();
    let is_turned = axis == AXIS_PRINCIPAL && turned.max_element() <= 0.999_999;
    let k = if axis != AXIS_PRINCIPAL {
        (axis - AXIS_X) as usize
    } else if turned.x > 0.5 {
        0
    } else if turned.y > 0.5 {
        1
    } else {
        2
    };
    let axes = if is_turned {
        [principal, vectors[(first + 1) % 3], vectors[(first + 2) % 3]]
    } else {
        std::array::from_fn(|j| Vec3::AXES[(k + j) % 3])
    };
    let covariance = |d: Vec3, e: Vec3| {
        let mixed = d * Vec3::new(e.y, e.z, e.x) + Vec3::new(d.y, d.z, d.x) * e;
        (d * e).dot(squares) + mixed.dot(products)
    };
    let is_oblique = [axes[1], axes[2]]
        .iter()
        .any(|&across| covariance(axes[0], across).abs() > 0.5 * variance(axes[0]).sqrt() * variance(across).sqrt());
    (axis, axes, is_oblique)
}

/// USSCD's cell edge in units of the largest edge; see `frame_choose.wgsl`.
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

/// Sorted samples: interval starts, mean plane edges, centres along u and v.
struct Samples {
    lists: [[f32; SAMPLES]; 4],
    count: usize,
}

impl Samples {
    fn take(boxes: &[Aabb], scene: &Scale, axes: &[Vec3; 3]) -> Self {
        let mut samples = Self { lists: [[0.0; SAMPLES]; 4], count: 0 };
        for i in 0..boxes.len().min(SAMPLES) {
            let at = if boxes.len() <= SAMPLES {
                i
            } else {
                let hash = (i as u32 + 1).wrapping_mul(2_654_435_769);
                ((u64::from(hash) * boxes.len() as u64) >> 32) as usize
            };
            let aabb = &boxes[at];
            if counts_within(aabb, scene.limit) {
                let low = Vec3::from(aabb.min) * scene.scale;
                let high = Vec3::from(aabb.max) * scene.scale;
                let u = project(axes[1], low, high);
                let v = project(axes[2], low, high);
                let own = [
                    project(axes[0], low, high).0,
                    0.5 * (u.1 - u.0) + 0.5 * (v.1 - v.0),
                    0.5 * u.0 + 0.5 * u.1,
                    0.5 * v.0 + 0.5 * v.1,
                ];
                for (list, value) in samples.lists.iter_mut().zip(own) {
                    list[samples.count] = value;
                }
                samples.count += 1;
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
}

fn choose_cell(params: &Params, scene: &Scale, total: &Moments, samples: &Samples) -> f32 {
    if params.cell_mode == CELL_FIXED {
        return params.cell_size * scene.scale;
    }
    if params.cell_mode == CELL_USSCD {
        let widest = total.edge_max.iter().fold(0.0f32, |a, &b| a.max(b));
        let logs: f32 = (0..3).map(|k| (widest.max(1e-30) / (scene.high[k] - scene.low[k]).max(1e-30)).ln()).sum();
        return widest * usscd_cell(total.count.max(1.0).ln() + logs);
    }
    let kept = samples.count - samples.count / 64;
    let mean_edge = samples.lists[1][..kept].iter().sum::<f32>() / kept.max(1) as f32;
    let squares: f32 = samples.lists[1][..kept].iter().map(|edge| (edge / mean_edge.max(CELL_MIN)).powi(2)).sum();
    let more = ENTRIES_PER_BOX - 1.0;
    let edges = (1.0 + (1.0 + more * squares / kept.max(1) as f32).sqrt()) / more;
    let range = |list| samples.quantile(list, 0.98) - samples.quantile(list, 0.02);
    let sparse = range(2).sqrt() * range(3).sqrt() * (2.0 / total.count.max(1.0)).sqrt();
    (edges * mean_edge).max(sparse)
}

/// Chooses the frame for `boxes` with these statistics.
pub fn choose(params: &Params, boxes: &[Aabb], bounds: &BoundsPartial, moments: &Moments) -> Frame {
    let scene = scene_scale(bounds);
    let (axis, axes, is_oblique) = choose_axes(params.axis, moments);
    let samples = Samples::take(boxes, &scene, &axes);
    let count = samples.count;

    let mut frame: Frame = bytemuck::Zeroable::zeroed();
    frame.sweep = axes[0].to_array();
    frame.plane_u = axes[1].to_array();
    frame.plane_v = axes[2].to_array();
    frame.scale = scene.scale;
    frame.limit = scene.limit;
    frame.axis = axis;
    frame.outside_count = params.box_count - scene.count;
    frame.giant_cells = (params.box_count / 16).clamp(64, MAX_CELLS);

    let cell = if count > 0 { choose_cell(params, &scene, moments, &samples) } else { 1.0 };
    let oblique = if axes[0].abs().max_element() < 1.0 { OBLIQUE_ERROR } else { 0.0 };
    let cell = cell.max(oblique).clamp(CELL_MIN, CELL_MAX);
    let inverse = 1.0 / cell;
    frame.inverse_cell = inverse;
    frame.cell_size = cell / scene.scale;
    frame.sweep_slop = oblique;
    frame.plane_slop = PLANE_SLOP + oblique * inverse;

    let mut fits = [0; 2];
    let mut bits = [0; 2];
    let mut occupied = 1.0;
    let intervals = [1, 2].map(|k| project(axes[k], scene.low.into(), scene.high.into()));
    for k in 0..2 {
        let most =
            if count > 0 { (samples.quantile(2 + k, 0.98) - samples.quantile(2 + k, 0.02)) * inverse } else { 0.0 };
        fits[k] = bits_for((intervals[k].1 - intervals[k].0) * inverse + 2.0);
        bits[k] = fits[k].min(bits_for(most + 2.0)).min(MAX_CELL_BITS);
        occupied *= (most + 1.0).min(1e6);
    }
    let worlds = params.world_count.max(1);
    let magnitude = bits_for((params.box_count / worlds) as f32 + 1.0);
    let mut most_bits = (5 * magnitude / 6).max(2);
    let mut world_bits = 0;
    if worlds > 1 {
        world_bits = bits_for(worlds as f32).min(MAX_WORLD_BITS);
        most_bits = (most_bits + 3).min(WORLD_CELL_BITS - world_bits);
    }
    while bits[0] + bits[1] > most_bits {
        bits[usize::from(bits[0] <= bits[1])] -= 1;
    }
    let of_u = ((world_bits as i32 + bits[1] as i32 - bits[0] as i32) / 2).clamp(0, world_bits as i32) as u32;
    let world = [of_u, world_bits - of_u];
    for k in 0..2 {
        bits[k] = fits[k].min(bits[k].max(MIN_WRAP_BITS.saturating_sub(world[k])));
        if bits[k] == fits[k] {
            frame.origin[k] = intervals[k].0;
            frame.cell_max[k] = (1 << bits[k]) - 1;
            frame.max_span[k] = 1 << bits[k];
        } else {
            frame.origin[k] = if count > 0 { samples.quantile(2 + k, 0.5) } else { 0.0 };
            frame.cell_min[k] = -CELL_REACH;
            frame.cell_max[k] = CELL_REACH;
            frame.max_span[k] = 1 << (bits[k] + world[k] - 1);
        }
    }
    frame.tile_bits = bits;
    let bits = [bits[0] + world[0], bits[1] + world[1]];
    frame.cell_bits = bits;
    let cell_bits = bits[0] + bits[1];
    let crowd = 64.0 * params.box_count as f32 / f32::min(occupied * worlds as f32, (1u32 << cell_bits) as f32);
    let wanted = cell_bits + bits_for(crowd).max(MIN_POSITION_BITS);
    frame.key_bits = if is_oblique { 32 } else { wanted.next_multiple_of(2 * RADIX_BITS).min(32) };
    frame.position_bits = frame.key_bits - cell_bits;

    for (k, knot) in frame.knots.iter_mut().enumerate() {
        let at = |k: usize| {
            if count > 0 { samples.lists[0][k * (count - 1) / KNOT_COUNT as usize] } else { 0.0 }
        };
        let length = at(k + 1) - at(k);
        let quanta = if length > KNOT_MIN { (1u32 << (frame.position_bits - KNOT_BITS)) as f32 / length } else { 0.0 };
        *knot = [at(k), quanta];
    }
    frame
}
