//! Compiles and dispatches compute kernels. Buffers are bound by their names in WGSL.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

#[cfg(not(target_arch = "wasm32"))]
use {
    rayon::prelude::*,
    wgpu::naga::{
        self,
        valid::{Capabilities, ValidationFlags, Validator},
    },
};

use super::Gpu;
use super::bind_groups::Bound;
use super::scopes::Scopes;
use super::timing::{START, Timer};
#[cfg(not(target_arch = "wasm32"))]
use crate::Cause;
use crate::Error;
use crate::base::layout::dispatch_size;

/// A kernel, compiled when it is first needed. Its label is the name of its file and of its entry point. A clone refers
/// to the same kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    source: Source,
    switches: Vec<&'static str>,
    slot: Arc<Slot>,
}

/// The state of a kernel's compilation, shared by its clones. A kernel is compiled once, or again if memory was
/// exhausted. In a browser, a call does not wait for the result: a kernel that it requests counts as compiled. If the
/// browser rejects the kernel later, each submission that uses it fails.
#[derive(Debug, Default)]
struct Slot {
    /// Held while the kernel is compiled.
    turn: Mutex<()>,
    result: OnceLock<Result<Compiled, Error>>,
}

#[derive(Debug)]
struct Compiled {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    bindings: Vec<Binding>,
}

/// A buffer variable of a kernel, as declared in WGSL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The variable's name.
    pub name: String,
    /// Its `@binding`, in group 0.
    pub index: u32,
    /// Uniform, read-only storage or read-write storage.
    pub kind: wgpu::BufferBindingType,
}

/// The source of a kernel: its own file, then shared files and the constants. Its own file is first, so that line
/// numbers in messages refer to this file.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Name of the file, without `.wgsl`, and of the entry point.
    pub label: &'static str,
    /// Text of the kernel's own file.
    pub own: &'static str,
    /// Texts of the files that it shares with other kernels.
    pub shared: &'static [&'static str],
}

/// Creates the [`Source`] of `shaders/NAME.wgsl`, followed by `common.wgsl`, the named shared files and shared texts.
macro_rules! source {
    ($name:literal $(, $shared:literal)* $(; $text:expr)?) => {
        $crate::gpu::kernel::Source {
            label: $crate::gpu::kernel::label($name),
            own: include_str!(concat!("../../shaders/", $name, ".wgsl")),
            shared: &[
                include_str!("../../shaders/shared/common.wgsl"),
                $(include_str!(concat!("../../shaders/", $shared, ".wgsl")),)*
                $($text,)?
            ],
        }
    };
}
pub(crate) use source;

/// Returns the name of a kernel: the name of its file without the folder.
pub(crate) const fn label(path: &'static str) -> &'static str {
    let bytes = path.as_bytes();
    let mut at = bytes.len();
    while at > 0 && bytes[at - 1] != b'/' {
        at -= 1;
    }
    path.split_at(at).1
}

impl Source {
    /// Returns the complete WGSL text.
    pub fn text(&self) -> String {
        let mut text = self.own.to_owned();
        for shared in self.shared {
            text += shared;
        }
        text + &crate::base::constants::wgsl()
    }

    /// Lists the buffer variables. Each must be declared on one line.
    pub fn bindings(&self) -> Vec<Binding> {
        let texts = [self.own].into_iter().chain(self.shared.iter().copied());
        texts.flat_map(str::lines).filter_map(Binding::declared).collect()
    }

    /// Parses and validates the text.
    ///
    /// # Errors
    /// [`Error::Gpu`] with naga's message.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn module(&self) -> Result<naga::Module, Error> {
        let text = self.text();
        let module = self.parse(&text)?;
        // Allow subgroups in all kernels: a device without subgroups rejects kernels that use them.
        Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER)
            .validate(&module)
            .map_err(|error| self.error(error.emit_to_string(&text), Cause::of(error)))?;
        Ok(module)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn parse(&self, text: &str) -> Result<naga::Module, Error> {
        naga::front::wgsl::parse_str(text).map_err(|error| self.error(error.emit_to_string(text), Cause::of(error)))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn error(&self, message: String, cause: Cause) -> Error {
        Error::Gpu { label: self.label.to_owned(), message, cause: Some(cause) }
    }
}

impl Binding {
    /// Returns the variable that a line declares, if it is a buffer:
    /// `@group(0) @binding(1) var<storage, read> boxes: …`.
    fn declared(line: &str) -> Option<Self> {
        use wgpu::BufferBindingType::{Storage, Uniform};
        let (index, variable) = line.trim_start().strip_prefix("@group(0) @binding(")?.split_once(") var<")?;
        let (space, named) = variable.split_once("> ")?;
        let kind = match space {
            "uniform" => Uniform,
            "storage, read" => Storage { read_only: true },
            "storage, read_write" => Storage { read_only: false },
            _ => return None,
        };
        let (name, _) = named.split_once(':')?;
        Some(Self { name: name.to_owned(), index: index.parse().ok()?, kind })
    }
}

impl Compiled {
    fn new(gpu: &Gpu, source: &Source, switches: &[&'static str]) -> Result<Self, Error> {
        let (compiled, scopes) = Self::begin(gpu, source, switches)?;
        let closed = scopes.close(source.label);
        // wgpu receives a parsed module without its text. Validate the text again to get line numbers in the message. A
        // browser has the text.
        #[cfg(not(target_arch = "wasm32"))]
        let closed = closed.map_err(|error| match (&error, source.module()) {
            (Error::Gpu { .. }, Err(with_lines)) => with_lines,
            _ => error,
        });
        closed.map(|()| compiled)
    }

    /// Creates the objects of a kernel. They are valid if the returned scopes have no errors.
    fn begin(gpu: &Gpu, source: &Source, switches: &[&'static str]) -> Result<(Self, Scopes), Error> {
        let constants: Vec<_> = switches.iter().map(|&name| (name, 1.0)).collect();
        let (text, bindings) = (source.text(), source.bindings());
        // The module is parsed once. A browser parses the text itself.
        #[cfg(not(target_arch = "wasm32"))]
        let shader_source = wgpu::ShaderSource::Naga(Cow::Owned(source.parse(&text)?));
        #[cfg(target_arch = "wasm32")]
        let shader_source = wgpu::ShaderSource::Wgsl(Cow::Owned(text));
        let device = gpu.device();
        let scopes = gpu.open_scopes();
        let module = device
            .create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(source.label), source: shader_source });
        let entries: Vec<_> = bindings
            .iter()
            .map(|binding| wgpu::BindGroupLayoutEntry {
                binding: binding.index,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty: binding.kind, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            })
            .collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(source.label),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(source.label),
            bind_group_layouts: &[Some(&layout)],
            ..Default::default()
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(source.label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(source.label),
            // No zero initialization of workgroup memory, since on some back ends one invocation writes all zeros.
            // Kernels write their initial values themselves.
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: false,
            },
            cache: gpu.pipeline_cache(),
        });
        Ok((Self { pipeline, layout, bindings }, scopes))
    }
}

impl Kernel {
    /// Looks up a kernel of this device, with the default values of its switches. The first dispatch or
    /// [request](compile) compiles it, once for all clones. A driver needs about 0.1 to 0.5 seconds per kernel, and
    /// most scenes need only some kernels.
    pub fn new(gpu: &Gpu, source: &Source) -> Self {
        Self::specialised(gpu, source, &[])
    }

    /// Looks up a kernel with these switches (`override NAME: bool`) on. The driver removes code that is switched off.
    pub fn specialised(gpu: &Gpu, source: &Source, switches: &[&'static str]) -> Self {
        let new = || Self { source: *source, switches: switches.to_vec(), slot: Arc::default() };
        gpu.kernels().entry((source.label, switches.to_vec())).or_insert_with(new).clone()
    }

    /// Returns `true` if both are the same kernel of the same device, with the same switches.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.slot, &other.slot)
    }

    /// Returns the label if the kernel was compiled.
    pub(super) fn compiled_label(&self) -> Option<&'static str> {
        self.slot.result.get().map(|_| self.source.label)
    }

    fn compiled(&self, gpu: &Gpu) -> Result<&Compiled, Error> {
        let Slot { turn, result } = &*self.slot;
        // Another thread may be compiling the kernel; wait for it.
        let _turn = result.get().is_none().then(|| turn.lock().unwrap_or_else(PoisonError::into_inner));
        let compiled = match result.get() {
            Some(compiled) => compiled,
            None => match Compiled::new(gpu, &self.source, &self.switches) {
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                compiled => result.get_or_init(|| compiled),
            },
        };
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Compiles the kernel in the browser's GPU process, unless it is compiled. After this call, the kernel counts as
    /// compiled once the browser accepts it. A search that needs the kernel earlier requests it again.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the browser rejects it; [`Error::OutOfMemory`]; [`Error::DeviceLost`].
    #[cfg(target_arch = "wasm32")]
    pub async fn compile_later(self, gpu: Gpu) -> Result<(), Error> {
        let Self { source, switches, slot } = &self;
        if let Some(known) = slot.result.get() {
            return known.as_ref().map(|_| ()).map_err(Clone::clone);
        }
        let (compiled, scopes) = Compiled::begin(&gpu, source, switches)?;
        scopes.close_later(source.label).await?;
        // A call may have compiled it meanwhile.
        _ = slot.result.set(Ok(compiled));
        Ok(())
    }

    /// Compiles the kernel, unless it is compiled.
    ///
    /// # Errors
    /// The errors of [`compile`].
    #[cfg(target_arch = "wasm32")]
    pub fn compile(&self, gpu: &Gpu) -> Result<(), Error> {
        self.compiled(gpu).map(|_| ())
    }

    /// Dispatches `groups` workgroups, in two dimensions if there are too many for one.
    pub fn dispatch(&self, pass: &mut Pass, groups: u32, buffers: &[(&str, wgpu::BindingResource)]) {
        if groups > 0 && self.bind(pass, buffers) {
            let [x, y, z] = dispatch_size(groups);
            pass.pass.dispatch_workgroups(x, y, z);
            pass.end(self.source.label, false);
        }
    }

    /// Dispatches workgroups in three dimensions, as specified by the three numbers at byte `offset` of `dispatches`.
    pub fn dispatch_indirect(
        &self,
        pass: &mut Pass,
        dispatches: &wgpu::Buffer,
        offset: usize,
        buffers: &[(&str, wgpu::BindingResource)],
    ) {
        if self.bind(pass, buffers) {
            pass.pass.dispatch_workgroups_indirect(dispatches, offset as u64);
            pass.end(self.source.label, true);
        }
    }

    /// Binds each variable of the kernel to the buffer with the same name. Returns `false` after an error, which the
    /// pass stores.
    fn bind(&self, pass: &mut Pass, buffers: &[(&str, wgpu::BindingResource)]) -> bool {
        let compiled = match self.compiled(&pass.gpu) {
            Ok(compiled) => compiled,
            Err(error) => {
                pass.error.get_or_insert(error);
                return false;
            }
        };
        let label = self.source.label;
        let mut bound = Bound::new(&compiled.layout, compiled.bindings.len());
        for binding in &compiled.bindings {
            let Some((_, resource)) = buffers.iter().find(|(name, _)| *name == binding.name) else {
                pass.error.get_or_insert(Error::Gpu {
                    label: label.to_owned(),
                    message: format!("no buffer is bound to `{}`", binding.name),
                    cause: None,
                });
                return false;
            };
            bound.push(binding.index, resource);
        }
        let group = pass.gpu.bind_groups().get(pass.gpu.device(), label, bound);
        pass.pass.push_debug_group(label);
        pass.pass.set_pipeline(&compiled.pipeline);
        pass.pass.set_bind_group(0, &group, &[]);
        true
    }
}

/// Compiles the kernels that are not compiled yet, in parallel on several cores.
///
/// # Errors
/// [`Error::Gpu`] if naga or the driver rejects one of them; [`Error::OutOfMemory`], after which the next call tries
/// again, except in a browser; [`Error::DeviceLost`].
pub fn compile(gpu: &Gpu, kernels: &[&Kernel]) -> Result<(), Error> {
    compile_until(gpu, kernels, || false, || ())
}

/// Compiles these kernels like [`compile`], and calls `count` after each kernel. Begins no further compilation once
/// `is_cancelled` returns `true`.
///
/// # Errors
/// [`Error::Gpu`] if naga or the driver rejects one of them; [`Error::OutOfMemory`], after which the next call tries
/// again, except in a browser; [`Error::DeviceLost`].
pub fn compile_until(
    gpu: &Gpu,
    kernels: &[&Kernel],
    is_cancelled: impl Fn() -> bool + Sync,
    count: impl Fn() + Sync,
) -> Result<(), Error> {
    let outcome = |kernel: &&Kernel| {
        if is_cancelled() {
            return Ok(());
        }
        let outcome = kernel.compiled(gpu).map(|_| ());
        count();
        outcome
    };
    // Usually all kernels are compiled, so no thread is started.
    #[cfg(not(target_arch = "wasm32"))]
    if kernels.iter().any(|kernel| kernel.compiled_label().is_none()) {
        let outcomes: Vec<_> = kernels.par_iter().map(outcome).collect();
        // Return the first error in the order of the kernels, not in time.
        return outcomes.into_iter().collect();
    }
    kernels.iter().try_for_each(outcome)
}

/// A compute pass for dispatches of kernels. It stores the first error of a recording, which [`Pass::finish`] returns.
#[derive(Debug)]
pub struct Pass<'encoder> {
    gpu: Gpu,
    pass: wgpu::ComputePass<'encoder>,
    timer: Option<&'encoder Timer>,
    error: Option<Error>,
}

impl<'encoder> Pass<'encoder> {
    /// Begins a pass.
    pub fn begin(gpu: &Gpu, encoder: &'encoder mut wgpu::CommandEncoder) -> Self {
        Self::begin_timed(gpu, encoder, None)
    }

    /// Begins a pass whose dispatches `timer` measures.
    pub fn begin_timed(gpu: &Gpu, encoder: &'encoder mut wgpu::CommandEncoder, timer: Option<&'encoder Timer>) -> Self {
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(gpu.label()), timestamp_writes: None });
        if let Some(timer) = timer {
            timer.mark(&mut pass, START);
        }
        Self { gpu: gpu.clone(), pass, timer, error: None }
    }

    /// Marks the end of the dispatch of `label`.
    fn end(&mut self, label: &'static str, is_indirect: bool) {
        self.pass.pop_debug_group();
        self.gpu.count_dispatch(is_indirect);
        if let Some(timer) = self.timer {
            timer.mark(&mut self.pass, label);
        }
    }

    /// Returns the first error of the recording, if any. The pass ends when it is dropped.
    ///
    /// # Errors
    /// [`Error::Gpu`] if a kernel did not get one of its buffers.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.error.take().map_or(Ok(()), Err)
    }
}
