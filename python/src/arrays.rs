//! Boxes and queries from arrays of NumPy, and lists to such, without a copy.

use broadsweep::{Aabb, Error, IdPair, Pair};
use bytemuck::Pod;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::running;

/// Boxes of an array `(n, 6)`, lower and upper corners.
pub enum Boxes<'py> {
    /// Taken as they are.
    Single(PyReadonlyArray2<'py, f32>),
    /// Rounded outward.
    Double(PyReadonlyArray2<'py, f64>),
}

impl<'py> Boxes<'py> {
    /// Takes an array of `float32` or `float64` in C order.
    pub fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(single) = array.extract::<PyReadonlyArray2<'py, f32>>() {
            rows(&single, 6)?;
            Ok(Self::Single(single))
        } else if let Ok(double) = array.extract::<PyReadonlyArray2<'py, f64>>() {
            rows(&double, 6)?;
            Ok(Self::Double(double))
        } else {
            Err(PyTypeError::new_err("boxes must be an array (n, 6) of float32 or float64"))
        }
    }

    /// Returns the boxes where they lie.
    pub fn numbers(&self) -> PyResult<Numbers<'_>> {
        Ok(match self {
            Self::Single(array) => Numbers::Single(bytemuck::cast_slice(rows(array, 6)?)),
            Self::Double(array) => Numbers::Double(bytemuck::cast_slice(rows(array, 6)?)),
        })
    }
}

/// Boxes where they lie, without the lock of the interpreter.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    /// Taken as they are.
    Single(&'a [Aabb]),
    /// Rounded outward.
    Double(&'a [[f64; 6]]),
}

impl Numbers<'_> {
    /// Returns the number of boxes.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(boxes) => boxes.len(),
            Self::Double(boxes) => boxes.len(),
        }
    }

    /// Copies the boxes, rounded outward where they are in double precision, with all threads of the pool that it is called in.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn copy_to(&self, boxes: &mut Vec<Aabb>) -> Result<(), Error> {
        make_room(boxes, self.len(), "the boxes")?;
        boxes.resize(self.len(), Aabb::new([0.0; 3], [0.0; 3]));
        match self {
            Self::Single(from) => each_chunk(boxes, from, <[Aabb]>::copy_from_slice),
            Self::Double(from) => each_chunk(boxes, from, |boxes, from| {
                for (aabb, &[x0, y0, z0, x1, y1, z1]) in boxes.iter_mut().zip(from) {
                    *aabb = Aabb::from_f64([x0, y0, z0], [x1, y1, z1]);
                }
            }),
        }
        Ok(())
    }
}

/// Makes room for `count` elements in all.
fn make_room<T>(list: &mut Vec<T>, count: usize, what: &str) -> Result<(), Error> {
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
    make_room(&mut own, list.len(), what)?;
    own.extend_from_slice(list);
    Ok(own)
}

/// Hands chunks of two lists of one length to `each`, on all threads where there are many.
fn each_chunk<A: Send, B: Sync>(to: &mut [A], from: &[B], each: impl Fn(&mut [A], &[B]) + Sync) {
    const CHUNK: usize = 1 << 14;
    to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK)).for_each(|(to, from)| each(to, from));
}

/// Returns all numbers of an array of this many columns, which lies in C order: other orders would be read as other rows.
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
    // What was kept for longer lists would stay with the array.
    if list.capacity() > 2 * list.len() + 1024 {
        list.shrink_to_fit();
    }
    let rows = list.len();
    let words: Vec<[u32; 2]> = bytemuck::allocation::cast_vec(list);
    words.into_flattened().into_pyarray(py).reshape([rows, 2])
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
