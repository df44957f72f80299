//! Moves bodies in a compute shader. The host does not read their positions.

use broadsweep::wgpu;

use crate::kernel::{Kernel, Size, filled, module, storage};
use crate::scene::Scene;

/// u32 count per box in [`Simulation::contacts`].
const CONTACT_WORDS: u64 = 8;

/// The bodies of a scene on the device.
pub struct Simulation {
    /// `[box_count]` of [`Body`](crate::scene::Body).
    pub bodies: wgpu::Buffer,
    /// `[box_count]` boxes of 24 bytes, the input of the broad phase.
    pub boxes: wgpu::Buffer,
    /// `[box_count]` pushes on each box in this frame, and the count of boxes that it touches.
    pub contacts: wgpu::Buffer,
    clusters: wgpu::Buffer,
    box_count: u32,
    kernel: Kernel,
}

impl Simulation {
    /// Puts a scene on the device.
    pub fn new(device: &wgpu::Device, scene: &Scene) -> Self {
        let count = u64::from(scene.box_count());
        let module = module(device, "move", include_str!("../shaders/move.wgsl"));
        Self {
            bodies: filled(device, "bodies", bytemuck::cast_slice(&scene.bodies)),
            boxes: storage(device, "boxes", 24 * count, wgpu::BufferUsages::empty()),
            contacts: storage(device, "contacts", 4 * CONTACT_WORDS * count, wgpu::BufferUsages::empty()),
            clusters: filled(device, "clusters", bytemuck::cast_slice(&scene.clusters)),
            box_count: scene.box_count(),
            kernel: Kernel::new(device, &module, "move_bodies", 64),
        }
    }

    /// Records the motion of one frame. It reads the contacts of the last frame, which are cleared afterwards.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, globals: &wgpu::Buffer) {
        let Self { bodies, boxes, contacts, clusters, .. } = self;
        let buffers: [(u32, &wgpu::Buffer); 5] = [(0, globals), (1, bodies), (2, clusters), (3, contacts), (4, boxes)];
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("move"), ..Default::default() });
        self.kernel.dispatch(&mut pass, &buffers, Size::Cover(self.box_count));
        drop(pass);
        encoder.clear_buffer(&self.contacts, 0, None);
    }
}
