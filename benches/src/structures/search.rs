//! A query on its way through a structure, and what it costs there.

use broadsweep::Aabb;

use crate::baselines::slabs::Slabs;

/// Counts what queries cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Fetches that wait for what was fetched before: nodes of a tree; columns, and steps of a search in them.
    pub fetches: u64,
    /// Boxes that were tested: those of the scene, and bounds of nodes.
    pub tests: u64,
    /// Bytes that were fetched.
    pub bytes: u64,
}

/// What a query looks for.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Boxes that a ray hits.
    Ray(Slabs),
    /// Boxes that touch a box.
    Shape(Aabb),
    /// Boxes near a point.
    Point([f64; 3]),
}

impl Target {
    /// Returns how near a box is: the `t` at which the ray enters it, its squared distance from the point, or 0 where it
    /// touches the shape. Returns nothing for a box that does not matter. Every operation is monotone in the bounds, so no
    /// box is nearer than what contains it, although all of them round.
    fn near(&self, aabb: &Aabb) -> Option<f64> {
        match self {
            Self::Ray(ray) => ray.entry(aabb),
            Self::Shape(shape) => shape.overlaps(aabb).then_some(0.0),
            Self::Point(point) => {
                let [x, y, z] = std::array::from_fn(|k| {
                    (f64::from(aabb.min[k]) - point[k]).max(point[k] - f64::from(aabb.max[k])).max(0.0)
                });
                Some(x * x + y * y + z * z)
            }
        }
    }
}

/// A query on its way: what it has found, and what that has cost.
#[derive(Clone, Debug)]
pub struct Search {
    /// What is looked for.
    pub target: Target,
    /// How many of the nearest boxes are wanted; all of them where there is no number.
    pub most: Option<usize>,
    /// What the query has cost.
    pub counts: Counts,
    /// How near each box is, and its index: the nearest first where there is a number, in any order otherwise.
    found: Vec<(f64, u32)>,
}

impl Search {
    /// Begins a query.
    pub fn new(target: Target, most: Option<usize>) -> Self {
        Self { target, most, counts: Counts::default(), found: Vec::new() }
    }

    /// Returns how near a box has to be to matter still. A box that is just as near does: ties go to the smaller index.
    pub fn limit(&self) -> f64 {
        let last = self.most.and_then(|most| self.found.get(most - 1));
        last.map_or(f64::INFINITY, |&(near, _)| near)
    }

    /// Counts a fetch of this many bytes.
    pub fn fetch(&mut self, bytes: u64) {
        self.counts.fetches += 1;
        self.counts.bytes += bytes;
    }

    /// Tests a box, and returns how near it is if it matters.
    pub fn test(&mut self, aabb: &Aabb) -> Option<f64> {
        self.counts.tests += 1;
        self.target.near(aabb).filter(|&near| near <= self.limit())
    }

    /// Takes a box of the scene that matters. One that comes twice is taken once.
    pub fn take(&mut self, near: f64, id: u32) {
        let Some(most) = self.most else {
            self.found.push((near, id));
            return;
        };
        let at = self.found.partition_point(|&before| before < (near, id));
        if self.found.get(at) != Some(&(near, id)) {
            self.found.insert(at, (near, id));
            self.found.truncate(most);
        }
    }

    /// Returns what was found: the nearest first where a number was wanted, otherwise ascending by index.
    pub fn finish(mut self) -> Vec<(f64, u32)> {
        if self.most.is_none() {
            self.found.sort_unstable_by_key(|&(_, id)| id);
            self.found.dedup();
        }
        self.found
    }
}
