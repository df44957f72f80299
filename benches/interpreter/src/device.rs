//! [`Interpreter`]: buffers, pipelines and submissions of a device that is a program.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counts::Counts;
use crate::kernel::Kernel;
use crate::memory::{Contents, Memory};
use crate::mutate::Mutation;
use crate::program::Program;
use crate::report::{Finding, Report, findings};
use crate::run::{Faults, Machine};
use crate::schedule::{Order, Place, Schedule};

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
    /// Mutants that run beside their kernels, and the observations of each.
    compared: Vec<(String, Mutation, Compared)>,
    /// The count of submissions that may still run, and the most bytes of a buffer.
    limits: Option<(u64, u64)>,
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

/// The observations of a mutant that ran beside its kernel.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Dispatches that were compared.
    pub dispatches: u64,
    /// True if any word, or whether it was written, differed.
    pub differs: bool,
    /// The faults of the mutant that the kernel does not have.
    pub findings: BTreeSet<Finding>,
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
    Dispatch { kernel: Arc<Kernel>, bound: Arc<Vec<Bound>>, groups: Groups },
}

/// The count of workgroups.
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
    /// Creates a device of this kind, whose subgroups have this many invocations.
    pub fn new(subgroup: usize, kind: wgpu::DeviceType) -> Self {
        let schedule = Schedule { subgroup, order: Order::Forward, counts: false, most_rounds: u64::MAX };
        let state = State {
            memories: Vec::new(),
            free: Vec::new(),
            schedule,
            mutation: None,
            compared: Vec::new(),
            limits: None,
            texts: HashMap::new(),
            report: Report::default(),
            ran: 0,
            submissions: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), subgroup, kind }
    }

    /// Sets the order of workgroups, from the next submission on.
    pub fn set_order(&self, order: Order) {
        self.state().schedule.order = order;
    }

    /// Counts the costs of dispatches, from the next submission on.
    pub fn count(&self, is_on: bool) {
        self.state().schedule.counts = is_on;
    }

    /// Changes the kernel of this name, from the next submission on, and no other.
    pub fn mutate(&self, kernel: &str, mutation: Mutation) {
        self.state().mutation = Some((kernel.to_owned(), mutation));
    }

    /// Ends the change of a kernel.
    pub fn mutate_none(&self) {
        self.state().mutation = None;
    }

    /// Runs each of these mutants beside its kernel, from the next submission on, on the memory that the kernel is
    /// about to get. The outputs are compared, and later kernels get the output of the kernel. Kernels for any count of
    /// workgroups are also compared in two rows of workgroups. A mutant that has differed is not run again.
    pub fn compare(&self, mutants: impl IntoIterator<Item = (String, Mutation)>) {
        let mutants = mutants.into_iter().map(|(kernel, mutation)| (kernel, mutation, Compared::default()));
        self.state().compared = mutants.collect();
    }

    /// Returns the observations of each compared mutant, in the same order, and ends the comparison.
    pub fn compared(&self) -> Vec<Compared> {
        std::mem::take(&mut self.state().compared).into_iter().map(|(_, _, compared)| compared).collect()
    }

    /// Limits the work of a kernel, and of a library that gets garbage from it. A dispatch of more rounds ends with a
    /// fault; a further submission or a larger buffer panics. A round is the start of a workgroup or of a round of a
    /// loop.
    pub fn limit(&self, rounds: u64, submissions: u64, bytes: u64) {
        let mut state = self.state();
        state.schedule.most_rounds = rounds;
        state.limits = Some((state.submissions.saturating_add(submissions), bytes));
    }

    /// Sets the source of a kernel, so that reports name lines.
    pub fn set_text(&self, kernel: &str, text: String) {
        self.state().texts.insert(kernel.to_owned(), text);
    }

    /// Returns the findings since the last report.
    pub fn report(&self) -> Report {
        std::mem::take(&mut self.state().report)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- for the back end ----

    pub(crate) fn buffer(&self, bytes: u64) -> BufferData {
        let (bytes, mut state) = (bytes as usize, self.state());
        let most = state.limits.map_or(u64::MAX, |(_, bytes)| bytes);
        assert!(bytes as u64 <= most, "a buffer of {bytes} bytes, where {most} are allowed");
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

    pub(crate) fn submit(&self, commands: &[Command]) -> u64 {
        let mut state = self.state();
        let most = state.limits.map_or(u64::MAX, |(submissions, _)| submissions);
        assert!(state.submissions < most, "more submissions than are allowed");
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
            Command::Dispatch { kernel, bound, groups } => {
                let groups = match groups {
                    Groups::Direct(groups) => *groups,
                    Groups::Indirect(buffer, offset) => {
                        let words = &self.memories[buffer.memory].words[offset / 4..];
                        [words[0], words[1], words[2]]
                    }
                };
                self.dispatch(kernel, bound, groups);
            }
        }
    }

    fn dispatch(&mut self, kernel: &Kernel, bound: &[Bound], groups: [u32; 3]) {
        let name = &kernel.program.name;
        let changed = match &self.mutation {
            Some((mutated, mutation)) if mutated == name => Some(kernel.mutant(*mutation)),
            _ => None,
        };
        let program = changed.as_ref().unwrap_or(&kernel.program);
        let mut compared = std::mem::take(&mut self.compared);
        let mutants: Vec<_> =
            compared.iter_mut().filter(|(mutated, _, seen)| mutated == name && !seen.is_caught()).collect();
        if mutants.is_empty() || groups.contains(&0) {
            let (faults, counts, ran, rounds) = self.run_once(program, bound, groups);
            self.report(program, ran, rounds, &faults, &counts);
        } else {
            self.run_beside(kernel, mutants, bound, groups);
        }
        self.compared = compared;
    }

    /// Runs a kernel, and its mutants on copies of its memory.
    fn run_beside(
        &mut self,
        kernel: &Kernel,
        mutants: Vec<&mut (String, Mutation, Compared)>,
        bound: &[Bound],
        groups: [u32; 3],
    ) {
        let program = &kernel.program;
        let is_changed = |part: &&Bound| {
            program.globals.iter().any(|global| global.binding == Some(part.binding) && global.is_changed)
        };
        let numbers: BTreeSet<usize> = bound.iter().filter(is_changed).map(|part| part.buffer.memory).collect();
        let before = self.states(&numbers);
        let (faults, counts, ran, rounds) = self.run_once(program, bound, groups);
        self.report(program, ran, rounds, &faults, &counts);
        let after = self.states(&numbers);
        let schedule = self.schedule;
        self.schedule = Schedule { most_rounds: 1000 + 20 * rounds, counts: false, ..schedule };
        let mut turns = vec![(groups, after.clone(), self.findings(program, &faults))];
        // A kernel that reads the count of workgroups may run in several rows of workgroups.
        let is_for_many = program.builtins.iter().any(|(_, builtin, _)| *builtin == naga::BuiltIn::NumWorkGroups);
        if is_for_many && groups[0] > 1 && groups[1..] == [1, 1] {
            let columns = [groups[0].div_ceil(2), 2, 1];
            self.set_states(&numbers, &before);
            let (faults, ..) = self.run_once(program, bound, columns);
            turns.push((columns, self.states(&numbers), self.findings(program, &faults)));
        }
        for (_, mutation, seen) in mutants {
            let mutant = kernel.mutant(*mutation);
            seen.dispatches += 1;
            for (groups, after, own) in &turns {
                self.set_states(&numbers, &before);
                let (faults, ..) = self.run_once(&mutant, bound, *groups);
                let mut states = numbers.iter().zip(after);
                seen.differs |= states.any(|(&number, state)| !self.memories[number].is_in_state(state));
                seen.findings.extend(self.findings(&mutant, &faults).difference(own).cloned());
                if seen.is_caught() {
                    break;
                }
            }
        }
        self.schedule = schedule;
        self.set_states(&numbers, &after);
    }

    fn states(&self, numbers: &BTreeSet<usize>) -> Vec<Contents> {
        numbers.iter().map(|&number| self.memories[number].state()).collect()
    }

    fn set_states(&mut self, numbers: &BTreeSet<usize>, states: &[Contents]) {
        numbers.iter().zip(states).for_each(|(&number, state)| self.memories[number].set_state(state));
    }

    fn report(&mut self, program: &Program, groups: u64, rounds: u64, faults: &Faults, counts: &Counts) {
        let text = self.texts.get(&program.name).map_or("", String::as_str);
        self.report.add(program, text, groups, rounds, faults, counts);
    }

    fn findings(&self, program: &Program, faults: &Faults) -> BTreeSet<Finding> {
        let text = self.texts.get(&program.name).map_or("", String::as_str);
        findings(program, text, faults).map(|(finding, _)| finding).collect()
    }

    /// Runs a dispatch. Returns its faults, its costs, the workgroups that ran, and its rounds.
    fn run_once(&mut self, program: &Program, bound: &[Bound], groups: [u32; 3]) -> (Faults, Counts, u64, u64) {
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
        let groups = machine.dispatch(groups);
        let (faults, counts) = (std::mem::take(&mut machine.faults), std::mem::take(&mut machine.counts));
        let rounds = machine.rounds;
        self.ran += groups;
        (faults, counts, groups, rounds)
    }
}

impl Compared {
    /// Returns whether the mutant has differed from its kernel.
    pub fn is_caught(&self) -> bool {
        self.differs || !self.findings.is_empty()
    }
}
