//! Half-spaces among the boxes of a tree, on both engines, against integers of any length.

use broadsweep::filter::HalfSpace;
use broadsweep::query::{
    Batch, BoxCast, Capsule, Cast, Convex, Near, NearestQuery, OrientedBox, QueryFilters, Shape, Sphere, SphereCast,
};
use broadsweep::record::GpuBatch;
use broadsweep::{Aabb, Error, Filters, Hit, Ray, Tree, TreeRecorder, cpu};
use num_bigint::BigInt;

use super::both::Both;
use super::cases;
use super::filters::{meets, some_filters, spheres};
use super::numbers::{Like, Numbers};
use super::oracle::{self, Fraction, Moving, above, is_near_half_space, square_of_normal, whole};
use crate::common::GPU;
use crate::common::device::{encoder, upload};

fn row(half_space: &HalfSpace) -> [f32; 4] {
    let [x, y, z] = half_space.normal;
    [x, y, z, half_space.offset]
}

/// Returns when what moves first touches a half-space, and whether it does so at the start.
fn enter(half_space: &HalfSpace, cast: &impl Moving) -> Option<(Fraction, bool)> {
    let (low, high, direction, limit) = cast.parts();
    if oracle::reaches_into(&row(half_space), &Aabb { min: low, max: high }) {
        return Some((Fraction::of(0.0), true));
    }
    let corner: [f32; 3] = std::array::from_fn(|k| if half_space.normal[k] > 0.0 { low[k] } else { high[k] });
    if (0..3).any(|k| half_space.normal[k] != 0.0 && corner[k].is_infinite()) {
        return None;
    }
    let speed: BigInt = (0..3).map(|k| whole(half_space.normal[k]) * whole(direction[k])).sum();
    if speed >= BigInt::ZERO {
        return None;
    }
    let time = Fraction::new(above(half_space, corner), -speed);
    let is_in_time = limit.is_infinite() || time.compare(&Fraction::of(limit)).is_le();
    is_in_time.then_some((time, false))
}

/// Returns whether what moves does not go deeper into a half-space.
fn separates(half_space: &HalfSpace, cast: &impl Moving) -> bool {
    let (_, _, direction, _) = cast.parts();
    (0..3).map(|k| whole(half_space.normal[k]) * whole(direction[k])).sum::<BigInt>() >= BigInt::ZERO
}

/// Returns the square of the distance of a point.
fn square(half_space: &HalfSpace, point: [f32; 3]) -> Fraction {
    let above = above(half_space, point).max(BigInt::ZERO);
    Fraction::new(&above * &above, square_of_normal(half_space) << 298)
}

/// Sorts the answers and rounds their numbers down. Counts the neighbours in this order that only exact numbers can
/// order: their rounded numbers are equal, their indices descend, and one of them is a half-space.
fn ordered(mut found: Vec<(Fraction, u32)>, is_plane: impl Fn(u32) -> bool, ties: &mut usize) -> Vec<(f32, u32)> {
    found.sort_by(oracle::in_order);
    let all: Vec<(f32, u32)> = found.into_iter().map(|(number, index)| (number.rounded_down(), index)).collect();
    let is_tie = |pair: &&[(f32, u32)]| {
        pair[0].0 == pair[1].0 && pair[0].1 > pair[1].1 && (is_plane(pair[0].1) || is_plane(pair[1].1))
    };
    *ties += all.windows(2).filter(is_tie).count();
    all
}

/// A scene with half-spaces, and what queries of it say.
pub struct Scene {
    pub boxes: Vec<Aabb>,
    pub filters: Filters,
    pub of_queries: QueryFilters,
    pub tree: Both,
}

impl Scene {
    fn of(boxes: &[Aabb], like: Like, numbers: &mut Numbers, queries: usize) -> Self {
        let n = boxes.len();
        let (mut filters, mut of_queries) = (Filters::default(), QueryFilters::default());
        if numbers.below(2) == 0 {
            (filters, of_queries) = some_filters(numbers, n, queries);
        }
        of_queries.skips_separating = numbers.below(3) == 0;
        if numbers.below(3) == 0 {
            (filters.sphere, of_queries.sphere) =
                (spheres(numbers, boxes, like, n), spheres(numbers, boxes, like, queries));
        }
        let mut boxes = boxes.to_vec();
        for index in 0..n {
            if numbers.below(n as u64) < 3 {
                filters.half_spaces.push(half_space(index as u32, &boxes, like, numbers));
                // Its bounds do not matter.
                boxes[index] = [boxes[index], Aabb::new([f32::NAN; 3], [0.0; 3])][numbers.below(2) as usize];
            }
        }
        let mut tree = Both::new();
        tree.set_filters(filters.clone()).unwrap();
        let is_plane = |i: u32| filters.half_spaces.iter().any(|half_space| half_space.index == i);
        let invalid = (0..).zip(&boxes).filter(|(i, aabb)| !aabb.is_valid() && !is_plane(*i)).count();
        assert_eq!(tree.build(&boxes).unwrap().invalid_count as usize, invalid);
        Self { boxes, filters, of_queries, tree }
    }

    fn batch<'a, Q>(&'a self, queries: &'a [Q]) -> Batch<'a, Q> {
        Batch::new(queries).with_filters(&self.of_queries)
    }

    fn is_plane(&self, j: u32) -> bool {
        self.filters.half_spaces.iter().any(|half_space| half_space.index == j)
    }

    fn is_box(&self, i: usize, j: usize) -> bool {
        meets(&self.filters, &self.of_queries, i, j) && !self.is_plane(j as u32)
    }

    fn planes(&self, i: usize) -> impl Iterator<Item = &HalfSpace> {
        let meets = move |plane: &&HalfSpace| meets(&self.filters, &self.of_queries, i, plane.index as usize);
        self.filters.half_spaces.iter().filter(meets)
    }

    /// Checks all that casts can be asked, and counts the hits of half-spaces, and those that only exact numbers order.
    pub fn check_casts<C: Cast + Moving + std::fmt::Debug>(&self, casts: &[C], what: &str) -> [usize; 2] {
        let (tree, batch, skips) = (&self.tree, self.batch(casts), self.of_queries.skips_separating);
        let (nearest, any) = (tree.nearest_hits(batch).unwrap(), tree.any_hits(batch).unwrap());
        let (all, first) = (tree.all_hits(batch).unwrap(), tree.first_hits(batch, 3).unwrap());
        let (mut count, mut ties) = (0, 0);
        for (i, cast) in casts.iter().enumerate() {
            let what = format!("{what}, {cast:?}");
            let is_left_out = |aabb| oracle::touches_at_start(cast, aabb) && oracle::separates(cast, aabb);
            let is_hit = |j| self.is_box(i, j) && !(skips && is_left_out(&self.boxes[j]));
            let mut found = oracle::times(cast, &self.boxes, is_hit);
            let of_boxes = found.len();
            found.extend(self.planes(i).filter_map(|plane| {
                let (t, is_start) = enter(plane, cast)?;
                (!(skips && is_start && separates(plane, cast))).then_some((t, plane.index))
            }));
            count += found.len() - of_boxes;
            let found = ordered(found, |j| self.is_plane(j), &mut ties);
            let mut expected: Vec<Hit> = found.into_iter().map(|(t, index)| Hit { index, t }).collect();
            assert_eq!(nearest[i], expected.first().copied().unwrap_or(Hit::MISS), "{what}");
            assert_eq!(any[i], !expected.is_empty(), "{what}");
            assert_eq!(&first[i], &expected[..expected.len().min(3)], "{what}");
            expected.sort_by_key(|hit| hit.index);
            assert_eq!(&all[i], expected, "{what}");
        }
        assert_eq!(any.report.answer_count, any.answers.iter().filter(|&&any| any).count() as u64);
        assert_eq!(nearest.report.answer_count, any.report.answer_count);
        assert_eq!(all.report.answer_count, all.answers.len() as u64);
        [count, ties]
    }

    /// Checks what shapes touch, and counts the half-spaces among it.
    fn check_shapes<S: Shape + std::fmt::Debug>(
        &self,
        shapes: &[S],
        what: &str,
        touches_box: impl Fn(&S, &Aabb) -> bool,
        touches: impl Fn(&S, &HalfSpace) -> bool,
    ) -> usize {
        let found = self.tree.overlaps(self.batch(shapes)).unwrap();
        let mut count = 0;
        for (i, shape) in shapes.iter().enumerate() {
            let boxes = (0..self.boxes.len()).filter(|&j| self.is_box(i, j) && touches_box(shape, &self.boxes[j]));
            let mut expected: Vec<u32> = boxes.map(|j| j as u32).collect();
            let before = expected.len();
            expected.extend(self.planes(i).filter(|plane| touches(shape, plane)).map(|plane| plane.index));
            count += expected.len() - before;
            expected.sort_unstable();
            assert_eq!(&found[i], expected, "{what}, {shape:?}");
        }
        count
    }

    /// Checks the nearest answers of each point. Counts the half-spaces among them, and the neighbours that only exact
    /// numbers order.
    pub fn check_nearest(&self, points: &[NearestQuery], what: &str) -> [usize; 2] {
        let (mut count, mut ties) = (0, 0);
        let expected: Vec<Vec<Near>> = (0..points.len())
            .map(|i| {
                let query = &points[i];
                let mut found = oracle::squares(query, &self.boxes, |j| self.is_box(i, j));
                let of_boxes = found.len();
                let planes = self.planes(i).filter(|plane| is_near_half_space(plane, query.point, query.radius));
                found.extend(planes.map(|plane| (square(plane, query.point), plane.index)));
                count += found.len() - of_boxes;
                let found = ordered(found, |j| self.is_plane(j), &mut ties);
                found.into_iter().map(|(squared_distance, index)| Near { index, squared_distance }).collect()
            })
            .collect();
        for k in [1, 2, 4, 1000] {
            let found = self.tree.nearest(self.batch(points), k).unwrap();
            for (i, expected) in expected.iter().enumerate() {
                assert_eq!(&found[i], &expected[..expected.len().min(k)], "{what}, {k} of {:?}", points[i]);
            }
        }
        [count, ties]
    }
}

/// Makes a half-space, which often touches a corner of a box.
fn half_space(index: u32, boxes: &[Aabb], like: Like, numbers: &mut Numbers) -> HalfSpace {
    let mut normal: [f32; 3] = std::array::from_fn(|_| numbers.finite(like));
    let k = numbers.below(3) as usize;
    if numbers.below(4) == 0 || normal.iter().all(|&n| n == 0.0) {
        normal = [0.0; 3];
        normal[k] = [1.0, -1.0][numbers.below(2) as usize];
    }
    let point = numbers.origin(boxes, like);
    let offset = (0..3).map(|k| f64::from(normal[k]) * f64::from(point[k])).sum::<f64>() as f32;
    let is_other = numbers.below(3) == 0 || !offset.is_finite();
    HalfSpace { index, normal, offset: if is_other { numbers.finite(like) } else { offset } }
}

/// Returns whether a shape of rows of half-spaces is apart from another half-space by one that faces away from it.
fn is_apart(own: &[f32; 4], other: &HalfSpace) -> bool {
    let of_other = row(other);
    let faces_away = |k: usize| own[k] != 0.0 && (own[k] > 0.0) != (of_other[k] > 0.0) && of_other[k] != 0.0;
    let Some(k) = (0..3).find(|&k| faces_away(k)) else { return false };
    let product = |a: f32, b: f32| whole(a) * whole(b);
    let is_parallel = (0..3).all(|j| product(own[j], of_other[k]) == product(own[k], of_other[j]));
    is_parallel && product(own[3], of_other[k].abs()) + product(of_other[3], own[k].abs()) < BigInt::ZERO
}

/// Returns whether a turned box and a half-space have a point in common: the corner that lies deepest decides.
fn turned_touches(turned: &OrientedBox, half_space: &HalfSpace) -> bool {
    let vectors = turned.axes.map(|axis| axis.map(whole));
    let normal = half_space.normal.map(whole);
    let det = |a: &[BigInt; 3], b: &[BigInt; 3], c: &[BigInt; 3]| -> BigInt {
        (0..3).map(|k| &a[k] * (&b[(k + 1) % 3] * &c[(k + 2) % 3] - &b[(k + 2) % 3] * &c[(k + 1) % 3])).sum()
    };
    let size = |x: BigInt| if x < BigInt::ZERO { -x } else { x };
    let across = |i: usize| whole(turned.half[i]) * size(det(&normal, &vectors[(i + 1) % 3], &vectors[(i + 2) % 3]));
    let volume = size(det(&vectors[0], &vectors[1], &vectors[2]));
    above(half_space, turned.center) * volume <= (0..3).map(across).sum::<BigInt>() << 149
}

fn check(scenes: u64, queries: usize) {
    let (mut of_casts, mut of_shapes, mut of_points) = (0, 0, 0);
    cases::each(scenes, |what, like, boxes, numbers| {
        let scene = Scene::of(boxes, like, numbers, queries);
        let what = format!("{what}, {:?}, {:?}", scene.filters.half_spaces, scene.of_queries.skips_separating);
        let rays: Vec<Ray> = (0..queries).map(|_| numbers.ray(boxes, like)).collect();
        let casts: Vec<BoxCast> = (0..queries).map(|_| numbers.cast(boxes, like)).collect();
        of_casts += scene.check_casts(&rays, &what)[0] + scene.check_casts(&casts, &what)[0];
        let near: Vec<NearestQuery> = (0..queries).map(|_| numbers.nearest(boxes, like)).collect();
        of_points += scene.check_nearest(&near, &what)[0];
        let points: Vec<[f32; 3]> = near.iter().map(|near| near.point).collect();
        let at = |&point: &[f32; 3]| Aabb::new(point, point);
        of_shapes += scene.check_shapes(
            &points,
            &what,
            |point, aabb| at(point).overlaps(aabb),
            |point, plane| oracle::reaches_into(&row(plane), &at(point)),
        );
        let regions: Vec<Aabb> = (0..queries).map(|_| numbers.region(boxes, like)).collect();
        of_shapes += scene
            .check_shapes(&regions, &what, Aabb::overlaps, |region, plane| oracle::reaches_into(&row(plane), region));
        let spheres: Vec<Sphere> = (0..queries).map(|_| numbers.sphere(boxes, like)).collect();
        of_shapes += scene.check_shapes(&spheres, &what, oracle::touches, |sphere, plane| {
            is_near_half_space(plane, sphere.center, sphere.radius)
        });
    });
    let counts = [of_casts, of_shapes, of_points];
    assert!(counts.iter().all(|&count| count > queries * scenes as usize), "{counts:?}");
}

#[test]
fn a_few_queries_of_half_spaces_answer_what_exact_arithmetic_says() {
    check(4, 24);
}

#[test]
#[ignore = "long"]
fn queries_of_half_spaces_answer_what_exact_arithmetic_says() {
    check(16, 60);
}

/// Checks which half-spaces the shapes of a kind touch: all that `should` requires. Returns the counts of these and of
/// extra ones.
fn check_touched<S: Shape + std::fmt::Debug>(
    tree: &Both,
    shapes: &[S],
    half_spaces: &[HalfSpace],
    should: impl Fn(&S, &HalfSpace) -> bool,
) -> [usize; 2] {
    let found = tree.overlaps(shapes).unwrap();
    let mut counts = [0; 2];
    for (i, shape) in shapes.iter().enumerate() {
        for plane in half_spaces {
            let (is_found, should) = (found[i].contains(&plane.index), should(shape, plane));
            assert!(is_found || !should, "{shape:?} misses {plane:?}");
            counts[0] += usize::from(should);
            counts[1] += usize::from(is_found && !should);
        }
    }
    counts
}

#[test]
fn capsules_turned_boxes_and_convex_shapes_touch_the_half_spaces_that_they_should() {
    let mut all = [[0; 2]; 3];
    for (like, seed) in Like::ALL.into_iter().zip(1..) {
        let numbers = &mut Numbers::new(seed);
        let boxes = numbers.boxes(20, Like::Whole);
        let planes: Vec<HalfSpace> = (0..20).map(|i| half_space(i, &boxes, like, numbers)).collect();
        let mut tree = Both::new();
        tree.set_filters(Filters::default().with_half_spaces(planes.clone())).unwrap();
        tree.build(&boxes).unwrap();
        let capsules: Vec<Capsule> = (0..60)
            .map(|_| {
                let (from, to) = (numbers.origin(&boxes, like), numbers.origin(&boxes, like));
                Capsule { from, to, radius: numbers.finite(like).abs() }
            })
            .collect();
        let of_capsules = check_touched(&tree, &capsules, &planes, |capsule, plane| {
            [capsule.from, capsule.to].iter().any(|&end| is_near_half_space(plane, end, capsule.radius))
        });
        let turned = |capsule: &Capsule| OrientedBox {
            center: capsule.from,
            half: [capsule.radius, 1.0, 0.5],
            axes: cases::TURNED,
        };
        let turned: Vec<OrientedBox> = capsules.iter().map(turned).collect();
        let of_turned = check_touched(&tree, &turned, &planes, turned_touches);
        // Oriented boxes whose axes lie in a plane touch all half-spaces.
        let flat: Vec<OrientedBox> =
            turned.iter().map(|turned| OrientedBox { axes: [cases::TURNED[0]; 3], ..*turned }).collect();
        check_touched(&tree, &flat, &planes, |_, _| true);
        let rows: Vec<[[f32; 4]; 3]> = (0..60)
            .map(|i| {
                let against = planes[i % 20].normal.map(|n| -n);
                let others = [(); 2].map(|()| row(&half_space(0, &boxes, like, numbers)));
                [[against[0], against[1], against[2], numbers.finite(like)], others[0], others[1]]
            })
            .collect();
        let convex: Vec<Convex> =
            rows.iter().zip(0..).map(|(rows, i)| Convex { half_spaces: &rows[..i % 4] }).collect();
        let of_convex = check_touched(&tree, &convex, &planes, |convex, plane| {
            !convex.half_spaces.iter().any(|own| is_apart(own, plane))
        });
        assert_eq!((of_capsules[1], of_convex[1]), (0, 0), "{like:?}");
        for (sum, own) in all.iter_mut().zip([of_capsules, of_turned, of_convex]) {
            *sum = [sum[0] + own[0], sum[1] + own[1]];
        }
    }
    // Turned boxes touch few too many, and some shapes are apart.
    assert!(all.iter().all(|&[touched, _]| (1_000..5 * 60 * 20 - 30).contains(&touched)), "{all:?}");
    assert!(50 * all[1][1] < all[1][0], "{all:?}");
}

#[test]
fn a_ray_hits_a_tilted_floor_between_two_boxes() {
    let boxes = [
        Aabb::new([5.0, -1.0, -1.0], [6.0, 1.0, 1.0]),
        Aabb::new([f32::NAN; 3], [0.0; 3]),
        Aabb::new([1.0, -1.0, -1.0], [2.0, 1.0, 1.0]),
    ];
    let floor = HalfSpace { index: 1, normal: [-1.0, 0.0, 2.0], offset: -3.0 };
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_half_spaces(vec![floor])).unwrap();
    assert_eq!(tree.build(&boxes).unwrap().invalid_count, 0);
    let ray = [Ray::new([0.0; 3], [1.0, 0.0, 0.0])];
    let hit = |index, t| Hit { index, t };
    assert_eq!(&tree.first_hits(&ray, 9).unwrap()[0], [hit(2, 1.0), hit(1, 3.0), hit(0, 5.0)]);
    // A ball touches it later than its bounding box.
    let ball = [SphereCast { center: [0.0; 3], radius: 1.0, direction: [1.0, 0.0, 0.0], limit: 1.0 }];
    let hits = tree.all_hits(&ball).unwrap();
    let t = 3.0 - 5f64.sqrt();
    let early = t - f64::from(hits[0][0].t);
    assert!(hits[0][0].index == 1 && (0.0..1e-7).contains(&early), "{:?}", &hits[0]);
    assert_eq!(hits[0][1..], [hit(2, 0.0)]);
    // Other half-spaces of the same boxes hold at once; others need a build.
    let raised = HalfSpace { offset: -1.0, ..floor };
    tree.set_filters(Filters::default().with_half_spaces(vec![raised])).unwrap();
    assert_eq!(tree.nearest_hits(&ray).unwrap()[0], hit(1, 1.0));
    tree.set_filters(Filters::default()).unwrap();
    assert_eq!(tree.nearest_hits(&ray).unwrap_err(), Error::NotBuilt);
}

#[test]
fn half_spaces_come_and_go_with_a_refit_and_a_build() {
    let mut boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 40];
    boxes[7].min[0] = f32::NAN;
    boxes[9].min[0] = f32::NAN;
    let half_spaces = vec![HalfSpace { index: 9, normal: [0.0, 0.0, 1.0], offset: 0.0 }];
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_half_spaces(half_spaces).with_margin(vec![0.5; 40])).unwrap();
    for _ in 0..2 {
        let report = tree.build(&boxes).unwrap();
        assert_eq!((report.invalid_count, &report.first_invalid[..]), (1, &[7][..]));
        boxes[3].max[2] = f32::NAN;
        let report = tree.refit(&boxes).unwrap();
        assert_eq!((report.invalid_count, &report.first_invalid[..]), (2, &[3, 7][..]));
        assert_eq!(tree.overlaps(&[[9.0, 9.0, -1.0]]).unwrap().answers, [9]);
        boxes[3].max[2] = 1.0;
    }
    assert!(matches!(tree.build(&boxes[..9]).unwrap_err(), Error::FilterLength { .. } | Error::BadFilter { .. }));
}

#[test]
fn recorded_queries_refuse_half_spaces_and_shared_ones_are_answered() {
    use broadsweep::{BroadPhase, Options};
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([5.0; 3], [6.0; 3])];
    let half_spaces = vec![HalfSpace { index: 0, normal: [0.0, 0.0, 1.0], offset: 2.0 }];
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(Filters::default().with_half_spaces(half_spaces)).unwrap();
    broad_phase.find_pairs(&boxes).unwrap();
    let mut tree = Tree::new(&GPU).unwrap();
    tree.share_filters(&mut broad_phase, boxes.len()).unwrap();
    tree.build(&boxes).unwrap();
    let mut on_cpu = cpu::Tree::new();
    on_cpu.set_filters(broad_phase.filters().clone()).unwrap();
    on_cpu.build(&boxes).unwrap();
    let rays = [Ray::new([0.0, 0.0, 9.0], [0.0, 0.0, -1.0]), Ray::new([5.5, 5.5, 9.0], [0.0, 0.0, -1.0])];
    let hits = tree.all_hits(&rays).unwrap();
    assert_eq!(hits, on_cpu.all_hits(&rays).unwrap());
    assert_eq!(hits.answers, [Hit { index: 0, t: 7.0 }, Hit { index: 0, t: 7.0 }, Hit { index: 1, t: 3.0 }]);
    let (mut encoder, buffer) = (encoder(), upload(&rays));
    let batch = GpuBatch::<Ray>::new(buffer.slice(..), 2);
    let refused = TreeRecorder::from(tree).record_nearest_hits(&mut encoder, batch).unwrap_err();
    assert!(matches!(refused, Error::BadFilter { list: "half_spaces", .. }), "{refused}");
}
