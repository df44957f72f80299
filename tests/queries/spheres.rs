//! Spheres of queries and of boxes, on both engines, against integers of any length.

use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::query::{Batch, BoxCast, NearestQuery, QueryFilters, QueryLoad, Question, Sphere};
use broadsweep::record::{GpuAttribute, GpuBatch, GpuIdentity, PairHeader};
use broadsweep::{
    Aabb, BroadPhase, Error, Filters, Gpu, Options, Pair, PairOrder, Ray, Recorder, Tree, TreeRecorder, cpu, wgpu,
};

use super::both::Both;
use super::filters::{
    assert_filtered_by_cast, assert_filtered_of_round_casts, assert_filtered_of_shapes, meets, some_filters, spheres,
};
use super::numbers::{Like, Numbers};
use super::oracle;
use super::touching::touching;
use crate::common::device::{Copied, encoder, upload};
use crate::common::{GPU, device_with};

const EVERYWHERE: Aabb = Aabb::new([f32::MIN; 3], [f32::MAX; 3]);

#[test]
fn spheres_decide_beside_every_kind_of_query() {
    let counts = check_scenes(0..3);
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}

#[test]
#[ignore = "long"]
fn spheres_decide_beside_every_kind_of_query_in_more_scenes() {
    let counts = check_scenes(3..12);
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

/// Checks all queries of scenes, and counts the boxes that are touched, by whether they are met.
fn check_scenes(seeds: std::ops::Range<u64>) -> [usize; 2] {
    let mut counts = [0; 2];
    for seed in seeds {
        let like = [Like::Whole, Like::Usual, Like::Any][(seed % 3) as usize];
        let numbers = &mut Numbers::new(seed + 1);
        let (n, m) = ([9, 40, 300, 1][(seed / 3) as usize], 40);
        let boxes = numbers.boxes(n, like);
        let (mut filters, mut of_queries) = Default::default();
        if seed % 2 == 0 {
            (filters, of_queries) = some_filters(numbers, n, m);
        }
        (filters.sphere, of_queries.sphere) = (spheres(numbers, &boxes, like, n), spheres(numbers, &boxes, like, m));
        let mut tree = Both::new();
        tree.set_filters(filters.clone()).unwrap();
        tree.build(&boxes).unwrap();
        let passes = |i: usize, index: u32| meets(&filters, &of_queries, i, index as usize);
        let rays: Vec<Ray> = (0..m).map(|_| numbers.ray(&boxes, like)).collect();
        let casts: Vec<BoxCast> = (0..m).map(|_| numbers.cast(&boxes, like)).collect();
        let shapes: Vec<Sphere> = (0..m).map(|_| numbers.sphere(&boxes, like)).collect();
        assert_filtered_by_cast(&tree, &rays, &of_queries, passes);
        assert_filtered_by_cast(&tree, &casts, &of_queries, passes);
        assert_filtered_of_round_casts(&tree, &casts, &shapes, &of_queries, passes);
        assert_filtered_of_shapes(&tree, &shapes, &of_queries, passes);
        assert_nearest(&tree, &boxes, numbers, like, &of_queries, passes);
        let touched = tree.cpu.overlaps(&shapes).unwrap();
        let all = touched.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&index| passes(i, index)));
        all.for_each(|is_met| counts[usize::from(is_met)] += 1);
    }
    counts
}

/// Checks the nearest boxes to some points: one, a few, and more than a row has.
fn assert_nearest(
    tree: &Both,
    boxes: &[Aabb],
    numbers: &mut Numbers,
    like: Like,
    filters: &QueryFilters,
    passes: impl Fn(usize, u32) -> bool,
) {
    let points: Vec<NearestQuery> = (0..filters.sphere.len()).map(|_| numbers.nearest(boxes, like)).collect();
    for k in [1, 5, 100] {
        let near = tree.nearest(Batch::new(&points).with_filters(filters), k).unwrap();
        for (i, point) in points.iter().enumerate() {
            let expected = oracle::near(point, boxes, |j| passes(i, j as u32));
            assert_eq!(&near[i], &expected[..expected.len().min(k)]);
        }
    }
}

#[test]
fn spheres_of_queries_that_touch_to_the_last_bit_meet() {
    let mut numbers = Numbers::new(7);
    let mut bits = || numbers.below(1 << 40);
    let (mut counts, mut wrong) = ([0; 2], 0);
    for _ in 0..6 {
        let (own, other): (Vec<_>, Vec<_>) = (0..64)
            .map(|_| {
                let (a, b, _) = touching(&mut bits);
                (a, b)
            })
            .unzip();
        let mut tree = Both::new();
        tree.set_filters(Filters::default().with_sphere(own.clone())).unwrap();
        tree.build(&[EVERYWHERE; 64]).unwrap();
        let of_queries = QueryFilters::default().with_sphere(other.clone());
        let found = tree.overlaps(Batch::new(&[[0.0; 3]; 64]).with_filters(&of_queries)).unwrap();
        for (i, b) in other.iter().enumerate() {
            let touches = |j: &u32| oracle::spheres_touch(&own[*j as usize], b);
            let expected: Vec<u32> = (0..64).filter(touches).collect();
            assert_eq!(&found[i], expected, "{b:?}");
            let a = &own[i];
            let along = |k: usize| f64::from(a[k]) - f64::from(b[k]);
            let reach = f64::from(a[3]) + f64::from(b[3]);
            let is_near = along(0) * along(0) + along(1) * along(1) + along(2) * along(2) <= reach * reach;
            counts[usize::from(touches(&(i as u32)))] += 1;
            wrong += usize::from(is_near != touches(&(i as u32)));
        }
    }
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    assert!(wrong > 0, "f64 is never wrong");
}

#[test]
fn queries_with_spheres_that_exceed_a_binding_run_in_parts() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 22, ..Gpu::required_limits() };
    let boxes: Vec<Aabb> = (0..100).map(|i| Aabb::new([i as f32, 0.0, 0.0], [i as f32 + 0.5, 1.0, 1.0])).collect();
    let near = |x: f32| [x + 0.25, 0.5, 0.5, 0.5];
    let filters = Filters::default().with_sphere((0..100).map(|i| near(i as f32)).collect());
    let mut tree = Tree::new(&device_with(limits)).unwrap();
    let mut on_cpu = cpu::Tree::new();
    tree.set_filters(filters.clone()).unwrap();
    on_cpu.set_filters(filters).unwrap();
    tree.build(&boxes).unwrap();
    on_cpu.build(&boxes).unwrap();
    // A ray has seven u32 and its filters nine: 120,000 of them exceed four MiB, and so do the other queries before.
    let rays = vec![Ray::new([-1.0, 0.5, 0.5], [1.0, 0.0, 0.0]); 120_000];
    let ignore = QueryFilters::default().with_ignore((0..rays.len()).map(|i| i as u32 % 3).collect());
    let sphere = (0..rays.len()).map(|i| near((i % 100) as f32)).collect();
    for of_queries in [ignore.clone(), ignore.with_sphere(sphere)] {
        let batch = Batch::new(&rays).with_filters(&of_queries);
        let hits = tree.nearest_hits(batch).unwrap();
        assert_eq!(hits.answers, on_cpu.nearest_hits(batch).unwrap().answers);
        assert_ne!(hits.iter().any(|hit| hit.index > 3), of_queries.sphere.is_empty());
    }
}

#[test]
fn a_query_without_a_sphere_is_not_limited() {
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 2];
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_sphere(vec![[50.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 1.0]])).unwrap();
    tree.build(&boxes).unwrap();
    let point = [[0.5; 3]];
    assert_eq!(tree.overlaps(&point).unwrap().answers, [0, 1]);
    let touched = |tree: &Both, sphere| {
        let filters = QueryFilters::default().with_sphere(vec![sphere]);
        tree.overlaps(Batch::new(&point).with_filters(&filters)).unwrap().answers
    };
    assert_eq!(touched(&tree, [0.0, 0.0, 0.0, f32::INFINITY]), [0, 1]);
    assert_eq!(touched(&tree, [48.0, 0.0, 0.0, 1.0]), [0]);
    assert_eq!(touched(&tree, [0.5, 0.5, 2.5, 1.0]), [1]);
    assert_eq!(touched(&tree, [0.5, 0.5, 1.5, -0.0]), [1]);
    // A box without a sphere meets every sphere.
    tree.set_filters(Filters::default()).unwrap();
    tree.build(&boxes).unwrap();
    assert_eq!(touched(&tree, [48.0, 0.0, 0.0, 0.0]), [0, 1]);
}

#[test]
fn a_margin_pads_the_sphere_that_a_query_meets_and_changes_hold_at_once() {
    let boxes = [Aabb::new([0.0; 3], [1.0; 3])];
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_sphere(vec![[0.0, 0.0, 0.0, 1.0]]).with_margin(vec![0.5])).unwrap();
    tree.build(&boxes).unwrap();
    let is_met = |tree: &Both, x: f32| {
        let filters = QueryFilters::default().with_sphere(vec![[x, 0.0, 0.0, 2.0]]);
        tree.any_hits(Batch::new(&[Ray::new([0.5; 3], [1.0; 3])]).with_filters(&filters)).unwrap()[0]
    };
    assert!(is_met(&tree, 3.5) && !is_met(&tree, 3.5f32.next_up()));
    tree.change_filters(0, Attribute::Sphere(&[[10.0, 0.0, 0.0, 1.0]])).unwrap();
    assert!(is_met(&tree, 13.5) && !is_met(&tree, 3.5));
    tree.change_filters(0, Attribute::Margin(&[0.0])).unwrap();
    tree.build(&boxes).unwrap();
    assert!(is_met(&tree, 13.0) && !is_met(&tree, 13.5));
}

#[test]
fn a_half_space_meets_the_queries_whose_sphere_it_touches() {
    let mut tree = Both::new();
    let floor = HalfSpace { index: 1, normal: [0.0, 0.0, 2.0], offset: 0.0 };
    // Its own sphere does not matter.
    let spheres = vec![[0.0, 0.0, 9.0, 1.0]; 2];
    tree.set_filters(Filters::default().with_half_spaces(vec![floor]).with_sphere(spheres)).unwrap();
    tree.build(&[EVERYWHERE; 2]).unwrap();
    let of_queries = QueryFilters::default().with_sphere(vec![
        [5.0, 5.0, 3.0, 3.0],
        [5.0, 5.0, 3.0f32.next_up(), 3.0],
        [0.0, 0.0, 5.0, 5.0],
    ]);
    let down = [Ray::new([0.0, 0.0, 4.0], [0.0, 0.0, -1.0]); 3];
    let hits = tree.all_hits(Batch::new(&down).with_filters(&of_queries)).unwrap();
    let indices: Vec<Vec<u32>> = hits.iter().map(|row| row.iter().map(|hit| hit.index).collect()).collect();
    assert_eq!(indices, [vec![1], vec![], vec![0, 1]]);
}

#[test]
fn spheres_that_do_not_fit_the_queries_are_refused() {
    let mut tree = Both::new();
    tree.build(&[EVERYWHERE]).unwrap();
    let refused = |spheres: Vec<[f32; 4]>| {
        let filters = QueryFilters::default().with_sphere(spheres);
        tree.overlaps(Batch::new(&[[0.0; 3]; 2]).with_filters(&filters)).unwrap_err()
    };
    let good = [0.0, 0.0, 0.0, f32::INFINITY];
    assert_eq!(refused(vec![good]), Error::QueryFilterLength { list: "sphere", length: 1, query_count: 2 });
    for bad in [[f32::NAN, 0.0, 0.0, 1.0], [0.0, f32::INFINITY, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0]] {
        let error = refused(vec![good, bad]);
        assert!(matches!(error, Error::BadFilter { list: "query_filters.sphere", index: Some(1), .. }), "{error}");
        assert!(error.to_string().contains("the centre must be finite"), "{error}");
    }
}

/// Spheres about some boxes: every fifth box has none.
fn around(boxes: &[Aabb]) -> Vec<[f32; 4]> {
    let sphere = |(i, aabb): (usize, &Aabb)| {
        let [x, y, z] = [0, 1, 2].map(|k| (aabb.min[k] + aabb.max[k]) * 0.5);
        [x, y, z, if i % 5 == 0 { f32::INFINITY } else { (aabb.max[0] - aabb.min[0]) * 0.5 }]
    };
    boxes.iter().enumerate().map(sphere).collect()
}

/// Movers, static boxes, and the pairs of both that an engine finds by their spheres.
fn two_sets() -> ([Vec<Aabb>; 2], Vec<Pair>) {
    let [movers, statics] = [3, 4].map(|seed| laboratory::scenes::Kind::Uniform.generate(900, seed));
    let mut engine = cpu::BroadPhase::new(Options::default().with_order(PairOrder::Canonical)).unwrap();
    engine.set_filters(Filters::default().with_sphere([around(&movers), around(&statics)].concat())).unwrap();
    let pairs = engine.find_pairs_between(&movers, &statics).unwrap().pairs.to_vec();
    engine.set_filters(Filters::default()).unwrap();
    let all = engine.find_pairs_between(&movers, &statics).unwrap().pairs.len();
    assert!(pairs.len() > 100 && pairs.len() + 100 < all, "{} of {all}", pairs.len());
    ([movers, statics], pairs)
}

#[test]
fn boxes_that_query_with_their_spheres_have_the_pairs_of_a_join() {
    let ([movers, statics], pairs) = two_sets();
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_sphere(around(&statics))).unwrap();
    tree.build(&statics).unwrap();
    let filters = QueryFilters::default().with_sphere(around(&movers));
    let found = tree.overlaps(Batch::new(&movers).with_filters(&filters)).unwrap();
    let found: Vec<Pair> = (0..).zip(&found).flat_map(|(a, row)| row.iter().map(move |&b| Pair { a, b })).collect();
    assert_eq!(found, pairs);
    // The plan of the memory knows spheres.
    let load = QueryLoad::new(Question::Overlaps, movers.len()).with_answers(pairs.len() as u64).with_spheres();
    let plan = tree.gpu.borrow().query_memory_plan(&load);
    let bytes = plan.buffers().iter().find(|(name, _)| *name == "query_filters").map(|(_, bytes)| *bytes);
    assert_eq!(bytes, Some(36 * movers.len() as u64));
}

#[test]
fn recorded_movers_have_the_pairs_of_a_join_by_their_spheres() {
    let ([movers, statics], pairs) = two_sets();
    let mut recorder = TreeRecorder::new(&GPU).unwrap();
    recorder.tree_mut().set_filters(Filters::default().with_sphere(around(&statics))).unwrap();
    recorder.tree_mut().build(&statics).unwrap();
    let mut spheres = around(&movers);
    // A sphere without a meaning has no points.
    for (i, bad) in
        [[f32::NAN, 0.0, 0.0, f32::INFINITY], [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, f32::NAN]].into_iter().enumerate()
    {
        spheres[i] = bad;
    }
    let mut words = vec![u32::MAX; 5 * movers.len()];
    words.extend_from_slice(bytemuck::cast_slice(&spheres));
    let (queries, filters) = (upload(&movers), upload(&words));
    let batch = GpuBatch::<Aabb>::new(queries.slice(..), movers.len() as u32);
    let mut recorded = encoder();
    let batch = batch.with_filters_and_spheres(filters.slice(..));
    let left = recorder.record_overlap_events(&mut recorded, batch, 20_000, GpuIdentity::Index).unwrap();
    let found = Copied::first::<Pair>(&mut recorded, left.created.pairs, 20_000);
    let header = Copied::first::<PairHeader>(&mut recorded, left.created.header, 1);
    GPU.queue().submit([recorded.finish()]);
    let count = header.read::<PairHeader>()[0].written as usize;
    let expected: Vec<Pair> = pairs.into_iter().filter(|pair| pair.a > 2).collect();
    assert_eq!(found.read::<Pair>()[..count], expected);
    let short = batch.with_filters_and_spheres(filters.slice(..20 * movers.len() as u64));
    let refused = recorder.record_overlaps(&mut encoder(), short, 0, 9).unwrap_err();
    assert!(refused.to_string().contains("query filters and their spheres"), "{refused}");
}

#[test]
fn spheres_that_a_tree_shares_are_those_of_the_device() {
    let ([movers, statics], pairs) = two_sets();
    let filters = QueryFilters::default().with_sphere(around(&movers));
    let count = |tree: &mut Tree| tree.overlaps(Batch::new(&movers).with_filters(&filters)).unwrap().answers.len();
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(Filters::default().with_sphere(around(&statics))).unwrap();
    let mut tree = Tree::new(&GPU).unwrap();
    tree.share_filters(&mut broad_phase, statics.len()).unwrap();
    tree.build(&statics).unwrap();
    assert_eq!(count(&mut tree), pairs.len());
    // Far away from all but the movers without a sphere.
    broad_phase.change_filters(0, Attribute::Sphere(&[[900.0, 0.0, 0.0, 0.0]])).unwrap();
    let changed = tree.overlaps(Batch::new(&movers).with_filters(&filters)).unwrap_err();
    assert_eq!(changed, Error::FiltersChanged);
    tree.share_filters(&mut broad_phase, statics.len()).unwrap();
    assert_eq!(count(&mut tree), pairs.iter().filter(|pair| pair.b != 0 || pair.a % 5 == 0).count());
    // Spheres that the device alone knows serve too, beside a half-space.
    let mut recorder = Recorder::new(&GPU, Options::default()).unwrap();
    let floor = HalfSpace { index: 3, normal: [0.0, 0.0, 1.0], offset: -1e6 };
    let none = vec![[0.0, 0.0, 0.0, f32::INFINITY]; statics.len()];
    recorder.set_filters(Filters::default().with_sphere(none).with_half_spaces(vec![floor])).unwrap();
    let (given, mut encoder) = (upload(&around(&statics)), encoder());
    let all = 0..statics.len() as u32;
    recorder.record_filters(&mut encoder, all, GpuAttribute::Sphere(given.slice(..))).unwrap();
    GPU.queue().submit([encoder.finish()]);
    tree.share_filters(&mut recorder, statics.len()).unwrap();
    tree.build(&statics).unwrap();
    assert_eq!(count(&mut tree), pairs.iter().filter(|pair| pair.b != 3).count());
}
