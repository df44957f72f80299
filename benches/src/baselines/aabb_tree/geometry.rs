//! Boxes as the tree weighs them. Every box here is valid.

use broadsweep::Aabb;

/// Returns the smallest box around both.
pub fn union(a: &Aabb, b: &Aabb) -> Aabb {
    Aabb { min: std::array::from_fn(|k| a.min[k].min(b.min[k])), max: std::array::from_fn(|k| a.max[k].max(b.max[k])) }
}

/// Returns whether all of `inner` is in `outer`.
pub fn contains(outer: &Aabb, inner: &Aabb) -> bool {
    (0..3).all(|k| outer.min[k] <= inner.min[k] && inner.max[k] <= outer.max[k])
}

/// Tests two boxes that are known to be valid for overlap, closed.
pub fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..3).all(|k| a.min[k] <= b.max[k] && b.min[k] <= a.max[k])
}

/// Returns a coordinate for costs alone: infinity counts as the largest number, since a cost that is not a number
/// decides nothing. The needed sums and products of three such coordinates are far from the largest double.
fn finite(x: f32) -> f64 {
    f64::from(x.clamp(f32::MIN, f32::MAX))
}

/// Returns half the surface.
pub fn surface(a: &Aabb) -> f64 {
    let [x, y, z] = std::array::from_fn(|k| finite(a.max[k]) - finite(a.min[k]));
    x * y + y * z + z * x
}

/// Returns how much the surface of `a` grows when it takes `b` in.
pub fn growth(a: &Aabb, b: &Aabb) -> f64 {
    surface(&union(a, b)) - surface(a)
}

/// Returns twice the centre.
pub fn doubled_centre(a: &Aabb) -> [f64; 3] {
    std::array::from_fn(|k| finite(a.min[k]) + finite(a.max[k]))
}

/// Returns how far apart two centres are: twice the sum over the axes, as in Chipmunk.
pub fn distance(a: &Aabb, b: &Aabb) -> f64 {
    let [from, to] = [doubled_centre(a), doubled_centre(b)];
    (0..3).map(|k| (from[k] - to[k]).abs()).sum()
}

/// Returns the box padded by `margin` times its longest finite edge on all sides, and by `ahead` on the side that it
/// moves to, unless `ahead` is more than this edge: room for a box that flies by many times its size would hold
/// everything that the box flies past, and would not last long. A number of `ahead` that is not finite does not count.
pub fn fattened(a: &Aabb, margin: f32, ahead: [f32; 3]) -> Aabb {
    let edges = (0..3).map(|k| a.max[k] - a.min[k]);
    let longest = edges.filter(|edge| edge.is_finite()).fold(0.0, f32::max);
    let skin = margin * longest;
    let ahead = ahead.map(|d| if d.abs() <= longest { d } else { 0.0 });
    Aabb {
        min: std::array::from_fn(|k| a.min[k] - skin + ahead[k].min(0.0)),
        max: std::array::from_fn(|k| a.max[k] + skin + ahead[k].max(0.0)),
    }
}
