//! Predicts the device memory of a tree or of a batch of queries.

use super::batch::Wanted;
use super::query::{Listed, QueryBuffers, QueryCapacity, Ranked, filter_u32_count, u32_count_of};
use super::query_memory::staging_bytes;
use super::{Question, Tree};
use crate::base::constants::{ROUND_CAST_U32_COUNT, ROW};
use crate::gpu::table::Row;
use crate::{BoxCast, Pair, Ray};

/// Describes a batch of queries from host memory, for [`Tree::query_memory_plan`].
///
/// ```
/// use broadsweep::query::{QueryLoad, Question};
///
/// // A million rays, and ten thousand boxes with a hundred answers each.
/// let rays = QueryLoad::new(Question::NearestHits, 1_000_000);
/// let boxes = QueryLoad::new(Question::Overlaps, 10_000).with_answers(1_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLoad {
    question: Question,
    query_count: usize,
    u32_count: usize,
    answers: u64,
    has_filters: bool,
    has_spheres: bool,
}

impl QueryLoad {
    /// Describes a batch of `query_count` queries without filters. The question determines the queries: rays, boxes,
    /// spheres or points. First hits and nearest boxes have one answer per query by default.
    pub fn new(question: Question, query_count: usize) -> Self {
        let u32_count = match question {
            Question::NearestHits | Question::FirstHits | Question::AnyHits | Question::AllHits => {
                u32_count_of::<Ray>() as usize
            }
            Question::Overlaps => 6,
            Question::SphereOverlaps | Question::Nearest => 4,
        };
        let answers = u64::from(matches!(question, Question::FirstHits | Question::Nearest));
        Self { question, query_count, u32_count, answers, has_filters: false, has_spheres: false }
    }

    /// Sets the u32 count of a query. Casts: a ray has 7, a box 10, a sphere or capsule 17. Shapes: a point has 3, a
    /// sphere 4, a box 6. Other shapes have 8, and 4 per half-space: an oriented box up to 104, a capsule up to 40. A
    /// nearest query has 4.
    #[must_use]
    pub fn with_u32_count(self, u32_count: usize) -> Self {
        Self { u32_count: u32_count.max(1), ..self }
    }

    /// Sets the queries to box casts, instead of rays.
    #[must_use]
    pub fn of_moving(self) -> Self {
        self.with_u32_count(u32_count_of::<BoxCast>() as usize)
    }

    /// Sets the queries to sphere or capsule casts, instead of rays.
    #[must_use]
    pub fn of_moving_round(self) -> Self {
        self.with_u32_count(ROUND_CAST_U32_COUNT as usize)
    }

    /// Sets the count of answers. For first hits and nearest boxes, it is the count per query; for lists, an estimate
    /// of the sum over all queries. More than 2²³ answers, or more than fit a binding, are read back in windows.
    #[must_use]
    pub fn with_answers(self, answers: u64) -> Self {
        Self { answers, ..self }
    }

    /// Adds [filters](crate::QueryFilters) to the queries.
    #[must_use]
    pub fn with_filters(self) -> Self {
        Self { has_filters: true, ..self }
    }

    /// Adds filters with [spheres](crate::QueryFilters::sphere) to the queries of a tree whose boxes have spheres.
    #[must_use]
    pub fn with_spheres(self) -> Self {
        Self { has_filters: true, has_spheres: true, ..self }
    }
}

/// The buffers of a tree, or of a batch of queries, before they are allocated. [`Tree::memory_plan`] and
/// [`Tree::query_memory_plan`] return it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeMemoryPlan {
    pub(super) buffers: Vec<Row>,
}

impl TreeMemoryPlan {
    /// Lists the buffers by name, with their bytes.
    pub fn buffers(&self) -> &[(&'static str, u64)] {
        &self.buffers
    }

    /// Returns the sum of the bytes.
    pub fn total(&self) -> u64 {
        self.buffers.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

impl Tree {
    /// Lists the buffers of a batch of queries from host memory by name, with their bytes, in addition to the
    /// [tree](Self::memory_plan). The buffers are cached for the next batch; each buffer has the largest size needed so
    /// far. A batch runs in parts if it has more than 2²⁰ lists, 2²² queries or 2²³ answers in rows, or if it does not
    /// fit a binding of the device. Such a batch needs the memory of the first part. While a longer list of answers is
    /// allocated, the old list still exists. Call this after the build, since a query has at most one answer per box of
    /// the built tree.
    pub fn query_memory_plan(&self, load: &QueryLoad) -> TreeMemoryPlan {
        let (capacity, read) = self.capacity_for(load);
        if capacity.queries == 0 {
            return TreeMemoryPlan::default();
        }
        let buffers = QueryBuffers::rows(&capacity).chain([("staging", staging_bytes(read))]).collect();
        TreeMemoryPlan { buffers }
    }

    /// Returns the capacity of a part of this batch, and the bytes read back at a time.
    fn capacity_for(&self, load: &QueryLoad) -> (QueryCapacity, u64) {
        let QueryLoad { question, query_count, u32_count, answers, has_filters, has_spheres } = *load;
        let k = usize::try_from(if question == Question::NearestHits { 1 } else { answers }).unwrap_or(usize::MAX);
        // A query has at most one answer per box.
        let k = self.built.as_ref().map_or(k, |built| k.min(built.capacity.boxes as usize));
        let wanted = match question {
            Question::NearestHits | Question::FirstHits => Wanted::Rows(Ranked::Hits, k.min(ROW as usize) as u32),
            Question::Nearest => Wanted::Rows(Ranked::Near, k.min(ROW as usize) as u32),
            Question::AnyHits => Wanted::Any,
            Question::AllHits => Wanted::Lists(Listed::Cross),
            Question::Overlaps => Wanted::Lists(Listed::Touch),
            Question::SphereOverlaps => Wanted::Lists(Listed::Sphere),
        };
        let most = match wanted {
            Wanted::Rows(..) if k == 0 => 0,
            Wanted::Rows(..) => self.most_queries(u32_count, k),
            Wanted::Any => self.most_queries(u32_count, 1),
            Wanted::Lists(Listed::Cross) => self.most_lists(u32_count),
            Wanted::Lists(_) => self.most_lists(5).min((self.most_u32_count() / u32_count).max(1)),
        };
        let queries = query_count.min(most) as u64;
        let capacity = QueryCapacity {
            u32_count: queries * u32_count as u64,
            query_filters: queries * filter_u32_count(has_filters, has_spheres),
            ..wanted.capacity(queries)
        };
        match wanted {
            Wanted::Rows(..) => (capacity, queries * 16 + capacity.rows * 8),
            Wanted::Any => (capacity, queries * 16),
            Wanted::Lists(_) => {
                let pairs = self.most_answers(answers);
                let of_answers = answers.min(pairs) * size_of::<Pair>() as u64;
                (QueryCapacity { pairs, ..capacity }, of_answers.max((queries + 1) * 16))
            }
        }
    }
}
