//! A physics loop: contacts that begin, stay and end. The solver's data of a contact (here, the count of steps that it
//! has lasted) is found again in the next step without a search. Bodies that rest fall asleep, and contacts between
//! sleeping bodies are left out.
//! `cargo run --release --example contacts`

use broadsweep::filter::Attribute;
use broadsweep::{Aabb, Error, Filters, Options, cpu};

const BODIES: usize = 2000;
/// Seconds of a step.
const STEP: f32 = 1.0 / 60.0;

struct Body {
    center: [f32; 3],
    speed: [f32; 3],
    /// Steps for which it has not moved.
    at_rest: u32,
}

/// Numbers from 0 to 1 in any order.
fn unit(state: &mut u32) -> f32 {
    *state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    (*state >> 8) as f32 / (1 << 24) as f32
}

/// Bodies fall onto ground that rises by half along x, again and again, and slide until friction holds them.
fn step(bodies: &mut [Body]) {
    for body in bodies {
        let Body { center, speed, at_rest } = body;
        if *at_rest > 30 {
            continue;
        }
        speed[2] -= 9.81 * STEP;
        let floor = 0.5 * center[0].rem_euclid(1.0) + 0.5;
        let lands = center[2] + STEP * speed[2] <= floor;
        if lands {
            *speed = [0.8 * speed[0], 0.8 * speed[1], 0.0];
            center[2] = floor;
        }
        let is_slow = lands && speed[0].abs().max(speed[1].abs()) < 0.05;
        *at_rest = if is_slow { *at_rest + 1 } else { 0 };
        if is_slow {
            *speed = [0.0; 3];
        }
        (0..3).for_each(|k| center[k] += STEP * speed[k]);
    }
}

fn main() -> Result<(), Error> {
    let state = &mut 1;
    let mut bodies: Vec<Body> = (0..BODIES)
        .map(|_| Body {
            center: [30.0 * unit(state), 30.0 * unit(state), 1.0 + 20.0 * unit(state)],
            speed: [4.0 * unit(state) - 2.0, 4.0 * unit(state) - 2.0, 0.0],
            at_rest: 0,
        })
        .collect();
    let mut engine = cpu::BroadPhase::new(Options::default())?; // BroadPhase::new(&gpu, …) has the same calls
    engine.set_filters(Filters::default().with_sleeping(vec![false; BODIES]))?;
    // For how many steps each pair has lasted, beside the pairs of the last step.
    let mut ages: Vec<u32> = Vec::new();
    for number in 0..240 {
        step(&mut bodies);
        let sleeping: Vec<bool> = bodies.iter().map(|body| body.at_rest > 30).collect();
        engine.change_filters(0, Attribute::Sleeping(&sleeping))?;
        let boxes: Vec<Aabb> = bodies.iter().map(|body| Aabb::from_center_half(body.center, [0.5; 3])).collect();

        let events = engine.find_events(&boxes)?;
        // A persisting pair keeps its age at its new place; a created pair has age 0.
        let age = |place: Option<u64>| place.map_or(0, |place| ages[place as usize] + 1);
        ages = events.before.iter().map(age).collect();
        if number % 30 == 29 {
            println!(
                "step {:>3}: {:>4} asleep, {:>5} pairs: {:>3} began, {:>3} ended, {:>4} go on and are awake; the oldest has lasted \
                 {:>3} steps",
                number + 1,
                sleeping.iter().filter(|sleeps| **sleeps).count(),
                events.pairs.len(),
                events.created.len(),
                events.lost.len(),
                events.persisting.len(),
                ages.iter().max().unwrap_or(&0),
            );
        }
    }
    Ok(())
}
