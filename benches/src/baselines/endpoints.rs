//! The parts that [`scd`](super::scd), [`i_collide`](super::i_collide) and [`usscd`](super::usscd) share: endpoints in
//! the order that a sweep needs, and the sweep over three sorted lists of endpoints.

use super::BaselineError;
use broadsweep::Aabb;

/// A box that stands for one that has not been seen: invalid, so that nothing is kept of it.
pub(super) const ABSENT: Aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);

/// An [`Endpoint`] has 31 bits for its box.
const MOST_BOXES: u64 = 1 << 31;

/// Refuses more boxes than endpoints can name.
pub(super) fn check_count(algorithm: &'static str, boxes: &[Aabb]) -> Result<(), BaselineError> {
    let box_count = boxes.len() as u64;
    if box_count <= MOST_BOXES {
        return Ok(());
    }
    let reason = "an endpoint names its box with 31 bits";
    Err(BaselineError::TooManyBoxes { algorithm, box_count, most: MOST_BOXES, reason })
}

/// One end of a valid box's interval on an axis, as an integer: the coordinate, then whether it is an end, then the
/// box. At one coordinate, starts therefore come before ends, so that boxes that touch overlap; and no two endpoints
/// are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endpoint(u64);

impl Endpoint {
    const END: u64 = 1 << 31;

    /// Returns the start and the end of box `id` on `axis`.
    pub fn interval(aabb: &Aabb, axis: usize, id: u32) -> [Self; 2] {
        [Self::start(aabb, axis, id), Self::end(aabb, axis, id)]
    }

    fn start(aabb: &Aabb, axis: usize, id: u32) -> Self {
        Self(u64::from(ordered(aabb.min[axis])) << 32 | u64::from(id))
    }

    fn end(aabb: &Aabb, axis: usize, id: u32) -> Self {
        Self(u64::from(ordered(aabb.max[axis])) << 32 | Self::END | u64::from(id))
    }

    /// Returns the endpoint of the same box as it is now in `boxes`.
    pub fn moved(self, axis: usize, boxes: &[Aabb]) -> Self {
        let aabb = &boxes[self.id() as usize];
        if self.is_end() { Self::end(aabb, axis, self.id()) } else { Self::start(aabb, axis, self.id()) }
    }

    pub fn id(self) -> u32 {
        (self.0 & (Self::END - 1)) as u32
    }

    pub fn is_end(self) -> bool {
        self.0 & Self::END != 0
    }
}

/// Maps a number to an integer of the same order, with −0 as 0.
fn ordered(x: f32) -> u32 {
    // −0 + 0 is 0.
    let bits = (x + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Hands every two boxes that overlap to `found`, and returns the number of pairs that overlap on the axis swept.
///
/// `lists` hold the endpoints of the same valid boxes on x, y and z, ascending. Each list by itself gives the pairs
/// that overlap on its axis, and the answer is what the three sets have in common. These sets grow with the square of
/// the number of boxes, so they are counted, not made: the sweep that finds fewest pairs is run, and these pairs are
/// compared on the other two axes.
///
/// `active` is memory to work with.
pub(super) fn sweep<'a, L: Iterator<Item = &'a Endpoint>>(
    lists: [impl Fn() -> L; 3],
    boxes: &[Aabb],
    active: &mut Vec<(u32, Aabb)>,
    mut found: impl FnMut(u32, u32),
) -> u64 {
    let counts = [0, 1, 2].map(|k| overlap_count(lists[k]()));
    let axis = (0..3).min_by_key(|&k| counts[k]).unwrap_or(0);
    let others = [(axis + 1) % 3, (axis + 2) % 3];
    active.clear();
    for &endpoint in lists[axis]() {
        let id = endpoint.id();
        if endpoint.is_end() {
            if let Some(at) = active.iter().position(|&(other, _)| other == id) {
                active.swap_remove(at);
            }
            continue;
        }
        let own = boxes[id as usize];
        for (other, aabb) in &*active {
            if others.iter().all(|&k| own.min[k] <= aabb.max[k] && aabb.min[k] <= own.max[k]) {
                found(id, *other);
            }
        }
        active.push((id, own));
    }
    counts[axis]
}

/// Counts the pairs of intervals that overlap in a sorted list.
fn overlap_count<'a>(list: impl Iterator<Item = &'a Endpoint>) -> u64 {
    let (mut open, mut count) = (0u64, 0);
    for endpoint in list {
        if endpoint.is_end() {
            open -= 1;
        } else {
            count += open;
            open += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_order_by_coordinate_then_starts_then_boxes() {
        let inf = f32::INFINITY;
        let numbers = [-inf, f32::MIN, -1.0, -f32::from_bits(1), 0.0, f32::from_bits(1), 1.0, f32::MAX, inf];
        let point = |x: f32, id| Endpoint::interval(&Aabb::new([x; 3], [x; 3]), 1, id);
        let endpoints: Vec<_> = numbers
            .iter()
            .flat_map(|&x| {
                let [(s0, e0), (s1, e1)] = [point(x, 0), point(x, (1 << 31) - 1)].map(|[s, e]| (s, e));
                [s0, s1, e0, e1]
            })
            .collect();
        assert!(endpoints.is_sorted_by(|a, b| a < b));
        assert_eq!(point(-0.0, 7), point(0.0, 7));
        assert_eq!(endpoints[3].id(), (1 << 31) - 1);
        assert!(endpoints[3].is_end() && !endpoints[1].is_end());
    }

    #[test]
    fn the_axis_with_fewest_overlaps_is_swept() {
        // All overlap on x, none on y, neighbours on z.
        let boxes: Vec<_> = (0..10)
            .map(|i| i as f32)
            .map(|i| Aabb::new([i, 2.0 * i, i], [i + 100.0, 2.0 * i + 1.0, i + 1.0]))
            .collect();
        let lists = [0, 1, 2].map(|k| {
            let mut list: Vec<_> = (0..).zip(&boxes).flat_map(|(id, aabb)| Endpoint::interval(aabb, k, id)).collect();
            list.sort_unstable();
            list
        });
        assert_eq!([0, 1, 2].map(|k| overlap_count(lists[k].iter())), [45, 0, 9]);
        let lists = lists.each_ref().map(|list| || list.iter());
        assert_eq!(sweep(lists, &boxes, &mut Vec::new(), |_, _| unreachable!()), 0);
    }
}
