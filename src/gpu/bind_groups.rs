//! Caches bind groups by the buffers that they bind.
//!
//! A bind group keeps its buffers alive. So a cached group could retain memory that the engine has released and no
//! longer counts. Therefore a group is cached only if all its buffers are [`Buffer`](super::buffers::Buffer)s. When a
//! buffer is dropped, its groups are dropped. A group with an external buffer is created each time.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use super::Gpu;

/// The cached bind groups of a device.
#[derive(Debug, Default)]
pub struct BindGroups {
    groups: HashMap<Bound, wgpu::BindGroup>,
    /// The buffers that live in an [`Owned`], which removes their groups when it is dropped.
    owned: HashSet<wgpu::Buffer>,
}

/// The layout and the buffers of a bind group: the key of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    layout: wgpu::BindGroupLayout,
    parts: Vec<Binding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Binding {
    binding: u32,
    buffer: wgpu::Buffer,
    offset: u64,
    size: Option<NonZeroU64>,
}

/// A buffer. When it is dropped, the cached groups that bind it are dropped.
#[derive(Debug)]
pub struct Owned {
    raw: wgpu::Buffer,
    groups: Arc<Mutex<BindGroups>>,
}

impl Bound {
    /// Creates the key of a group, without bindings, with capacity for `length` bindings.
    pub fn new(layout: &wgpu::BindGroupLayout, length: usize) -> Self {
        Self { layout: layout.clone(), parts: Vec::with_capacity(length) }
    }

    /// Adds a buffer, or a part of a buffer. Other resources are ignored, since no kernel binds them.
    pub fn push(&mut self, binding: u32, resource: &wgpu::BindingResource) {
        if let wgpu::BindingResource::Buffer(part) = resource {
            self.parts.push(Binding { binding, buffer: part.buffer.clone(), offset: part.offset, size: part.size });
        }
    }

    fn has(&self, buffer: &wgpu::Buffer) -> bool {
        self.parts.iter().any(|part| part.buffer == *buffer)
    }

    fn create(&self, device: &wgpu::Device, label: &str) -> wgpu::BindGroup {
        let entries: Vec<_> = self.parts.iter().map(Binding::entry).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(label),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

impl Binding {
    fn entry(&self) -> wgpu::BindGroupEntry<'_> {
        let Self { binding, ref buffer, offset, size } = *self;
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
        wgpu::BindGroupEntry { binding, resource }
    }
}

impl BindGroups {
    /// Returns the count of cached groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Drops all cached groups. Later calls create them again on demand.
    pub fn forget(&mut self) {
        self.groups.clear();
    }

    /// Returns the bind group of these buffers, from the cache or newly created.
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
    /// Registers the buffer, so that groups that bind it can be cached.
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
