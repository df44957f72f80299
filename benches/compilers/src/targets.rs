//! The options of naga for each back end. Options and bindings equal the ones of `wgpu-hal` 30: `vulkan/adapter.rs`,
//! `metal/device.rs` and `dx12/device.rs`. Checks at run time (of bounds, loops, divisions) are `wgpu`'s default, which
//! the library does not change.

use std::fmt;

use broadsweep::internals::gpu::kernel::Binding;
use broadsweep::wgpu::BufferBindingType::{Storage, Uniform};
use naga::back::{hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::ModuleInfo;
use naga::{AddressSpace, Module, ResourceBinding, ShaderStage, StorageAccess};

/// A back end of `wgpu`, on a device of a kind for which it translates differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Vulkan 1.3 that keeps accesses within buffers: desktop GPUs.
    Vulkan13,
    /// Vulkan 1.1 that does not, so that the kernel does it itself: old phones.
    Vulkan11,
    /// Metal of macOS 11, the first for which this is in use.
    Metal23,
    /// Metal of macOS 15.
    Metal32,
    /// Direct3D 12 with the lowest shader model that `wgpu` takes.
    Direct3D60,
    /// Direct3D 12 with the model of GPUs since 2020.
    Direct3D66,
}

impl Target {
    /// Lists all targets.
    pub const ALL: [Self; 6] =
        [Self::Vulkan13, Self::Vulkan11, Self::Metal23, Self::Metal32, Self::Direct3D60, Self::Direct3D66];

    /// Returns the ending of a file for the target.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Vulkan13 => "vulkan13.spv",
            Self::Vulkan11 => "vulkan11.spv",
            Self::Metal23 => "metal23.metal",
            Self::Metal32 => "metal32.metal",
            Self::Direct3D60 => "cs_6_0.hlsl",
            Self::Direct3D66 => "cs_6_6.hlsl",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vulkan13 => "Vulkan 1.3",
            Self::Vulkan11 => "Vulkan 1.1",
            Self::Metal23 => "Metal 2.3",
            Self::Metal32 => "Metal 3.2",
            Self::Direct3D60 => "Direct3D 12 with shader model 6.0",
            Self::Direct3D66 => "Direct3D 12 with shader model 6.6",
        })
    }
}

/// Lists the buffers of a kernel in the order in which back ends number them.
pub fn buffers(module: &Module) -> Vec<Binding> {
    let variables = module.global_variables.iter().filter_map(|(_, variable)| {
        let kind = match variable.space {
            AddressSpace::Uniform => Uniform,
            AddressSpace::Storage { access } => Storage { read_only: !access.contains(StorageAccess::STORE) },
            _ => return None,
        };
        Some(Binding { name: variable.name.clone()?, index: variable.binding.as_ref()?.binding, kind })
    });
    let mut buffers: Vec<_> = variables.collect();
    buffers.sort_by_key(|buffer| buffer.index);
    buffers
}

/// Writes the only entry point of a module without overrides. `declared` is the module that the library gave to `wgpu`,
/// with all of its buffers.
///
/// # Errors
/// The message of naga's writer.
pub fn write(target: Target, declared: &Module, module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let entry = &declared.entry_points[0].name;
    let buffers = buffers(declared);
    match target {
        Target::Vulkan13 => spirv(&spirv_options((1, 6), true, &buffers), entry, module, info),
        Target::Vulkan11 => spirv(&spirv_options((1, 3), false, &buffers), entry, module, info),
        Target::Metal23 => metal(&metal_options((2, 3), entry, &buffers), entry, module, info),
        Target::Metal32 => metal(&metal_options((3, 2), entry, &buffers), entry, module, info),
        Target::Direct3D60 => direct3d(&direct3d_options(hlsl::ShaderModel::V6_0, &buffers), entry, module, info),
        Target::Direct3D66 => direct3d(&direct3d_options(hlsl::ShaderModel::V6_6, &buffers), entry, module, info),
    }
}

fn resource(binding: u32) -> ResourceBinding {
    ResourceBinding { group: 0, binding }
}

// ---- Vulkan ----

/// Returns what `wgpu` tells naga on a device that keeps accesses within buffers, or that does not.
fn spirv_options(version: (u8, u8), is_robust: bool, buffers: &[Binding]) -> spv::Options<'static> {
    use spv::Capability as C;
    let capabilities = [
        // Always there.
        C::Shader,
        C::Matrix,
        C::Sampled1D,
        C::Image1D,
        C::ImageQuery,
        C::DerivativeControl,
        C::StorageImageExtendedFormats,
        // Where the device has subgroups.
        C::GroupNonUniform,
        C::GroupNonUniformVote,
        C::GroupNonUniformArithmetic,
        C::GroupNonUniformBallot,
        C::GroupNonUniformShuffle,
        C::GroupNonUniformShuffleRelative,
        C::GroupNonUniformQuad,
    ];
    let within_buffers = if is_robust { BoundsCheckPolicy::Unchecked } else { BoundsCheckPolicy::Restrict };
    spv::Options {
        lang_version: version,
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        fake_missing_bindings: false,
        binding_map: buffers
            .iter()
            .map(|buffer| {
                let place = spv::BindingInfo { descriptor_set: 0, binding: buffer.index, binding_array_size: None };
                (resource(buffer.index), place)
            })
            .collect(),
        capabilities: Some(capabilities.into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: within_buffers,
            image_load: within_buffers,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: true,
        emit_int_div_checks: true,
        ..Default::default()
    }
}

fn spirv(options: &spv::Options, entry: &str, module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: entry.to_owned() };
    let words = spv::write_vec(module, info, options, Some(&pipeline)).map_err(|error| error.to_string())?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

// ---- Metal ----

fn metal_options(version: (u8, u8), entry: &str, buffers: &[Binding]) -> msl::Options {
    let slots = buffers.iter().zip(0..).map(|(buffer, slot)| {
        let mutable = buffer.kind == Storage { read_only: false };
        (resource(buffer.index), msl::BindTarget { buffer: Some(slot), mutable, ..Default::default() })
    });
    let has_storage = buffers.iter().any(|buffer| buffer.kind != Uniform);
    let resources = msl::EntryPointResources {
        resources: slots.collect(),
        // The lengths of buffers lie behind them.
        sizes_buffer: has_storage.then_some(buffers.len() as u8),
        ..Default::default()
    };
    msl::Options {
        lang_version: version,
        per_entry_point_map: [(entry.to_owned(), resources)].into(),
        fake_missing_bindings: false,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Restrict,
            image_load: BoundsCheckPolicy::Restrict,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: true,
        emit_int_div_checks: true,
        ..Default::default()
    }
}

fn metal(options: &msl::Options, entry: &str, module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let pipeline = msl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.to_owned())),
        vertex_pulling_transform: true,
        ..Default::default()
    };
    let (text, names) = msl::write_string(module, info, options, &pipeline).map_err(|error| error.to_string())?;
    // A buffer that has no slot is an error of the entry point.
    names.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

// ---- Direct3D ----

fn direct3d_options(shader_model: hlsl::ShaderModel, buffers: &[Binding]) -> hlsl::Options {
    let (mut uniforms, mut read_only, mut read_write) = (0, 0, 0);
    let registers = buffers.iter().map(|buffer| {
        let next = match buffer.kind {
            Uniform => &mut uniforms,
            Storage { read_only: true } => &mut read_only,
            Storage { read_only: false } => &mut read_write,
        };
        let register = *next;
        *next += 1;
        (resource(buffer.index), hlsl::BindTarget { register, ..Default::default() })
    });
    let binding_map = registers.collect();
    hlsl::Options {
        shader_model,
        binding_map,
        fake_missing_bindings: false,
        // The number of workgroups of an indirect dispatch lies behind the uniforms.
        special_constants_binding: Some(hlsl::BindTarget { register: uniforms, ..Default::default() }),
        zero_initialize_workgroup_memory: false,
        restrict_indexing: true,
        force_loop_bounding: true,
        ..Default::default()
    }
}

fn direct3d(options: &hlsl::Options, entry: &str, module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let pipeline = hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, entry.to_owned())) };
    let mut text = String::new();
    let names = hlsl::Writer::new(&mut text, options, &pipeline)
        .write(module, info, None)
        .map_err(|error| error.to_string())?
        .entry_point_names;
    names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}
