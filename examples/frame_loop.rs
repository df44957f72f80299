//! A physics loop in which GPU and CPU work at the same time: the next frame is submitted before the pairs of this one
//! are used. `cargo run --release --example frame_loop`

use std::time::Instant;

use broadsweep::{BroadPhase, Error, Gpu, Options};
use laboratory::scenes::Kind;

fn main() -> Result<(), Error> {
    let gpu = Gpu::headless()?;
    let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
    let mut boxes = Kind::Uniform.generate(20_000, 1);

    broad_phase.submit(&boxes)?;
    for frame in 0..10 {
        let start = Instant::now();
        for aabb in &mut boxes {
            aabb.min[1] -= 0.001;
            aabb.max[1] -= 0.001;
        }
        // The GPU goes on with this while the CPU uses the pairs of the frame before.
        match broad_phase.submit(&boxes) {
            Ok(()) | Err(Error::Busy) => {} // without room for two frames, one at a time
            Err(error) => return Err(error),
        }
        let submitted = start.elapsed();
        let overlaps = loop {
            if let Some(overlaps) = broad_phase.try_take()? {
                break overlaps;
            }
            std::thread::yield_now(); // or other work: rendering, sound
        };
        println!(
            "frame {frame}: {} pairs after {:.1?}, of which submit took {submitted:.1?}",
            overlaps.report.pair_count,
            start.elapsed(),
        );
    }
    Ok(())
}
