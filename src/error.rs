//! All errors, each with what to do about it.

use std::fmt;

/// The reason why a call was refused or could not finish. No call drops a pair instead.
///
/// `Debug` prints the message too, as `main` does with an error that it returns.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No GPU adapter was found.
    #[error(
        "no GPU adapter found ({reason}). Install a Vulkan, Metal or Direct3D 12 driver, or a software one \
         (Debian: apt-get install mesa-vulkan-drivers); `broadsweep::cpu::find_pairs` needs no GPU"
    )]
    NoAdapter {
        /// What the graphics API said.
        reason: String,
    },
    /// The adapter gave no device.
    #[error("{adapter} refused a device: {reason}. Choose another adapter or update its driver")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        reason: String,
    },
    /// The device lacks something that the kernels need; see [`Gpu::required_limits`](crate::Gpu::required_limits).
    #[error(
        "the device has {limit} = {available}, and {required} is needed. Request the device with `Gpu::required_limits()`"
    )]
    DeviceTooSmall {
        /// The name of the limit in `wgpu::Limits`.
        limit: &'static str,
        /// What is needed.
        required: u64,
        /// What there is.
        available: u64,
    },
    /// There are more boxes than fit the device at once. [`find_pairs`](crate::BroadPhase::find_pairs) and
    /// [`stream_pairs`](crate::BroadPhase::stream_pairs) return this error only where the scene cannot be cut into
    /// slabs that fit, since too many boxes begin at one point, or reach through it.
    #[error(
        "{box_count} boxes need {required} bytes for `{buffer}`, and {limit} is {available}. \
         At most {max_boxes} boxes fit at once. On a GPU, `BroadPhase::find_pairs` takes more in several passes, unless too \
         many meet in one place; or request the device with more where it is a device's limit"
    )]
    TooManyBoxes {
        /// Boxes asked for.
        box_count: u64,
        /// The buffer that does not fit.
        buffer: &'static str,
        /// Its size in bytes.
        required: u64,
        /// The name of the limit.
        limit: &'static str,
        /// The limit in bytes.
        available: u64,
        /// The most boxes that fit.
        max_boxes: u64,
    },
    /// The memory budget is too small for the scene.
    #[error(
        "{box_count} boxes need at least {required} bytes of GPU memory, and the budget is {budget}. Raise `Options::memory_budget`"
    )]
    OverBudget {
        /// Boxes asked for.
        box_count: u64,
        /// The least that works.
        required: u64,
        /// The budget given.
        budget: u64,
    },
    /// The scene has more candidates than the caller allows.
    #[error(
        "{candidate_count} candidates to test, and the limit is {limit}. The boxes overlap too much to list \
         their pairs, or the cell size is far too large; otherwise raise `Options::candidate_limit`"
    )]
    TooManyCandidates {
        /// Candidates found; where a tree was asked, those until the refusal.
        candidate_count: u64,
        /// `Options::candidate_limit`, or what an adapter allows at most.
        limit: u64,
    },
    /// The pairs are counted, but a list of them does not fit host memory.
    #[error(
        "{pair_count} pairs need {required} bytes of host memory, which could not be had. On a GPU, \
         `BroadPhase::stream_pairs` gives them piece by piece instead"
    )]
    ListTooLong {
        /// The exact number of pairs. Where a call takes several passes: the pairs found so far. On the CPU engine: the
        /// number of pairs for which there turned out to be no room, at most the pairs found so far plus the candidates
        /// left.
        pair_count: u64,
        /// Bytes of the list.
        required: u64,
    },
    /// An option has no meaning.
    #[error("{option} is {value}; it must be {expected}")]
    BadOption {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A list by box of the [`Filters`](crate::Filters) has another length than there are boxes.
    #[error("`{list}` has {length} elements, and there are {box_count} boxes. It must have one for each, or none")]
    FilterLength {
        /// The list.
        list: &'static str,
        /// Its length.
        length: u64,
        /// Boxes of the call.
        box_count: u64,
    },
    /// A list of the [`QueryFilters`](crate::QueryFilters) has another length than there are queries.
    #[error("`{list}` has {length} elements, and there are {query_count} queries. It must have one for each, or none")]
    QueryFilterLength {
        /// The list.
        list: &'static str,
        /// Its length.
        length: u64,
        /// Queries of the batch.
        query_count: u64,
    },
    /// A tree cannot be refitted to another number of boxes. A tree whose worlds or margins were changed has none.
    #[error("the tree was built of {built} boxes, and there are {box_count}. Build it again")]
    OtherTree {
        /// Boxes that the tree was built of.
        built: u64,
        /// Boxes given.
        box_count: u64,
    },
    /// A tree was asked that is not built: never, or not since a build failed or since its worlds or margins were changed. A tree of no boxes is
    /// built.
    #[error("the tree is not built. Build it first, and again after its worlds or margins are changed")]
    NotBuilt,
    /// A tree took the filters of a broad phase, and they were changed there since.
    #[error("the filters were changed in the broad phase that the tree shares them with. Let it share them again")]
    FiltersChanged,
    /// More queries, or room for more answers, is to be recorded at once than a buffer of the device has room for. Calls that take queries from host
    /// memory have no such limit.
    #[error(
        "{query_count} queries and their answers need {required} bytes for `{buffer}`, and {limit} is {available}. Record fewer \
         queries at a time, or room for fewer answers, or request the device with more"
    )]
    TooManyQueries {
        /// Queries asked for.
        query_count: u64,
        /// The buffer that does not fit.
        buffer: &'static str,
        /// Its size in bytes.
        required: u64,
        /// The name of the limit.
        limit: &'static str,
        /// The limit in bytes.
        available: u64,
    },
    /// A shape is cut out by more half-spaces than a tree on the GPU takes:
    /// [`Convex::MOST_ON_GPU`](crate::Convex::MOST_ON_GPU).
    #[error(
        "shape {index} has {count} half-spaces, and the GPU takes {most}. Ask a tree on the CPU, or for several shapes"
    )]
    TooManyHalfSpaces {
        /// The first such shape of the batch.
        index: u64,
        /// Its half-spaces.
        count: u64,
        /// The most there may be.
        most: u64,
    },
    /// A value in the [`Filters`](crate::Filters) has no meaning, or there are more included pairs than one binding of
    /// the device holds.
    #[error("`{list}[{index}]` {problem}")]
    BadFilter {
        /// The list.
        list: &'static str,
        /// The first place in it that is wrong, from 0.
        index: u64,
        /// What is wrong, and what is needed.
        problem: String,
    },
    /// What a [`Step`](crate::Step) says of its boxes has no meaning after the last step.
    #[error("`{list}` {problem}")]
    BadStep {
        /// The list.
        list: &'static str,
        /// What is wrong, and what is needed.
        problem: String,
    },
    /// A handle names a box that was removed, or one of other [`Slots`](crate::step::Slots).
    #[error(
        "the handle (index {index}, generation {generation}) is stale: its box was removed. Use the handle that `Slots::insert` returned for \
         the box that is there now"
    )]
    StaleHandle {
        /// The slot that the box had.
        index: u32,
        /// Its generation at that time.
        generation: u32,
    },
    /// A pair has a box for which no id was given: [`IdPair::append`](crate::IdPair::append).
    #[error(
        "box {index} is in a pair, and there are {id_count} ids. Give one for each box of the call that found the pair"
    )]
    NoId {
        /// The box.
        index: u32,
        /// How many ids were given.
        id_count: u64,
    },
    /// A buffer of the caller's cannot be used.
    #[error("the {buffer} buffer {problem}")]
    BadBuffer {
        /// What the buffer holds.
        buffer: &'static str,
        /// What is wrong, and what is needed.
        problem: String,
    },
    /// Results are still being computed.
    #[error(
        "no further work can begin before the result of a submission in flight is taken with `try_take` or `take` (of steps, with \
         `try_take_events` or `take_events`)"
    )]
    Busy,
    /// A recorded step still holds buffers that larger ones have to replace.
    #[error(
        "a recorded step was not submitted, and the next one needs larger buffers. Submit its commands (in a browser, also wait until \
         they have run), or drop them; then record again"
    )]
    NotSubmitted,
    /// There is nothing to take.
    #[error("nothing was submitted; call `submissions().submit` (for steps, `submit_events`) first")]
    NothingSubmitted,
    /// There is no recording to emit from.
    #[error("the last recording of this many boxes is no longer available; call `record` first")]
    NothingRecorded,
    /// There is no memory for a buffer of the device, or for a list on the host.
    #[error(
        "there is no memory for {}`{buffer}`. Free memory, or on a GPU lower `Options::memory_budget`",
        bytes_of(*bytes)
    )]
    OutOfMemory {
        /// What was being allocated.
        buffer: String,
        /// Its size; 0 where it was not one buffer.
        bytes: u64,
    },
    /// The device is gone.
    #[error("the GPU device was lost ({reason}). Make a new device and new engines, and call again")]
    DeviceLost {
        /// What the driver said.
        reason: String,
    },
    /// The graphics API refused something that it should not: a fault of this crate or of the driver.
    #[error("{label}: the graphics API reported: {message}. Please report this with the adapter's name")]
    Gpu {
        /// The kernel or buffer at fault, or what was being done.
        label: String,
        /// The API's message.
        message: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Error {
    /// Makes the error for this many pairs that have no room on the host.
    pub(crate) fn list_too_long(pair_count: u64) -> Self {
        Self::ListTooLong { pair_count, required: pair_count.saturating_mul(size_of::<crate::Pair>() as u64) }
    }
}

/// Says how many bytes, where that is known.
fn bytes_of(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!("{bytes} bytes of ") }
}
