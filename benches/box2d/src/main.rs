//! Compares the events of our CPU engine with those of Box2D's dynamic tree, on flat boxes: the time of a frame, and
//! the events.
//!
//!     CFLAGS=-DNDEBUG cargo run --release --manifest-path benches/box2d/Cargo.toml -- [BOXES...]
//!
//! Without these flags Box2D checks its assertions, and takes longer.
//!
//! Box2D's broad phase is private to its world (`src/broad_phase.h`), which needs bodies and contacts for a step. Its
//! tree is public. This program uses the tree much as the broad phase does. Boxes are padded by a twentieth of an edge.
//! A box that left its padding gets a new padded box, the enlarged parts of the tree are rebuilt, and the box queries
//! the tree. (Box2D queries before it rebuilds, which takes seconds where boxes jump.) Pairs of padded boxes are
//! cached, here in a list for each box (Box2D also has a hash set), and tested tightly if one of the two moved. Both
//! get the moved boxes and return the begun and ended pairs; ours also lists all pairs. Box2D has two dimensions: boxes
//! reach from 0 to 0 along z.

use std::ffi::c_void;
use std::time::Instant;

use boxdd_sys::ffi::{
    b2AABB, b2DynamicTree, b2DynamicTree_Create, b2DynamicTree_CreateProxy, b2DynamicTree_Destroy,
    b2DynamicTree_EnlargeProxy, b2DynamicTree_QueryAll, b2DynamicTree_Rebuild, b2Vec2,
};
use broadsweep::{Aabb, Options, Pair, PairOrder, Step, cpu};

/// By how much Box2D grows a box, where a mean edge is 1 (`B2_MAX_AABB_MARGIN`, of bodies of about a metre).
const MARGIN: f32 = 0.05;
/// Boxes to a square of the mean edge: each touches some four others.
const DENSITY: f32 = 1.0;
const FRAMES: usize = 60;
/// Frames that do not count.
const FIRST: usize = 5;

/// Kinds of motion: name; one box in this many moves in a frame; its distance in mean edges, or infinity for any place.
const MOTIONS: [(&str, usize, f32); 6] = [
    ("few: 1 % by 0.02", 100, 0.02),
    ("some: 10 % by 0.02", 10, 0.02),
    ("slow: all by 0.01", 1, 0.01),
    ("brisk: all by 0.1", 1, 0.1),
    ("fast: all by 0.5", 1, 0.5),
    ("jumps: all anywhere", 1, f32::INFINITY),
];

/// Numbers that are the same on every run (splitmix64).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// Boxes in a square.
struct Scene {
    random: Random,
    side: f32,
    boxes: Vec<Aabb>,
}

impl Scene {
    fn new(n: usize) -> Self {
        let side = (n as f32 / DENSITY).sqrt();
        let mut scene = Self { random: Random(1), side, boxes: Vec::new() };
        for _ in 0..n {
            let half = [0.25 + 0.5 * scene.random.unit(), 0.25 + 0.5 * scene.random.unit()];
            let center = scene.anywhere();
            scene.boxes.push(flat(center, half));
        }
        scene
    }

    fn anywhere(&mut self) -> [f32; 2] {
        [self.side * self.random.unit(), self.side * self.random.unit()]
    }

    /// Moves every so manyth box, another part in each frame, and returns which ones.
    fn step(&mut self, frame: usize, one_in: usize, by: f32) -> Vec<u32> {
        let moved: Vec<u32> = (0..self.boxes.len() as u32).filter(|&i| i as usize % one_in == frame % one_in).collect();
        for &i in &moved {
            let Aabb { min, max } = self.boxes[i as usize];
            let half = [0, 1].map(|k| 0.5 * (max[k] - min[k]));
            let center = if by.is_infinite() {
                self.anywhere()
            } else {
                let angle = std::f32::consts::TAU * self.random.unit();
                [min[0] + half[0] + by * angle.cos(), min[1] + half[1] + by * angle.sin()]
            };
            self.boxes[i as usize] = flat(center, half);
        }
        moved
    }
}

fn flat(center: [f32; 2], half: [f32; 2]) -> Aabb {
    Aabb::new([center[0] - half[0], center[1] - half[1], 0.0], [center[0] + half[0], center[1] + half[1], 0.0])
}

/// A pair of padded boxes, in the list of one of them.
struct Contact {
    other: u32,
    touches: bool,
}

/// Box2D's tree, and what its users keep.
struct Box2d {
    tree: b2DynamicTree,
    proxies: Vec<i32>,
    padded: Vec<b2AABB>,
    /// Of each box the others whose padded boxes meet its own. Each pair is in both lists.
    contacts: Vec<Vec<Contact>>,
    created: Vec<Pair>,
    lost: Vec<Pair>,
}

fn bounds(aabb: &Aabb, margin: f32) -> b2AABB {
    let [x, y, _] = aabb.min;
    let [to_x, to_y, _] = aabb.max;
    b2AABB {
        lowerBound: b2Vec2 { x: x - margin, y: y - margin },
        upperBound: b2Vec2 { x: to_x + margin, y: to_y + margin },
    }
}

fn contains(a: &b2AABB, b: &b2AABB) -> bool {
    (a.lowerBound.x <= b.lowerBound.x)
        & (a.lowerBound.y <= b.lowerBound.y)
        & (b.upperBound.x <= a.upperBound.x)
        & (b.upperBound.y <= a.upperBound.y)
}

fn meet(a: &b2AABB, b: &b2AABB) -> bool {
    (a.lowerBound.x <= b.upperBound.x)
        & (b.lowerBound.x <= a.upperBound.x)
        & (a.lowerBound.y <= b.upperBound.y)
        & (b.lowerBound.y <= a.upperBound.y)
}

unsafe extern "C" fn push(_proxy: i32, box_index: u64, found: *mut c_void) -> bool {
    // Safety: `find` hands its list over, which outlives the query.
    unsafe { (*found.cast::<Vec<u32>>()).push(box_index as u32) };
    true
}

impl Box2d {
    fn new(boxes: &[Aabb]) -> Self {
        // Safety: a tree that is only used by this value.
        let mut tree = unsafe { b2DynamicTree_Create(boxes.len() as i32) };
        let padded: Vec<b2AABB> = boxes.iter().map(|aabb| bounds(aabb, MARGIN)).collect();
        // Safety: as above.
        let proxies = (0..).zip(&padded).map(|(i, padded)| unsafe { b2DynamicTree_CreateProxy(&mut tree, *padded, 1, i) });
        let proxies = proxies.collect();
        let contacts = boxes.iter().map(|_| Vec::new()).collect();
        let mut engine = Self { tree, proxies, padded, contacts, created: Vec::new(), lost: Vec::new() };
        let all: Vec<u32> = (0..boxes.len() as u32).collect();
        engine.find(&all);
        engine.test(boxes, &all);
        engine
    }

    /// Adds the pairs of these padded boxes that are not known.
    fn find(&mut self, left: &[u32]) {
        let mut found: Vec<u32> = Vec::new();
        for &i in left {
            found.clear();
            let list: *mut Vec<u32> = &mut found;
            // Safety: the callback is given the list that it takes it for.
            unsafe { b2DynamicTree_QueryAll(&self.tree, self.padded[i as usize], Some(push), list.cast()) };
            for &other in found.iter().filter(|&&other| other != i) {
                if !self.contacts[i as usize].iter().any(|contact| contact.other == other) {
                    self.contacts[i as usize].push(Contact { other, touches: false });
                    self.contacts[other as usize].push(Contact { other: i, touches: false });
                }
            }
        }
    }

    /// Tests the contacts of boxes that moved, and drops those whose padded boxes do not meet.
    fn test(&mut self, boxes: &[Aabb], moved: &[u32]) {
        for &i in moved {
            let mut own = std::mem::take(&mut self.contacts[i as usize]);
            own.retain_mut(|contact| {
                let other = contact.other;
                let touches = boxes[i as usize].overlaps(&boxes[other as usize]);
                let is_retained = meet(&self.padded[i as usize], &self.padded[other as usize]);
                let is_changed = contact.touches != touches;
                if is_changed {
                    let list = if touches { &mut self.created } else { &mut self.lost };
                    list.push(Pair::new(i, other));
                    contact.touches = touches;
                }
                if is_changed || !is_retained {
                    let mirrored = &mut self.contacts[other as usize];
                    let at =
                        mirrored.iter().position(|contact| contact.other == i).expect("each pair is in both lists");
                    if is_retained {
                        mirrored[at].touches = touches;
                    } else {
                        mirrored.swap_remove(at);
                    }
                }
                is_retained
            });
            self.contacts[i as usize] = own;
        }
    }

    /// Shows a frame.
    fn step(&mut self, boxes: &[Aabb], moved: &[u32]) {
        self.created.clear();
        self.lost.clear();
        let mut left = Vec::new();
        for &i in moved {
            let aabb = &boxes[i as usize];
            if !contains(&self.padded[i as usize], &bounds(aabb, 0.0)) {
                self.padded[i as usize] = bounds(aabb, MARGIN);
                // Safety: the tree has this proxy.
                unsafe { b2DynamicTree_EnlargeProxy(&mut self.tree, self.proxies[i as usize], self.padded[i as usize]) };
                left.push(i);
            }
        }
        // Safety: as above. Not all of it: what was enlarged.
        unsafe { b2DynamicTree_Rebuild(&mut self.tree, false) };
        self.find(&left);
        self.test(boxes, moved);
    }
}

impl Drop for Box2d {
    fn drop(&mut self) {
        // Safety: it is not used again.
        unsafe { b2DynamicTree_Destroy(&mut self.tree) };
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Measures a motion: milliseconds of a frame for Box2D and for ours, and events of a frame. If the events of a frame
/// differ, the program ends.
fn measure(n: usize, one_in: usize, by: f32) -> (f64, f64, usize) {
    let mut scene = Scene::new(n);
    let mut box2d = Box2d::new(&scene.boxes);
    let options = Options::default().with_order(PairOrder::Canonical);
    let mut ours = cpu::BroadPhase::new(options).expect("the options are valid");
    ours.find_events(Step::new(&scene.boxes)).expect("a first frame");
    let (mut of_box2d, mut of_ours, mut events) = (Vec::new(), Vec::new(), 0);
    for frame in 0..FRAMES + FIRST {
        let moved = scene.step(frame, one_in, by);
        let start = Instant::now();
        box2d.step(&scene.boxes, &moved);
        let theirs = start.elapsed();
        let start = Instant::now();
        let found = ours.find_events(Step::new(&scene.boxes).moved(&moved).changes_only()).expect("a frame");
        let own = start.elapsed();
        // Ours are in canonical order already.
        box2d.created.sort_unstable();
        box2d.lost.sort_unstable();
        assert!(box2d.created == found.created && box2d.lost == found.lost, "frame {frame}: other events");
        if frame >= FIRST {
            of_box2d.push(1e3 * theirs.as_secs_f64());
            of_ours.push(1e3 * own.as_secs_f64());
            events += found.created.len() + found.lost.len();
        }
    }
    (median(&mut of_box2d), median(&mut of_ours), events / FRAMES)
}

fn main() {
    let mut sizes: Vec<usize> = std::env::args().skip(1).map(|text| text.parse().expect("a number of boxes")).collect();
    if sizes.is_empty() {
        sizes = vec![2000, 20_000, 100_000];
    }
    println!("| boxes | motion, in mean edges a frame | events | Box2D's tree, ms | ours, 1 thread, ms | ratio |");
    println!("|---|---|---|---|---|---|");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    for n in sizes {
        for (name, one_in, by) in MOTIONS {
            let (theirs, ours, events) = pool.install(|| measure(n, one_in, by));
            println!("| {n} | {name} | {events} | {theirs:.3} | {ours:.3} | {:.2} |", ours / theirs);
        }
    }
}
