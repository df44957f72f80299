//! Time of a whole call (upload, search, pairs in host memory) per scene, number of boxes and engine.
//!
//! `cargo bench --bench broad_phase [-- [--runs R] [--csv FILE] [KIND:N ...]]`. Runs are interleaved, so that a
//! machine whose speed drifts treats all rows alike; the first of each row is not counted. Every row's pairs are
//! hashed, and those of all engines compared.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::Hasher;
use std::time::Instant;

use broadsweep::scenes::Kind;
use broadsweep::{Aabb, BroadPhase, Gpu, Options, Overlaps, Pair, cpu};

struct Row {
    scene: Kind,
    engine: &'static str,
    boxes: Vec<Aabb>,
    seconds: Vec<f64>,
    last: Option<Overlaps>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut runs = 5;
    let mut csv = None;
    let mut scenes = Vec::new();
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => runs = args.next().ok_or("--runs needs a number")?.parse()?,
            "--csv" => csv = Some(args.next().ok_or("--csv needs a file")?),
            scene => {
                let (kind, n) = scene.split_once(':').ok_or("a scene is KIND:N")?;
                scenes.push((kind.parse::<Kind>()?, n.parse::<usize>()?));
            }
        }
    }
    if scenes.is_empty() {
        let million = 1_000_000;
        scenes = vec![
            (Kind::Uniform, 10_000),
            (Kind::Uniform, 100_000),
            (Kind::Uniform, million),
            (Kind::Giant, million),
            (Kind::Spread, million),
            (Kind::Pile, million),
            (Kind::Diagonal, million),
        ];
    }

    let gpu = Gpu::headless()?;
    let info = gpu.adapter_info();
    println!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info);
    let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
    let mut rows: Vec<Row> = Vec::new();
    for (scene, n) in scenes {
        for engine in ["gpu", "cpu"] {
            rows.push(Row { scene, engine, boxes: scene.generate(n, 1), seconds: Vec::new(), last: None });
        }
    }
    for run in 0..=runs {
        for row in &mut rows {
            // A call with other boxes before has left the buffers large enough from the second round on.
            let start = Instant::now();
            let overlaps = match row.engine {
                "gpu" => broad_phase.find_pairs(&row.boxes)?,
                _ => cpu::find_pairs(&row.boxes, &Options::default())?,
            };
            let seconds = start.elapsed().as_secs_f64();
            if run > 0 {
                row.seconds.push(seconds);
            }
            row.last = Some(overlaps);
        }
    }

    let mut table =
        String::from("adapter,scene,boxes,engine,median_ms,min_ms,max_ms,entries,candidates,pairs,gpu_bytes,hash\n");
    for row in &mut rows {
        row.seconds.sort_by(f64::total_cmp);
        let Some(Overlaps { pairs, report }) = &mut row.last else { continue };
        let ms = |k: usize| row.seconds[k] * 1e3;
        let line = format!(
            "{},{},{},{},{:.2},{:.2},{:.2},{},{},{},{},{:016x}\n",
            info.name.replace(',', ";"),
            row.scene.name(),
            row.boxes.len(),
            row.engine,
            ms(row.seconds.len() / 2),
            ms(0),
            ms(row.seconds.len() - 1),
            report.entry_count,
            report.candidate_count,
            report.pair_count,
            report.gpu_bytes,
            hash(pairs)
        );
        table += &line;
    }
    print!("{table}");
    let hashes = |engine| rows.iter().filter(move |row| row.engine == engine).filter_map(|row| row.last.as_ref());
    if !hashes("gpu").zip(hashes("cpu")).all(|(gpu, cpu)| gpu.pairs == cpu.pairs) {
        return Err("the engines disagree".into());
    }
    if let Some(file) = csv {
        std::fs::write(file, table)?;
    }
    Ok(())
}

/// Of the pairs in canonical order, into which they are brought.
fn hash(pairs: &mut [Pair]) -> u64 {
    pairs.sort_unstable();
    let mut hasher = DefaultHasher::new();
    pairs.iter().for_each(|pair| hasher.write_u64(u64::from(pair.a) << 32 | u64::from(pair.b)));
    hasher.finish()
}
