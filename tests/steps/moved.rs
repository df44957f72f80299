//! Steps with a list of moved boxes from the caller.

use broadsweep::filter::Attribute;
use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::step::StepWork;
use broadsweep::{Aabb, BroadPhase, Engine, Error, Filters, Pair, Step, cpu};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, GPU};
use crate::recorded::canonical;
use crate::submitted::wait;

const N: usize = 3000;

/// Creates both engines, the one on the CPU with epochs of any number of boxes.
fn engines(filters: &Filters) -> (cpu::BroadPhase, BroadPhase) {
    let mut on_cpu = cpu::BroadPhase::new(CANONICAL).unwrap();
    begin_epochs_from(&mut on_cpu, 1);
    let mut on_gpu = BroadPhase::new(&GPU, CANONICAL).unwrap();
    on_cpu.set_filters(filters.clone()).unwrap();
    on_gpu.set_filters(filters.clone()).unwrap();
    (on_cpu, on_gpu)
}

/// Returns boxes of which those with these indices are far away, each in a place of its own with box 0.
fn away(still: &[Aabb], moved: &[u32]) -> Vec<Aabb> {
    let mut boxes = still.to_vec();
    for &i in moved {
        boxes[i as usize] = still[0];
    }
    boxes
}

fn check_that_no_others_are_looked_at(engine: &mut cpu::BroadPhase, what: &str) {
    let mut find = |step: Step| engine.find_events(step).cloned();
    let still = Motion::Still.boxes(N, 0.9, 1, 0);
    let expected = canonical(&still);
    for _ in 0..4 {
        assert_eq!(find(Step::new(&still).moved(&[])).unwrap().pairs, expected, "{what}");
    }
    // It is not true that none moved: only so does it show that nobody looks.
    let boxes = away(&still, &[40, 50, 60]);
    let events = find(Step::new(&boxes).moved(&[])).unwrap();
    assert!(events.pairs == expected && !events.report.work.searched, "{what}: {:?}", events.report);
    let events = find(Step::new(&boxes).moved(&[50, 50])).unwrap();
    assert_eq!(events.pairs, canonical(&away(&still, &[50])), "{what}");
    assert!(events.created.contains(&Pair::new(0, 50)), "{what}");
    assert_eq!((events.report.work.moved_count, events.report.work.left_padding_count), (1, 1), "{what}");
    let events = find(Step::new(&boxes).moved(&[60, 40, 3])).unwrap();
    assert_eq!(events.pairs, canonical(&boxes), "{what}");
    assert_eq!(events.report.work.moved_count, 2, "{what}: one of them did not move");
    // Invalid boxes are counted as they come and go.
    for (invalid, moved) in [(&[70, 80][..], &[70, 80, 90][..]), (&[80], &[70]), (&[], &[80])] {
        let mut boxes = boxes.clone();
        invalid.iter().for_each(|i| boxes[*i as usize].min[1] = f32::NAN);
        let events = find(Step::new(&boxes).moved(moved)).unwrap();
        assert_eq!(events.pairs, canonical(&boxes), "{what}");
        assert_eq!(events.report.first_invalid, invalid, "{what}");
        assert_eq!(events.report.invalid_count as usize, invalid.len(), "{what}");
        assert!(!events.report.work.searched, "{what}: {:?}", events.report);
    }
}

fn check_what_follows_an_unknown_step(engine: &mut impl Engine, what: &str) {
    let still = Motion::Still.boxes(N, 0.9, 1, 0);
    for _ in 0..4 {
        engine.find_events(Step::new(&still).moved(&[])).unwrap();
    }
    // A list that has no meaning, and the step after it.
    let boxes = away(&still, &[40]);
    let refused = engine.find_events(Step::new(&boxes).moved(&[40, N as u32])).unwrap_err();
    let words = format!("has {N}, and there are {N} boxes; indices must be smaller");
    assert!(matches!(&refused, Error::BadStep { list: "moved", problem } if *problem == words), "{refused}");
    assert_eq!(engine.find_events(Step::new(&boxes).moved(&[])).unwrap().pairs, canonical(&boxes), "{what}: refused");
    // A step without a list is the last one too.
    let boxes = away(&still, &[50]);
    assert_eq!(engine.find_events(Step::new(&boxes)).unwrap().pairs, canonical(&boxes), "{what}: no list");
    let boxes = away(&still, &[50, 60]);
    assert_eq!(
        engine.find_events(Step::new(&boxes).moved(&[60])).unwrap().pairs,
        canonical(&boxes),
        "{what}: behind it"
    );
    // Margins move boxes too.
    let margin = vec![0.05; N];
    engine.change_filters(0, Attribute::Margin(&margin)).unwrap();
    let padded = |boxes: &[Aabb]| -> Vec<Aabb> {
        boxes.iter().map(|aabb| Aabb::new(aabb.min.map(|x| x - 0.05), aabb.max.map(|x| x + 0.05))).collect()
    };
    let found = engine.find_events(Step::new(&boxes).moved(&[])).unwrap().pairs.len();
    let expected = canonical(&padded(&boxes)).len();
    assert!(found.abs_diff(expected) < 3 && found > canonical(&boxes).len(), "{what}: {found}, {expected}");
}

#[test]
fn boxes_that_are_not_listed_as_moved_are_not_read_on_the_cpu() {
    // With margins, invalid boxes are found in another way.
    for filters in [Filters::default(), Filters::default().with_margin(vec![0.0; N])] {
        let (mut on_cpu, _) = engines(&filters);
        check_that_no_others_are_looked_at(&mut on_cpu, &format!("{} margins", filters.margin.len()));
    }
}

#[test]
fn a_list_of_moved_boxes_changes_nothing_on_a_gpu() {
    let still = Motion::Still.boxes(N, 0.9, 1, 0);
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let is_search = |work: StepWork| work.searched && !work.began_epoch && work.moved_count == 0;
    for (number, elsewhere) in [&[][..], &[], &[40, 50], &[50, 60], &[70]].into_iter().enumerate() {
        let mut boxes = away(&still, elsewhere);
        boxes[80].min[1] = if number == 4 { f32::NAN } else { boxes[80].min[1] };
        let expected = canonical(&boxes);
        // Right, wrong, and in another form.
        for moved in [elsewhere, &[], &[3, 3]] {
            let step = Step::new(&boxes).moved(moved);
            let found = engine.find_events(step).unwrap().clone();
            assert!(found.pairs == expected && is_search(found.report.work), "step {number}, {moved:?}");
            assert_eq!(found.report.invalid_count, u32::from(number == 4), "step {number}, {moved:?}");
            engine.submissions().submit_events(step).unwrap();
            let found = wait(&mut engine).unwrap();
            assert!(found.pairs == expected && is_search(found.report.work), "step {number}, {moved:?}");
            assert!(found.created.is_empty() && found.lost.is_empty(), "step {number}, {moved:?}");
        }
        let words = format!("has {N}, and there are {N} boxes; indices must be smaller");
        for refused in [
            engine.find_events(Step::new(&boxes).moved(&[N as u32])).map(|_| ()),
            engine.submissions().submit_events(Step::new(&boxes).moved(&[0, N as u32])),
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(&refused, Error::BadStep { list: "moved", problem } if *problem == words), "{refused}");
        }
    }
}

#[test]
fn all_boxes_are_read_if_the_last_step_is_unknown() {
    let (mut on_cpu, mut on_gpu) = engines(&Filters::default().with_margin(vec![0.0; N]));
    check_what_follows_an_unknown_step(&mut on_cpu, "on the CPU");
    check_what_follows_an_unknown_step(&mut on_gpu, "on the GPU");
}

#[test]
fn steps_with_another_number_of_boxes_are_looked_at_as_a_whole() {
    let still = Motion::Still.boxes(N, 0.9, 1, 0);
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let mut on_cpu = cpu::BroadPhase::new(CANONICAL).unwrap();
    begin_epochs_from(&mut on_cpu, 1);
    let mut boxes = Vec::new();
    for (number, n) in [N, N, N, N - 20, N - 20, N - 5, N, N, 0, N, N].into_iter().enumerate() {
        if n != boxes.len() {
            // With every other number some are elsewhere, which are not listed.
            let elsewhere: Vec<u32> = (0..n as u32).filter(|i| *i as usize % 97 == number).collect();
            boxes = away(&still[..n], &elsewhere);
        }
        let step = Step::new(&boxes).moved(&[]);
        let expected = canonical(&boxes);
        assert_eq!(engine.find_events(step).unwrap().pairs, expected);
        assert_eq!(on_cpu.find_events(step).unwrap().pairs, expected);
    }
}

#[test]
fn steps_in_flight_go_on_from_the_one_that_was_submitted_before() {
    let still = Motion::Still.boxes(N, 0.9, 1, 0);
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let lists: Vec<Vec<u32>> = (0..12).map(|number| (0..20).map(|k| 7 + 100 * k + number).collect()).collect();
    let mut steps = Vec::new();
    let mut boxes = still.clone();
    for list in &lists {
        for &i in list {
            boxes[i as usize] = still[(i as usize + 1000) % N];
        }
        steps.push(boxes.clone());
    }
    engine.submissions().submit_events(Step::new(&steps[0]).moved(&lists[0])).unwrap();
    for number in 0..steps.len() {
        if let Some(next) = steps.get(number + 1) {
            let step = Step::new(next).moved(&lists[number + 1]);
            engine.submissions().submit_events(step).unwrap();
            // A call that is busy changes nothing.
            assert_eq!(engine.submissions().submit_events(step).unwrap_err(), Error::Busy);
        }
        let events = wait(&mut engine).unwrap();
        assert_eq!(events.pairs, canonical(&steps[number]), "step {number}, {:?}", events.report);
    }
}
