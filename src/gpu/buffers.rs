//! Typed buffers.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;

use super::Gpu;
use super::bind_groups::Owned;
use super::host_copy;
use super::table::CONSTANT;
use crate::Error;

/// A buffer of `len` elements of type `T` on the GPU, which kernels read and write. A clone refers to the same buffer.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    owned: Arc<Owned>,
    len: u64,
    element: PhantomData<T>,
}

/// Compares the buffers themselves, not their content.
impl<T> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.owned.raw() == other.owned.raw()
    }
}

impl<T: Pod> Buffer<T> {
    /// Allocates a zeroed buffer for `len` elements. It has at least one element, since an empty buffer cannot be
    /// bound.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for it.
    pub fn new(gpu: &Gpu, label: &str, len: u64, usage: wgpu::BufferUsages) -> Result<Self, Error> {
        let size = Self::bytes(len);
        let scopes = gpu.open_scopes();
        let raw = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: false,
        });
        scopes.close_allocation(label, size)?;
        Ok(Self { owned: Arc::new(Owned::new(gpu, raw)), len, element: PhantomData })
    }

    /// Allocates a zeroed storage buffer for `len` elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for it.
    pub fn storage(gpu: &Gpu, label: &str, len: u64) -> Result<Self, Error> {
        use wgpu::BufferUsages as U;
        Self::new(gpu, label, len, U::STORAGE | U::COPY_DST | U::COPY_SRC)
    }

    /// Creates a uniform buffer with these values, as a small constant for kernels. The values are written at creation,
    /// so all commands that bind the buffer read them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for it.
    pub fn uniform(gpu: &Gpu, label: &str, values: &[T]) -> Result<Self, Error> {
        Self::of(gpu, label, values, CONSTANT)
    }

    /// Creates a buffer with these values.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for it.
    pub fn of(gpu: &Gpu, label: &str, values: &[T], usage: wgpu::BufferUsages) -> Result<Self, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let scopes = gpu.open_scopes();
        let raw = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: (bytes.len() as u64).max(1).next_multiple_of(16),
            usage,
            mapped_at_creation: true,
        });
        if !bytes.is_empty()
            && let Ok(mut view) = raw.get_mapped_range_mut(..bytes.len() as u64)
        {
            view.copy_from_slice(bytes);
        }
        raw.unmap();
        scopes.close_allocation(label, bytes.len() as u64)?;
        Ok(Self { owned: Arc::new(Owned::new(gpu, raw)), len: values.len() as u64, element: PhantomData })
    }

    /// Returns the size in bytes of a buffer of `len` elements on the GPU.
    pub fn bytes(len: u64) -> u64 {
        // Saturate instead of wrapping, so that the device refuses the size.
        len.max(1).saturating_mul(size_of::<T>() as u64).checked_next_multiple_of(16).unwrap_or(u64::MAX)
    }

    /// Returns the buffer of wgpu.
    pub fn raw(&self) -> &wgpu::Buffer {
        self.owned.raw()
    }

    /// Returns the element count.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the whole buffer, to bind.
    pub fn all(&self) -> wgpu::BindingResource<'_> {
        self.raw().as_entire_binding()
    }

    /// Returns the elements before index `end`, to bind; the whole buffer if it has fewer elements.
    pub fn up_to(&self, end: u64) -> wgpu::BindingResource<'_> {
        self.part(0, Some((end * size_of::<T>() as u64).min(self.raw().size())))
    }

    /// Returns the elements from `first` on, to bind. Their offset must be a multiple of 256 bytes.
    pub fn from(&self, first: u64) -> wgpu::BindingResource<'_> {
        self.part(first * size_of::<T>() as u64, None)
    }

    fn part(&self, offset: u64, size: Option<u64>) -> wgpu::BindingResource<'_> {
        let size = size.and_then(std::num::NonZeroU64::new);
        wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: self.raw(), offset, size })
    }

    /// Writes `values` at the start, before the next submission runs.
    pub fn write(&self, gpu: &Gpu, values: &[T]) {
        self.write_at(gpu, 0, values);
    }

    /// Writes `values` at the start. If there are no values, writes zeros to the whole buffer, for kernels that read
    /// all of it.
    pub fn write_or_zero(&self, gpu: &Gpu, values: &[T]) {
        if values.is_empty() {
            let zeros = vec![0; Self::bytes(self.len) as usize];
            gpu.queue().write_buffer(self.raw(), 0, &zeros);
        }
        self.write(gpu, values);
    }

    /// Records a write of `values` at the start of the buffer, in the order of the commands. The caller must have error
    /// scopes open.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for them.
    pub fn record_write(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, values: &[T]) -> Result<(), Error> {
        let from = Self::of(gpu, "constant", values, wgpu::BufferUsages::COPY_SRC)?;
        encoder.copy_buffer_to_buffer(from.raw(), 0, self.raw(), 0, std::mem::size_of_val(values) as u64);
        Ok(())
    }

    /// Writes `values` from element `first` on, before the next submission runs. The caller must have error scopes
    /// open; without them, `wgpu` ends the program if the device is lost.
    pub fn write_at(&self, gpu: &Gpu, first: u64, values: &[T]) {
        if values.is_empty() {
            return;
        }
        host_copy::write(gpu.queue(), self.raw(), first * size_of::<T>() as u64, bytemuck::cast_slice(values));
    }
}

/// A cache of small constants for kernels, a buffer per value. Recent requests of the same value return the same
/// buffer. A buffer is written once, so commands read the value with which they were recorded.
#[derive(Debug)]
pub struct Constants<T> {
    label: &'static str,
    /// The most cached buffers.
    capacity: usize,
    /// Values and their buffers, most recently used first.
    cached: Mutex<VecDeque<(T, Buffer<T>)>>,
}

impl<T: Pod> Constants<T> {
    /// The default capacity: two pieces of a stream for each of two submissions in flight.
    const CAPACITY: usize = 4;

    /// Creates a cache of the default capacity. `label` names its buffers.
    pub fn new(label: &'static str) -> Self {
        Self::with_capacity(label, Self::CAPACITY)
    }

    /// Creates a cache of `capacity` buffers. `label` names them.
    pub fn with_capacity(label: &'static str, capacity: usize) -> Self {
        Self { label, capacity, cached: Mutex::default() }
    }

    /// Returns a buffer with this value, from the cache or newly created.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for it.
    pub fn get(&self, gpu: &Gpu, value: T) -> Result<Buffer<T>, Error> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(cached, _): &(T, Buffer<T>)| bytemuck::bytes_of(cached) == bytemuck::bytes_of(&value);
        let found = cached.iter().position(is_same).and_then(|at| cached.remove(at));
        let found = found.map_or_else(|| Ok((value, Buffer::uniform(gpu, self.label, &[value])?)), Ok)?;
        let buffer = found.1.clone();
        cached.push_front(found);
        cached.truncate(self.capacity);
        Ok(buffer)
    }
}
