//! Finds what rays with groups hit, and the nearest boxes of points, with a tree that is chosen at run time. Loops over
//! all boxes check the answers, and the CPU tree gives the same bits.
//!
//! `cargo run --example any_tree [gpu|cpu]`; without an argument, the tree that suits the machine.

use broadsweep::filter::GroupRule;
use broadsweep::query::{Batch, Near, NearestQuery, QueryFilters};
use broadsweep::{Aabb, AnyTree, Error, Filters, Gpu, Hit, QueryEngine, Ray, Tree, cpu};

const WALL: u32 = 1;
const DOOR: u32 = 2;
const K: usize = 4;

fn choose(wanted: Option<&str>) -> Result<AnyTree, Error> {
    match wanted {
        Some("cpu") => Ok(cpu::Tree::new().into()),
        Some("gpu") => Ok(Tree::new(&Gpu::headless()?)?.into()),
        _ => AnyTree::auto(),
    }
}

/// A point of whole and half numbers from 0 to 63.5, so that the loops below do not round.
fn point(seed: u32) -> [f32; 3] {
    [1, 2, 3].map(|axis| {
        let mixed = (4 * seed + axis).wrapping_mul(0x9E37_79B9);
        ((mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B) >> 25) as f32 * 0.5
    })
}

/// The first box that a ray hits, by `t`, then by index; in f64, where nothing is rounded with these directions.
fn first_hit(ray: &Ray, boxes: &[Aabb], is_met: impl Fn(usize) -> bool) -> Hit {
    let mut best = Hit::MISS;
    for (i, b) in boxes.iter().enumerate().filter(|&(i, _)| is_met(i)) {
        let (mut enter, mut leave) = (0f64, f64::INFINITY);
        for axis in 0..3 {
            let [origin, direction, min, max] =
                [ray.origin[axis], ray.direction[axis], b.min[axis], b.max[axis]].map(f64::from);
            if direction != 0.0 {
                let (near, far) = ((min - origin) / direction, (max - origin) / direction);
                (enter, leave) = (enter.max(near.min(far)), leave.min(near.max(far)));
            } else if origin < min || origin > max {
                leave = f64::NEG_INFINITY;
            }
        }
        if enter <= leave && (enter as f32) < best.t {
            best = Hit { index: i as u32, t: enter as f32 };
        }
    }
    best
}

fn nearest(point: &[f32; 3], boxes: &[Aabb]) -> Vec<Near> {
    let gap = |b: &Aabb, axis: usize| (b.min[axis] - point[axis]).max(point[axis] - b.max[axis]).max(0.0);
    let near = |(i, b)| Near { index: i, squared_distance: [0, 1, 2].map(|axis| gap(b, axis).powi(2)).iter().sum() };
    let mut all: Vec<Near> = (0..).zip(boxes).map(near).collect();
    all.sort_by(|a, b| a.squared_distance.total_cmp(&b.squared_distance)); // stable: ties stay by index
    all.truncate(K);
    all
}

fn main() -> Result<(), Error> {
    let mut trees = [choose(std::env::args().nth(1).as_deref())?, cpu::Tree::new().into()];
    println!("tree: {}", if trees[0].is_gpu() { "GPU" } else { "CPU" });
    let boxes: Vec<Aabb> = (0..3000).map(|i| Aabb::new(point(i), point(i).map(|x| x + 1.5))).collect();
    let groups: Vec<u32> = (0..boxes.len()).map(|i| if i % 3 == 0 { DOOR } else { WALL }).collect();
    let directions = [[1.0, 0.0, 0.0], [-1.0, 0.5, 0.0], [0.25, -1.0, 2.0], [0.0, 0.0, -4.0], [-0.5, -0.5, 1.0]];
    let rays: Vec<Ray> = (0..2000).map(|i| Ray::new(point(5000 + i), directions[i as usize % 5])).collect();
    let masks: Vec<u32> = (0..rays.len()).map(|i| [WALL, DOOR, WALL | DOOR][i % 3]).collect();
    let points: Vec<NearestQuery> = (0..500).map(|i| NearestQuery::new(point(9000 + i))).collect();

    let filters = Filters::default().with_rule(GroupRule::Both).with_group(groups.clone());
    let ray_filters = QueryFilters::meeting(masks.clone(), GroupRule::Both);
    let mut bits: Vec<Vec<u32>> = Vec::new();
    for tree in &mut trees {
        tree.set_filters(filters.clone())?;
        tree.build(&boxes)?;
        assert!(tree.memory_bytes() > 0);
        let hits = tree.nearest_hits(Batch::new(&rays).with_filters(&ray_filters))?;
        let near = tree.nearest(&points, K)?;
        for (i, (ray, hit)) in rays.iter().zip(&hits).enumerate() {
            assert_eq!(*hit, first_hit(ray, &boxes, |b| groups[b] & masks[i] != 0));
        }
        for (query, list) in points.iter().zip(&near) {
            assert_eq!(*list, nearest(&query.point, &boxes));
        }
        println!("{} rays hit, {} near boxes", hits.report.answer_count, near.report.answer_count);
        let hit_bits = hits.iter().flat_map(|hit| [hit.index, hit.t.to_bits()]);
        bits.push(hit_bits.chain(near.answers.iter().flat_map(|n| [n.index, n.squared_distance.to_bits()])).collect());
    }
    assert_eq!(bits[0], bits[1]);
    Ok(())
}
