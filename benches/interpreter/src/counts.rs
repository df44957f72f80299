//! Counts the cost of a dispatch on a GPU: instructions, lanes, sectors, bank conflicts and waits.
//!
//! A subgroup waits for a load when it uses a value of the load, and then for all earlier loads too. So a wait is a
//! round trip to memory after another one in the same subgroup, with any count of loads: a loop that sums loaded values
//! waits once in each round, and eight loads in a row wait once.
//!
//! Uniform buffers are small and lie in a cache of their own, or in registers. They are counted separately, without
//! waits.

use std::collections::{HashMap, HashSet};

use crate::mask::Mask;
use crate::program::{Program, Register};
use crate::schedule::{Place, Schedule};

/// The least bytes that memory moves at once.
const SECTOR: u64 = 32;
const BANKS: u64 = 32;

/// The cost of a place in the source.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// The count of runs by a subgroup.
    pub instructions: u64,
    /// The active invocations of all runs.
    pub lanes: u64,
    /// Bytes that they requested.
    pub bytes: u64,
    /// Accessed sectors, counted for each instruction; none in workgroup memory.
    pub sectors: u64,
    /// Sectors that the workgroup had not accessed before, counted in the same way.
    pub first_sectors: u64,
    /// Sectors that no workgroup of the dispatch had accessed before, counted in the same way.
    pub new_sectors: u64,
    /// Addresses of uniform buffers, counted for each instruction.
    pub constants: u64,
    /// Turns that the banks of workgroup memory took.
    pub bank_turns: u64,
}

impl Cost {
    /// Adds another cost.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.sectors += other.sectors;
        self.first_sectors += other.first_sectors;
        self.new_sectors += other.new_sectors;
        self.constants += other.constants;
        self.bank_turns += other.bank_turns;
    }
}

/// The costs of a dispatch.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    is_on: bool,
    width: usize,
    lanes: usize,
    /// Operations of subgroups, except those on memory.
    pub operations: u64,
    /// By site.
    pub costs: Vec<Cost>,
    /// The most waits of a workgroup, which is as slow as the slowest of its subgroups.
    pub waits: u64,
    /// The waits of all workgroups.
    pub all_waits: u64,
    /// The barriers of all workgroups.
    pub barriers: u64,
    /// For each register and subgroup, the round in which it was loaded; 0 where it was not.
    loaded: Vec<u64>,
    /// The round of each subgroup, from 1 on.
    rounds: Vec<u64>,
    /// The accessed sectors: their memory, whether they were written, and the last workgroup that accessed them.
    seen: HashMap<(usize, u64, bool), u64>,
    group: u64,
}

/// An access of some invocations to one variable.
pub(crate) struct Access<'a> {
    pub site: usize,
    pub place: Place,
    pub is_uniform: bool,
    /// Bytes from the address to each word.
    pub offsets: &'a [u32],
    /// Invocations, and their addresses in bytes.
    pub addresses: &'a [(usize, u64)],
}

impl Counts {
    pub fn new(program: &Program, schedule: Schedule) -> Self {
        if !schedule.counts {
            return Self::default();
        }
        let subgroups = program.lanes.div_ceil(schedule.subgroup);
        Self {
            is_on: true,
            width: schedule.subgroup,
            lanes: program.lanes,
            costs: vec![Cost::default(); program.sites.len()],
            loaded: vec![0; program.registers * subgroups],
            rounds: vec![1; subgroups],
            ..Self::default()
        }
    }

    /// Returns the sums over all sites.
    pub fn total(&self) -> Cost {
        let mut sum = Cost::default();
        self.costs.iter().for_each(|cost| sum.add(cost));
        sum
    }

    pub(crate) fn begin_group(&mut self, group: u64) {
        self.group = group;
        self.rounds.fill(1);
        self.loaded.fill(0);
    }

    pub(crate) fn end_group(&mut self) {
        let waits = self.rounds.iter().max().map_or(0, |round| round - 1);
        self.waits = self.waits.max(waits);
        self.all_waits += waits;
    }

    /// All subgroups wait for the slowest.
    pub(crate) fn barrier(&mut self) {
        let slowest = self.rounds.iter().max().copied().unwrap_or(1);
        self.rounds.fill(slowest);
        self.barriers += 1;
    }

    /// Notes the use of values: the subgroup waits for pending loads of these.
    pub(crate) fn used(&mut self, registers: &[Register], active: Mask) {
        if !self.is_on {
            return;
        }
        let subgroups = self.rounds.len();
        for subgroup in 0..subgroups {
            if !self.is_active(subgroup, active) {
                continue;
            }
            self.operations += 1;
            let round = self.rounds[subgroup];
            let is_pending = |&register: &Register| self.loaded[register as usize * subgroups + subgroup] == round;
            if registers.iter().any(is_pending) {
                self.rounds[subgroup] += 1;
            }
        }
    }

    fn is_active(&self, subgroup: usize, active: Mask) -> bool {
        (subgroup * self.width..((subgroup + 1) * self.width).min(self.lanes)).any(|lane| active.has(lane))
    }

    /// Notes a computed value: its use needs no wait.
    pub(crate) fn assigned(&mut self, to: Register) {
        if self.is_on {
            let subgroups = self.rounds.len();
            self.loaded[to as usize * subgroups..][..subgroups].fill(0);
        }
    }

    /// Notes a moved value. A compiler only renames it, at no cost.
    pub(crate) fn moved(&mut self, to: Register, from: Register) {
        if self.is_on {
            let subgroups = self.rounds.len();
            self.loaded
                .copy_within(from as usize * subgroups..(from as usize + 1) * subgroups, to as usize * subgroups);
        }
    }

    pub(crate) fn load(&mut self, access: &Access<'_>, to: &[Register]) {
        if !self.is_on {
            return;
        }
        self.access(access, false);
        let is_far = matches!(access.place, Place::Buffer { .. }) && !access.is_uniform;
        let subgroups = self.rounds.len();
        for &to in to {
            self.assigned(to);
            for (lane, _) in access.addresses.iter().filter(|_| is_far) {
                let subgroup = lane / self.width;
                self.loaded[to as usize * subgroups + subgroup] = self.rounds[subgroup];
            }
        }
    }

    pub(crate) fn store(&mut self, access: &Access<'_>) {
        if self.is_on {
            self.access(access, true);
        }
    }

    pub(crate) fn atomic(&mut self, access: &Access<'_>, to: Option<Register>) {
        match to {
            Some(to) => self.load(access, &[to]),
            None => self.store(access),
        }
    }

    fn access(&mut self, access: &Access<'_>, is_write: bool) {
        let mut cost = std::mem::take(&mut self.costs[access.site]);
        for subgroup in access.addresses.chunk_by(|a, b| a.0 / self.width == b.0 / self.width) {
            cost.instructions += 1;
            cost.lanes += subgroup.len() as u64;
            match access.place {
                Place::Buffer { .. } if access.is_uniform => {
                    cost.constants += subgroup.iter().map(|(_, at)| at).collect::<HashSet<_>>().len() as u64;
                    continue;
                }
                Place::Buffer { memory, first, .. } => {
                    for sector in sectors(4 * first as u64, access.offsets, subgroup) {
                        cost.sectors += 1;
                        let last = self.seen.insert((memory, sector, is_write), self.group);
                        cost.first_sectors += u64::from(last != Some(self.group));
                        cost.new_sectors += u64::from(last.is_none());
                    }
                }
                Place::Workgroup(_) => cost.bank_turns += bank_turns(access.offsets, subgroup),
            }
            cost.bytes += 4 * (subgroup.len() * access.offsets.len()) as u64;
        }
        self.costs[access.site] = cost;
    }
}

/// Lists the sectors that a subgroup accesses at once, in a buffer that begins at this byte.
fn sectors(start: u64, offsets: &[u32], subgroup: &[(usize, u64)]) -> Vec<u64> {
    let of_lane =
        |&(_, at): &(usize, u64)| offsets.iter().map(move |&offset| (start + at + u64::from(offset)) / SECTOR);
    let mut sectors: Vec<u64> = subgroup.iter().flat_map(of_lane).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors
}

/// Returns the turns that the banks take for a subgroup: each bank serves one word in a turn.
fn bank_turns(offsets: &[u32], subgroup: &[(usize, u64)]) -> u64 {
    let turns_at = |&offset: &u32| {
        let mut words: Vec<u64> = subgroup.iter().map(|(_, at)| (at + u64::from(offset)) / 4).collect();
        words.sort_unstable();
        words.dedup();
        let mut turns = [0; BANKS as usize];
        words.iter().for_each(|word| turns[(word % BANKS) as usize] += 1);
        turns.into_iter().max().unwrap_or(0)
    };
    offsets.iter().map(turns_at).sum()
}
