//! Calls of a tree: boxes in buffers of the device, calls that do not block, a tree of either engine, and errors.

use broadsweep::query::{Convex, NearestQuery, TreeReport};
use broadsweep::{Aabb, AnyEngine, AnyTree, Engine, Error, Filters, Gpu, Options, QueryEngine, Ray, Tree, cpu, wgpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use super::both::Both;
use crate::common::GPU;
use crate::common::device::upload_behind;

#[test]
#[ignore = "long"]
fn a_tree_of_boxes_on_the_device_is_that_of_the_same_boxes_on_the_host() {
    let gpu = GPU.clone();
    let usage = wgpu::BufferUsages::STORAGE;
    let (mut from_host, mut from_device) = (Tree::new(&gpu).unwrap(), Tree::new(&gpu).unwrap());
    for n in [1, 9, 3000] {
        let mut boxes = Kind::Uniform.generate(n, 3);
        boxes[n / 2].min[1] = f32::NAN;
        let plain = Filters::default();
        let margins = Filters::default()
            .with_margin(vec![0.02; n])
            .with_world((0..n as u32).map(|i| if i % 7 == 0 { Filters::GLOBAL } else { i % 3 }).collect());
        for filters in [plain, margins] {
            from_host.set_filters(filters.clone()).unwrap();
            from_device.set_filters(filters).unwrap();
            let mut moved = boxes.clone();
            for step in 0..2 {
                let on_device = upload_behind(256, &moved, usage);
                let (slice, count) = (on_device.slice(256..), n as u32);
                let reports = if step == 0 {
                    [from_host.build(&moved).unwrap(), from_device.build((slice, count)).unwrap()]
                } else {
                    [from_host.refit(&moved).unwrap(), from_device.refit((slice, count)).unwrap()]
                };
                let without_bytes = reports.map(|report| {
                    let TreeReport { box_count, invalid_count, first_invalid, growth, .. } = report.clone();
                    (box_count, invalid_count, first_invalid, growth)
                });
                assert_eq!(without_bytes[0], without_bytes[1]);
                let queried = cubes(200, 1, &boxes, 5.0);
                assert_eq!(from_host.overlaps(&queried[..]).unwrap(), from_device.overlaps(&queried[..]).unwrap());
                let points = points(200, 2, &boxes);
                assert_eq!(from_host.nearest(&points, 3).unwrap(), from_device.nearest(&points, 3).unwrap());
                for aabb in &mut moved {
                    *aabb = Aabb::new(aabb.min.map(|x| x + 0.25), aabb.max.map(|x| x + 0.25));
                }
            }
        }
    }
    // A tree built of one may be refitted to the other, and the buffer may be one that pairs are found in.
    let boxes = Kind::Uniform.generate(3000, 5);
    let on_device = upload_behind(256, &boxes, usage);
    for tree in [&mut from_host, &mut from_device] {
        tree.set_filters(Filters::default()).unwrap();
    }
    from_host.build(&boxes).unwrap();
    from_host.refit((on_device.slice(256..), 3000)).unwrap();
    from_device.build((on_device.slice(256..), 3000)).unwrap();
    from_device.refit(&boxes).unwrap();
    let queried = cubes(200, 1, &boxes, 5.0);
    assert_eq!(from_host.overlaps(&queried[..]).unwrap(), from_device.overlaps(&queried[..]).unwrap());
}

#[test]
fn calls_that_do_not_block_answer_the_same() {
    let boxes = Kind::Clusters.generate(2_000, 3);
    let moved: Vec<Aabb> = boxes.iter().map(|aabb| Aabb::new(aabb.min, aabb.max.map(|x| x + 0.01))).collect();
    let mut tree = Both::new();
    tree.cpu.build(&boxes).unwrap();
    let (rays, points) = (RayKind::Incoherent.generate(2_000, 7, &boxes), points(50, 7, &boxes));
    let cubes = cubes(50, 7, &boxes, 10.0);
    let same = |cpu: &cpu::Tree, gpu: &mut Tree| {
        macro_rules! same {
            ($($query:ident($($argument:expr),*);)*) => {$(
                let found = pollster::block_on(gpu.asynchronous().$query($($argument),*)).unwrap();
                assert_eq!(found, cpu.$query($($argument),*).unwrap());
            )*};
        }
        same! {
            nearest_hits(&rays);
            first_hits(&rays, 3);
            any_hits(&rays);
            all_hits(&rays);
            overlaps(&cubes);
            nearest(&points, 3);
        }
    };
    let gpu = tree.gpu.get_mut();
    pollster::block_on(gpu.asynchronous().build(&boxes)).unwrap();
    same(&tree.cpu, gpu);
    pollster::block_on(gpu.asynchronous().refit(&moved)).unwrap();
    tree.cpu.refit(&moved).unwrap();
    same(&tree.cpu, gpu);
    // And of boxes that lie on the device.
    let (before, after) = [&boxes, &moved].map(|boxes| upload_behind(256, boxes, wgpu::BufferUsages::STORAGE)).into();
    pollster::block_on(gpu.asynchronous().build((before.slice(256..), 2_000))).unwrap();
    pollster::block_on(gpu.asynchronous().refit((after.slice(256..), 2_000))).unwrap();
    same(&tree.cpu, gpu);
}

#[test]
fn calls_that_do_not_block_may_wait_on_any_thread() {
    fn is_send(_: &impl Send) {}
    let boxes = Kind::Uniform.generate(10, 1);
    let mut tree = Both::new();
    let gpu = tree.gpu.get_mut();
    is_send(&gpu.asynchronous().build(&boxes));
    is_send(&gpu.asynchronous().overlaps(&boxes));
}

#[test]
fn a_tree_that_is_chosen_at_run_time_answers_as_its_own_type_does() {
    let boxes = Kind::Uniform.generate(300, 1);
    let rays = RayKind::Incoherent.generate(40, 1, &boxes);
    let mut own = cpu::Tree::new();
    own.build(&boxes).unwrap();
    let expected = (own.nearest_hits(&rays).unwrap(), own.overlaps(&boxes).unwrap());
    for mut tree in [AnyTree::from(Tree::new(&GPU).unwrap()), cpu::Tree::new().into()] {
        tree.build(&boxes).unwrap();
        assert_eq!((tree.nearest_hits(&rays).unwrap(), tree.overlaps(&boxes).unwrap()), expected);
        let (hits, touching) = &expected;
        assert_eq!(hits.into_iter().len(), 40);
        assert_eq!((touching.len(), touching.iter().len(), touching.is_empty()), (300, 300, false));
        // Each box touches itself.
        assert!(touching.into_iter().enumerate().all(|(i, list)| list.contains(&(i as u32)) && list == &touching[i]));
        assert_eq!(hits[3].index, hits.answers[3].index);
        tree.set_filters(Filters::default().with_group(vec![0; 300]).with_mask(vec![0; 300])).unwrap();
        assert_eq!(tree.filters().group.len(), 300);
    }
}

#[test]
fn the_engine_of_a_machine_is_on_its_gpu_unless_that_is_a_software_driver() {
    let is_gpu = GPU.adapter_info().device_type != wgpu::DeviceType::Cpu;
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
    let mut engine = AnyEngine::auto(Options::default()).unwrap();
    assert_eq!((engine.is_gpu(), engine.find_pairs(&boxes).unwrap().pairs.len()), (is_gpu, 3));
    let mut tree = AnyTree::auto().unwrap();
    tree.build(&boxes).unwrap();
    assert_eq!((tree.is_gpu(), tree.overlaps(&boxes).unwrap().answers.len()), (is_gpu, 9));
    let bad = Options::default().with_step_margin(Some(-1.0));
    assert!(matches!(AnyEngine::auto(bad), Err(Error::BadOption { .. })));
}

#[test]
fn a_tree_that_is_not_built_and_no_answers_to_rank_are_refused() {
    let mut tree = Both::new();
    let (rays, points) = ([Ray::new([0.0; 3], [1.0; 3])], [NearestQuery::new([0.0; 3])]);
    assert_eq!(tree.nearest_hits(&rays).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.first_hits(&rays, 0).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.any_hits(&rays).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.all_hits(&rays).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.overlaps(&[[0.0; 3]]).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.nearest(&points, 1).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.refit(&[]).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.refit(&[Aabb::new([1.0; 3], [2.0; 3])]).unwrap_err(), Error::NotBuilt);
    let expected = Error::BadOption { option: "k", value: "0".to_owned(), expected: "at least 1" };
    for boxes in [&[][..], &[Aabb::new([1.0; 3], [2.0; 3])]] {
        tree.build(boxes).unwrap();
        assert_eq!(tree.refit(boxes).unwrap().box_count as usize, boxes.len());
        assert_eq!(tree.first_hits(&rays, 0).unwrap_err(), expected);
        assert_eq!(tree.nearest(&points, 0).unwrap_err(), expected);
        assert_eq!(tree.nearest(&points, 1).unwrap().answers.len(), boxes.len());
    }
}

#[test]
fn a_buffer_that_cannot_be_a_tree_is_refused() {
    let gpu = GPU.clone();
    let boxes = Kind::Uniform.generate(20, 5);
    let good = upload_behind(256, &boxes, wgpu::BufferUsages::STORAGE);
    let no_storage = upload_behind(256, &boxes, wgpu::BufferUsages::VERTEX);
    let mut tree = Tree::new(&gpu).unwrap();
    for (slice, problem) in [
        (good.slice(256..), "holds 480 bytes, and 21 boxes take 504"),
        (good.slice(4..), "is used from byte 4 on"),
        (no_storage.slice(..), "was created without BufferUsages::STORAGE"),
    ] {
        let assert_bad = |result: Result<&TreeReport, Error>| {
            let is_bad = matches!(&result, Err(Error::BadBuffer { problem: found, .. }) if found.contains(problem));
            assert!(is_bad, "{result:?}");
        };
        let count = if problem.starts_with("holds") { 21 } else { 20 };
        tree.build(&boxes).unwrap();
        // A refit that is refused leaves the tree as it is, a build does not.
        if count == 20 {
            assert_bad(tree.refit((slice, count)));
            assert_eq!(tree.report().box_count, 20);
        }
        assert_bad(tree.build((slice, count)));
        assert_eq!(tree.report().box_count, 0);
    }
    assert!(matches!(tree.refit((good.slice(256..), 20)), Err(Error::NotBuilt)));
    assert_eq!(tree.build((good.slice(..), 0)).unwrap().box_count, 0);
}

#[test]
fn the_gpu_refuses_shapes_of_too_many_half_spaces() {
    let mut tree = Both::new();
    tree.build(&[Aabb::new([0.0; 3], [1.0; 3])]).unwrap();
    let parts = [[1.0, 0.0, 0.0, 2.0]; Convex::MOST_ON_GPU + 1];
    let shapes = [Convex { half_spaces: &parts[1..] }, Convex { half_spaces: &parts }];
    assert_eq!(&tree.overlaps(&shapes[..1]).unwrap()[0], [0]);
    let refused = tree.gpu.get_mut().overlaps(&shapes).unwrap_err();
    assert_eq!(refused, Error::TooManyHalfSpaces { index: 1, count: 65, most: 64 });
    assert_eq!(&tree.cpu.overlaps(&shapes).unwrap()[1], [0]);
}

#[test]
fn a_lost_device_is_an_error_of_every_call() {
    let gpu = Gpu::headless().unwrap();
    let boxes = Kind::Uniform.generate(2_000, 1);
    let mut tree = Tree::new(&gpu).unwrap();
    tree.build(&boxes).unwrap();
    let (rays, points) = (RayKind::Incoherent.generate(2_000, 7, &boxes), points(20, 7, &boxes));
    tree.nearest_hits(&rays).unwrap();
    gpu.device().destroy();
    let lost = |result: Result<(), Error>| assert!(matches!(result, Err(Error::DeviceLost { .. })), "{result:?}");
    lost(tree.nearest_hits(&rays).map(drop));
    lost(tree.first_hits(&rays, 3).map(drop));
    lost(tree.any_hits(&rays).map(drop));
    lost(tree.all_hits(&rays).map(drop));
    lost(tree.overlaps(&boxes[..10]).map(drop));
    lost(tree.nearest(&points, 100).map(drop));
    lost(tree.refit(&boxes).map(drop));
    lost(tree.build(&boxes).map(drop));
    lost(tree.build(&boxes[..3]).map(drop));
}
