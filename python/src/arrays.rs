//! Boxes and queries from arrays of NumPy, and lists to such, without a copy.

use broadsweep::filter::sphere_from_f64;
use broadsweep::{Aabb, Error, IdPair, Pair};
use bytemuck::Pod;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::running;

/// Rounded boxes `(n, 6)`, the sum of the growth of their edges, and the sum of their edges, by axis.
type Rounded<'py> = (Bound<'py, PyArray2<f32>>, [f64; 3], [f64; 3]);

/// Rounds boxes `(n, 6)` outward to single precision. Returns them with two sums per axis: the growth of the
/// edges by rounding, and the edges. Boxes that are invalid, or not finite in single precision, are not in the sums.
#[pyfunction]
pub fn round_outward<'py>(
    py: Python<'py>,
    boxes: PyReadonlyArray2<'py, f64>,
    threads: Option<usize>,
) -> PyResult<Rounded<'py>> {
    let boxes: &[[f64; 6]] = bytemuck::cast_slice(rows(&boxes, 6)?);
    let pool = running::pool(threads)?;
    let (rounded, sums) = running::run(py, || {
        let mut rounded = Vec::new();
        resize(&mut rounded, boxes.len())?;
        let chunks = rounded.par_chunks_mut(CHUNK).zip(boxes.par_chunks(CHUNK));
        // In the order of the boxes, so that the sums are the same in each call.
        let sums: Vec<_> = pool.install(|| chunks.map(|(to, from)| round_chunk(to, from)).collect());
        Ok((rounded, sums))
    })?;
    let sum = |part: usize| std::array::from_fn(|k| sums.iter().map(|sums| sums[part][k]).sum());
    let count = rounded.len();
    let numbers: Vec<[f32; 6]> = bytemuck::allocation::cast_vec(rounded);
    Ok((numbers.into_flattened().into_pyarray(py).reshape([count, 6])?, sum(0), sum(1)))
}

/// Rounds some boxes outward, and returns the sums of the growth of their edges, and of the edges, by axis.
fn round_chunk(to: &mut [Aabb], from: &[[f64; 6]]) -> [[f64; 3]; 2] {
    let mut sums = [[0.0; 3]; 2];
    for (aabb, &[x0, y0, z0, x1, y1, z1]) in to.iter_mut().zip(from) {
        *aabb = Aabb::from_f64([x0, y0, z0], [x1, y1, z1]);
        let edges = [x1 - x0, y1 - y0, z1 - z0];
        let rounded: [f64; 3] = std::array::from_fn(|k| f64::from(aabb.max[k]) - f64::from(aabb.min[k]));
        if aabb.is_valid() && rounded.iter().all(|edge| edge.is_finite()) {
            for k in 0..3 {
                sums[0][k] += rounded[k] - edges[k];
                sums[1][k] += edges[k];
            }
        }
    }
    sums
}

/// Rounds spheres `(n, 4)` outward to single precision.
#[pyfunction]
pub fn round_spheres<'py>(
    py: Python<'py>,
    spheres: PyReadonlyArray2<'py, f64>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let spheres: &[[f64; 4]] = bytemuck::cast_slice(rows(&spheres, 4)?);
    let pool = running::pool(threads)?;
    let rounded = running::run(py, || {
        let mut rounded = Vec::new();
        reserve(&mut rounded, spheres.len(), "the spheres")?;
        let each = spheres.par_iter().map(|&[x, y, z, radius]| sphere_from_f64([x, y, z], radius));
        pool.install(|| each.collect_into_vec(&mut rounded));
        Ok(rounded)
    })?;
    rounded.into_flattened().into_pyarray(py).reshape([spheres.len(), 4])
}

/// The boxes that one thread copies or rounds at a time.
const CHUNK: usize = 1 << 14;

/// Resizes a list to this many boxes, with any contents.
///
/// # Errors
/// [`Error::OutOfMemory`].
fn resize(boxes: &mut Vec<Aabb>, count: usize) -> Result<(), Error> {
    reserve(boxes, count, "the boxes")?;
    boxes.resize(count, Aabb::new([0.0; 3], [0.0; 3]));
    Ok(())
}

/// Copies boxes with all threads of the pool that it is called in.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn copy_boxes(from: &[Aabb], to: &mut Vec<Aabb>) -> Result<(), Error> {
    resize(to, from.len())?;
    to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK)).for_each(|(to, from)| to.copy_from_slice(from));
    Ok(())
}

/// Reserves capacity for `count` elements in all.
fn reserve<T>(list: &mut Vec<T>, count: usize, what: &str) -> Result<(), Error> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    let more = count.saturating_sub(list.len());
    list.try_reserve(more).map_err(|_| Error::OutOfMemory { buffer: format!("{what} on the host"), bytes })
}

/// Copies a list.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn copy<T: Copy>(list: &[T], what: &str) -> Result<Vec<T>, Error> {
    let mut own = Vec::new();
    reserve(&mut own, list.len(), what)?;
    own.extend_from_slice(list);
    Ok(own)
}

/// Returns all numbers of an array of this many columns in C order. In another order, the numbers would be read as
/// other rows.
pub fn rows<'a, T: Element>(array: &'a PyReadonlyArray2<'_, T>, columns: usize) -> PyResult<&'a [T]> {
    if array.shape()[1] != columns {
        return Err(PyValueError::new_err(format!("the array must have {columns} columns, not {}", array.shape()[1])));
    }
    // `as_slice` takes Fortran's order too.
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("the array must lie in C order"));
    }
    array.as_slice().map_err(|_| PyValueError::new_err("the array must lie in C order"))
}

/// Returns queries, each of which is a row.
pub fn queries<'a, Q: Pod>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<&'a [Q]> {
    rows(array, size_of::<Q>() / size_of::<f32>()).map(bytemuck::cast_slice)
}

/// Copies a list of the caller's; an absent one is empty.
pub fn list<T: Element + Copy>(array: Option<&PyReadonlyArray1<'_, T>>) -> PyResult<Vec<T>> {
    let not_contiguous = |_| PyValueError::new_err("the list must be contiguous");
    array.map_or(Ok(Vec::new()), |array| array.as_slice().map(<[T]>::to_vec).map_err(not_contiguous))
}

/// Gives pairs to Python as `(m, 2)`, without a copy.
pub fn pairs(py: Python<'_>, pairs: Vec<Pair>) -> PyResult<Bound<'_, PyArray2<u32>>> {
    two_columns(py, pairs)
}

/// Gives a list whose elements are two words of 32 bits to Python as `(m, 2)`, without a copy.
pub fn two_columns<T: Pod>(py: Python<'_>, mut list: Vec<T>) -> PyResult<Bound<'_, PyArray2<u32>>> {
    // Otherwise the array would hold memory reserved for longer lists.
    if list.capacity() > 2 * list.len() + 1024 {
        list.shrink_to_fit();
    }
    let rows = list.len();
    let words: Vec<[u32; 2]> = bytemuck::allocation::cast_vec(list);
    words.into_flattened().into_pyarray(py).reshape([rows, 2])
}

/// Gives a list of rows to Python as `(m, 3)`, without a copy.
pub fn three_columns<T: Element>(py: Python<'_>, list: Vec<[T; 3]>) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = list.len();
    list.into_flattened().into_pyarray(py).reshape([rows, 3])
}

/// Gives a list to Python, without a copy.
pub fn one_column<T: Element>(py: Python<'_>, list: Vec<T>) -> Bound<'_, PyArray1<T>> {
    list.into_pyarray(py)
}

/// Names pairs by the ids of their boxes: `(m, 2)`, the smaller id first.
#[pyfunction]
pub fn id_pairs<'py>(
    py: Python<'py>,
    pairs: PyReadonlyArray2<'py, u32>,
    ids: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let pairs: &[Pair] = bytemuck::cast_slice(rows(&pairs, 2)?);
    let ids = ids.as_slice().map_err(|_| PyValueError::new_err("the ids must be contiguous"))?;
    let pool = running::pool(None)?;
    let named = running::run(py, || {
        let mut named = Vec::new();
        pool.install(|| IdPair::append(pairs, ids, &mut named)).map(|()| named)
    })?;
    let rows = named.len();
    let words: Vec<[u64; 2]> = bytemuck::allocation::cast_vec(named);
    words.into_flattened().into_pyarray(py).reshape([rows, 2])
}
