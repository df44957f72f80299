//! A game level: who meets whom by groups and masks, level geometry that does not meet itself, crates that sleep, a
//! tilted floor, and margins for what is fast. `cargo run --release --example game`, on the CPU, which suits a level of
//! some thousand boxes; a GPU's `BroadPhase` has the same calls.

use broadsweep::filter::{Attribute, GroupRule, HalfSpace};
use broadsweep::{Aabb, Error, Filters, Options, Pair, cpu};

// Who one is.
const LEVEL: u32 = 1;
const PLAYER: u32 = 2;
const ENEMY: u32 = 4;
const BULLET: u32 = 8;
const CRATE: u32 = 16;
const TRIGGER: u32 = 32;

/// Whom one meets. A pair stays if both want it.
fn mask(group: u32) -> u32 {
    match group {
        LEVEL => PLAYER | ENEMY | BULLET | CRATE,
        PLAYER => LEVEL | ENEMY | CRATE | TRIGGER, // not the player's own bullets
        ENEMY => LEVEL | PLAYER | ENEMY | BULLET | CRATE,
        BULLET => LEVEL | ENEMY | CRATE,
        CRATE => LEVEL | PLAYER | ENEMY | BULLET | CRATE,
        TRIGGER => PLAYER,
        _ => 0,
    }
}

#[derive(Default)]
struct Level {
    boxes: Vec<Aabb>,
    speeds: Vec<[f32; 3]>,
    filters: Filters,
}

impl Level {
    fn add(&mut self, group: u32, centre: [f32; 3], half: [f32; 3], speed: [f32; 3]) -> u32 {
        let bounds = |sign: f32| std::array::from_fn(|k| centre[k] + sign * half[k]);
        self.boxes.push(Aabb::new(bounds(-1.0), bounds(1.0)));
        self.speeds.push(speed);
        self.filters.group.push(group);
        self.filters.mask.push(mask(group));
        self.filters.fixed.push(group == LEVEL);
        self.filters.sleeping.push(group == LEVEL || group == CRATE);
        // The way of one frame: a fast box is found before it has passed through a wall.
        let fastest = speed.iter().fold(0.0, |most: f32, v| most.max(v.abs()));
        self.filters.margin.push(fastest);
        self.boxes.len() as u32 - 1
    }

    fn step(&mut self) {
        for (aabb, speed) in self.boxes.iter_mut().zip(&self.speeds) {
            aabb.min = std::array::from_fn(|k| aabb.min[k] + speed[k]);
            aabb.max = std::array::from_fn(|k| aabb.max[k] + speed[k]);
        }
    }
}

fn level() -> Level {
    let mut level = Level { filters: Filters::default().with_rule(GroupRule::Both), ..Level::default() };
    // The floor falls by one in ten along x. A box would have to be as large as the level; this is exact.
    let floor = level.add(LEVEL, [0.0; 3], [0.0; 3], [0.0; 3]);
    level.filters.half_spaces.push(HalfSpace { index: floor, normal: [0.1, 0.0, 1.0], offset: 0.0 });
    let ground = |x: f32| -0.1 * x;
    // Walls, which touch each other all over the place: fixed boxes never pair.
    for i in 0..40 {
        let x = i as f32;
        for y in [-10.0, 10.0] {
            level.add(LEVEL, [x, y, ground(x) + 1.0], [0.5, 0.2, 1.5], [0.0; 3]);
        }
    }
    level.add(LEVEL, [40.0, 0.0, 0.0], [0.2, 10.0, 5.0], [0.0; 3]);
    // Stacks of crates, at rest.
    for i in 0..60 {
        let x = 5.0 + (i / 3 % 20) as f32 * 1.5;
        level.add(CRATE, [x, 4.0, ground(x) + 0.6 + (i % 3) as f32], [0.5; 3], [0.0; 3]);
    }
    level.add(PLAYER, [1.0, 0.0, 1.0], [0.3, 0.3, 0.9], [0.25, 0.0, -0.025]);
    for i in 0..10 {
        let x = 12.0 + 2.5 * i as f32;
        level.add(ENEMY, [x, (i % 3) as f32 - 1.0, ground(x) + 0.9], [0.3, 0.3, 0.9], [-0.05, 0.0, 0.005]);
    }
    // Bullets that fly two and a half metres a step.
    for i in 0..12 {
        level.add(BULLET, [1.5, 0.2 * i as f32 - 1.0, 1.0], [0.02; 3], [2.5, 0.0, -0.25]);
    }
    level.add(TRIGGER, [6.0, 0.0, 0.0], [1.0, 3.0, 3.0], [0.0; 3]);
    level
}

fn main() -> Result<(), Error> {
    let mut level = level();
    let group = level.filters.group.clone();
    let name = |i: u32| match group[i as usize] {
        LEVEL => "level",
        PLAYER => "player",
        ENEMY => "enemy",
        BULLET => "bullet",
        CRATE => "crate",
        _ => "trigger",
    };
    let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
    broad_phase.set_filters(level.filters.clone())?;
    for frame in 0..20 {
        let overlaps = broad_phase.find_pairs(&level.boxes)?.clone();
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for &Pair { a, b } in &overlaps.pairs {
            let kind = format!("{}-{}", name(a), name(b));
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
        // A crate in a pair wakes up, since the other box is awake. The engine gets only the flags of these crates.
        let mut woken = 0;
        for &Pair { a, b } in &overlaps.pairs {
            for i in [a, b] {
                if group[i as usize] == CRATE && broad_phase.filters().sleeping[i as usize] {
                    broad_phase.change_filters(i as usize, Attribute::Sleeping(&[false]))?;
                    woken += 1;
                }
            }
        }
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        println!("frame {frame:2}: {}; {woken} crates woke up", kinds.join(", "));
        level.step();
    }
    Ok(())
}
