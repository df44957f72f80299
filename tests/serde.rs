//! The feature `serde`: what is written is read back the same.

use std::fmt::Debug;

use broadsweep::filter::{GroupRule, HalfSpace};
use broadsweep::neighbour::{NeighbourOptions, PeriodicCell};
use broadsweep::query::{
    BoxCast, Capsule, CapsuleCast, Near, NearestQuery, OrientedBox, QueryFilter, QueryFilters, Sphere, SphereCast,
};
use broadsweep::step::{BoxFilter, Handle, SearchReason};
use broadsweep::{Aabb, Answers, CellSize, Filters, Hit, IdPair, Lists, Options, Pair, PairOrder, Ray, SweepAxis, cpu};
use serde::Serialize;
use serde::de::DeserializeOwned;

const INF: f32 = f32::INFINITY;

/// Checks that a value is the same once it is written and read.
fn returns<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let bytes = postcard::to_allocvec(value).expect("bytes");
    assert_eq!(&postcard::from_bytes::<T>(&bytes).expect("a value"), value);
}

/// Boxes of which the first three pair.
fn boxes() -> [Aabb; 4] {
    [0.0, 0.5, 1.0, 9.0].map(|x: f32| Aabb::new([x, 0.0, -1.5], [x + 1.0, 1.0, INF]))
}

#[test]
fn boxes_pairs_and_queries_are_read_as_they_were_written() {
    let (a, b, c) = ([0.1, -0.0, f32::MIN_POSITIVE / 8.0], [1.0, 2.0, 3.0], [0.0, 0.6, 0.8]);
    returns(&Aabb::new(a, [INF; 3]));
    returns(&Pair::new(7, 3));
    returns(&IdPair::new(1 << 40, 3));
    returns(&HalfSpace { index: 4, normal: c, offset: 0.25 });
    returns(&Ray::new(a, b));
    returns(&BoxCast { aabb: Aabb::new(a, b), direction: c, limit: INF });
    returns(&SphereCast { center: a, radius: 0.5, direction: c, limit: 2.0 });
    returns(&CapsuleCast { from: a, to: b, radius: 0.5, direction: c, limit: 2.0 });
    returns(&Sphere { center: a, radius: 0.5 });
    returns(&NearestQuery::new(b));
    returns(&Capsule { from: a, to: b, radius: 0.5 });
    returns(&OrientedBox { center: a, half: b, axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] });
    returns(&QueryFilter { world: 3, ..QueryFilter::default() });
}

#[test]
fn options_and_filters_are_read_as_they_were_written() {
    let options =
        Options::new().with_axis(SweepAxis::Y).with_cell_size(CellSize::Fixed(0.1)).with_order(PairOrder::Canonical);
    returns(&options.with_memory_budget(Some(1 << 33)).with_step_margin(Some(0.3)).with_all_pairs_up_to(Some(0)));
    let filters = Filters::default()
        .with_rule(GroupRule::Both)
        .with_group(vec![1, 2, 4, 8])
        .with_fixed(vec![true, false, false, true])
        .with_margin(vec![0.0, 0.1, 0.2, 0.3])
        .with_sphere(vec![[0.5, 0.5, 0.5, 1.0], [0.0, 0.0, 0.0, INF], [1.0; 4], [0.0; 4]])
        .with_exclude(vec![Pair::new(0, 1)])
        .with_half_spaces(vec![HalfSpace { index: 3, normal: [0.0, 0.0, 1.0], offset: 0.0 }])
        .with_owner(Some(Aabb::new([0.0; 3], [INF; 3])));
    returns(&filters);
    returns(&BoxFilter::default().with_world(Some(7)).with_body(Some(1)).with_margin(0.5).with_sphere(Some([1.0; 4])));
    returns(&(Handle { index: 3, generation: 5 }, Some(SearchReason::TooFast)));
    returns(&QueryFilters::default().with_ignore(vec![2]).with_world(vec![Filters::GLOBAL]));
}

#[test]
fn answers_and_reports_are_read_as_they_were_written() {
    let mut engine = cpu::BroadPhase::new(Options::new().with_all_pairs_up_to(Some(0))).expect("an engine");
    let overlaps = engine.find_pairs(&boxes()).expect("pairs").clone();
    assert_eq!(overlaps.len(), 3);
    returns(&overlaps);
    returns(&overlaps.by_world(&Filters::default()).expect("worlds"));
    returns(engine.find_events(&boxes()).expect("events"));

    let mut tree = cpu::Tree::new();
    returns(tree.build(&boxes()).expect("a tree"));
    let rays = [Ray::new([-1.0, 0.5, 0.0], [1.0, 0.0, 0.0]), Ray::new([0.0; 3], [f32::NAN; 3])];
    let nearest: Answers<Hit> = tree.nearest_hits(&rays).expect("hits");
    returns(&nearest);
    let all: Lists<Hit> = tree.all_hits(&rays).expect("hits");
    assert_eq!((all.len(), all[0].len(), all.report.invalid_count), (2, 4, 1));
    returns(&all);
    let near: Lists<Near> = tree.nearest(&[NearestQuery::new([5.0; 3])], 2).expect("boxes");
    returns(&near);
}

#[test]
fn neighbours_and_their_options_are_read_as_they_were_written() {
    let cell = PeriodicCell::orthorhombic([2.0, 3.0, 4.0]).with_periodic([true, true, false]);
    let options = NeighbourOptions::new(1.5).with_cell(Some(cell)).with_vectors(true).with_squared_distances(true);
    returns(&options);
    let found = cpu::Neighbours::<f32>::new(options).find(&[[0.0; 3], [1.0, 0.0, 0.0]]).expect("neighbours").clone();
    assert!(!found.pairs.is_empty());
    returns(&found);
    let few: NeighbourOptions = serde_json::from_str(r#"{ "radius": 1.5 }"#).expect("options");
    assert_eq!(few, NeighbourOptions::new(1.5));
    assert!(serde_json::from_str::<NeighbourOptions>(r#"{ "radius": 1.5, "cel": null }"#).is_err());
}

#[test]
fn options_that_a_file_lacks_get_their_default_and_unknown_ones_are_an_error() {
    let options: Options =
        serde_json::from_str(r#"{ "order": "Canonical", "cell_size": { "Fixed": 0.5 } }"#).expect("options");
    assert_eq!(options, Options::new().with_order(PairOrder::Canonical).with_cell_size(CellSize::Fixed(0.5)));
    let filters: Filters = serde_json::from_str(r#"{ "exclude": [{ "a": 0, "b": 1 }] }"#).expect("filters");
    assert_eq!(filters, Filters::default().with_exclude(vec![Pair::new(0, 1)]));
    for misspelled in [r#"{ "ordr": "Canonical" }"#, r#"{ "order": "canonical" }"#] {
        assert!(serde_json::from_str::<Options>(misspelled).is_err(), "{misspelled}");
    }
    assert!(serde_json::from_str::<Filters>(r#"{ "groups": [] }"#).is_err());
    assert!(serde_json::from_str::<QueryFilters>(r#"{ "groups": [] }"#).is_err());
}
