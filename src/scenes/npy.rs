//! Arrays in NumPy's `.npy` format, versions 1.0 to 3.0: boxes in and out, pairs out.
//!
//! ```
//! use broadsweep::scenes::{Kind, npy};
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

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::{Aabb, Pair};

/// The longest header that is read, in bytes. NumPy writes 118 for a plain array; only records need more.
const LONGEST_HEADER: u32 = 65_535;

/// Why a file could not be read, with its name.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {error}", path.display())]
pub struct FileError {
    /// The file, as it was asked for.
    pub path: PathBuf,
    /// What is wrong with it. The message has it already, so it is no `source`.
    pub error: Error,
}

/// Why bytes are not an array of boxes. Each message speaks of the file as "it".
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
    #[error("it holds records; boxes are plain arrays of 'f4' or 'f8'")]
    Records,
    /// Numbers of another type.
    #[error("its dtype is {0}; boxes are 'f4' or 'f8'")]
    Dtype(String),
    /// An array of another shape.
    #[error("its shape is {0}; boxes are (n, 6) or (n, 2, 3)")]
    Shape(String),
    /// A length that no array can have.
    #[error("its shape has a length that does not fit 64 bits")]
    LongShape,
    /// More boxes than any engine takes.
    #[error("it claims {rows} boxes, and one call takes at most {}", crate::constants::MAX_ENTRIES)]
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
    /// The system has no memory for so many boxes.
    #[error("{count} boxes need {} bytes of memory, which could not be had", *count as u64 * 24)]
    OutOfMemory {
        /// Boxes asked for.
        count: usize,
    },
}

type Result<T> = std::result::Result<T, Error>;

/// Boxes from a file.
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

/// Boxes from `source`, as [`read_boxes`] reads them from a file. It is read to its end, through a buffer.
///
/// `length` is how many bytes long it is, if that is known: then what is truncated is refused at once, and memory is
/// allocated once. A `source` of another length than `length` says is refused.
///
/// # Errors
/// As [`read_boxes`].
pub fn read_boxes_from(source: impl Read, length: Option<u64>) -> Result<Vec<Aabb>> {
    let mut source = BufReader::with_capacity(1 << 20, source);
    let (header, header_length) = Header::read(&mut source, length)?;
    let count = header.box_count as usize;
    let data_length = u64::from(header.box_count) * 6 * header.dtype.size() as u64;
    let mut boxes = Vec::new();
    if let Some(length) = length {
        let rest = length - header_length;
        if rest < data_length {
            let count = header.box_count;
            return Err(Error::Truncated(format!(
                "{count} boxes take {data_length} bytes, and {rest} follow the header"
            )));
        }
        if rest > data_length {
            return Err(Error::TrailingBytes((rest - data_length).to_string()));
        }
        reserve(&mut boxes, count)?;
    }

    let size = header.dtype.size();
    let mut chunk = vec![0; 1 << 16];
    let mut remaining = data_length;
    let (mut row, mut column) = (0, 0);
    while remaining > 0 {
        let part = &mut chunk[..remaining.min(1 << 16) as usize];
        source.read_exact(part).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Truncated(format!("its array is {data_length} bytes long")),
            _ => error.into(),
        })?;
        remaining -= part.len() as u64;
        for bytes in part.chunks_exact(size) {
            if row == boxes.len() {
                if row == boxes.capacity() {
                    // A stream of unknown length: grow by what has come, not by what is claimed.
                    reserve(&mut boxes, row.max(1 << 12).min(count))?;
                }
                boxes.push(Aabb::new([0.0; 3], [0.0; 3]));
            }
            let bound = header.bound(column);
            let [down, up] = header.dtype.decode(bytes);
            match bound.checked_sub(3) {
                None => boxes[row].min[bound] = down,
                Some(k) => boxes[row].max[k] = up,
            }
            let (fast, fast_count, slow) =
                if header.is_fortran { (&mut row, count, &mut column) } else { (&mut column, 6, &mut row) };
            *fast += 1;
            if *fast == fast_count {
                *fast = 0;
                *slow += 1;
            }
        }
    }
    if source.read(&mut [0])? != 0 {
        return Err(Error::TrailingBytes("more".to_owned()));
    }
    Ok(boxes)
}

fn reserve(boxes: &mut Vec<Aabb>, count: usize) -> Result<()> {
    boxes.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { count })
}

/// What a scene's header may say.
#[derive(Debug, PartialEq)]
struct Header {
    dtype: Dtype,
    is_fortran: bool,
    box_count: u32,
    /// `(n, 2, 3)` instead of `(n, 6)`.
    is_nested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Dtype {
    F4 { is_big: bool },
    F8 { is_big: bool },
}

impl Dtype {
    fn parse(text: &str) -> Result<Self> {
        if text.contains('O') {
            return Err(Error::Pickled);
        }
        let (order, kind) = text.split_at_checked(1).unwrap_or_default();
        let is_big = match order {
            "<" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return Err(Error::Dtype(quoted(text))),
        };
        match kind {
            "f4" => Ok(Self::F4 { is_big }),
            "f8" => Ok(Self::F8 { is_big }),
            _ => Err(Error::Dtype(quoted(text))),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::F4 { .. } => 4,
            Self::F8 { .. } => 8,
        }
    }

    /// The number in `bytes`, rounded down and up.
    fn decode(self, bytes: &[u8]) -> [f32; 2] {
        match self {
            Self::F4 { is_big } => {
                let bytes = [0, 1, 2, 3].map(|i| bytes[i]);
                [if is_big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) }; 2]
            }
            Self::F8 { is_big } => {
                let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[i]);
                let value = if is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) };
                let aabb = Aabb::from_f64_outward([value; 3], [value; 3]);
                [aabb.min[0], aabb.max[0]]
            }
        }
    }
}

impl Header {
    /// The header, and the bytes that it takes.
    fn read(source: &mut impl Read, length: Option<u64>) -> Result<(Self, u64)> {
        let short = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::ShortHeader,
            _ => error.into(),
        };
        let mut start = Vec::new();
        source.take(8).read_to_end(&mut start)?;
        if start.len() != 8 || !start.starts_with(b"\x93NUMPY") {
            return Err(Error::NotNpy);
        }
        let (prefix, text_length) = match start[6..] {
            [1, 0] => {
                let mut bytes = [0; 2];
                source.read_exact(&mut bytes).map_err(short)?;
                (10, u32::from(u16::from_le_bytes(bytes)))
            }
            [2 | 3, 0] => {
                let mut bytes = [0; 4];
                source.read_exact(&mut bytes).map_err(short)?;
                (12, u32::from_le_bytes(bytes))
            }
            _ => return Err(Error::UnknownVersion { major: start[6], minor: start[7] }),
        };
        if text_length > LONGEST_HEADER {
            return Err(Error::LongHeader { claimed: text_length });
        }
        let header_length = prefix + u64::from(text_length);
        if length.is_some_and(|length| length < header_length) {
            return Err(Error::ShortHeader);
        }
        let mut text = vec![0; text_length as usize];
        source.read_exact(&mut text).map_err(short)?;
        let text = std::str::from_utf8(&text).map_err(|_| Error::Header("is not text".to_owned()))?;
        Ok((Self::parse(text)?, header_length))
    }

    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6), }`, the keys in any order.
    fn parse(text: &str) -> Result<Self> {
        let (mut dtype, mut is_fortran, mut shape) = (None, None, None);
        let mut scanner = Scanner { rest: text };
        scanner.expect('{')?;
        while !scanner.accept('}') {
            let key = scanner.string()?;
            scanner.expect(':')?;
            let is_repeated = match key {
                "descr" if scanner.accept('[') => return Err(Error::Records),
                "descr" => dtype.replace(Dtype::parse(scanner.string()?)?).is_some(),
                "fortran_order" => is_fortran.replace(scanner.truth()?).is_some(),
                "shape" => shape.replace(scanner.shape()?).is_some(),
                _ => return Err(Error::Header(format!("has the unknown key {}", quoted(key)))),
            };
            if is_repeated {
                return Err(Error::Header(format!("has the key {key:?} twice")));
            }
            if !scanner.accept(',') {
                scanner.expect('}')?;
                break;
            }
        }
        if !scanner.rest.trim().is_empty() {
            return Err(Error::Header("goes on after its end".to_owned()));
        }
        let missing = |key| move || Error::Header(format!("lacks the key '{key}'"));
        let shape = shape.ok_or_else(missing("shape"))?;
        let (rows, is_nested) = match shape[..] {
            [rows, 6] => (rows, false),
            [rows, 2, 3] => (rows, true),
            _ => {
                let lengths: Vec<String> = shape.iter().take(5).map(u64::to_string).collect();
                let more = if shape.len() > 5 { ", ..." } else { "" };
                return Err(Error::Shape(format!("({}{more})", lengths.join(", "))));
            }
        };
        // Before any of them is read: no engine takes more.
        let box_count = u32::try_from(rows)
            .ok()
            .filter(|&rows| rows <= crate::constants::MAX_ENTRIES)
            .ok_or(Error::TooManyBoxes { rows })?;
        Ok(Self {
            dtype: dtype.ok_or_else(missing("descr"))?,
            is_fortran: is_fortran.ok_or_else(missing("fortran_order"))?,
            box_count,
            is_nested,
        })
    }

    /// Which of min x, y, z, max x, y, z a column of the file is.
    fn bound(&self, column: usize) -> usize {
        if self.is_nested && self.is_fortran {
            // The corner changes faster than the axis.
            column % 2 * 3 + column / 2
        } else {
            column
        }
    }
}

/// A part of the header, short enough for a message.
fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

/// Reads the few literals of Python that a header may hold.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn accept(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.expected(&format!("'{wanted}'"))) }
    }

    fn expected(&self, what: &str) -> Error {
        let place = match self.rest.trim_start().chars().next() {
            Some(character) => format!("before {character:?}"),
            None => "at its end".to_owned(),
        };
        Error::Header(format!("is malformed: {what} expected {place}"))
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.accept('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect(quote)?;
        }
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| Error::Header("is malformed: a string does not end".to_owned()))?;
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.expected("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>> {
        let mut lengths = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            if end == 0 {
                return Err(self.expected("a length"));
            }
            lengths.push(digits.parse().map_err(|_| Error::LongShape)?);
            // Python 2 wrote 10L.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(lengths)
    }
}

/// Boxes as an `(n, 6)` array of little-endian `f4` in C order, bit for bit. `to` should have a buffer.
///
/// # Errors
/// Those of `to`.
pub fn write_boxes(mut to: impl Write, boxes: &[Aabb]) -> io::Result<()> {
    let to = &mut to;
    write_header(to, "<f4", boxes.len() as u64, 6)?;
    for aabb in boxes {
        for bound in aabb.min.into_iter().chain(aabb.max) {
            to.write_all(&bound.to_le_bytes())?;
        }
    }
    Ok(())
}

/// The header of `count` pairs as an `(m, 2)` array of little-endian `u4` in C order; [`write_pairs`] follows.
///
/// # Errors
/// Those of `to`.
pub fn write_pairs_header(mut to: impl Write, count: u64) -> io::Result<()> {
    write_header(&mut to, "<u4", count, 2)
}

/// The array of pairs itself, or the next part of it.
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

fn write_header(to: &mut impl Write, dtype: &str, rows: u64, columns: u64) -> io::Result<()> {
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
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
