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
        /// Boxes that are unbounded or touch too many cells, and were tested against all boxes.
        giant_count: u32,
        /// Incidences of a box in a cell.
        entry_count: u32,
        /// Tests made.
        candidate_count: u64,
        /// Pairs found.
        pair_count: u64,
        /// The axis that was taken: `"principal"`, `"x"`, `"y"`, `"z"`, or `"auto"` where none was.
        axis: String,
        /// The direction of the axis.
        direction: [f32; 3],
        /// The edge of a cell.
        cell_size: f32,
        /// How many times boxes were searched.
        passes: u32,
        /// The number of boxes up to which every box is tested against every other.
        all_pairs_up_to: u32,
        /// True if a tree of one of two sets was queried.
        tree_join: bool,
        /// Bytes of GPU memory held.
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
        /// Pairs that the last step had and this one has not.
        lost_count: u64,
        /// Pairs of both steps, also of two boxes that sleep or are fixed, which `persisting` leaves out.
        persisting_count: u64,
        /// True if all boxes were searched.
        searched: bool,
        /// Boxes that were not where they were; 0 where all boxes were searched.
        moved_count: u32,
        /// Why all boxes were searched: `"always"` (on a GPU), `"few_boxes"`, `"first_step"`, `"box_count_changed"`, `"filters_changed"`,
        /// `"too_fast"`, `"many_left_padding"`, `"too_many_pairs"`; empty where they were not.
        reason: String,
    }
}

report! {
    /// Counts of a tree.
    TreeReport {
        /// Boxes in the tree.
        box_count: u32,
        /// Boxes with a NaN or with `min > max`; no query answers them.
        invalid_count: u32,
        /// The indices of the first invalid boxes, ascending.
        first_invalid: Vec<u32>,
        /// The surface of all nodes, divided by what it was when the tree was built; above 1.5 or 2 it pays to build again.
        growth: f64,
        /// Bytes of memory held.
        bytes: u64,
    }
}

report! {
    /// Counts of one batch of queries.
    QueryReport {
        /// Queries in the batch.
        query_count: u64,
        /// Queries with a NaN or another number that has no meaning; they answer nothing.
        invalid_count: u64,
        /// The indices of the first invalid queries, ascending.
        first_invalid: Vec<u64>,
        /// All answers.
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
