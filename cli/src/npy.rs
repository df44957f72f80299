//! Arrays in NumPy's `.npy` format, versions 1.0 to 3.0: boxes in and out, pairs out.
//!
//! A file may be broken or made to harm: nothing is allocated from a claim of the header before the file
//! is known to be that long, and a pickle is never looked into.
//!
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use broadsweep::{Aabb, Pair};

/// The longest header that is read, in bytes. NumPy writes 118 for a plain array; only records need more.
const LONGEST_HEADER: u32 = 65_535;

/// Boxes from a file; `-` is standard input.
///
/// The array is `(n, 6)` or `(n, 2, 3)`: minimum corners before maximum corners. It holds `f4` or `f8`, in
/// either byte order and either of C and Fortran order; `f8` is rounded outward.
pub fn read_boxes(path: &Path) -> Result<Vec<Aabb>> {
    let read = || -> Result<Vec<Aabb>> {
        if path == "-" {
            return read_array(io::stdin().lock(), None);
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        ensure!(!metadata.is_dir(), "it is a directory");
        // Pipes and devices have no length.
        read_array(file, metadata.is_file().then_some(metadata.len()))
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

/// Boxes from `source`, which is `length` bytes long if that is known.
fn read_array(source: impl Read, length: Option<u64>) -> Result<Vec<Aabb>> {
    let mut source = BufReader::with_capacity(1 << 20, source);
    let (header, header_length) = Header::read(&mut source, length)?;
    let count = header.box_count as usize;
    let data_length = u64::from(header.box_count) * 6 * header.dtype.size() as u64;
    let mut boxes = Vec::new();
    if let Some(length) = length {
        let rest = length - header_length;
        ensure!(
            rest >= data_length,
            "it is truncated: {} boxes take {data_length} bytes, and {rest} follow the header",
            header.box_count
        );
        ensure!(rest == data_length, "{} bytes follow the array", rest - data_length);
        reserve(&mut boxes, count)?;
    }

    let size = header.dtype.size();
    let mut chunk = vec![0; 1 << 16];
    let mut remaining = data_length;
    let (mut row, mut column) = (0, 0);
    while remaining > 0 {
        let part = &mut chunk[..remaining.min(1 << 16) as usize];
        source.read_exact(part).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                anyhow!("it is truncated: its array is {data_length} bytes long")
            }
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
    ensure!(source.read(&mut [0])? == 0, "more bytes follow the array");
    Ok(boxes)
}

fn reserve(boxes: &mut Vec<Aabb>, count: usize) -> Result<()> {
    boxes
        .try_reserve_exact(count)
        .map_err(|_| anyhow!("{count} boxes need {} bytes of memory, which could not be had", count as u64 * 24))
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
        ensure!(!text.contains('O'), "it holds pickled Python objects, which are not read");
        let (order, kind) = text.split_at_checked(1).unwrap_or_default();
        let is_big = match order {
            "<" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => bail!("its dtype is {}; boxes are 'f4' or 'f8'", quoted(text)),
        };
        match kind {
            "f4" => Ok(Self::F4 { is_big }),
            "f8" => Ok(Self::F8 { is_big }),
            _ => bail!("its dtype is {}; boxes are 'f4' or 'f8'", quoted(text)),
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
            io::ErrorKind::UnexpectedEof => anyhow!("it ends within its .npy header"),
            _ => error.into(),
        };
        let mut start = Vec::new();
        source.take(8).read_to_end(&mut start)?;
        ensure!(
            start.len() == 8 && start.starts_with(b"\x93NUMPY"),
            "it is not a .npy file: those begin with the byte 93 (hexadecimal) and NUMPY"
        );
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
            _ => bail!("version {}.{} of .npy is unknown; 1.0, 2.0 and 3.0 are not", start[6], start[7]),
        };
        ensure!(
            text_length <= LONGEST_HEADER,
            "its header claims {text_length} bytes, and that of an array of numbers needs less than {LONGEST_HEADER}"
        );
        let header_length = prefix + u64::from(text_length);
        ensure!(length.is_none_or(|length| header_length <= length), "it ends within its .npy header");
        let mut text = vec![0; text_length as usize];
        source.read_exact(&mut text).map_err(short)?;
        let text = std::str::from_utf8(&text).map_err(|_| anyhow!("its .npy header is not text"))?;
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
                "descr" if scanner.accept('[') => {
                    bail!("it holds records; boxes are plain arrays of 'f4' or 'f8'")
                }
                "descr" => dtype.replace(Dtype::parse(scanner.string()?)?).is_some(),
                "fortran_order" => is_fortran.replace(scanner.truth()?).is_some(),
                "shape" => shape.replace(scanner.shape()?).is_some(),
                _ => bail!("its .npy header has the unknown key {}", quoted(key)),
            };
            ensure!(!is_repeated, "its .npy header has the key {key:?} twice");
            if !scanner.accept(',') {
                scanner.expect('}')?;
                break;
            }
        }
        ensure!(scanner.rest.trim().is_empty(), "its .npy header goes on after its end");
        let missing = |key| move || anyhow!("its .npy header lacks the key '{key}'");
        let shape = shape.ok_or_else(missing("shape"))?;
        let (rows, is_nested) = match shape[..] {
            [rows, 6] => (rows, false),
            [rows, 2, 3] => (rows, true),
            _ => {
                let lengths: Vec<String> = shape.iter().take(5).map(u64::to_string).collect();
                let more = if shape.len() > 5 { ", ..." } else { "" };
                bail!("its shape is ({}{more}); boxes are (n, 6) or (n, 2, 3)", lengths.join(", "))
            }
        };
        // Before any of them is read: no engine takes more.
        let most = broadsweep::constants::MAX_ENTRIES;
        let box_count = u32::try_from(rows)
            .ok()
            .filter(|&rows| rows <= most)
            .ok_or_else(|| anyhow!("it claims {rows} boxes, and one call takes at most {most}"))?;
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
        ensure!(self.accept(wanted), "its .npy header is malformed: '{wanted}' expected {}", self.place());
        Ok(())
    }

    fn place(&self) -> String {
        match self.rest.trim_start().chars().next() {
            Some(character) => format!("before {character:?}"),
            None => "at its end".to_owned(),
        }
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.accept('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect(quote)?;
        }
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| anyhow!("its .npy header is malformed: a string does not end"))?;
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
        bail!("its .npy header is malformed: True or False expected {}", self.place())
    }

    fn shape(&mut self) -> Result<Vec<u64>> {
        let mut lengths = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            ensure!(end > 0, "its .npy header is malformed: a length expected {}", self.place());
            lengths.push(digits.parse().map_err(|_| anyhow!("its shape has a length that does not fit 64 bits"))?);
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

/// Boxes as an `(n, 6)` array of little-endian `f4` in C order.
pub fn write_boxes(to: &mut dyn Write, boxes: &[Aabb]) -> io::Result<()> {
    write_header(to, "<f4", boxes.len() as u64, 6)?;
    for aabb in boxes {
        for bound in aabb.min.into_iter().chain(aabb.max) {
            to.write_all(&bound.to_le_bytes())?;
        }
    }
    Ok(())
}

/// The header of `count` pairs as an `(m, 2)` array of little-endian `u4` in C order; [`write_pairs`] follows.
pub fn write_pairs_header(to: &mut dyn Write, count: u64) -> io::Result<()> {
    write_header(to, "<u4", count, 2)
}

/// The array itself, or the next part of it.
pub fn write_pairs(to: &mut dyn Write, pairs: &[Pair]) -> io::Result<()> {
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

fn write_header(to: &mut dyn Write, dtype: &str, rows: u64, columns: u64) -> io::Result<()> {
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
