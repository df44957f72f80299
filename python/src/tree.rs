//! The tree on either engine.

use broadsweep::query::{
    Batch, BoxCast, Capsule, CapsuleCast, Cast, Convex, NearestQuery, OrientedBox, QueryFilters, Shape, Sphere,
    SphereCast,
};
use broadsweep::step::HasFilters as _;
use broadsweep::{Aabb, Answers, AnyTree, Error, Hit, Lists, QueryEngine as _, Ray, cpu};
use bytemuck::Pod;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{list, one_column, queries, rows, two_columns};
use crate::devices::{Device, Place};
use crate::filters::query_filters;
use crate::host::Host;
use crate::reports::{QueryReport, TreeReport};
use crate::running;

/// Offsets of lists, their elements and counts.
type ListsOf<'py, A> = (Bound<'py, PyArray1<u64>>, Bound<'py, A>, QueryReport);

/// The tree on either engine.
#[pyclass(frozen, module = "broadsweep._native")]
pub struct Tree {
    host: Host<AnyTree>,
    /// The reason for the CPU, if it was not requested.
    #[pyo3(get)]
    reason: Option<String>,
    /// The name and the type of the adapter.
    #[pyo3(get)]
    adapter: Option<(String, &'static str)>,
}

#[pymethods]
impl Tree {
    #[new]
    fn new(py: Python<'_>, device: &str, threads: Option<usize>) -> PyResult<Self> {
        running::pool(threads)?;
        let device = Device::named(py, device)?;
        let Place { reason, adapter } = device.place();
        let tree = match device {
            Device::Cpu(_) => cpu::Tree::default().into(),
            Device::Gpu(gpu) => running::run(py, || broadsweep::Tree::new(&gpu))?.into(),
        };
        Ok(Self { host: Host::new(tree, adapter.is_some(), threads), reason, adapter })
    }

    #[getter]
    fn thread_count(&self) -> PyResult<usize> {
        self.host.thread_count()
    }

    fn set_filters(&self, py: Python<'_>, lists: &Bound<'_, PyDict>) -> PyResult<()> {
        self.host.with_filters(py, lists, |engine, filters| engine.set_filters(filters))
    }

    fn update_lists(&self, py: Python<'_>, lists: &Bound<'_, PyDict>) -> PyResult<()> {
        self.host.with_filters(py, lists, |engine, filters| engine.update_lists(&filters))
    }

    fn change_filters(&self, py: Python<'_>, name: &str, first: usize, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.host.with_change(py, (name, values), |engine, attribute| engine.change_filters(first, attribute))
    }

    fn build(&self, py: Python<'_>, boxes: PyReadonlyArray2<'_, f32>) -> PyResult<TreeReport> {
        let call = |tree: &mut AnyTree, boxes: &[Aabb]| tree.build(boxes).cloned();
        self.host.with_boxes(py, queries(&boxes)?, call).map(|report| (&report).into())
    }

    fn refit(&self, py: Python<'_>, boxes: PyReadonlyArray2<'_, f32>) -> PyResult<TreeReport> {
        let call = |tree: &mut AnyTree, boxes: &[Aabb]| tree.refit(boxes).cloned();
        self.host.with_boxes(py, queries(&boxes)?, call).map(|report| (&report).into())
    }

    fn report(&self, py: Python<'_>) -> PyResult<TreeReport> {
        let lease = self.host.lease(py)?;
        Ok(lease.engine.report().into())
    }

    fn nearest_hits<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        casts: PyReadonlyArray2<'py, f32>,
        filter_lists: &Bound<'py, PyDict>,
    ) -> PyResult<(Bound<'py, PyArray2<u32>>, QueryReport)> {
        let answers = match kind {
            "ray" => self.nearest_of::<Ray>(py, &casts, filter_lists),
            "box" => self.nearest_of::<BoxCast>(py, &casts, filter_lists),
            "sphere" => self.nearest_of::<SphereCast>(py, &casts, filter_lists),
            _ => self.nearest_of::<CapsuleCast>(py, &casts, filter_lists),
        }?;
        Ok((two_columns(py, answers.answers)?, answers.report.into()))
    }

    fn any_hits<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        casts: PyReadonlyArray2<'py, f32>,
        filter_lists: &Bound<'py, PyDict>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, QueryReport)> {
        let answers = match kind {
            "ray" => self.any_of::<Ray>(py, &casts, filter_lists),
            "box" => self.any_of::<BoxCast>(py, &casts, filter_lists),
            "sphere" => self.any_of::<SphereCast>(py, &casts, filter_lists),
            _ => self.any_of::<CapsuleCast>(py, &casts, filter_lists),
        }?;
        Ok((one_column(py, answers.answers), answers.report.into()))
    }

    /// Returns the first `k` hits, or all where `k` is none.
    #[pyo3(signature = (kind, casts, k, filter_lists))]
    fn hits<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        casts: PyReadonlyArray2<'py, f32>,
        k: Option<usize>,
        filter_lists: &Bound<'py, PyDict>,
    ) -> PyResult<ListsOf<'py, PyArray2<u32>>> {
        let lists = match kind {
            "ray" => self.hits_of::<Ray>(py, &casts, k, filter_lists),
            "box" => self.hits_of::<BoxCast>(py, &casts, k, filter_lists),
            "sphere" => self.hits_of::<SphereCast>(py, &casts, k, filter_lists),
            _ => self.hits_of::<CapsuleCast>(py, &casts, k, filter_lists),
        }?;
        Ok((one_column(py, lists.offsets), two_columns(py, lists.answers)?, lists.report.into()))
    }

    fn overlaps<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        shapes: PyReadonlyArray2<'py, f32>,
        filter_lists: &Bound<'py, PyDict>,
    ) -> PyResult<ListsOf<'py, PyArray1<u32>>> {
        let lists = match kind {
            "point" => self.overlaps_of::<[f32; 3]>(py, &shapes, filter_lists),
            "box" => self.overlaps_of::<Aabb>(py, &shapes, filter_lists),
            "sphere" => self.overlaps_of::<Sphere>(py, &shapes, filter_lists),
            "oriented" => self.overlaps_of::<OrientedBox>(py, &shapes, filter_lists),
            _ => self.overlaps_of::<Capsule>(py, &shapes, filter_lists),
        }?;
        Ok((one_column(py, lists.offsets), one_column(py, lists.answers), lists.report.into()))
    }

    /// Returns the boxes that touch convex shapes. The half-spaces of shape `i` are rows
    /// `starts[i]` to `starts[i + 1]`.
    fn overlaps_convex<'py>(
        &self,
        py: Python<'py>,
        half_spaces: PyReadonlyArray2<'py, f32>,
        starts: PyReadonlyArray1<'py, u64>,
        filter_lists: &Bound<'py, PyDict>,
    ) -> PyResult<ListsOf<'py, PyArray1<u32>>> {
        let (filters, starts) = (query_filters(filter_lists)?, list(Some(&starts))?);
        let planes: &[[f32; 4]] = bytemuck::cast_slice(rows(&half_spaces, 4)?);
        let of = |ends: &[u64]| planes.get(ends[0] as usize..ends[1] as usize).map(<[[f32; 4]]>::to_vec);
        let shapes: Option<Vec<_>> = starts.windows(2).map(of).collect();
        let shapes = shapes.ok_or_else(|| PyValueError::new_err("`starts` must ascend within the half-spaces"))?;
        let call = move |tree: &mut AnyTree, _: &[u32]| {
            let queries: Vec<_> = shapes.iter().map(|half_spaces| Convex { half_spaces }).collect();
            tree.overlaps(Batch::new(&queries).with_filters(&filters))
        };
        let lists = self.host.with_queries(py, &[], call)?;
        Ok((one_column(py, lists.offsets), one_column(py, lists.answers), lists.report.into()))
    }

    fn nearest<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f32>,
        k: usize,
        filter_lists: &Bound<'py, PyDict>,
    ) -> PyResult<ListsOf<'py, PyArray2<u32>>> {
        let filters = query_filters(filter_lists)?;
        let call = move |tree: &mut AnyTree, queries: &[NearestQuery]| {
            tree.nearest(Batch::new(queries).with_filters(&filters), k)
        };
        let lists = self.host.with_queries(py, queries(&points)?, call)?;
        Ok((one_column(py, lists.offsets), two_columns(py, lists.answers)?, lists.report.into()))
    }
}

impl Tree {
    fn nearest_of<C: Cast + Pod>(
        &self,
        py: Python<'_>,
        casts: &PyReadonlyArray2<'_, f32>,
        filter_lists: &Bound<'_, PyDict>,
    ) -> PyResult<Answers<Hit>> {
        let filters = query_filters(filter_lists)?;
        self.query(py, casts, move |tree, queries: &[C]| tree.nearest_hits(Batch::new(queries).with_filters(&filters)))
    }

    fn any_of<C: Cast + Pod>(
        &self,
        py: Python<'_>,
        casts: &PyReadonlyArray2<'_, f32>,
        filter_lists: &Bound<'_, PyDict>,
    ) -> PyResult<Answers<bool>> {
        let filters = query_filters(filter_lists)?;
        self.query(py, casts, move |tree, queries: &[C]| tree.any_hits(Batch::new(queries).with_filters(&filters)))
    }

    fn hits_of<C: Cast + Pod>(
        &self,
        py: Python<'_>,
        casts: &PyReadonlyArray2<'_, f32>,
        k: Option<usize>,
        filter_lists: &Bound<'_, PyDict>,
    ) -> PyResult<Lists<Hit>> {
        let filters: QueryFilters = query_filters(filter_lists)?;
        self.query(py, casts, move |tree, queries: &[C]| {
            let batch = Batch::new(queries).with_filters(&filters);
            match k {
                Some(k) => tree.first_hits(batch, k),
                None => tree.all_hits(batch),
            }
        })
    }

    fn overlaps_of<S: Shape + Pod>(
        &self,
        py: Python<'_>,
        shapes: &PyReadonlyArray2<'_, f32>,
        filter_lists: &Bound<'_, PyDict>,
    ) -> PyResult<Lists<u32>> {
        let filters = query_filters(filter_lists)?;
        self.query(py, shapes, move |tree, queries: &[S]| tree.overlaps(Batch::new(queries).with_filters(&filters)))
    }

    fn query<Q: Pod + Send + Sync, T: Send + 'static>(
        &self,
        py: Python<'_>,
        rows: &PyReadonlyArray2<'_, f32>,
        call: impl FnOnce(&mut AnyTree, &[Q]) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        self.host.with_queries(py, queries(rows)?, call)
    }
}
