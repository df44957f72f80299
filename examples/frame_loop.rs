//! A physics loop that does not wait for the GPU: while it computes the pairs of one frame, the CPU does other
//! work, and takes them in the next. `cargo run --release --example frame_loop`

use std::time::Instant;

use broadsweep::scenes::Kind;
use broadsweep::{BroadPhase, Error, Gpu, Options};

fn main() -> Result<(), Error> {
    let gpu = Gpu::headless()?;
    let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
    let mut boxes = Kind::Uniform.generate(20_000, 1);

    for frame in 0..10 {
        let start = Instant::now();
        broad_phase.submit(&boxes)?;
        let submitted = start.elapsed();
        let mut other_work = 0u64;
        let overlaps = loop {
            other_work += 1; // rendering, sound, the narrow phase of the frame before
            if let Some(overlaps) = broad_phase.try_take()? {
                break overlaps;
            }
            std::thread::yield_now();
        };
        println!(
            "frame {frame}: {} pairs after {:.1?}; submit took {submitted:.1?}, and other work had {other_work} turns",
            overlaps.report.pair_count,
            start.elapsed(),
        );
        for aabb in &mut boxes {
            aabb.min[1] -= 0.001;
            aabb.max[1] -= 0.001;
        }
    }
    Ok(())
}
