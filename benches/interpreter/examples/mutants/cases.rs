//! Searches that mutants run in, beside those of the tests.

use broadsweep::device::SortVariant;
use broadsweep::filter::{GroupRule, HalfSpace};
use broadsweep::{Aabb, BroadPhase, CellSize, Error, Filters, Gpu, Options, Pair, PairOrder, SweepAxis};
use interpreter::Interpreter;
use laboratory::scenes::Kind;

use crate::filter_cases::{bound_and_margin, half_space_and_box};
use crate::inputs::filters;
use crate::numbers::{Like, Numbers};
use crate::searches::{Case, SWEEP, What, cases, device};
use crate::tree_queries::{self, QueriedFrom};

use SortVariant::{Portable, Subgroup};

/// A search, and the device that it runs on.
pub struct Search {
    pub name: &'static str,
    pub subgroup: usize,
    pub case: Case,
}

impl Search {
    /// Creates its device.
    pub fn device(&self) -> (Interpreter, Gpu) {
        device(self.subgroup, Some(self.case.variant))
    }
}

/// Every two boxes are tested.
const FEW: Options = SWEEP.with_all_pairs_up_to(Some(u32::MAX));
const IN_SWEEP_ORDER: Options = SWEEP.with_order(PairOrder::Sweep);

/// Lists the searches.
pub fn searches() -> Vec<Search> {
    const NAMES: [&str; 17] = [
        "uniform",
        "infinite",
        "few clusters",
        "steps",
        "clusters",
        "in many cells",
        "among rods",
        "on common ground",
        "few steps",
        "steps of few that move",
        "steps whose filters come from the device",
        "steps whose half-spaces come from the device",
        "levels of a tree",
        "a tree, queried on its device",
        "in pieces",
        "a tree of two workgroups",
        "a tree",
    ];
    let of_tests = NAMES.into_iter().zip(cases());
    let mut searches = Searches(Vec::new());
    of_tests.for_each(|(name, case)| searches.0.push(Search { name, subgroup: 8, case }));
    searches.of_every_kind();
    searches.of_edges();
    searches.in_pieces();
    searches.of_trees();
    // Quick searches come first: most mutants need no further search.
    searches.0.sort_by_key(|search| (search.case.options.memory_budget.is_some(), search.case.boxes.len()));
    searches.0
}

/// Searches that are listed one by one.
struct Searches(Vec<Search>);

impl Searches {
    fn add(
        &mut self,
        name: &'static str,
        subgroup: usize,
        options: Options,
        variant: SortVariant,
        boxes: Vec<Aabb>,
        filters: Filters,
    ) {
        let case = Case { options, boxes, filters, variant, what: What::Search };
        self.0.push(Search { name, subgroup, case });
    }

    /// Adds a search with the least memory that suffices.
    fn add_short(&mut self, name: &'static str, options: Options, boxes: Vec<Aabb>, filters: Filters) {
        let options = short(options, boxes.len(), &filters);
        let case = Case { options, boxes, filters, variant: Portable, what: What::Search };
        self.0.push(Search { name, subgroup: 8, case });
    }

    /// Adds scenes of many kinds, with filters, axes and cells of every kind.
    fn of_every_kind(&mut self) {
        let mut add = |name, subgroup, options, variant, boxes, filters| {
            self.add(name, subgroup, options, variant, boxes, filters);
        };
        let none = Filters::default;
        let principal = SWEEP.with_axis(SweepAxis::Principal);
        let fine = SWEEP.with_cell_size(CellSize::Fixed(0.003)).with_axis(SweepAxis::X);
        let finest = IN_SWEEP_ORDER.with_cell_size(CellSize::Fixed(0.0004)).with_axis(SweepAxis::Z);
        let coarse = SWEEP.with_cell_size(CellSize::Fixed(0.05)).with_axis(SweepAxis::Y);
        add("oblique", 32, principal, Subgroup, Kind::Plane.generate(1000, 2), filters(1000));
        add("a giant", 32, IN_SWEEP_ORDER, Portable, Kind::Giant.generate(8500, 2), none());
        add("giants", 8, SWEEP, Portable, Kind::ThousandGiants.generate(1500, 2), other_filters(1500));
        add("touching", 16, SWEEP, Portable, Kind::Touching.generate(1000, 2), included(1000));
        add("settled", 64, IN_SWEEP_ORDER, Subgroup, Kind::Settled.generate(2000, 2), other_filters(2000));
        add("invalid", 8, SWEEP, Subgroup, Kind::Invalid.generate(800, 2), filters(800));
        add("huge", 8, SWEEP, Subgroup, Kind::Huge.generate(800, 2), many_worlds(800));
        add("denormal", 8, SWEEP, Portable, Kind::Denormal.generate(500, 2), masks(500));
        add("signed zero", 8, SWEEP, Portable, Kind::SignedZero.generate(300, 2), filters(300));
        add("few signed zeros", 8, FEW, Portable, Kind::SignedZero.generate(514, 2), included(514));
        add("one", 8, SWEEP, Portable, Kind::Uniform.generate(1, 2), none());
        add("few apart", 8, FEW, Portable, Kind::Uniform.generate(2, 2), none());
        add("two clusters", 8, SWEEP, Portable, Kind::TwoClusters.generate(600, 2), many_worlds(600));
        add("few infinite", 8, FEW, Portable, Kind::Infinite.generate(900, 2), other_filters(900));
        add("fine cells", 8, fine, Portable, Kind::Uniform.generate(1500, 2), none());
        add("finest cells", 32, finest, Subgroup, Kind::Spread.generate(700, 2), many_worlds(700));
        add("coarse cells", 32, coarse, Subgroup, Kind::ManyClusters.generate(2000, 2), none());
        let usscd = SWEEP.with_cell_size(CellSize::Usscd);
        add("dense, cells of USSCD", 8, usscd, Portable, Kind::Pile.generate(700, 2), none());
        add("sparse, cells of USSCD", 8, usscd, Portable, Kind::Points.generate(500, 2), none());
        add("many", 32, SWEEP, Subgroup, Kind::Uniform.generate(9000, 2), none());
    }

    /// Adds limits: half-spaces and margins with numbers on which arithmetic goes wrong, among few boxes, as giants,
    /// and in worlds; lists that fill blocks and tiles; many tests.
    fn of_edges(&mut self) {
        let mut add = |name, subgroup, options, variant, boxes, filters| {
            self.add(name, subgroup, options, variant, boxes, filters);
        };
        let none = Filters::default;
        let column = SWEEP.with_cell_size(CellSize::Fixed(10.0)).with_axis(SweepAxis::Y);
        let (boxes, odd) = half_spaces(480);
        add("few half-spaces", 8, FEW, Portable, boxes.clone(), odd.clone());
        add("half-spaces", 8, SWEEP, Portable, boxes.clone(), odd.clone());
        let world = (0..480).map(|i| i / 2 % 3).collect();
        add("half-spaces of worlds", 8, SWEEP, Portable, boxes, odd.with_world(world));
        add("few in whole blocks", 8, FEW, Portable, Kind::Uniform.generate(512, 2), rare(512));
        add("entries in whole tiles", 8, column, Portable, Kind::Points.generate(4096, 2), none());
        add("slabs in whole tiles", 8, SWEEP, Portable, slabs(8192, 2000), bodies(8192));
        let (boxes, world) = worlds_apart(400);
        add("worlds apart", 8, SWEEP, Portable, boxes, none().with_world(world));
        let (mut boxes, world) = worlds_apart(300);
        boxes
            .iter_mut()
            .filter(|aabb| aabb.is_valid() && aabb.max.iter().all(|x| x.is_finite()))
            .for_each(|aabb| aabb.max = aabb.min);
        let tiny = SWEEP.with_cell_size(CellSize::Fixed(1e-7)).with_axis(SweepAxis::Z);
        add("worlds of many cells", 8, tiny, Portable, boxes, none().with_world(world));
        add("few invalid", 8, FEW, Portable, Kind::Invalid.generate(600, 2), none());
        add("smallest numbers", 8, SWEEP, Portable, smallest_numbers(400), none());
        let (boxes, margins) = margins(300);
        add("margins", 8, FEW, Portable, boxes, margins);
        let boxes = smallest_numbers(400);
        let owner = Some(Aabb::new(boxes[7].min, [f32::INFINITY, boxes[9].min[1], f32::INFINITY]));
        add("an owner region", 8, SWEEP, Portable, boxes, none().with_owner(owner));

        // Many tests: several blocks of tiles.
        add("many tests", 8, IN_SWEEP_ORDER, Portable, Kind::Identical.generate(1150, 2), rare(1150));
    }

    /// Adds trees that answer queries with numbers of every kind: with boxes that share these numbers, filters, and
    /// worlds without boxes; and trees with hardly any box.
    fn of_trees(&mut self) {
        const NAMES: [&str; 5] = [
            "a tree of whole numbers",
            "a tree of usual numbers",
            "a tree of any numbers",
            "a tree of infinite numbers",
            "a tree of half-open boxes",
        ];
        for (i, (name, like)) in NAMES.into_iter().zip(Like::ALL).enumerate() {
            let mut boxes = Numbers::new(i as u64 + 1).boxes(90, like);
            boxes[0].min[i % 3] = f32::NAN;
            let world = (0..90).map(|i| [0, 3, 3, 7, Filters::GLOBAL][i % 5]).collect();
            let filters = tree_queries::filters(90).with_world(world);
            self.add_tree(name, boxes, filters, like);
        }
        self.add_tree("a tree of nothing", vec![Aabb::new([1.0; 3], [0.0; 3]); 70], Filters::default(), Like::Any);
        self.add_tree("a tree of one", Numbers::new(9).boxes(1, Like::Usual), Filters::default(), Like::Usual);
    }

    fn add_tree(&mut self, name: &'static str, boxes: Vec<Aabb>, filters: Filters, like: Like) {
        let case =
            Case { options: SWEEP, boxes, filters, variant: Portable, what: What::Queries(QueriedFrom::Numbers(like)) };
        self.0.push(Search { name, subgroup: 8, case });
    }

    /// Adds lists in pieces, with more hits than are retained: in tiles of the sweep, in tiles of giants, and in the
    /// words of few boxes.
    fn in_pieces(&mut self) {
        let columns = SWEEP.with_cell_size(CellSize::Fixed(1.0)).with_axis(SweepAxis::X);
        let mut add_short = |name, options, boxes, filters| self.add_short(name, options, boxes, filters);
        let none = Filters::default;
        add_short("in pieces, filtered", SWEEP, Kind::Identical.generate(700, 2), other_filters(700));
        let of_both = other_filters(700).with_rule(GroupRule::Both);
        add_short("in pieces, groups of both", SWEEP, Kind::Identical.generate(700, 2), of_both);
        add_short("in pieces, included", SWEEP, Kind::Identical.generate(640, 2), included(640));
        add_short("in pieces, excluded", SWEEP, Kind::Identical.generate(640, 2), excluded(640, 7));
        // The half-space is in the last world, whose tiles are not retained.
        let mut all = filters(1000);
        all.half_spaces[0].index = 8;
        add_short("in pieces, all filters", SWEEP, Kind::Identical.generate(1000, 2), all);
        add_short("columns in pieces", columns, Kind::Uniform.generate(3000, 2), bodies(3000));
        add_short("short stretches in pieces", SWEEP, Kind::Uniform.generate(14_000, 2), rare(14_000));
        add_short("few in pieces", FEW, Kind::Identical.generate(300, 2), none());
        add_short("few in pieces, included", FEW, Kind::Identical.generate(300, 2), included(300));
        add_short("few in three blocks in pieces, included", FEW, Kind::Identical.generate(640, 2), included(640));
        add_short("giants at zero in pieces", SWEEP, slabs_at_zero(900, 25), none());
        add_short("giants in pieces, masks", SWEEP, slabs(1200, 30), masks(1200));
        add_short("giants in pieces, groups", SWEEP, slabs(900, 25), other_filters(900));
        add_short("giants in pieces, excluded", SWEEP, slabs(900, 25), excluded(900, 25));
        add_short("giants in pieces, both", SWEEP, slabs(900, 25), both(900));
        add_short("giants in whole tiles in pieces", SWEEP, slabs(8192, 450), both(8192));
        add_short("many boxes and giants in pieces", SWEEP, slabs(8300, 690), any_group(8300));
        add_short("clusters in pieces", IN_SWEEP_ORDER, Kind::Clusters.generate(6000, 2), bodies(6000));
        let (boxes, odd) = half_spaces(1200);
        let world = (0..1200).map(|i| i / 2 % 2).collect();
        add_short("half-spaces of worlds in pieces", SWEEP, boxes, odd.with_world(world));
    }
}

/// Returns options with the smallest budget that allows the search of these options.
fn short(options: Options, n: usize, filters: &Filters) -> Options {
    let (_, gpu) = device(8, None);
    let plan = |budget| {
        let mut broad_phase = BroadPhase::new(&gpu, options.with_memory_budget(Some(budget))).expect("options");
        broad_phase.set_filters(filters.clone()).expect("filters");
        broad_phase.memory_plan(n)
    };
    let mut budget = match plan(0) {
        Err(Error::OverBudget { required, .. }) => required,
        other => panic!("no memory at all should not be enough: {other:?}"),
    };
    while options.all_pairs_up_to != Some(0) && !plan(budget).expect("a plan").all_pairs {
        budget += 1024;
    }
    options.with_memory_budget(Some(budget))
}

/// Half-spaces of any direction, groups without masks, and bodies without parents.
fn other_filters(n: usize) -> Filters {
    let half_space = |index: usize| HalfSpace {
        index: index as u32,
        normal: [1.0 + index as f32, -0.7 * index as f32, 0.3],
        offset: 0.1 * index as f32 + 0.3,
    };
    // Also at the borders of the words of their bits.
    let mut indices: Vec<_> = (0..5).map(|k| k * n / 5).chain([31, 32, 33, 63, 64, 65]).filter(|_| n > 99).collect();
    indices.sort_unstable();
    indices.dedup();
    Filters::default()
        .with_group((0..n).map(|i| 1 << (i % 3)).collect())
        .with_body((0..n).map(|i| i as u32 / 2).collect())
        .with_fixed((0..n).map(|i| i % 4 == 1).collect())
        .with_half_spaces(indices.into_iter().map(half_space).collect())
}

/// Masks without groups.
fn masks(n: usize) -> Filters {
    Filters::default().with_mask((0..n).map(|i| (i as u32 % 5 / 2) << 31).collect())
}

/// Groups and masks that accept a pair if either direction does.
fn any_group(n: usize) -> Filters {
    Filters::default()
        .with_group((0..n).map(|i| 1 << (i % 5)).collect())
        .with_mask((0..n).map(|i| 1 << (i % 7)).collect())
        .with_rule(GroupRule::Any)
        .with_sleeping((0..n).map(|i| i % 3 != 0).collect())
        .with_second((0..n).map(|i| i % 4 == 0).collect())
}

/// Groups and masks that accept a pair only if both directions do. Few pairs satisfy this.
fn rare(n: usize) -> Filters {
    Filters::default()
        .with_group((0..n).map(|i| 1 << (i * 5 % 32)).collect())
        .with_mask((0..n).map(|i| 3 << (i * 3 % 31)).collect())
        .with_rule(GroupRule::Both)
}

/// Groups and masks that accept a pair only if both directions do.
fn both(n: usize) -> Filters {
    let Filters { group, mask, sleeping, second, .. } = filters(n);
    Filters::default()
        .with_group(group)
        .with_mask(mask)
        .with_sleeping(sleeping)
        .with_second(second)
        .with_rule(GroupRule::Both)
}

/// Parents without bodies.
fn bodies(n: usize) -> Filters {
    Filters::default().with_parent((0..n).map(|i| if i % 3 == 0 { i as u32 / 2 } else { Filters::NO_PARENT }).collect())
}

/// Pairs of neighbours that are included or excluded, in all rows of all tiles.
fn included(n: usize) -> Filters {
    let pair = |i: usize| Pair::new(i as u32, i as u32 + 1);
    Filters::default()
        .with_include((0..n - 1).filter(|i| i % 5 != 2).map(pair).collect())
        .with_exclude((0..n - 1).filter(|i| i % 5 == 2).map(pair).collect())
}

/// Excluded pairs: every nth box with others.
fn excluded(n: usize, every: usize) -> Filters {
    let others = |giant| (0..n).filter(move |i| i % 3 == 1 && i % every != 0).map(move |i| (giant, i));
    let exclude = (0..n).step_by(every).flat_map(others).map(|(a, b)| Pair::new(a as u32, b as u32)).collect();
    Filters::default().with_exclude(exclude)
}

/// Many worlds of few boxes, and half-spaces in some of them.
fn many_worlds(n: usize) -> Filters {
    let Filters { half_spaces, .. } = other_filters(n);
    Filters::default().with_world((0..n).map(|i| (i * 7 % 31) as u32).collect()).with_half_spaces(half_spaces)
}

/// Random bits: the generator of Steele, Lea and Flood 2014.
pub fn random() -> impl FnMut() -> u64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Half-spaces, each behind a box that it touches or nearly touches.
fn half_spaces(n: usize) -> (Vec<Aabb>, Filters) {
    let mut bits = random();
    let drawn = std::iter::repeat_with(|| half_space_and_box(&mut bits)).filter(|(half_space, aabb)| {
        let terms = (0..3).map(|k| {
            let corner = if half_space.normal[k] > 0.0 { aabb.min[k] } else { aabb.max[k] };
            f64::from(half_space.normal[k]) * f64::from(corner)
        });
        let terms: Vec<_> = terms.chain([-f64::from(half_space.offset)]).collect();
        let (sum, size): (f64, f64) = (terms.iter().sum(), terms.iter().map(|term| term.abs()).sum());
        // Next to the plane, or infinite.
        half_space.is_valid() && (!size.is_finite() || sum.abs() < 1e-9 * size)
    });
    let (mut boxes, mut half_spaces) = (Vec::new(), Vec::new());
    for (half_space, aabb) in carries().into_iter().chain(drawn).take(n / 2) {
        half_spaces.push(HalfSpace { index: boxes.len() as u32 + 1, ..half_space });
        boxes.extend([aabb; 2]);
    }
    (boxes, Filters::default().with_half_spaces(half_spaces))
}

/// Half-spaces and points with two products that cancel, except for a rest of every power. A third product cancels the
/// rest, almost cancels it, or exceeds it slightly.
fn carries() -> Vec<(HalfSpace, Aabb)> {
    let power = |k: i32| 2f32.powi(-k);
    let case = |(k, step): (i32, usize)| {
        // (1 + p) (1 - q) - (1 + p - q) + p q = 0.
        let (p, q) = (power(k / 2), power(k - k / 2));
        let rest = [p * q, (p * q).next_up(), (p * q).next_down()][step];
        let sign = if k % 4 < 2 { 1.0 } else { -1.0 };
        let (mut normal, mut point) = ([sign * (1.0 + p), -sign, sign], [1.0 - q, 1.0 + p - q, rest]);
        normal.rotate_left(k as usize % 3);
        point.rotate_left(k as usize % 3);
        (HalfSpace { index: 0, normal, offset: 0.0 }, Aabb::new(point, point))
    };
    (2..=46).flat_map(|k| [(k, 0), (k, 1), (k, 2)]).map(case).collect()
}

/// Boxes of any bounds, each with a margin that makes their sum difficult.
fn margins(n: usize) -> (Vec<Aabb>, Filters) {
    let mut bits = random();
    let drawn = (0..n).map(|_| bound_and_margin(&mut bits));
    // Limits, in all combinations.
    let ends = [0.0, f32::from_bits(1), f32::MIN_POSITIVE, f32::MIN_POSITIVE.next_down(), 1.0, f32::MAX];
    let bounds = ends.into_iter().chain([f32::INFINITY]).flat_map(|x| [x, -x]);
    let of_ends = bounds.flat_map(|bound| ends.map(|margin| (bound, margin)));
    let (bounds, margin): (Vec<_>, Vec<_>) = drawn.chain(of_ends).unzip();
    let n = bounds.len();
    let aabb = |(i, &x): (usize, &f32)| {
        let y = bounds[(i + 1) % n];
        Aabb::new([x, x.min(y), -x.abs()], [x, x.max(y), x.abs()])
    };
    (bounds.iter().enumerate().map(aabb).collect(), Filters::default().with_margin(margin))
}

/// Points. Every nth point is replaced by a slab without end along x and y.
fn slabs(n: usize, every: usize) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, 2);
    for (i, aabb) in boxes.iter_mut().enumerate() {
        aabb.max = aabb.min;
        if i % every == 0 {
            let low = (i / every) as f32 / (n / every) as f32;
            *aabb = Aabb::new([f32::NEG_INFINITY, f32::NEG_INFINITY, low], [f32::INFINITY, f32::INFINITY, low + 0.05]);
        }
    }
    boxes
}

/// Slabs and points of which most begin or end at zero, of either sign, or beside it.
fn slabs_at_zero(n: usize, every: usize) -> Vec<Aabb> {
    let numbers = [0.0, -0.0, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, -1.0];
    let mut boxes = slabs(n, every);
    for (i, aabb) in boxes.iter_mut().enumerate() {
        let number = numbers[i % 5];
        // Slabs end at z, points lie there.
        (aabb.min[2], aabb.max[2]) = if i % every == 0 { (number - 0.5, number) } else { (number, number) };
    }
    boxes
}

/// Boxes of eight worlds that are apart, some of them unbounded, or invalid with numbers within the others.
fn worlds_apart(n: usize) -> (Vec<Aabb>, Vec<u32>) {
    let mut boxes = Kind::Uniform.generate(n, 2);
    let world = boxes.iter().map(|aabb| (0..3).map(|k| u32::from(aabb.min[k] > 0.5) << k).sum()).collect();
    for (i, aabb) in boxes.iter_mut().enumerate().filter(|(i, _)| i % 7 == 0) {
        let k = i / 21 % 3;
        match i / 7 % 3 {
            0 => {
                // Its other bounds are in another world.
                *aabb = Aabb::new(aabb.max.map(|x| 1.0 - x), aabb.min.map(|x| 1.0 - x));
                (aabb.min[k], aabb.max[k]) =
                    if i % 2 == 0 { (-f32::NAN, aabb.max[k]) } else { (aabb.min[k], f32::NAN) };
            }
            1 => aabb.max[k] = f32::INFINITY,
            _ => (aabb.min[k], aabb.max[k]) = (aabb.max[k] + 1.0, aabb.min[k] - 1.0),
        }
    }
    (boxes, world)
}

/// Boxes that begin or end at the smallest normal number, or beside it.
fn smallest_numbers(n: usize) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, 2);
    let smallest = f32::MIN_POSITIVE;
    let numbers = [smallest, smallest.next_up(), smallest.next_down(), f32::from_bits(1), 0.0, -0.0];
    for (i, aabb) in boxes.iter_mut().enumerate().filter(|(i, _)| i % 4 != 3) {
        let (k, number) = (i / 4 % 3, numbers[i / 12 % 6]);
        match i % 4 {
            0 => aabb.min[k] = number,
            1 => (aabb.min[k], aabb.max[k]) = (-0.1, number),
            _ => (aabb.min[k], aabb.max[k]) = (-number, aabb.max[k] - aabb.min[k]),
        }
    }
    boxes
}
