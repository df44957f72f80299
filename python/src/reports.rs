//! Converts reports to Python objects.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// Makes a class of Python with the fields of a report: with `==` and `repr`, and picklable.
macro_rules! report {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, eq, module = "broadsweep")]
        #[derive(Clone, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        #[pymethods]
        impl $name {
            #[new]
            #[allow(clippy::too_many_arguments)] // the fields, as pickle gives them
            fn new($($field: $type),*) -> Self {
                Self { $($field),* }
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
                let (py, own) = (slf.py(), slf.get().clone());
                let fields = [$(own.$field.into_bound_py_any(py)?),*];
                Ok((slf.get_type(), PyTuple::new(py, fields)?))
            }

            fn __repr__(&self) -> String {
                let fields = [$(format!("{}={:?}", stringify!($field), self.$field)),*];
                let named = format!("{}({})", stringify!($name), fields.join(", "));
                // As Python writes them.
                named.replace("=true", "=True").replace("=false", "=False")
            }
        }
    };
}

report! {
    /// Counts and choices of one call.
    Report {
        /// Boxes in the input.
        box_count: u32,
        /// Boxes with a NaN or with `min > max`; they pair with nothing.
        invalid_count: u32,
        /// The indices of the first invalid boxes, ascending.
        first_invalid: Vec<u32>,
        /// Giants: unbounded boxes and boxes in too many cells, which are tested against all boxes.
        giant_count: u32,
        /// Entries: one box in one cell.
        entry_count: u32,
        /// Candidates: pairs that were tested.
        candidate_count: u64,
        /// Pairs found.
        pair_count: u64,
        /// The sweep axis: `"principal"`, `"x"`, `"y"`, `"z"`, or `"auto"` if nothing was swept.
        axis: String,
        /// The direction of the axis.
        direction: [f32; 3],
        /// The edge of a cell, in the units of the boxes.
        cell_size: f32,
        /// The count of passes over the boxes.
        passes: u32,
        /// The box count up to which every box is tested against every other.
        all_pairs_up_to: u32,
        /// True if a tree of one of two sets was queried.
        tree_join: bool,
        /// Bytes of allocated GPU memory.
        gpu_bytes: u64,
    }
}

report! {
    /// Counts of one step.
    StepReport {
        /// Boxes of the step.
        box_count: u32,
        /// Boxes with a NaN or with `min > max`; they pair with nothing.
        invalid_count: u32,
        /// The indices of the first invalid boxes, ascending.
        first_invalid: Vec<u32>,
        /// Pairs of the step.
        pair_count: u64,
        /// Pairs that the last step did not have.
        created_count: u64,
        /// Pairs of the last step that ended.
        lost_count: u64,
        /// Pairs of both steps, including pairs of sleeping or fixed boxes, which `persisting` omits.
        persisting_count: u64,
        /// True if all boxes were searched.
        searched: bool,
        /// Boxes that moved; 0 if all boxes were searched.
        moved_count: u32,
        /// The reason why all boxes were searched: `"always"` (on a GPU), `"few_boxes"`, `"first_step"`,
        /// `"box_count_changed"`, `"filters_changed"`, `"too_fast"`, `"many_left_padding"`, `"too_many_pairs"`; empty
        /// otherwise.
        reason: String,
    }
}

report! {
    /// Counts of a tree.
    TreeReport {
        /// Boxes in the tree.
        box_count: u32,
        /// Boxes with a NaN or with `min > max`; no query finds them.
        invalid_count: u32,
        /// The indices of the first invalid boxes, ascending.
        first_invalid: Vec<u32>,
        /// The surface of all nodes, divided by that after the build. Above 1.5 or 2, build again.
        growth: f64,
        /// Bytes of allocated memory.
        bytes: u64,
    }
}

report! {
    /// Counts of one batch of queries.
    QueryReport {
        /// Queries in the batch.
        query_count: u64,
        /// Queries with a NaN or another invalid number; they have no answers.
        invalid_count: u64,
        /// The indices of the first invalid queries, ascending.
        first_invalid: Vec<u64>,
        /// The count of all answers.
        answer_count: u64,
    }
}

impl From<&broadsweep::Report> for Report {
    fn from(report: &broadsweep::Report) -> Self {
        Self {
            box_count: report.box_count,
            invalid_count: report.invalid_count,
            first_invalid: report.first_invalid.clone(),
            giant_count: report.giant_count,
            entry_count: report.entry_count,
            candidate_count: report.candidate_count,
            pair_count: report.pair_count,
            axis: report.axis.name().to_owned(),
            direction: report.direction,
            cell_size: report.cell_size,
            passes: report.passes,
            all_pairs_up_to: report.all_pairs_up_to,
            tree_join: report.tree_join,
            gpu_bytes: report.gpu_bytes,
        }
    }
}

impl From<&broadsweep::step::StepReport> for StepReport {
    fn from(report: &broadsweep::step::StepReport) -> Self {
        Self {
            box_count: report.box_count,
            invalid_count: report.invalid_count,
            first_invalid: report.first_invalid.clone(),
            pair_count: report.pair_count,
            created_count: report.created_count,
            lost_count: report.lost_count,
            persisting_count: report.persisting_count,
            searched: report.work.searched,
            moved_count: report.work.moved_count,
            reason: report.work.reason.map_or_else(String::new, |reason| reason.name().to_owned()),
        }
    }
}

impl From<&broadsweep::query::TreeReport> for TreeReport {
    fn from(report: &broadsweep::query::TreeReport) -> Self {
        Self {
            box_count: report.box_count,
            invalid_count: report.invalid_count,
            first_invalid: report.first_invalid.clone(),
            growth: report.growth,
            bytes: report.bytes,
        }
    }
}

impl From<broadsweep::query::QueryReport> for QueryReport {
    fn from(report: broadsweep::query::QueryReport) -> Self {
        Self {
            query_count: report.query_count,
            invalid_count: report.invalid_count,
            first_invalid: report.first_invalid,
            answer_count: report.answer_count,
        }
    }
}
