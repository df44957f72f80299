//! Words of memory, and the last accesses to each word, which show data races.

use naga::AtomicFunction;

/// A value that no kernel expects in a word.
const UNWRITTEN: u32 = 0xdead_beef;

/// A buffer, or a variable of a workgroup.
#[derive(Debug, Default)]
pub struct Memory {
    pub words: Vec<u32>,
    /// True if anybody has written the word.
    written: Vec<bool>,
    /// Created when a kernel first accesses the memory.
    shadows: Vec<Shadow>,
}

/// The last accesses to a word.
#[derive(Clone, Copy, Debug, Default)]
struct Shadow {
    writer: Toucher,
    reader: Toucher,
    /// The kind of the write.
    wrote: Wrote,
    /// True if other invocations of the reader's workgroup have read since the last barrier.
    others_read: bool,
    /// True if other workgroups have read.
    other_groups_read: bool,
}

/// An invocation, at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Toucher {
    /// The number of the workgroup among all that ever ran, from 1 on; 0 is none.
    pub group: u64,
    pub lane: u32,
    /// The count of barriers that the workgroup has passed, of the kind that orders this memory.
    pub epoch: u32,
}

/// Words, and whether each was written.
pub type Contents = (Vec<u32>, Vec<bool>);

/// The kind of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrote {
    #[default]
    Plain,
    /// An atomic store of this value. Stores of the same value do not race.
    Stored(u32),
    /// An atomic whose result is not used. Atomics of one function commute.
    Combined(AtomicKind),
    /// An atomic whose result is used.
    Exchanged,
}

/// An atomic function, without its comparison value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicKind {
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
}

/// The fault of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Another invocation accesses the word, one of the two writes, and no barrier orders them.
    Race,
    /// The word was never written.
    Unwritten,
    OutOfBounds,
    /// A barrier, or a load for all, that not all invocations reach.
    Divergence,
    /// A shuffle from an invocation that is not active.
    Inactive,
    /// More workgroups than a dispatch may have, or more rounds than the limit that was set.
    Endless,
}

impl AtomicKind {
    /// Returns the kind; none for an exchange.
    pub fn of(function: AtomicFunction) -> Option<Self> {
        Some(match function {
            AtomicFunction::Add | AtomicFunction::Subtract => Self::Add,
            AtomicFunction::And => Self::And,
            AtomicFunction::InclusiveOr => Self::Or,
            AtomicFunction::ExclusiveOr => Self::Xor,
            AtomicFunction::Min => Self::Min,
            AtomicFunction::Max => Self::Max,
            AtomicFunction::Exchange { .. } => return None,
        })
    }
}

impl Toucher {
    /// Returns whether this access is not ordered after an earlier one of another invocation.
    fn races(&self, earlier: &Self, first_group: u64) -> bool {
        // Accesses of earlier dispatches are ordered before this one.
        earlier.group >= first_group
            && (earlier.group != self.group || earlier.epoch == self.epoch && earlier.lane != self.lane)
    }
}

impl Memory {
    /// Creates memory of this many unwritten words. They hold a pattern that no kernel expects.
    pub fn new(words: usize) -> Self {
        Self { words: vec![UNWRITTEN; words], written: vec![false; words], shadows: Vec::new() }
    }

    /// Marks all words as unwritten, for the next workgroup.
    pub fn renew(&mut self) {
        self.words.fill(UNWRITTEN);
        self.written.fill(false);
    }

    /// Writes words from outside of kernels.
    pub fn write(&mut self, first: usize, words: &[u32]) {
        self.words[first..first + words.len()].copy_from_slice(words);
        self.written[first..first + words.len()].fill(true);
    }

    /// Copies words from other memory, with whether they were written.
    pub fn copy(&mut self, to: usize, from: &Self, first: usize, count: usize) {
        self.words[to..to + count].copy_from_slice(&from.words[first..first + count]);
        self.written[to..to + count].copy_from_slice(&from.written[first..first + count]);
    }

    fn shadow(&mut self, at: usize) -> &mut Shadow {
        if self.shadows.is_empty() {
            self.shadows = vec![Shadow::default(); self.words.len()];
        }
        &mut self.shadows[at]
    }

    /// Notes a read, and returns the word.
    ///
    /// # Errors
    /// The fault of the read.
    pub fn read(&mut self, at: usize, who: Toucher, first_group: u64) -> Result<u32, Fault> {
        let (is_written, word) = (self.written[at], self.words[at]);
        let shadow = self.shadow(at);
        let is_race = who.races(&shadow.writer, first_group);
        let reader = shadow.reader;
        if reader.group != who.group {
            // Reads of earlier dispatches do not count.
            shadow.other_groups_read = reader.group >= first_group;
            shadow.others_read = false;
        } else if reader.epoch != who.epoch {
            shadow.others_read = false;
        } else if reader.lane != who.lane {
            shadow.others_read = true;
        }
        shadow.reader = who;
        if is_race {
            return Err(Fault::Race);
        }
        if is_written { Ok(word) } else { Err(Fault::Unwritten) }
    }

    /// Notes a write, after which the word has this value.
    ///
    /// # Errors
    /// The fault of the write.
    pub fn write_by(
        &mut self,
        at: usize,
        word: u32,
        who: Toucher,
        wrote: Wrote,
        first_group: u64,
    ) -> Result<(), Fault> {
        self.words[at] = word;
        self.written[at] = true;
        let shadow = self.shadow(at);
        let commutes = wrote == shadow.wrote && matches!(wrote, Wrote::Stored(_) | Wrote::Combined(_));
        let is_race = !commutes && who.races(&shadow.writer, first_group)
            || who.races(&shadow.reader, first_group)
            || shadow.reader.group == who.group && shadow.others_read && shadow.reader.epoch == who.epoch
            || shadow.reader.group >= first_group && shadow.other_groups_read;
        shadow.writer = who;
        shadow.wrote = wrote;
        if is_race { Err(Fault::Race) } else { Ok(()) }
    }

    /// Returns the part of the state that kernels can observe.
    pub fn state(&self) -> Contents {
        (self.words.clone(), self.written.clone())
    }

    /// Restores an earlier state.
    pub fn set_state(&mut self, (words, written): &Contents) {
        self.words.copy_from_slice(words);
        self.written.copy_from_slice(written);
    }

    /// Returns whether kernels observe this state.
    pub fn is_in_state(&self, (words, written): &Contents) -> bool {
        self.words == *words && self.written == *written
    }

    /// Returns whether the word was written.
    pub fn is_written(&self, at: usize) -> bool {
        self.written[at]
    }
}
