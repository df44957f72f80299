//! The order of a dispatch, and the places of its variables.

/// The place of a variable.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In this one of the given memories, from a word on, with this many bytes.
    Buffer { memory: usize, first: usize, bytes: usize },
    /// In this variable of the workgroup.
    Workgroup(usize),
}

/// The parameters of a dispatch.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Invocations of a subgroup.
    pub subgroup: usize,
    pub order: Order,
    pub counts: bool,
    /// The most rounds of a dispatch, where a round is a workgroup that begins, or one of a loop.
    pub most_rounds: u64,
}

/// The order of workgroups, and of invocations with simultaneous atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
    /// From both ends in turn.
    Mixed,
    /// A random order with this seed.
    Random(u64),
}

impl Order {
    /// Returns numbers below `count` in this order: all of them, each once.
    pub fn numbers(self, count: u64) -> Box<dyn Iterator<Item = u64>> {
        match self {
            Self::Forward => Box::new(0..count),
            Self::Backward => Box::new((0..count).rev()),
            Self::Mixed => Box::new((0..count).map(move |i| if i % 2 == 0 { i / 2 } else { count - 1 - i / 2 })),
            Self::Random(seed) => {
                let mut numbers: Vec<u64> = (0..count).collect();
                numbers.sort_by_cached_key(|i| scattered(seed ^ i));
                Box::new(numbers.into_iter())
            }
        }
    }
}

/// Returns random bits of a number (splitmix64).
fn scattered(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
