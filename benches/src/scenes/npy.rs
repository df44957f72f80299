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
mod boxes;
mod header;
mod number;

pub use array::Array;
pub use boxes::read_frames;
pub use header::describe_shape;
pub use number::Number;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use broadsweep::internals::constants::MAX_ENTRIES;
use broadsweep::{Aabb, Pair};

/// The longest header that is read, in bytes. NumPy writes 118 for a plain array; only records need more.
const LONGEST_HEADER: u32 = 65_535;

/// The most boxes that a call of any engine takes.
pub const MOST_BOXES: u64 = MAX_ENTRIES as u64;

/// The reason why a file could not be read, with its name.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {error}", path.display())]
pub struct FileError {
    /// The file, as it was requested.
    pub path: PathBuf,
    /// The error in the file. The message contains it already, so it is no `source`.
    pub error: Error,
}

/// The reason why bytes are not the array that was requested. Each message speaks of the file as "it".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system could not read it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A directory has no bytes.
    #[error("it is a directory; give a file")]
    Directory,
    /// The first bytes are others.
    #[error("it is not a .npy file, which begins with the byte 93 (hexadecimal) and NUMPY; write it with np.save")]
    NotNpy,
    /// A version of the format that nobody knew when this was written.
    #[error("its .npy version is {major}.{minor}; it must be 1.0, 2.0 or 3.0")]
    UnknownVersion {
        /// Its first byte.
        major: u8,
        /// Its second byte.
        minor: u8,
    },
    /// The header claims more bytes than an array of numbers has a use for.
    #[error("its header claims {claimed} bytes; the header of an array of numbers has at most {LONGEST_HEADER}")]
    LongHeader {
        /// Bytes claimed.
        claimed: u32,
    },
    /// The file ends within the header.
    #[error("it ends within its .npy header")]
    ShortHeader,
    /// The header is not the literal that the format requests: where, and what was expected.
    #[error("its .npy header {0}")]
    Header(String),
    /// Pickled Python objects run code where they are read, and are refused.
    #[error("it holds pickled Python objects, which are not read; write numbers, with .astype(np.float64)")]
    Pickled,
    /// A structured array.
    #[error("it holds records; write plain numbers, a column per field")]
    Records,
    /// Numbers of another type.
    #[error("its dtype is {found}; {needed}")]
    Dtype {
        /// As the header has it, in quotes.
        found: String,
        /// The supported types, and the remedy.
        needed: &'static str,
    },
    /// An integer that `f64` does not represent.
    #[error(
        "it has integers beyond 2**53, which a double does not hold: element [{index}] is {value}; \
         .astype(np.float64) rounds them"
    )]
    LargeInteger {
        /// The index of the first one in the array.
        index: String,
        /// Its value.
        value: i128,
    },
    /// An array of another shape.
    #[error("its shape is {0}; boxes are (n, 6) or (n, 2, 3), in 2D (n, 4) or (n, 2, 2)")]
    Shape(String),
    /// A table of another shape.
    #[error("its shape is {found}; {needed} is needed, where m can be 0")]
    RowShape {
        /// Its shape.
        found: String,
        /// The shapes that are read.
        needed: String,
    },
    /// An array of another shape, where frames are needed.
    #[error(
        "its shape is {0}; frames of boxes are (f, n, 6) or (f, n, 2, 3), in 2D (f, n, 4) or (f, n, 2, 2), with n > 0"
    )]
    FrameShape(String),
    /// Frames in another order.
    #[error("it is in Fortran order, and frames are read in C order, which np.ascontiguousarray gives")]
    FrameOrder,
    /// A size that no array can have.
    #[error("its shape claims a size that does not fit 64 bits")]
    LongShape,
    /// More boxes than any engine takes.
    #[error("it claims {rows} boxes, and a call takes at most {most}; search it in parts")]
    TooManyBoxes {
        /// Boxes claimed.
        rows: u64,
        /// The limit.
        most: u64,
    },
    /// There are fewer bytes than the header says.
    #[error("it is truncated: {0}")]
    Truncated(String),
    /// There are more bytes than the header says.
    #[error("{0} bytes follow the array")]
    TrailingBytes(String),
    /// The system has no memory for this many boxes.
    #[error("{count} boxes need {} bytes of memory, which the system does not have", *count as u64 * 24)]
    OutOfMemory {
        /// Boxes requested.
        count: usize,
    },
    /// The system has no memory for this many numbers.
    #[error("the system does not have {bytes} bytes of memory")]
    NoMemory {
        /// Bytes requested.
        bytes: u64,
    },
}

type Result<T> = std::result::Result<T, Error>;

/// Reads boxes from a file.
///
/// The array is `(n, 6)` or `(n, 2, 3)`, minimum corners before maximum corners; in 2D `(n, 4)` or `(n, 2, 2)`, where z
/// is 0. It holds floats or integers, in either byte order and in C or Fortran order. Numbers that `f32` does not
/// represent are rounded outward. Invalid boxes are read as they are.
///
/// # Errors
/// If the file cannot be read, is not such an array, or is longer or shorter than its header says.
pub fn read_boxes(path: impl AsRef<Path>) -> std::result::Result<Vec<Aabb>, FileError> {
    let path = path.as_ref();
    let read = || {
        let (file, length) = open_file(path)?;
        read_boxes_from(file, length)
    };
    read().map_err(|error| FileError { path: path.to_owned(), error })
}

/// Opens a file, and returns its length too. Pipes and devices have no length.
///
/// # Errors
/// If it is a directory, or the system cannot open it.
pub fn open_file(path: &Path) -> Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_dir() {
        true => Err(Error::Directory),
        false => Ok((file, metadata.is_file().then_some(metadata.len()))),
    }
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
    Array::open(source, length)?.read_boxes(MOST_BOXES)
}

/// Writes boxes as an `(n, 6)` array of little-endian `f4` in C order, bit for bit. `to` should have a buffer.
///
/// # Errors
/// The errors of `to`.
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
/// The errors of `to`.
pub fn write_pairs_header(mut to: impl Write, count: u64) -> io::Result<()> {
    write_header(&mut to, "<u4", &[count, 2])
}

/// Writes the array of pairs itself, or the next part of it.
///
/// # Errors
/// The errors of `to`.
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
/// The errors of `to`.
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
    use std::ops::ControlFlow;

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
