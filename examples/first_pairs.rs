//! The shortest use: boxes in, pairs out. `cargo run --example first_pairs`

use broadsweep::{Aabb, BroadPhase, Error, Gpu, Options};

fn main() -> Result<(), Error> {
    let boxes = [
        Aabb::new([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
        Aabb::new([0.5, 0.5, 0.5], [2.0, 2.0, 2.0]),
        Aabb::new([2.0, 2.0, 2.0], [3.0, 3.0, 3.0]), // touches the second at a corner
    ];
    let gpu = Gpu::headless()?;
    let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
    for pair in &broad_phase.find_pairs(&boxes)?.pairs {
        println!("{} overlaps {}", pair.a, pair.b);
    }
    Ok(())
}
