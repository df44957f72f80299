//! Every kernel in the languages of all back ends of `wgpu`, for every set of switches that the library can request.
//!
//! A machine has one back end and runs a few sets. A kernel that another back end's writer or compiler rejects would
//! fail first on a user's machine. [`Kernel::all`] lists the kernels, and [`Kernel::sets`] the sets of each.
//! [`Kernel::specialise`] returns the kernel as `wgpu` specialises it for a pipeline. [`Specialised::translate`]
//! returns naga's output for it, with the options of `wgpu-hal` 30.

mod targets;

use std::borrow::Cow;

use broadsweep::internals::gpu::kernel::{Binding, Source};
use broadsweep::internals::kernels::sources;
use naga::back::pipeline_constants::process_overrides;
use naga::compact::{KeepUnused, compact};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, Scalar, ShaderStage, TypeInner};
use rayon::prelude::*;

pub use targets::Target;

/// A kernel as naga reads it.
pub struct Kernel {
    /// The name of its file and of its entry point.
    pub label: &'static str,
    text: String,
    module: Module,
    info: ModuleInfo,
    switches: Vec<String>,
}

/// Switches that are on, in the order in which WGSL declares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The names of the overrides.
    pub switches: Vec<String>,
    /// True if these are all that the kernel has.
    pub is_all: bool,
}

/// A kernel for one set of switches: nothing is left open, and what is switched off is gone or is never reached.
pub struct Specialised<'a> {
    kernel: &'a Kernel,
    /// The switches that are on.
    pub set: Set,
    module: Module,
    info: ModuleInfo,
}

impl Kernel {
    /// Reads all kernels.
    ///
    /// # Errors
    /// naga's message, where it rejects one.
    pub fn all() -> Result<Vec<Self>, String> {
        sources().map(Self::new).collect()
    }

    fn new(source: &Source) -> Result<Self, String> {
        let module = source.module().map_err(|error| error.to_string())?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER)
            .validate(&module)
            .map_err(|error| format!("{}: {error}", source.label))?;
        let switches = switches(&module).map_err(|message| format!("{}: {message}", source.label))?;
        Ok(Self { label: source.label, text: source.text(), module, info, switches })
    }

    /// Lists the sets of switches that the library can request: all subsets of the switches that are read where the
    /// entry point leads to. First the empty set, last all switches.
    pub fn sets(&self) -> Vec<Set> {
        let subsets = 0..1_usize << self.switches.len();
        let set = |bits: usize| {
            let all = self.switches.iter().enumerate();
            let switches: Vec<_> = all.filter(|(k, _)| bits >> k & 1 == 1).map(|(_, name)| name.clone()).collect();
            let is_all = bits != 0 && switches.len() == self.switches.len();
            Set { switches, is_all }
        };
        subsets.map(set).collect()
    }

    /// Creates of the kernel what `wgpu` makes of it for a pipeline with these switches on.
    ///
    /// # Errors
    /// naga's message.
    pub fn specialise(&self, set: Set) -> Result<Specialised<'_>, String> {
        let constants = set.switches.iter().map(|name| (name.clone(), 1.0)).collect();
        let (module, info) =
            process_overrides(&self.module, &self.info, Some((ShaderStage::Compute, self.label)), &constants)
                .map_err(|error| format!("{}: {error}", set.name(self.label)))?;
        let (module, info) = (Cow::into_owned(module), Cow::into_owned(info));
        Ok(Specialised { kernel: self, set, module, info })
    }
}

/// Returns the names of the overrides that are read where the entry points lead to.
fn switches(module: &Module) -> Result<Vec<String>, String> {
    let mut used = module.clone();
    compact(&mut used, KeepUnused::No);
    let switches = used.overrides.iter().map(|(_, switch)| {
        let name = switch.name.clone().unwrap_or_default();
        match used.types[switch.ty].inner {
            TypeInner::Scalar(Scalar::BOOL) => Ok(name),
            _ => Err(format!("the override {name} is no switch: say in benches/compilers which values it can have")),
        }
    });
    switches.collect()
}

impl Set {
    /// Returns a word for the switches, as tables have it.
    pub fn word(&self) -> String {
        if self.switches.is_empty() {
            return "none".to_owned();
        }
        if self.is_all {
            return "all".to_owned();
        }
        self.switches.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>().join("+")
    }

    /// Returns the name of a kernel with these switches, as files have it.
    pub fn name(&self, label: &str) -> String {
        format!("{label}.{}", self.word())
    }

    /// Returns whether no switch is on or all are: what stands for all sets where one of them takes long.
    pub fn is_extreme(&self) -> bool {
        self.switches.is_empty() || self.is_all
    }
}

impl Specialised<'_> {
    /// Returns the name of the kernel and what is switched on, as files have it.
    pub fn name(&self) -> String {
        self.set.name(self.kernel.label)
    }

    /// Returns the kernel's name.
    pub fn label(&self) -> &'static str {
        self.kernel.label
    }

    /// Lists the buffers that the library binds.
    pub fn buffers(&self) -> Vec<Binding> {
        targets::buffers(&self.kernel.module)
    }

    /// Returns the WGSL with the switches set in its text.
    pub fn wgsl(&self) -> String {
        let mut text = self.kernel.text.clone();
        for name in &self.set.switches {
            let (off, on) = (format!("override {name}: bool = false;"), format!("override {name}: bool = true;"));
            assert_eq!(text.matches(&off).count(), 1, "{}: `{off}` is not written so once", self.kernel.label);
            text = text.replace(&off, &on);
        }
        text
    }

    /// Writes the kernel for a back end.
    ///
    /// # Errors
    /// The message of naga's writer.
    pub fn translate(&self, target: Target) -> Result<Vec<u8>, String> {
        targets::write(target, &self.kernel.module, &self.module, &self.info)
            .map_err(|message| format!("{} for {target}: {message}", self.name()))
    }
}

/// Computes a value for every kernel and every wanted set, on all cores. Returns the values in the order of the flow.
///
/// # Errors
/// The messages of all that were rejected, a line each.
pub fn for_each<T: Send>(
    kernels: &[Kernel],
    is_wanted: impl Fn(&Set) -> bool,
    make: impl Fn(&Specialised) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let jobs: Vec<_> = kernels
        .iter()
        .flat_map(|kernel| kernel.sets().into_iter().filter(&is_wanted).map(move |set| (kernel, set)))
        .collect();
    let outcomes: Vec<_> =
        jobs.into_par_iter().map(|(kernel, set)| kernel.specialise(set).and_then(|it| make(&it))).collect();
    let (made, rejected): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    let rejected: Vec<_> = rejected.into_iter().filter_map(Result::err).collect();
    if rejected.is_empty() { Ok(made.into_iter().flatten().collect()) } else { Err(rejected.join("\n")) }
}
