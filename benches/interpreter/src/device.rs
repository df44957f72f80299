//! [`Interpreter`]: buffers, pipelines and submissions of a device that is a program.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use naga::back::pipeline_constants::process_overrides;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

use crate::backend;
use crate::compile::compile;
use crate::memory::Memory;
use crate::mutate::Mutation;
use crate::program::Program;
use crate::report::Report;
use crate::run::{Machine, Order, Place, Schedule};

/// A device without hardware. Clones are the same device.
#[derive(Clone, Debug)]
pub struct Interpreter {
    state: Arc<Mutex<State>>,
    pub(crate) subgroup: usize,
    pub(crate) kind: wgpu::DeviceType,
}

#[derive(Debug)]
struct State {
    memories: Vec<Memory>,
    /// Numbers of memories that are free.
    free: Vec<usize>,
    schedule: Schedule,
    mutation: Option<(String, Mutation)>,
    texts: HashMap<String, String>,
    report: Report,
    /// The workgroups that ran.
    ran: u64,
    submissions: u64,
}

/// A buffer.
#[derive(Debug)]
pub struct BufferData {
    pub memory: usize,
    pub bytes: usize,
    interpreter: Interpreter,
}

/// A part of a buffer that is bound.
#[derive(Clone, Debug)]
pub struct Bound {
    pub binding: u32,
    pub buffer: Arc<BufferData>,
    pub offset: usize,
    pub bytes: usize,
}

/// A command of an encoder.
#[derive(Clone, Debug)]
pub enum Command {
    Copy { from: Arc<BufferData>, first: usize, to: Arc<BufferData>, at: usize, bytes: usize },
    Clear { buffer: Arc<BufferData>, first: usize, bytes: usize },
    Dispatch { program: Arc<Program>, bound: Arc<Vec<Bound>>, groups: Groups },
}

/// How many workgroups run.
#[derive(Clone, Debug)]
pub enum Groups {
    Direct([u32; 3]),
    Indirect(Arc<BufferData>, usize),
}

impl Drop for BufferData {
    fn drop(&mut self) {
        let mut state = self.interpreter.state();
        state.memories[self.memory] = Memory::default();
        state.free.push(self.memory);
    }
}

impl Interpreter {
    /// Makes a device whose subgroups have this many invocations, and which says that it is of this kind.
    pub fn new(subgroup: usize, kind: wgpu::DeviceType) -> Self {
        let schedule = Schedule { subgroup, order: Order::Forward, counts: false };
        let state = State {
            memories: Vec::new(),
            free: Vec::new(),
            schedule,
            mutation: None,
            texts: HashMap::new(),
            report: Report::default(),
            ran: 0,
            submissions: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), subgroup, kind }
    }

    /// Returns the device and its queue, as `wgpu` has them.
    pub fn device(&self) -> (wgpu::Device, wgpu::Queue) {
        (
            wgpu::Device::from_custom(backend::Device(self.clone())),
            wgpu::Queue::from_custom(backend::Queue(self.clone())),
        )
    }

    /// Sets the order of workgroups, from the next submission on.
    pub fn set_order(&self, order: Order) {
        self.state().schedule.order = order;
    }

    /// Counts what dispatches cost, from the next submission on.
    pub fn count(&self, is_on: bool) {
        self.state().schedule.counts = is_on;
    }

    /// Changes the kernel of this name, wherever it is compiled from now on.
    pub fn mutate(&self, kernel: &str, mutation: Mutation) {
        self.state().mutation = Some((kernel.to_owned(), mutation));
    }

    /// Gives the source of a kernel, so that reports name lines.
    pub fn set_text(&self, kernel: &str, text: String) {
        self.state().texts.insert(kernel.to_owned(), text);
    }

    /// Returns what was seen since the last time.
    pub fn report(&self) -> Report {
        std::mem::take(&mut self.state().report)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- for the back end ----

    pub(crate) fn buffer(&self, bytes: u64) -> BufferData {
        let (bytes, mut state) = (bytes as usize, self.state());
        let memory = Memory::new(bytes.div_ceil(4));
        let number = match state.free.pop() {
            Some(number) => {
                state.memories[number] = memory;
                number
            }
            None => {
                state.memories.push(memory);
                state.memories.len() - 1
            }
        };
        BufferData { memory: number, bytes, interpreter: self.clone() }
    }

    pub(crate) fn write(&self, buffer: &BufferData, offset: u64, bytes: &[u8]) {
        assert!(offset.is_multiple_of(4) && bytes.len().is_multiple_of(4), "a write of parts of words");
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
        self.state().memories[buffer.memory].write(offset as usize / 4, &words);
    }

    pub(crate) fn read(&self, buffer: &BufferData, first: u64, end: u64) -> Vec<u8> {
        let words = &self.state().memories[buffer.memory].words;
        words[first as usize / 4..(end as usize).div_ceil(4)].iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(crate) fn pipeline(
        &self,
        module: &Module,
        name: &str,
        options: &wgpu::PipelineCompilationOptions<'_>,
    ) -> Program {
        let mut module = module.clone();
        if let Some((kernel, mutation)) = &self.state().mutation
            && kernel == name
        {
            mutation.apply(&mut module);
        }
        let capabilities = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
        let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module).expect("a valid module");
        let constants = options.constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let (module, info) =
            process_overrides(&module, &info, Some((ShaderStage::Compute, name)), &constants).expect("overrides");
        compile(&module, &info, name, options.zero_initialize_workgroup_memory)
    }

    pub(crate) fn submit(&self, commands: &[Command]) -> u64 {
        let mut state = self.state();
        for command in commands {
            state.run(command);
        }
        state.submissions += 1;
        state.submissions
    }
}

impl State {
    fn run(&mut self, command: &Command) {
        match command {
            Command::Copy { from, first, to, at, bytes } => {
                let source = std::mem::take(&mut self.memories[from.memory]);
                self.memories[to.memory].copy(at / 4, &source, first / 4, bytes.div_ceil(4));
                self.memories[from.memory] = source;
            }
            Command::Clear { buffer, first, bytes } => {
                self.memories[buffer.memory].write(first / 4, &vec![0; bytes / 4]);
            }
            Command::Dispatch { program, bound, groups } => {
                let groups = match groups {
                    Groups::Direct(groups) => *groups,
                    Groups::Indirect(buffer, offset) => {
                        let words = &self.memories[buffer.memory].words[offset / 4..];
                        [words[0], words[1], words[2]]
                    }
                };
                let mut shared = 0;
                let place = |global: &crate::program::Global| match global.binding {
                    Some(binding) => {
                        let part = bound.iter().find(|part| part.binding == binding).expect("a bound buffer");
                        Place::Buffer { memory: part.buffer.memory, first: part.offset / 4, bytes: part.bytes }
                    }
                    None => {
                        shared += 1;
                        Place::Workgroup(shared - 1)
                    }
                };
                let places: Vec<Place> = program.globals.iter().map(place).collect();
                let mut machine = Machine::new(program, &places, &mut self.memories, self.schedule, self.ran);
                let count = machine.dispatch(groups);
                let (faults, counts) = (std::mem::take(&mut machine.faults), std::mem::take(&mut machine.counts));
                self.ran += count;
                let text = self.texts.get(&program.name).map_or("", String::as_str);
                self.report.add(program, text, count, &faults, &counts);
            }
        }
    }
}
