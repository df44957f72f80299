use std::time::Duration;

use super::each::Spread;
use super::race::{Effort, Lane, race};
use super::*;
use crate::scenes::Kind;

/// Builds every answerer that needs no GPU.
fn lanes(boxes: &[Aabb]) -> Vec<Lane> {
    let lane = |listing: &Listing| {
        let mut answerer = listing.make(None).unwrap()?;
        answerer.build(boxes).unwrap();
        Some(Lane { name: listing.name, answerer })
    };
    ALL.iter().filter_map(lane).collect()
}

#[test]
fn every_answerer_finds_what_our_tree_finds_and_peers_round() {
    let effort = Effort { runs: 1, limit_ms: 1e3 };
    for kind in [Kind::Uniform, Kind::City, Kind::Invalid] {
        let boxes = kind.generate(500, 1);
        let mut lanes = lanes(&boxes);
        let mut known = vec![0; lanes.len()];
        for question in QueryKind::ALL {
            let batch = question.generate(100, 1, &boxes);
            let laps = race(effort, &mut lanes, &batch).unwrap();
            for lap in &laps {
                let is_ours = ["cpu", "aabb_tree", "ray_grid"].contains(&lap.name);
                let least = if is_ours { 100 } else { 95 };
                assert!(lap.equal_count >= least, "{} on {kind}, {question}: {}", lap.name, lap.equal_count);
                known[lanes.iter().position(|lane| lane.name == lap.name).unwrap()] += 1;
            }
            assert!(laps[0].answer_count > 0, "{kind}, {question}");
        }
        let expected = lanes.iter().map(|lane| match lane.name {
            "cpu" => 14,
            "aabb_tree" | "bvh" | "obvhs" => 12,
            "parry" => 13,
            "ray_grid" => 9,
            "rstar" => 5,
            other => panic!("{other} is new"),
        });
        assert_eq!(known, expected.collect::<Vec<_>>());
    }
}

#[test]
fn answers_are_compared_by_query_whatever_their_order() {
    let lists = |rows: [&[u32]; 2]| {
        let mut rows = rows.into_iter();
        Answers::overlaps(&[Aabb::new([0.0; 3], [1.0; 3]); 2], |_, found| found.extend(rows.next().unwrap()))
    };
    let found = lists([&[1, 2, 3], &[4]]);
    assert_eq!(found.answer_count(), 4);
    assert_eq!(found.equal_count(&lists([&[3, 2, 1], &[4]])), 2);
    assert_eq!(found.equal_count(&lists([&[1, 2], &[3, 4]])), 0);
    assert_eq!(found.equal_count(&lists([&[1, 2, 3], &[]])), 1);
}

#[test]
fn of_boxes_at_one_distance_any_is_right() {
    let hits = |index, t| Answers::Hits(vec![broadsweep::Hit { index, t }]);
    assert_eq!(hits(1, 0.0).equal_count(&hits(2, 0.0)), 1);
    assert_eq!(hits(1, 2.0).equal_count(&hits(1, 2.0f32.next_up())), 1);
    assert_eq!(hits(1, 0.0).equal_count(&hits(2, 1.0)), 0);
    assert_eq!(Answers::Any(vec![true, false]).equal_count(&Answers::Any(vec![true, true])), 1);
}

/// Answers slowly where a ray starts at one.
struct Slow;

impl Answerer for Slow {
    fn build(&mut self, _: &[Aabb]) -> Result<()> {
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        let QueryBatch::AnyHits(rays) = batch else { return Ok(None) };
        if rays.iter().any(|ray| ray.origin[0] == 1.0) {
            std::thread::sleep(Duration::from_millis(3));
        }
        Ok(Some(Answers::any(rays, |_| true)))
    }
}

#[test]
fn the_slowest_query_is_found_with_its_answers() {
    let effort = each::Effort { passes: 2, enough: Duration::from_secs(60) };
    let ray = |i: u8| broadsweep::Ray::new([if i == 33 { 1.0 } else { 0.0 }; 3], [1.0; 3]);
    let rays: Vec<_> = (0..100).map(ray).collect();
    let spread = Spread::measure(effort, &mut Slow, &QueryBatch::AnyHits(rays.clone())).unwrap().unwrap();
    assert_eq!((spread.query_count, spread.worst, spread.answer_count), (100, 33, 1));
    assert!(spread.worst_ns >= 3e6 && spread.median_ns < 1e6, "{spread:?}");
    assert!(Spread::measure(effort, &mut Slow, &QueryBatch::AllHits(rays.clone())).unwrap().is_none());
    // If there is no time left, the queries answered so far count.
    let effort = each::Effort { enough: Duration::ZERO, ..effort };
    let spread = Spread::measure(effort, &mut Slow, &QueryBatch::AnyHits(rays)).unwrap().unwrap();
    assert_eq!(spread.query_count, 1);
}
