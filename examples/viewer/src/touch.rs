//! Effects of pairs: falling boxes are pushed apart, and created and lost pairs flash for some frames.

use broadsweep::record::{GpuEvents, GpuPairs};
use broadsweep::wgpu;

use crate::kernel::{Kernel, Size, module, storage};
use crate::simulation::Simulation;

/// The most lost pairs that are remembered.
pub const ENDED_MOST: u32 = 8192;

/// The kernels over lists of pairs, and their state between frames.
pub struct Touch {
    device: wgpu::Device,
    push: Kernel,
    age: Kernel,
    begin: Kernel,
    end: Kernel,
    end_counted: Kernel,
    /// `[box_count]` two u32: the last frame in which a pair of the box was created, and the last in which one was
    /// lost.
    pub stamps: wgpu::Buffer,
    /// A u32 with the place of the next lost pair, then three u32 per lost pair.
    pub ended: wgpu::Buffer,
    /// The age of each pair of the list in frames: lists of this frame and of the last frame, in turn.
    ages: [wgpu::Buffer; 2],
    turn: usize,
}

impl Touch {
    /// Creates the buffers of a scene of `box_count` boxes. The first frame that uses a kernel compiles it.
    pub fn new(device: &wgpu::Device, box_count: u32) -> Self {
        let module = module(device, "touch", include_str!("../shaders/touch.wgsl"));
        let kernel = |name| Kernel::new(device, &module, name, 256);
        let none = wgpu::BufferUsages::empty();
        Self {
            push: kernel("push"),
            age: kernel("age"),
            begin: kernel("begin"),
            end: kernel("end"),
            end_counted: Kernel::new(device, &module, "end_counted", 1),
            stamps: storage(device, "stamps", 8 * u64::from(box_count), none),
            ended: storage(device, "ended", 4 + 12 * u64::from(ENDED_MOST), none),
            ages: [storage(device, "ages", 32, none), storage(device, "ages", 32, none)],
            turn: 0,
            device: device.clone(),
        }
    }

    /// Returns the age of each pair of the list, in frames.
    pub fn ages(&self) -> &wgpu::Buffer {
        &self.ages[self.turn]
    }

    /// Records the effects of the pairs of a frame.
    pub fn record_pairs(&mut self, encoder: &mut wgpu::CommandEncoder, pairs: &GpuPairs, simulation: &Simulation) {
        let mut pass = begin_pass(encoder, "push");
        let Simulation { bodies, boxes, contacts, .. } = simulation;
        let buffers = [(0, pairs.header), (1, pairs.pairs), (3, bodies), (4, boxes), (5, contacts)];
        self.push.dispatch(&mut pass, &buffers, over(pairs));
    }

    /// Records the ages of pairs, and the created and lost pairs of a frame.
    pub fn record_events(&mut self, encoder: &mut wgpu::CommandEncoder, events: &GpuEvents, globals: &wgpu::Buffer) {
        self.turn = 1 - self.turn;
        let bytes = 4 * u64::from(events.pairs.capacity);
        if self.ages[self.turn].size() < bytes {
            self.ages[self.turn] = storage(&self.device, "ages", bytes, wgpu::BufferUsages::empty());
        }
        let Self { stamps, ended, ages, turn, .. } = self;
        let (pairs, created, lost) = (&events.pairs, &events.created, &events.lost);
        let mut pass = begin_pass(encoder, "events");
        let aged = [
            (0, pairs.header),
            (2, globals),
            (8, events.before),
            (9, &ages[1 - *turn]),
            (10, &ages[*turn]),
            (11, created.header),
        ];
        self.age.dispatch(&mut pass, &aged, over(pairs));
        let begun = [(0, created.header), (1, created.pairs), (2, globals), (6, &*stamps)];
        self.begin.dispatch(&mut pass, &begun, over(created));
        let over_now = [(0, lost.header), (1, lost.pairs), (2, globals), (6, &*stamps), (7, &*ended)];
        self.end.dispatch(&mut pass, &over_now, over(lost));
        self.end_counted.dispatch(&mut pass, &[(0, lost.header), (7, ended)], Size::Cover(1));
    }
}

/// Returns the workgroups of a list.
fn over<'a>(pairs: &GpuPairs<'a>) -> Size<'a> {
    Size::Indirect(pairs.arguments, GpuPairs::DISPATCH_OFFSET)
}

fn begin_pass<'a>(encoder: &'a mut wgpu::CommandEncoder, label: &str) -> wgpu::ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(label), ..Default::default() })
}
