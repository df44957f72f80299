//! The filters of queries and of boxes.

use broadsweep::filter::{Attribute, GroupRule};
use broadsweep::query::{
    Batch, BoxCast, Capsule, CapsuleCast, Cast, Convex, OrientedBox, QueryFilters, Shape, Sphere, SphereCast,
};
use broadsweep::{Aabb, Error, Filters, Hit, Pair, Ray};

use super::both::Both;
use super::numbers::{Like, Numbers};
use super::oracle;

/// The rule, once more.
pub fn meets(filters: &Filters, queries: &QueryFilters, i: usize, j: usize) -> bool {
    let of = |list: &[u32], i: usize, none: u32| if list.is_empty() { none } else { list[i] };
    let all = u32::MAX;
    let own = of(&queries.mask, i, all) & of(&filters.group, j, all) != 0;
    let other = of(&queries.group, i, all) & of(&filters.mask, j, all) != 0;
    let by_group = if filters.rule == GroupRule::Any { own || other } else { own && other };
    let body = of(&queries.body, i, all);
    let is_own = body != all && (of(&filters.body, j, j as u32) == body || of(&filters.parent, j, all) == body);
    let (world, of_box) = (of(&queries.world, i, all), of(&filters.world, j, all));
    let by_world = world == of_box || world == all || of_box == all;
    by_group && !is_own && by_world && of(&queries.ignore, i, all) != j as u32 && by_sphere(filters, queries, i, j)
}

/// The rule of spheres. There are no margins.
fn by_sphere(filters: &Filters, queries: &QueryFilters, i: usize, j: usize) -> bool {
    let Some(own @ &[x, y, z, radius]) = queries.sphere.get(i) else { return true };
    match filters.half_spaces.iter().find(|half_space| half_space.index as usize == j) {
        Some(half_space) => oracle::is_near_half_space(half_space, [x, y, z], radius),
        None => filters.sphere.get(j).is_none_or(|other| oracle::spheres_touch(own, other)),
    }
}

/// Generates spheres, some of them without an end.
pub fn spheres(numbers: &mut Numbers, boxes: &[Aabb], like: Like, n: usize) -> Vec<[f32; 4]> {
    let spheres = (0..n).map(|_| numbers.sphere(boxes, like));
    spheres.map(|Sphere { center: [x, y, z], radius }| [x, y, z, radius]).collect()
}

fn list(numbers: &mut Numbers, n: usize, values: u64) -> Vec<u32> {
    (0..n).map(|_| numbers.below(values) as u32).collect()
}

/// Creates some of the lists of `n` boxes and `m` queries.
pub fn some_filters(numbers: &mut Numbers, n: usize, m: usize) -> (Filters, QueryFilters) {
    let mut filters = Filters::default();
    let mut of_queries = QueryFilters::default();
    filters.rule = if numbers.below(2) == 0 { GroupRule::Any } else { GroupRule::Both };
    for which in 0..10 {
        if numbers.below(3) > 0 {
            continue;
        }
        match which {
            0 => filters.group = list(numbers, n, 4),
            1 => filters.mask = list(numbers, n, 4),
            2 => filters.body = list(numbers, n, 5),
            3 => filters.parent = list(numbers, n, 5),
            4 => {
                filters.world = list(numbers, n, 6).iter().map(|&w| if w == 5 { Filters::GLOBAL } else { w }).collect();
            }
            5 => of_queries.group = list(numbers, m, 4),
            6 => of_queries.mask = list(numbers, m, 4),
            7 => of_queries.body = list(numbers, m, 6),
            8 => {
                of_queries.world =
                    list(numbers, m, 8).iter().map(|&w| if w == 7 { Filters::GLOBAL } else { w }).collect();
            }
            _ => of_queries.ignore = list(numbers, m, n as u64 + 1),
        }
    }
    (filters, of_queries)
}

#[test]
fn every_filter_decides_as_it_is_written_down() {
    let mut counts = [0; 2];
    for seed in 0..20 {
        let numbers = &mut Numbers::new(seed + 1);
        let n = [0, 1, 9, 40, 600][(seed % 5) as usize];
        let boxes = numbers.boxes(n, Like::Whole);
        let m = 100;
        let (filters, of_queries) = some_filters(numbers, n, m);
        let mut tree = Both::new();
        tree.set_filters(filters.clone()).unwrap();
        tree.build(&boxes).unwrap();
        let rays: Vec<Ray> = (0..m).map(|_| numbers.ray(&boxes, Like::Whole)).collect();
        let points: Vec<_> = (0..m).map(|_| numbers.nearest(&boxes, Like::Whole)).collect();
        let batch = Batch::new(&rays[..]).with_filters(&of_queries);
        let (nearest, all) = (tree.nearest_hits(batch).unwrap(), tree.all_hits(batch).unwrap());
        let near = tree.nearest(Batch::new(&points[..]).with_filters(&of_queries), 4).unwrap();
        let regions: Vec<Aabb> = (0..m).map(|_| numbers.region(&boxes, Like::Whole)).collect();
        let touching = tree.overlaps(Batch::new(&regions[..]).with_filters(&of_queries)).unwrap();
        for i in 0..m {
            let among = |j: usize| meets(&filters, &of_queries, i, j);
            let mut hits = oracle::hits(&rays[i], &boxes, among);
            assert_eq!(nearest.answers[i].index, hits.first().map_or(u32::MAX, |hit| hit.index), "seed {seed}");
            hits.sort_by_key(|hit| hit.index);
            assert_eq!(&all[i], hits, "seed {seed}");
            let expected = oracle::near(&points[i], &boxes, among);
            assert_eq!(&near[i], &expected[..expected.len().min(4)], "seed {seed}");
            let touch = |j: &u32| regions[i].overlaps(&boxes[*j as usize]) && among(*j as usize);
            let expected: Vec<u32> = (0..n as u32).filter(touch).collect();
            assert_eq!(&touching[i], expected, "seed {seed}");
        }
        if seed % 4 > 0 {
            continue;
        }
        let passes = |i: usize, index: u32| meets(&filters, &of_queries, i, index as usize);
        let casts: Vec<BoxCast> = (0..m).map(|_| numbers.cast(&boxes, Like::Whole)).collect();
        let spheres: Vec<Sphere> = (0..m).map(|_| numbers.sphere(&boxes, Like::Whole)).collect();
        assert_filtered_by_cast(&tree, &rays, &of_queries, passes);
        assert_filtered_by_cast(&tree, &casts, &of_queries, passes);
        assert_filtered_of_round_casts(&tree, &casts, &spheres, &of_queries, passes);
        assert_filtered_of_shapes(&tree, &spheres, &of_queries, passes);
        let all = tree.cpu.all_hits(&casts).unwrap();
        let hits = all.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |hit| passes(i, hit.index)));
        hits.for_each(|is_kept| counts[usize::from(is_kept)] += 1);
    }
    // Some answers are left out, and some pass.
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// Checks spheres and capsules that move as these boxes do.
pub fn assert_filtered_of_round_casts(
    tree: &Both,
    casts: &[BoxCast],
    spheres: &[Sphere],
    filters: &QueryFilters,
    passes: impl Fn(usize, u32) -> bool + Copy,
) {
    let each = || casts.iter().zip(spheres);
    let capsules: Vec<CapsuleCast> = each()
        .map(|(&BoxCast { aabb, direction, limit }, sphere)| CapsuleCast {
            from: aabb.min,
            to: sphere.center,
            radius: sphere.radius,
            direction,
            limit,
        })
        .collect();
    let spheres: Vec<SphereCast> = each()
        .map(|(&BoxCast { direction, limit, .. }, &Sphere { center, radius })| SphereCast {
            center,
            radius,
            direction,
            limit,
        })
        .collect();
    assert_filtered_by_cast(tree, &spheres, filters, passes);
    assert_filtered_by_cast(tree, &capsules, filters, passes);
}

/// Checks shapes of every kind that lie where these spheres do.
pub fn assert_filtered_of_shapes(
    tree: &Both,
    spheres: &[Sphere],
    filters: &QueryFilters,
    passes: impl Fn(usize, u32) -> bool + Copy,
) {
    let points: Vec<[f32; 3]> = spheres.iter().map(|sphere| sphere.center).collect();
    let capsule = |&Sphere { center, radius }: &Sphere| Capsule { from: center, to: [0.0; 3], radius };
    let capsules: Vec<Capsule> = spheres.iter().map(capsule).collect();
    let axes = [[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let turned = |&Sphere { center, radius }: &Sphere| OrientedBox { center, half: [radius; 3], axes };
    let turned: Vec<OrientedBox> = spheres.iter().map(turned).collect();
    let half_spaces = [[1.0, 1.0, 0.0, 6.0], [-1.0, 0.0, 0.5, 2.0]];
    let convex = vec![Convex { half_spaces: &half_spaces }; spheres.len()];
    assert_filtered_by_shape(tree, &points, filters, passes);
    assert_filtered_by_shape(tree, spheres, filters, passes);
    assert_filtered_by_shape(tree, &capsules, filters, passes);
    assert_filtered_by_shape(tree, &turned, filters, passes);
    assert_filtered_by_shape(tree, &convex, filters, passes);
}

/// Checks that queries with filters have the answers without filters that pass.
pub fn assert_filtered_by_cast<C: Cast>(
    tree: &Both,
    casts: &[C],
    filters: &QueryFilters,
    passes: impl Fn(usize, u32) -> bool,
) {
    let batch = Batch::new(casts).with_filters(filters);
    // In the order of times before they are rounded.
    let in_order = tree.cpu.first_hits(casts, usize::MAX).unwrap();
    let first = tree.first_hits(batch, 3).unwrap();
    let (nearest, any, all) =
        (tree.nearest_hits(batch).unwrap(), tree.any_hits(batch).unwrap(), tree.all_hits(batch).unwrap());
    for i in 0..casts.len() {
        let mut expected = in_order[i].to_vec();
        expected.retain(|hit| passes(i, hit.index));
        assert_eq!(&first[i], &expected[..expected.len().min(3)]);
        assert_eq!(nearest.answers[i], expected.first().copied().unwrap_or(Hit::MISS));
        assert_eq!(any.answers[i], !expected.is_empty());
        expected.sort_by_key(|hit| hit.index);
        assert_eq!(&all[i], expected);
    }
}

/// Checks that queries with filters have the answers without filters that pass.
fn assert_filtered_by_shape<S: Shape>(
    tree: &Both,
    shapes: &[S],
    filters: &QueryFilters,
    passes: impl Fn(usize, u32) -> bool,
) {
    let (without, with) =
        (tree.cpu.overlaps(shapes).unwrap(), tree.overlaps(Batch::new(shapes).with_filters(filters)).unwrap());
    for i in 0..shapes.len() {
        let mut expected = without[i].to_vec();
        expected.retain(|&index| passes(i, index));
        assert_eq!(&with[i], expected);
    }
}

#[test]
fn margins_pad_queried_boxes() {
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([5.0; 3], [6.0; 3])];
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_margin(vec![0.5, 0.0])).unwrap();
    tree.build(&boxes).unwrap();
    let along = Ray::new([-2.0, 0.5, 0.5], [1.0, 0.0, 0.0]);
    assert_eq!(tree.nearest_hits(&[along]).unwrap().answers[0].t, 1.5);
    tree.refit(&boxes).unwrap();
    assert_eq!(tree.nearest_hits(&[along]).unwrap().answers[0].t, 1.5);
    // Other margins are those of another tree.
    tree.change_filters(0, Attribute::Margin(&[1.0])).unwrap();
    assert_eq!(tree.nearest_hits(&[along]).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.refit(&boxes).unwrap_err(), Error::NotBuilt);
    tree.build(&boxes).unwrap();
    assert_eq!(tree.nearest_hits(&[along]).unwrap().answers[0].t, 1.0);
}

#[test]
fn groups_that_change_hold_at_once() {
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 2];
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_group(vec![1, 2]).with_mask(vec![0, 0])).unwrap();
    tree.build(&boxes).unwrap();
    let filters = QueryFilters::default().with_mask(vec![2]);
    let batch = Batch::new(&[[0.5; 3]][..]).with_filters(&filters);
    assert_eq!(&tree.overlaps(batch).unwrap()[0], [1]);
    tree.change_filters(0, Attribute::Group(&[2])).unwrap();
    assert_eq!(&tree.overlaps(batch).unwrap()[0], [0, 1]);
}

#[test]
fn filters_that_do_not_fit_are_refused_and_say_so() {
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 2];
    let mut tree = Both::new();
    let refused = tree.set_filters(Filters::default().with_owner(Some(boxes[0]))).unwrap_err();
    assert!(matches!(refused, Error::BadFilter { list: "owner", index: None, .. }), "{refused}");
    tree.set_filters(Filters::default().with_world(vec![0])).unwrap();
    assert_eq!(tree.build(&boxes).unwrap_err(), Error::FilterLength { list: "world", length: 1, box_count: 2 });
    assert_eq!(tree.overlaps(&[[0.5; 3]]).unwrap_err(), Error::NotBuilt);
    // Nor do filters that come later.
    tree.set_filters(Filters::default()).unwrap();
    tree.build(&boxes).unwrap();
    let refused = tree.set_filters(Filters::default().with_group(vec![1])).unwrap_err();
    assert_eq!(refused, Error::FilterLength { list: "group", length: 1, box_count: 2 });
    assert_eq!(&tree.overlaps(&[[0.5; 3]]).unwrap()[0], [0, 1]);
    // Lists of pairs are of boxes, and no query is one.
    tree.set_filters(Filters::default().with_exclude(vec![Pair::new(0, 1)])).unwrap();
    tree.build(&boxes).unwrap();
    let filters = QueryFilters::default().with_ignore(vec![0, 1]);
    let refused = tree.overlaps(Batch::new(&[[0.5; 3]][..]).with_filters(&filters)).unwrap_err();
    assert_eq!(refused, Error::QueryFilterLength { list: "ignore", length: 2, query_count: 1 });
}
