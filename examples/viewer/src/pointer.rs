//! The box under the pointer, and the boxes that touch a sphere there: queries of a tree of the same boxes, on the
//! device.

use broadsweep::query::{QueryFilter, Sphere};
use broadsweep::record::{GpuBatch, GpuPairs};
use broadsweep::{Error, Filters, Gpu, Hit, Ray, TreeRecorder, wgpu};

use crate::globals::NONE;
use crate::kernel::{Kernel, Size, module, storage};
use crate::scene::Scene;
use crate::simulation::Simulation;

/// The most boxes that a sphere can mark.
const MOST_MARKED: u32 = 1 << 16;

/// Bytes of `Pointed` in `shaders/point.wgsl`.
const POINTED_BYTES: u64 = 32;

/// A tree, and the queries of the pointer.
pub struct Pointer {
    tree: TreeRecorder,
    box_count: u32,
    world_count: u32,
    aim: Kernel,
    choose: Kernel,
    mark: Kernel,
    rays: wgpu::Buffer,
    query_filters: wgpu::Buffer,
    /// `Pointed` of `shaders/point.wgsl`: the picked box, and the sphere.
    pub pointed: wgpu::Buffer,
    sphere: wgpu::Buffer,
    sphere_filter: wgpu::Buffer,
    is_built: bool,
}

impl Pointer {
    /// Creates a tree for a scene. No box is picked.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn new(gpu: &Gpu, scene: &Scene) -> Result<Self, Error> {
        let device = gpu.device();
        let mut tree = TreeRecorder::new(gpu)?;
        tree.tree_mut().set_filters(Filters::default().with_world(scene.filters.world.clone()))?;
        let point = module(device, "point", include_str!("../shaders/point.wgsl"));
        let worlds = u64::from(scene.world_count());
        let buffer = |label, bytes| storage(device, label, bytes, wgpu::BufferUsages::empty());
        let pointed = buffer("pointed", POINTED_BYTES);
        let pointer = Self {
            tree,
            box_count: scene.box_count(),
            world_count: scene.world_count(),
            aim: Kernel::new(device, &point, "aim", 64),
            choose: Kernel::new(device, &point, "choose", 64),
            mark: Kernel::new(device, &module(device, "mark", include_str!("../shaders/mark.wgsl")), "mark", 256),
            rays: buffer("rays", size_of::<Ray>() as u64 * worlds),
            query_filters: buffer("query_filters", size_of::<QueryFilter>() as u64 * worlds),
            pointed,
            sphere: buffer("sphere", size_of::<Sphere>() as u64),
            sphere_filter: buffer("sphere filter", size_of::<QueryFilter>() as u64),
            is_built: false,
        };
        pointer.forget(gpu.queue());
        Ok(pointer)
    }

    /// Starts to compile the kernels that build and refit a tree of any number of boxes.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn compile_ahead(&self) -> broadsweep::device::Compilation {
        self.tree.tree().compile_ahead(&[])
    }

    /// Unpicks the box.
    pub fn forget(&self, queue: &wgpu::Queue) {
        queue.write_buffer(&self.pointed, 0, bytemuck::cast_slice(&[NONE; 8]));
    }

    /// Picks the first box on the ray in `globals`, in any world. With `has_sphere`, marks the boxes that touch the
    /// sphere at the hit.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        simulation: &Simulation,
        globals: &wgpu::Buffer,
        has_sphere: bool,
    ) -> Result<(), Error> {
        let boxes = simulation.boxes.slice(..);
        if self.is_built {
            self.tree.record_refit(encoder, boxes, self.box_count)?;
        } else {
            self.tree.record_build(encoder, boxes, self.box_count)?;
        }
        let mut pass = begin_pass(encoder, "aim");
        let aimed = [(0, globals), (1, &self.rays), (2, &self.query_filters)];
        self.aim.dispatch(&mut pass, &aimed, Size::Cover(self.world_count));
        drop(pass);
        let rays =
            GpuBatch::<Ray>::new(self.rays.slice(..), self.world_count).with_filters(self.query_filters.slice(..));
        let hits = self.tree.record_nearest_hits(encoder, rays.in_order())?;
        debug_assert_eq!(size_of::<Hit>(), 8, "as the shader has it");
        let mut pass = begin_pass(encoder, "choose");
        let chosen = [(0, globals), (3, hits.answers), (4, &self.pointed), (5, &self.sphere), (6, &self.sphere_filter)];
        self.choose.dispatch(&mut pass, &chosen, Size::Cover(64));
        drop(pass);
        if has_sphere {
            let spheres = GpuBatch::<Sphere>::new(self.sphere.slice(..), 1).with_filters(self.sphere_filter.slice(..));
            let touched = self.tree.record_overlaps(encoder, spheres, 0, MOST_MARKED)?;
            let marked = [(0, touched.header), (1, touched.answers), (2, &simulation.contacts)];
            let size = Size::Indirect(touched.arguments, GpuPairs::DISPATCH_OFFSET);
            self.mark.dispatch(&mut begin_pass(encoder, "mark"), &marked, size);
        }
        // Set at the end: after an error nothing is submitted.
        self.is_built = true;
        Ok(())
    }

    /// Counts the bytes of device memory that the tree holds.
    pub fn bytes(&self) -> u64 {
        self.tree.memory_bytes()
    }
}

fn begin_pass<'a>(encoder: &'a mut wgpu::CommandEncoder, label: &str) -> wgpu::ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(label), ..Default::default() })
}
