//! Recordings of queries that are refused, and recordings without boxes or queries.

use broadsweep::query::{BoxCast, OrientedBox};
use broadsweep::record::{GpuAnswers, GpuBatch};
use broadsweep::{Aabb, Error, Filters, Gpu, Hit, Ray, TreeRecorder, wgpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, points};

use super::answers::{Listed, MISS, Rows, assert_rows, built};
use crate::common::GPU;
use crate::common::device::{encoder, upload};

#[test]
fn a_tree_that_is_not_built_is_refused_in_recordings_too() {
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    let rays = upload(&[Ray::new([0.0; 3], [1.0; 3])]);
    let batch = GpuBatch::<Ray>::new(rays.slice(..), 1);
    let mut encoder = encoder();
    assert_eq!(tree.record_nearest_hits(&mut encoder, batch).unwrap_err(), Error::NotBuilt);
    let boxes = upload(&[Aabb::new([1.0; 3], [2.0; 3])]);
    for box_count in [0, 1] {
        let refused = tree.record_refit(&mut encoder, boxes.slice(..), box_count).unwrap_err();
        assert_eq!(refused, Error::NotBuilt);
        let mut tree = tree.tree_mut().asynchronous();
        let refused = pollster::block_on(tree.refit((boxes.slice(..), box_count))).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::NotBuilt);
    }
    tree.record_build(&mut encoder, boxes.slice(..), 1).unwrap();
    tree.record_any_hits(&mut encoder, batch).unwrap();
    tree.tree_mut().set_filters(Filters::default().with_margin(vec![1.0])).unwrap();
    assert_eq!(tree.record_any_hits(&mut encoder, batch).unwrap_err(), Error::NotBuilt);
    tree.tree_mut().build(&[]).unwrap_err();
    assert_eq!(tree.record_any_hits(&mut encoder, batch).unwrap_err(), Error::NotBuilt);
    tree.tree_mut().set_filters(Filters::default()).unwrap();
    tree.record_build(&mut encoder, boxes.slice(..), 0).unwrap();
    tree.record_all_hits(&mut encoder, batch, 0, 1).unwrap();
}

#[test]
fn a_tree_of_no_boxes_and_a_batch_of_no_queries_answer_nothing() {
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    let queries = upload(&[Ray::new([0.0; 3], [1.0; 3]), Ray::new([f32::NAN; 3], [1.0; 3])]);
    let boxes = Kind::Uniform.generate(20, 3);
    for of_boxes in [&boxes[..0], &boxes] {
        tree.tree_mut().build(of_boxes).unwrap();
        for count in [0, 2] {
            if count > 0 && !of_boxes.is_empty() {
                continue;
            }
            let mut encoder = encoder();
            let batch = GpuBatch::<Ray>::new(queries.slice(..), count as u32);
            let left = tree.record_nearest_hits(&mut encoder, batch).unwrap();
            let rows = Rows::of::<Hit>(&mut encoder, &left, count, 1);
            let left = tree.record_all_hits(&mut encoder, batch, 0, 0).unwrap();
            let lists = Listed::of(&mut encoder, &left, count);
            GPU.queue().submit([encoder.finish()]);
            assert_eq!(rows.answers.read::<[u32; 2]>(), vec![MISS; count]);
            let marks = [GpuAnswers::ANSWERED, GpuAnswers::INVALID];
            assert_eq!(rows.status.read::<u32>(), marks[..count]);
            assert_eq!(lists.status.read::<u32>(), marks[..count]);
            assert_eq!(lists.offsets.read::<u64>(), vec![0; count + 1]);
            let header = lists.header();
            assert_eq!([header.count, header.written, header.overflow, header.unfinished], [0; 4]);
        }
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let boxes = Kind::Uniform.generate(20, 3);
    let mut tree = built(&GPU, &boxes);
    let rays = upload(&RayKind::Camera.generate(20, 7, &boxes));
    let points = upload(&points(20, 7, &boxes));
    let mut encoder = encoder();
    let error = tree.record_nearest_hits(&mut encoder, GpuBatch::<Ray>::new(rays.slice(..), 21)).unwrap_err();
    assert_eq!(error.to_string(), "the query buffer holds 560 bytes, and 21 queries take 588");
    let batch = GpuBatch::<Ray>::new(rays.slice(..), 20);
    let error = tree.record_any_hits(&mut encoder, batch.with_filters(points.slice(..256))).unwrap_err();
    assert_eq!(error.to_string(), "the query filter buffer holds 256 bytes, and 20 query filters take 400");
    for k in [0, 65] {
        let error = tree.record_first_hits(&mut encoder, batch, k).unwrap_err();
        assert_eq!(error.to_string(), format!("k is {k}; it must be between 1 and 64"));
        let near = GpuBatch::new(points.slice(..), 20);
        assert!(matches!(tree.record_nearest(&mut encoder, near, k), Err(Error::BadOption { option: "k", .. })));
    }
    for rounds in [0, 5_000] {
        let refused = tree.record_nearest_hits(&mut encoder, batch.with_rounds(rounds));
        assert!(matches!(refused, Err(Error::BadOption { option: "rounds", .. })));
    }
    let many = GPU.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 40 * 4_000_000,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    if GPU.device().limits().max_storage_buffer_binding_size <= 1 << 27 {
        let points = GpuBatch::<[f32; 3]>::new(many.slice(..), 9_000_000);
        let refused = tree.record_overlaps(&mut encoder, points, 0, 9);
        assert!(matches!(refused, Err(Error::TooManyQueries { query_count: 9_000_000, .. })), "{refused:?}");
        let casts = GpuBatch::<BoxCast>::new(many.slice(..), 4_000_000);
        let refused = tree.record_nearest_hits(&mut encoder, casts);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "queries", .. })), "{refused:?}");
        let turned = GpuBatch::<OrientedBox>::new(many.slice(..), 400_000);
        let refused = tree.record_overlaps(&mut encoder, turned, 0, 9);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "queries", .. })), "{refused:?}");
        let points = GpuBatch::<[f32; 3]>::new(many.slice(..), 7_000_000).with_filters(many.slice(..));
        let refused = tree.record_overlaps(&mut encoder, points, 0, 9);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "query_filters", .. })), "{refused:?}");
        let refused = tree.record_all_hits(&mut encoder, batch, 0, 1 << 25);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "answers", .. })), "{refused:?}");
    }
    // A refused recording leaves the tree as it was.
    let left = tree.record_nearest_hits(&mut encoder, batch).unwrap();
    let rows = Rows::of::<Hit>(&mut encoder, &left, 20, 1);
    GPU.queue().submit([encoder.finish()]);
    let expected = tree.tree_mut().first_hits(&RayKind::Camera.generate(20, 7, &boxes), 1).unwrap();
    assert_rows(&rows, &expected, 1, MISS);
}

#[test]
fn a_lost_device_is_an_error_of_every_recording() {
    let gpu = Gpu::headless().unwrap();
    let boxes = Kind::Uniform.generate(2_000, 1);
    let mut tree = built(&gpu, &boxes);
    let size = 28 * 100;
    let usage = wgpu::BufferUsages::STORAGE;
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let buffer = gpu.device().create_buffer(&descriptor);
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    gpu.device().destroy();
    let lost = |result: Result<(), Error>| assert!(matches!(result, Err(Error::DeviceLost { .. })), "{result:?}");
    let rays = GpuBatch::<Ray>::new(buffer.slice(..), 100);
    lost(tree.record_nearest_hits(&mut encoder, rays).map(drop));
    lost(tree.record_all_hits(&mut encoder, rays, 0, 100).map(drop));
    lost(tree.record_nearest(&mut encoder, GpuBatch::new(buffer.slice(..), 100), 3).map(drop));
    let boxes = gpu.device().create_buffer(&wgpu::BufferDescriptor { size: 24 * 2_000, ..descriptor });
    lost(tree.record_refit(&mut encoder, boxes.slice(..), 2_000));
    lost(tree.record_build(&mut encoder, boxes.slice(..), 2_000));
}
