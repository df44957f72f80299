//! Buffers with labels, and kernels that cache their bind group.

use std::cell::OnceCell;

use broadsweep::wgpu;
use wgpu::util::DeviceExt;

use crate::globals;

/// Creates a buffer that shaders read and write.
pub fn storage(device: &wgpu::Device, label: &str, bytes: u64, more: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC | more;
    // A binding cannot be empty.
    let size = bytes.max(32).next_multiple_of(4);
    device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
}

/// Creates a buffer with this content.
pub fn filled(device: &wgpu::Device, label: &str, contents: &[u8]) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(label), contents, usage })
}

/// Creates a module of the shared WGSL and this source.
pub fn module(device: &wgpu::Device, label: &str, source: &str) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Wgsl(format!("{}\n{source}", globals::SOURCE).into());
    device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source })
}

/// Binds buffers by number.
pub fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[(u32, &wgpu::Buffer)],
) -> wgpu::BindGroup {
    let entries: Vec<_> = buffers
        .iter()
        .map(|&(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

/// A bind group that is reused while its buffers stay the same.
#[derive(Default)]
pub struct Bound(Option<(Vec<wgpu::Buffer>, wgpu::BindGroup)>);

impl Bound {
    /// Returns the bind group of these buffers.
    pub fn get(
        &mut self,
        device: &wgpu::Device,
        layout: &wgpu::BindGroupLayout,
        buffers: &[(u32, &wgpu::Buffer)],
    ) -> &wgpu::BindGroup {
        let is_same = |bound: &[wgpu::Buffer]| bound.iter().eq(buffers.iter().map(|(_, buffer)| *buffer));
        if self.0.as_ref().is_none_or(|(bound, _)| !is_same(bound)) {
            let handles = buffers.iter().map(|(_, buffer)| (*buffer).clone()).collect();
            self.0 = Some((handles, bind(device, layout, buffers)));
        }
        match &self.0 {
            Some((_, group)) => group,
            None => unreachable!("it was made above"),
        }
    }
}

/// The size of a dispatch.
pub enum Size<'a> {
    /// Enough workgroups for this count of invocations.
    Cover(u32),
    /// The workgroups that this buffer specifies, at this offset in bytes.
    Indirect(&'a wgpu::Buffer, u64),
}

/// A compute pipeline, compiled by the first dispatch.
pub struct Kernel {
    device: wgpu::Device,
    module: wgpu::ShaderModule,
    name: &'static str,
    pipeline: OnceCell<(wgpu::ComputePipeline, wgpu::BindGroupLayout)>,
    /// Invocations of a workgroup.
    width: u32,
    bound: Bound,
}

impl Kernel {
    /// Prepares the entry point `name` of a module, whose workgroups have `width` invocations.
    pub fn new(device: &wgpu::Device, module: &wgpu::ShaderModule, name: &'static str, width: u32) -> Self {
        let (device, module) = (device.clone(), module.clone());
        Self { device, module, name, pipeline: OnceCell::new(), width, bound: Bound::default() }
    }

    /// Records a dispatch.
    pub fn dispatch(&mut self, pass: &mut wgpu::ComputePass<'_>, buffers: &[(u32, &wgpu::Buffer)], size: Size<'_>) {
        let Self { device, module, name, bound, .. } = self;
        let (pipeline, layout) = self.pipeline.get_or_init(|| {
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            });
            let layout = pipeline.get_bind_group_layout(0);
            (pipeline, layout)
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, bound.get(device, layout, buffers), &[]);
        match size {
            Size::Cover(invocations) => {
                let groups = invocations.div_ceil(self.width);
                // A row has at most 65,535 workgroups.
                let rows = groups.div_ceil(65_535).max(1);
                pass.dispatch_workgroups(groups.div_ceil(rows), rows, 1);
            }
            Size::Indirect(arguments, offset) => pass.dispatch_workgroups_indirect(arguments, offset),
        }
    }
}
