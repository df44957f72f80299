//! Boxes of an array: all of them, or frame by frame.

use std::io::{self, Read};
use std::ops::ControlFlow;

use broadsweep::Aabb;

use super::header::describe_shape;
use super::number::{Dtype, private};
use super::{Array, Error, MOST_BOXES, Result};

const EMPTY: Aabb = Aabb::new([0.0; 3], [0.0; 3]);

impl<R: Read> Array<R> {
    /// Reads boxes, as [`read_boxes`](super::read_boxes) describes them, up to a count of `most`.
    ///
    /// # Errors
    /// If the array is no array of boxes, or is longer or shorter than its header says.
    pub fn read_boxes(self, most: u64) -> Result<Vec<Aabb>> {
        let dtype = self.dtype_of_boxes()?;
        let header = self.header();
        let (rows, axes, is_nested) = match header.shape[..] {
            [rows, width @ (4 | 6)] => (rows, width as usize / 2, false),
            [rows, 2, axes @ (2 | 3)] => (rows, axes as usize, true),
            _ => return Err(Error::Shape(describe_shape(&header.shape))),
        };
        let (is_fortran, width) = (header.is_fortran, 2 * axes);
        // Before any of them is read.
        if rows > most {
            return Err(Error::TooManyBoxes { rows, most });
        }
        let numbers = rows.checked_mul(width as u64).ok_or(Error::LongShape)?;
        let count = usize::try_from(rows).map_err(|_| Error::LongShape)?;
        let mut boxes = Vec::new();
        if self.is_long(numbers.checked_mul(dtype.size as u64).ok_or(Error::LongShape)?)? {
            reserve(&mut boxes, count)?;
        }
        let (mut row, mut column) = (0, 0);
        self.each(dtype.size, numbers, |bytes| {
            if row == boxes.len() {
                push_empty(&mut boxes, count)?;
            }
            // Where nested boxes are in Fortran order, the corner changes faster than the axis.
            let bound = if is_nested && is_fortran { column % 2 * axes + column / 2 } else { column };
            set_bound(&mut boxes[row], axes, bound, dtype.rounded(bytes)?);
            let (fast, fast_count, slow) =
                if is_fortran { (&mut row, count, &mut column) } else { (&mut column, width, &mut row) };
            *fast += 1;
            if *fast == fast_count {
                *fast = 0;
                *slow += 1;
            }
            Ok(())
        })?;
        Ok(boxes)
    }

    fn dtype_of_boxes(&self) -> Result<Dtype> {
        self.dtype_that(
            <f64 as private::Number>::takes,
            "boxes are floats or integers: convert it with .astype(np.float64)",
        )
    }
}

/// Reads frames of equal box counts. Calls `each` for every frame, with the count of all frames, until it breaks off.
/// One frame is held in memory.
///
/// The array is `(f, n, 6)` or `(f, n, 2, 3)`, in 2D `(f, n, 4)` or `(f, n, 2, 2)`, in C order; the numbers are those
/// that [`read_boxes`](super::read_boxes) reads. `length` is the number of bytes of the source, if that is known.
///
/// # Errors
/// As [`read_boxes`](super::read_boxes); and those of `each`, which end the reading.
pub fn read_frames<E: From<Error>>(
    source: impl Read,
    length: Option<u64>,
    mut each: impl FnMut(u64, &[Aabb]) -> std::result::Result<ControlFlow<()>, E>,
) -> std::result::Result<(), E> {
    let array = Array::open(source, length)?;
    let dtype = array.dtype_of_boxes()?;
    let header = array.header();
    let (frames, rows, axes) = match header.shape[..] {
        // Frames without boxes would be as many as are claimed.
        [frames, rows, width @ (4 | 6)] if rows > 0 => (frames, rows, width as usize / 2),
        [frames, rows, 2, axes @ (2 | 3)] if rows > 0 => (frames, rows, axes as usize),
        _ => return Err(Error::FrameShape(describe_shape(&header.shape)).into()),
    };
    if header.is_fortran {
        return Err(Error::FrameOrder.into());
    }
    if rows > MOST_BOXES {
        return Err(Error::TooManyBoxes { rows, most: MOST_BOXES }.into());
    }
    let count = frames.checked_mul(rows * 2 * axes as u64).ok_or(Error::LongShape)?;
    let (mut boxes, mut bound) = (Vec::new(), 0);
    let mut ended = None;
    let read = array.each(dtype.size, count, |bytes| {
        if bound == 0 {
            push_empty(&mut boxes, rows as usize)?;
        }
        let row = boxes.len() - 1;
        set_bound(&mut boxes[row], axes, bound, dtype.rounded(bytes)?);
        bound = (bound + 1) % (2 * axes);
        if bound > 0 || (boxes.len() as u64) < rows {
            return Ok(());
        }
        let end = match each(frames, &boxes) {
            Ok(ControlFlow::Continue(())) => {
                boxes.clear();
                return Ok(());
            }
            Ok(ControlFlow::Break(())) => Ok(()),
            Err(error) => Err(error),
        };
        ended = Some(end);
        Err(Error::Io(io::ErrorKind::Interrupted.into()))
    });
    ended.unwrap_or_else(|| Ok(read?))
}

/// Sets a bound of a box from a number that is rounded down and up: first the bounds of the lower corner, then those of
/// the upper one.
fn set_bound(aabb: &mut Aabb, axes: usize, bound: usize, [down, up]: [f32; 2]) {
    match bound.checked_sub(axes) {
        None => aabb.min[bound] = down,
        Some(axis) => aabb.max[axis] = up,
    }
}

/// Appends a box. The list grows by the count of boxes that were read, not by the claimed one, up to `count`.
fn push_empty(boxes: &mut Vec<Aabb>, count: usize) -> Result<()> {
    if boxes.len() == boxes.capacity() {
        reserve(boxes, boxes.len().max(1 << 12).min(count))?;
    }
    boxes.push(EMPTY);
    Ok(())
}

fn reserve(boxes: &mut Vec<Aabb>, count: usize) -> Result<()> {
    boxes.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { count })
}
