//! The mean cost of many queries, and tables of it.

use std::fmt::Write as _;

use broadsweep::Aabb;

use super::{ALL, Counts, Search, Structure, Target};
use crate::baselines::slabs::Slabs;
use crate::queries::{Asked, Question, RayQuestion};
use crate::scenes::queries::RayKind;

/// What is asked of every structure.
pub const QUESTIONS: [Question; 7] = [
    Question::Rays(RayKind::Camera, RayQuestion::Nearest),
    Question::Rays(RayKind::Incoherent, RayQuestion::Nearest),
    Question::Rays(RayKind::Incoherent, RayQuestion::All),
    Question::Overlaps(10),
    Question::Overlaps(1000),
    Question::Nearest(1),
    Question::Nearest(10),
];

/// Makes a search of each query. Whether a ray hits any box is not asked.
pub fn searches(asked: &Asked) -> Vec<Search> {
    let rays = |rays: &[broadsweep::Ray], most| {
        let target = |ray| Some(Target::Ray(Slabs::new(ray)?));
        rays.iter().filter_map(target).map(|target| Search::new(target, most)).collect()
    };
    match asked {
        Asked::NearestHits(own) => rays(own, Some(1)),
        Asked::AllHits(own) => rays(own, None),
        Asked::AnyHits(_) => Vec::new(),
        Asked::Overlaps(shapes) => shapes.iter().map(|shape| Search::new(Target::Shape(*shape), None)).collect(),
        Asked::Nearest(points, most) => {
            let target = |query: &broadsweep::NearestQuery| Target::Point(query.point.map(f64::from));
            points.iter().map(|query| Search::new(target(query), Some(*most))).collect()
        }
    }
}

/// The cost of a query on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// Fetches, tests, and bytes.
    pub costs: [f64; 3],
    /// Boxes found.
    pub answers: f64,
}

impl Mean {
    /// Asks a structure all queries of a batch.
    pub fn of(structure: &dyn Structure, asked: &Asked) -> Self {
        let searches = searches(asked);
        let count = searches.len().max(1) as f64;
        let mut mean = Self::default();
        for mut search in searches {
            structure.search(&mut search);
            let Counts { fetches, tests, bytes } = search.counts;
            for (sum, cost) in mean.costs.iter_mut().zip([fetches, tests, bytes]) {
                *sum += cost as f64 / count;
            }
            mean.answers += search.finish().len() as f64 / count;
        }
        mean
    }
}

/// The costs in one scene.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The name of the scene.
    pub name: String,
    /// The levels and the bytes for each box, for each of [`ALL`].
    pub shapes: Vec<(Option<u32>, f64)>,
    /// For each of [`ALL`], the costs of each of [`QUESTIONS`].
    pub rows: Vec<[Mean; QUESTIONS.len()]>,
}

impl Scene {
    /// Asks this many queries of each kind of every structure, one structure after the other: memory holds one.
    pub fn measure(name: String, boxes: &[Aabb], query_count: usize, seed: u64) -> Self {
        let asked = QUESTIONS.map(|question| question.ask(query_count, seed, boxes));
        let mut scene = Self { name, shapes: Vec::new(), rows: Vec::new() };
        for listing in ALL {
            let structure = (listing.build)(boxes);
            scene.shapes.push((structure.height(), structure.bytes() as f64 / boxes.len().max(1) as f64));
            scene.rows.push(std::array::from_fn(|at| Mean::of(&*structure, &asked[at])));
        }
        scene
    }

    /// Writes the table of the scene: in each cell fetches, tests and kilobytes.
    pub fn table(&self) -> String {
        let head = format!("{} | levels | bytes of a box", self.name);
        let mut table = table_head(&head);
        let answers: String = self.rows[0].iter().map(|mean| format!(" {} |", digits(mean.answers))).collect();
        let _ = writeln!(table, "| (answers) | | |{answers}");
        for ((listing, (height, bytes)), row) in ALL.iter().zip(&self.shapes).zip(&self.rows) {
            let height = height.map_or("–".to_owned(), |height| height.to_string());
            let cell = |mean: &Mean| {
                let [fetches, tests, bytes] = mean.costs;
                format!(" {} / {} / {} |", digits(fetches), digits(tests), digits(bytes / 1e3))
            };
            let cells: String = row.iter().map(cell).collect();
            let _ = writeln!(table, "| {} | {height} | {} |{cells}", listing.name, digits(*bytes));
        }
        table
    }
}

/// Writes the tables of all scenes together: in each cell fetches, tests and bytes, as multiples of those of the first
/// structure: the geometric mean over the scenes, and the worst of them.
pub fn summary(scenes: &[Scene]) -> String {
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let most = |logs: &[f64]| logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut tables = summary_by(scenes, "geometric mean", mean);
    tables.push('\n');
    tables + &summary_by(scenes, "worst", most)
}

fn summary_by(scenes: &[Scene], name: &str, of_logs: fn(&[f64]) -> f64) -> String {
    let mut table = table_head(&format!("{name} of {} scenes", scenes.len()));
    for (at, listing) in ALL.iter().enumerate() {
        let cell = |question: usize| {
            let [fetches, tests, bytes] = std::array::from_fn(|k| {
                let cost = |scene: &Scene, at: usize| scene.rows[at][question].costs[k];
                let logs: Vec<f64> = scenes.iter().map(|scene| (cost(scene, at) / cost(scene, 0)).ln()).collect();
                digits_of_ratio(of_logs(&logs).exp())
            });
            format!(" {fetches} / {tests} / {bytes} |")
        };
        let cells: String = (0..QUESTIONS.len()).map(cell).collect();
        let _ = writeln!(table, "| {} |{cells}", listing.name);
    }
    table
}

/// Writes how each structure is built.
pub fn builds() -> String {
    let row = |listing: &super::Listing| format!("| {} | {} |\n", listing.name, listing.built_by);
    format!("| structure | built by |\n|---|---|\n{}", ALL.iter().map(row).collect::<String>())
}

fn table_head(first: &str) -> String {
    let names: String = QUESTIONS.iter().map(|question| format!(" {question} |")).collect();
    let columns = first.matches('|').count() + 1 + QUESTIONS.len();
    format!("| {first} |{names}\n|{}\n", "---|".repeat(columns))
}

/// Writes a number with two digits or more.
fn digits(number: f64) -> String {
    if number < 9.95 { format!("{number:.1}") } else { crate::text::count(number.round() as u64) }
}

fn digits_of_ratio(ratio: f64) -> String {
    if ratio < 9.995 { format!("{ratio:.2}") } else { digits(ratio) }
}
