//! How and where a dispatch is run.

/// Where a variable lies.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In this memory of those given, from a word on, with this many bytes.
    Buffer { memory: usize, first: usize, bytes: usize },
    /// In this variable of the workgroup.
    Workgroup(usize),
}

/// How a dispatch is run.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Invocations of a subgroup.
    pub subgroup: usize,
    pub order: Order,
    pub counts: bool,
    /// The most rounds of a dispatch, where a round is a workgroup that begins, or one of a loop.
    pub most_rounds: u64,
}

/// The order of workgroups, and of the invocations that do an atomic at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
    /// From both ends in turn.
    Mixed,
}
