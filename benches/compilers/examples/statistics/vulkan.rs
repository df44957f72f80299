//! A Vulkan device that compiles and is never run: all `unsafe` of this repository.

use std::ffi::{CStr, CString};

use ash::{ext, khr, vk};
use broadsweep::internals::gpu::kernel::Binding;
use broadsweep::wgpu::BufferBindingType;

/// Names and values, in the driver's order.
pub type Statistics = Vec<(String, u64)>;

/// A device with the features of compute shaders that `wgpu` enables if available. It lives until the program ends.
pub struct Device {
    name: String,
    device: ash::Device,
    executables: khr::pipeline_executable_properties::Device,
    /// Keeps the library of the loader.
    _entry: ash::Entry,
}

const EXTENSIONS: [&CStr; 2] = [ext::robustness2::NAME, khr::pipeline_executable_properties::NAME];

fn message(error: vk::Result) -> String {
    error.to_string()
}

impl Device {
    /// Creates the first device that the loader finds.
    pub fn first() -> Result<Self, String> {
        // SAFETY: The loader is the system's, as it is for every program that uses Vulkan.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| error.to_string())?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `info` is valid, and `entry` outlives the instance in `Self`.
        let instance = unsafe { entry.create_instance(&info, None) }.map_err(message)?;
        // SAFETY: The instance is alive.
        let physical = unsafe { instance.enumerate_physical_devices() }.map_err(message)?;
        let physical = *physical.first().ok_or("there is no Vulkan device")?;
        let name = name(&instance, physical);
        let device = create(&instance, physical).map_err(|error| format!("{name}: {error}"))?;
        let executables = khr::pipeline_executable_properties::Device::new(&instance, &device);
        Ok(Self { name, device, executables, _entry: entry })
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compiles a kernel, given as the bytes of SPIR-V, and returns what the driver tells of it.
    pub fn statistics(&self, entry: &str, spirv: &[u8], buffers: &[Binding]) -> Result<Statistics, String> {
        let bindings: Vec<_> = buffers
            .iter()
            .map(|buffer| {
                let kind = match buffer.kind {
                    BufferBindingType::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
                    BufferBindingType::Storage { .. } => vk::DescriptorType::STORAGE_BUFFER,
                };
                vk::DescriptorSetLayoutBinding::default()
                    .binding(buffer.index)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
                    .descriptor_type(kind)
            })
            .collect();
        let words: Vec<_> =
            spirv.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        let entry = CString::new(entry).map_err(|error| error.to_string())?;
        // SAFETY: naga wrote the words for this entry point and these bindings, and `spirv-val` passes them.
        let pipeline = unsafe { self.compile(&entry, &words, &bindings) }.map_err(message)?;
        // SAFETY: The pipeline is of this device, was created with statistics, and has just the one stage.
        let statistics = unsafe { self.pipeline_statistics(pipeline) }.map_err(message);
        // SAFETY: Nothing has the pipeline any more.
        unsafe { self.device.destroy_pipeline(pipeline, None) };
        statistics
    }

    /// Creates a pipeline that can be requested its statistics.
    ///
    /// # Safety
    /// The words are valid SPIR-V with this entry point, whose variables are these bindings.
    unsafe fn compile(
        &self,
        entry: &CStr,
        words: &[u32],
        bindings: &[vk::DescriptorSetLayoutBinding],
    ) -> Result<vk::Pipeline, vk::Result> {
        let device = &self.device;
        // SAFETY: Each object is created from live objects above it. The three objects that a finished pipeline does
        // not need are destroyed, unless an error ends the program.
        unsafe {
            let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(bindings);
            let set = device.create_descriptor_set_layout(&set, None)?;
            let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(std::slice::from_ref(&set));
            let layout = device.create_pipeline_layout(&layout, None)?;
            let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                // As wgpu does on a device with subgroups.
                .flags(vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE)
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(entry);
            let info = vk::ComputePipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
                .stage(stage)
                .layout(layout);
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            device.destroy_shader_module(module, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(set, None);
            made.map(|pipelines| pipelines[0]).map_err(|(_, error)| error)
        }
    }

    /// Returns the statistics of a pipeline, but hashes, and the size of its subgroups first.
    ///
    /// # Safety
    /// The pipeline is of this device, is alive and was made with `CAPTURE_STATISTICS_KHR`.
    unsafe fn pipeline_statistics(&self, pipeline: vk::Pipeline) -> Result<Statistics, vk::Result> {
        let pipeline_info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: As above. Executable 0 is there, since a compute pipeline has one.
        let (executables, statistics) = unsafe {
            let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let properties = self.executables.get_pipeline_executable_properties(&pipeline_info)?;
            (properties, self.executables.get_pipeline_executable_statistics(&info)?)
        };
        let subgroup = executables.first().map_or(0, |executable| executable.subgroup_size);
        let mut values = vec![("Subgroup size".to_owned(), u64::from(subgroup))];
        for statistic in statistics {
            let name = statistic.name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
            if name.to_lowercase().contains("hash") {
                continue;
            }
            // SAFETY: The format says which field of the union was written.
            let value = unsafe {
                match statistic.format {
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => statistic.value.u64,
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => statistic.value.i64.max(0) as u64,
                    vk::PipelineExecutableStatisticFormatKHR::BOOL32 => u64::from(statistic.value.b32),
                    _ => statistic.value.f64 as u64,
                }
            };
            values.push((name, value));
        }
        Ok(values)
    }
}

/// Returns the names of a device and of its driver, with the version.
fn name(instance: &ash::Instance, physical: vk::PhysicalDevice) -> String {
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
    // SAFETY: `physical` is of this instance, and the structures are those that the call fills.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    let device = properties.properties;
    let names = [device.device_name_as_c_str(), driver.driver_name_as_c_str(), driver.driver_info_as_c_str()];
    names.map(|name| name.unwrap_or_default().to_string_lossy()).join(", ")
}

/// Creates a device that keeps accesses within buffers, zeroes workgroup memory and tells statistics.
fn create(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Result<ash::Device, String> {
    // SAFETY: `physical` is of this instance.
    let known = unsafe { instance.enumerate_device_extension_properties(physical) }.map_err(message)?;
    let is_known = |name: &CStr| known.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name));
    if let Some(missing) = EXTENSIONS.iter().find(|name| !is_known(name)) {
        return Err(format!("it has no {}", missing.to_string_lossy()));
    }
    let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default()
        .shader_zero_initialize_workgroup_memory(true)
        .subgroup_size_control(true);
    let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
    let mut statistics =
        vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
    let robust_buffers = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(robust_buffers);
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let extensions = EXTENSIONS.map(CStr::as_ptr);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut features)
        .push_next(&mut vulkan13)
        .push_next(&mut robust)
        .push_next(&mut statistics);
    // SAFETY: `info` and everything that it points to live until the call returns. A missing feature of the device is
    // an error.
    unsafe { instance.create_device(physical, &info, None) }.map_err(message)
}
