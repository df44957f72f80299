//! Mirror of `bin`: cells and quantised intervals, the level of coarsening, entries.

use glam::{BVec3A, Vec3A, Vec4};

use crate::Aabb;
use crate::base::constants::*;
use crate::base::layout::Frame;

/// The cells of an invalid box.
pub const CELLS_OF_INVALID: [i32; 4] = [1, 0, 0, 0];
/// The cells of a box that is unbounded, or beyond the limit of the frame.
pub const CELLS_OF_UNBOUNDED: [i32; 4] = [1, 1, 0, 0];

/// The counts of a set of boxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Entries at each level of coarsening.
    pub entries: [u64; LEVELS as usize],
    /// Giants at each level.
    pub giants: [u32; LEVELS as usize],
    /// Invalid boxes.
    pub invalid: u32,
}

impl Totals {
    /// Counts a box at the finest level.
    #[inline(always)] // as `place_of`
    fn count(&mut self, own: [i32; 4], frame: &Frame) {
        let count = if is_binned(own) { cell_count(own, 0, frame) } else { 0 };
        self.entries[0] += u64::from(count);
        let is_invalid = own == CELLS_OF_INVALID;
        self.giants[0] += u32::from(count == 0 && !is_invalid);
        self.invalid += u32::from(is_invalid);
    }

    /// Counts boxes at the other levels.
    pub fn count_coarser(&mut self, cells: &[[i32; 4]], frame: &Frame) {
        for &own in cells.iter().filter(|&&own| own != CELLS_OF_INVALID) {
            for level in 1..LEVELS {
                let count = if is_binned(own) { cell_count(own, level, frame) } else { 0 };
                self.entries[level as usize] += u64::from(count);
                self.giants[level as usize] += u32::from(count == 0);
            }
        }
    }

    /// Returns whether the counts at the finest level prove that [`level`] chooses this level. At any level, the cost
    /// of a box is at least one entry or a test against all boxes.
    pub fn is_finest(&self, box_count: u32, entry_capacity: u32) -> bool {
        let valid_count = u64::from(box_count - self.invalid);
        self.entries[0] <= u64::from(entry_capacity)
            && self.cost(0, box_count) <= 4 * valid_count * u64::from(TESTS_PER_ENTRY.min(box_count))
    }

    fn cost(&self, level: usize, box_count: u32) -> u64 {
        self.entries[level] * u64::from(TESTS_PER_ENTRY) + u64::from(self.giants[level]) * u64::from(box_count)
    }

    /// Counts a giant again, as a box with these `cells`. Only counts at the finest level change.
    pub fn binned(&mut self, cells: [i32; 4], frame: &Frame) {
        let count = cell_count(cells, 0, frame);
        self.entries[0] += u64::from(count);
        self.giants[0] -= u32::from(count > 0);
    }

    /// Returns the sums of the counts of two sets.
    pub fn united(self, other: &Self) -> Self {
        Self {
            entries: std::array::from_fn(|level| self.entries[level] + other.entries[level]),
            giants: std::array::from_fn(|level| self.giants[level] + other.giants[level]),
            invalid: self.invalid + other.invalid,
        }
    }
}

/// Returns whether a box has cells.
pub fn is_binned(cells: [i32; 4]) -> bool {
    cells[0] <= cells[2]
}

/// Returns the cells after coarsening.
pub fn coarse(cells: [i32; 4], level: u32) -> [i32; 4] {
    let shift = LEVEL_SHIFTS[level as usize];
    cells.map(|cell| if shift < 32 { cell >> shift } else { 0 })
}

/// Returns the cell count of a binned box; 0 for a giant.
pub fn cell_count(cells: [i32; 4], level: u32, frame: &Frame) -> u32 {
    let [u0, v0, u1, v1] = coarse(cells, level);
    let spans = [u0.abs_diff(u1) + 1, v0.abs_diff(v1) + 1];
    let is_wide = (0..2).any(|k| spans[k] > frame.max_span[k]);
    if is_wide || spans[0] * spans[1] > frame.giant_cells { 0 } else { spans[0] * spans[1] }
}

/// Returns `true` if a box is a giant, which is tested against all other boxes.
pub fn is_giant(cells: [i32; 4], level: u32, frame: &Frame) -> bool {
    if is_binned(cells) { cell_count(cells, level, frame) == 0 } else { cells == CELLS_OF_UNBOUNDED }
}

/// Quantises a scaled coordinate on the sweep axis.
pub fn position(frame: &Frame, x: f32) -> u32 {
    Directions::new(frame).position(frame, x)
}

/// Packs fractions (first u, first v, last u, last v) into the bytes (first u, last u, first v, last v) of a footprint.
pub fn footprint_of([u0, v0, u1, v1]: [u32; 4]) -> u32 {
    u0 | u1 << 8 | v0 << 16 | v1 << 24
}

/// The directions u, v and sweep of a frame, and the segments of the sweep axis, in the layout of vector instructions.
struct Directions {
    /// Vector k has coordinate k of all three directions.
    along: [Vec3A; 3],
    /// True for each positive coordinate.
    is_positive: [BVec3A; 3],
    /// The start of each segment, ascending.
    starts: [f32; KNOT_COUNT as usize],
}

impl Directions {
    fn new(frame: &Frame) -> Self {
        let along = [0, 1, 2].map(|k| Vec3A::new(frame.plane_u[k], frame.plane_v[k], frame.sweep[k]));
        let is_positive = along.map(|along| along.cmpgt(Vec3A::ZERO));
        Self { along, is_positive, starts: frame.knots.map(|[start, _]| start) }
    }

    /// Quantises a scaled coordinate on the sweep axis.
    #[inline(always)]
    fn position(&self, frame: &Frame, x: f32) -> u32 {
        // Starts ascend, so the count of starts up to x gives the segment. Four are compared at once. In a binary
        // search, each comparison would wait for the one before.
        let at_or_below: u32 = self.starts.iter().map(|&start| u32::from(start <= x)).sum();
        let segment = at_or_below.saturating_sub(1);
        let segment_bits = frame.position_bits - KNOT_BITS;
        let last = (1u32 << segment_bits) - 1;
        let [start, quanta] = frame.knots[segment as usize];
        let quantum = ((x - start) * quanta).clamp(0.0, last as f32) as u32;
        segment << segment_bits | quantum.min(last)
    }

    /// Projects a box on all directions as [`project`](super::frame::project) does: returns the starts and the ends.
    #[inline(always)]
    fn project(&self, low: Vec3A, high: Vec3A) -> [Vec3A; 2] {
        let [x, y, z] =
            [0, 1, 2].map(|k| (Vec3A::splat(low[k]), Vec3A::splat(high[k]), self.is_positive[k], self.along[k]));
        let start = |(low, high, is_positive, along)| Vec3A::select(is_positive, low, high) * along;
        let end = |(low, high, is_positive, along)| Vec3A::select(is_positive, high, low) * along;
        [start(x) + start(y) + start(z), end(x) + end(y) + end(z)]
    }
}

/// Returns the first and last cell of a box in scaled units, and its footprint: the places in these cells at which the
/// box begins and ends. `start` and `end` are along u and v.
#[inline(always)] // a call would cost a twentieth of a search of small boxes
fn place_of(frame: &Frame, start: Vec3A, end: Vec3A) -> ([i32; 4], u32) {
    let both = |[u, v]: [f32; 2]| Vec4::new(u, v, u, v);
    let at = (Vec4::new(start.x, start.y, end.x, end.y) - both(frame.origin)) * frame.inverse_cell;
    let slop = frame.plane_slop + at.abs() * RELATIVE_SLOP;
    let reach = Vec4::splat(CELL_REACH as f32);
    let inside = (at + slop * Vec4::new(-1.0, -1.0, 1.0, 1.0)).max(-reach).min(reach);
    let cells = inside.floor();
    let [least, most] = [frame.cell_min, frame.cell_max].map(|[u, v]| both([u as f32, v as f32]));
    let clamped = cells.max(least).min(most);
    let within = (inside - cells) * (FRACTION_LAST + 1) as f32;
    let fractions = std::array::from_fn(|k| {
        if cells[k] == clamped[k] {
            within[k].clamp(0.0, FRACTION_LAST as f32) as u32
        } else {
            u32::from(cells[k] > clamped[k]) * FRACTION_LAST
        }
    });
    (clamped.to_array().map(|cell| cell as i32), footprint_of(fractions))
}

/// Returns the footprint of a box in merged cells.
pub fn merged_footprint(own: [i32; 4], footprint: u32, level: u32) -> u32 {
    let shift = LEVEL_SHIFTS[level as usize];
    if shift == 0 {
        return footprint;
    }
    if shift >= 32 {
        return footprint_of([0, 0, FRACTION_LAST, FRACTION_LAST]) | footprint & FOOTPRINT_SECOND;
    }
    let merged = std::array::from_fn(|k| {
        let fraction = footprint >> [0, 16, 8, 24][k] & FRACTION_LAST;
        ((own[k] as u32 & ((1 << shift) - 1)) << FRACTION_BITS | fraction) >> shift
    });
    footprint_of(merged) | footprint & FOOTPRINT_OF_BOX
}

/// Returns whether a box is plain; see `bin_count.wgsl`. [`count`] does not compute this flag, since the CPU engine
/// tests every survivor.
pub fn is_plain(aabb: &Aabb, frame: &Frame, own: [i32; 4], position: [u32; 4]) -> bool {
    let is_denormal = |x: &f32| x.is_subnormal();
    let is_central = (0..4).all(|k| {
        let ids = 1 << frame.tile_bits[k % 2];
        let before = if frame.cell_min[k % 2] < 0 { ids / 2 } else { 0 };
        (0..ids).contains(&(own[k] + before))
    });
    let start = position[0] & ((1 << frame.position_bits) - 1);
    is_central
        && super::pca::counts_within(aabb, frame.limit)
        && frame.sweep_slop == 0.0
        && frame.inverse_cell <= PLAIN_INVERSE_CELL
        && position[1] >= start + PROVEN_QUANTA
        && !aabb.min.iter().chain(&aabb.max).any(is_denormal)
}

/// Returns the bits to flip in the keys of a world's entries; see `bin_count.wgsl`.
fn tile_of(frame: &Frame, world: u32) -> u32 {
    let bits = [0, 1].map(|k| frame.cell_bits[k] - frame.tile_bits[k]);
    let low = world & ((1 << bits[0]) - 1);
    let high = world >> bits[0] & ((1 << bits[1]) - 1);
    let cell = low << frame.tile_bits[0] | high << (frame.cell_bits[0] + frame.tile_bits[1]);
    cell << frame.position_bits
}

/// Finds the range of cells of each world's boxes, packed as input of `cells_of_world`; see `bin_worlds.wgsl`. A world
/// has zeros if none of its boxes have cells.
pub fn worlds(boxes: &[Aabb], worlds: &[u32], frame: &Frame, world_cells: &mut [[u32; 4]]) {
    world_cells.fill([0; 4]);
    if frame.outside_count == 0 {
        return;
    }
    let directions = Directions::new(frame);
    for (aabb, &world) in boxes.iter().zip(worlds) {
        if world != WORLD_GLOBAL && super::pca::counts_within(aabb, frame.limit) {
            let [start, end] = directions.project(scaled(aabb.min, frame), scaled(aabb.max, frame));
            let ([u0, v0, u1, v1], _) = place_of(frame, start, end);
            widen(&mut world_cells[world as usize], [u0, v0, u1, v1]);
        }
    }
}

/// Widens a packed range by the cells of a box.
pub fn widen(packed: &mut [u32; 4], [u0, v0, u1, v1]: [i32; 4]) {
    let own = [CELL_BASE - u0, CELL_BASE - v0, CELL_BASE + u1, CELL_BASE + v1];
    *packed = std::array::from_fn(|k| packed[k].max(own[k] as u32));
}

/// Unpacks a range into cells, and widens it by the rounding error.
fn cells_of_world(frame: &Frame, packed: [u32; 4]) -> [i32; 4] {
    let ([u0, v0], [u1, v1]) = (frame.cell_min, frame.cell_max);
    if packed == [0; 4] {
        return [u0, v0, u0, v0];
    }
    let [first_u, first_v, last_u, last_v] = packed.map(|cell| cell as i32 - CELL_BASE);
    let down = |cell: i32, least: i32| (cell - 1 - (cell.abs() >> 20)).max(least);
    let up = |cell: i32, most: i32| (cell + 1 + (cell.abs() >> 20)).min(most);
    [down(-first_u, u0), down(-first_v, v0), up(last_u, u1), up(last_v, v1)]
}

/// Returns cells and position of an unbounded box of a world.
pub fn in_world(frame: &Frame, packed: [u32; 4], world: u32) -> ([i32; 4], [u32; 4]) {
    let last = (1 << frame.position_bits) - 1;
    let everywhere = footprint_of([0, 0, FRACTION_LAST, FRACTION_LAST]);
    (cells_of_world(frame, packed), [tile_of(frame, world), last, everywhere, 0])
}

fn scaled(corner: [f32; 3], frame: &Frame) -> Vec3A {
    Vec3A::from(corner) * frame.scale
}

/// Returns the cells and the position of a box; [`CELLS_OF_INVALID`] for an invalid box.
#[inline(always)] // as `place_of`
fn place_box<const WORLDS: bool>(
    aabb: &Aabb,
    world: u32,
    world_cells: &[[u32; 4]],
    frame: &Frame,
    directions: &Directions,
) -> ([i32; 4], [u32; 4]) {
    let is_global = WORLDS && world == WORLD_GLOBAL;
    if super::pca::counts_within(aabb, frame.limit) && !is_global {
        let [from, to] = directions.project(scaled(aabb.min, frame), scaled(aabb.max, frame));
        let (own, footprint) = place_of(frame, from, to);
        let start = directions.position(frame, from.z - frame.sweep_slop).saturating_sub(1);
        let end = (directions.position(frame, to.z + frame.sweep_slop) + 1).min((1 << frame.position_bits) - 1);
        let tile = if WORLDS { tile_of(frame, world) } else { 0 };
        return (own, [tile | start, end, footprint, 0]);
    }
    match world_cells.get(world as usize) {
        _ if !aabb.is_valid() => (CELLS_OF_INVALID, [0; 4]),
        Some(&packed) if WORLDS && !is_global => in_world(frame, packed, world),
        _ => (CELLS_OF_UNBOUNDED, [0; 4]),
    }
}

/// Writes cells and (start, end, footprint, 0) of each box, with the bits of its world above the start. Returns the
/// counts of all boxes. `worlds` has the number of each box's world, or is empty. `world_cells` is the output of
/// [`worlds`], or empty; boxes without cells are then giants.
pub fn count(
    boxes: &[Aabb],
    worlds: &[u32],
    world_cells: &[[u32; 4]],
    frame: &Frame,
    cells: &mut [[i32; 4]],
    positions: &mut [[u32; 4]],
) -> Totals {
    let mut places = cells.iter_mut().zip(positions);
    let mut totals = place_all(boxes, worlds, world_cells, frame, |_, own, position| {
        if let Some(place) = places.next() {
            (*place.0, *place.1) = (own, position);
        }
    });
    totals.count_coarser(cells, frame);
    totals
}

/// Puts all boxes into the grid, and passes each with its cells and position to `each`. Returns counts at the finest
/// level.
#[inline(always)] // inlining removes values that `each` ignores
pub fn place_all(
    boxes: &[Aabb],
    worlds: &[u32],
    world_cells: &[[u32; 4]],
    frame: &Frame,
    each: impl FnMut(&Aabb, [i32; 4], [u32; 4]),
) -> Totals {
    // Compile the loop for both cases, so that scenes without worlds pay nothing.
    if worlds.is_empty() {
        return place_all_in::<false>(boxes, worlds, world_cells, frame, each);
    }
    place_all_in::<true>(boxes, worlds, world_cells, frame, each)
}

#[inline(always)]
fn place_all_in<const WORLDS: bool>(
    boxes: &[Aabb],
    worlds: &[u32],
    world_cells: &[[u32; 4]],
    frame: &Frame,
    mut each: impl FnMut(&Aabb, [i32; 4], [u32; 4]),
) -> Totals {
    let mut totals = Totals::default();
    let directions = Directions::new(frame);
    for (i, aabb) in boxes.iter().enumerate() {
        let world = if WORLDS { worlds[i] } else { 0 };
        let (own, position) = place_box::<WORLDS>(aabb, world, world_cells, frame, &directions);
        each(aabb, own, position);
        totals.count(own, frame);
    }
    totals
}

/// Returns the first level whose entries fit and whose cost is at most four times the least; see `bin_level.wgsl`.
pub fn level(totals: &Totals, box_count: u32, entry_capacity: u32) -> u32 {
    let fits = |level: usize| totals.entries[level] <= u64::from(entry_capacity);
    let cost = |level: usize| totals.cost(level, box_count);
    let last = LEVELS as usize - 1;
    let least = (0..=last).filter(|&level| fits(level)).map(cost).min().unwrap_or(0);
    (0..last).find(|&level| fits(level) && cost(level) <= 4 * least).unwrap_or(last) as u32
}

/// The output of [`scatter`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// `[entry_count]` [cell v bits | cell u bits | start].
    pub keys: Vec<u32>,
    /// `[entry_count]` box index and flags, in the same order: by boxes, then by rows of cells.
    pub entries: Vec<u32>,
    /// Giants, ascending.
    pub giants: Vec<u32>,
    /// The first invalid boxes, ascending.
    pub first_invalid: Vec<u32>,
}

/// Returns the key and the entry of a box in one of its `own` cells, without the flags of last cells. `start` has the
/// bits of the box's world.
#[inline(always)]
pub fn entry_of([u0, v0, ..]: [i32; 4], [u, v]: [i32; 2], index: u32, start: u32, frame: &Frame) -> (u32, u32) {
    let mask = frame.cell_bits.map(|bits| (1u32 << bits) - 1);
    let cell = (v as u32 & mask[1]) << frame.cell_bits[0] | u as u32 & mask[0];
    let first_u = if u == u0 { ENTRY_FIRST_U } else { 0 };
    let first_v = if v == v0 { ENTRY_FIRST_V } else { 0 };
    (cell << frame.position_bits ^ start, index | first_u | first_v)
}

/// Lists the entries of each box at a level, the giants and the first invalid boxes. Replaces the footprints by the
/// footprints at this level.
pub fn scatter(cells: &[[i32; 4]], positions: &mut [[u32; 4]], frame: &Frame, level: u32) -> Entries {
    let mut out = Entries::default();
    for (i, &own) in cells.iter().enumerate() {
        if is_giant(own, level, frame) {
            out.giants.push(i as u32);
        } else if is_binned(own) {
            positions[i][2] = merged_footprint(own, positions[i][2], level);
            let own @ [u0, v0, u1, v1] = coarse(own, level);
            for v in v0..=v1 {
                for u in u0..=u1 {
                    let (key, entry) = entry_of(own, [u, v], i as u32, positions[i][0], frame);
                    let last_u = if u == u1 { ENTRY_LAST_U } else { 0 };
                    let last_v = if v == v1 { ENTRY_LAST_V } else { 0 };
                    out.keys.push(key);
                    out.entries.push(entry | last_u | last_v);
                }
            }
        } else if out.first_invalid.len() < INVALID_LISTED as usize {
            out.first_invalid.push(i as u32);
        }
    }
    out
}
