//! All adapters, with the limits and features that the library reads.

use anyhow::Result;
use broadsweep::Gpu;
use broadsweep::wgpu::{Adapter, Backends, Features, Instance, InstanceDescriptor, InstanceFlags};
use pollster::block_on;
use serde_json::{Map, Value};

use crate::adapters;

/// Lists the adapters that the library finds, as `Gpu::adapters` does.
pub fn list() -> Vec<Adapter> {
    let backends = Backends::PRIMARY.with_env();
    let descriptor = InstanceDescriptor {
        backends,
        flags: InstanceFlags::empty().with_env(),
        ..InstanceDescriptor::new_without_display_handle()
    };
    block_on(Instance::new(descriptor).enumerate_adapters(backends))
}

/// Requests a device.
pub fn open(adapter: &Adapter) -> Result<Gpu> {
    Ok(block_on(Gpu::request_on(adapter.clone()))?)
}

/// Describes an adapter in lines.
pub fn lines(adapter: &Adapter) -> String {
    let mut lines = format!("adapter     {}\n", adapters::lines(&adapter.get_info()));
    for (limit, value) in limits(adapter) {
        lines += &format!("  {limit:<37} {value}\n");
    }
    for (feature, is_there) in features(adapter) {
        lines += &format!("  {feature:<37} {}\n", if is_there { "yes" } else { "no" });
    }
    lines
}

/// Describes an adapter as one object.
pub fn json(adapter: &Adapter) -> Value {
    let mut value = adapters::json(&adapter.get_info());
    value["limits"] = Map::from_iter(limits(adapter).map(|(name, value)| (name.to_owned(), value.into()))).into();
    let features = features(adapter).map(|(name, is_there)| (name.to_owned(), is_there.into()));
    value["features"] = Map::from_iter(features).into();
    value
}

/// Returns the limits that `Gpu::from_device` checks, and other limits that the library depends on.
fn limits(adapter: &Adapter) -> [(&'static str, u64); 12] {
    let (limits, info) = (adapter.limits(), adapter.get_info());
    [
        ("max_buffer_size", limits.max_buffer_size),
        ("max_storage_buffer_binding_size", limits.max_storage_buffer_binding_size),
        ("max_storage_buffers_per_shader_stage", limits.max_storage_buffers_per_shader_stage.into()),
        ("max_uniform_buffers_per_shader_stage", limits.max_uniform_buffers_per_shader_stage.into()),
        ("max_bindings_per_bind_group", limits.max_bindings_per_bind_group.into()),
        ("min_storage_buffer_offset_alignment", limits.min_storage_buffer_offset_alignment.into()),
        ("max_compute_workgroup_storage_size", limits.max_compute_workgroup_storage_size.into()),
        ("max_compute_invocations_per_workgroup", limits.max_compute_invocations_per_workgroup.into()),
        ("max_compute_workgroup_size_x", limits.max_compute_workgroup_size_x.into()),
        ("max_compute_workgroups_per_dimension", limits.max_compute_workgroups_per_dimension.into()),
        ("subgroup_min_size", info.subgroup_min_size.into()),
        ("subgroup_max_size", info.subgroup_max_size.into()),
    ]
}

/// Returns the features that the library uses if they are present, and whether they are.
fn features(adapter: &Adapter) -> impl Iterator<Item = (&'static str, bool)> {
    let present = adapter.features();
    let used = Gpu::SUBGROUP_FEATURES | Gpu::TIMING_FEATURES | Features::PIPELINE_CACHE;
    used.iter_names().map(move |(name, feature)| (name, present.contains(feature)))
}
