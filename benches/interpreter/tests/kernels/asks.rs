//! A tree that is asked everything.

use broadsweep::{
    Aabb, Batch, BoxCast, Capsule, Error, Filters, Hit, NearestQuery, OrientedBox, QueryEngine, QueryFilters, Ray,
    Sphere,
};

use crate::searches;

/// Makes boxes on a grid, where many queries are in doubt, with some that are invalid, enormous or unbounded.
pub fn boxes(n: usize) -> Vec<Aabb> {
    let mut boxes: Vec<Aabb> = (0..n)
        .map(|i| {
            let low = [i % 11, i / 11 % 11, i / 121].map(|x| x as f32);
            Aabb::new(low, low.map(|x| x + [0.5, 1.0, 1.5][i % 3]))
        })
        .collect();
    for (i, aabb) in boxes.iter_mut().enumerate().filter(|(i, _)| i % 31 == 7) {
        match i % 4 {
            0 => aabb.min[0] = f32::NAN,
            1 => aabb.max[1] = f32::INFINITY,
            2 => *aabb = Aabb::new([1e30; 3], [2e30; 3]),
            _ => aabb.max = aabb.min,
        }
    }
    boxes
}

/// Makes filters that trees know.
pub fn filters(n: usize) -> Filters {
    Filters { half_spaces: Vec::new(), include: Vec::new(), exclude: Vec::new(), ..searches::filters(n) }
}

fn of_queries(n: usize) -> QueryFilters {
    let list = |of: &dyn Fn(usize) -> usize| (0..n).map(|i| of(i) as u32).collect::<Vec<u32>>();
    QueryFilters {
        group: list(&|i| 1 << (i % 3)),
        mask: list(&|i| 7 ^ (i % 2)),
        body: list(&|i| i % 9),
        world: (0..n).map(|i| if i % 3 == 0 { Filters::GLOBAL } else { (i % 5) as u32 }).collect(),
        ignore: list(&|i| i),
    }
}

/// The answers to queries of every kind, in bits.
fn answers(tree: &mut impl QueryEngine, boxes: &[Aabb]) -> Result<Vec<u64>, Error> {
    let n = 70;
    let at = |i: usize| [(i * 7 % 23) as f32 * 0.5, (i * 5 % 21) as f32 * 0.5, (i * 3 % 19) as f32 * 0.5];
    let way = |i: usize| [(i % 3) as f32 - 1.0, (i / 3 % 3) as f32 - 1.0, (i / 9 % 3) as f32 - 1.0];
    let rays: Vec<Ray> = (0..n).map(|i| Ray::new(at(i), way(i))).collect();
    let casts: Vec<BoxCast> = (0..n)
        .map(|i| BoxCast { aabb: Aabb::new(at(i), at(i).map(|x| x + 0.5)), direction: way(i + 5), limit: 3.0 })
        .collect();
    let points: Vec<NearestQuery> =
        (0..n).map(|i| NearestQuery { point: at(i), radius: [1.0, f32::INFINITY][i % 2] }).collect();
    let spheres: Vec<Sphere> = (0..n).map(|i| Sphere { center: at(i), radius: (i % 4) as f32 * 0.5 }).collect();
    let capsules: Vec<Capsule> = (0..n).map(|i| Capsule { from: at(i), to: at(i + 1), radius: 0.25 }).collect();
    let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
    let turned: Vec<OrientedBox> = (0..n).map(|i| OrientedBox { center: at(i), half: [0.5, 1.0, 0.2], axes }).collect();
    let of_points: Vec<[f32; 3]> = (0..n).map(at).collect();
    let filters = &of_queries(n);
    // As many as are worth a sort.
    let many: Vec<Ray> = rays.iter().copied().cycle().take(1100).collect();
    let mut all: Vec<u64> = Vec::new();
    let mut hits = |hits: &[Hit]| {
        all.extend(hits.iter().map(|hit| u64::from(hit.index) << 32 | u64::from(hit.t.to_bits())));
    };
    hits(&tree.nearest_hits(&many)?.answers);
    hits(&tree.nearest_hits(Batch { queries: &casts, filters })?.answers);
    hits(&tree.first_hits(&rays, 5)?.answers);
    hits(&tree.all_hits(Batch { queries: &rays, filters })?.answers);
    all.extend(tree.any_hits(&casts)?.answers.iter().map(|&hit| u64::from(hit)));
    for k in [1, 3] {
        let near = tree.nearest(Batch { queries: &points, filters }, k)?;
        all.extend(
            near.answers.iter().map(|near| u64::from(near.index) << 32 | u64::from(near.squared_distance.to_bits())),
        );
    }
    let lists = [
        tree.overlaps(&spheres)?,
        tree.overlaps(&capsules)?,
        tree.overlaps(&turned)?,
        tree.overlaps(&of_points)?,
        tree.overlaps(Batch { queries: &boxes[..n], filters })?,
    ];
    for list in lists {
        all.extend(list.offsets.iter().copied().chain(list.answers.iter().map(|&index| u64::from(index))));
    }
    Ok(all)
}

/// Builds and refits a tree, and returns what it answers.
///
/// # Errors
/// Those of the tree.
pub fn built(tree: &mut impl QueryEngine, boxes: &[Aabb], filters: &Filters) -> Result<Vec<u64>, Error> {
    tree.set_filters(filters.clone())?;
    tree.build(boxes)?;
    let moved: Vec<Aabb> =
        boxes.iter().map(|aabb| Aabb { min: aabb.min.map(|x| x - 0.5), max: aabb.max.map(|x| x + 0.5) }).collect();
    let report = tree.refit(&moved)?;
    let mut all = vec![u64::from(report.invalid_count)];
    all.extend(report.first_invalid.iter().map(|&i| u64::from(i)));
    tree.refit(boxes)?;
    all.extend(answers(tree, boxes)?);
    Ok(all)
}
