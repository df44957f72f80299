//! The uniforms of all shaders.

use bytemuck::{Pod, Zeroable};

/// WGSL that precedes the source of each shader.
pub const SOURCE: &str = include_str!("../shaders/globals.wgsl");

/// The index if no box is picked.
pub const NONE: u32 = u32::MAX;

/// The twin of `Globals` in `shaders/globals.wgsl`, which documents the fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct Globals {
    pub clip_from_world: [f32; 16],
    pub eye: [f32; 3],
    pub time: f32,
    pub ray: [f32; 3],
    pub radius: f32,
    pub box_count: u32,
    pub frame: u32,
    pub columns: u32,
    pub spacing: f32,
    pub step: f32,
    pub extent: f32,
    pub kick: f32,
    pub opacity: f32,
    pub has_ages: u32,
    pub draws_old: u32,
    pub world_count: u32,
    pub is_first: u32,
}
