//! Bind groups, kept for the same buffers again.
//!
//! A bind group keeps its buffers alive. Groups are therefore kept only where all of their buffers are
//! [`Buffer`](super::buffers::Buffer)s, and dropping a buffer drops its groups: no memory is held that nobody counts. A
//! group with a buffer of the caller's is made anew each time.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use super::Gpu;

/// The bind groups of a device.
#[derive(Debug, Default)]
pub struct BindGroups {
    groups: HashMap<Bound, wgpu::BindGroup>,
    /// The buffers that tell when they go.
    owned: HashSet<wgpu::Buffer>,
}

/// What a group binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    layout: wgpu::BindGroupLayout,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part {
    binding: u32,
    buffer: wgpu::Buffer,
    offset: u64,
    size: Option<NonZeroU64>,
}

/// A buffer that takes along the groups that it is bound in.
#[derive(Debug)]
pub struct Owned {
    raw: wgpu::Buffer,
    groups: Arc<Mutex<BindGroups>>,
}

impl Bound {
    /// Begins a group of this many bindings.
    pub fn new(layout: &wgpu::BindGroupLayout, length: usize) -> Self {
        Self { layout: layout.clone(), parts: Vec::with_capacity(length) }
    }

    /// Adds a buffer, or a part of one; kernels here bind nothing else.
    pub fn push(&mut self, binding: u32, resource: &wgpu::BindingResource) {
        if let wgpu::BindingResource::Buffer(part) = resource {
            self.parts.push(Part { binding, buffer: part.buffer.clone(), offset: part.offset, size: part.size });
        }
    }

    fn has(&self, buffer: &wgpu::Buffer) -> bool {
        self.parts.iter().any(|part| part.buffer == *buffer)
    }

    fn create(&self, device: &wgpu::Device, label: &str) -> wgpu::BindGroup {
        let entries: Vec<_> = self.parts.iter().map(Part::entry).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(label),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

impl Part {
    fn entry(&self) -> wgpu::BindGroupEntry<'_> {
        let Self { binding, ref buffer, offset, size } = *self;
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
        wgpu::BindGroupEntry { binding, resource }
    }
}

impl BindGroups {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Forgets all groups; those that are needed are made again.
    pub fn forget(&mut self) {
        self.groups.clear();
    }

    /// Returns the group of what is bound, made if there is none.
    pub fn get(&mut self, device: &wgpu::Device, label: &str, bound: Bound) -> wgpu::BindGroup {
        if let Some(group) = self.groups.get(&bound) {
            return group.clone();
        }
        let group = bound.create(device, label);
        if bound.parts.iter().all(|part| self.owned.contains(&part.buffer)) {
            self.groups.insert(bound, group.clone());
        }
        group
    }
}

impl Owned {
    /// Watches over this buffer.
    pub fn new(gpu: &Gpu, raw: wgpu::Buffer) -> Self {
        gpu.bind_groups().owned.insert(raw.clone());
        Self { raw, groups: Arc::clone(&gpu.bind_groups) }
    }

    /// Returns the buffer itself.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.raw
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.owned.remove(&self.raw);
        groups.groups.retain(|bound, _| !bound.has(&self.raw));
    }
}
