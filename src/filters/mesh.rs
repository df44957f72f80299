//! Pairs of triangles that share a vertex.

use crate::Pair;

/// Lists the pairs of triangles of a mesh that share a vertex, for [`Filters::exclude`](crate::Filters::exclude). The
/// boxes of these triangles always touch. A triangle is three indices of vertices. The list is ascending, has each pair
/// once, and stays valid while the mesh deforms.
///
/// Cost: time and memory grow with the sum, over all vertices, of the squared count of triangles at the vertex. A
/// regular mesh has about 6 pairs per triangle.
///
/// ```
/// use broadsweep::filter::pairs_that_share_a_vertex;
/// use broadsweep::{Filters, Pair};
///
/// let strip = [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]];
/// let neighbours = pairs_that_share_a_vertex(&strip);
/// assert_eq!(neighbours.len(), 5);
/// assert!(!neighbours.contains(&Pair { a: 0, b: 3 }));
/// let filters = Filters::default().with_exclude(neighbours);
/// ```
pub fn pairs_that_share_a_vertex(triangles: &[[u32; 3]]) -> Vec<Pair> {
    let mut corners: Vec<(u32, u32)> =
        (0..).zip(triangles).flat_map(|(triangle, vertices)| vertices.map(|vertex| (vertex, triangle))).collect();
    corners.sort_unstable();
    corners.dedup();
    let fans = corners.chunk_by(|a, b| a.0 == b.0);
    let of_fan = |fan: &[(u32, u32)]| -> Vec<Pair> {
        let pairs = fan.iter().enumerate().flat_map(|(i, a)| fan[i + 1..].iter().map(|b| Pair { a: a.1, b: b.1 }));
        pairs.collect()
    };
    let mut pairs: Vec<Pair> = fans.flat_map(of_fan).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_that_share_any_vertex_are_listed_once() {
        let side = 7;
        let mut triangles = Vec::new();
        for k in 0..side * side {
            let at = k / side * (side + 1) + k % side;
            triangles.extend([[at, at + 1, at + side + 2], [at, at + side + 2, at + side + 1]]);
        }
        // A triangle whose corners are the same vertex is no pair with itself.
        triangles.push([3, 3, 3]);
        let shares = |a: usize, b: usize| triangles[a].iter().any(|vertex| triangles[b].contains(vertex));
        let all = (0..triangles.len()).flat_map(|a| (a + 1..triangles.len()).map(move |b| (a, b)));
        let expected: Vec<Pair> =
            all.filter(|&(a, b)| shares(a, b)).map(|(a, b)| Pair { a: a as u32, b: b as u32 }).collect();
        assert!(expected.len() > 6 * 98 / 2);
        assert_eq!(pairs_that_share_a_vertex(&triangles), expected);
        assert!(pairs_that_share_a_vertex(&[]).is_empty());
    }
}
