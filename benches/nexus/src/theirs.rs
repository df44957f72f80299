//! The broad phase of nexus, driven alone.

use anyhow::{Context, Result};
use broadsweep::Aabb;
use khal::BufferUsages;
use khal::backend::{Backend, Encoder, GpuBackend, GpuEncoder};
use nexus_rbd3d::broad_phase::{Lbvh, LbvhState};
use nexus_rbd3d::math::{Pose, Vector};
use nexus_rbd3d::rapier::geometry::InteractionGroups;
use nexus_rbd3d::shaders::broad_phase::CollisionPair;
use nexus_rbd3d::shaders::utils::BatchIndices;
use nexus_rbd3d::{PaddedVector, Shape};
use vortx::tensor::Tensor;

const STORAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC);

/// Returns a cuboid and its pose for each box, and the boxes that nexus computes from them.
pub fn cuboids(boxes: &[Aabb]) -> (Vec<Pose>, Vec<Shape>, Vec<Aabb>) {
    let mut found = (Vec::new(), Vec::new(), Vec::new());
    for aabb in boxes {
        let [min, max] = [aabb.min, aabb.max].map(Vector::from_array);
        let (center, half) = ((min + max) * 0.5, (max - min) * 0.5);
        found.0.push(Pose::from_translation(center));
        found.1.push(Shape::cuboid(half));
        found.2.push(Aabb::new((center - half).to_array(), (center + half).to_array()));
    }
    found
}

/// The kernels, and the boxes of a scene on the device.
pub struct Theirs {
    lbvh: Lbvh,
    state: LbvhState,
    scene: Option<Scene>,
}

/// The arguments of the kernels, with the names that they have in nexus.
struct Scene {
    box_count: u32,
    poses: Tensor<Pose>,
    shapes: Tensor<Shape>,
    vertices: Tensor<PaddedVector>,
    batch_indices: Tensor<BatchIndices>,
    collision_pairs: Tensor<CollisionPair>,
    collision_pairs_len: Tensor<u32>,
    collision_pairs_indirect: Tensor<[u32; 3]>,
    collision_groups: Tensor<InteractionGroups>,
    pair_filter: Tensor<[u32; 2]>,
}

impl Theirs {
    pub fn new(backend: &GpuBackend) -> Result<Self> {
        Ok(Self { lbvh: Lbvh::from_backend(backend), state: LbvhState::new(backend), scene: None })
    }

    /// Uploads a scene, with a list for this number of pairs.
    pub fn load(
        &mut self,
        backend: &GpuBackend,
        poses: &[Pose],
        shapes: &[Shape],
        pair_capacity: u32,
    ) -> Result<&mut Self> {
        let box_count = u32::try_from(poses.len())?;
        let batch_indices = BatchIndices {
            num_batches: 1,
            colliders_batch_capacity: box_count,
            colliders_len: box_count,
            collision_pairs_capacity: pair_capacity,
            ..Default::default()
        };
        let groups = vec![InteractionGroups::all(); poses.len()];
        // A body for each collider: colliders of one body never pair.
        let filter: Vec<[u32; 2]> = (0..box_count).map(|body| [body, 0]).collect();
        self.scene = Some(Scene {
            box_count,
            poses: Tensor::vector(backend, poses, STORAGE)?,
            shapes: Tensor::vector(backend, shapes, STORAGE)?,
            vertices: Tensor::vector(backend, [PaddedVector::default()], STORAGE)?,
            batch_indices: Tensor::scalar(backend, batch_indices, BufferUsages::UNIFORM)?,
            collision_pairs: Tensor::vector_uninit(backend, pair_capacity, STORAGE)?,
            collision_pairs_len: Tensor::scalar(backend, 0, STORAGE)?,
            collision_pairs_indirect: Tensor::scalar(backend, [0; 3], STORAGE | BufferUsages::INDIRECT)?,
            collision_groups: Tensor::vector(backend, groups, STORAGE)?,
            pair_filter: Tensor::vector(backend, filter, STORAGE)?,
        });
        Ok(self)
    }

    /// Submits searches, one after the other.
    pub fn run(&mut self, backend: &GpuBackend, calls: usize) -> Result<()> {
        let mut encoder = backend.begin_encoding();
        for _ in 0..calls {
            self.record(backend, &mut encoder)?;
        }
        Ok(backend.submit(encoder)?)
    }

    /// Records what `RbdPipeline::step` does in its broad phase.
    fn record(&mut self, backend: &GpuBackend, encoder: &mut GpuEncoder) -> Result<()> {
        let Self { lbvh, state, scene } = self;
        let scene = scene.as_mut().context("no scene is loaded")?;
        let (n, batches) = (scene.box_count, 1);
        lbvh.update_tree(
            backend,
            encoder,
            state,
            n,
            n,
            batches,
            &scene.poses,
            &scene.vertices,
            &scene.shapes,
            &scene.batch_indices,
            None,
        )?;
        let mut pass = encoder.begin_pass("find-pairs", None);
        lbvh.find_pairs(
            &mut pass,
            state,
            n,
            batches,
            &scene.batch_indices,
            &mut scene.collision_pairs,
            &mut scene.collision_pairs_len,
            &mut scene.collision_pairs_indirect,
            &scene.collision_groups,
            &scene.pair_filter,
        )?;
        Ok(())
    }

    /// Searches, and returns the number of pairs, whether they fit or not.
    pub fn count(&mut self, backend: &GpuBackend) -> Result<u32> {
        self.run(backend, 1)?;
        let scene = self.scene.as_ref().context("no scene is loaded")?;
        let count: Vec<u32> = pollster::block_on(backend.slow_read_vec(scene.collision_pairs_len.buffer()))?;
        Ok(count[0])
    }

    /// Searches, and returns the pairs that fit.
    pub fn pairs(&mut self, backend: &GpuBackend) -> Result<Vec<[u32; 2]>> {
        let count = self.count(backend)? as usize;
        let scene = self.scene.as_ref().context("no scene is loaded")?;
        let list: Vec<CollisionPair> = pollster::block_on(backend.slow_read_vec(scene.collision_pairs.buffer()))?;
        Ok(list.iter().take(count).map(|pair| pair.colliders.to_array()).collect())
    }
}
