//! Robot learning: thousands of copies of one environment, all in the same place, in one call, with terrain that all of
//! them share. Some fall asleep, some begin anew, and only that is uploaded again.
//! `cargo run --release --example robots`, on the CPU where there is no GPU.

use std::time::Instant;

use broadsweep::filter::Attribute;
use broadsweep::{Aabb, BroadPhase, Engine, Error, Filters, Gpu, Options, cpu};

const WORLDS: u32 = 2048;
/// A trunk, four legs of two links each, and a ball to kick.
const BOXES: usize = 10;
const TRUNK: usize = 0;
const BALL: usize = 9;

/// The boxes of one robot, a step after it began, on a lane of its own making.
fn robot(world: u32, step: u32) -> [Aabb; BOXES] {
    let x = 0.02 * step as f32 * (1.0 + (world % 7) as f32 * 0.1);
    // All are above the ground for a while, then their feet are in it by less than a centimetre.
    let z = (0.1 - 0.02 * step as f32).max(-0.005);
    let around = |x: f32, y: f32, z: f32, half: [f32; 3]| {
        let centre = [x, y, z];
        Aabb::new(std::array::from_fn(|k| centre[k] - half[k]), std::array::from_fn(|k| centre[k] + half[k]))
    };
    std::array::from_fn(|i| match i {
        TRUNK => around(x, 0.0, z + 0.45, [0.3, 0.15, 0.08]),
        BALL => around(1.0, 0.0, 0.1, [0.1; 3]),
        leg => {
            let (side, front) = (if leg % 2 == 0 { 0.14 } else { -0.14 }, if leg % 4 < 2 { 0.22 } else { -0.22 });
            let height = if leg <= 4 { 0.3 } else { 0.1 }; // thighs, then shanks
            around(x + front, side, z + height, [0.05, 0.03, 0.11])
        }
    })
}

/// The statement of the boxes once: links that hang together never pair, worlds never meet, the terrain meets them all.
fn filters(ground: usize) -> Filters {
    let mut filters = Filters::default();
    for world in 0..WORLDS {
        let first = world * BOXES as u32;
        for i in 0..BOXES as u32 {
            filters.world.push(world);
            filters.body.push(first + i);
            filters.parent.push(match i as usize {
                TRUNK | BALL => Filters::NO_PARENT,
                1..=4 => first,     // a thigh hangs on the trunk
                _ => first + i - 4, // a shank on its thigh
            });
            filters.fixed.push(false);
            filters.sleeping.push(false);
        }
    }
    for i in 0..ground as u32 {
        filters.world.push(Filters::GLOBAL);
        filters.body.push(WORLDS * BOXES as u32 + i);
        filters.parent.push(Filters::NO_PARENT);
        filters.fixed.push(true);
        filters.sleeping.push(true); // so that what sleeps on it is not reported
    }
    filters
}

/// An engine on a GPU where there is one, and else on the CPU.
fn engine() -> Result<Box<dyn Engine>, Error> {
    Ok(match Gpu::headless() {
        Ok(gpu) => Box::new(BroadPhase::new(&gpu, Options::default())?),
        Err(Error::NoAdapter { .. }) => Box::new(cpu::BroadPhase::new(Options::default())?),
        Err(error) => return Err(error),
    })
}

fn main() -> Result<(), Error> {
    // The ground, and three steps of a stair.
    let inf = f32::INFINITY;
    let mut terrain = vec![Aabb::new([-inf; 3], [inf, inf, 0.0])];
    terrain.extend((0..3).map(|i| 1.5 + 0.3 * i as f32).map(|x| Aabb::new([x, -inf, 0.0], [inf, inf, x - 1.4])));
    let mut engine = engine()?;
    engine.set_filters(filters(terrain.len()))?;

    let mut began = vec![0; WORLDS as usize];
    for step in 0..60 {
        let mut boxes: Vec<Aabb> = (0..WORLDS).flat_map(|w| robot(w, step - began[w as usize])).collect();
        boxes.extend(&terrain);
        let start = Instant::now();
        engine.find_pairs(&boxes)?;
        let took = start.elapsed();
        let overlaps = engine.last_overlaps();
        let by_world = overlaps.by_world(engine.filters())?;
        if step % 10 == 0 {
            let (pairs, of_7) = (overlaps.report.pair_count, by_world.of(7).len());
            println!("step {step:2}: {pairs:6} pairs in {WORLDS} worlds, {of_7} of them in world 7, {took:.1?}");
        }
        if step == 20 {
            // The second half has learned enough for today.
            let rest = WORLDS as usize / 2 * BOXES;
            engine.change_filters(rest, Attribute::Sleeping(&vec![true; rest]))?;
        }
        if step == 40 {
            // A quarter of the others begins anew, and the sleepers wake up.
            began[..WORLDS as usize / 4].fill(step);
            engine.change_filters(0, Attribute::Sleeping(&vec![false; WORLDS as usize * BOXES]))?;
        }
    }
    Ok(())
}
