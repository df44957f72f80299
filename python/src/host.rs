//! An engine or a tree and its calls, with boxes or queries from arrays, in its own pool of threads. Every call,
//! however small, runs in that pool: a call outside would start rayon's global pool, which does not survive a fork.

use std::mem::take;

use broadsweep::filter::Attribute;
use broadsweep::{Aabb, Error, Filters};
use bytemuck::Pod;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{copy, copy_boxes};
use crate::filters::{Change, filters};
use crate::lease::{Leasable, Lease};
use crate::running::{self, SHORT};

/// An engine or a tree that is called from Python.
pub struct Host<E> {
    leasable: Leasable<Working<E>>,
    /// The requested thread count.
    threads: Option<usize>,
}

/// The state that a call leases.
pub struct Working<E> {
    /// The engine.
    pub engine: E,
    /// Memory for copies of boxes.
    copies: [Vec<Aabb>; 2],
}

impl<E: Send + 'static> Host<E> {
    /// Wraps an engine, which is called in a pool of this many threads.
    pub fn new(engine: E, is_on_gpu: bool, threads: Option<usize>) -> Self {
        Self { leasable: Leasable::new(Working { engine, copies: Default::default() }, is_on_gpu), threads }
    }

    /// Leases the engine to a call.
    pub fn lease(&self, py: Python<'_>) -> PyResult<Lease<Working<E>>> {
        self.leasable.lease(py)
    }

    /// Returns the leasable engine.
    pub fn leasable(&self) -> &Leasable<Working<E>> {
        &self.leasable
    }

    /// Counts the threads of the pool.
    pub fn thread_count(&self) -> PyResult<usize> {
        Ok(running::pool(self.threads)?.current_num_threads())
    }

    /// Calls the engine with the filters of these lists.
    pub fn with_filters(
        &self,
        py: Python<'_>,
        lists: &Bound<'_, PyDict>,
        call: impl FnOnce(&mut E, Filters) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let filters = filters(lists)?;
        let mut lease = self.lease(py)?;
        running::run(py, || call(&mut lease.engine, filters))
    }

    /// Calls the engine with new values of the list of this name.
    pub fn with_change(
        &self,
        py: Python<'_>,
        (name, values): (&str, &Bound<'_, PyAny>),
        call: impl FnOnce(&mut E, Attribute<'_>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let change = Change::of(values)?;
        let attribute = change.attribute(name)?;
        let mut lease = self.lease(py)?;
        running::run(py, || call(&mut lease.engine, attribute))
    }

    /// Calls the engine with boxes: in place if there are few, otherwise with a copy, so that Ctrl-C can abandon the
    /// call.
    pub fn with_boxes<T: Send + 'static>(
        &self,
        py: Python<'_>,
        boxes: &[Aabb],
        call: impl FnOnce(&mut E, &[Aabb]) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (mut lease, pool) = (self.leasable.lease(py)?, running::pool(self.threads)?);
        if boxes.len() <= SHORT {
            return running::run(py, || pool.install(|| call(&mut lease.engine, boxes)));
        }
        let mut own = take(&mut lease.copies[0]);
        running::run(py, || pool.install(|| copy_boxes(boxes, &mut own)))?;
        running::run_apart(py, move || {
            let result = pool.install(|| call(&mut lease.engine, &own));
            lease.copies[0] = own;
            result
        })
    }

    /// Calls the engine with two sets of boxes, as [`Host::with_boxes`] with one.
    pub fn with_two_sets<T: Send + 'static>(
        &self,
        py: Python<'_>,
        sets: [&[Aabb]; 2],
        call: impl FnOnce(&mut E, [&[Aabb]; 2]) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (mut lease, pool) = (self.leasable.lease(py)?, running::pool(self.threads)?);
        if sets[0].len().saturating_add(sets[1].len()) <= SHORT {
            return running::run(py, || pool.install(|| call(&mut lease.engine, sets)));
        }
        let mut own = take(&mut lease.copies);
        running::run(py, || {
            pool.install(|| sets.iter().zip(&mut own).try_for_each(|(set, own)| copy_boxes(set, own)))
        })?;
        running::run_apart(py, move || {
            let result = pool.install(|| call(&mut lease.engine, [&own[0], &own[1]]));
            lease.copies = own;
            result
        })
    }

    /// Calls the engine with queries.
    pub fn with_queries<Q: Pod + Send + Sync, T: Send + 'static>(
        &self,
        py: Python<'_>,
        queries: &[Q],
        call: impl FnOnce(&mut E, &[Q]) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (mut lease, pool) = (self.leasable.lease(py)?, running::pool(self.threads)?);
        if queries.len() <= SHORT {
            return running::run(py, || pool.install(|| call(&mut lease.engine, queries)));
        }
        let own = running::run(py, || copy(queries, "the queries"))?;
        running::run_apart(py, move || pool.install(|| call(&mut lease.engine, &own)))
    }
}
