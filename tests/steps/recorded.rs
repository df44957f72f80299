//! Steps that are recorded, and events that stay on the GPU.

use broadsweep::internals::constants::{EVENT_GROUP, EVENT_TILE};
use broadsweep::record::{GpuCount, GpuEvents, GpuIdentity, GpuPairs, PairArguments, PairHeader};
use broadsweep::step::Places;
use broadsweep::wgpu;
use broadsweep::{Aabb, Error, Events, Filters, Options, Pair, PairOrder, Recorder, Step, cpu};
use laboratory::scenes::{Kind, Motion};

use crate::common::device::{Copied, encoder, upload};
use crate::common::{ALL_PAIRS, CANONICAL, GPU, least_budget, recorder, wait_for};
use crate::oracle::{Frame, Oracle, invalid};

/// The buffers of a step, and the identity of its boxes.
pub struct Uploaded {
    boxes: wgpu::Buffer,
    box_count: u32,
    generations: Option<wgpu::Buffer>,
    was: Option<wgpu::Buffer>,
}

impl Uploaded {
    pub fn new(frame: &Frame) -> Self {
        let numbers = |numbers: &Option<Vec<u32>>| numbers.as_ref().map(|numbers| upload(numbers));
        Self {
            boxes: upload(&frame.boxes),
            box_count: frame.boxes.len() as u32,
            generations: numbers(&frame.generations),
            was: numbers(&frame.was),
        }
    }

    fn identity(&self) -> GpuIdentity<'_> {
        match (&self.generations, &self.was) {
            (Some(generations), _) => GpuIdentity::Generations(generations.slice(..)),
            (None, Some(was)) => GpuIdentity::Was(was.slice(..)),
            (None, None) => GpuIdentity::Index,
        }
    }

    pub fn record<'a>(
        &self,
        recorder: &'a mut Recorder,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<GpuEvents<'a>, Error> {
        recorder.record_events(encoder, self.boxes.slice(..), self.box_count, self.identity())
    }
}

/// A list with its header and its arguments.
struct CopiedList([Copied; 3]);

impl CopiedList {
    fn of(encoder: &mut wgpu::CommandEncoder, list: &GpuPairs) -> Self {
        Self([list.pairs, list.header, list.arguments].map(|from| Copied::of(encoder, from)))
    }

    fn header(&self) -> PairHeader {
        self.0[1].read()[0]
    }

    fn pairs(&self) -> Vec<Pair> {
        let (header, arguments): (PairHeader, PairArguments) = (self.header(), self.0[2].read()[0]);
        assert_eq!(arguments.dispatch, [header.written.div_ceil(256), 1, 1]);
        assert_eq!(arguments.draw, [CANONICAL.vertices_per_pair, header.written, 0, 0]);
        let mut pairs: Vec<Pair> = self.0[0].read();
        pairs.truncate(header.written as usize);
        pairs
    }
}

/// The buffers on the GPU after a step.
pub struct Left {
    pub events: Events,
    /// The headers of all pairs, and of created, lost and persisting pairs.
    pub headers: [PairHeader; 4],
}

/// Copies of what a step left, for a recorder that changes before its commands run.
pub struct CopiedEvents([CopiedList; 4], Copied);

impl CopiedEvents {
    pub fn of(encoder: &mut wgpu::CommandEncoder, left: &GpuEvents) -> Self {
        let lists = [&left.pairs, &left.created, &left.lost, &left.persisting];
        Self(lists.map(|list| CopiedList::of(encoder, list)), Copied::of(encoder, left.before))
    }
}

/// Runs what was recorded and reads what it left.
pub fn run(mut encoder: wgpu::CommandEncoder, left: &GpuEvents) -> Left {
    let copied = CopiedEvents::of(&mut encoder, left);
    run_copied(encoder, &copied)
}

/// Runs what was recorded and reads the copies.
pub fn run_copied(encoder: wgpu::CommandEncoder, CopiedEvents(lists, before): &CopiedEvents) -> Left {
    wait_for(&GPU, encoder);
    let [pairs, created, lost, persisting] = [0, 1, 2, 3].map(|k: usize| lists[k].pairs());
    let mut events = Events::default();
    let before = before.read::<u32>().into_iter().take(pairs.len());
    events.before = before.map(|at| (at != GpuEvents::CREATED).then_some(u64::from(at))).collect();
    let report = &mut events.report;
    report.pair_count = pairs.len() as u64;
    report.created_count = created.len() as u64;
    report.lost_count = lost.len() as u64;
    report.persisting_count = report.pair_count - report.created_count;
    (events.pairs, events.created, events.lost, events.persisting) = (pairs, created, lost, persisting);
    Left { events, headers: [0, 1, 2, 3].map(|k: usize| lists[k].header()) }
}

/// Records a step and runs it.
pub fn leave(recorder: &mut Recorder, frame: &Frame) -> Result<Left, Error> {
    let uploaded = Uploaded::new(frame);
    let mut encoder = encoder();
    let left = uploaded.record(recorder, &mut encoder)?;
    Ok(run(encoder, &left))
}

/// Records a step whose pairs fit, and returns its events as if they had been found.
pub fn record(recorder: &mut Recorder, frame: &Frame) -> Result<Events, Error> {
    let Left { mut events, headers } = leave(recorder, frame)?;
    for header in headers {
        assert_eq!((header.overflow, header.count, header.count_high), (0, header.written, 0));
    }
    let invalid = invalid(frame);
    events.report.box_count = frame.boxes.len() as u32;
    events.report.invalid_count = invalid.len() as u32;
    Ok(events)
}

#[test]
fn steps_whose_number_of_boxes_lies_in_a_buffer_have_the_right_events() {
    let at_most = 3000;
    let mut engine = recorder(CANONICAL);
    let mut oracle = Oracle::default();
    let counts = [2000, 2300, 0, 2600, 2600, 3001, 1500];
    for (number, n) in counts.into_iter().enumerate() {
        let frame = Frame {
            generations: (number % 2 == 0).then(|| (0..n as u32).map(|i| (i + number as u32) / 2900).collect()),
            ..Frame::of(Motion::Brisk.boxes(at_most.min(n), 0.9, 1, number as u32))
        };
        // Behind them is what is left of others.
        let mut all = frame.boxes.clone();
        all.resize(at_most, Aabb::new([-1e30; 3], [1e30; 3]));
        let generations = frame.generations.clone().map(|mut numbers| {
            numbers.resize(at_most, 99);
            upload(&numbers)
        });
        let (boxes, count) = (upload(&all), upload(&[n as u32]));
        let identity = generations.as_ref().map_or(GpuIdentity::Index, |g| GpuIdentity::Generations(g.slice(..)));
        let mut encoder = encoder();
        let count = GpuCount::Stored { count: count.slice(..), at_most: at_most as u32 };
        let left = engine.record_events(&mut encoder, boxes.slice(..), count, identity).unwrap();
        let Left { mut events, headers } = run(encoder, &left);
        if n > at_most {
            assert_eq!(headers.map(|header| (header.overflow, header.count)), [(5, 0); 4]);
            continue;
        }
        events.report.box_count = n as u32;
        oracle.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("step {number}"));
    }
}

pub fn canonical(boxes: &[Aabb]) -> Vec<Pair> {
    cpu::find_pairs(boxes, &CANONICAL).unwrap().pairs
}

#[test]
#[ignore = "long"]
fn moving_scenes_that_are_recorded_have_the_events_of_searches_from_nothing() {
    for motion in Motion::ALL {
        let mut engine = recorder(CANONICAL);
        engine.forget_steps();
        let mut oracle = Oracle::default();
        for number in 0..4 {
            // More pairs than a workgroup compares.
            let frame = Frame::of(motion.boxes(5000, 0.9, 1, number));
            let events = record(&mut engine, &frame).unwrap();
            oracle.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("{motion}, step {number}"));
        }
    }
}

#[test]
#[ignore = "long"]
fn lists_of_many_tiles_are_compared() {
    let mut engine = recorder(CANONICAL);
    let mut oracle = Oracle::default();
    for number in 0..2 {
        let frame = Frame::of(Motion::Brisk.boxes(90_000, 2.0, 1, number));
        let expected = canonical(&frame.boxes);
        assert!(expected.len() > (3 * EVENT_GROUP * EVENT_TILE) as usize);
        engine.reserve(frame.boxes.len(), expected.len() as u32).unwrap();
        let events = record(&mut engine, &frame).unwrap();
        oracle.check_pairs(&frame, expected, &events, &format!("step {number}"));
    }
}

#[test]
fn steps_in_one_submission_follow_each_other() {
    let mut engine = recorder(CANONICAL);
    let steps: Vec<Frame> = (0..3).map(|step| Frame::of(Motion::Brisk.boxes(3000, 0.9, 1, step))).collect();
    let mut encoder = encoder();
    let uploaded: Vec<_> = steps.iter().map(Uploaded::new).collect();
    for step in &uploaded[..2] {
        step.record(&mut engine, &mut encoder).unwrap();
    }
    let left = uploaded[2].record(&mut engine, &mut encoder).unwrap();
    let found = run(encoder, &left).events;
    let mut expected = cpu::BroadPhase::new(Options::default()).unwrap();
    for frame in &steps {
        expected.find_events(&frame.boxes).unwrap();
    }
    let expected = expected.events();
    assert!(!expected.created.is_empty() && found.created == expected.created && found.lost == expected.lost);
    assert!(found.before == expected.before && found.persisting == expected.persisting);
}

#[test]
fn a_step_whose_pairs_do_not_fit_is_reported_and_does_not_count() {
    let apart: Vec<Aabb> =
        (0..300).map(|i| Aabb::new([0.5 * i as f32, 0.0, 0.0], [0.5 * i as f32 + 0.75; 3])).collect();
    let together = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    for options in [CANONICAL, ALL_PAIRS.with_order(PairOrder::Canonical)] {
        let mut engine = recorder(options);
        let first = leave(&mut engine, &Frame::of(apart.clone())).unwrap().events;
        let refused = leave(&mut engine, &Frame::of(together.clone())).unwrap();
        let [pairs, events @ ..] = refused.headers;
        assert_eq!((pairs.overflow, pairs.count), (1, 300 * 299 / 2));
        for header in events {
            assert_eq!((header.overflow, header.count, header.written), (1, 0, 0), "{header:?}");
        }
        let same = leave(&mut engine, &Frame::of(apart.clone())).unwrap().events;
        assert!(same.created.is_empty() && same.lost.is_empty() && same.persisting == first.pairs);
        // With capacity for all pairs. The last step is remembered on the way.
        engine.reserve(300, pairs.count).unwrap();
        let fits = leave(&mut engine, &Frame::of(together.clone())).unwrap().events;
        assert_eq!((fits.pairs.len() as u32, fits.persisting), (pairs.count, first.pairs.clone()));
        assert!(fits.lost.is_empty());
        // A search that is refused does not count either.
        engine.set_options(options.with_candidate_limit(10).with_all_pairs_up_to(Some(0))).unwrap();
        let refused = leave(&mut engine, &Frame::of(together.clone())).unwrap();
        assert!(refused.headers.iter().all(|header| (header.overflow, header.count) == (2, 0)));
        engine.set_options(options).unwrap();
        let back = leave(&mut engine, &Frame::of(apart.clone())).unwrap().events;
        assert_eq!((back.lost.len(), back.created.len()), (fits.pairs.len() - first.pairs.len(), 0));
    }
}

#[test]
fn a_step_that_is_not_submitted_does_not_count() {
    let mut engine = recorder(CANONICAL);
    let make = |step| Frame::of(Motion::Brisk.boxes(3000, 0.9, 1, step));
    let mut oracle = Oracle::default();
    for number in 0..3 {
        // More boxes than before, too: the buffers of the last step are replaced by larger ones.
        let dropped = Uploaded::new(&Frame::of(Motion::Brisk.boxes(3500 + 1000 * number, 0.9, 1, 7)));
        let mut unused = encoder();
        dropped.record(&mut engine, &mut unused).unwrap();
        drop(unused);
        let frame = make(number as u32);
        let events = record(&mut engine, &frame).unwrap();
        oracle.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("step {number}"));
    }
}

#[test]
fn two_boxes_with_the_same_last_index_are_refused() {
    let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    let mut engine = recorder(CANONICAL);
    let first = Frame::of(vec![cube(0.0), cube(0.5), cube(9.0)]);
    leave(&mut engine, &first).unwrap();
    let doubled = Frame { was: Some(vec![0, 1, 1]), ..Frame::of(vec![cube(0.0), cube(0.5), cube(0.75)]) };
    let refused = leave(&mut engine, &doubled).unwrap();
    assert_eq!(refused.headers.map(|header| header.overflow), [0, 4, 4, 4]);
    assert!(refused.headers[1..].iter().all(|header| (header.count, header.written) == (0, 0)));
    // Numbers that no box had are new boxes.
    let wild = Frame { was: Some(vec![0, u32::MAX - 1, 77]), ..first.clone() };
    let events = leave(&mut engine, &wild).unwrap().events;
    assert_eq!((events.created, events.lost), (vec![Pair::new(0, 1)], vec![Pair::new(0, 1)]));
    let events = leave(&mut engine, &Frame { was: Some(vec![1, 0, 2]), ..first.clone() }).unwrap().events;
    assert_eq!((events.persisting, events.before), (vec![Pair::new(0, 1)], Places::from_iter([Some(0)])));
    let none = leave(&mut engine, &Frame { was: Some(vec![Step::NEW; 3]), ..first }).unwrap().events;
    assert_eq!((none.created.len(), none.lost.len()), (1, 1));
}

#[test]
fn recorded_steps_refuse_what_they_cannot_do() {
    let boxes = Kind::Uniform.generate(300, 1);
    let frame = Frame { generations: Some(vec![0; 300]), ..Frame::of(boxes.clone()) };
    let mut engine = recorder(CANONICAL);
    let uploaded = Uploaded::new(&frame);
    let mut unused = encoder();
    let numbers = uploaded.generations.as_ref().unwrap();
    let (short, odd) = (numbers.slice(..1196), numbers.slice(4..));
    for (slice, words) in [(short, "holds 1196 bytes, and the numbers of 300 boxes take 1200"), (odd, "holds 1196")] {
        for (identity, name) in [(GpuIdentity::Generations(slice), "generations"), (GpuIdentity::Was(slice), "was")] {
            let error = engine.record_events(&mut unused, uploaded.boxes.slice(..), 300, identity).unwrap_err();
            let Error::BadBuffer { buffer, problem } = &error else { panic!("{error}") };
            assert!(*buffer == name && problem.contains(words), "{error}");
        }
    }
    engine.set_filters(Filters::default().with_group(vec![1; 2])).unwrap();
    let error = uploaded.record(&mut engine, &mut unused).unwrap_err();
    assert!(matches!(error, Error::FilterLength { .. }), "{error}");
    engine.set_filters(Filters::default()).unwrap();
    engine.set_options(CANONICAL.with_order(PairOrder::Sweep)).unwrap();
    let error = uploaded.record(&mut engine, &mut unused).unwrap_err();
    assert!(matches!(error, Error::BadOption { option: "order", .. }), "{error}");
    engine.set_options(CANONICAL).unwrap();
    // No window of the list, which may have pairs that sleep.
    uploaded.record(&mut engine, &mut unused).unwrap();
    let error = engine.record_window(&mut unused, uploaded.boxes.slice(..), 300, 0, 0).unwrap_err();
    assert_eq!(error, Error::NothingRecorded);
}

/// Boxes in a row, each of which overlaps the next.
fn row(n: usize) -> Vec<Aabb> {
    (0..n).map(|i| Aabb::new([0.5 * i as f32, 0.0, 0.0], [0.5 * i as f32 + 0.75; 3])).collect()
}

#[test]
fn more_boxes_wait_for_steps_that_were_submitted_and_are_refused_beside_one_that_was_not() {
    let mut engine = recorder(CANONICAL);
    leave(&mut engine, &Frame::of(row(300))).unwrap();
    let steps = [200, 9000].map(|n| Uploaded::new(&Frame::of(row(n))));
    let mut recorded = encoder();
    steps[0].record(&mut engine, &mut recorded).unwrap();
    assert_eq!(steps[1].record(&mut engine, &mut recorded).unwrap_err(), Error::NotSubmitted);
    engine.gpu().queue().submit([recorded.finish()]);
    let events = leave(&mut engine, &Frame::of(row(9000))).unwrap().events;
    assert_eq!((events.created.len(), events.lost.len()), (8800, 0));
}

#[test]
fn a_list_that_was_too_short_does_not_refuse_a_step_beside_one_that_was_not_submitted() {
    let mut engine = recorder(CANONICAL);
    leave(&mut engine, &Frame::of(row(300))).unwrap();
    let together = Frame::of(vec![Aabb::new([0.0; 3], [1.0; 3]); 300]);
    let short = Uploaded::new(&together);
    let rows = [200, 201, 202].map(|n| Uploaded::new(&Frame::of(row(n))));
    let mut first = encoder();
    let left = short.record(&mut engine, &mut first).unwrap();
    let (header, capacity) = (Copied::of(&mut first, left.pairs.header), left.pairs.capacity);
    let mut second = encoder();
    rows[0].record(&mut engine, &mut second).unwrap();
    wait_for(&GPU, first);
    assert_eq!(header.read::<PairHeader>()[0].overflow, 1);
    // From here on the list is longer. Its events keep their buffers, since a step of the second encoder is not
    // submitted yet.
    let longer = rows[1].record(&mut engine, &mut second).unwrap();
    assert!(longer.pairs.capacity >= 44_850 * 3 / 2 && longer.pairs.capacity > capacity);
    let events = run(second, &longer).events;
    assert_eq!((events.created, events.lost.len()), (vec![Pair::new(199, 200)], 0));
    // Once all are submitted, events have the capacity of the list.
    let events = leave(&mut engine, &together).unwrap();
    assert_eq!(events.headers.map(|header| header.overflow), [0; 4]);
    assert_eq!((events.events.pairs.len(), events.events.persisting.len()), (44_850, 200));
    let mut last = encoder();
    let left = rows[2].record(&mut engine, &mut last).unwrap();
    assert_eq!(run(last, &left).events.lost.len(), 44_850 - 201);
}

#[test]
fn a_scene_that_grows_does_not_allocate_in_every_step() {
    let mut engine = recorder(CANONICAL);
    let (mut oracle, mut buffers) = (Oracle::default(), std::collections::HashSet::new());
    for n in 1000..1020 {
        let frame = Frame { generations: Some(vec![n as u32 / 10; n]), ..Frame::of(row(n)) };
        let uploaded = Uploaded::new(&frame);
        let mut recorded = encoder();
        let left = uploaded.record(&mut engine, &mut recorded).unwrap();
        buffers.insert(left.created.pairs.clone());
        let mut events = run(recorded, &left).events;
        events.report.box_count = n as u32;
        oracle.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("{n} boxes"));
    }
    assert!(buffers.len() <= 2, "{} lists", buffers.len());
}

#[test]
fn no_boxes_with_no_generations_are_a_step_that_had_some() {
    let mut engine = recorder(CANONICAL);
    let mut oracle = Oracle::default();
    let numbered = |n: usize, number: u32| Frame { generations: Some(vec![number; n]), ..Frame::of(row(n)) };
    for (number, frame) in [numbered(5, 0), numbered(0, 0), Frame::of(row(5)), numbered(5, 1)].iter().enumerate() {
        let events = record(&mut engine, frame).unwrap();
        oracle.check_pairs(frame, canonical(&frame.boxes), &events, &format!("step {number}"));
    }
}

#[test]
fn a_scene_that_grows_within_a_budget_has_capacity_for_its_events() {
    let options = CANONICAL.with_memory_budget(Some(64 << 20));
    let mut engine = recorder(options);
    let mut oracle = Oracle::default();
    // Memory reserved before the first step stays.
    engine.reserve(300, 50_000).unwrap();
    let together = Frame::of(vec![Aabb::new([0.0; 3], [1.0; 3]); 300]);
    for frame in [together, Frame::of(row(10)), Frame::of(row(10_000)), Frame::of(row(20_000))] {
        let left = leave(&mut engine, &frame).unwrap();
        assert_eq!(left.headers.map(|header| header.overflow), [0; 4]);
        let mut events = left.events;
        events.report.box_count = frame.boxes.len() as u32;
        oracle.check_pairs(&frame, canonical(&frame.boxes), &events, "within a budget");
    }
    // A smaller budget has no memory for the last step.
    let held = |engine: &Recorder| engine.buffers().iter().map(|(_, bytes)| bytes).sum::<u64>();
    engine.set_options(CANONICAL.with_memory_budget(Some(4 << 20))).unwrap();
    assert!(held(&engine) <= 4 << 20, "{:?}", engine.buffers());
    let events = leave(&mut engine, &Frame::of(row(100))).unwrap().events;
    assert_eq!((events.created.len(), events.lost.len()), (99, 0));
}

#[test]
fn events_keep_within_the_memory_budget() {
    let steps: Vec<Frame> = (0..3).map(|step| Frame::of(Motion::Brisk.boxes(3000, 0.9, 1, step))).collect();
    let least = least_budget(&steps[0].boxes, CANONICAL.order);
    let mut engine = recorder(CANONICAL);
    let held = |engine: &Recorder| engine.buffers().iter().map(|(_, bytes)| bytes).sum::<u64>();
    let mut seen = [false; 3];
    for budget in [least, 2 * least, 2 * least + 200_000, 3 * least, 8 * least, 1 << 30] {
        let options = CANONICAL.with_memory_budget(Some(budget));
        engine.forget_steps();
        engine.set_options(options).unwrap();
        let mut oracle = Oracle::default();
        for frame in &steps {
            let left = match leave(&mut engine, frame) {
                Err(Error::OverBudget { required, .. }) => {
                    assert!(required > budget, "{required} of {budget}");
                    seen[0] = true;
                    break;
                }
                left => left.unwrap(),
            };
            assert!(held(&engine) <= budget, "{:?} within {budget}", engine.buffers());
            if left.headers[1].overflow == 0 {
                let Left { mut events, .. } = left;
                events.report.box_count = frame.boxes.len() as u32;
                oracle.check_pairs(frame, canonical(&frame.boxes), &events, "within a budget");
                seen[2] = true;
            } else {
                seen[1] = true;
            }
            // Searches keep within it too.
            let mut encoder = encoder();
            let pairs = engine.record(&mut encoder, Uploaded::new(frame).boxes.slice(..), 3000).unwrap();
            assert!(pairs.capacity > 0);
            engine.gpu().queue().submit([encoder.finish()]);
            assert!(held(&engine) <= budget, "{:?} within {budget}", engine.buffers());
        }
    }
    assert_eq!(seen, [true; 3], "refused, too long and whole");
    let with_events = held(&engine);
    engine.forget_steps();
    assert!(held(&engine) < with_events);
    assert!(!engine.buffers().iter().any(|(name, _)| *name == "last_pairs"));
}
