//! Half-spaces come among the boxes of a tree by the exact number, where the rounded ones are equal.

use broadsweep::filter::HalfSpace;
use broadsweep::query::{BoxCast, NearestQuery, QueryFilters};
use broadsweep::{Aabb, Filters, Hit, Lists, Ray, TreeRecorder};

use super::both::Both;
use super::half_spaces::Scene;
use super::numbers::{Like, Numbers};
use super::oracle::{self, Moving};
use crate::common::GPU;
use crate::common::device::{encoder, upload};

/// Queries in worlds of their own. Each world has two boxes and two half-spaces; both half-spaces and one box are
/// almost equally far.
#[derive(Clone, Default)]
struct Ties {
    boxes: Vec<Aabb>,
    margin: Vec<f32>,
    half_spaces: Vec<HalfSpace>,
}

impl Ties {
    /// Makes the scene of these ties; boxes and margins have few bits, so that their sum is a number too.
    fn scene(self, skips_separating: bool) -> Scene {
        let Self { mut boxes, margin, half_spaces } = self;
        let world: Vec<u32> = (0..boxes.len() as u32).map(|i| i / 4).collect();
        let of_queries = QueryFilters::default().with_world((0..boxes.len() as u32 / 4).collect());
        let of_queries = of_queries.with_skips_separating(skips_separating);
        let filters = Filters::default().with_world(world).with_half_spaces(half_spaces).with_margin(margin.clone());
        let mut tree = Both::new();
        tree.set_filters(filters.clone()).unwrap();
        tree.build(&boxes).unwrap();
        for (aabb, margin) in boxes.iter_mut().zip(margin) {
            *aabb = Aabb::new(aabb.min.map(|x| x - margin), aabb.max.map(|x| x + margin));
        }
        Scene { boxes, filters, of_queries, tree }
    }

    /// Adds the world of a query. Both half-spaces and the box are at the same distance from a point: the offset of a
    /// half-space is `normal · point - far |normal|`. `far` returns this number for a normal.
    fn add(&mut self, numbers: &mut Numbers, [own, other]: [Aabb; 2], margin: f32, far: impl Fn([f64; 3]) -> f64) {
        let first = self.boxes.len() as u32;
        let turn = numbers.below(4) as u32;
        let at = |i: u32| first + (i + turn) % 4;
        self.boxes.extend([own; 4]);
        self.boxes[at(1) as usize] = other;
        self.margin.extend([margin; 4]);
        for index in [at(2), at(3)] {
            let size = scale(numbers);
            let normal = [(); 3].map(|()| numbers.finite(Like::Usual) * size);
            self.half_spaces.push(HalfSpace { index, normal, offset: far(normal.map(f64::from)) as f32 });
        }
    }
}

fn scale(numbers: &mut Numbers) -> f32 {
    [1.0, 1.0, 2f32.powi(-40), 2f32.powi(36)][numbers.below(4) as usize]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Returns a number of 12 bits, from −4 to 4.
fn short(numbers: &mut Numbers) -> f32 {
    numbers.below(1 << 12) as f32 / 512.0 - 4.0
}

fn short_box(numbers: &mut Numbers, size: f32) -> Aabb {
    Aabb::from_points([(); 2].map(|()| [(); 3].map(|()| size * short(numbers))))
}

/// Returns the offset of a half-space of a normal that is touched at the same time as a box, but for rounding.
fn touched_with<M: Moving>(cast: &M, aabb: &Aabb) -> impl Fn([f64; 3]) -> f64 + use<M> {
    let (low, high, direction, _) = cast.parts();
    let time = oracle::times(cast, &[*aabb], |_| true).first().map_or(1.0, |(time, _)| f64::from(time.rounded_down()));
    let deepest = move |k: usize, n: f64| f64::from(if n > 0.0 { low[k] } else { high[k] });
    move |normal| (0..3).map(|k| normal[k] * (deepest(k, normal[k]) + time * f64::from(direction[k]))).sum()
}

fn check_ties(queries: usize) {
    let numbers = &mut Numbers::new(9);
    // Of rays, moving boxes and points: half-spaces that are found, and those that only exact numbers order.
    let mut all = [[0; 2]; 3];
    let mut add = |kind: usize, found: [usize; 2]| all[kind] = [all[kind][0] + found[0], all[kind][1] + found[1]];
    for has_margin in [false, true] {
        let [mut along, mut across, mut around] = [(); 3].map(|()| Ties::default());
        let (mut rays, mut casts, mut points) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..queries {
            let size = scale(numbers);
            let margin = if has_margin { size * short(numbers).abs() / 8.0 } else { 0.0 };
            let [own, other] = [(); 2].map(|()| short_box(numbers, size));
            let padded = Aabb::new(own.min.map(|x| x - margin), own.max.map(|x| x + margin));
            let [origin, corner] = [(); 2].map(|()| [(); 3].map(|()| numbers.finite(Like::Usual) * size * 4.0));
            let speed = scale(numbers);
            let direction: [f32; 3] = std::array::from_fn(|k| {
                let to = own.min[k] + (own.max[k] - own.min[k]) * numbers.below(9) as f32 / 8.0;
                (to - origin[k]) / size * speed
            });
            let ray = Ray::new(origin, direction);
            along.add(numbers, [own, other], margin, touched_with(&ray, &padded));
            rays.push(ray);
            let corner: [f32; 3] = std::array::from_fn(|k| origin[k] + corner[k] / 16.0);
            let cast = BoxCast { aabb: Aabb::from_points([origin, corner]), direction, limit: f32::INFINITY };
            across.add(numbers, [own, other], margin, touched_with(&cast, &padded));
            casts.push(cast);
            let query = NearestQuery::new(origin);
            let square = oracle::squares(&query, &[padded], |_| true);
            let far = square.first().map_or(1.0, |(square, _)| f64::from(square.rounded_down()).sqrt());
            let from = origin.map(f64::from);
            around.add(numbers, [own, other], margin, |normal| dot(normal, from) - far * dot(normal, normal).sqrt());
            points.push(query);
        }
        for skips_separating in [true, false] {
            add(0, along.clone().scene(skips_separating).check_casts(&rays, "ties"));
            add(1, across.clone().scene(skips_separating).check_casts(&casts, "ties"));
        }
        add(2, around.scene(false).check_nearest(&points, "ties"));
    }
    assert!(all.iter().all(|&[_, ties]| ties > queries / 4), "{all:?}");
}

#[test]
fn half_spaces_come_among_boxes_by_the_exact_number_where_the_rounded_ones_are_equal() {
    check_ties(200);
}

#[test]
fn half_spaces_are_ordered_among_the_boxes_of_the_last_refit_that_ran() {
    // A third, and what is rounded down to the same number.
    let wall = 1.0 - f32::EPSILON / 2.0;
    let half_space = HalfSpace { index: 1, normal: [-1.0, 0.0, 0.0], offset: -wall };
    let [behind, beside] = [1.0, wall].map(|x| [Aabb::new([x, -1.0, -1.0], [2.0, 1.0, 1.0]); 2]);
    let rays = [Ray::new([0.0; 3], [3.0, 0.0, 0.0])];
    let mut tree = Both::new();
    tree.set_filters(Filters::default().with_half_spaces(vec![half_space])).unwrap();
    let indices = |lists: Lists<Hit>| lists.answers.iter().map(|hit| hit.index).collect::<Vec<_>>();
    tree.build(&behind).unwrap();
    let found = tree.first_hits(&rays, 2).unwrap();
    assert_eq!(found[0][0].t, found[0][1].t);
    assert_eq!(indices(found), [1, 0]);
    assert_eq!(tree.nearest_hits(&rays).unwrap()[0].index, 1);
    tree.refit(&beside).unwrap();
    assert_eq!(indices(tree.first_hits(&rays, 2).unwrap()), [0, 1]);
    let mut recorder = TreeRecorder::from(tree.gpu.into_inner());
    let (mut encoder, buffer) = (encoder(), upload(&behind));
    recorder.record_refit(&mut encoder, buffer.slice(..), 2).unwrap();
    assert_eq!(indices(recorder.tree_mut().first_hits(&rays, 2).unwrap()), [0, 1]);
    GPU.queue().submit([encoder.finish()]);
    assert_eq!(indices(recorder.tree_mut().first_hits(&rays, 2).unwrap()), [1, 0]);
}
