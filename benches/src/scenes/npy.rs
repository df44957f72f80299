//! Arrays in NumPy's `.npy` format, versions 1.0 to 3.0: boxes in and out, pairs out, and other numbers in.
//!
//! ```
//! use laboratory::scenes::{Kind, npy};
//!
//! let boxes = Kind::Uniform.generate(100, 1);
//! let mut bytes = Vec::new();
//! npy::write_boxes(&mut bytes, &boxes)?;
//! assert_eq!(npy::read_boxes_from(&bytes[..], Some(bytes.len() as u64))?, boxes);
//! # Ok::<(), npy::Error>(())
//! ```
//!
//! A file may be broken or made to harm: nothing is allocated from a claim of the header before the file
//! is known to be that long, and a pickle is never looked into.
//!
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

mod array;
mod header;

pub use array::{Array, Number};

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use broadsweep::{Aabb, Pair};
use header::describe_shape;

/// The longest header that is read, in bytes. NumPy writes 118 for a plain array; only records need more.
const LONGEST_HEADER: u32 = 65_535;

/// The reason why a file could not be read, with its name.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {error}", path.display())]
pub struct FileError {
    /// The file, as it was asked for.
    pub path: PathBuf,
    /// The error in the file. The message contains it already, so it is no `source`.
    pub error: Error,
}

/// The reason why bytes are not the array that was asked for. Each message speaks of the file as "it".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system could not read it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A directory has no bytes.
    #[error("it is a directory")]
    Directory,
    /// The first bytes are others.
    #[error("it is not a .npy file: those begin with the byte 93 (hexadecimal) and NUMPY")]
    NotNpy,
    /// A version of the format that nobody knew when this was written.
    #[error("version {major}.{minor} of .npy is unknown; 1.0, 2.0 and 3.0 are not")]
    UnknownVersion {
        /// Its first byte.
        major: u8,
        /// Its second byte.
        minor: u8,
    },
    /// The header claims more bytes than an array of numbers has a use for.
    #[error("its header claims {claimed} bytes, and that of an array of numbers needs less than {LONGEST_HEADER}")]
    LongHeader {
        /// Bytes claimed.
        claimed: u32,
    },
    /// The file ends within the header.
    #[error("it ends within its .npy header")]
    ShortHeader,
    /// The header is not the literal that the format asks for: where, and what was expected.
    #[error("its .npy header {0}")]
    Header(String),
    /// Pickled Python objects run code where they are read, and are refused.
    #[error("it holds pickled Python objects, which are not read")]
    Pickled,
    /// A structured array.
    #[error("it holds records, and plain numbers are needed")]
    Records,
    /// Numbers of another type.
    #[error("its dtype is {found}; {needed}")]
    Dtype {
        /// As the header has it, in quotes.
        found: String,
        /// What would do.
        needed: &'static str,
    },
    /// An array of another shape.
    #[error("its shape is {0}; boxes are (n, 6) or (n, 2, 3)")]
    Shape(String),
    /// An array of another shape, where frames are needed.
    #[error("its shape is {0}; frames of boxes are (f, n, 6) or (f, n, 2, 3), with at least one box each")]
    FrameShape(String),
    /// Frames that are not one after the other.
    #[error("it is in Fortran order, in which no frame comes before another; np.ascontiguousarray mends that")]
    FrameOrder,
    /// A size that no array can have.
    #[error("its shape claims a size that does not fit 64 bits")]
    LongShape,
    /// More boxes than any engine takes.
    #[error("it claims {rows} boxes, and one call takes at most {}", broadsweep::internals::constants::MAX_ENTRIES)]
    TooManyBoxes {
        /// Boxes claimed.
        rows: u64,
    },
    /// There are fewer bytes than the header says.
    #[error("it is truncated: {0}")]
    Truncated(String),
    /// There are more bytes than the header says.
    #[error("{0} bytes follow the array")]
    TrailingBytes(String),
    /// The system has no memory for this many boxes.
    #[error("{count} boxes need {} bytes of memory, which could not be had", *count as u64 * 24)]
    OutOfMemory {
        /// Boxes asked for.
        count: usize,
    },
    /// The system has no memory for this many numbers.
    #[error("{bytes} bytes of memory could not be had")]
    NoMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

type Result<T> = std::result::Result<T, Error>;

/// Reads boxes from a file.
///
/// The array is `(n, 6)` or `(n, 2, 3)`: minimum corners before maximum corners. It holds `f4` or `f8`, in
/// either byte order and either of C and Fortran order; `f8` is rounded outward. Invalid boxes are read as they are.
///
/// # Errors
/// If the file cannot be read, is not such an array, or is longer or shorter than its header says.
pub fn read_boxes(path: impl AsRef<Path>) -> std::result::Result<Vec<Aabb>, FileError> {
    let path = path.as_ref();
    let read = || {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(Error::Directory);
        }
        // Pipes and devices have no length.
        read_boxes_from(file, metadata.is_file().then_some(metadata.len()))
    };
    read().map_err(|error| FileError { path: path.to_owned(), error })
}

/// Reads boxes from `source`, as [`read_boxes`] reads them from a file. The source is read to its end, through a
/// buffer.
///
/// `length` is the number of bytes of the source, if that is known: then a truncated array is refused at once, and
/// memory is allocated once. A `source` of another length than `length` says is refused.
///
/// # Errors
/// As [`read_boxes`].
pub fn read_boxes_from(source: impl Read, length: Option<u64>) -> Result<Vec<Aabb>> {
    let array = Array::open(source, length)?;
    let header = array.header();
    let (is_double, is_big) = numbers_of_boxes(header)?;
    let (rows, is_nested) = match header.shape[..] {
        [rows, 6] => (rows, false),
        [rows, 2, 3] => (rows, true),
        _ => return Err(Error::Shape(describe_shape(&header.shape))),
    };
    let is_fortran = header.is_fortran;
    // Before any of them is read: no engine takes more.
    if rows > u64::from(broadsweep::internals::constants::MAX_ENTRIES) {
        return Err(Error::TooManyBoxes { rows });
    }
    let count = rows as usize;
    let size = if is_double { 8 } else { 4 };
    let mut boxes = Vec::new();
    if array.is_long(rows * 6 * size as u64)? {
        reserve(&mut boxes, count)?;
    }
    let (mut row, mut column) = (0, 0usize);
    array.each(size, rows * 6, |bytes| {
        if row == boxes.len() {
            if row == boxes.capacity() {
                // A stream of unknown length: grow by what has come, not by what is claimed.
                reserve(&mut boxes, row.max(1 << 12).min(count))?;
            }
            boxes.push(Aabb::new([0.0; 3], [0.0; 3]));
        }
        // Where nested boxes are in Fortran order, the corner changes faster than the axis.
        let bound = if is_nested && is_fortran { column % 2 * 3 + column / 2 } else { column };
        let [down, up] = if is_double { decode_double(bytes, is_big) } else { [decode_single(bytes, is_big); 2] };
        match bound.checked_sub(3) {
            None => boxes[row].min[bound] = down,
            Some(k) => boxes[row].max[k] = up,
        }
        let (fast, fast_count, slow) =
            if is_fortran { (&mut row, count, &mut column) } else { (&mut column, 6, &mut row) };
        *fast += 1;
        if *fast == fast_count {
            *fast = 0;
            *slow += 1;
        }
        Ok(())
    })?;
    Ok(boxes)
}

/// Reads frames of as many boxes each, and hands over one after the other, with the number of all, until `each` breaks off. One of
/// them is held in memory.
///
/// The array is `(f, n, 6)` or `(f, n, 2, 3)` in C order; the numbers are those that [`read_boxes`] reads. `length` is the number
/// of bytes of the source, if that is known.
///
/// # Errors
/// As [`read_boxes`]; and those of `each`, which end the reading.
pub fn read_frames<E: From<Error>>(
    source: impl Read,
    length: Option<u64>,
    mut each: impl FnMut(u64, &[Aabb]) -> std::result::Result<ControlFlow<()>, E>,
) -> std::result::Result<(), E> {
    let array = Array::open(source, length)?;
    let header = array.header();
    let (is_double, is_big) = numbers_of_boxes(header)?;
    let (frames, rows) = match header.shape[..] {
        // Frames without boxes would be as many as are claimed.
        [frames, rows, 6] | [frames, rows, 2, 3] if rows > 0 => (frames, rows),
        _ => return Err(Error::FrameShape(describe_shape(&header.shape)).into()),
    };
    if header.is_fortran {
        return Err(Error::FrameOrder.into());
    }
    if rows > u64::from(broadsweep::internals::constants::MAX_ENTRIES) {
        return Err(Error::TooManyBoxes { rows }.into());
    }
    let size = if is_double { 8 } else { 4 };
    let count = frames.checked_mul(rows * 6).ok_or(Error::LongShape)?;
    let (mut boxes, mut bounds, mut length) = (Vec::new(), [0.0; 6], 0);
    let mut ended = None;
    let read = array.each(size, count, |bytes| {
        let [down, up] = if is_double { decode_double(bytes, is_big) } else { [decode_single(bytes, is_big); 2] };
        bounds[length] = if length < 3 { down } else { up };
        length += 1;
        if length < 6 {
            return Ok(());
        }
        length = 0;
        if boxes.len() == boxes.capacity() {
            // By what has come, not by what is claimed.
            let more = boxes.len().max(1 << 12).min(rows as usize);
            reserve(&mut boxes, more)?;
        }
        let [a, b, c, d, e, f] = bounds;
        boxes.push(Aabb::new([a, b, c], [d, e, f]));
        if boxes.len() as u64 == rows {
            let end = match each(frames, &boxes) {
                Ok(ControlFlow::Continue(())) => {
                    boxes.clear();
                    return Ok(());
                }
                Ok(ControlFlow::Break(())) => Ok(()),
                Err(error) => Err(error),
            };
            ended = Some(end);
            return Err(Error::Io(io::ErrorKind::Interrupted.into()));
        }
        Ok(())
    });
    ended.unwrap_or_else(|| Ok(read?))
}

/// Returns whether boxes are doubles, and whether the first byte of a number is its largest.
fn numbers_of_boxes(header: &header::Header) -> Result<(bool, bool)> {
    match header.number() {
        Some(("f4", is_big)) => Ok((false, is_big)),
        Some(("f8", is_big)) => Ok((true, is_big)),
        _ => Err(Error::Dtype { found: header.describe_dtype(), needed: "boxes are 'f4' or 'f8'" }),
    }
}

fn decode_single(bytes: &[u8], is_big: bool) -> f32 {
    let bytes = [0, 1, 2, 3].map(|i| bytes[i]);
    if is_big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) }
}

/// Decodes a number, rounded down and up.
fn decode_double(bytes: &[u8], is_big: bool) -> [f32; 2] {
    let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[i]);
    let value = if is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) };
    let aabb = Aabb::from_f64([value; 3], [value; 3]);
    [aabb.min[0], aabb.max[0]]
}

fn reserve(boxes: &mut Vec<Aabb>, count: usize) -> Result<()> {
    boxes.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { count })
}

/// Writes boxes as an `(n, 6)` array of little-endian `f4` in C order, bit for bit. `to` should have a buffer.
///
/// # Errors
/// Those of `to`.
pub fn write_boxes(mut to: impl Write, boxes: &[Aabb]) -> io::Result<()> {
    let to = &mut to;
    write_header(to, "<f4", &[boxes.len() as u64, 6])?;
    for aabb in boxes {
        for bound in aabb.min.into_iter().chain(aabb.max) {
            to.write_all(&bound.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Writes the header of `count` pairs as an `(m, 2)` array of little-endian `u4` in C order; [`write_pairs`] follows.
///
/// # Errors
/// Those of `to`.
pub fn write_pairs_header(mut to: impl Write, count: u64) -> io::Result<()> {
    write_header(&mut to, "<u4", &[count, 2])
}

/// Writes the array of pairs itself, or the next part of it.
///
/// # Errors
/// Those of `to`.
pub fn write_pairs(mut to: impl Write, pairs: &[Pair]) -> io::Result<()> {
    let mut bytes = [0; 1 << 13];
    for part in pairs.chunks(bytes.len() / 8) {
        for (bytes, pair) in bytes.chunks_exact_mut(8).zip(part) {
            bytes[..4].copy_from_slice(&pair.a.to_le_bytes());
            bytes[4..].copy_from_slice(&pair.b.to_le_bytes());
        }
        to.write_all(&bytes[..part.len() * 8])?;
    }
    Ok(())
}

/// Writes numbers as a little-endian array of this shape, in C order.
///
/// # Errors
/// Those of `to`.
pub fn write_array<T: Written>(mut to: impl Write, shape: &[u64], numbers: &[T]) -> io::Result<()> {
    write_header(&mut to, T::DTYPE, shape)?;
    let mut bytes = Vec::new();
    for part in numbers.chunks(1 << 12) {
        bytes.clear();
        part.iter().for_each(|number| number.push(&mut bytes));
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// A number that [`write_array`] writes.
pub trait Written {
    /// Its dtype.
    const DTYPE: &str;
    /// Appends its bytes.
    fn push(&self, bytes: &mut Vec<u8>);
}

macro_rules! written {
    ($($number:ty: $dtype:literal),*) => {
        $(impl Written for $number {
            const DTYPE: &str = $dtype;

            fn push(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        })*
    };
}
written!(u32: "<u4", u64: "<u8", f32: "<f4");

impl Written for bool {
    const DTYPE: &str = "|b1";

    fn push(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }
}

fn write_header(to: &mut impl Write, dtype: &str, shape: &[u64]) -> io::Result<()> {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = format!("({}{comma})", lengths.join(", "));
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    // The data begins at a multiple of 64 bytes, after a line feed. The longest text has 90 characters.
    while !(10 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    to.write_all(b"\x93NUMPY\x01\x00")?;
    to.write_all(&(text.len() as u16).to_le_bytes())?;
    to.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;

    /// Reads frames into a list of them.
    fn frames(bytes: &[u8]) -> Result<Vec<Vec<Aabb>>> {
        let mut frames = Vec::new();
        read_frames(bytes, Some(bytes.len() as u64), |count, boxes| {
            assert_eq!(count, 3);
            frames.push(boxes.to_vec());
            Ok(ControlFlow::Continue(()))
        })
        .map(|()| frames)
    }

    #[test]
    fn frames_come_one_after_the_other() {
        let boxes = Kind::Brownian.generate(15, 1);
        let numbers: Vec<f32> = boxes.iter().flat_map(|aabb| aabb.min.into_iter().chain(aabb.max)).collect();
        for shape in [&[3, 5, 6][..], &[3, 5, 2, 3]] {
            let mut bytes = Vec::new();
            write_array(&mut bytes, shape, &numbers).unwrap();
            assert_eq!(frames(&bytes).unwrap().concat(), boxes);
            bytes.pop();
            assert!(matches!(frames(&bytes), Err(Error::Truncated(_))));
        }
        for shape in [&[15, 6][..], &[3, 0, 6], &[3, 5, 3, 2], &[90]] {
            let mut bytes = Vec::new();
            write_array(&mut bytes, shape, &numbers).unwrap();
            assert!(matches!(frames(&bytes), Err(Error::FrameShape(_))), "{shape:?}");
        }
        let mut bytes = Vec::new();
        write_array(&mut bytes, &[3, 5, 6], &numbers).unwrap();
        let stopped: Result<()> = read_frames(&bytes[..], None, |_, _| Err(Error::LongShape));
        assert!(matches!(stopped, Err(Error::LongShape)));
        let mut count = 0;
        let ended: Result<()> = read_frames(&bytes[..], None, |_, _| {
            count += 1;
            Ok(if count < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        assert!(ended.is_ok() && count == 2);
    }

    #[test]
    fn what_is_written_is_read_back_bit_for_bit() {
        for kind in [Kind::Invalid, Kind::Denormal, Kind::Infinite] {
            let boxes = kind.generate(5000, 1);
            let mut bytes = Vec::new();
            write_boxes(&mut bytes, &boxes).unwrap();
            for length in [None, Some(bytes.len() as u64)] {
                let read = read_boxes_from(&bytes[..], length).unwrap();
                assert_eq!(bytemuck::cast_slice::<_, u32>(&read), bytemuck::cast_slice::<_, u32>(&boxes), "{kind}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_anywhere_is_refused() {
        let mut bytes = Vec::new();
        write_boxes(&mut bytes, &Kind::Uniform.generate(3, 1)).unwrap();
        for end in 0..bytes.len() {
            for length in [None, Some(end as u64)] {
                assert!(read_boxes_from(&bytes[..end], length).is_err(), "{end}");
            }
        }
        bytes.push(0);
        for length in [None, Some(bytes.len() as u64)] {
            let error = read_boxes_from(&bytes[..], length).unwrap_err();
            assert!(matches!(error, Error::TrailingBytes(_)), "{error}");
        }
    }

    #[test]
    fn a_length_that_is_not_that_of_the_source_is_refused() {
        let mut bytes = Vec::new();
        write_boxes(&mut bytes, &Kind::Uniform.generate(3, 1)).unwrap();
        for length in [0, 9, 127, 128, bytes.len() - 1, bytes.len() + 1] {
            assert!(read_boxes_from(&bytes[..], Some(length as u64)).is_err(), "{length}");
        }
    }

    #[test]
    fn the_message_names_the_file_once() {
        let error = read_boxes("nowhere.npy").unwrap_err();
        assert!(error.to_string().starts_with("cannot read nowhere.npy: "), "{error}");
        assert!(std::error::Error::source(&error).is_none());
    }
}
