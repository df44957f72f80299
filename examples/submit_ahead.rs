//! A physics loop in which GPU and CPU work at the same time: the next call is submitted before the pairs of this one
//! are used. `cargo run --release --example submit_ahead`

use std::time::Instant;

use broadsweep::{Aabb, BroadPhase, Error, Gpu, Options};

fn main() -> Result<(), Error> {
    let gpu = Gpu::headless()?;
    let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
    // Cubes that fill the unit cube evenly: multiples of three irrational numbers.
    let cube = |i: u32| {
        let at = [0.819_172_5, 0.671_043_6, 0.549_700_5].map(|step: f64| (f64::from(i) * step).fract() as f32);
        Aabb::new(at, at.map(|x| x + 0.04))
    };
    let mut boxes: Vec<Aabb> = (0..20_000).map(cube).collect();

    broad_phase.submissions().submit(&boxes)?;
    for step in 0..10 {
        let start = Instant::now();
        for aabb in &mut boxes {
            aabb.min[1] -= 0.001;
            aabb.max[1] -= 0.001;
        }
        // The GPU goes on with this while the CPU uses the pairs of the step before.
        match broad_phase.submissions().submit(&boxes) {
            Ok(()) | Err(Error::Busy) => {} // without room for two submissions, one at a time
            Err(error) => return Err(error),
        }
        let submitted = start.elapsed();
        let overlaps = loop {
            if let Some(overlaps) = broad_phase.submissions().try_take()? {
                break overlaps;
            }
            std::thread::yield_now(); // or other work: rendering, sound
        };
        println!(
            "step {step}: {} pairs after {:.1?}, of which submit took {submitted:.1?}",
            overlaps.report.pair_count,
            start.elapsed(),
        );
    }
    Ok(())
}
