//! Temporary.
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::Pass;
use crate::{Aabb, Error};
/// Temporary.
#[derive(Debug)]
pub struct Prepare;
impl Prepare {
    /// Temporary.
    pub fn new(_: &Gpu) -> Result<Self, Error> {
        Ok(Self)
    }
    /// Temporary.
    pub fn record(
        &self,
        _: &mut Pass,
        _: u32,
        _: wgpu::BindingResource,
        _: &Buffer<f32>,
        _: &Buffer<u32>,
        _: &Buffer<Aabb>,
    ) {
    }
}
