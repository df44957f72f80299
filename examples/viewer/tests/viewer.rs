//! Frames without a window, on whatever adapter there is.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use broadsweep::{Aabb, CellSize, Filters, Gpu, SweepAxis, cpu, wgpu};
use broadsweep_viewer::error::Error;
use broadsweep_viewer::offscreen::{self, Measured, Shot};
use broadsweep_viewer::picture::{Format, Target};
use broadsweep_viewer::scene::{Kind, Scene};
use broadsweep_viewer::settings::{Lines, Settings};
use broadsweep_viewer::trace::Trace;
use broadsweep_viewer::viewer::Viewer;
use broadsweep_viewer::{device, inspect};

const MILLISECOND: Duration = Duration::from_millis(1);
const SIZE: [u32; 2] = [240, 150];
const FORMAT: Format = Format { color: offscreen::COLOR, samples: 1 };

static GPU: LazyLock<Gpu> = LazyLock::new(new_gpu);

fn adapter() -> wgpu::Adapter {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    pollster::block_on(instance.request_adapter(&Default::default())).expect("an adapter")
}

fn new_gpu() -> Gpu {
    pollster::block_on(device::request(&adapter())).unwrap()
}

fn settings(kind: Kind, box_count: u32) -> Settings {
    Settings { kind, box_count, ..Settings::default() }
}

fn viewer(settings: Settings) -> Viewer {
    Viewer::new(&GPU, FORMAT, settings, Vec::new()).unwrap()
}

/// Boxes as a file may have them: one is unbounded, and one is invalid.
fn mesh() -> Vec<Aabb> {
    let mut boxes: Vec<Aabb> = (0..400)
        .map(|i| {
            let at = [i % 8, i / 8 % 8, i / 64].map(|k| 3.0 * k as f32);
            Aabb::new(at, at.map(|x| x + 2.9))
        })
        .collect();
    boxes[3].max[2] = f32::INFINITY;
    boxes[9].min[0] = f32::NAN;
    boxes
}

/// Renders into a file, and returns what was measured, and the pixels: red, green and blue of each.
fn render(viewer: &mut Viewer, frames: u32, name: &str) -> (Measured, Vec<[u8; 3]>) {
    let out = std::env::temp_dir().join(format!("broadsweep-viewer-{}-{name}.png", std::process::id()));
    let shot = Shot { out: out.clone(), size: SIZE, frames, every: None, turn: 0.0, has_panel: false };
    let measured = offscreen::run(viewer, &shot, &Trace::default()).unwrap();
    let mut reader =
        png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&out).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(([info.width, info.height], info.color_type), (SIZE, png::ColorType::Rgb));
    std::fs::remove_file(out).unwrap();
    (measured, bytes.chunks(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect())
}

/// Returns the part of the pixels that satisfy `is`.
fn part(pixels: &[[u8; 3]], is: impl Fn([u8; 3]) -> bool) -> f64 {
    pixels.iter().filter(|&&pixel| is(pixel)).count() as f64 / pixels.len() as f64
}

fn is_background([red, green, blue]: [u8; 3]) -> bool {
    red < 30 && green < 32 && blue < 40
}

/// Boxes with pairs are warmer than boxes without.
fn is_warm([red, _, blue]: [u8; 3]) -> bool {
    u32::from(red) > u32::from(blue) + 20
}

/// Finds the pairs of the boxes on the device with the CPU engine.
fn expected_pairs(viewer: &Viewer, filters: Filters) -> u64 {
    let boxes: Vec<Aabb> = inspect::read(viewer.gpu(), viewer.boxes());
    let mut engine = cpu::BroadPhase::new(Default::default()).unwrap();
    engine.set_filters(filters).unwrap();
    engine.find_pairs(&boxes).unwrap().pairs.len() as u64
}

#[test]
fn every_scene_shows_its_boxes_and_has_the_pairs_of_the_cpu_engine() {
    for (kind, box_count) in [(Kind::Pile, 3000), (Kind::Clusters, 3000), (Kind::City, 2600), (Kind::Robots, 4000)] {
        for has_events in [true, false] {
            let settings = Settings { has_events, ..settings(kind, box_count) };
            let mut viewer = viewer(settings);
            let (measured, pixels) = render(&mut viewer, 12, &format!("{kind:?}-{has_events}"));
            let scene = Scene::new(kind, box_count, &[]);
            assert_eq!(measured.box_count, scene.box_count());
            assert!(measured.pair_count > 100, "{kind:?}: {measured:?}");
            assert_eq!(measured.pair_count, expected_pairs(&viewer, scene.filters), "{kind:?}, events: {has_events}");
            let background = part(&pixels, is_background);
            assert!((0.02..0.9).contains(&background), "{kind:?}: {background} is background");
            let warm = part(&pixels, is_warm);
            assert!((0.0005..0.7).contains(&warm), "{kind:?}, events: {has_events}: {warm} is warm");
            if GPU.device().features().contains(Gpu::TIMING_FEATURES) {
                assert!(measured.parts.iter().all(|ms| *ms > 0.0), "{measured:?}");
            }
        }
    }
}

#[test]
fn the_boxes_of_a_file_are_shown_even_where_some_have_no_end() {
    let mesh = mesh();
    let settings = settings(Kind::Mesh, mesh.len() as u32);
    let mut viewer = Viewer::new(&GPU, FORMAT, settings, mesh.clone()).unwrap();
    let (measured, pixels) = render(&mut viewer, 5, "mesh");
    assert_eq!(measured.box_count, 400);
    assert_eq!(measured.pair_count, expected_pairs(&viewer, Filters::default()));
    assert!(part(&pixels, is_background) < 0.95);
    // The box with a NaN touches nothing, and the unbounded one touches others.
    let boxes: Vec<Aabb> = inspect::read(viewer.gpu(), viewer.boxes());
    assert_eq!(boxes.iter().position(|aabb| !aabb.is_valid()), Some(9));
    assert!(boxes[3].max[2] - boxes[3].min[2] > 1e3);
    // A single point has no size to scale by.
    let point = Aabb::new([5.0; 3], [5.0; 3]);
    let mut viewer = Viewer::new(&GPU, FORMAT, Settings { is_paused: true, ..settings }, vec![point; 400]).unwrap();
    assert_eq!(render(&mut viewer, 2, "point").0.pair_count, 400 * 399 / 2);
    assert!(inspect::read::<Aabb>(viewer.gpu(), viewer.boxes()).iter().all(|aabb| aabb.min == aabb.max));
}

#[test]
fn frames_leave_nothing_behind() {
    // A device of its own: on the other one tests run beside each other.
    let mut viewer = Viewer::new(&new_gpu(), FORMAT, settings(Kind::Pile, 300), Vec::new()).unwrap();
    // Creates what later frames reuse.
    render(&mut viewer, 60, "first");
    let bytes = viewer.bytes();
    let out = std::env::temp_dir().join(format!("broadsweep-viewer-{}-many.png", std::process::id()));
    let shot = Shot { out: out.clone(), size: [48, 32], frames: 200, every: None, turn: 0.0, has_panel: false };
    offscreen::run(&mut viewer, &shot, &Trace::off()).unwrap();
    std::fs::remove_file(out).unwrap();
    assert_eq!(viewer.bytes(), bytes);
    let kept = (viewer.gpu().cached_bind_groups(), viewer.gpu().compiled_kernels().len());
    render(&mut viewer, 100, "last");
    assert_eq!((viewer.gpu().cached_bind_groups(), viewer.gpu().compiled_kernels().len()), kept);
}

#[test]
fn the_same_frames_are_the_same_picture() {
    let picture = || render(&mut viewer(settings(Kind::Pile, 1500)), 40, "again");
    let (first, second) = (picture(), picture());
    assert_eq!(first.0.pair_count, second.0.pair_count);
    assert!(first.1 == second.1, "two runs on one device differ");
}

#[test]
fn boxes_fall_and_come_to_rest_on_the_ground_and_on_each_other() {
    let mut viewer = viewer(Settings { lines: Lines::None, ..settings(Kind::Pile, 600) });
    render(&mut viewer, 2, "falling");
    let height = |viewer: &Viewer| {
        let boxes: Vec<Aabb> = inspect::read(viewer.gpu(), viewer.boxes());
        boxes[1..].iter().map(|aabb| f64::from(aabb.min[2])).sum::<f64>() / (boxes.len() - 1) as f64
    };
    let high = height(&viewer);
    render(&mut viewer, 500, "fallen");
    let (low, boxes) = (height(&viewer), inspect::read::<Aabb>(viewer.gpu(), viewer.boxes()));
    assert!(low < 0.65 * high, "from {high} to {low}");
    assert!(boxes[1..].iter().all(|aabb| aabb.min[2] > -0.2), "through the ground");
    // Most move less than 0.01 in a frame.
    render(&mut viewer, 1, "still");
    let later = inspect::read::<Aabb>(viewer.gpu(), viewer.boxes());
    let still = boxes.iter().zip(&later).filter(|(a, b)| (a.min[2] - b.min[2]).abs() < 0.01).count();
    assert!(still > 9 * boxes.len() / 10, "{still} of {} lie still", boxes.len());
    viewer.kick();
    render(&mut viewer, 20, "kicked");
    assert!(height(&viewer) > low + 0.5);
}

#[test]
fn nothing_moves_while_paused_but_by_a_step() {
    let mut viewer = viewer(Settings { is_paused: true, ..settings(Kind::Clusters, 700) });
    let (first, _) = render(&mut viewer, 3, "paused");
    let at = |viewer: &Viewer| inspect::read::<Aabb>(viewer.gpu(), viewer.boxes());
    let before = at(&viewer);
    let (second, pixels) = render(&mut viewer, 3, "paused");
    assert_eq!((at(&viewer), first.pair_count), (before.clone(), second.pair_count));
    viewer.step();
    render(&mut viewer, 3, "stepped");
    let stepped = at(&viewer);
    assert_ne!(stepped, before);
    render(&mut viewer, 3, "stepped");
    assert_eq!(at(&viewer), stepped);
    // No pair begins: nothing flashes.
    assert!(part(&pixels, |[red, green, blue]| red.min(green).min(blue) > 215) < 0.001);
}

#[test]
fn settings_change_while_it_runs() {
    let mut viewer = viewer(settings(Kind::Pile, 900));
    let mut counts = Vec::new();
    let changes: [fn(&mut Settings); 10] = [
        |_| {},
        |settings| settings.axis = SweepAxis::Principal,
        |settings| settings.cell_size = CellSize::Fixed(0.7),
        |settings| settings.has_events = false,
        |settings| settings.has_grid = true,
        |settings| settings.lines = Lines::All,
        |settings| (settings.has_events, settings.has_grid) = (true, false),
        |settings| settings.box_count = 3000,
        |settings| settings.kind = Kind::Robots,
        |settings| settings.kind = Kind::City,
    ];
    for change in changes {
        change(&mut viewer.settings);
        let (measured, _) = render(&mut viewer, 3, "changed");
        let scene = Scene::new(viewer.settings.kind, viewer.settings.box_count, &[]);
        assert_eq!(measured.pair_count, expected_pairs(&viewer, scene.filters), "{:?}", viewer.settings);
        counts.push(measured.box_count);
    }
    assert_eq!(counts, [900, 900, 900, 900, 900, 900, 900, 3000, 3001, 3000]);
}

#[test]
fn the_grid_that_is_drawn_is_that_of_the_search() {
    let mut viewer = viewer(Settings { has_grid: true, cell_size: CellSize::Fixed(3.0), ..settings(Kind::Pile, 4000) });
    let plain = render(&mut viewer, 6, "grid");
    let report = viewer.read_back().report.clone().unwrap();
    assert_eq!((report.cell_size, report.pair_count), (3.0, plain.0.pair_count));
    assert!(report.candidate_count >= report.pair_count);
    viewer.settings.is_paused = true;
    let (_, with_grid) = render(&mut viewer, 2, "grid");
    // Blue lines over the background.
    let is_line = |[red, green, blue]: [u8; 3]| blue > 90 && blue > red && green > red;
    viewer.settings.has_grid = false;
    let (_, without) = render(&mut viewer, 2, "no-grid");
    let lines = with_grid.iter().zip(&without).filter(|(with, without)| is_line(**with) && is_background(**without));
    assert!(lines.count() > 200);
}

#[test]
fn the_pointer_picks_a_box_and_a_sphere_marks_what_it_touches() {
    for kind in [Kind::Pile, Kind::Robots] {
        let mut viewer = viewer(Settings { is_paused: true, ..settings(kind, 3000) });
        viewer.point_at(Some(glam::Vec2::new(0.0, -0.1)));
        let (_, pixels) = render(&mut viewer, 2, "picked");
        let [index, world] = inspect::read::<[u32; 2]>(viewer.gpu(), viewer.pointed())[0];
        assert!(index < viewer.box_count() && world < 125, "{kind:?}: {index}, {world}");
        let is_green = |[red, green, blue]: [u8; 3]| green > 150 && red < 140 && blue < 160 && green > blue + 60;
        assert!(part(&pixels, is_green) < 1e-4, "{kind:?}");
        viewer.settings.sphere = Some(1.5);
        let (_, pixels) = render(&mut viewer, 2, "sphere");
        assert!(part(&pixels, is_green) > 1e-3, "{kind:?}: {}", part(&pixels, is_green));
        // At nothing.
        viewer.settings.sphere = None;
        viewer.point_at(Some(glam::Vec2::new(0.99, 0.99)));
        render(&mut viewer, 2, "nothing");
        let [index, _] = inspect::read::<[u32; 2]>(viewer.gpu(), viewer.pointed())[0];
        assert_eq!(index, u32::MAX, "{kind:?}");
    }
}

#[test]
fn no_frame_compiles_a_kernel_of_the_library_once_it_is_ready() {
    for kind in [Kind::Pile, Kind::Robots] {
        let gpu = new_gpu();
        let settings = Settings { sphere: Some(1.5), ..settings(kind, 3000) };
        let mut viewer = Viewer::new(&gpu, FORMAT, settings, Vec::new()).unwrap();
        viewer.point_at(Some(glam::Vec2::ZERO));
        pollster::block_on(viewer.ready()).unwrap();
        let compiled = gpu.compiled_kernels();
        render(&mut viewer, 4, "ready");
        assert_ne!(inspect::read::<u32>(&gpu, viewer.pointed())[0], u32::MAX, "{kind:?}: nothing is picked");
        assert_eq!(gpu.compiled_kernels(), compiled, "{kind:?}");
    }
}

#[test]
fn the_first_frames_have_all_pairs_before_the_kernels_of_later_ones_are_compiled() {
    let gpu = new_gpu();
    let settings = Settings { has_events: false, ..settings(Kind::Pile, 3000) };
    let mut viewer = Viewer::new(&gpu, FORMAT, settings, Vec::new()).unwrap();
    while !viewer.is_ready().unwrap() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let compiled = gpu.compiled_kernels();
    assert!(compiled.contains(&"small_emit") && !compiled.contains(&"sweep_test"), "{compiled:?}");
    let texture = inspect::texture(gpu.device(), SIZE);
    let target = Target { view: &texture.create_view(&Default::default()), size: SIZE };
    let filters = Scene::new(Kind::Pile, 3000, &[]).filters;
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    // Until the options are those that were requested.
    while found.last().is_none_or(|(all_pairs_up_to, _)| *all_pairs_up_to == found[0].0) {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        assert!(viewer.record(&mut encoder, &target).unwrap(), "a frame in which nothing moves");
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        found.extend(viewer.poll().report.as_ref().map(|report| (report.all_pairs_up_to, report.pair_count)));
        expected.push(expected_pairs(&viewer, filters.clone()));
    }
    // The counts that are read back may be of the frame before.
    let is_expected = |(_, pair_count): &(u32, u64)| *pair_count > 0 && expected.contains(pair_count);
    assert!(found.iter().all(is_expected), "{expected:?}: {found:?}");
}

/// Keeps all of rayon's threads busy until it is dropped: no further kernel is compiled.
struct BusyThreads(Arc<AtomicBool>);

impl BusyThreads {
    fn start() -> Self {
        let (is_over, busy) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (seen, count) = (Arc::clone(&is_over), Arc::clone(&busy));
        rayon::spawn_broadcast(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            while !seen.load(Ordering::Relaxed) {
                std::thread::sleep(MILLISECOND);
            }
        });
        let threads = Self(is_over);
        while busy.load(Ordering::Relaxed) < rayon::current_num_threads() {
            std::thread::sleep(MILLISECOND);
        }
        threads
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn boxes_move_on_after_changes_while_the_kernels_of_the_sweep_are_compiled() {
    let gpu = new_gpu();
    let mut viewer = Viewer::new(&gpu, FORMAT, settings(Kind::Pile, 3000), Vec::new()).unwrap();
    let texture = inspect::texture(gpu.device(), SIZE);
    let target = Target { view: &texture.create_view(&Default::default()), size: SIZE };
    let frame = |viewer: &mut Viewer| {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let moves = viewer.record(&mut encoder, &target).unwrap();
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        moves
    };
    while viewer.poll().pair_count().is_none() {
        frame(&mut viewer);
    }
    let compiled = gpu.compiled_kernels();
    assert!(!compiled.contains(&"sweep_test"), "{compiled:?}");
    let changes: [fn(&mut Settings); 5] = [
        |settings| settings.axis = SweepAxis::X,
        |settings| settings.has_events = false,
        |settings| settings.box_count = 6000,
        |settings| settings.kind = Kind::City,
        |settings| settings.has_events = true,
    ];
    let threads = BusyThreads::start();
    let mut found = Vec::new();
    for change in changes {
        change(&mut viewer.settings);
        let start = Instant::now();
        while !frame(&mut viewer) {
            assert!(start.elapsed() < Duration::from_secs(20), "nothing moves: {:?}", viewer.settings);
            std::thread::sleep(MILLISECOND);
        }
        viewer.settings.is_paused = true;
        for _ in 0..4 {
            frame(&mut viewer);
        }
        let boxes: Vec<Aabb> = inspect::read(&gpu, viewer.boxes());
        found.push((viewer.settings, boxes, viewer.poll().pair_count()));
        viewer.settings.is_paused = false;
        assert!(frame(&mut viewer), "{:?}", viewer.settings);
    }
    let compiled = gpu.compiled_kernels();
    assert!(!compiled.contains(&"sweep_test"), "{compiled:?}");
    drop(threads);
    for (settings, boxes, pair_count) in found {
        let mut engine = cpu::BroadPhase::new(Default::default()).unwrap();
        engine.set_filters(Scene::new(settings.kind, settings.box_count, &[]).filters).unwrap();
        let expected = engine.find_pairs(&boxes).unwrap().pairs.len() as u64;
        assert_eq!(pair_count, Some(expected), "{settings:?}");
    }
    // Then the sweep is compiled.
    while !gpu.compiled_kernels().contains(&"sweep_test") {
        assert!(frame(&mut viewer));
    }
}

#[test]
fn what_is_too_much_for_a_device_is_refused_and_what_there_was_goes_on() {
    let limits =
        wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, max_buffer_size: 16 << 20, ..Gpu::required_limits() };
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter().request_device(&descriptor)).unwrap();
    let gpu = Gpu::from_device(device, queue).unwrap();
    // This device has no timestamps either.
    let mut viewer = Viewer::new(&gpu, FORMAT, settings(Kind::Clusters, 1000), Vec::new()).unwrap();
    let (measured, _) = render(&mut viewer, 3, "small");
    assert_eq!((measured.box_count, measured.parts), (1000, [0.0; 4]));
    let texture = inspect::texture(gpu.device(), SIZE);
    let target = Target { view: &texture.create_view(&Default::default()), size: SIZE };
    viewer.settings.box_count = 400_000;
    let error = viewer.record(&mut gpu.device().create_command_encoder(&Default::default()), &target).unwrap_err();
    assert_eq!(error, Error::TooManyBoxes { box_count: 400_000, most: (4 << 20) / 64 });
    viewer.refuse(error.clone()).unwrap();
    assert_eq!(viewer.refused(), Some(&error));
    assert_eq!(viewer.refuse(error.clone()), Err(error), "the settings are good");
    let (measured, _) = render(&mut viewer, 3, "small again");
    assert_eq!(measured.box_count, 1000);
    let scene = Scene::new(Kind::Clusters, 1000, &[]);
    assert_eq!(measured.pair_count, expected_pairs(&viewer, scene.filters));
}

#[test]
fn a_device_that_is_lost_is_an_error_and_another_one_goes_on() {
    let gpu = new_gpu();
    let mut viewer = Viewer::new(&gpu, FORMAT, settings(Kind::Clusters, 3000), Vec::new()).unwrap();
    render(&mut viewer, 2, "to be lost");
    gpu.device().destroy();
    let out = std::env::temp_dir().join(format!("broadsweep-viewer-{}-lost.png", std::process::id()));
    let shot = Shot { out: out.clone(), size: SIZE, frames: 3, every: None, turn: 0.0, has_panel: false };
    gpu.device().on_uncaptured_error(std::sync::Arc::new(|_| ()));
    assert!(offscreen::run(&mut viewer, &shot, &Trace::default()).is_err());
    let _ = std::fs::remove_file(out);
    let (settings, camera) = (viewer.settings, viewer.camera);
    let mut viewer = Viewer::new(&GPU, FORMAT, settings, Vec::new()).unwrap();
    viewer.camera = camera;
    assert_eq!(render(&mut viewer, 2, "another").0.box_count, 3000);
}

#[test]
fn an_animation_has_the_requested_number_of_pictures() {
    let out = std::env::temp_dir().join(format!("broadsweep-viewer-{}-film.png", std::process::id()));
    let shot = Shot {
        out: out.clone(),
        size: SIZE,
        frames: 10,
        every: Some(3),
        turn: 0.01,
        has_panel: cfg!(feature = "window"),
    };
    let trace = Trace::default();
    offscreen::run(&mut viewer(settings(Kind::Robots, 500)), &shot, &trace).unwrap();
    let mut reader =
        png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&out).unwrap())).read_info().unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, 4);
    let mut pictures = Vec::new();
    for _ in 0..4 {
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        assert!(!pictures.contains(&bytes), "two pictures are the same");
        pictures.push(bytes);
    }
    std::fs::remove_file(out).unwrap();
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("\"record\"").count(), 11);
    assert!(text.starts_with("[\n") && text.ends_with("}\n]\n") && !text.contains("}\n{"));
}
