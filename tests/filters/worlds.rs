//! Many worlds in one place.

use broadsweep::filter::HalfSpace;
use broadsweep::internals::constants::GIANT_GROUP;
use broadsweep::{Aabb, Filters, Pair, cpu};
use laboratory::scenes::Kind;

use crate::common::{ALL_PAIRS, AXES, CANONICAL, GPU, Random, SWEEP, assert_pairs};
use crate::engines::{WAYS, assert_filtered, on_both};
use broadsweep::{BroadPhase, CellSize};

/// Creates `worlds` scenes of `n` boxes in one place, all with other boxes, each box of one world beside those of the
/// others.
fn in_one_place(kind: Kind, worlds: usize, n: usize) -> (Vec<Aabb>, Vec<u32>) {
    let scenes: Vec<Vec<Aabb>> = (0..worlds).map(|world| kind.generate(n, world as u64)).collect();
    let ids: Vec<u32> = (0..worlds as u32).map(|world| world.wrapping_mul(0x9e37_79b9)).collect();
    let places = (0..n).flat_map(|i| (0..worlds).map(move |world| (world, i)));
    places.map(|(world, i)| (scenes[world][i], ids[world])).unzip()
}

/// Returns what separate searches find, by the places of their boxes in the whole.
fn alone(boxes: &[Aabb], worlds: &[u32]) -> Vec<Pair> {
    let mut ids = worlds.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut pairs = Vec::new();
    for id in ids {
        let own: Vec<u32> = (0..boxes.len() as u32).filter(|&i| worlds[i as usize] == id).collect();
        let of_world: Vec<Aabb> = own.iter().map(|&i| boxes[i as usize]).collect();
        let found = crate::rule::find_pairs(&of_world, &Filters::default());
        pairs.extend(found.iter().map(|pair| Pair::new(own[pair.a as usize], own[pair.b as usize])));
    }
    pairs.sort_unstable();
    pairs
}

#[test]
fn worlds_in_one_place_are_as_if_each_were_alone() {
    for (kind, worlds, n) in [
        (Kind::Uniform, 200, 100),
        (Kind::Identical, 500, 7),
        (Kind::Clusters, 50, 100),
        (Kind::Touching, 64, 64),
        (Kind::Uniform, 5000, 2),
        (Kind::Infinite, 40, 50),
        (Kind::Denormal, 40, 50),
    ] {
        let (boxes, world) = in_one_place(kind, worlds, n);
        let expected = alone(&boxes, &world);
        on_both(CANONICAL, |engine| {
            engine.set_filters(Filters::default().with_world(world.clone())).unwrap();
            let found = engine.find_pairs(&boxes).unwrap().clone();
            assert_pairs(&found.pairs, &expected, &format!("{}, {kind}, {:?}", engine.name(), found.report));
        });
    }
}

/// Creates boxes of worlds on common ground: this many pieces of ground, in rows or in any order. Some are vast, and
/// one represents a half-space.
fn on_common_ground(pieces: usize, is_in_rows: bool) -> (Vec<Aabb>, Filters) {
    let (mut boxes, mut world) = in_one_place(Kind::Uniform, 40, 60);
    let all = boxes.iter().fold(boxes[0], |all, aabb| Aabb {
        min: std::array::from_fn(|k| all.min[k].min(aabb.min[k])),
        max: std::array::from_fn(|k| all.max[k].max(aabb.max[k])),
    });
    let side = pieces.isqrt().max(1);
    let edge = |k: usize| (all.max[k] - all.min[k]) / side as f32;
    let mut random = Random(pieces as u64);
    for piece in 0..pieces {
        let at = if is_in_rows { piece } else { random.below(side * side) };
        let low = [0, 1].map(|k| all.min[k] + edge(k) * [at % side, at / side][k] as f32);
        let mut ground = Aabb::new([low[0], low[1], all.min[2]], [low[0] + edge(0), low[1] + edge(1), all.max[2]]);
        if piece % 29 == 3 {
            ground.max[piece % 3] = f32::INFINITY;
        }
        // Among the others, so that pairs have either as the smaller index.
        let place = 31 * piece % boxes.len();
        boxes.insert(place, ground);
        world.insert(place, Filters::GLOBAL);
    }
    let index = world.iter().position(|world| *world == Filters::GLOBAL).unwrap_or(0) as u32;
    let half_spaces = vec![HalfSpace { index, normal: [0.6, 0.0, 0.8], offset: all.min[2] + 0.3 }];
    let group = (0..boxes.len() as u32).map(|i| 1 << (i % 3)).collect();
    (
        boxes,
        Filters::default()
            .with_world(world)
            .with_half_spaces(half_spaces)
            .with_group(group)
            .with_mask(vec![5; 2400 + pieces]),
    )
}

#[test]
#[ignore = "long"]
fn ground_that_worlds_have_in_common_is_exact_in_any_number_of_pieces() {
    for (number, pieces) in [1, 3, 4, 23, 24, 33, 65, 400, 700].into_iter().enumerate() {
        for is_in_rows in [true, false] {
            let (boxes, filters) = on_common_ground(pieces, is_in_rows);
            let alone = Filters::default().with_world(filters.world.clone());
            // Worlds alone in the one order, and all filters in the other, in turn.
            let ways = if number % 2 == 0 { [CANONICAL, SWEEP] } else { [SWEEP, CANONICAL] };
            for (filters, way) in [alone, filters].iter().zip(ways) {
                assert_filtered(&boxes, filters, &[way], &format!("{pieces} pieces, in rows: {is_in_rows}"));
            }
        }
    }
}

/// Creates boxes among unbounded giants: rods, plates, corners, all of space, and half-spaces in any direction. Some
/// half-spaces touch nothing.
fn among_endless(endless: usize, half_spaces: usize, is_filtered: bool) -> (Vec<Aabb>, Filters) {
    let mut boxes = Kind::Uniform.generate(1200, 5);
    boxes.extend(Kind::Invalid.generate(60, 7).into_iter().filter(|aabb| !aabb.is_valid()));
    let mut random = Random((97 * endless + half_spaces) as u64);
    let mut number = |low: f32, high: f32| low + (high - low) * random.below(1 << 20) as f32 / (1 << 20) as f32;
    for k in 0..endless {
        let min = [0; 3].map(|_| number(-1.0, 12.0));
        let mut giant = Aabb::new(min, min.map(|x| x + number(0.0, 0.5)));
        for axis in (0..3).filter(|axis| (k % 7 + 1) & (1 << axis) != 0) {
            giant.min[axis] = if k % 2 == 0 { f32::NEG_INFINITY } else { giant.min[axis] };
            giant.max[axis] = f32::INFINITY;
        }
        // Among the others, so that pairs have either as the smaller index.
        boxes.insert(37 * k % boxes.len(), giant);
    }
    let mut spaces = Vec::new();
    for k in 0..half_spaces {
        let normal = [number(-1.0, 1.0), number(-1.0, 1.0), if k % 7 == 0 { 0.0 } else { number(-1.0, 1.0) }];
        spaces.push(HalfSpace { index: 41 * k as u32 + 3, normal, offset: number(-20.0, 1.0) });
    }
    let mut filters = Filters::default().with_half_spaces(spaces);
    if is_filtered {
        filters.group = (0..boxes.len() as u32).map(|i| 1 << (i % 3)).collect();
        filters.mask = vec![5; boxes.len()];
        let endless = |aabb: &Aabb| aabb.min.iter().chain(&aabb.max).any(|bound| bound.is_infinite());
        let global = |(i, aabb): (usize, &Aabb)| endless(aabb) || i % 41 == 3 || i % 5 == 0;
        let world = |at: (usize, &Aabb)| if global(at) { Filters::GLOBAL } else { at.0 as u32 % 4 };
        filters.world = boxes.iter().enumerate().map(world).collect();
    }
    (boxes, filters)
}

#[test]
fn giants_without_an_end_are_exact_in_any_number() {
    for (endless, half_spaces) in [(3, 0), (4, 0), (15, 0), (16, 0), (0, 4), (0, 15), (0, 16), (9, 7), (70, 20)] {
        for is_filtered in [false, true] {
            let (boxes, filters) = among_endless(endless, half_spaces, is_filtered);
            let what = format!("{endless} and {half_spaces}, filtered: {is_filtered}");
            assert_filtered(&boxes, &filters, &[if is_filtered { CANONICAL } else { SWEEP }], &what);
        }
    }
}

#[test]
#[ignore = "long"]
fn many_giants_give_the_same_list_within_any_budget() {
    let (mut boxes, filters) = among_endless(600, 20, true);
    boxes.extend(Kind::Uniform.generate(9_000, 3));
    let more = |list: &[u32]| list.iter().copied().cycle().take(boxes.len()).collect::<Vec<_>>();
    let (world, group, mask) = (more(&filters.world), more(&filters.group), more(&filters.mask));
    for world in [Vec::new(), world] {
        let has_worlds = !world.is_empty();
        let filters = filters.clone().with_world(world).with_group(group.clone()).with_mask(mask.clone());
        let expected = {
            let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
            engine.set_filters(filters.clone()).unwrap();
            engine.find_pairs(&boxes).unwrap().clone()
        };
        assert!(expected.report.giant_count > GIANT_GROUP);
        for memory_budget in [None, Some(5 << 20)] {
            let mut engine = BroadPhase::new(&GPU, SWEEP.with_memory_budget(memory_budget)).unwrap();
            engine.set_filters(filters.clone()).unwrap();
            let mut pairs = engine.find_pairs(&boxes).unwrap().pairs.clone();
            assert!(engine.find_pairs(&boxes).unwrap().pairs == pairs, "{memory_budget:?}");
            pairs.sort_unstable();
            assert_pairs(&pairs, &expected.pairs, &format!("{memory_budget:?}, worlds: {has_worlds}"));
        }
    }
}

#[test]
fn giants_without_an_end_give_the_same_list_in_any_number_of_threads() {
    let found = |threads: usize, boxes: &[Aabb], filters: &Filters| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut engine = cpu::BroadPhase::new(SWEEP).unwrap();
            engine.set_filters(filters.clone()).unwrap();
            engine.find_pairs(boxes).unwrap().pairs.clone()
        })
    };
    let (boxes, filters) = among_endless(300, 35, true);
    let one = found(1, &boxes, &filters);
    assert!(one.len() > 1000);
    for threads in [2, 5] {
        assert!(found(threads, &boxes, &filters) == one, "{threads} threads");
    }
}

#[test]
fn common_ground_gives_the_same_list_in_any_number_of_threads_and_takes_little_memory_for_unwanted_pairs() {
    let (boxes, filters) = on_common_ground(400, false);
    let found = |threads: usize, boxes: &[Aabb], filters: &Filters| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut engine = cpu::BroadPhase::new(SWEEP).unwrap();
            engine.set_filters(filters.clone()).unwrap();
            let pairs = engine.find_pairs(boxes).unwrap().pairs.clone();
            (pairs, engine.memory_bytes())
        })
    };
    let one = found(1, &boxes, &filters).0;
    assert!(one.len() > 1000);
    for threads in [2, 5] {
        assert!(found(threads, &boxes, &filters).0 == one, "{threads} threads");
    }
    // All of them overlap, and all are fixed.
    let n = 6000;
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); n];
    let world = vec![Filters::GLOBAL; n - 1].into_iter().chain([3]).collect();
    let filters = Filters::default().with_world(world).with_fixed(vec![true; n]);
    let (pairs, bytes) = found(2, &boxes, &filters);
    assert!(pairs.is_empty() && bytes < 20 << 20, "{} pairs, {bytes} bytes", pairs.len());
}

#[test]
fn worlds_are_exact_on_every_axis_and_cell_size() {
    let (mut boxes, mut world) = in_one_place(Kind::Uniform, 20, 60);
    // A plane for each of half of the worlds, and one for all; boxes that are everywhere; two far from all others.
    let inf = f32::INFINITY;
    for id in (0..10).map(|i| world[i]).chain([Filters::GLOBAL]).collect::<Vec<u32>>() {
        boxes.extend([Aabb::new([-inf; 3], [inf, inf, 0.1]), Aabb::new([-1e30; 3], [1e30, 0.2, 1e30])]);
        world.extend([id; 2]);
    }
    boxes.extend([Aabb::new([1e7; 3], [1e7 + 1.0; 3]); 2]);
    world.extend([world[0], world[1]]);
    let filters = Filters::default().with_world(world);
    for axis in AXES {
        for cell_size in [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(1e-3), CellSize::Fixed(1e20)] {
            assert_filtered(
                &boxes,
                &filters,
                &[SWEEP.with_axis(axis).with_cell_size(cell_size)],
                &format!("{axis:?}, {cell_size:?}"),
            );
        }
    }
    assert_filtered(&boxes, &filters, &WAYS, "every way");
}

#[test]
fn a_global_box_meets_every_world_and_other_global_ones() {
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    for n in [3, 100, 700] {
        let boxes = vec![unit; n];
        for every in [2, 3, 7] {
            let world = |i: u32| if i.is_multiple_of(every) { Filters::GLOBAL } else { i };
            let filters = Filters::default().with_world((0..n as u32).map(world).collect());
            assert_filtered(&boxes, &filters, &[CANONICAL, ALL_PAIRS], &format!("every {every}th is global"));
        }
    }
}

#[test]
fn global_boxes_alone_are_searched_as_those_of_one_world() {
    let boxes = Kind::Uniform.generate(20_000, 1);
    let expected = broadsweep::cpu::find_pairs(&boxes, &CANONICAL).unwrap();
    on_both(CANONICAL, |engine| {
        engine.set_filters(Filters::default().with_world(vec![Filters::GLOBAL; boxes.len()])).unwrap();
        let found = engine.find_pairs(&boxes).unwrap().clone();
        assert_pairs(&found.pairs, &expected.pairs, engine.name());
        assert_eq!(found.report.giant_count, 0, "{}", engine.name());
        // One of them without an end is in all cells, too.
        let mut boxes = Kind::Uniform.generate(3000, 2);
        boxes[1000] = Aabb::new([f32::NEG_INFINITY; 3], [0.5, f32::INFINITY, f32::INFINITY]);
        boxes[2000] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
        let filters = Filters::default().with_world(vec![Filters::GLOBAL; boxes.len()]);
        engine.set_filters(filters.clone()).unwrap();
        assert_pairs(
            &engine.find_pairs(&boxes).unwrap().pairs,
            &crate::rule::find_pairs(&boxes, &filters),
            engine.name(),
        );
    });
}

#[test]
fn ids_next_to_each_other_and_far_apart_are_different_worlds() {
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    let mut random = Random(8);
    let ids: Vec<u32> = (0..32).map(|bit| 1 << bit).chain(0..64).chain(u32::MAX - 64..=u32::MAX).collect();
    let world: Vec<u32> = (0..1500).map(|_| ids[random.below(ids.len())]).collect();
    assert_filtered(&vec![unit; 1500], &Filters::default().with_world(world), &WAYS, "ids");
}

#[test]
fn worlds_are_hardly_tested_against_each_other() {
    let density = |candidates: u64, n: usize, pairs: usize| candidates as f64 / (n + pairs) as f64;
    for worlds in [16, 128, 1024] {
        let (boxes, world) = in_one_place(Kind::Uniform, worlds, 20_480 / worlds);
        on_both(SWEEP, |engine| {
            engine.set_filters(Filters::default().with_world(world.clone())).unwrap();
            let found = engine.find_pairs(&boxes).unwrap().clone();
            let density = density(found.report.candidate_count, boxes.len(), found.pairs.len());
            assert!(density < 6.0, "{}, {worlds} worlds: {density} candidates per (box + pair)", engine.name());
        });
    }
}
