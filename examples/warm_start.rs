//! Blocks fall onto each other. The solver of each step starts with the impulses of the last step (`Events::carry`).
//! Blocks are added, removed and reordered; names and a double loop check every step.
//!
//! `cargo run --example warm_start`

use broadsweep::{Aabb, Error, Events, Options, Pair, Step, cpu};
use std::collections::HashMap;

const TIME_STEP: f32 = 1.0 / 60.0;

struct Block {
    name: u32, // never used twice; 0 is the ground
    bounds: Aabb,
    speed: f32, // along z, upwards
    was: u32,   // its index in the last step, or Step::NEW
}

/// Pushes the blocks of each pair apart along z, first with the given impulses, then with better ones.
fn solve(blocks: &mut [Block], pairs: &[Pair], impulses: &mut [f32]) {
    for round in 0..=100 {
        for (pair, impulse) in pairs.iter().zip(&mut *impulses) {
            let [a, b] = blocks.get_disjoint_mut([pair.a as usize, pair.b as usize]).unwrap();
            let (lower, upper) = if a.bounds.min[2] < b.bounds.min[2] { (a, b) } else { (b, a) };
            let share = if lower.name == 0 { 0.0 } else { 1.0 }; // nothing pushes the ground
            let gap = (upper.bounds.min[2] - lower.bounds.max[2]).max(-0.005); // pushed out slowly
            let excess = upper.speed - lower.speed + gap / TIME_STEP; // negative: the gap closes within the step
            let better = if round == 0 { *impulse } else { (*impulse - excess / (1.0 + share)).max(0.0) };
            let push = if round == 0 { better } else { better - *impulse };
            (lower.speed, upper.speed, *impulse) = (lower.speed - push * share, upper.speed + push, better);
        }
    }
}

/// Compares a step with a double loop, and the impulses that it starts from with those of the last step by name.
fn check(events: &Events, blocks: &[Block], boxes: &[Aabb], impulses: &[f32], mut last: HashMap<[u32; 2], f32>) {
    let (mut pairs, mut created, mut persisting) = (vec![], vec![], vec![]);
    for (a, b) in (0..boxes.len()).flat_map(|a| (a + 1..boxes.len()).map(move |b| (a, b))) {
        if boxes[a].overlaps(&boxes[b]) {
            let pair = Pair::new(a as u32, b as u32);
            let impulse = last.remove(&names(blocks, pair));
            assert_eq!(impulses[pairs.len()], impulse.unwrap_or(0.0));
            if impulse.is_some() { &mut persisting } else { &mut created }.push(pair);
            pairs.push(pair);
        }
    }
    assert_eq!((&events.pairs, &events.created, &events.persisting), (&pairs, &created, &persisting));
    assert_eq!(events.lost.len(), last.len());
}

fn names(blocks: &[Block], pair: Pair) -> [u32; 2] {
    let (a, b) = (blocks[pair.a as usize].name, blocks[pair.b as usize].name);
    [a.min(b), a.max(b)]
}

fn main() -> Result<(), Error> {
    let ground = Aabb::new([-9.0, -9.0, -1.0], [9.0, 9.0, 0.0]);
    let mut blocks = vec![Block { name: 0, bounds: ground, speed: 0.0, was: Step::NEW }];
    let mut engine = cpu::BroadPhase::new(Options::default())?;
    // Of the last step; the names are for the check alone.
    let (mut impulses, mut by_name): (Vec<f32>, _) = (vec![], HashMap::new());
    for step in 1..=480u32 {
        if step % 8 == 0 {
            let (x, y) = ((step / 8 * 7 % 5) as f32 * 0.6, (step / 8 * 3 % 4) as f32 * 0.6);
            let bounds = Aabb::new([x, y, 9.0], [x + 1.0, y + 1.0, 9.5]);
            blocks.push(Block { name: step, bounds, speed: 0.0, was: Step::NEW });
        }
        let place = step as usize * 5 % blocks.len();
        if step % 30 == 0 && blocks[place].name != 0 {
            blocks.swap_remove(place);
        }
        if step % 50 == 0 {
            blocks.reverse();
        }
        blocks.iter_mut().filter(|block| block.name != 0).for_each(|block| block.speed -= 9.8 * TIME_STEP);

        // A box reaches as far down as its block would fall in this step.
        let mut boxes: Vec<Aabb> = blocks.iter().map(|block| block.bounds).collect();
        boxes.iter_mut().zip(&blocks).for_each(|(b, block)| b.min[2] += block.speed.min(0.0) * TIME_STEP);
        let was: Vec<u32> = blocks.iter().map(|block| block.was).collect();
        let events = engine.find_events(Step::new(&boxes).rebased(&was))?;
        (0..).zip(&mut blocks).for_each(|(index, block)| block.was = index);
        impulses = events.carry(&impulses, 0.0);

        check(events, &blocks, &boxes, &impulses, by_name);
        solve(&mut blocks, &events.pairs, &mut impulses);
        by_name = events.pairs.iter().map(|&pair| names(&blocks, pair)).zip(impulses.iter().copied()).collect();
        for block in &mut blocks {
            block.bounds.min[2] += block.speed * TIME_STEP;
            block.bounds.max[2] += block.speed * TIME_STEP;
        }
        if step % 60 == 0 {
            let [pairs, began, ended] = [events.pairs.len(), events.created.len(), events.lost.len()];
            println!("step {step}: {} blocks, {pairs} pairs, {began} began, {ended} ended", blocks.len() - 1);
        }
    }
    Ok(())
}
