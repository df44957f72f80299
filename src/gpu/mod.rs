//! The device, and a thin layer over `wgpu`: [`kernel`] binds buffers by name, [`buffers`] gives them types,
//! [`bind_groups`] caches bind groups, [`compilation`] compiles kernels ahead, [`readback`] reads results back,
//! [`scopes`] converts errors of `wgpu` to [`Error`](crate::Error), [`timing`] measures each kernel.

pub(crate) mod bind_groups;
pub mod buffers;
pub mod compilation;
pub mod external;
pub(crate) mod host_copy;
pub mod kernel;
pub mod limits;
pub mod readback;
pub mod scopes;
pub mod sort_buffers;
mod sort_variant;
pub(crate) mod table;
pub mod timing;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use sort_variant::SortVariant;

use crate::base::options::{ALL_PAIRS_DISCRETE, ALL_PAIRS_ELSEWHERE, ALL_PAIRS_INTEGRATED};
use crate::{Cause, Error};
use bind_groups::BindGroups;
use kernel::Kernel;
use scopes::Scopes;

/// The smallest accepted limit of a storage binding, in bytes. WebGPU's default limit is 128 MiB.
const LEAST_BINDING: u64 = 4 << 20;

/// Kernels by label and enabled switches.
type Kernels = HashMap<(&'static str, Vec<&'static str>), Kernel>;

/// A device and its queue, either requested here or passed by the caller.
///
/// A clone is cheap; kernels are compiled once for all clones. WebGPU's default limits are enough; see
/// [`Gpu::required_limits`].
#[derive(Clone, Debug)]
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// The driver's reason for the loss of the device, if it is known.
    lost: Arc<Mutex<Option<String>>>,
    /// Kernels that were looked up for the device, by label and switches.
    kernels: Arc<Mutex<Kernels>>,
    /// The cached bind groups.
    bind_groups: Arc<Mutex<BindGroups>>,
    /// The counts of dispatches recorded for the device: direct, then indirect.
    dispatches: Arc<[AtomicU64; 2]>,
    /// The best variant of the sort for the device, once determined.
    best_sort: Arc<Mutex<Option<SortVariant>>>,
    /// The requested variant of the sort.
    requested_sort: Option<SortVariant>,
    /// True if the device is a software adapter.
    is_software: bool,
    /// The most loop turns of a query in one dispatch, if a test specifies a limit.
    turns: Option<u32>,
    /// The caller's cache of compiled kernels, if any.
    pipeline_cache: Option<wgpu::PipelineCache>,
    /// The label of compute passes.
    label: Arc<str>,
}

/// The counts of direct and indirect dispatches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DispatchCount {
    /// Dispatches whose size the host knows.
    pub direct: u64,
    /// Dispatches whose size a kernel writes to a buffer. wgpu may validate each size with
    /// [another dispatch](Gpu::from_device).
    pub indirect: u64,
}

impl DispatchCount {
    /// Returns the sum of both counts.
    pub fn total(self) -> u64 {
        self.direct + self.indirect
    }

    /// Returns the dispatches since an earlier count.
    pub fn since(self, earlier: Self) -> Self {
        Self { direct: self.direct - earlier.direct, indirect: self.indirect - earlier.indirect }
    }
}

impl Gpu {
    /// The device features that the timing of kernels needs: timestamps between the dispatches of one pass.
    pub const TIMING_FEATURES: wgpu::Features = timing::FEATURES;
    /// The device features that make the sort faster.
    pub const SUBGROUP_FEATURES: wgpu::Features = SUBGROUP_FEATURES;

    /// Returns the limits that the kernels need of a device, all within WebGPU's defaults. These are 8 storage buffers
    /// and 4 uniform buffers per stage, 16 KiB of workgroup memory, workgroups of 256 invocations, and 65,535
    /// workgroups along x and y. No features are needed; the sort is faster on a GPU with [`Gpu::SUBGROUP_FEATURES`].
    /// Buffer sizes limit the box count; see [`BroadPhase::memory_plan`].
    ///
    /// [`BroadPhase::memory_plan`]: crate::BroadPhase::memory_plan
    pub fn required_limits() -> wgpu::Limits {
        wgpu::Limits::defaults()
    }

    /// Uses a device of the caller, such as the device of a renderer.
    ///
    /// Create the instance of the device without `InstanceFlags::VALIDATION_INDIRECT_CALL`. wgpu sets this flag by
    /// default, in release builds too. With the flag, wgpu validates the size of each indirect dispatch by another
    /// dispatch and two barriers. The kernels write sizes within the limits of any device, so [`Gpu::request`] omits
    /// the validation. This function cannot check the flag, since a device does not report the flags of its instance.
    /// ```no_run
    /// use broadsweep::wgpu;
    ///
    /// let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    /// descriptor.flags.remove(wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
    /// let instance = wgpu::Instance::new(descriptor);
    /// # async {
    /// let adapter = instance.request_adapter(&Default::default()).await?;
    /// let (device, queue) = adapter.request_device(&Default::default()).await?; // the default limits suffice
    /// let gpu = broadsweep::Gpu::from_device(device.clone(), queue.clone())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # };
    /// ```
    ///
    /// A lost device is reported by the next call that uses it. For an immediate report, set
    /// `wgpu::Device::set_device_lost_callback`, which this function does not set.
    ///
    /// # Errors
    /// [`Error::DeviceTooSmall`] if the device was requested with a limit below [`Gpu::required_limits`].
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, Error> {
        let has = device.limits();
        let checks = [
            ("max_storage_buffers_per_shader_stage", 8, u64::from(has.max_storage_buffers_per_shader_stage)),
            ("max_uniform_buffers_per_shader_stage", 4, u64::from(has.max_uniform_buffers_per_shader_stage)),
            ("max_bindings_per_bind_group", 12, u64::from(has.max_bindings_per_bind_group)),
            ("max_compute_workgroup_storage_size", 16_384, u64::from(has.max_compute_workgroup_storage_size)),
            ("max_compute_invocations_per_workgroup", 256, u64::from(has.max_compute_invocations_per_workgroup)),
            ("max_compute_workgroup_size_x", 256, u64::from(has.max_compute_workgroup_size_x)),
            ("max_compute_workgroups_per_dimension", 65_535, u64::from(has.max_compute_workgroups_per_dimension)),
            // The least size is for buffers whose size does not depend on the boxes.
            ("max_storage_buffer_binding_size", LEAST_BINDING, has.max_storage_buffer_binding_size),
            ("max_buffer_size", LEAST_BINDING, has.max_buffer_size),
        ];
        for (limit, required, available) in checks {
            if available < required {
                return Err(Error::DeviceTooSmall { limit, required, available });
            }
        }
        let is_software = device.adapter_info().device_type == wgpu::DeviceType::Cpu;
        Ok(Self {
            device,
            queue,
            is_software,
            turns: None,
            pipeline_cache: None,
            label: "broadsweep".into(),
            lost: Arc::default(),
            kernels: Arc::default(),
            bind_groups: Arc::default(),
            best_sort: Arc::default(),
            requested_sort: None,
            dispatches: Arc::default(),
        })
    }

    /// Requests a device on the adapter that the system prefers, with the largest buffers that it supports.
    ///
    /// The environment can choose the adapter, as with `wgpu`: `WGPU_BACKEND`, `WGPU_ADAPTER_NAME`. OpenGL is not
    /// compiled in, so `WGPU_BACKEND=gl` finds no adapter.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], [`Error::NoDevice`], [`Error::DeviceTooSmall`].
    pub async fn request() -> Result<Self, Error> {
        let instance = instance();
        #[cfg(not(target_arch = "wasm32"))]
        if let Ok(name) = std::env::var("WGPU_ADAPTER_NAME")
            && !name.is_empty()
        {
            return Self::request_named(&name).await;
        }
        let adapter = instance
            .request_adapter(&wgpu::RequestAdapterOptions {
                power_preference: wgpu::PowerPreference::HighPerformance,
                ..Default::default()
            })
            .await
            .map_err(|error| Error::NoAdapter { reason: error.to_string(), cause: Some(Cause::of(error)) })?;
        Self::request_on(adapter).await
    }

    /// Requests a device on the first adapter whose name contains `name`, ignoring case.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], which lists the names of all adapters, [`Error::NoDevice`], [`Error::DeviceTooSmall`].
    pub async fn request_named(name: &str) -> Result<Self, Error> {
        let adapters = instance().enumerate_adapters(backends()).await;
        let names: Vec<String> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
        let part = name.to_lowercase();
        for (adapter, found) in adapters.into_iter().zip(&names) {
            if found.to_lowercase().contains(&part) {
                return Self::request_on(adapter).await;
            }
        }
        let there_are = if names.is_empty() {
            "there are no adapters".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        Err(Error::NoAdapter { reason: format!("no adapter's name contains '{name}'; {there_are}"), cause: None })
    }

    /// Requests a device on this adapter.
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::DeviceTooSmall`].
    pub async fn request_on(adapter: wgpu::Adapter) -> Result<Self, Error> {
        let info = adapter.get_info();
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("broadsweep"),
                required_features: adapter.features() & (timing::FEATURES | SUBGROUP_FEATURES),
                required_limits: adapter.limits(),
                ..Default::default()
            })
            .await
            .map_err(|error| Error::NoDevice {
                adapter: info.name,
                reason: error.to_string(),
                cause: Some(Cause::of(error)),
            })?;
        let gpu = Self::from_device(device, queue)?;
        let lost = Arc::clone(&gpu.lost);
        gpu.device.set_device_lost_callback(move |reason, message| {
            let text = format!("{reason:?}: {message}");
            lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        });
        Ok(gpu)
    }

    /// Does the same as [`Gpu::request`]. **Blocks.**
    ///
    /// # Errors
    /// The errors of [`Gpu::request`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn headless() -> Result<Self, Error> {
        pollster::block_on(Self::request())
    }

    /// Does the same as [`Gpu::request_named`]. **Blocks.**
    ///
    /// # Errors
    /// The errors of [`Gpu::request_named`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn headless_named(name: &str) -> Result<Self, Error> {
        pollster::block_on(Self::request_named(name))
    }

    /// Lists all adapters. **Blocks.**
    #[cfg(not(target_arch = "wasm32"))]
    pub fn adapters() -> Vec<wgpu::AdapterInfo> {
        pollster::block_on(instance().enumerate_adapters(backends())).iter().map(wgpu::Adapter::get_info).collect()
    }

    /// Returns the device.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Returns the queue of the device.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Returns the adapter's name, kind and driver.
    pub fn adapter_info(&self) -> wgpu::AdapterInfo {
        self.device.adapter_info()
    }

    /// Returns the count of dispatches recorded so far by this value and all its clones. The overhead of a call grows
    /// with its dispatch count.
    pub fn dispatch_count(&self) -> DispatchCount {
        let [direct, indirect] = self.dispatches.each_ref().map(|count| count.load(Ordering::Relaxed));
        DispatchCount { direct, indirect }
    }

    pub(crate) fn count_dispatch(&self, is_indirect: bool) {
        self.dispatches[usize::from(is_indirect)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the same device, with this variant of the sort for every [`BroadPhase`](crate::BroadPhase) created with
    /// it. `None`, the default, means the best variant. Results do not depend on the variant.
    ///
    /// # Errors
    /// [`Error::BadOption`] for [`SortVariant::Subgroup`] if the device lacks its
    /// [requirements](Gpu::has_subgroups).
    pub fn with_sort(self, variant: Option<SortVariant>) -> Result<Self, Error> {
        if variant == Some(SortVariant::Subgroup) && !self.has_subgroups() {
            return Err(Error::BadOption {
                option: "Gpu::with_sort",
                value: "Subgroup".to_owned(),
                expected: "a variant whose required features and subgroup sizes the device has",
            });
        }
        Ok(Self { requested_sort: variant, ..self })
    }

    /// Returns the same device, with a cache for kernels that are compiled later. A program that stores the cache's
    /// [data](wgpu::PipelineCache::get_data) in a file starts faster, unless the driver has a similar cache. The
    /// program must create the cache itself, which is `unsafe`, since wgpu trusts the data. The device must be
    /// requested with `wgpu::Features::PIPELINE_CACHE` and passed to [`Gpu::from_device`].
    #[must_use]
    pub fn with_pipeline_cache(self, cache: wgpu::PipelineCache) -> Self {
        Self { pipeline_cache: Some(cache), ..self }
    }

    /// Returns the same device, with this label for the compute passes of engines and trees created with it. The
    /// default is `broadsweep`. Labels distinguish the engines of a program in captures. Within a pass, each kernel has
    /// a debug group with its own label.
    #[must_use]
    pub fn with_label(self, label: &str) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Returns the label of compute passes.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the caller's cache of compiled kernels, if any.
    pub(super) fn pipeline_cache(&self) -> Option<&wgpu::PipelineCache> {
        self.pipeline_cache.as_ref()
    }

    /// Returns `true` if the device meets the requirements of [`SortVariant::Subgroup`]: the features, and subgroups of
    /// 8 to 64.
    pub fn has_subgroups(&self) -> bool {
        let info = self.adapter_info();
        self.device().features().contains(SUBGROUP_FEATURES)
            && info.subgroup_min_size >= 8
            && info.subgroup_max_size <= 64
            // Browsers have different subgroup built-ins, and cannot wait for a trial.
            && cfg!(not(target_arch = "wasm32"))
    }

    /// Returns the same device, with a limit of about `turns` loop turns per query and dispatch. For tests of resumed
    /// queries.
    #[doc(hidden)]
    #[must_use]
    pub fn with_turns(self, turns: u32) -> Self {
        Self { turns: Some(turns), ..self }
    }

    /// Returns the limit of [`with_turns`](Self::with_turns), if any.
    pub(crate) fn turns(&self) -> Option<u32> {
        self.turns
    }

    /// Returns the largest box count for which a test of all pairs is likely faster than a sweep on this kind of
    /// device.
    pub(crate) fn all_pairs_up_to(&self) -> u32 {
        match self.adapter_info().device_type {
            wgpu::DeviceType::DiscreteGpu => ALL_PAIRS_DISCRETE,
            wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::VirtualGpu => ALL_PAIRS_INTEGRATED,
            wgpu::DeviceType::Cpu | wgpu::DeviceType::Other => ALL_PAIRS_ELSEWHERE,
        }
    }

    /// Returns `true` if this is a software adapter, which [limits loops](crate::base::constants::SOFTWARE_CANDIDATES).
    pub(crate) fn is_software(&self) -> bool {
        self.is_software
    }

    /// Returns the requested variant of the sort, if any.
    pub(crate) fn requested_sort(&self) -> Option<SortVariant> {
        self.requested_sort
    }

    /// Returns the lock of the best variant of the sort for this device; `None` until it is determined.
    pub(crate) fn best_sort(&self) -> MutexGuard<'_, Option<SortVariant>> {
        self.best_sort.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an [`Error::DeviceLost`]. Its reason is the driver's, or `noticed` if the driver gave none. `cause` is
    /// the error of the call that noticed the loss.
    pub(crate) fn lost(&self, noticed: &str, cause: Option<Cause>) -> Error {
        let reason = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Error::DeviceLost { reason: reason.unwrap_or_else(|| noticed.to_owned()), cause }
    }

    /// Returns `true` if the device reported that it is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns `true` if both values are clones of each other. Devices cannot be compared instead, since devices of two
    /// wgpu instances may compare as equal.
    pub(crate) fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.kernels, &other.kernels)
    }

    /// Returns `true` if the device is lost. Call it after a failure. A requested device reports its loss when polled.
    /// A device of the caller does not, so this method tries an allocation.
    pub(crate) fn is_lost_on_trial(&self) -> bool {
        let _ = self.device.poll(wgpu::PollType::Poll);
        if self.is_lost() {
            return true;
        }
        let scopes = self.open_scopes();
        let trial = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("trial"),
            size: 16,
            usage: wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        let mapped = trial.get_mapped_range_mut(..).is_ok();
        trial.destroy();
        !scopes.ran_out_of_memory() && !mapped
    }

    pub(crate) fn kernels(&self) -> MutexGuard<'_, Kernels> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the kernels that were compiled for the device, or rejected, in the order of their names.
    #[doc(hidden)]
    pub fn compiled_kernels(&self) -> Vec<&'static str> {
        let mut labels: Vec<_> = self.kernels().values().filter_map(Kernel::compiled_label).collect();
        labels.sort_unstable();
        labels
    }

    /// Returns the count of cached bind groups.
    #[doc(hidden)]
    pub fn cached_bind_groups(&self) -> usize {
        self.bind_groups().len()
    }

    fn bind_groups(&self) -> MutexGuard<'_, BindGroups> {
        self.bind_groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens scopes that collect the errors of this device until they are closed.
    pub(crate) fn open_scopes(&self) -> Scopes {
        Scopes::open(self)
    }
}

/// Creates an instance without validation of indirect dispatch sizes: the kernels write sizes within the limits, and
/// each check costs a dispatch. Environment variables can request this and other checks.
fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: backends(),
        flags: wgpu::InstanceFlags::empty().with_env(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

/// Returns the back ends to use. OpenGL is not among them: its compute shaders do not always suffice, and adapters
/// would be listed twice.
fn backends() -> wgpu::Backends {
    wgpu::Backends::PRIMARY.with_env()
}

/// The device features that `sort_ballot` needs.
pub const SUBGROUP_FEATURES: wgpu::Features = wgpu::Features::SUBGROUP.union(wgpu::Features::SUBGROUP_BARRIER);
