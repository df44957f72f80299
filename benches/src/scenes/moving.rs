//! Scenes that move in steps. Any step is made by itself, in the same time as any other: positions are functions of the
//! time, so there is no state to carry from one step to the next.

use super::everyday::from_corner;
use super::random::{Random, cube_root};
use broadsweep::Aabb;

/// Seconds from one step of Broadmark to the next.
const TIME_STEP: f64 = 1.0 / 30.0;

/// The objects of Broadmark are cubes of this edge.
const EDGE: f64 = 1.0;

/// The part of Broadmark's world that its objects fill.
const DENSITY: f64 = 0.1;

/// The world of Broadmark: a cube around the origin, `side` wide, y upward.
struct World {
    side: f64,
    /// Centres keep this far from the origin on each axis, so that an upright cube stays inside.
    reach: f64,
}

/// An object of Broadmark as it starts.
struct Object {
    center: [f64; 3],
    /// The velocity, per second.
    velocity: [f64; 3],
    /// Half the edges of its box.
    half: [f64; 3],
}

impl World {
    fn new(n: usize) -> Self {
        let side = EDGE * cube_root(n.max(1) as f64 / DENSITY);
        Self { side, reach: 0.5 * (side - EDGE) }
    }

    /// Creates an object anywhere in a ball of 0.9 of the world, at any speed up to 0.75 of the world per second.
    fn object(&self, random: &mut Random) -> Object {
        let center = random.in_ball().map(|x| 0.45 * self.side * x);
        Object { center, velocity: self.velocity(random), half: tumbled(random) }
    }

    fn velocity(&self, random: &mut Random) -> [f64; 3] {
        random.in_ball().map(|x| 0.75 * self.side * x)
    }

    /// Returns where a centre is that would have come to `x` without walls, and is thrown back by walls at the speed it
    /// had.
    fn reflect(&self, x: f64) -> f64 {
        let turns = (x + self.reach) / (4.0 * self.reach);
        let way = 4.0 * self.reach * (turns - turns.floor());
        if way <= 2.0 * self.reach { way - self.reach } else { 3.0 * self.reach - way }
    }
}

/// Returns half the edges of the box around a cube that is turned in any direction: each from 1 to √3 of the cube's,
/// 1.5 on average.
fn tumbled(random: &mut Random) -> [f64; 3] {
    // A quaternion anywhere in the ball of four dimensions has any direction; its length is divided out.
    let ([x, y, z, w], square) = loop {
        let q = [0; 4].map(|_| 2.0 * random.unit() - 1.0);
        let square = q.iter().map(|x| x * x).sum::<f64>();
        if (0.01..=1.0).contains(&square) {
            break (q, square);
        }
    };
    let rows = [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), w * w - x * x + y * y - z * z, 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), w * w - x * x - y * y + z * z],
    ];
    rows.map(|row| 0.5 * EDGE / square * row.iter().map(|x| x.abs()).sum::<f64>())
}

fn around(center: [f64; 3], half: [f64; 3]) -> Aabb {
    from_corner([0, 1, 2].map(|k| center[k] - half[k]), half.map(|x| 2.0 * x))
}

/// Creates step `step` of a gas: cubes without gravity that start in a ball, and of which every one gets a new random
/// velocity once in 100 steps, in the order of the list. From about step 60 on they fill the world evenly.
///
/// After the scene of that name of Broadmark, with its numbers: cubes of edge 1 that fill a tenth of a cubic world, 30
/// steps per second, speeds up to three quarters of the world per second. There, the solver of a physics engine keeps
/// objects apart and turns them; here, each goes through the others, keeps the random orientation that it started with,
/// and is thrown back by walls only. O(n · (1 + step / 100)).
///
/// Source: Serpa and Rodrigues 2019, "Broadmark: A Testing Framework for Broad-Phase Collision Detection
/// Algorithms", and its scenario generator, <https://github.com/ppgia-unifor/Broadmark>.
pub fn brownian(n: usize, seed: u64, step: u32) -> Vec<Aabb> {
    /// Steps until every object has a new velocity.
    const CYCLE: u64 = 100;
    let world = World::new(n);
    let random = Random::new(seed, "brownian");
    (0..n)
        .map(|i| {
            let mut random = random.of(i);
            let Object { mut center, mut velocity, half } = world.object(&mut random);
            let (mut now, mut next) = (0, i as u64 * CYCLE / n as u64 + 1);
            loop {
                let until = next.min(u64::from(step));
                let seconds = TIME_STEP * (until - now) as f64;
                center = [0, 1, 2].map(|k| center[k] + seconds * velocity[k]);
                if until == u64::from(step) {
                    break;
                }
                (now, next) = (until, until + CYCLE);
                velocity = world.velocity(&mut random);
            }
            around(center.map(|x| world.reflect(x)), half)
        })
        .collect()
}

/// Creates step `step` of cubes that fly apart from a ball, fall along −y and come to rest on one another: at first all
/// move, after about 200 steps nearly none does.
///
/// After the scene of that name of Broadmark, with its numbers: those of [`brownian`], and a gravity of 0.0981 of
/// the world per second squared. Objects are not kept apart in the air, and do not bounce: each falls onto the bed
/// of those that came down before, which fills 0.6 of its volume, and stays there. O(n).
///
/// Source: as for [`brownian`].
pub fn free_fall(n: usize, seed: u64, step: u32) -> Vec<Aabb> {
    /// The part of its volume that a bed of cubes fills which fell at random.
    const PACKING: f64 = 0.6;
    /// Parts of [`LONGEST`] in which landings are counted.
    const BIN_COUNT: usize = 4096;
    /// Seconds after which all are down: sqrt(2 / 0.0981) = 4.5 up to the ceiling, and as long down.
    const LONGEST: f64 = 9.1;
    let world = World::new(n);
    let random = Random::new(seed, "free-fall");

    // How many have come down before each moment tells how high the bed is.
    let bin_of = |landing: f64| ((landing / LONGEST * BIN_COUNT as f64) as usize).min(BIN_COUNT - 1);
    let mut earlier = vec![0usize; BIN_COUNT + 1];
    for i in 0..n {
        let fall = Fall::new(&world, &world.object(&mut random.of(i)));
        earlier[bin_of(fall.landing(-world.reach)) + 1] += 1;
    }
    for bin in 0..BIN_COUNT {
        earlier[bin + 1] += earlier[bin];
    }
    let depth = world.side * DENSITY / PACKING;
    let now = TIME_STEP * f64::from(step);
    (0..n)
        .map(|i| {
            let object = world.object(&mut random.of(i));
            let fall = Fall::new(&world, &object);
            let landing = fall.landing(-world.reach);
            let bin = bin_of(landing);
            let part = (landing / LONGEST * BIN_COUNT as f64 - bin as f64).clamp(0.0, 1.0);
            let rank = earlier[bin] as f64 + part * (earlier[bin + 1] - earlier[bin]) as f64;
            let rest = -world.reach + depth * rank / n as f64;
            let landing = fall.landing(rest);
            let flown = now.min(landing);
            let [x, z] = [0, 2].map(|k| world.reflect(object.center[k] + flown * object.velocity[k]));
            around([x, if now < landing { fall.height(now) } else { rest }, z], object.half)
        })
        .collect()
}

/// One object's way up and down between the ceiling and the floor.
struct Fall {
    height: f64,
    speed: f64,
    gravity: f64,
    /// The time when the object hits the ceiling; infinite where it does not.
    bounce: f64,
}

impl Fall {
    fn new(world: &World, object: &Object) -> Self {
        let gravity = 0.0981 * world.side;
        let height = object.center[1].clamp(-world.reach, world.reach);
        let speed = object.velocity[1];
        let at_ceiling = speed * speed - 2.0 * gravity * (world.reach - height);
        let bounce =
            if speed > 0.0 && at_ceiling > 0.0 { (speed - at_ceiling.sqrt()) / gravity } else { f64::INFINITY };
        Self { height, speed, gravity, bounce }
    }

    fn height(&self, time: f64) -> f64 {
        // Thrown back, it takes the same way back.
        let time = if time > self.bounce { 2.0 * self.bounce - time } else { time };
        self.height + time * (self.speed - 0.5 * self.gravity * time)
    }

    /// Returns the time when the object comes down to `level`; at once where it starts below.
    fn landing(&self, level: f64) -> f64 {
        let at_level = (self.speed * self.speed + 2.0 * self.gravity * (self.height - level)).max(0.0).sqrt();
        let time = if self.bounce < f64::INFINITY {
            2.0 * self.bounce - (self.speed - at_level) / self.gravity
        } else {
            (self.speed + at_level) / self.gravity
        };
        time.max(0.0)
    }
}

/// Creates step `step` of a swarm of cubes under a strong gravity that turns once in 6.2 seconds about an axis that
/// turns as fast. The swarm is pressed against the walls, edges and corners of the world one after another, so every
/// box moves through most of the world, and the place of the highest density moves too.
///
/// After the scene of that name of Broadmark, with its numbers: those of [`brownian`], and its turning gravity.
/// Instead of a solver that keeps objects apart, the swarm follows gravity a second late, and is pressed together
/// toward the walls so far that the density in a corner is up to eleven times the mean. O(n + step).
///
/// Source: as for [`brownian`].
pub fn gravity(n: usize, seed: u64, step: u32) -> Vec<Aabb> {
    /// The strength with which gravity presses: the density at a wall is (1 + PRESS) / (1 − PRESS) of the mean.
    const PRESS: f64 = 0.78;
    let world = World::new(n);
    let random = Random::new(seed, "gravity");
    let pull = pull(step);
    let ratio = pull.map(|x| (1.0 - PRESS * x) / (1.0 + PRESS * x));
    let now = TIME_STEP * f64::from(step);
    (0..n)
        .map(|i| {
            let Object { center, velocity, half } = world.object(&mut random.of(i));
            let center = [0, 1, 2].map(|k| {
                // From 0 to 1 across the world, evenly at first; the map keeps both ends and the order.
                let u = 0.5 + 0.5 * world.reflect(center[k] + now * velocity[k]) / world.reach;
                let pressed = u / (u + ratio[k] * (1.0 - u));
                world.reach * (2.0 * pressed - 1.0)
            });
            around(center, half)
        })
        .collect()
}

/// Returns the direction of gravity as the swarm has followed it: within the unit ball, zero at first.
fn pull(step: u32) -> [f64; 3] {
    /// Cosine and sine of the angle by which gravity turns in a step, 360° in 6.2 s.
    const TURN: [f64; 2] = [0.999_429_490_929_718, 0.033_774_141_883_468_46];
    /// Steps until the swarm has followed, two thirds of the way.
    const DELAY: f64 = 30.0;
    let mut axis = [0.0, 1.0, 0.0];
    let mut direction = [1.0, 0.0, 0.0];
    let mut pull = [0.0; 3];
    for _ in 0..step {
        axis = turned(axis, [0.0, 0.0, 1.0], TURN);
        direction = turned(direction, axis, TURN);
        pull = [0, 1, 2].map(|k| pull[k] + (direction[k] - pull[k]) / DELAY);
    }
    pull
}

/// Returns `vector` turned about the unit vector `axis` (Rodrigues).
fn turned(vector: [f64; 3], axis: [f64; 3], [cos, sin]: [f64; 2]) -> [f64; 3] {
    let along = (1.0 - cos) * (0..3).map(|k| vector[k] * axis[k]).sum::<f64>();
    [0, 1, 2].map(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        cos * vector[k] + sin * (axis[i] * vector[j] - axis[j] * vector[i]) + along * axis[k]
    })
}

/// Creates step `step` of equal particles that sink along −z and come to rest: clear above, as dense as at first in the
/// middle, and eight times as dense at the bottom. After 350 steps all rest.
///
/// The scene that USSCD's experiments had in mind: equal spheres, so that their boxes are cubes (of edge 1 here),
/// uniform in a cube at first, which move in random directions at one speed. The paper of USSCD names neither a density
/// nor a speed. Here the spheres fill 0.08 of the cube, which starts at the origin, and 0.64 of the bed, as randomly
/// packed spheres do; they sink by a 400th of the cube's height per step, and drift as fast in a random horizontal
/// direction; and those that begin lower come to rest lower, as in the theory of sedimentation. O(n).
///
/// Source: Li, Lu and He 2003, "USSCD: A Fast Collision Detection Algorithm Based on Uniform Spatial Subdivision";
/// for the three layers, Kynch 1952, "A theory of sedimentation".
pub fn sediment(n: usize, seed: u64, step: u32) -> Vec<Aabb> {
    const SPHERE_VOLUME: f64 = core::f64::consts::PI / 6.0;
    const SUSPENDED: f64 = 0.08;
    const PACKED: f64 = 0.64;
    let random = Random::new(seed, "sediment");
    let side = cube_root(SPHERE_VOLUME / SUSPENDED * n.max(1) as f64);
    // Minimum corners keep this far from the origin.
    let reach = side - 1.0;
    let speed = reach / 400.0;
    (0..n)
        .map(|i| {
            let mut random = random.of(i);
            let [x, y, z] = random.unit3().map(|u| reach * u);
            let rest = z * SUSPENDED / PACKED;
            let height = (z - speed * f64::from(step)).max(rest);
            let drift: [f64; 2] = direction(&mut random);
            let [x, y] = [0, 1].map(|k| {
                // The way it has sunk is also the way it has drifted; walls throw it back.
                let turns = ([x, y][k] + (z - height) * drift[k]) / (2.0 * reach);
                let way = 2.0 * reach * (turns - turns.floor());
                way.min(2.0 * reach - way)
            });
            from_corner([x, y, height], [1.0; 3])
        })
        .collect()
}

/// The parameters of [`particles`], in one unit of length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Particles {
    /// The cube that they fly in is this wide, from the origin on.
    pub side: f64,
    /// The diameter of the largest particle.
    pub diameter: f64,
    /// The distance that each particle flies from one step to the next.
    pub speed: f64,
}

/// Creates step `step` of spheres of nearly equal size, the smallest a tenth smaller than the largest, that are uniform
/// in a cube at all times: each flies in a random direction, all at one speed, and is thrown back by walls only.
///
/// This is the scene of USSCD's experiments, with everything that the experiments vary as a parameter. `side` is to be
/// positive and larger than `diameter`, and all three are to be finite. O(n).
///
/// ```
/// use laboratory::scenes::{Particles, particles};
///
/// let space = Particles { side: 20.0, diameter: 1.0, speed: 0.1 };
/// let [now, next] = [0, 1].map(|step| particles(1000, 1, step, space));
/// assert!((0..3).all(|k| (now[7].min[k] - next[7].min[k]).abs() <= 0.1001));
/// ```
///
/// Source: as for [`sediment`].
pub fn particles(n: usize, seed: u64, step: u32, space: Particles) -> Vec<Aabb> {
    let random = Random::new(seed, "particles");
    let way = space.speed * f64::from(step);
    (0..n).map(|i| particle_after(way, random.of(i), space)).collect()
}

/// Creates the box of a particle after this way. All else is drawn.
pub(super) fn particle_after(way: f64, mut random: Random, space: Particles) -> Aabb {
    let edge = space.diameter * random.between(0.9, 1.0);
    // Minimum corners go from 0 to this, and back.
    let reach = (space.side - edge).max(1e-6 * space.side);
    let start = random.unit3();
    let direction: [f64; 3] = direction(&mut random);
    let min = [0, 1, 2].map(|k| {
        let turns = 0.5 * start[k] + way * direction[k] / (2.0 * reach);
        let part = 2.0 * (turns - turns.floor());
        reach * part.min(2.0 - part)
    });
    from_corner(min, [edge; 3])
}

/// Draws a unit vector in any direction, by rejection.
fn direction<const D: usize>(random: &mut Random) -> [f64; D] {
    loop {
        let point = [0; D].map(|_| 2.0 * random.unit() - 1.0);
        let square = point.iter().map(|x| x * x).sum::<f64>();
        if (0.01..=1.0).contains(&square) {
            return point.map(|x| x / square.sqrt());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn centers(boxes: &[Aabb]) -> Vec<[f64; 3]> {
        boxes.iter().map(|b| [0, 1, 2].map(|k| 0.5 * (f64::from(b.min[k]) + f64::from(b.max[k])))).collect()
    }

    fn mean(centers: &[[f64; 3]]) -> [f64; 3] {
        [0, 1, 2].map(|k| centers.iter().map(|c| c[k]).sum::<f64>() / centers.len() as f64)
    }

    type Generator = fn(usize, u64, u32) -> Vec<Aabb>;
    const BROADMARK: [Generator; 3] = [brownian, free_fall, gravity];

    #[test]
    fn objects_start_in_a_ball_and_stay_in_the_world() {
        let n = 2000;
        let world = World::new(n);
        assert!((world.side.powi(3) - 20_000.0).abs() < 1e-6);
        for generator in BROADMARK {
            for center in centers(&generator(n, 1, 0)) {
                assert!(center.iter().map(|x| x * x).sum::<f64>().sqrt() < 0.46 * world.side, "{center:?}");
            }
            for step in [1, 17, 100, 999, u32::from(u16::MAX)] {
                for center in centers(&generator(n, 1, step)) {
                    assert!(center.iter().all(|x| x.abs() < world.reach + 1e-5), "{center:?}");
                }
            }
        }
    }

    #[test]
    fn no_object_jumps_from_one_step_to_the_next() {
        let n = 500;
        let world = World::new(n);
        for (generator, fastest) in BROADMARK.into_iter().zip([0.75, 1.0, 8.0]) {
            for step in [0, 1, 50, 90, 99, 100, 101, 300] {
                let (now, next) = (centers(&generator(n, 2, step)), centers(&generator(n, 2, step + 1)));
                let mut moved_count = 0;
                for (a, b) in now.iter().zip(&next) {
                    let way = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
                    assert!(way < fastest * world.side * TIME_STEP + 1e-4, "step {step}: {way}");
                    moved_count += usize::from(way > 0.0);
                }
                assert!(moved_count > 0 || step == 300, "step {step}");
            }
        }
    }

    #[test]
    fn a_box_around_a_turned_cube_has_edges_of_one_to_the_root_of_three() {
        let mut random = Random::new(1, "tumbled");
        let edges: Vec<f64> = (0..3000).flat_map(|_| tumbled(&mut random)).map(|half| 2.0 * half).collect();
        assert!(edges.iter().all(|edge| (0.999_999..1.732_06).contains(edge)));
        let mean = edges.iter().sum::<f64>() / edges.len() as f64;
        assert!((mean - 1.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn a_gas_fills_its_world_evenly() {
        let n = 8000;
        let world = World::new(n);
        let mut counts = [0; 8];
        for center in centers(&brownian(n, 1, 300)) {
            counts[(0..3).map(|k| usize::from(center[k] > 0.0) << k).sum::<usize>()] += 1;
            assert!(center.iter().all(|x| x.abs() <= world.reach + 1e-5));
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn what_fell_rests_in_a_bed_that_is_denser_than_the_air() {
        let n = 5000;
        let world = World::new(n);
        let resting = |step| {
            let (now, next) = (centers(&free_fall(n, 1, step)), centers(&free_fall(n, 1, step + 1)));
            now.iter().zip(&next).filter(|(a, b)| a == b).count()
        };
        let (early, late) = (resting(20), resting(90));
        assert!(early < n / 4 && n / 4 < late && late < n && resting(280) == n, "{early} {late}");
        let bed = -world.reach + world.side / 6.0 + 1e-5;
        assert!(centers(&free_fall(n, 1, 280)).iter().all(|c| c[1] <= bed));
        // The bed has a sixth of the world, and more than half of the objects.
        let in_bed = centers(&free_fall(n, 1, 90)).iter().filter(|c| c[1] <= bed).count();
        assert!(in_bed > n / 2, "{in_bed}");
    }

    #[test]
    fn the_swarm_follows_gravity_through_the_world() {
        let world = World::new(2000);
        let (mut least, mut most) = ([f64::MAX; 3], [f64::MIN; 3]);
        for step in (60..1000).step_by(10) {
            let mean = mean(&centers(&gravity(2000, 1, step))).map(|x| x / world.side);
            let pull = pull(step);
            let strength = pull.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(strength <= 1.0);
            let along = (0..3).map(|k| mean[k] * pull[k]).sum::<f64>();
            assert!(along > 0.1 * strength * strength, "step {step}: {mean:?} {pull:?}");
            for k in 0..3 {
                least[k] = least[k].min(mean[k]);
                most[k] = most[k].max(mean[k]);
            }
        }
        assert!((0..3).all(|k| least[k] < -0.1 && 0.1 < most[k]), "{least:?} {most:?}");
    }

    #[test]
    fn sediment_is_clear_above_and_dense_below() {
        let n = 20_000;
        let side = cube_root(core::f64::consts::PI / 6.0 / 0.08 * n as f64);
        let share = |step, low: f64, high: f64| {
            let centers = centers(&sediment(n, 1, step));
            centers.iter().filter(|c| (low * side..high * side).contains(&c[2])).count() as f64 / n as f64
        };
        assert!((share(0, 0.0, 0.5) - 0.5).abs() < 0.02);
        // Half way, the layers are bed, suspension and clear liquid.
        let bed = share(200, 0.0, 0.0625);
        let suspended = share(200, 0.25, 0.3125);
        assert!(bed > 6.0 * suspended && suspended > 0.04, "{bed} {suspended}");
        assert_eq!(share(200, 0.55, 1.0), 0.0);
        assert!(share(400, 0.0, 0.16) > 0.99);
        assert_eq!(sediment(n, 1, 350), sediment(n, 1, 351));
    }

    #[test]
    fn particles_fill_their_space_evenly_and_fly_at_one_speed() {
        let n = 4000;
        let space = Particles { side: 30.0, diameter: 1.0, speed: 0.25 };
        for step in [0, 1, 40, 1000] {
            let [now, next] = [step, step + 1].map(|step| particles(n, 1, step, space));
            let mut counts = [0; 8];
            let mut thrown_back_count = 0;
            for (now, next) in now.iter().zip(&next) {
                assert!(now.min.iter().all(|x| *x >= 0.0) && now.max.iter().all(|x| *x <= 30.0), "{now:?}");
                let edge = f64::from(now.max[0] - now.min[0]);
                assert!((0.899..1.001).contains(&edge), "{edge}");
                let moved = (0..3).map(|k| f64::from(next.min[k] - now.min[k]).powi(2)).sum::<f64>().sqrt();
                assert!(moved < 0.25 + 1e-4, "{moved}");
                thrown_back_count += usize::from(moved < 0.25 - 1e-4);
            }
            for center in centers(&now) {
                counts[(0..3).map(|k| usize::from(center[k] > 15.0) << k).sum::<usize>()] += 1;
            }
            assert!(counts.iter().all(|count| (430..570).contains(count)), "{counts:?}");
            // Three pairs of walls, and a mean way of an eighth towards one of a pair.
            assert!((20..160).contains(&thrown_back_count), "{thrown_back_count}");
        }
    }

    #[test]
    fn particles_in_no_space_are_where_they_can_be() {
        for side in [1.0, 0.95, 0.1] {
            let boxes = particles(100, 1, 3, Particles { side, diameter: 1.0, speed: 1.0 });
            assert!(boxes.iter().all(|aabb| aabb.is_valid() && aabb.min.iter().all(|x| x.is_finite())), "{side}");
        }
    }
}
