//! The interpreter as a back end of `wgpu`, for compute kernels on buffers.
#![expect(unsafe_code, reason = "some functions of wgpu's traits are unsafe to call; nothing here is")]

use std::future::ready;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::custom::*;

use crate::device::{Bound, BufferData, Command, Groups, Interpreter};
use crate::kernel::Kernel;

#[derive(Debug)]
struct Device(Interpreter);
#[derive(Debug)]
struct Queue(Interpreter);
#[derive(Debug)]
struct ShaderModule(naga::Module);
#[derive(Debug)]
struct Layout;
#[derive(Debug)]
struct BindGroup(Arc<Vec<Bound>>);
#[derive(Debug)]
struct Pipeline(Arc<Kernel>);
#[derive(Debug)]
struct Buffer {
    data: Arc<BufferData>,
    interpreter: Interpreter,
    /// True if it is mapped to be filled, from its creation on.
    is_new: AtomicBool,
}
/// The bytes to write to a buffer.
#[derive(Debug)]
struct Staged(Vec<u8>);
#[derive(Debug)]
struct Mapped {
    bytes: Vec<u8>,
    /// The place of the bytes.
    to: Option<(Arc<BufferData>, u64, Interpreter)>,
}
type Commands = Arc<Mutex<Vec<Command>>>;
#[derive(Debug)]
struct Encoder(Commands);
#[derive(Debug)]
struct CommandBuffer(Commands);
#[derive(Debug)]
struct Pass {
    commands: Commands,
    pipeline: Option<Arc<Kernel>>,
    bound: Option<Arc<Vec<Bound>>>,
}

impl Interpreter {
    /// Returns the device and its queue, as `wgpu` has them.
    pub fn device(&self) -> (wgpu::Device, wgpu::Queue) {
        (wgpu::Device::from_custom(Device(self.clone())), wgpu::Queue::from_custom(Queue(self.clone())))
    }
}

fn push(commands: &Commands, command: Command) {
    commands.lock().unwrap_or_else(PoisonError::into_inner).push(command);
}

fn data(buffer: &DispatchBuffer) -> &Arc<BufferData> {
    &buffer.as_custom::<Buffer>().expect("a buffer of the interpreter").data
}

/// Declares functions that no kernel on buffers needs.
macro_rules! absent {
    ($($function:ident($($type:ty),*) $(-> $result:ty)?;)*) => {
        $(fn $function(&self, $(_: $type),*) $(-> $result)? {
            unimplemented!(concat!("the interpreter has no ", stringify!($function)))
        })*
    };
}

impl DeviceInterface for Device {
    fn features(&self) -> wgpu::Features {
        wgpu::Features::SUBGROUP | wgpu::Features::SUBGROUP_BARRIER
    }
    fn limits(&self) -> wgpu::Limits {
        wgpu::Limits::defaults()
    }
    fn adapter_info(&self) -> wgpu::AdapterInfo {
        // wgpu trusts the sizes of subgroups that Vulkan reports.
        let mut info = wgpu::AdapterInfo::new(self.0.kind, wgpu::Backend::Vulkan);
        info.name = "interpreter".to_owned();
        (info.subgroup_min_size, info.subgroup_max_size) = (self.0.subgroup as u32, self.0.subgroup as u32);
        info
    }
    fn create_shader_module(
        &self,
        desc: wgpu::ShaderModuleDescriptor<'_>,
        _: wgpu::ShaderRuntimeChecks,
    ) -> DispatchShaderModule {
        let module = match desc.source {
            wgpu::ShaderSource::Naga(module) => module.into_owned(),
            wgpu::ShaderSource::Wgsl(text) => naga::front::wgsl::parse_str(&text).expect("WGSL"),
            _ => panic!("a source that is neither WGSL nor naga's"),
        };
        DispatchShaderModule::custom(ShaderModule(module))
    }
    unsafe fn create_shader_module_passthrough(
        &self,
        _: &wgpu::ShaderModuleDescriptorPassthrough<'_>,
    ) -> DispatchShaderModule {
        unimplemented!("the interpreter takes WGSL and naga's representation, which it can watch")
    }
    fn create_bind_group_layout(&self, _: &wgpu::BindGroupLayoutDescriptor<'_>) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(Layout)
    }
    fn create_bind_group(&self, desc: &wgpu::BindGroupDescriptor<'_>) -> DispatchBindGroup {
        let bound = desc.entries.iter().map(|entry| {
            let wgpu::BindingResource::Buffer(part) = &entry.resource else { panic!("no buffer") };
            let buffer = part.buffer.as_custom::<Buffer>().expect("a buffer of the interpreter").data.clone();
            let offset = part.offset as usize;
            let bytes = part.size.map_or(buffer.bytes - offset, |size| size.get() as usize);
            assert!(offset + bytes <= buffer.bytes, "a binding that is longer than its buffer");
            Bound { binding: entry.binding, buffer, offset, bytes }
        });
        DispatchBindGroup::custom(BindGroup(Arc::new(bound.collect())))
    }
    fn create_pipeline_layout(&self, _: &wgpu::PipelineLayoutDescriptor<'_>) -> DispatchPipelineLayout {
        DispatchPipelineLayout::custom(Layout)
    }
    fn create_compute_pipeline(&self, desc: &wgpu::ComputePipelineDescriptor<'_>) -> DispatchComputePipeline {
        let module = desc.module.as_custom::<ShaderModule>().expect("a module of the interpreter");
        let name = desc.entry_point.expect("the name of an entry point");
        let kernel = Kernel::new(module.0.clone(), name, desc.compilation_options.constants);
        DispatchComputePipeline::custom(Pipeline(Arc::new(kernel)))
    }
    unsafe fn create_pipeline_cache(&self, _: &wgpu::PipelineCacheDescriptor<'_>) -> DispatchPipelineCache {
        unimplemented!("the interpreter has no create_pipeline_cache")
    }
    fn create_buffer(&self, desc: &wgpu::BufferDescriptor<'_>) -> DispatchBuffer {
        DispatchBuffer::custom(Buffer {
            data: Arc::new(self.0.buffer(desc.size)),
            interpreter: self.0.clone(),
            is_new: AtomicBool::new(desc.mapped_at_creation),
        })
    }
    fn create_command_encoder(&self, _: &wgpu::CommandEncoderDescriptor<'_>) -> DispatchCommandEncoder {
        DispatchCommandEncoder::custom(Encoder(Commands::default()))
    }
    absent! {
        create_external_texture(&wgpu::ExternalTextureDescriptor<'_>, &[&wgpu::TextureView]) -> DispatchExternalTexture;
        create_render_pipeline(&wgpu::RenderPipelineDescriptor<'_>) -> DispatchRenderPipeline;
        create_mesh_pipeline(&wgpu::MeshPipelineDescriptor<'_>) -> DispatchRenderPipeline;
        create_texture(&wgpu::TextureDescriptor<'_>) -> DispatchTexture;
        create_blas(&wgpu::CreateBlasDescriptor<'_>, wgpu::BlasGeometrySizeDescriptors) -> (Option<u64>, DispatchBlas);
        create_tlas(&wgpu::CreateTlasDescriptor<'_>) -> DispatchTlas;
        create_sampler(&wgpu::SamplerDescriptor<'_>) -> DispatchSampler;
        create_query_set(&wgpu::QuerySetDescriptor<'_>) -> DispatchQuerySet;
        create_render_bundle_encoder(&wgpu::RenderBundleEncoderDescriptor<'_>) -> DispatchRenderBundleEncoder;
    }
    fn set_device_lost_callback(&self, _: BoxDeviceLostCallback) {}
    fn on_uncaptured_error(&self, _: Arc<dyn wgpu::UncapturedErrorHandler>) {}
    fn push_error_scope(&self, _: wgpu::ErrorFilter) -> u32 {
        0
    }
    fn pop_error_scope(&self, _: u32) -> Pin<Box<dyn PopErrorScopeFuture>> {
        Box::pin(ready(None))
    }
    unsafe fn start_graphics_debugger_capture(&self) {}
    unsafe fn stop_graphics_debugger_capture(&self) {}
    fn poll(&self, _: wgpu::wgt::PollType<u64>) -> Result<wgpu::PollStatus, wgpu::PollError> {
        Ok(wgpu::PollStatus::QueueEmpty)
    }
    fn get_internal_counters(&self) -> wgpu::InternalCounters {
        wgpu::InternalCounters::default()
    }
    fn generate_allocator_report(&self) -> Option<wgpu::AllocatorReport> {
        None
    }
    fn destroy(&self) {}
}

impl QueueInterface for Queue {
    fn write_buffer(&self, buffer: &DispatchBuffer, offset: u64, bytes: &[u8]) {
        self.0.write(data(buffer), offset, bytes);
    }
    fn create_staging_buffer(&self, size: wgpu::BufferSize) -> Option<DispatchQueueWriteBuffer> {
        Some(DispatchQueueWriteBuffer::custom(Staged(vec![0; size.get() as usize])))
    }
    fn validate_write_buffer(&self, buffer: &DispatchBuffer, offset: u64, size: wgpu::BufferSize) -> Option<()> {
        assert!(offset + size.get() <= data(buffer).bytes as u64, "a write beyond the end of its buffer");
        Some(())
    }
    fn write_staging_buffer(&self, buffer: &DispatchBuffer, offset: u64, staged: &DispatchQueueWriteBuffer) {
        self.0.write(data(buffer), offset, &staged.as_custom::<Staged>().expect("bytes of the interpreter").0);
    }
    fn submit(&self, command_buffers: &mut dyn Iterator<Item = DispatchCommandBuffer>) -> u64 {
        let mut number = 0;
        for commands in command_buffers {
            let commands = &commands.as_custom::<CommandBuffer>().expect("commands of the interpreter").0;
            number = self.0.submit(&commands.lock().unwrap_or_else(PoisonError::into_inner));
        }
        number
    }
    fn get_timestamp_period(&self) -> f32 {
        1.0
    }
    fn on_submitted_work_done(&self, callback: BoxSubmittedWorkDoneCallback) {
        callback();
    }
    absent! {
        write_texture(wgpu::TexelCopyTextureInfo<'_>, &[u8], wgpu::TexelCopyBufferLayout, wgpu::Extent3d);
        compact_blas(&DispatchBlas) -> (Option<u64>, DispatchBlas);
        present(&DispatchSurfaceOutputDetail);
    }
}

impl ShaderModuleInterface for ShaderModule {
    fn get_compilation_info(&self) -> Pin<Box<dyn ShaderCompilationInfoFuture>> {
        Box::pin(ready(wgpu::CompilationInfo { messages: Vec::new() }))
    }
}
impl BindGroupLayoutInterface for Layout {}
impl PipelineLayoutInterface for Layout {}
impl BindGroupInterface for BindGroup {}
impl ComputePipelineInterface for Pipeline {
    absent! { get_bind_group_layout(u32) -> DispatchBindGroupLayout; }
}
impl CommandBufferInterface for CommandBuffer {}

impl BufferInterface for Buffer {
    fn map_async(&self, _: wgpu::MapMode, _: Range<u64>, callback: BufferMapCallback) {
        callback(Ok(()));
    }
    fn get_mapped_range(&self, range: Range<u64>) -> Result<DispatchBufferMappedRange, wgpu::MapRangeError> {
        let bytes = self.interpreter.read(&self.data, range.start, range.end);
        let is_new = self.is_new.load(Ordering::Relaxed);
        let to = is_new.then(|| (self.data.clone(), range.start, self.interpreter.clone()));
        Ok(DispatchBufferMappedRange::custom(Mapped { bytes, to }))
    }
    fn unmap(&self) {
        self.is_new.store(false, Ordering::Relaxed);
    }
    fn destroy(&self) {}
}

impl BufferMappedRangeInterface for Mapped {
    fn len(&self) -> usize {
        self.bytes.len()
    }
    unsafe fn read_slice(&self) -> &[u8] {
        &self.bytes
    }
    unsafe fn write_slice(&mut self) -> wgpu::WriteOnly<'_, [u8]> {
        wgpu::WriteOnly::from_mut(&mut self.bytes)
    }
}

impl QueueWriteBufferInterface for Staged {
    fn len(&self) -> usize {
        self.0.len()
    }
    unsafe fn write_slice(&mut self) -> wgpu::WriteOnly<'_, [u8]> {
        wgpu::WriteOnly::from_mut(&mut self.0)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Some((buffer, start, interpreter)) = &self.to {
            interpreter.write(buffer, *start, &self.bytes);
        }
    }
}

impl CommandEncoderInterface for Encoder {
    fn copy_buffer_to_buffer(
        &self,
        source: &DispatchBuffer,
        first: u64,
        destination: &DispatchBuffer,
        at: u64,
        size: Option<u64>,
    ) {
        let (from, to) = (data(source).clone(), data(destination).clone());
        let bytes = size.map_or(from.bytes - first as usize, |size| size as usize);
        push(&self.0, Command::Copy { from, first: first as usize, to, at: at as usize, bytes });
    }
    fn clear_buffer(&self, buffer: &DispatchBuffer, first: u64, size: Option<u64>) {
        let buffer = data(buffer).clone();
        let bytes = size.map_or(buffer.bytes - first as usize, |size| size as usize);
        push(&self.0, Command::Clear { buffer, first: first as usize, bytes });
    }
    fn begin_compute_pass(&self, _: &wgpu::ComputePassDescriptor<'_>) -> DispatchComputePass {
        DispatchComputePass::custom(Pass { commands: self.0.clone(), pipeline: None, bound: None })
    }
    fn finish(&mut self) -> DispatchCommandBuffer {
        DispatchCommandBuffer::custom(CommandBuffer(self.0.clone()))
    }
    fn insert_debug_marker(&self, _: &str) {}
    fn push_debug_group(&self, _: &str) {}
    fn pop_debug_group(&self) {}
    fn mark_acceleration_structures_built<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::Blas>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
    }
    fn build_acceleration_structures<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::BlasBuildEntry<'a>>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
    }
    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTexture>>,
    ) {
    }
    absent! {
        copy_buffer_to_texture(wgpu::TexelCopyBufferInfo<'_>, wgpu::TexelCopyTextureInfo<'_>, wgpu::Extent3d);
        copy_texture_to_buffer(wgpu::TexelCopyTextureInfo<'_>, wgpu::TexelCopyBufferInfo<'_>, wgpu::Extent3d);
        copy_texture_to_texture(wgpu::TexelCopyTextureInfo<'_>, wgpu::TexelCopyTextureInfo<'_>, wgpu::Extent3d);
        begin_render_pass(&wgpu::RenderPassDescriptor<'_>) -> DispatchRenderPass;
        clear_texture(&DispatchTexture, &wgpu::ImageSubresourceRange);
        write_timestamp(&DispatchQuerySet, u32);
        resolve_query_set(&DispatchQuerySet, u32, u32, &DispatchBuffer, u64);
    }
}

impl Pass {
    fn dispatch(&self, groups: Groups) {
        let (kernel, bound) = (self.pipeline.clone().expect("a pipeline"), self.bound.clone().expect("a bind group"));
        push(&self.commands, Command::Dispatch { kernel, bound, groups });
    }
}

impl Drop for Pass {
    fn drop(&mut self) {}
}

impl ComputePassInterface for Pass {
    fn set_pipeline(&mut self, pipeline: &DispatchComputePipeline) {
        self.pipeline = Some(pipeline.as_custom::<Pipeline>().expect("a pipeline of the interpreter").0.clone());
    }
    fn set_bind_group(&mut self, _: u32, group: Option<&DispatchBindGroup>, _: &[u32]) {
        self.bound = group.map(|group| group.as_custom::<BindGroup>().expect("a group of the interpreter").0.clone());
    }
    fn set_immediates(&mut self, _: u32, _: &[u8]) {
        unimplemented!("the interpreter has no set_immediates")
    }
    fn insert_debug_marker(&mut self, _: &str) {}
    fn push_debug_group(&mut self, _: &str) {}
    fn pop_debug_group(&mut self) {}
    fn write_timestamp(&mut self, _: &DispatchQuerySet, _: u32) {}
    fn begin_pipeline_statistics_query(&mut self, _: &DispatchQuerySet, _: u32) {}
    fn end_pipeline_statistics_query(&mut self) {}
    fn dispatch_workgroups(&mut self, x: u32, y: u32, z: u32) {
        self.dispatch(Groups::Direct([x, y, z]));
    }
    fn dispatch_workgroups_indirect(&mut self, buffer: &DispatchBuffer, offset: u64) {
        self.dispatch(Groups::Indirect(data(buffer).clone(), offset as usize));
    }
    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTextureView>>,
    ) {
    }
}
