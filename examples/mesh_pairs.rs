//! Finds the pairs of triangles of a torus whose bounding boxes overlap, on the GPU. Triangles that share a vertex
//! always touch, so `Filters::exclude` leaves them out. A double loop checks the pairs.
//!
//! `cargo run --example mesh_pairs`

use std::f32::consts::TAU;

use broadsweep::filter::pairs_that_share_a_vertex;
use broadsweep::{Aabb, BroadPhase, Filters, Gpu, Options, Pair, PairOrder};

const AROUND: u32 = 48;
const ACROSS: u32 = 24;

/// Creates the vertices and the triangles of a torus.
fn torus() -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for i in 0..AROUND {
        for j in 0..ACROSS {
            let (u, v) = (TAU * i as f32 / AROUND as f32, TAU * j as f32 / ACROSS as f32);
            let radius = 3.0 + v.cos();
            vertices.push([radius * u.cos(), radius * u.sin(), v.sin()]);
            let at = |di, dj| (i + di) % AROUND * ACROSS + (j + dj) % ACROSS;
            triangles.push([at(0, 0), at(1, 0), at(1, 1)]);
            triangles.push([at(0, 0), at(1, 1), at(0, 1)]);
        }
    }
    (vertices, triangles)
}

fn main() -> Result<(), broadsweep::Error> {
    let (vertices, triangles) = torus();
    let corners_of = |triangle: &[u32; 3]| triangle.map(|vertex| vertices[vertex as usize]);
    let boxes: Vec<Aabb> = triangles.iter().map(|triangle| Aabb::from_points(corners_of(triangle))).collect();

    let gpu = Gpu::headless()?;
    let mut engine = BroadPhase::new(&gpu, Options::default().with_order(PairOrder::Canonical))?;
    let all = engine.find_pairs(&boxes)?.pairs.len();
    engine.set_filters(Filters::default().with_exclude(pairs_that_share_a_vertex(&triangles)))?;
    let pairs = &engine.find_pairs(&boxes)?.pairs;
    println!("{} triangles: {all} pairs of boxes, {} without a shared vertex", boxes.len(), pairs.len());

    let mut expected = Vec::new();
    for a in 0..triangles.len() {
        for b in a + 1..triangles.len() {
            let shares_vertex = triangles[a].iter().any(|vertex| triangles[b].contains(vertex));
            if boxes[a].overlaps(&boxes[b]) && !shares_vertex {
                expected.push(Pair::new(a as u32, b as u32));
            }
        }
    }
    assert!(!expected.is_empty() && expected.len() < all);
    assert_eq!(*pairs, expected);
    Ok(())
}
