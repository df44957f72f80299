//! The error type. Each message names the cause and the remedy.

use std::fmt;
use std::sync::Arc;

/// The error of a call. A call never drops a pair silently: it returns an error instead.
///
/// `Debug` prints the message too. So an error that `main` returns is readable.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No GPU adapter was found.
    #[error(
        "no GPU adapter found ({reason}). Install a Vulkan, Metal or Direct3D 12 driver, or a software one \
         (Debian: apt-get install mesa-vulkan-drivers); `broadsweep::cpu::find_pairs` needs no GPU"
    )]
    NoAdapter {
        /// The message of the graphics API.
        reason: String,
        /// The error of the graphics API, if there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// The adapter refused a device.
    #[error("{adapter} refused a device: {reason}. Choose another adapter or update its driver")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// The message of the driver.
        reason: String,
        /// The error of the graphics API, if there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// A limit of the device is below the requirement of the kernels; see
    /// [`Gpu::required_limits`](crate::Gpu::required_limits).
    #[error(
        "the device has {limit} = {available}, and {required} is needed. Request the device with `Gpu::required_limits()`"
    )]
    DeviceTooSmall {
        /// The name of the limit in `wgpu::Limits`.
        limit: &'static str,
        /// The required value.
        required: u64,
        /// The value of the device.
        available: u64,
    },
    /// There are more boxes than fit the device at once. [`find_pairs`](crate::BroadPhase::find_pairs) and
    /// [`stream_pairs`](crate::BroadPhase::stream_pairs) return this error only if the scene cannot be cut into slabs.
    /// This is the case if too many boxes begin at or contain the same point.
    #[error(
        "{box_count} boxes need {required} bytes for `{buffer}`, and {limit} is {available}. \
         At most {max_boxes} boxes fit at once. On a GPU, `BroadPhase::find_pairs` takes more in several passes, unless too \
         many meet in one place. If this is a limit of the device, request the device with a higher one"
    )]
    TooManyBoxes {
        /// The box count of the call.
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
        /// The box count of the call.
        box_count: u64,
        /// The least sufficient budget.
        required: u64,
        /// `Options::memory_budget`.
        budget: u64,
    },
    /// The scene has more candidates than the caller allows.
    #[error(
        "{candidate_count} candidates to test, and the limit is {limit}. The boxes overlap too much to list \
         their pairs, or the cell size is far too large; otherwise raise `Options::candidate_limit`"
    )]
    TooManyCandidates {
        /// Counted candidates; in a tree join, the tests until the error.
        candidate_count: u64,
        /// `Options::candidate_limit`, or the limit of a software adapter.
        limit: u64,
    },
    /// The pairs are counted, but their list does not fit host memory.
    #[error(
        "{pair_count} pairs need {required} bytes of host memory, which cannot be allocated. On a GPU, use \
         `BroadPhase::stream_pairs`; otherwise search the scene in tiles"
    )]
    ListTooLong {
        /// The exact pair count. With several passes: the pairs found so far. On the CPU engine: the pair count for
        /// which the allocation failed. It is at most the pairs found so far plus the remaining candidates.
        pair_count: u64,
        /// Bytes of the list.
        required: u64,
    },
    /// An option has an invalid value.
    #[error("{option} is {value}; it must be {expected}")]
    BadOption {
        /// The name of the option.
        option: &'static str,
        /// The refused value.
        value: String,
        /// The allowed values.
        expected: &'static str,
    },
    /// A list of the [`Filters`](crate::Filters) does not have one element per box.
    #[error("`{list}` has {length} elements, and there are {box_count} boxes. It must have one for each, or none")]
    FilterLength {
        /// The name of the list.
        list: &'static str,
        /// The length of the list.
        length: u64,
        /// The box count of the call.
        box_count: u64,
    },
    /// A list of the [`QueryFilters`](crate::QueryFilters) does not have one element per query.
    #[error("`{list}` has {length} elements, and there are {query_count} queries. It must have one for each, or none")]
    QueryFilterLength {
        /// The name of the list.
        list: &'static str,
        /// The length of the list.
        length: u64,
        /// The query count of the batch.
        query_count: u64,
    },
    /// A tree cannot be refitted to another box count.
    #[error("the tree was built of {built} boxes, and there are {box_count}. Build it again")]
    OtherTree {
        /// The box count of the build.
        built: u64,
        /// The box count of the refit.
        box_count: u64,
    },
    /// The queried or refitted tree is not built: there was no build, the last build failed, or worlds or margins have
    /// changed since the build. A tree without boxes counts as built.
    #[error("the tree is not built. Build it first, and again after its worlds or margins are changed")]
    NotBuilt,
    /// A tree shares the filters of a broad phase, and the broad phase changed them.
    #[error("the broad phase changed the filters that it shares with the tree; call `Tree::share_filters` again")]
    FiltersChanged,
    /// A recording has more queries, or capacity for more answers, than a buffer of the device can hold. Calls with
    /// queries in host memory have no such limit.
    #[error(
        "{query_count} queries and their answers need {required} bytes for `{buffer}`, and {limit} is {available}. Record fewer \
         queries at a time, or capacity for fewer answers, or request the device with a higher limit"
    )]
    TooManyQueries {
        /// The query count of the call.
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
    /// A shape has more half-spaces than a tree on the GPU allows:
    /// [`Convex::MOST_ON_GPU`](crate::Convex::MOST_ON_GPU).
    #[error(
        "shape {index} has {count} half-spaces, and the limit on the GPU is {most}. Query a tree on the CPU, or split the shape"
    )]
    TooManyHalfSpaces {
        /// The first such shape of the batch.
        index: u64,
        /// Its half-space count.
        count: u64,
        /// The most half-spaces of a shape.
        most: u64,
    },
    /// A value in the [`Filters`](crate::Filters) or the [`QueryFilters`](crate::QueryFilters) is invalid, the call does
    /// not support a list, or the included pairs exceed one binding of the device.
    #[error("`{list}{}` {problem}", in_brackets(*index))]
    BadFilter {
        /// The name of the list.
        list: &'static str,
        /// The first invalid index, from 0; for `owner`, the axis. `None` if the error concerns the whole list.
        index: Option<u64>,
        /// The problem, and the remedy.
        problem: String,
    },
    /// The identity in a [`Step`](crate::Step) does not fit the last step.
    #[error("`{list}` {problem}")]
    BadStep {
        /// The name of the list.
        list: &'static str,
        /// The problem, and the remedy.
        problem: String,
    },
    /// A periodic cell is invalid.
    #[error("the cell {problem}")]
    BadCell {
        /// The problem, and the remedy.
        problem: String,
    },
    /// A list of a [`PointSet`](crate::neighbour::PointSet) does not have one element per point, or has an invalid
    /// value.
    #[error("`{list}` {problem}")]
    BadPoints {
        /// The name of the list.
        list: &'static str,
        /// The problem, and the remedy.
        problem: String,
    },
    /// Too many periodic images lie within the radius of a neighbour search.
    #[error(
        "{point_count} points have {image_count} periodic images within the radius, and the limit is {limit}. Use a smaller radius, or a cell \
         whose vectors are not so short"
    )]
    TooManyImages {
        /// The count of points.
        point_count: u64,
        /// The count of images, or an estimate of a larger count.
        image_count: u64,
        /// The most images.
        limit: u64,
    },
    /// A handle belongs to a removed box, or to other [`Slots`](crate::step::Slots).
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
    /// A box of a pair has no id; see [`IdPair::append`](crate::IdPair::append).
    #[error(
        "box {index} is in a pair, and there are {id_count} ids. Pass one for each box of the call that found the pair"
    )]
    NoId {
        /// The box.
        index: u32,
        /// The count of ids.
        id_count: u64,
    },
    /// An external buffer cannot be used.
    #[error("the {buffer} buffer {problem}")]
    BadBuffer {
        /// The contents of the buffer.
        buffer: &'static str,
        /// The problem, and the remedy.
        problem: String,
    },
    /// Results are still being computed.
    #[error(
        "no further work can begin before the result of a submission in flight is taken with `try_take` or `take` (of steps, with \
         `try_take_events` or `take_events`)"
    )]
    Busy,
    /// A recorded step still uses buffers that must be replaced by larger ones.
    #[error(
        "a recorded step was not submitted, and the next one needs larger buffers. Submit its commands (in a browser, also wait until \
         they have run), or drop them; then record again"
    )]
    NotSubmitted,
    /// There is no submission in flight.
    #[error("nothing was submitted; call `submissions().submit` (for steps, `submit_events`) first")]
    NothingSubmitted,
    /// There is no recording whose pairs can be emitted.
    #[error("there is no recording of this many boxes whose pairs are still available; call `record` first")]
    NothingRecorded,
    /// There is no memory for a buffer of the device, or for a list on the host.
    #[error(
        "there is no memory for {}`{buffer}`. Free memory, or on a GPU lower `Options::memory_budget`",
        bytes_of(*bytes)
    )]
    OutOfMemory {
        /// The allocated buffer or list.
        buffer: String,
        /// Its bytes; 0 if the allocation is not one buffer.
        bytes: u64,
    },
    /// The device was lost.
    #[error("the GPU device was lost ({reason}). Create a new device and new engines, and call again")]
    DeviceLost {
        /// The message of the driver.
        reason: String,
        /// The error of the call that noticed the loss, if there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// The graphics API reported an error, because of a fault of this crate or of the driver.
    #[error("{label}: the graphics API reported: {message}. Please report this with the adapter's name")]
    Gpu {
        /// The kernel, the buffer or the operation at fault.
        label: String,
        /// The API's message.
        message: String,
        /// The error of the API, if there is one.
        #[source]
        cause: Option<Cause>,
    },
}

/// The error of wgpu or of the shader compiler behind an [`Error`]: its [`source`](std::error::Error::source). The
/// message of the [`Error`] contains its text. Causes are equal if their texts are equal.
#[derive(Clone)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// Wraps an error.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub(crate) fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    /// Wraps the text of an error. In a browser, the error itself cannot be sent to other threads.
    #[cfg(all(feature = "gpu", target_arch = "wasm32"))]
    pub(crate) fn of(error: impl std::error::Error) -> Self {
        let text: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
        Self(text.into())
    }

    /// Returns the wrapped error. It can be downcast, for example to a `wgpu::RequestAdapterError`.
    pub fn get(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Error {
    /// Creates the error of a list of this many pairs that does not fit host memory.
    pub(crate) fn list_too_long(pair_count: u64) -> Self {
        Self::ListTooLong { pair_count, required: pair_count.saturating_mul(size_of::<crate::Pair>() as u64) }
    }
}

/// Formats an index after the name of its list.
fn in_brackets(index: Option<u64>) -> String {
    index.map_or_else(String::new, |index| format!("[{index}]"))
}

/// Formats a byte count; empty if the count is 0.
fn bytes_of(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!("{bytes} bytes of ") }
}

#[cfg(all(test, feature = "gpu", not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use std::error::Error as _;
    use std::io;

    #[test]
    fn an_error_has_the_error_that_it_was_made_of_as_its_source() {
        let inner = || io::Error::other(io::Error::from(io::ErrorKind::TimedOut));
        let lost = |cause| Error::DeviceLost { reason: "late".to_owned(), cause };
        let error = lost(Some(Cause::of(inner())));
        let cause = error.source().unwrap();
        assert_eq!(cause.to_string(), inner().to_string());
        assert!(cause.downcast_ref::<Cause>().unwrap().get().is::<io::Error>());
        assert_eq!(error.to_string(), lost(None).to_string());
        assert!(lost(None).source().is_none() && Error::Busy.source().is_none());
        assert!(error == error.clone() && error == lost(Some(Cause::of(inner()))) && error != lost(None));
    }
}
