//! Side by side with MuJoCo: every pair for which it has a contact is among the filtered pairs.
//!
//! The tests read the files that `examples/mujoco/export.py --worlds` writes. For each model these are `NAME.npz`, in
//! which each step of the simulation is a world, and `NAME.contacts.npy`. A recording of nine models is in
//! `tests/data/mujoco`. If MuJoCo is installed, `scripts/test.sh` runs the simulation, and names the folder in
//! `BROADSWEEP_MUJOCO`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use broadsweep::filter::GroupRule;
use broadsweep::{Aabb, BroadPhase, Filters, Gpu, Options, Pair, PairOrder, cpu};
use laboratory::scenes::npy;

// The binary's own reader.
#[allow(dead_code)] // standard input
#[path = "../../src/npz.rs"]
mod npz;

/// The steps of one model.
struct Recording {
    name: String,
    boxes: Vec<Aabb>,
    filters: Filters,
    contacts: HashSet<Pair>,
}

fn read(folder: &Path) -> Vec<Recording> {
    let files = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut scenes: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    scenes.retain(|path| path.extension().is_some_and(|extension| extension == "npz"));
    scenes.sort();
    let recording = |path: &PathBuf| {
        let (boxes, filters) = npz::read(path).unwrap();
        let contacts = File::open(path.with_extension("contacts.npy")).unwrap();
        let contacts: Vec<u32> = npy::Array::open(contacts, None).unwrap().read().unwrap();
        let contacts = contacts.as_chunks().0.iter().map(|&[a, b]| Pair { a, b }).collect();
        Recording { name: path.file_stem().unwrap().to_string_lossy().into_owned(), boxes, filters, contacts }
    };
    scenes.iter().map(recording).collect()
}

fn recorded() -> Vec<Recording> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mujoco"))
}

fn canonical() -> Options {
    Options::default().with_order(PairOrder::Canonical)
}

fn on_cpu(boxes: &[Aabb], filters: &Filters) -> Vec<Pair> {
    let mut broad_phase = cpu::BroadPhase::new(canonical()).unwrap();
    broad_phase.set_filters(filters.clone()).unwrap();
    broad_phase.find_pairs(boxes).unwrap().pairs.clone()
}

fn missed(contacts: &HashSet<Pair>, pairs: &[Pair]) -> usize {
    contacts.len() - pairs.iter().filter(|pair| contacts.contains(pair)).count()
}

/// Checks both engines, prints a row for each model and returns the number of contacts.
fn check(recordings: &[Recording]) -> usize {
    println!(
        "{:>16} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "model", "steps", "boxes", "all", "filtered", "spheres", "contacts"
    );
    let gpu = Gpu::headless().expect("the tests need a Vulkan adapter");
    let mut on_gpu = BroadPhase::new(&gpu, canonical().with_all_pairs_up_to(Some(0))).unwrap();
    let mut contact_count = 0;
    for Recording { name, boxes, filters, contacts } in recordings {
        let pairs = on_cpu(boxes, filters);
        assert_eq!(missed(contacts, &pairs), 0, "{name}: contacts that are not among the pairs");
        on_gpu.set_filters(filters.clone()).unwrap();
        assert!(on_gpu.find_pairs(boxes).unwrap().pairs == pairs, "{name}: the GPU has other pairs than the CPU");

        let (half_spaces, margin) = (filters.half_spaces.clone(), filters.margin.clone());
        let shapes =
            Filters::default().with_world(filters.world.clone()).with_half_spaces(half_spaces).with_margin(margin);
        let all = on_cpu(boxes, &shapes);
        let steps = filters.world.iter().max().unwrap() + 1;
        let by_boxes = on_cpu(boxes, &filters.clone().with_sphere(Vec::new()));
        let counts = [boxes.len(), all.len(), by_boxes.len(), pairs.len(), contacts.len()];
        let counts = counts.map(|count| format!("{count:>9}")).join(" ");
        println!("{name:>16} {steps:>6} {counts}");
        assert!(by_boxes.len() < all.len(), "{name}: nothing was filtered");
        assert!(pairs.len() < by_boxes.len(), "{name}: spheres filtered nothing");
        contact_count += contacts.len();
    }
    contact_count
}

#[test]
fn every_contact_of_the_recording_is_among_the_pairs() {
    let recordings = recorded();
    assert_eq!(recordings.len(), 9);
    assert!(check(&recordings) > 4000);
}

#[test]
fn the_recording_has_every_filter_that_a_model_of_mujoco_can_need() {
    let recordings = recorded();
    let some = |has: fn(&Filters) -> bool| recordings.iter().any(|recording| has(&recording.filters));
    assert!(some(|filters| filters.group != filters.mask));
    assert!(some(|filters| filters.parent.iter().any(|&parent| parent != Filters::NO_PARENT)));
    assert!(some(|filters| filters.sleeping.contains(&true) && filters.sleeping.contains(&false)));
    assert!(some(|filters| filters.margin.iter().any(|&margin| margin > 0.0)));
    assert!(some(|filters| !filters.exclude.is_empty()));
    assert!(some(|filters| !filters.include.is_empty()));
    assert!(some(|filters| !filters.half_spaces.is_empty()));
    assert!(recordings.iter().all(|recording| recording.filters.sphere.iter().any(|sphere| sphere[3].is_finite())));
}

#[test]
fn contacts_are_missed_where_any_filter_is_wrong() {
    let recordings = recorded();
    type Mistake = fn(&mut Filters);
    let mistakes: [(&str, Mistake); 13] = [
        ("a bit of the groups is lost", |filters| filters.group.iter_mut().for_each(|group| *group &= !1)),
        ("a bit of the masks is lost", |filters| filters.mask.iter_mut().for_each(|mask| *mask &= !1)),
        ("both have to meet", |filters| filters.rule = GroupRule::Both),
        ("neighbours are of one body", |filters| filters.body.iter_mut().for_each(|body| *body /= 2)),
        ("parents are grandparents", |filters| {
            let next = |parent: &mut u32| *parent = parent.saturating_sub(1);
            filters.parent.iter_mut().filter(|parent| **parent != Filters::NO_PARENT).for_each(next)
        }),
        ("what moves is fixed", |filters| filters.fixed.fill(true)),
        ("all are asleep", |filters| filters.sleeping.fill(true)),
        ("worlds are off by one", |filters| filters.world.rotate_right(1)),
        ("margins are forgotten", |filters| filters.margin.clear()),
        ("spheres are halved", |filters| filters.sphere.iter_mut().for_each(|sphere| sphere[3] /= 2.0)),
        ("included pairs are forgotten", |filters| filters.include.clear()),
        ("half-spaces are turned round", |filters| {
            filters.half_spaces.iter_mut().for_each(|half_space| half_space.normal = half_space.normal.map(|n| -n))
        }),
        ("exclusions are of other boxes", |filters| {
            filters.exclude.iter_mut().for_each(|pair| *pair = Pair::new(pair.a / 2, pair.b / 2 + 1))
        }),
    ];
    for (mistake, make) in mistakes {
        let mut count = 0;
        for Recording { boxes, filters, contacts, .. } in &recordings {
            let mut filters = filters.clone();
            make(&mut filters);
            count += missed(contacts, &on_cpu(boxes, &filters));
        }
        println!("{mistake}: {count} contacts are missed");
        assert!(count > 0, "nobody would notice that {mistake}");
    }
}

#[test]
fn every_contact_of_mujoco_here_is_among_the_pairs() {
    let Some(folder) = std::env::var_os("BROADSWEEP_MUJOCO") else {
        println!("NOT RUN: BROADSWEEP_MUJOCO names no folder that export.py wrote");
        return;
    };
    let recordings = read(Path::new(&folder));
    assert!(recordings.len() >= 5);
    assert!(check(&recordings) > 4000);
}
