//! The generator of steps in which anything changes: boxes, their names, filters and options.

use std::ops::Range;

use broadsweep::filter::{Attribute, GroupRule, HalfSpace};
use broadsweep::{
    Aabb, BroadPhase, CellSize, Error, Filters, Options, Pair, PairOrder, Recorder, Step, SweepAxis, cpu,
};

use crate::common::Random;
use crate::oracle::Frame;

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
    /// This many filters, of any kinds.
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

/// A sequence of steps that is being generated.
pub struct Sequence {
    random: Random,
    pub frame: Frame,
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
    changed: Option<(&'static List, Range<usize>)>,
    /// One step in so many has other options; none if zero.
    options_every: usize,
}

/// A list of filters by box, of which single values change.
struct List {
    is_empty: fn(&Filters) -> bool,
    /// Draws the value of a box.
    redraw: fn(&mut Filters, usize, &mut Random),
    values: fn(&Filters, Range<usize>) -> Attribute<'_>,
}

macro_rules! lists {
    ($($list:ident $variant:ident $value:expr;)*) => {
        &[$(List {
            is_empty: |filters| filters.$list.is_empty(),
            redraw: |filters, i, random| filters.$list[i] = $value(random),
            values: |filters, range| Attribute::$variant(&filters.$list[range]),
        }),*]
    };
}

const LISTS: &[List] = lists! {
    group Group |random: &mut Random| random.below(8) as u32;
    mask Mask |random: &mut Random| random.below(8) as u32;
    body Body |random: &mut Random| random.below(20) as u32;
    parent Parent |random: &mut Random| random.below(20) as u32;
    second Second |random: &mut Random| random.below(2) == 0;
    fixed Fixed |random: &mut Random| random.below(2) == 0;
    sleeping Sleeping |random: &mut Random| random.below(2) == 0;
    world World |random: &mut Random| [0, 1, 7, 8, Filters::GLOBAL][random.below(5)];
    margin Margin |random: &mut Random| random.below(3) as f32 / 4.0;
};

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
    pub fn new(seed: u64, least: usize, draw: Draw) -> Self {
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
    pub fn advance(&mut self) -> bool {
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
        let start = self.random.below(LISTS.len());
        let filters = &mut self.frame.filters;
        let Some(list) = LISTS.iter().cycle().skip(start).take(LISTS.len()).find(|list| !(list.is_empty)(filters))
        else {
            return;
        };
        (first..first + count).for_each(|i| (list.redraw)(filters, i, &mut self.random));
        self.changed = Some((list, first..first + count));
    }

    /// Changes the options of an engine that started with `base`. A list in canonical order stays in this order, since
    /// not all calls allow another.
    pub fn change_options(&mut self, engine: &mut impl Stepped, base: &Options) -> bool {
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
    pub fn apply_filters(&self, engine: &mut impl Stepped, is_refiltered: bool) {
        let filters = &self.frame.filters;
        if is_refiltered {
            engine.set_filters(filters.clone()).unwrap();
        } else if let Some((list, range)) = &self.changed {
            engine.change_filters(range.start, (list.values)(filters, range.clone())).unwrap();
        }
    }
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
