//! Generated sequences of steps in which anything changes.

use std::ops::Range;

use broadsweep::filter::{Attribute, GroupRule, HalfSpace};
use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::{
    Aabb, BroadPhase, CellSize, Engine, Error, Events, Filters, Options, Pair, PairOrder, Recorder, Step, SweepAxis,
    cpu,
};

use crate::common::{Random, broad_phase, recorder};
use crate::oracle::{Frame, Oracle};
use crate::recorded::record;

/// The steps of a sequence.
const STEPS: usize = 20;

/// The number of kinds of filters that [`Sequence::refilter`] makes.
const KINDS: usize = 13;
/// All of them.
const ALL: [usize; KINDS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
/// A few combinations that together have all kinds. Included pairs and an owner region, which allow no change in place,
/// are separate.
const FEW: [&[usize]; 6] = [&[], &[0, 1, 4, 5, 7], &[2, 6, 12], &[3, 8, 10], &[9, 11], &ALL];

/// The filters of a sequence, drawn anew for each change.
#[derive(Clone, Copy, Debug)]
pub enum Drawn {
    /// So many, of any kinds.
    Any(usize),
    /// One of the [few](FEW) combinations.
    Few,
}

/// How the filters of a sequence are drawn: [`Drawn::any`] or [`Drawn::few`].
pub type Draw = fn(&mut Random) -> Drawn;

impl Drawn {
    /// Draws a number of filters of any kinds, or none.
    pub fn any(random: &mut Random) -> Self {
        Self::Any([0, 0, 1, 3, 8][random.below(5)])
    }

    /// Draws combinations, or none.
    pub fn few(random: &mut Random) -> Self {
        [Self::Any(0), Self::Few, Self::Few][random.below(3)]
    }

    fn is_none(self) -> bool {
        matches!(self, Self::Any(0))
    }

    /// Draws the kinds of the next filters.
    fn kinds(self, random: &mut Random) -> Vec<usize> {
        match self {
            Self::Any(count) => (0..count).map(|_| random.below(KINDS)).collect(),
            Self::Few => FEW[random.below(FEW.len())].to_vec(),
        }
    }
}

/// A sequence of steps that is being sequence.
struct Sequence {
    random: Random,
    frame: Frame,
    /// How far boxes go in a step.
    speed: f32,
    /// One in so many boxes moves.
    rarity: usize,
    has_generations: bool,
    /// The present filters.
    drawn: Drawn,
    /// Boxes that were taken away from the end, the last one first, and come back where they were.
    gone: Vec<Aabb>,
    /// The last change of one list of the filters, which can be set in an engine alone.
    changed: Option<(&'static str, usize, usize)>,
    /// One step in so many has other options; none if zero.
    options_every: usize,
}

fn some_box(random: &mut Random) -> Aabb {
    let mut at = || [0; 3].map(|_| (random.below(64) as f32) / 8.0);
    let min = at();
    let edges = at().map(|x| x / 4.0);
    let mut aabb = Aabb::new(min, [0, 1, 2].map(|k| min[k] + edges[k]));
    match random.below(40) {
        0 => aabb.min[random.below(3)] = f32::NAN,
        1 => std::mem::swap(&mut aabb.min, &mut aabb.max),
        2 => aabb.max[random.below(3)] = f32::INFINITY,
        3 => aabb = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
        4 => aabb.max = aabb.min,
        _ => {}
    }
    aabb
}

impl Sequence {
    /// Creates a sequence of at least so many boxes.
    fn new(seed: u64, least: usize, draw: Draw) -> Self {
        let mut random = Random(seed);
        let n = [0, 1, 2, 17, 40, 70, 100][random.below(7)].max(least);
        let boxes = (0..n).map(|_| some_box(&mut random)).collect();
        let speed = [0.0, 0.01, 0.05, 0.3, 20.0][random.below(5)];
        let rarity = [1, 1, 3, 30][random.below(4)];
        let has_generations = random.below(4) == 0;
        let drawn = draw(&mut random);
        let options_every = [0, 0, 2, 6][random.below(4)];
        let mut sequence = Self {
            random,
            frame: Frame::of(boxes),
            speed,
            rarity,
            has_generations,
            drawn,
            gone: Vec::new(),
            changed: None,
            options_every,
        };
        sequence.refilter();
        sequence
    }

    /// Puts new filters in place of all.
    fn refilter(&mut self) {
        let n = self.frame.boxes.len();
        let mut filters = Filters::default();
        let random = &mut self.random;
        filters.rule = [GroupRule::Any, GroupRule::Both][random.below(2)];
        for kind in self.drawn.kinds(random) {
            let words = |random: &mut Random, below: usize| (0..n).map(|_| random.below(below) as u32).collect();
            let bits = |random: &mut Random| (0..n).map(|_| random.below(3) == 0).collect();
            let pairs = |random: &mut Random| -> Vec<Pair> {
                let pair = |_| (n > 1).then(|| (random.below(n) as u32, random.below(n) as u32));
                (0..10).filter_map(pair).filter(|(a, b)| a != b).map(|(a, b)| Pair::new(a, b)).collect()
            };
            match kind {
                0 => filters.group = words(random, 8),
                1 => filters.mask = words(random, 8),
                2 => filters.body = words(random, 20),
                3 => filters.parent = words(random, 20),
                4 => filters.fixed = bits(random),
                5 => filters.sleeping = bits(random),
                6 => {
                    filters.world = words(random, 3);
                    for world in filters.world.iter_mut().filter(|world| **world == 2) {
                        *world = Filters::GLOBAL;
                    }
                }
                7 => filters.margin = (0..n).map(|_| random.below(3) as f32 / 4.0).collect(),
                8 => filters.exclude = pairs(random),
                9 => filters.include = pairs(random),
                10 => filters.second = bits(random),
                11 => {
                    let mut region = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
                    let k = random.below(3);
                    (region.min[k], region.max[k]) = (random.below(5) as f32, (4 + random.below(5)) as f32);
                    filters.owner = Some(region);
                }
                _ => {
                    let normal = [random.below(3) as f32 - 1.0, 1.0, random.below(3) as f32 - 1.0];
                    let index = random.below(n.max(1)) as u32;
                    if n > 0 {
                        filters.half_spaces = vec![HalfSpace { index, normal, offset: random.below(8) as f32 }];
                    }
                }
            }
        }
        self.frame.filters = filters;
    }

    /// Creates the next step. Returns whether the filters are others.
    fn advance(&mut self) -> bool {
        let mut is_refiltered = false;
        (self.frame.was, self.changed) = (None, None);
        for aabb in &mut self.frame.boxes {
            if self.random.below(self.rarity) == 0 {
                let way = [0; 3].map(|_| (self.random.unit() - 0.5) * self.speed);
                *aabb = Aabb::new([0, 1, 2].map(|k| aabb.min[k] + way[k]), [0, 1, 2].map(|k| aabb.max[k] + way[k]));
            }
        }
        let n = self.frame.boxes.len();
        if n > 0 && self.random.below(4) == 0 {
            // Teleports, and boxes that become invalid or valid.
            for _ in 0..self.random.below(4) {
                let i = self.random.below(n);
                self.frame.boxes[i] = some_box(&mut self.random);
            }
        }
        if self.random.below(6) == 0 {
            self.resize();
            // Filters by box would not fit; without any, an engine is not updated.
            is_refiltered = !self.drawn.is_none();
        } else if self.random.below(8) == 0 {
            self.rename();
            is_refiltered = !self.drawn.is_none();
        } else if self.random.below(12) == 0 {
            is_refiltered = true;
        } else if self.random.below(4) == 0 {
            self.change_one_list();
        }
        if is_refiltered {
            self.refilter();
        }
        let n = self.frame.boxes.len();
        self.frame.generations = self.has_generations.then(|| {
            let mut generations = self.frame.generations.take().unwrap_or_default();
            generations.resize(n, 0);
            for generation in &mut generations {
                *generation += u32::from(self.random.below(20) == 0);
            }
            generations
        });
        if self.frame.was.is_some() {
            self.frame.generations = None;
        }
        is_refiltered
    }

    /// Adds boxes at the end, or takes some away.
    fn resize(&mut self) {
        let n = self.frame.boxes.len();
        if self.random.below(2) == 0 {
            for _ in 0..self.random.below(n / 4 + 1) {
                self.gone.extend(self.frame.boxes.pop());
            }
        } else {
            for _ in 0..self.random.below(10) {
                let back = if self.random.below(2) == 0 { self.gone.pop() } else { None };
                self.frame.boxes.push(back.unwrap_or_else(|| some_box(&mut self.random)));
            }
        }
    }

    /// Puts the boxes in another order, without some, and with new ones among them.
    fn rename(&mut self) {
        let n = self.frame.boxes.len() as u32;
        let mut was: Vec<u32> = (0..n).filter(|_| self.random.below(10) > 0).collect();
        if self.random.below(2) == 0 {
            for i in (1..was.len()).rev() {
                was.swap(i, self.random.below(i + 1));
            }
        }
        for _ in 0..self.random.below(4) {
            was.insert(self.random.below(was.len() + 1), Step::NEW);
        }
        self.frame.boxes = was
            .iter()
            .map(|&was| match was {
                Step::NEW => some_box(&mut self.random),
                was => self.frame.boxes[was as usize],
            })
            .collect();
        self.frame.was = Some(was);
    }

    /// Changes some values of one list that there is.
    fn change_one_list(&mut self) {
        let n = self.frame.boxes.len();
        if n == 0 {
            return;
        }
        let first = self.random.below(n);
        let count = self.random.below(n - first) + 1;
        let Filters { group, mask, body, parent, fixed, sleeping, second, world, margin, .. } = &mut self.frame.filters;
        let lists: [(&'static str, bool); 9] = [
            ("group", group.is_empty()),
            ("mask", mask.is_empty()),
            ("body", body.is_empty()),
            ("parent", parent.is_empty()),
            ("second", second.is_empty()),
            ("fixed", fixed.is_empty()),
            ("sleeping", sleeping.is_empty()),
            ("world", world.is_empty()),
            ("margin", margin.is_empty()),
        ];
        let start = self.random.below(9);
        let Some(&(name, _)) = lists.iter().cycle().skip(start).take(9).find(|(_, is_empty)| !is_empty) else {
            return;
        };
        for i in first..first + count {
            match name {
                "group" => group[i] = self.random.below(8) as u32,
                "mask" => mask[i] = self.random.below(8) as u32,
                "body" => body[i] = self.random.below(20) as u32,
                "parent" => parent[i] = self.random.below(20) as u32,
                "second" => second[i] = self.random.below(2) == 0,
                "fixed" => fixed[i] = self.random.below(2) == 0,
                "sleeping" => sleeping[i] = self.random.below(2) == 0,
                "world" => world[i] = [0, 1, 7, 8, Filters::GLOBAL][self.random.below(5)],
                _ => margin[i] = self.random.below(3) as f32 / 4.0,
            }
        }
        self.changed = Some((name, first, count));
    }

    /// Changes the options of an engine that started with `base`. A list in canonical order stays in this order, since
    /// not all calls allow another.
    fn change_options(&mut self, engine: &mut impl Stepped, base: &Options) -> bool {
        if self.options_every == 0 || self.random.below(self.options_every) > 0 {
            return false;
        }
        let random = &mut self.random;
        let axes = [SweepAxis::Auto, SweepAxis::Principal, SweepAxis::X, SweepAxis::Y, SweepAxis::Z];
        let sizes = [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(0.5), CellSize::Fixed(40.0)];
        let options = (*base)
            .with_axis(axes[random.below(5)])
            .with_cell_size(sizes[random.below(4)])
            .with_all_pairs_up_to([base.all_pairs_up_to, Some(0), Some(30)][random.below(3)])
            .with_step_margin([None, None, Some(0.2), Some(3.0)][random.below(4)])
            // Not where events are recorded, which a smaller budget forgets.
            .with_memory_budget(if base.order == PairOrder::Sweep {
                [None, Some(64 << 20)][random.below(2)]
            } else {
                None
            })
            .with_order([base.order, PairOrder::Canonical][random.below(2)]);
        engine.set_options(options).unwrap();
        true
    }

    /// Sets the filters in an engine.
    fn apply_filters(&self, engine: &mut impl Stepped, is_refiltered: bool) {
        let filters = &self.frame.filters;
        if is_refiltered {
            engine.set_filters(filters.clone()).unwrap();
        } else if let Some((name, first, count)) = self.changed {
            let of = first..first + count;
            let values = match name {
                "group" => Attribute::Group(&filters.group[of]),
                "mask" => Attribute::Mask(&filters.mask[of]),
                "body" => Attribute::Body(&filters.body[of]),
                "parent" => Attribute::Parent(&filters.parent[of]),
                "second" => Attribute::Second(&filters.second[of]),
                "fixed" => Attribute::Fixed(&filters.fixed[of]),
                "sleeping" => Attribute::Sleeping(&filters.sleeping[of]),
                "world" => Attribute::World(&filters.world[of]),
                _ => Attribute::Margin(&filters.margin[of]),
            };
            engine.change_filters(first, values).unwrap();
        }
    }
}

/// Counts of what the steps of sequences did, so that a test can show that it tested something.
#[derive(Debug, Default)]
pub struct Seen {
    pub created: u64,
    pub lost: u64,
    pub persisting: u64,
    pub cached: u64,
    pub left_padding: u64,
    pub began: u64,
    pub edited: u64,
    pub other_options: u64,
}

fn run(engine: &mut (impl Engine + Stepped), seeds: Range<u64>, draw: Draw) -> Seen {
    let base = *engine.options();
    run_with(engine, base, seeds, 0, draw, |engine, _, step| engine.find_events(step).cloned())
}

/// Lists the boxes that differ from the last step, and some others, some of them twice. Of the boxes beyond the last
/// step, it lists none.
pub fn moved_since(last: &[Aabb], boxes: &[Aabb], random: &mut Random) -> Vec<u32> {
    let bits = |aabb: &Aabb| bytemuck::cast::<Aabb, [u32; 6]>(*aabb);
    let is_moved = |(_, (now, then)): &(u32, (&Aabb, &Aabb))| bits(now) != bits(then);
    let mut moved: Vec<u32> = (0..).zip(boxes.iter().zip(last)).filter(is_moved).map(|(i, _)| i).collect();
    for _ in 0..random.below(4) {
        if !boxes.is_empty() {
            moved.push(random.below(boxes.len()) as u32);
        }
        moved.extend(moved.first().copied());
    }
    let third = moved.len() / 3;
    moved.rotate_left(third);
    moved
}

/// The changes of a sequence, for engines and recorders.
pub trait Stepped {
    fn set_options(&mut self, options: Options) -> Result<(), Error>;
    fn set_filters(&mut self, filters: Filters) -> Result<(), Error>;
    fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error>;
    fn forget_steps(&mut self);
}

macro_rules! stepped {
    ($($engine:ty),*) => {$(
        impl Stepped for $engine {
            fn set_options(&mut self, options: Options) -> Result<(), Error> {
                self.set_options(options)
            }
            fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
                self.set_filters(filters)
            }
            fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
                self.change_filters(first, values)
            }
            fn forget_steps(&mut self) {
                self.forget_steps();
            }
        }
    )*};
}

stepped!(BroadPhase, Recorder, cpu::BroadPhase);

pub fn run_with<E: Stepped>(
    engine: &mut E,
    base: Options,
    seeds: Range<u64>,
    least: usize,
    draw: Draw,
    mut find: impl FnMut(&mut E, &Frame, Step) -> Result<Events, Error>,
) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        engine.forget_steps();
        engine.set_options(base).unwrap();
        engine.set_filters(Filters::default()).unwrap();
        let mut sequence = Sequence::new(seed, least, draw);
        let mut oracle = Oracle::default();
        let (mut last, mut random) = (Vec::new(), Random(seed));
        for number in 0..STEPS {
            let is_refiltered = number == 0 || sequence.advance();
            sequence.apply_filters(engine, is_refiltered);
            seen.other_options += u64::from(sequence.change_options(engine, &base));
            let step = sequence.frame.step();
            let changes_only = seed % 5 == 4 || seed % 5 == 3 && random.below(4) > 0;
            let step = if changes_only { step.changes_only() } else { step };
            let moved = moved_since(&last, &sequence.frame.boxes, &mut random);
            let step = if seed % 3 > 0 { step.moved(&moved) } else { step };
            last.clone_from(&sequence.frame.boxes);
            let events = find(engine, &sequence.frame, step).unwrap_or_else(|error| panic!("{seed}/{number}: {error}"));
            let what = format!("sequence {seed}, step {number}, {:?}", events.report);
            oracle.check(&sequence.frame, &events, &what);
            let report = &events.report;
            seen.created += report.created_count;
            seen.lost += report.lost_count;
            seen.persisting += events.persisting.len() as u64;
            seen.cached += u64::from(!report.work.searched);
            seen.left_padding += u64::from(report.work.left_padding_count);
            seen.began += u64::from(report.work.began_epoch);
            seen.edited += u64::from(report.work.edited);
        }
    }
    engine.set_options(base).unwrap();
    engine.set_filters(Filters::default()).unwrap();
    seen
}

#[test]
fn a_thousand_sequences_have_the_right_events_on_the_cpu() {
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    begin_epochs_from(&mut engine, 8);
    let seen = run(&mut engine, 0..1000, Drawn::any);
    println!("{seen:?}");
    let Seen { created, lost, persisting, cached, left_padding, began, edited, other_options } = seen;
    assert!(
        created.min(lost).min(persisting) > 100_000
            && cached > 2000
            && left_padding > 500
            && began > 500
            && edited > 50
    );
    assert!(other_options > 2000);
}

#[test]
fn sequences_that_are_swept_have_the_right_events_on_the_cpu() {
    let options = Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Sweep);
    let mut engine = cpu::BroadPhase::new(options).unwrap();
    begin_epochs_from(&mut engine, 1);
    run(&mut engine, 1000..1300, Drawn::any);
}

#[test]
fn sequences_have_the_right_events_on_the_gpu() {
    for (options, seeds) in [
        (Options::default(), 0..24),
        (Options::default().with_all_pairs_up_to(Some(0)), 24..27),
        (Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical), 27..30),
    ] {
        run(&mut *broad_phase(options), seeds, Drawn::few);
    }
}

/// Tests that take minutes on a software driver: `scripts/test.sh --long`.
mod at_length {
    use super::*;

    #[test]
    #[ignore = "takes minutes on a software driver"]
    fn a_thousand_sequences_have_the_right_events_on_the_gpu() {
        for (options, seeds) in [
            (Options::default(), 2000..2500),
            (Options::default().with_all_pairs_up_to(Some(0)), 2500..2600),
            (Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical), 2600..2700),
        ] {
            run(&mut *broad_phase(options), seeds, Drawn::any);
        }
        let few = Options::default().with_order(PairOrder::Canonical);
        run_with(&mut recorder(few), few, 2700..2900, 0, Drawn::any, |engine, frame, _| record(engine, frame));
        let swept = few.with_all_pairs_up_to(Some(0));
        run_with(&mut recorder(swept), swept, 2900..3000, 300, Drawn::any, |engine, frame, _| record(engine, frame));
        let find = |engine: &mut BroadPhase, _: &Frame, step: Step| engine.find_events(step).cloned();
        run_with(&mut *broad_phase(swept), swept, 3000..3050, 300, Drawn::any, find);
    }
}

#[test]
fn sequences_that_are_recorded_have_the_right_events() {
    let few = Options::default().with_order(PairOrder::Canonical);
    let swept = few.with_all_pairs_up_to(Some(0));
    for (options, seeds, least) in [(few, 0..12, 0), (swept, 320..326, 300)] {
        let mut engine = recorder(options);
        engine.reserve(400, 100_000).unwrap();
        let seen = run_with(&mut engine, options, seeds, least, Drawn::few, |engine, frame, _| record(engine, frame));
        assert!(seen.created.min(seen.lost).min(seen.persisting) > 100, "{seen:?}");
    }
}
