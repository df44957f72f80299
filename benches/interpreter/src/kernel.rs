//! [`Kernel`]: a compiled kernel, and its mutants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use naga::back::pipeline_constants::process_overrides;
use naga::{Module, ShaderStage};

use crate::compile::compile;
use crate::mutate::{Mutation, validate};
use crate::program::Program;

/// A kernel of one set of switches. Its mutants are compiled when they first run.
#[derive(Debug)]
pub struct Kernel {
    module: Module,
    constants: Vec<(String, f64)>,
    pub program: Arc<Program>,
    mutants: Mutex<HashMap<Mutation, Arc<Program>>>,
}

impl Kernel {
    /// Compiles the entry point of this name.
    pub fn new(module: Module, name: &str, constants: &[(&str, f64)]) -> Self {
        let constants: Vec<_> = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let program = Arc::new(build(&module, name, &constants, None));
        Self { module, constants, program, mutants: Mutex::default() }
    }

    /// Returns the kernel with a change.
    pub fn mutant(&self, mutation: Mutation) -> Arc<Program> {
        let mut mutants = self.mutants.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(build(&self.module, &self.program.name, &self.constants, Some(mutation)));
        mutants.entry(mutation).or_insert_with(make).clone()
    }
}

fn build(module: &Module, name: &str, constants: &[(String, f64)], mutation: Option<Mutation>) -> Program {
    let mut module = module.clone();
    let mut weakened = None;
    if let Some(mutation) = mutation {
        weakened = mutation.weakened(&module);
        mutation.apply(&mut module);
    }
    let info = validate(&module).expect("a valid module");
    let constants = constants.iter().cloned().collect();
    let (module, info) =
        process_overrides(&module, &info, Some((ShaderStage::Compute, name)), &constants).expect("overrides");
    compile(&module, &info, name, weakened)
}
