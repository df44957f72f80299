//! One dispatch: workgroups one after the other, each with all its invocations in lockstep.
//!
//! Lockstep is one schedule of many. It suffices: races are found by the accesses to a word between barriers, not by
//! results, and without races every schedule gives the same result.

use std::collections::BTreeMap;

use naga::{AtomicFunction, BuiltIn};

use crate::arithmetic;
use crate::counts::{Access, Counts};
use crate::mask::Mask;
use crate::memory::{AtomicKind, Fault, Memory, Toucher, Wrote};
use crate::program::*;
use crate::schedule::{Order, Place, Schedule};

/// The faults at each site, with their counts.
pub type Faults = BTreeMap<(usize, Fault), u64>;

/// A dispatch that is under way.
pub struct Machine<'a> {
    program: &'a Program,
    places: &'a [Place],
    buffers: &'a mut [Memory],
    workgroup: Vec<Memory>,
    registers: Vec<Vec<u32>>,
    schedule: Schedule,
    groups: [u32; 3],
    /// The number of the first workgroup of this dispatch among all that ever ran.
    first_group: u64,
    group: u64,
    workgroup_epoch: u32,
    storage_epoch: u32,
    /// The rounds that began.
    pub rounds: u64,
    pub faults: Faults,
    pub counts: Counts,
}

/// The invocations that left a loop, or began its next round.
#[derive(Default)]
struct Exits {
    breaks: Vec<Mask>,
    continues: Vec<Mask>,
}

impl<'a> Machine<'a> {
    /// Prepares a dispatch of a program whose variables lie in these places. `ran` workgroups ran before.
    pub fn new(
        program: &'a Program,
        places: &'a [Place],
        buffers: &'a mut [Memory],
        schedule: Schedule,
        ran: u64,
    ) -> Self {
        let lanes = program.lanes;
        let mut registers = vec![vec![0; lanes]; program.registers];
        for &(register, word) in &program.constants {
            registers[register as usize].fill(word);
        }
        let shared = program.globals.iter().filter(|global| global.binding.is_none());
        let workgroup = shared.map(|global| Memory::new(global.bytes as usize / 4)).collect();
        Self {
            program,
            places,
            buffers,
            workgroup,
            registers,
            schedule,
            groups: [0; 3],
            first_group: ran + 1,
            group: ran,
            workgroup_epoch: 0,
            storage_epoch: 0,
            rounds: 0,
            faults: Faults::new(),
            counts: Counts::new(program, schedule),
        }
    }

    /// Runs all workgroups, and returns their count. Ends early at the limit of rounds.
    pub fn dispatch(&mut self, groups: [u32; 3]) -> u64 {
        self.groups = groups;
        if groups.iter().any(|&count| count > MOST_GROUPS) {
            self.fault(0, Fault::Endless);
            return 0;
        }
        let count = groups.iter().fold(1, |count: u64, &groups| count.saturating_mul(u64::from(groups)));
        for (i, number) in (0..).zip(self.schedule.order.numbers(count)) {
            if !self.begin_round() {
                return i;
            }
            self.group = self.first_group + i;
            self.run(number);
        }
        count
    }

    /// Counts a round, and returns whether it may begin.
    fn begin_round(&mut self) -> bool {
        self.rounds += 1;
        let may = self.rounds <= self.schedule.most_rounds;
        if !may {
            self.fault(0, Fault::Endless);
        }
        may
    }

    fn run(&mut self, index: u64) {
        (self.workgroup_epoch, self.storage_epoch) = (0, 0);
        self.workgroup.iter_mut().for_each(Memory::renew);
        let [x, y, _] = self.groups.map(u64::from);
        let id = [index % x, index / x % y, index / x / y].map(|k| k as u32);
        let (subgroup, lanes) = (self.schedule.subgroup, self.program.lanes);
        for &(register, builtin, k) in &self.program.builtins {
            let (k, groups) = (k as usize, self.groups);
            let value = |lane: usize| match builtin {
                BuiltIn::WorkGroupId => id[k],
                BuiltIn::NumWorkGroups => groups[k],
                BuiltIn::LocalInvocationIndex => lane as u32,
                BuiltIn::SubgroupInvocationId => (lane % subgroup) as u32,
                BuiltIn::SubgroupSize => subgroup as u32,
                BuiltIn::SubgroupId => (lane / subgroup) as u32,
                BuiltIn::NumSubgroups => lanes.div_ceil(subgroup) as u32,
                other => panic!("no kernel has {other:?}"),
            };
            self.registers[register as usize] = (0..lanes).map(value).collect();
        }
        self.counts.begin_group(self.group);
        let program = self.program;
        self.block(&program.body, Mask::first(lanes), &mut Exits::default(), &mut Mask::NONE.clone());
        self.counts.end_group();
    }

    /// Runs statements, and returns the invocations that are active after them. `returned` collects the invocations
    /// that left the function.
    fn block(&mut self, body: &'a [Statement], mut active: Mask, exits: &mut Exits, returned: &mut Mask) -> Mask {
        for statement in body {
            if active.is_empty() {
                break;
            }
            active = self.statement(statement, active, exits, returned);
        }
        active
    }

    fn statement(&mut self, statement: &'a Statement, active: Mask, exits: &mut Exits, returned: &mut Mask) -> Mask {
        match statement {
            Statement::Operation(operation) => {
                self.operation(operation, active);
                active
            }
            Statement::If { condition, accept, reject } => {
                let accepted = self.true_in(*condition, active);
                let rejected = active.without(accepted);
                let accepted = self.block(accept, accepted, exits, returned);
                accepted.or(self.block(reject, rejected, exits, returned))
            }
            Statement::Switch { selector, cases } => self.switch(*selector, cases, active, exits, returned),
            Statement::Loop { body, continuing, break_if } => {
                let (mut active, mut left) = (active, Mask::NONE);
                while !active.is_empty() && self.begin_round() {
                    exits.breaks.push(Mask::NONE);
                    exits.continues.push(Mask::NONE);
                    let through = self.block(body, active, exits, returned);
                    let (broke, continued) = (exits.breaks.pop(), exits.continues.pop());
                    left = left.or(broke.unwrap_or(Mask::NONE));
                    active = through.or(continued.unwrap_or(Mask::NONE));
                    active = self.block(continuing, active, exits, returned);
                    if let Some(condition) = break_if {
                        let broke = self.true_in(*condition, active);
                        left = left.or(broke);
                        active = active.without(broke);
                    }
                }
                left
            }
            Statement::Break => {
                exits.breaks.last_mut().expect("a loop or a switch").merge(active);
                Mask::NONE
            }
            Statement::Continue => {
                exits.continues.last_mut().expect("a loop").merge(active);
                Mask::NONE
            }
            Statement::Return { values } => {
                for &(to, from) in values {
                    self.copy_in(to, from, active);
                }
                returned.merge(active);
                Mask::NONE
            }
            Statement::Call { body } => {
                let mut returned = Mask::NONE;
                let through = self.block(body, active, &mut Exits::default(), &mut returned);
                through.or(returned)
            }
        }
    }

    fn switch(
        &mut self,
        selector: Register,
        cases: &'a [Case],
        active: Mask,
        exits: &mut Exits,
        returned: &mut Mask,
    ) -> Mask {
        let selected = self.registers[selector as usize].clone();
        exits.breaks.push(Mask::NONE);
        let (mut falling, mut through) = (Mask::NONE, Mask::NONE);
        for case in cases {
            let is_here = |lane: usize| match case.value {
                Some(value) => selected[lane] == value,
                None => cases.iter().all(|case| case.value != Some(selected[lane])),
            };
            let here = Mask::of(self.program.lanes, is_here).and(active).or(falling);
            let behind = self.block(&case.body, here, exits, returned);
            (falling, through) = if case.falls_through { (behind, through) } else { (Mask::NONE, through.or(behind)) };
        }
        through.or(falling).or(exits.breaks.pop().unwrap_or(Mask::NONE))
    }

    /// Returns the active invocations in which the register is not zero.
    fn true_in(&mut self, register: Register, active: Mask) -> Mask {
        self.counts.used(&[register], active);
        let words = &self.registers[register as usize];
        Mask::of(words.len(), |lane| words[lane] != 0).and(active)
    }

    /// Copies a register in the active invocations.
    fn copy_in(&mut self, to: Register, from: Register, active: Mask) {
        self.counts.moved(to, from);
        let mut words = std::mem::take(&mut self.registers[to as usize]);
        if from != to {
            let from = &self.registers[from as usize];
            active.lanes().for_each(|lane| words[lane] = from[lane]);
        }
        self.registers[to as usize] = words;
    }

    fn fault(&mut self, site: usize, fault: Fault) {
        *self.faults.entry((site, fault)).or_default() += 1;
    }

    fn operation(&mut self, operation: &'a Operation, active: Mask) {
        match *operation {
            Operation::One(one, to, a) => {
                self.compute(to, &[a], active, |to, r| arithmetic::one(one, to, &r[a as usize]))
            }
            Operation::Two(two, to, a, b) => {
                self.compute(to, &[a, b], active, |to, r| arithmetic::two(two, to, &r[a as usize], &r[b as usize]))
            }
            Operation::Three(three, to, a, b, c) => self.compute(to, &[a, b, c], active, |to, r| {
                arithmetic::three(three, to, &r[a as usize], &r[b as usize], &r[c as usize]);
            }),
            Operation::Pick { to, ref from, index } => self.compute(to, &[index], active, |to, r| {
                for (lane, to) in to.iter_mut().enumerate() {
                    let at = r[index as usize][lane] as usize;
                    *to = from.get(at).map_or(0, |&from| r[from as usize][lane]);
                }
            }),
            Operation::Step { to, base, index, stride, length } => self.compute(to, &[index], active, |to, r| {
                for (lane, to) in to.iter_mut().enumerate() {
                    let index = r[index as usize][lane];
                    let is_inside = length.is_none_or(|length| index < length);
                    let own = if is_inside { u64::from(index) * u64::from(stride) } else { OUTSIDE };
                    let before = base.map_or(0, |base| u64::from(r[base as usize][lane]));
                    *to = (before + own).min(OUTSIDE) as u32;
                }
            }),
            Operation::Length { to, global, offset, stride } => {
                let Place::Buffer { bytes, .. } = self.places[global] else { panic!("no buffer") };
                self.registers[to as usize].fill((bytes as u32 - offset) / stride);
            }
            Operation::Load { ref to, from, ref offsets, site, .. } => self.load(to, from, offsets, site, active),
            Operation::Store { to, ref from, ref offsets, site, is_atomic } => {
                self.store(to, from, offsets, site, is_atomic, active);
            }
            Operation::Atomic { .. } => self.atomic(operation, active),
            Operation::Barrier { workgroup, storage, site } => {
                self.barrier(site, active);
                self.workgroup_epoch += u32::from(workgroup);
                self.storage_epoch += u32::from(storage);
            }
            Operation::UniformLoad { ref to, from, ref offsets, site } => {
                self.barrier(site, active);
                self.workgroup_epoch += 1;
                self.load(to, from, offsets, site, active);
                self.workgroup_epoch += 1;
            }
            // On some back ends it orders no memory, so it counts for nothing here.
            Operation::SubgroupBarrier { site } => {
                for group in 0..self.program.lanes.div_ceil(self.schedule.subgroup) {
                    let own = self.subgroup(group).and(active);
                    if !own.is_empty() && own != self.subgroup(group) {
                        self.fault(site, Fault::Divergence);
                    }
                }
            }
            Operation::Ballot { .. } | Operation::Gather { .. } | Operation::Combine { .. } => {
                self.across(operation, active);
            }
        }
    }

    fn compute(
        &mut self,
        to: Register,
        from: &[Register],
        active: Mask,
        function: impl FnOnce(&mut [u32], &[Vec<u32>]),
    ) {
        self.counts.used(from, active);
        self.counts.assigned(to);
        let mut words = std::mem::take(&mut self.registers[to as usize]);
        function(&mut words, &self.registers);
        self.registers[to as usize] = words;
    }

    fn barrier(&mut self, site: usize, active: Mask) {
        if active != Mask::first(self.program.lanes) {
            self.fault(site, Fault::Divergence);
        }
        self.counts.barrier();
    }

    fn subgroup(&self, group: usize) -> Mask {
        let (width, lanes) = (self.schedule.subgroup, self.program.lanes);
        Mask::of(lanes, |lane| lane / width == group)
    }

    // ---- memory ----

    /// Returns the target of a pointer in an invocation: in components of a local variable, in bytes elsewhere.
    fn offset(&self, pointer: Pointer, lane: usize) -> u64 {
        u64::from(pointer.offset) + pointer.index.map_or(0, |index| u64::from(self.registers[index as usize][lane]))
    }

    /// Returns the memory of a variable, the invocation that accesses it, its first word, its bytes, and the first
    /// workgroup whose accesses can race with this one.
    fn touch(&mut self, global: usize, lane: usize) -> (&mut Memory, Toucher, usize, u64, u64) {
        let at = |epoch| Toucher { group: self.group, lane: lane as u32, epoch };
        match self.places[global] {
            Place::Workgroup(index) => {
                let (who, bytes) = (at(self.workgroup_epoch), self.program.globals[global].bytes);
                (&mut self.workgroup[index], who, 0, u64::from(bytes), self.group)
            }
            Place::Buffer { memory, first, bytes } => {
                (&mut self.buffers[memory], at(self.storage_epoch), first, bytes as u64, self.first_group)
            }
        }
    }

    fn load(&mut self, to: &[Register], from: Pointer, offsets: &[u32], site: usize, active: Mask) {
        match from.root {
            Root::Local(first, count) => {
                if from.index.is_none() {
                    for (&to, offset) in to.iter().zip(offsets) {
                        self.copy_in(to, first + from.offset + offset, active);
                    }
                    return;
                }
                for (&to, &offset) in to.iter().zip(offsets) {
                    self.counts.assigned(to);
                    for lane in active.lanes() {
                        let at = self.offset(from, lane) + u64::from(offset);
                        let is_inside = at < u64::from(count);
                        let word = if is_inside { self.registers[first as usize + at as usize][lane] } else { 0 };
                        self.registers[to as usize][lane] = word;
                    }
                }
            }
            Root::Global(global) => {
                self.counts.used(from.index.as_slice(), active);
                let addresses = self.addresses(from, active);
                let access = self.access_to(global, site, offsets, &addresses);
                self.counts.load(&access, to);
                let mut fault = None;
                for &(lane, start) in &addresses {
                    for (&to, &offset) in to.iter().zip(offsets) {
                        let at = start + u64::from(offset);
                        let (memory, who, first, bytes, first_group) = self.touch(global, lane);
                        let index = first + at as usize / 4;
                        let word = if at + 4 > bytes {
                            fault = Some(Fault::OutOfBounds);
                            0
                        } else {
                            memory.read(index, who, first_group).unwrap_or_else(|found| {
                                fault = Some(found);
                                memory.words[index]
                            })
                        };
                        self.registers[to as usize][lane] = word;
                    }
                    if let Some(fault) = fault.take() {
                        self.fault(site, fault);
                    }
                }
            }
        }
    }

    fn access_to<'b>(
        &self,
        global: usize,
        site: usize,
        offsets: &'b [u32],
        addresses: &'b [(usize, u64)],
    ) -> Access<'b> {
        let is_uniform = self.program.globals[global].is_uniform;
        Access { site, place: self.places[global], is_uniform, offsets, addresses }
    }

    fn addresses(&self, pointer: Pointer, active: Mask) -> Vec<(usize, u64)> {
        active.lanes().map(|lane| (lane, self.offset(pointer, lane))).collect()
    }

    fn store(&mut self, to: Pointer, from: &[Register], offsets: &[u32], site: usize, is_atomic: bool, active: Mask) {
        match to.root {
            Root::Local(first, count) => {
                if to.index.is_none() {
                    for (&from, offset) in from.iter().zip(offsets) {
                        self.copy_in(first + to.offset + offset, from, active);
                    }
                    return;
                }
                for (&from, &offset) in from.iter().zip(offsets) {
                    for lane in active.lanes() {
                        let at = self.offset(to, lane) + u64::from(offset);
                        if at < u64::from(count) {
                            self.registers[first as usize + at as usize][lane] = self.registers[from as usize][lane];
                        }
                    }
                }
            }
            Root::Global(global) => {
                self.counts.used(from, active);
                self.counts.used(to.index.as_slice(), active);
                let addresses = self.addresses(to, active);
                let access = self.access_to(global, site, offsets, &addresses);
                self.counts.store(&access);
                for (lane, start) in addresses {
                    for (&from, &offset) in from.iter().zip(offsets) {
                        let word = self.registers[from as usize][lane];
                        let wrote = if is_atomic { Wrote::Stored(word) } else { Wrote::Plain };
                        self.write(global, lane, start + u64::from(offset), site, |_| word, wrote);
                    }
                }
            }
        }
    }

    /// Writes a word that may depend on the old word, and returns the old word.
    fn write(
        &mut self,
        global: usize,
        lane: usize,
        at: u64,
        site: usize,
        word: impl Fn(u32) -> u32,
        wrote: Wrote,
    ) -> u32 {
        let (memory, who, first, bytes, first_group) = self.touch(global, lane);
        if at + 4 > bytes {
            self.fault(site, Fault::OutOfBounds);
            return 0;
        }
        let index = first + at as usize / 4;
        let (before, is_written) = (memory.words[index], memory.is_written(index));
        let result = memory.write_by(index, word(before), who, wrote, first_group);
        if let Err(fault) = result {
            self.fault(site, fault);
        } else if !is_written && matches!(wrote, Wrote::Combined(_) | Wrote::Exchanged) {
            self.fault(site, Fault::Unwritten);
        }
        before
    }

    fn atomic(&mut self, operation: &Operation, active: Mask) {
        let &Operation::Atomic { to, at, function, is_signed, value, site, .. } = operation else { return };
        let Root::Global(global) = at.root else { panic!("an atomic of a local variable") };
        self.counts.used(&[value], active);
        self.counts.used(at.index.as_slice(), active);
        let mut addresses = self.addresses(at, active);
        let access = self.access_to(global, site, &[0], &addresses);
        self.counts.atomic(&access, to);
        match self.schedule.order {
            Order::Forward | Order::Mixed => {}
            Order::Backward => addresses.reverse(),
            order @ Order::Random(_) => {
                addresses = order.numbers(addresses.len() as u64).map(|i| addresses[i as usize]).collect();
            }
        }
        let wrote = match (to, AtomicKind::of(function)) {
            (None, Some(kind)) => Wrote::Combined(kind),
            _ => Wrote::Exchanged,
        };
        for (lane, start) in addresses {
            let value = self.registers[value as usize][lane];
            let before =
                self.write(global, lane, start, site, |before| combine(function, is_signed, before, value), wrote);
            if let Some(to) = to {
                self.registers[to as usize][lane] = before;
            }
        }
    }

    // ---- across a subgroup ----

    fn across(&mut self, operation: &Operation, active: Mask) {
        for group in 0..self.program.lanes.div_ceil(self.schedule.subgroup) {
            let own = self.subgroup(group).and(active);
            if own.is_empty() {
                continue;
            }
            let first = group * self.schedule.subgroup;
            match *operation {
                Operation::Ballot { ref to, predicate } => {
                    let is_set = |lane: usize| predicate.is_none_or(|from| self.registers[from as usize][lane] != 0);
                    let mut bits = [0u32; 4];
                    own.lanes()
                        .filter(|&lane| is_set(lane))
                        .for_each(|lane| bits[(lane - first) / 32] |= 1 << ((lane - first) % 32));
                    self.counts.used(predicate.as_slice(), own);
                    for (&to, bits) in to.iter().zip(bits) {
                        self.counts.assigned(to);
                        own.lanes().for_each(|lane| self.registers[to as usize][lane] = bits);
                    }
                }
                Operation::Gather { ref to, ref from, mode, site } => self.gather(to, from, mode, site, own, first),
                Operation::Combine { to, from, two, identity, scan } => {
                    self.counts.used(&[from], own);
                    self.counts.assigned(to);
                    let mut running = identity;
                    for lane in own.lanes() {
                        let before = running;
                        running = arithmetic::two_of(two, running, self.registers[from as usize][lane]);
                        self.registers[to as usize][lane] = if scan == Scan::Exclusive { before } else { running };
                    }
                    if scan == Scan::Reduce {
                        own.lanes().for_each(|lane| self.registers[to as usize][lane] = running);
                    }
                }
                _ => {}
            }
        }
    }

    fn gather(&mut self, to: &[Register], from: &[Register], mode: Gather, site: usize, own: Mask, first: usize) {
        self.counts.used(from, own);
        let source = |machine: &Self, lane: usize| {
            let of = |register: Register| machine.registers[register as usize][lane] as usize;
            let within = lane - first;
            match mode {
                Gather::First => own.lanes().next(),
                Gather::At(register) => Some(first + of(register)),
                Gather::Down(register) => Some(first + within + of(register)),
                Gather::Up(register) => (within).checked_sub(of(register)).map(|within| first + within),
                Gather::Xor(register) => Some(first + (within ^ of(register))),
            }
            .filter(|&source| source < machine.program.lanes && own.has(source))
        };
        let sources: Vec<_> = own.lanes().map(|lane| (lane, source(self, lane))).collect();
        if sources.iter().any(|(_, source)| source.is_none()) {
            self.fault(site, Fault::Inactive);
        }
        for (&to, &from) in to.iter().zip(from) {
            self.counts.assigned(to);
            let words: Vec<_> = sources
                .iter()
                .map(|(_, source)| source.map_or(0, |source| self.registers[from as usize][source]))
                .collect();
            sources.iter().zip(words).for_each(|((lane, _), word)| self.registers[to as usize][*lane] = word);
        }
    }
}

/// The most workgroups of a dispatch along each dimension, as WebGPU has it by default.
const MOST_GROUPS: u32 = 65_535;

/// An offset that is outside of every buffer, and stays so when a little is added.
const OUTSIDE: u64 = 0xf000_0000;

fn combine(function: AtomicFunction, is_signed: bool, before: u32, value: u32) -> u32 {
    match function {
        AtomicFunction::Add => before.wrapping_add(value),
        AtomicFunction::Subtract => before.wrapping_sub(value),
        AtomicFunction::And => before & value,
        AtomicFunction::InclusiveOr => before | value,
        AtomicFunction::ExclusiveOr => before ^ value,
        AtomicFunction::Min if is_signed => (before as i32).min(value as i32) as u32,
        AtomicFunction::Max if is_signed => (before as i32).max(value as i32) as u32,
        AtomicFunction::Min => before.min(value),
        AtomicFunction::Max => before.max(value),
        AtomicFunction::Exchange { .. } => value,
    }
}
