//! Finds pairs and events on an engine that is chosen at run time. A double loop checks the lists, and the CPU engine
//! finds the same.
//!
//! `cargo run --example any_engine [gpu|cpu]`; without an argument, the engine that suits the machine.

use broadsweep::{Aabb, AnyEngine, BroadPhase, Engine, Error, Events, Gpu, Options, Pair, PairOrder, Step, cpu};

const OPTIONS: Options = Options::new().with_order(PairOrder::Canonical);

fn choose(wanted: Option<&str>) -> Result<AnyEngine, Error> {
    match wanted {
        Some("cpu") => Ok(cpu::BroadPhase::new(OPTIONS)?.into()),
        Some("gpu") => Ok(BroadPhase::new(&Gpu::headless()?, OPTIONS)?.into()),
        _ => AnyEngine::auto(OPTIONS),
    }
}

/// Boxes that go to and fro, each in a rhythm of its own.
fn scene(step: u32) -> Vec<Aabb> {
    let hash = |seed: u32| {
        let mixed = seed.wrapping_mul(0x9E37_79B9);
        ((mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B) >> 16) as f32 / 65536.0
    };
    let place = |seed: u32| 10.0 * hash(seed) + 0.3 * (3.0 * hash(seed + 9999) * step as f32).sin();
    let center = |i: u32| [0, 1, 2].map(|axis| place(3 * i + axis));
    (0..2000).map(|i| Aabb::from_center_half(center(i), [0.3; 3])).collect()
}

fn double_loop(boxes: &[Aabb]) -> Vec<Pair> {
    let all = (0..boxes.len()).flat_map(|a| (a + 1..boxes.len()).map(move |b| (a, b)));
    all.filter(|&(a, b)| boxes[a].overlaps(&boxes[b])).map(|(a, b)| Pair::new(a as u32, b as u32)).collect()
}

fn check(events: &Events, pairs: &[Pair], before: &[Pair]) {
    let without = |list: &[Pair], other: &[Pair]| -> Vec<Pair> {
        list.iter().filter(|pair| other.binary_search(pair).is_err()).copied().collect()
    };
    assert_eq!(events.pairs, pairs);
    assert_eq!(events.created, without(pairs, before));
    assert_eq!(events.lost, without(before, pairs));
    assert_eq!(events.persisting, without(pairs, &events.created));
    for (pair, place) in pairs.iter().zip(events.before.iter()) {
        assert_eq!(place, before.binary_search(pair).ok().map(|place| place as u64));
    }
}

fn main() -> Result<(), Error> {
    let wanted = std::env::args().nth(1);
    let mut engine = choose(wanted.as_deref())?;
    let mut cpu_engine = AnyEngine::from(cpu::BroadPhase::new(OPTIONS)?);
    println!("engine: {}", if engine.is_gpu() { "GPU" } else { "CPU" });
    let mut last_pairs = Vec::new();
    for step in 0..5 {
        let boxes = scene(step);
        let pairs = double_loop(&boxes);
        for engine in [&mut engine, &mut cpu_engine] {
            assert_eq!(engine.find_pairs(&boxes)?.pairs, pairs);
            check(engine.find_events(Step::from(&boxes))?, &pairs, &last_pairs);
        }
        assert_eq!(engine.events().before, cpu_engine.events().before);
        let events = engine.events();
        println!("step {step}: {} pairs, {} began, {} ended", pairs.len(), events.created.len(), events.lost.len());
        last_pairs = pairs;
    }
    Ok(())
}
