//! The place where a query enters the scene. Queries with near starts visit the same boxes.

use crate::Aabb;

/// A query with a start.
pub trait Start {
    /// Returns the approximate place where the query enters a scene of these bounds; any place for an invalid query.
    fn start(&self, scene: &Aabb) -> [f64; 3];
}

/// Returns whether most queries start near the previous query, such as the rays of a camera.
pub fn is_in_order<Q: Start>(queries: &[Q], scene: &Aabb) -> bool {
    const SAMPLE: usize = 256;
    const NEAR: f64 = 1.0 / 64.0;
    let square = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>();
    let near = square(scene.min.map(f64::from), scene.max.map(f64::from)) * NEAR * NEAR;
    let step = (queries.len() / SAMPLE).max(1);
    let is_near = |pair: &&[Q]| square(pair[0].start(scene), pair[1].start(scene)) <= near;
    let pairs = || queries.windows(2).step_by(step);
    4 * pairs().filter(is_near).count() > 3 * pairs().count()
}
