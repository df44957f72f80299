use broadsweep::cpu;
use broadsweep::internals::constants::PLACE_BITS;
use broadsweep::internals::mirror;

use super::count::{self, QUESTIONS};
use super::*;
use crate::queries::{Asked, Question};
use crate::scenes::Kind;

/// Kinds of finite boxes: even ones, uneven ones, large among small ones, in one place, along a line, and some invalid.
const KINDS: [Kind; 11] = [
    Kind::Uniform,
    Kind::Spread,
    Kind::Clusters,
    Kind::TwoClusters,
    Kind::Diagonal,
    Kind::City,
    Kind::ThousandGiants,
    Kind::Touching,
    Kind::Line,
    Kind::Identical,
    Kind::Invalid,
];

/// Takes every box to every query: what all structures have to find.
struct Loop(Vec<(Aabb, u32)>);

impl Structure for Loop {
    fn search(&self, search: &mut Search) {
        for (aabb, id) in &self.0 {
            if let Some(near) = search.test(aabb) {
                search.take(near, *id);
            }
        }
    }

    fn height(&self) -> Option<u32> {
        None
    }

    fn bytes(&self) -> u64 {
        0
    }
}

fn answers(structure: &dyn Structure, asked: &Asked) -> Vec<Vec<(f64, u32)>> {
    let answer = |mut search: Search| {
        structure.search(&mut search);
        search.finish()
    };
    count::searches(asked).into_iter().map(answer).collect()
}

#[test]
fn every_structure_finds_what_a_loop_finds() {
    for kind in KINDS {
        for n in [0, 1, 2, 9, 700] {
            let boxes = kind.generate(n, 1);
            let all = Loop(valid(&boxes).map(|id| (boxes[id as usize], id)).collect());
            for question in Question::ALL {
                let asked = question.ask(60, 2, &boxes);
                let expected = answers(&all, &asked);
                for listing in ALL {
                    let found = answers(&*(listing.build)(&boxes), &asked);
                    assert_eq!(found, expected, "{kind}:{n}, {question}, {}", listing.name);
                }
            }
        }
    }
}

#[test]
fn structures_find_what_the_library_finds() {
    let boxes = Kind::City.generate(3000, 1);
    let mut tree = cpu::Tree::new();
    tree.build(&boxes).unwrap();
    let indices = |found: &[(f64, u32)]| found.iter().map(|&(_, id)| id).collect::<Vec<_>>();
    for question in QUESTIONS {
        let asked = question.ask(200, 3, &boxes);
        let expected: Vec<Vec<u32>> = match &asked {
            Asked::NearestHits(rays) => {
                let hits = tree.nearest_hits(rays).unwrap().answers;
                hits.iter().map(|hit| hit.is_hit().then_some(hit.index).into_iter().collect()).collect()
            }
            Asked::AllHits(rays) => {
                tree.all_hits(rays).unwrap().rows().map(|row| row.iter().map(|hit| hit.index).collect()).collect()
            }
            Asked::Overlaps(shapes) => tree.overlaps(shapes).unwrap().rows().map(<[u32]>::to_vec).collect(),
            Asked::Nearest(points, k) => {
                let lists = tree.nearest(points, *k).unwrap();
                lists.rows().map(|row| row.iter().map(|near| near.index).collect()).collect()
            }
            Asked::AnyHits(_) => continue,
        };
        let found = answers(&*(ALL[0].build)(&boxes), &asked);
        let equal = found.iter().zip(&expected).filter(|(found, expected)| indices(found) == **expected).count();
        // Ties, and what rounding decides otherwise than exact arithmetic.
        assert!(equal >= 198, "{question}: {equal} of 200");
    }
}

#[test]
fn the_curve_is_the_one_of_the_library() {
    // Centres are in units of 2⁶ there.
    let cube = broadsweep::internals::layout::Cube { low: [0.0; 3], scale: 64.0 };
    let points = [[0, 0, 0], [1, 2, 3], [511, 0, 256], [300, 301, 302], [5, 500, 77], [511, 0, 0]];
    for point in points {
        let corner = point.map(|x| x as f32);
        let key = mirror::tree::keys(&[Aabb::new(corner, corner)], &cube)[0];
        let place = curve::hilbert(point, PLACE_BITS / 3);
        assert_eq!(place - (place >> 12), u64::from(key), "{point:?}");
    }
    assert_eq!(curve::morton([1, 0, 0], 2), 4);
    assert_eq!(curve::morton([2, 1, 3], 2), 0b101_011);
}

#[test]
fn costs_are_those_of_the_nodes_on_the_way() {
    let boxes: Vec<Aabb> =
        (0..64u8).map(|i| Aabb::new([f32::from(i), 0.0, 0.0], [f32::from(i) + 0.5, 1.0, 1.0])).collect();
    let cost = |at: usize, target: Target, most: Option<usize>| {
        let mut search = Search::new(target, most);
        (ALL[at].build)(&boxes).search(&mut search);
        (search.counts, search.finish().len())
    };
    let point = Target::Point([3.2, 0.5, 0.5]);
    assert_eq!(cost(0, point, Some(1)), (Counts { fetches: 2, tests: 16, bytes: 2 * 8 * 24 }, 1));
    // Down to one box of 64 by halves, and no other node: what is farther than nothing waits in vain.
    assert_eq!(cost(4, point, Some(1)), (Counts { fetches: 6, tests: 12, bytes: 6 * 56 }, 1));
    let all = Target::Shape(Aabb::new([-1.0; 3], [99.0; 3]));
    assert_eq!(cost(0, all, None), (Counts { fetches: 9, tests: 72, bytes: 9 * 192 }, 64));
    assert_eq!(cost(1, all, None).0.fetches, 16 + 4 + 1);
    assert_eq!([0, 1, 2, 4].map(|at| (ALL[at].build)(&boxes).height()), [2, 3, 2, 6].map(Some));
}

#[test]
fn tables_have_a_row_for_each_structure_and_a_cell_for_each_question() {
    let boxes = Kind::Uniform.generate(300, 1);
    let scene = count::Scene::measure("uniform:300".to_owned(), &boxes, 10, 1);
    for (table, columns, rows) in
        [(scene.table(), 10, 3 + ALL.len()), (count::summary(&[scene]), 8, 2 * (2 + ALL.len()))]
    {
        let lines = || table.lines().filter(|line| !line.is_empty());
        assert_eq!(lines().count(), rows, "{table}");
        assert!(lines().all(|line| line.matches('|').count() == columns + 1), "{table}");
    }
    assert_eq!(count::builds().lines().count(), 2 + ALL.len());
}
