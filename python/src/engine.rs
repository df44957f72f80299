//! The broad phase on either engine.

use std::sync::atomic::{AtomicBool, Ordering};

use broadsweep::step::{HasFilters as _, StepReport};
use broadsweep::{Aabb, AnyEngine, BroadPhase, CellSize, Engine as _, Options, Pair, PairOrder, Step, SweepAxis, cpu};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{list, one_column, pairs, queries};
use crate::devices::{Device, Place};
use crate::host::Host;
use crate::reports::{self, Report};
use crate::running::{self, PATIENCE};
use crate::stream::Pieces;

/// The broad phase on either engine.
#[pyclass(frozen, module = "broadsweep._native")]
pub struct Engine {
    host: Host<AnyEngine>,
    /// Set if Ctrl-C abandoned a step before its events were returned.
    has_abandoned_step: AtomicBool,
    /// The reason for the CPU engine, if it was not requested.
    #[pyo3(get)]
    reason: Option<String>,
    /// The name and the type of the adapter.
    #[pyo3(get)]
    adapter: Option<(String, &'static str)>,
}

/// The lists of a step that are as long as its pairs.
type WholeLists<'py> = (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<u32>>);

/// The answer of a step.
type StepAnswer<'py> =
    (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<u32>>, Option<WholeLists<'py>>, reports::StepReport);

/// The lists of a step, copied out of the engine.
struct StepLists {
    created: Vec<Pair>,
    lost: Vec<Pair>,
    whole: Option<(Vec<Pair>, Vec<i64>, Vec<Pair>)>,
    report: StepReport,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (device, axis, cell_size, order, all_pairs_up_to, memory_budget, candidate_limit, threads))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of one call in Python")]
    fn new(
        py: Python<'_>,
        device: &str,
        axis: &str,
        cell_size: &Bound<'_, PyAny>,
        order: &str,
        all_pairs_up_to: Option<u32>,
        memory_budget: Option<u64>,
        candidate_limit: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let defaults = Options::default();
        let options = defaults
            .with_axis(axis_named(axis)?)
            .with_cell_size(cell_size_of(cell_size)?)
            .with_order(order_named(order)?)
            .with_all_pairs_up_to(all_pairs_up_to)
            .with_memory_budget(memory_budget)
            .with_candidate_limit(candidate_limit.unwrap_or(defaults.candidate_limit));
        let pool = running::pool(threads)?;
        let device = Device::named(py, device)?;
        let Place { reason, adapter } = device.place();
        let engine = match device {
            Device::Cpu(_) => running::run(py, || cpu::BroadPhase::new(options))?.into(),
            Device::Gpu(gpu) => running::run(py, || pool.install(|| BroadPhase::new(&gpu, options)))?.into(),
        };
        let host = Host::new(engine, adapter.is_some(), threads);
        Ok(Self { host, has_abandoned_step: AtomicBool::new(false), reason, adapter })
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

    fn find_pairs<'py>(
        &self,
        py: Python<'py>,
        boxes: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<(Bound<'py, PyArray2<u32>>, Report)> {
        let found = self.host.with_boxes(py, queries(&boxes)?, |engine, boxes| {
            engine.find_pairs(boxes)?;
            Ok(engine.take_overlaps())
        })?;
        Ok((pairs(py, found.pairs)?, (&found.report).into()))
    }

    fn find_pairs_between<'py>(
        &self,
        py: Python<'py>,
        first: PyReadonlyArray2<'py, f32>,
        second: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<(Bound<'py, PyArray2<u32>>, Report)> {
        let sets = [queries(&first)?, queries(&second)?];
        let found = self.host.with_two_sets(py, sets, |engine, [first, second]| {
            engine.find_pairs_between(first, second)?;
            Ok(engine.take_overlaps())
        })?;
        Ok((pairs(py, found.pairs)?, (&found.report).into()))
    }

    #[pyo3(signature = (boxes, generations, was, moved, changes_only))]
    fn find_events<'py>(
        &self,
        py: Python<'py>,
        boxes: PyReadonlyArray2<'py, f32>,
        generations: Option<PyReadonlyArray1<'py, u32>>,
        was: Option<PyReadonlyArray1<'py, u32>>,
        moved: Option<PyReadonlyArray1<'py, u32>>,
        changes_only: bool,
    ) -> PyResult<StepAnswer<'py>> {
        let own = |array: Option<PyReadonlyArray1<'py, u32>>| array.map(|array| list(Some(&array))).transpose();
        let (generations, was, moved) = (own(generations)?, own(was)?, own(moved)?);
        // The events of an abandoned step were never returned: the next step starts without a last one.
        let begins_anew = self.has_abandoned_step.load(Ordering::Relaxed);
        let call = move |engine: &mut AnyEngine, boxes: &[Aabb]| {
            if begins_anew {
                engine.forget_steps();
            }
            let mut step = Step::new(boxes);
            step = generations.as_deref().map_or(step, |numbers| step.with_generations(numbers));
            step = was.as_deref().map_or(step, |indices| step.rebased(indices));
            step = moved.as_deref().map_or(step, |indices| step.moved(indices));
            step = if changes_only { step.changes_only() } else { step };
            let events = engine.find_events(step)?;
            Ok(StepLists {
                created: events.created.clone(),
                lost: events.lost.clone(),
                whole: (!changes_only).then(|| {
                    let before = events.before.iter().map(|place| place.map_or(-1, |place| place as i64));
                    (events.pairs.clone(), before.collect(), events.persisting.clone())
                }),
                report: events.report.clone(),
            })
        };
        let lists = self.host.with_boxes(py, queries(&boxes)?, call);
        let is_abandoned = match &lists {
            Ok(_) => false,
            // Nothing may have been forgotten yet.
            Err(error) if is_refusal(py, error) => begins_anew,
            Err(_) => true,
        };
        self.has_abandoned_step.store(is_abandoned, Ordering::Relaxed);
        let lists = lists?;
        let whole = match lists.whole {
            None => None,
            Some((all, before, persisting)) => Some((pairs(py, all)?, one_column(py, before), pairs(py, persisting)?)),
        };
        Ok((pairs(py, lists.created)?, pairs(py, lists.lost)?, whole, (&lists.report).into()))
    }

    fn forget_steps(&self, py: Python<'_>) -> PyResult<()> {
        let mut lease = self.host.lease(py)?;
        lease.engine.forget_steps();
        Ok(())
    }

    fn stream(&self, py: Python<'_>, boxes: PyReadonlyArray2<'_, f32>) -> PyResult<Pieces> {
        Pieces::start(py, self.host.leasable(), queries(&boxes)?)
    }

    /// Returns every buffer that a call for this many boxes needs on the GPU, with its size in bytes; nothing for the
    /// CPU engine.
    fn memory_plan(&self, py: Python<'_>, box_count: usize) -> PyResult<Vec<(&'static str, u64)>> {
        let lease = self.host.lease(py)?;
        match &lease.engine {
            AnyEngine::Gpu(engine) => running::run(py, || engine.memory_plan(box_count).map(|plan| plan.buffers())),
            _ => Ok(Vec::new()),
        }
    }

    fn memory_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let lease = self.host.lease(py)?;
        Ok(lease.engine.memory_bytes())
    }

    /// Compiles what a call for this many boxes needs, and tells `progress` how many kernels of how many are compiled.
    #[pyo3(signature = (box_count, progress))]
    fn compile(&self, py: Python<'_>, box_count: usize, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let lease = self.host.lease(py)?;
        let AnyEngine::Gpu(engine) = &lease.engine else { return Ok(()) };
        let compilation = engine.compile_ahead(box_count);
        loop {
            let is_finished = compilation.is_finished();
            if let Some(progress) = progress {
                let now = compilation.progress();
                progress.call1((now.compiled, now.kernels))?;
            }
            if is_finished {
                return running::run(py, || compilation.wait());
            }
            py.detach(|| std::thread::sleep(PATIENCE));
            py.check_signals()?;
        }
    }
}

/// Returns whether an exception is the library's, and not one that a signal raised.
fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<PyRuntimeError>(py)
}

fn axis_named(name: &str) -> PyResult<SweepAxis> {
    Ok(match name {
        "auto" => SweepAxis::Auto,
        "principal" => SweepAxis::Principal,
        "x" => SweepAxis::X,
        "y" => SweepAxis::Y,
        "z" => SweepAxis::Z,
        _ => {
            let text = format!("axis is {name:?}; it must be \"auto\", \"principal\", \"x\", \"y\" or \"z\"");
            return Err(PyValueError::new_err(text));
        }
    })
}

fn order_named(name: &str) -> PyResult<PairOrder> {
    match name {
        "canonical" => Ok(PairOrder::Canonical),
        "sweep" => Ok(PairOrder::Sweep),
        _ => Err(PyValueError::new_err(format!("order is {name:?}; it must be \"canonical\" or \"sweep\""))),
    }
}

fn cell_size_of(value: &Bound<'_, PyAny>) -> PyResult<CellSize> {
    match value.extract::<String>().as_deref() {
        Ok("auto") => Ok(CellSize::Auto),
        Ok("usscd") => Ok(CellSize::Usscd),
        Ok(name) => {
            Err(PyValueError::new_err(format!("cell_size is {name:?}; it must be \"auto\", \"usscd\" or a number")))
        }
        Err(_) => value.extract().map(CellSize::Fixed),
    }
}
