//! Bodies that come and go: a fountain of drops above a floor. Each drop is removed some time after it lands, and its
//! slot is reused. The program updates its contacts from begun and ended pairs alone, by handles; a double loop checks
//! them.
//! `cargo run --release --example spawn`

use std::collections::{HashMap, HashSet};

use broadsweep::step::{BoxFilter, Handle, Slots};
use broadsweep::{Aabb, Error, Options, cpu};

const DROP: u32 = 1;
const FLOOR: u32 = 2;
const STEPS: u32 = 300;

struct Drop {
    position: [f32; 3],
    speed: [f32; 3],
    age: u32,
}

fn main() -> Result<(), Error> {
    let mut engine = cpu::BroadPhase::new(Options::default())?; // BroadPhase::new(&gpu, …) has the same calls
    let mut slots = Slots::default();
    let floor = Aabb::new([-20.0, -20.0, -1.0], [20.0, 20.0, 0.0]);
    let floor = slots.insert(floor, BoxFilter::default().with_group(FLOOR).with_fixed(true))?;
    let (mut drops, mut contacts) = (HashMap::<Handle, Drop>::new(), HashSet::<[Handle; 2]>::new());
    let (mut began, mut ended) = (0, 0);
    for step in 0..STEPS {
        for number in 0..8 {
            let angle = (8 * step + number) as f32 * 2.4;
            let drop = Drop { position: [0.0, 0.0, 0.5], speed: [angle.cos(), angle.sin(), 6.0], age: 0 };
            let aabb = Aabb::from_center_half(drop.position, [0.1; 3]);
            drops.insert(slots.insert(aabb, BoxFilter::default().with_group(DROP))?, drop);
        }
        for (&handle, drop) in &mut drops {
            drop.speed[2] -= 9.81 / 60.0;
            (0..3).for_each(|k| drop.position[k] += drop.speed[k] / 60.0);
            if drop.position[2] <= 0.1 {
                // It rests, and meets the floor alone.
                (drop.position[2], drop.speed) = (0.1, [0.0; 3]);
                slots.set_filter(handle, BoxFilter::default().with_group(DROP).with_mask(FLOOR))?;
            }
            slots.set(handle, Aabb::from_center_half(drop.position, [0.1; 3]))?;
            drop.age += 1;
        }
        drops.retain(|&handle, drop| drop.age < 120 || slots.remove(handle).is_none());

        let events = slots.find_events(&mut engine)?;
        // Lost pairs first, by the handles of the last step: their slots may have other bodies now.
        for pair in &events.lost {
            let [Some(a), Some(b)] = [pair.a, pair.b].map(|index| slots.last_handle_of(index)) else { unreachable!() };
            ended += u32::from(contacts.remove(&[a, b]));
        }
        for pair in &events.created {
            let [Some(a), Some(b)] = [pair.a, pair.b].map(|index| slots.handle_of(index)) else { unreachable!() };
            began += u32::from(contacts.insert([a, b]));
        }
    }
    println!("{} drops in {} slots, {began} contacts began, {ended} ended", drops.len(), slots.boxes().len());

    // The same by a double loop over the bodies that are there.
    let bodies: Vec<(Handle, Aabb)> = slots.iter().map(|(handle, aabb)| (handle, *aabb)).collect();
    let group = |handle: Handle| slots.filter(handle).map_or(0, |filter| filter.group);
    let mask = |handle: Handle| slots.filter(handle).map_or(0, |filter| filter.mask);
    let meet = |a, b| group(a) & mask(b) != 0 || group(b) & mask(a) != 0;
    let mut expected = HashSet::new();
    for (i, &(a, box_a)) in bodies.iter().enumerate() {
        let others = bodies[i + 1..].iter().filter(|&&(b, box_b)| box_a.overlaps(&box_b) && meet(a, b));
        expected.extend(others.map(|&(b, _)| [a, b]));
    }
    assert!(contacts == expected && contacts.iter().any(|pair| pair.contains(&floor)));
    assert!(began > 1000 && began - ended == contacts.len() as u32);
    Ok(())
}
